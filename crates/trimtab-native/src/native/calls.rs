//! Which system calls a program makes: how often, and how long they take.
//!
//! Every task stops where it enters a call and where it leaves it. The time between is that of the call
//! with all that it waits for, and with the tracer's own share, which is the same for each.
//!
//! A seccomp filter that names the calls to stop at would save the stops at all others; but all calls are
//! counted here, and each has to stop twice to be timed. A filter that lets none pass makes as many stops,
//! and in runs in turn it took as long, with many calls and with few. So there is none.

use super::live::{Live, Phase};
use super::system::{self, CallStop, Change, Resume};
use super::{Cause, End, NativeError, Request, TICK, TracedProcess, start};
use nix::libc::{self, pid_t};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};
use trimtab_lab::process::JobCount;

/// How often a system call was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallCount {
    /// Times.
    pub times: u64,
    /// How many of these ended with an error.
    pub failed: u64,
    /// From entering to leaving it, in all; of those that were left.
    pub time: Duration,
}

/// The system calls of a run.
#[derive(Debug, Clone)]
pub struct SystemCalls {
    /// By their numbers on this machine.
    pub calls: BTreeMap<u64, CallCount>,
    /// How the program ended.
    pub ended: End,
    /// How many processes there were, with the program itself.
    pub processes: u64,
    /// Wall time until the last of them had ended.
    pub wall: Duration,
}

/// Runs a program and counts its system calls and those of all processes that it starts, until they have
/// ended or the time is over. How the program ended is no error; of the request, objects are not looked
/// at.
///
/// # Errors
/// That it cannot be started or traced, starts too many processes, or that trimtab was asked to end.
pub fn calls(request: &Request) -> Result<SystemCalls, NativeError> {
    let _counted = JobCount::begin();
    if request.interrupt.load(Ordering::SeqCst) {
        return Err(NativeError::Interrupted);
    }
    let live = Live::new();
    let started = Instant::now();
    let mut cause: Option<Cause> = None;
    let counted = thread::scope(|scope| {
        let (sender, receiver) = channel();
        // Tasks belong to the thread that traces them.
        scope.spawn(|| {
            let counted = start::start(request)
                .and_then(|TracedProcess { root, .. }| Counting::new(request, &live, root).run());
            let _ = sender.send(counted);
            drop(sender);
        });
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(counted) => return counted,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let source = io::Error::other("its thread has ended");
                    return Err(NativeError::System { what: "go on", source });
                }
            }
            if cause.is_none() {
                cause = Cause::to_end(request, started);
                if cause.is_some() {
                    live.end(Phase::Ending);
                }
            }
            if cause.as_ref().is_some_and(|cause| cause.since.elapsed() >= request.grace) {
                live.end(Phase::Killing);
            }
        }
    })?;
    let ended = match cause {
        Some(Cause { interrupt: true, .. }) => return Err(NativeError::Interrupted),
        Some(_) => End::TimeOver,
        None => counted.ended.unwrap_or(End::Killed(libc::SIGKILL)),
    };
    Ok(SystemCalls {
        calls: counted.calls,
        ended,
        processes: counted.processes,
        wall: started.elapsed(),
    })
}

/// What is counted, and the tasks under way.
struct Counting<'a> {
    request: &'a Request,
    live: &'a Live,
    root: pid_t,
    /// The call that each task is in, and since when.
    within: HashMap<pid_t, Option<(u64, Instant)>>,
    calls: BTreeMap<u64, CallCount>,
    ended: Option<End>,
    processes: u64,
}

impl<'a> Counting<'a> {
    fn new(request: &'a Request, live: &'a Live, root: pid_t) -> Self {
        Counting {
            request,
            live,
            root,
            within: HashMap::new(),
            calls: BTreeMap::new(),
            ended: None,
            processes: 0,
        }
    }

    fn run(mut self) -> Result<Self, NativeError> {
        let mut failure = self.begun(self.root).err();
        while let Some((task, change)) = system::wait().map_err(failed("wait for the program"))? {
            match self.handle(task, change) {
                Ok(()) => {}
                // Whatever fails for a task that was killed meanwhile fails because of that.
                Err(NativeError::System { source, .. }) if system::is_gone(&source) => {}
                Err(error) => {
                    failure = failure.or(Some(error));
                    self.live.end(Phase::Killing);
                }
            }
        }
        match failure {
            Some(failure) => Err(failure),
            None => Ok(self),
        }
    }

