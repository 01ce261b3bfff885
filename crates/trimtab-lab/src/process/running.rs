//! A job under way.

use super::leash::Leash;
use super::output::{Line, Lines};
use super::{Job, JobOutput, JobResult, ProcessError, Tail};
use nix::libc;
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{Pid, getppid};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ChildStdin, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often a waiting job looks whether trimtab was asked to end.
const TICK: Duration = Duration::from_millis(50);

/// How many jobs are under way in this process.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// Counts a job from before it looks whether it may start until all of it has ended.
#[derive(Debug)]
pub struct JobCount(());

impl JobCount {
    /// Counts one more.
    pub fn begin() -> Self {
        UNDER_WAY.fetch_add(1, Ordering::SeqCst);
        JobCount(())
    }
}

impl Drop for JobCount {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits until no job of this process is under way, for `limit` at the most, and says whether that
/// is so. After [`interrupt::request`](crate::interrupt::request) none begins.
pub fn wait_until_idle(limit: Duration) -> bool {
    let start = Instant::now();
    while UNDER_WAY.load(Ordering::SeqCst) > 0 {
        if start.elapsed() > limit {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Where standard output goes; standard error always goes to the log.
#[derive(Debug)]
pub(super) enum Stdout {
    Log,
    Lines,
    /// The same, and its standard input is ours to write.
    Dialogue,
    /// A file of its own, without a name.
    File,
    /// A file that somebody else reads.
    Into(File),
    Nowhere,
}

/// A job under way. Dropping it kills it.
#[derive(Debug)]
pub struct RunningJob {
    job: Job,
    group: Pid,
    leash: Option<Leash>,
    log: File,
    lines: Option<Lines>,
    output: Option<File>,
    /// Its standard input, where it is told something while it runs.
    input: Option<ChildStdin>,
    /// Says when the leader of the group has ended, before anybody has taken its status.
    ended: Receiver<Instant>,
    ended_at: Option<Instant>,
    started: Instant,
    reaped: bool,
    _counted: JobCount,
}

/// Why waiting stopped before the job did.
enum Cause {
    Limit,
    Interrupt,
}

impl RunningJob {
    pub(super) fn start(job: Job, stdout: Stdout) -> Result<Self, ProcessError> {
        // Long: what was begun before a step that fails must be ended in it.
        let counted = JobCount::begin();
        if job.interrupt.load(Ordering::SeqCst) {
            return Err(ProcessError::Interrupted { purpose: job.purpose });
        }
        if let Some(path) = job.invocation.directory()
            && !path.is_dir()
        {
            let path = path.to_owned();
            return Err(ProcessError::Directory { purpose: job.purpose, path });
        }
        let log = open_log(&job)?;
        let start_error = |source: io::Error| start_error(&job, source);
        let log_handle = || log.try_clone().map_err(start_error);

        let mut command = job.invocation.command();
        command.stdin(match stdout {
            Stdout::Dialogue => Stdio::piped(),
            _ => input(&job.input).map_err(start_error)?,
        });
        command.stderr(log_handle()?).process_group(0);
        let mut output = None;
        match stdout {
            Stdout::Log => command.stdout(log_handle()?),
            Stdout::Lines | Stdout::Dialogue => command.stdout(Stdio::piped()),
            Stdout::File => {
                let file = tempfile::tempfile().map_err(start_error)?;
                let handle = file.try_clone().map_err(start_error)?;
                output = Some(file);
                command.stdout(handle)
            }
            Stdout::Into(file) => command.stdout(file),
            Stdout::Nowhere => command.stdout(Stdio::null()),
        };
        let (parent, memory) = (Pid::this(), job.memory);
        // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
        unsafe {
            command.pre_exec(move || {
                prctl::set_pdeathsig(Signal::SIGKILL)?;
                if let Some(bytes) = memory {
                    setrlimit(Resource::RLIMIT_DATA, bytes, bytes)?;
                }
                // trimtab may have ended before the line above.
                if getppid() == parent { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
            });
        }

        super::show(&job);
        let started = Instant::now();
        let mut child = command.spawn().map_err(start_error)?;
        let group = Pid::from_raw(child.id().cast_signed());
        let leash = Leash::on(group).map_err(|source| {
            let _ = killpg(group, Signal::SIGKILL);
            let _ = child.wait();
            start_error(source)
        })?;
        let input = child.stdin.take();
        let lines = match child.stdout.take() {
            Some(pipe) => match log.try_clone() {
                Ok(log) => Some(Lines::of(pipe, log, started)),
                Err(source) => {
                    let _ = killpg(group, Signal::SIGKILL);
                    let _ = child.wait();
                    return Err(start_error(source));
                }
            },
            None => None,
        };

        let (sender, ended) = channel();
        thread::spawn(move || {
            // WNOWAIT leaves the ended leader there, so that nobody else can get the number of its
            // group before the rest of the group has been killed.
            let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
            while waitid(Id::Pid(group), flags) == Err(nix::errno::Errno::EINTR) {}
            let _ = sender.send(Instant::now());
        });

        Ok(RunningJob {
            job,
            group,
            leash: Some(leash),
            log,
            lines,
            output,
            input,
            ended,
            ended_at: None,
            started,
            reaped: false,
            _counted: counted,
        })
    }

    /// The process group of the job: the number of its first process.
    pub fn group(&self) -> i32 {
        self.group.as_raw()
    }

    /// Time since its start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Gives it this much time from now on, in place of its limit.
    pub fn limit_from_now(&mut self, time: Duration) {
        self.job.limit = self.elapsed() + time;
    }

    /// The last lines of its output so far.
    pub fn tail(&mut self) -> Tail {
        Tail::read(&mut self.log, self.job.log.clone())
    }

    /// Writes a line to its standard input, where it was [started](Job::spawn_dialogue) so.
    ///
    /// # Errors
    /// That it does not read any more, or was started without.
    pub fn say(&mut self, line: &str) -> io::Result<()> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(format!("{line}\n").as_bytes())?;
        input.flush()
    }

    /// The next line of its standard output, or nothing after the last one.
    ///
    /// # Errors
    /// If the time is over, or trimtab is asked to end; the job has been killed then.
    pub fn next_line(&mut self) -> Result<Option<Line>, ProcessError> {
        loop {
            let Some(lines) = &self.lines else { return Ok(None) };
            match lines.receiver.recv_timeout(TICK) {
                Ok(line) => return Ok(Some(line)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
            // Something left in the background may hold the pipe open for ever.
            if self.has_ended() {
                self.signal(Signal::SIGKILL);
            } else if let Some(cause) = self.cause_to_stop() {
                return Err(self.stop_because(&cause));
            }
        }
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// If it does not end with status 0 or in time, or trimtab is asked to end.
    pub fn wait(mut self) -> Result<JobResult, ProcessError> {
        // Who reads it sees that there is no more.
        self.input = None;
        self.wait_for_finish()
    }

    pub(super) fn wait_captured(mut self) -> Result<JobOutput, ProcessError> {
        let finished = self.wait_for_finish()?;
        let mut bytes = Vec::new();
        if let Some(mut output) = self.output.take() {
            output
                .seek(SeekFrom::Start(0))
                .and_then(|_| output.take(JobOutput::MOST).read_to_end(&mut bytes))
                .map_err(|source| log_error(&self.job, source))?;
        }
        Ok(JobOutput { finished, output: bytes })
    }

    fn wait_for_finish(&mut self) -> Result<JobResult, ProcessError> {
        while !self.has_ended() {
            if let Some(cause) = self.cause_to_stop() {
                return Err(self.stop_because(&cause));
            }
            self.wait_for_end(TICK);
        }
        let wall = self.ended_at.map_or_else(|| self.elapsed(), |at| at - self.started);
        let (status, logged) = self.clean_up();
        let (status, processor) = status.map_err(|source| ProcessError::Wait {
            purpose: self.job.purpose.clone(),
            tool: self.job.program(),
            source,
        })?;
        if let Err(source) = logged {
            return Err(log_error(&self.job, source));
        }
        if status.success() || self.job.any_status {
            return Ok(JobResult { wall, processor, status });
        }
        let purpose = self.job.purpose.clone();
        let tail = self.tail();
        Err(if tail.says_no_space() {
            ProcessError::NoSpace { purpose, tail }
        } else {
            ProcessError::Failed { purpose, tool: self.job.program(), status, tail }
        })
    }

    /// Ends it: SIGTERM, then SIGKILL after the grace time. Says how it ended, where the system
    /// knows.
    pub fn kill(mut self) -> Option<ExitStatus> {
        self.terminate();
        self.clean_up().0.ok().map(|(status, _)| status)
    }

    fn cause_to_stop(&self) -> Option<Cause> {
        if self.job.interrupt.load(Ordering::Relaxed) {
            Some(Cause::Interrupt)
        } else if self.elapsed() >= self.job.limit {
            Some(Cause::Limit)
        } else {
            None
        }
    }

    fn stop_because(&mut self, cause: &Cause) -> ProcessError {
        self.terminate();
        let _ = self.clean_up();
        let purpose = self.job.purpose.clone();
        match cause {
            Cause::Interrupt => ProcessError::Interrupted { purpose },
            Cause::Limit => ProcessError::TimeLimit {
                purpose,
                tool: self.job.program(),
                limit: self.job.limit,
                tail: self.tail(),
            },
        }
    }

    fn has_ended(&mut self) -> bool {
        if self.ended_at.is_none() {
            match self.ended.try_recv() {
                Ok(at) => self.ended_at = Some(at),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => self.ended_at = Some(Instant::now()),
            }
        }
        self.ended_at.is_some()
    }

    fn wait_for_end(&mut self, time: Duration) {
        if self.ended_at.is_some() {
            return;
        }
        match self.ended.recv_timeout(time) {
            Ok(at) => self.ended_at = Some(at),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.ended_at = Some(Instant::now()),
        }
    }

    fn signal(&self, signal: Signal) {
        // It fails only if the whole group has ended already.
        if !self.reaped {
            let _ = killpg(self.group, signal);
        }
    }

    fn terminate(&mut self) {
        if !self.has_ended() {
            self.signal(Signal::SIGTERM);
            self.wait_for_end(self.job.grace);
        }
    }

    /// Kills whatever is left of the group and takes its leader's status and processor time. Says
    /// also whether the log could be written.
    fn clean_up(&mut self) -> (io::Result<(ExitStatus, Duration)>, io::Result<()>) {
        self.signal(Signal::SIGKILL);
        self.leash = None;
        let status = reap(self.group);
        self.reaped = true;
        let logged = match self.lines.take() {
            Some(lines) => lines.thread.join().unwrap_or(Ok(())),
            None => Ok(()),
        };
        (status, logged)
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        if !self.reaped {
            self.terminate();
            let _ = self.clean_up();
        }
    }
}

/// Waits for a child, and says how it ended and what time of processors it took. The standard library
/// does not tell the time, and that of all children together has those of other jobs in it.
fn reap(child: Pid) -> io::Result<(ExitStatus, Duration)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to variables that live as long as the call.
        let pid = unsafe { libc::wait4(child.as_raw(), &raw mut status, 0, usage.as_mut_ptr()) };
        if pid == child.as_raw() {
            break;
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINTR) {
            return Err(error);
        }
    }
    // SAFETY: all bytes are zero or have been written by the call; any bytes are an `rusage`.
    let usage = unsafe { usage.assume_init() };
    let time = |time: libc::timeval| {
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        Duration::from_secs(seconds)
            + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
    };
    Ok((ExitStatus::from_raw(status), time(usage.ru_utime) + time(usage.ru_stime)))
}

/// A standard input with these bytes in it.
fn input(bytes: &[u8]) -> io::Result<Stdio> {
    if bytes.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file.into())
}

fn open_log(job: &Job) -> Result<File, ProcessError> {
    let file = match &job.log {
        // Appending, because the job and trimtab both write to it.
        Some(path) => {
            File::create(path).and_then(|_| File::options().read(true).append(true).open(path))
        }
        None => tempfile::tempfile(),
    };
    file.map_err(|source| log_error(job, source))
}

fn log_error(job: &Job, source: io::Error) -> ProcessError {
    let purpose = job.purpose.clone();
    if source.kind() == io::ErrorKind::StorageFull {
        return ProcessError::NoSpace { purpose, tail: Tail::default() };
    }
    let path = job.log.clone().unwrap_or_else(std::env::temp_dir);
    ProcessError::Log { purpose, path, source }
}

fn start_error(job: &Job, source: io::Error) -> ProcessError {
    let purpose = job.purpose.clone();
    let tool = job.program();
    if source.kind() == io::ErrorKind::NotFound {
        ProcessError::NotFound { purpose, tool, packages: job.packages() }
    } else {
        ProcessError::Start { purpose, tool, source }
    }
}
