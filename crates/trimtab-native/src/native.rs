//! What a program executes, in order of first execution, on the machine itself: without special
//! hardware, and without another build of the program.
//!
//! A breakpoint stands at the entry of each function that has a symbol. The first task to come there
//! stops; the function is recorded, the breakpoint removed, and the task goes on. So each function
//! costs one stop in all, and code that runs again runs at full speed.
//!
//! Threads, and the processes that the program starts, are traced as well. However tracing ends,
//! nothing that it started is left running: the kernel kills every traced task when its tracer is
//! gone (`PTRACE_O_EXITKILL`).
//!
//! What the program can notice: its time; the processor that it runs on (`near`); its code is no
//! longer shared with other processes, and differs from the file when it reads itself; a function that
//! is first called while SIGTRAP is blocked unblocks it, and resets a handler of it.

mod arch;
mod calls;
mod error;
mod filter;
mod image;
mod live;
mod maps;
mod near;
mod objects;
mod request;
mod start;
mod system;
#[cfg(test)]
mod tests;
mod tracer;

pub use calls::{CallCount, SystemCalls, calls};
pub use error::NativeError;
pub use request::{Objects, Request};

use live::{Live, Phase};
use near::Near;
use nix::sys::signal::Signal;
use start::TracedProcess;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};
use tracer::{Outcome, Tracer};
use trimtab_lab::process::JobCount;
use trimtab_profile::{Place, Source, Trace, read};

/// How often is looked whether trimtab was asked to end, or the time is over.
const TICK: Duration = Duration::from_millis(20);

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// By us, because the time was over.
    TimeOver,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Exited(status) => write!(f, "ended with status {status}"),
            End::Killed(signal) => match Signal::try_from(*signal) {
                Ok(signal) => write!(f, "was killed by {signal}"),
                // Real-time signals have numbers only.
                Err(_) => write!(f, "was killed by signal {signal}"),
            },
            End::TimeOver => f.write_str("was ended when its time was over"),
        }
    }
}

/// A function that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutedFunction {
    /// Where it is linked to run.
    pub address: u64,
    /// Its length in bytes.
    pub size: u64,
    /// Its symbol's name.
    pub name: String,
    /// How many functions, of all objects, ran before it.
    pub order: u64,
}

/// A program or library, and what ran of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its file.
    pub path: PathBuf,
    /// Its GNU build ID in lower-case hexadecimal, if the linker wrote one.
    pub build_id: Option<String>,
    /// How many functions were watched.
    pub functions: usize,
    /// Those that ran, in the order in which each ran first.
    pub entered: Vec<ExecutedFunction>,
}

impl Object {
    /// What ran, as a trace.
    pub fn trace(&self) -> Trace {
        let mut trace = Trace::new(Source::Breakpoints);
        trace.build_id.clone_from(&self.build_id);
        for entered in &self.entered {
            let name = trace.intern(&entered.name);
            trace.record(Place::Address(entered.address), Some((name, 0)), 1);
        }
        trace
    }

    /// What ran, as the text of a trace file.
    pub fn text(&self) -> String {
        read::write_recorded(&self.trace())
    }
}

/// A file of which less was seen than was wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedFile {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

/// What a run of a program showed.
#[derive(Debug, Clone)]
pub struct Recording {
    /// What ran, by the file that holds it, in the order in which files were first mapped.
    pub objects: Vec<Object>,
    /// Files of which less was seen than was wanted.
    pub skipped: Vec<SkippedFile>,
    /// How the program ended.
    pub ended: End,
    /// How many processes there were, with the program itself.
    pub processes: u64,
    /// Wall time until the last of them had ended.
    pub wall: Duration,
}

/// Runs a program and records which functions it executes, until it and all processes that it has
/// started have ended, or the time is over. How the program ended is no error.
///
/// # Errors
/// That it cannot be started or traced, has no symbols, starts too many processes, or that trimtab
/// was asked to end.
pub fn trace(request: &Request) -> Result<Recording, NativeError> {
    let _counted = JobCount::begin();
    if request.interrupt.load(Ordering::SeqCst) {
        return Err(NativeError::Interrupted);
    }
    let (live, near) = (Live::new(), Near::default());
    let started = Instant::now();
    let mut cause = None;
    let outcome = thread::scope(|scope| {
        let (sender, receiver) = channel();
        // Tasks belong to the thread that traces them: it waits for its own and no others.
        scope.spawn(|| {
            let outcome = start::start(request).and_then(|TracedProcess { root, filtered }| {
                if filtered {
                    near.stay();
                }
                Tracer::new(request, &live, &near, root).run()
            });
            let _ = sender.send(outcome);
            drop(sender);
        });
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let source = std::io::Error::other("its thread has ended");
                    return Err(NativeError::System { what: "go on", source });
                }
            }
            near.look();
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
    let Outcome { objects, skipped, ended, processes } = outcome;
    let ended = match cause {
        Some(Cause { interrupt: true, .. }) => return Err(NativeError::Interrupted),
        Some(_) => End::TimeOver,
        None => ended.unwrap_or(End::Killed(nix::libc::SIGKILL)),
    };
    Ok(Recording { objects, skipped, ended, processes, wall: started.elapsed() })
}

/// Why a program is ended before its time.
struct Cause {
    since: Instant,
    /// Not because the time is over, but because trimtab was asked to end.
    interrupt: bool,
}

impl Cause {
    fn to_end(request: &Request, started: Instant) -> Option<Self> {
        let interrupt = request.interrupt.load(Ordering::Relaxed);
        let over = started.elapsed() >= request.limit;
        (interrupt || over).then(|| Cause { since: Instant::now(), interrupt })
    }
}