    fn handle(&mut self, task: pid_t, change: Change) -> Result<(), NativeError> {
        let end = match change {
            Change::Exited(status) => Some(End::Exited(status)),
            Change::Killed(signal) => Some(End::Killed(signal)),
            _ => None,
        };
        if let Some(end) = end {
            self.within.remove(&task);
            self.live.remove(task);
            if task == self.root {
                self.ended = Some(end);
            }
            return Ok(());
        }
        if !self.within.contains_key(&task) {
            self.begun(task)?;
        }
        let how = match change {
            Change::SystemCall => {
                self.call(task)?;
                Resume::ToNextCall(0)
            }
            Change::Signal(signal) => Resume::ToNextCall(signal),
            // The first one is under way when tracing begins.
            Change::Event(libc::PTRACE_EVENT_EXEC, _) if self.within.get(&task) == Some(&None) => {
                self.calls.entry(libc::SYS_execve.cast_unsigned()).or_default().times += 1;
                Resume::ToNextCall(0)
            }
            Change::Event(libc::PTRACE_EVENT_STOP, signal) if stops(signal) => Resume::Stopped,
            _ => Resume::ToNextCall(0),
        };
        system::resume(task, how).map_err(failed("let the program go on"))
    }

    /// A task is there that was not known.
    fn begun(&mut self, task: pid_t) -> Result<(), NativeError> {
        self.within.insert(task, None);
        // Threads have no handle of this kind.
        let Ok(handle) = system::process_handle(task) else { return Ok(()) };
        self.processes += 1;
        let limit = self.request.processes;
        if self.live.add(task, handle) > limit {
            return Err(NativeError::TooManyProcesses { limit });
        }
        Ok(())
    }

    /// A task enters or leaves a call.
    fn call(&mut self, task: pid_t) -> Result<(), NativeError> {
        match system::call_stop(task).map_err(failed("ask for a system call"))? {
            CallStop::Entry(number) => {
                self.calls.entry(number).or_default().times += 1;
                self.within.insert(task, Some((number, Instant::now())));
            }
            CallStop::Exit { failed } => {
                let entered = self.within.insert(task, None).flatten();
                if let Some((number, since)) = entered {
                    let count = self.calls.entry(number).or_default();
                    count.time += since.elapsed();
                    count.failed += u64::from(failed);
                }
            }
            CallStop::Other => {}
        }
        Ok(())
    }
}

/// Whether a signal stops a process until it is told to go on.
fn stops(signal: libc::c_int) -> bool {
    [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU].contains(&signal)
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> NativeError {
    move |source| NativeError::System { what, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimtab_lab::process::Invocation;

    fn run(script: &str) -> SystemCalls {
        let invocation = Invocation::new("/bin/sh").args(["-c", script]);
        calls(&Request::new(invocation).limit(Duration::from_secs(20))).unwrap()
    }

    #[test]
    fn calls_of_a_program_and_of_what_it_starts_are_counted() {
        let once = run("/bin/true; /bin/true; exit 3");
        assert_eq!((once.ended, once.processes), (End::Exited(3), 3));
        let times = |counted: &SystemCalls, call: i64| {
            counted.calls.get(&(call as u64)).map_or(0, |count| count.times)
        };
        assert_eq!(times(&once, libc::SYS_execve), 3);
        assert_eq!(times(&once, libc::SYS_exit_group), 3);
        let more = run("for i in 1 2 3 4 5 6 7 8; do cd /; done; cd /no/such/folder");
        let changed = more.calls[&(libc::SYS_chdir as u64)];
        assert_eq!((changed.times, changed.failed), (9, 1));
        assert!(changed.time > Duration::ZERO && changed.time < more.wall);
    }

    #[test]
    fn what_hangs_is_ended_with_all_that_it_started() {
        let invocation = Invocation::new("/bin/sh").args(["-c", "sleep 100 & sleep 100"]);
        let request = Request::new(invocation).limit(Duration::from_millis(300));
        let counted = calls(&request).unwrap();
        assert_eq!(counted.ended, End::TimeOver);
        assert!(counted.wall < Duration::from_secs(20));
    }

    #[test]
    fn a_program_that_is_not_there_is_said() {
        let request = Request::new(Invocation::new("/no/such/program"));
        assert!(calls(&request).unwrap_err().to_string().contains("/no/such/program"));
    }
}
