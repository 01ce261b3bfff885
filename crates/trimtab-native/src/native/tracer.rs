//! What is done at each stop of each task.
//!
//! Each process has a *space*: what it has mapped where. A breakpoint is one instruction in the
//! memory of a space; when it is hit, the code is written back, the program counter put back to it,
//! and the task goes on. Threads share a space, so that two can hit a breakpoint at a time: the one
//! that is looked at later finds the code in place already, and nothing is lost by writing it again.
//! A child that a process forks inherits memory and breakpoints, and removes them for itself.

use super::arch;
use super::filter::Call;
use super::live::{Live, Phase};
use super::maps::{self, Part};
use super::near::Near;
use super::objects::{ObjectId, WatchedFiles};
use super::system::{self, Change, Resume};
use super::{End, NativeError, Object, Request, SkippedFile};
use nix::libc::{self, c_int, pid_t};
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;

/// What came of it.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) objects: Vec<Object>,
    pub(super) skipped: Vec<SkippedFile>,
    pub(super) ended: Option<End>,
    pub(super) processes: u64,
}

/// A watched file in the memory of a space.
#[derive(Debug, Clone)]
struct MappedFile {
    /// Run-time addresses that are mapped.
    range: Range<u64>,
    /// Run-time minus linked addresses.
    bias: u64,
    object: ObjectId,
}

/// An address space.
#[derive(Debug, Default)]
struct Space {
    mapped: RefCell<Vec<MappedFile>>,
    /// Stays with this memory, whatever its process does next.
    memory: OnceCell<File>,
}

impl Space {
    /// A copy, as `fork` makes it.
    fn fork(&self) -> Self {
        Space { mapped: self.mapped.clone(), memory: OnceCell::new() }
    }

    fn memory(&self, task: pid_t) -> io::Result<&File> {
        if let Some(memory) = self.memory.get() {
            return Ok(memory);
        }
        let memory = File::options().read(true).write(true).open(format!("/proc/{task}/mem"))?;
        Ok(self.memory.get_or_init(|| memory))
    }

    fn at(&self, address: u64) -> Option<MappedFile> {
        self.mapped.borrow().iter().find(|mapped| mapped.range.contains(&address)).cloned()
    }
}

/// A thread, or a process of one.
#[derive(Debug)]
struct Task {
    space: Rc<Space>,
}

/// The tracer. It belongs to the thread that has started the program.
pub(super) struct Tracer<'a> {
    request: &'a Request,
    live: &'a Live,
    near: &'a Near,
    watched: WatchedFiles<'a>,
    tasks: HashMap<pid_t, Task>,
    /// Tasks that stopped before it was known who started them, and whether each is a process.
    early: HashMap<pid_t, bool>,
    /// Tasks that were counted and need not wait for the one that started them, which is still to
    /// tell. They may have ended by then.
    untold: HashSet<pid_t>,
    root: pid_t,
    ended: Option<End>,
    processes: u64,
    page: u64,
}

impl<'a> Tracer<'a> {
    pub(super) fn new(request: &'a Request, live: &'a Live, near: &'a Near, root: pid_t) -> Self {
        Tracer {
            request,
            live,
            near,
            watched: WatchedFiles::new(&request.objects),
            tasks: HashMap::from([(root, Task { space: Rc::default() })]),
            early: HashMap::new(),
            untold: HashSet::new(),
            root,
            ended: None,
            processes: 0,
            page: maps::page_size(),
        }
    }

    /// Traces until all tasks have ended.
    pub(super) fn run(mut self) -> Result<Outcome, NativeError> {
        let mut failure = self.count_process(self.root).err();
        while let Some((task, change)) = system::wait().map_err(failed("wait for the program"))? {
            match self.handle(task, change) {
                Ok(()) => {}
                // Whatever fails for a task that was killed meanwhile fails because of that.
                Err(NativeError::System { source, .. }) if system::is_gone(&source) => {}
                Err(error) => {
                    // The first is the reason for those that follow.
                    failure = failure.or(Some(error));
                    self.live.end(Phase::Killing);
                }
            }
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        let (objects, skipped) = self.watched.finish();
        Ok(Outcome { objects, skipped, ended: self.ended, processes: self.processes })
    }

    fn handle(&mut self, task: pid_t, change: Change) -> Result<(), NativeError> {
        let how = match change {
            Change::Exited(status) => return self.gone(task, End::Exited(status)),
            Change::Killed(signal) => return self.gone(task, End::Killed(signal)),
            Change::Signal(libc::SIGTRAP) if self.breakpoint(task)? => Resume::Run(0),
            Change::Signal(signal) => Resume::Run(signal),
            Change::SystemCall => {
                self.mapped(task)?;
                Resume::Run(0)
            }
            Change::Event(libc::PTRACE_EVENT_SECCOMP, _) => match self.calls(task)? {
                Call::Maps => Resume::ToEndOfCall,
                Call::AsksForProcessors => {
                    self.near.asks();
                    return system::resume(task, Resume::Run(0))
                        .map_err(failed("let the program go on"));
                }
            },
            Change::Event(libc::PTRACE_EVENT_EXEC, _) => {
                self.executed(task)?;
                Resume::Run(0)
            }
            Change::Event(
                event @ (libc::PTRACE_EVENT_FORK
                | libc::PTRACE_EVENT_VFORK
                | libc::PTRACE_EVENT_CLONE),
                _,
            ) => {
                self.started(task, event)?;
                Resume::Run(0)
            }
            Change::Event(libc::PTRACE_EVENT_STOP, signal) => match self.stopped(task, signal)? {
                Some(how) => how,
                None => return Ok(()),
            },
            Change::Event(..) => Resume::Run(0),
        };
        self.near.goes_on(task);
        system::resume(task, how).map_err(failed("let the program go on"))
    }

    /// A task has ended.
    fn gone(&mut self, task: pid_t, end: End) -> Result<(), NativeError> {
        self.tasks.remove(&task);
        if self.early.remove(&task).is_some() {
            self.untold.insert(task);
        }
        self.live.remove(task);
        if task == self.root {
            self.ended = Some(end);
        }
        Ok(())
    }

    /// A stop that is no signal's: of a new task, or of a whole process by SIGSTOP and the like.
    /// Nothing where the task has to wait.
    fn stopped(&mut self, task: pid_t, signal: c_int) -> Result<Option<Resume>, NativeError> {
        if !self.tasks.contains_key(&task) {
            let is_process = self.count_process(task)?;
            // The one that started it may be killed before it can tell.
            match maps::parent(task).filter(|parent| self.tasks.contains_key(parent)) {
                Some(parent) => {
                    self.untold.insert(task);
                    self.adopt(task, is_process, parent, libc::PTRACE_EVENT_STOP);
                }
                None => {
                    self.early.insert(task, is_process);
                    return Ok(None);
                }
            }
        }
        let group = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
        Ok(Some(if group.contains(&signal) { Resume::Stopped } else { Resume::Run(0) }))
    }

    /// A task has started another one.
    fn started(&mut self, task: pid_t, event: c_int) -> Result<(), NativeError> {
        let new = system::event_message(task).map_err(failed("ask for the number of a child"))?;
        if self.untold.remove(&new) {
            return Ok(());
        }
        let waits = self.early.remove(&new);
        let is_process = match waits {
            Some(is_process) => is_process,
            None => self.count_process(new)?,
        };
        self.adopt(new, is_process, task, event);
        if waits.is_some() {
            system::resume(new, Resume::Run(0)).map_err(failed("let a child go on"))?;
        }
        Ok(())
    }

    /// Gives a new task the space that it has of the one that started it.
    fn adopt(&mut self, new: pid_t, is_process: bool, parent: pid_t, event: c_int) {
        self.near.started(new, parent);
        let Some(Task { space }) = self.tasks.get(&parent) else { return };
        let space = if is_process && !shares(parent, new, event) {
            Rc::new(space.fork())
        } else {
            Rc::clone(space)
        };
        self.tasks.insert(new, Task { space });
    }

    /// Counts a new task if it is a process, not a thread of one. Says whether it is.
    fn count_process(&mut self, number: pid_t) -> Result<bool, NativeError> {
        // Threads have no handle of this kind.
        let Ok(handle) = system::process_handle(number) else { return Ok(false) };
        self.processes += 1;
        let limit = self.request.processes;
        if self.live.add(number, handle) > limit {
            return Err(NativeError::TooManyProcesses { limit });
        }
        Ok(true)
    }

    /// A process has become another program, and stands at its first instruction.
    fn executed(&mut self, task: pid_t) -> Result<(), NativeError> {
        // A thread that executes a program becomes the process; all other threads are gone.
        let former = system::event_message(task).unwrap_or(task);
        self.near.executed(task, former);
        if former != task {
            self.tasks.remove(&former);
        }
        let space = Rc::new(Space::default());
        self.tasks.insert(task, Task { space: Rc::clone(&space) });
        let program = fs::read_link(format!("/proc/{task}/exe")).unwrap_or_default();
        let file = File::open(format!("/proc/{task}/exe"));
        if let Ok(file) = &file {
            self.note_privileges(task, &program, file);
        }
        // The program itself, and its loader where it has one. What that loads is seen as it comes.
        for part in maps::executable(task).map_err(failed("read what a program has mapped"))? {
            let own = part.path == program;
            match &file {
                Ok(file) if own => self.map(task, &space, &part, file, true)?,
                Err(why) if own => {
                    self.watched.skip(program.clone(), format!("it cannot be read: {why}"));
                }
                _ if !self.request.objects.needs_libraries() => {}
                _ => match File::open(part.seen_by(task)) {
                    Ok(file) => self.map(task, &space, &part, &file, false)?,
                    Err(why) => self.watched.skip(part.path, format!("it cannot be read: {why}")),
                },
            }
        }
        Ok(())
    }

    /// Which call the filter has stopped.
    fn calls(&self, task: pid_t) -> Result<Call, NativeError> {
        let data = system::event_message(task).map_err(failed("ask which call a program makes"))?;
        Ok(Call::of(data))
    }

    /// A process has mapped code.
    fn mapped(&mut self, task: pid_t) -> Result<(), NativeError> {
        let call = arch::mmap(task).map_err(failed("read the registers of a program"))?;
        let Some(call) = call.filter(|call| call.flags & libc::MAP_ANONYMOUS == 0) else {
            return Ok(());
        };
        let Some(Task { space }) = self.tasks.get(&task) else { return Ok(()) };
        let space = Rc::clone(space);
        // By its descriptor even a file is found that has no name any more.
        let link = format!("/proc/{task}/fd/{}", call.file);
        let Ok(file) = File::open(&link) else { return Ok(()) };
        let path = fs::read_link(&link).unwrap_or_default();
        let range = call.start..call.start.saturating_add(call.length);
        self.map(task, &space, &Part { range, offset: call.offset, path }, &file, false)
    }

    /// Watches a part of a file that a process has mapped as code.
    fn map(
        &mut self,
        task: pid_t,
        space: &Space,
        part: &Part,
        file: &File,
        executed: bool,
    ) -> Result<(), NativeError> {
        let overlaps = |mapped: &MappedFile| {
            mapped.range.start < part.range.end && part.range.start < mapped.range.end
        };
        // What was there is there no more.
        space.mapped.borrow_mut().retain(|mapped| !overlaps(mapped));
        let Some(object) = self.watched.open(file, &part.path, executed)? else { return Ok(()) };
        let image = self.watched.image(object);
        let Some(bias) = image.bias(part.range.start, part.offset, self.page) else {
            return Ok(());
        };
        let range = part.range.clone();
        let window = range.start.wrapping_sub(bias)..range.end.wrapping_sub(bias);
        space.mapped.borrow_mut().push(MappedFile { range, bias, object });
        let wanted = |function| !self.watched.has_run(object, function);
        let planted = space
            .memory(task)
            .and_then(|memory| self.near.apart(|| image.plant(memory, bias, &window, wanted)));
        planted.map_err(failed("write breakpoints into the program's memory"))
    }

    /// Handles the SIGTRAP that a task is about to get. Says whether it came of a breakpoint.
    fn breakpoint(&mut self, task: pid_t) -> Result<bool, NativeError> {
        let Some(Task { space }) = self.tasks.get(&task) else { return Ok(false) };
        let registers = failed("read the registers of a program");
        let counter = arch::program_counter(task).map_err(registers)?;
        let address = counter.wrapping_sub(arch::ADVANCE);
        let Some(MappedFile { bias, object, .. }) = space.at(address) else { return Ok(false) };
        let image = self.watched.image(object);
        let Some(function) = image.function_at(address.wrapping_sub(bias)) else {
            return Ok(false);
        };
        // Nobody comes past a breakpoint that has not been hit yet. Later somebody may have sent a
        // SIGTRAP to a task that just stands here.
        if self.watched.has_run(object, function) {
            let code = system::signal_code(task).map_err(failed("ask what a signal came of"))?;
            if code != arch::TRAP_CODE {
                return Ok(false);
            }
        }
        space
            .memory(task)
            .and_then(|memory| image.restore(memory, bias, function))
            .map_err(failed("write into the program's memory"))?;
        if arch::ADVANCE > 0 {
            let registers = failed("write the registers of a program");
            arch::set_program_counter(task, address).map_err(registers)?;
        }
        if self.live.phase() == Phase::Recording {
            self.watched.record(object, function);
        }
        Ok(true)
    }

    /// Notes that a program runs without the privileges that its file would give it: the kernel
    /// gives none to a program that somebody without privileges traces.
    fn note_privileges(&mut self, task: pid_t, path: &Path, file: &File) {
        let (Ok(data), Ok(process)) = (file.metadata(), fs::metadata(format!("/proc/{task}")))
        else {
            return;
        };
        let set = |bit: u32, wanted: u32, has: u32| data.mode() & bit != 0 && wanted != has;
        let what = if set(libc::S_ISUID, data.uid(), process.uid()) {
            "setuid"
        } else if set(libc::S_ISGID, data.gid(), process.gid()) {
            "setgid"
        } else {
            return;
        };
        let why = format!(
            "it is {what}, and a program that is traced without privileges does not get those of \
             its file: it ran as an ordinary program; trace as root to see it run as it does"
        );
        self.watched.skip(path.to_owned(), why);
    }
}

/// Whether a task and a process that it has started share their memory.
fn shares(task: pid_t, new: pid_t, event: c_int) -> bool {
    // A copy where it should be shared only misses what is mapped later.
    system::share_memory(task, new).unwrap_or(event == libc::PTRACE_EVENT_VFORK)
}

fn failed(what: &'static str) -> impl FnOnce(io::Error) -> NativeError {
    move |source| NativeError::System { what, source }
}
