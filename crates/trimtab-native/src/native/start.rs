//! Starts a program so that it is traced from its first instruction on.

use super::filter::Filter;
use super::{NativeError, Request, system};
use nix::libc::pid_t;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;

/// A program that is traced from its first instruction on.
#[derive(Debug)]
pub(super) struct TracedProcess {
    pub(super) root: pid_t,
    /// Whether it is under the filter.
    pub(super) filtered: bool,
}

/// Starts the program, and traces it from the calling thread. It stands still right behind `exec`.
///
/// Between fork and exec the child says who it is, and waits until it is traced. [`Command`] returns
/// only after `exec`, and so runs in a thread of its own.
pub(super) fn start(request: &Request) -> Result<TracedProcess, NativeError> {
    let failed = |source: io::Error| request.start_error(source);
    let (their_number, number) = system::pipe().map_err(failed)?;
    let (go, going) = system::pipe().map_err(failed)?;
    let mut command = command(request, number, go, going.as_raw_fd())?;
    thread::scope(|scope| {
        // The command, and with it the child's ends of the pipes, is dropped when it has started.
        let starting = scope.spawn(move || command.spawn().map(drop));
        let traced = trace_child(their_number, going);
        let started = starting.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
        match (started, traced) {
            (Ok(()), Ok(started)) => Ok(started),
            // Without its tracer the child does not get as far as exec.
            (_, Err(TraceRefusal::Refused(source))) => Err(NativeError::Refused { source }),
            (Err(source), _) | (Ok(()), Err(TraceRefusal::Silent(source))) => Err(failed(source)),
        }
    })
}

fn command(
    request: &Request,
    number: OwnedFd,
    go: OwnedFd,
    going: RawFd,
) -> Result<Command, NativeError> {
    let mut command = request.invocation.command();
    if let Some(path) = &request.log {
        let log = File::create(path)
            .and_then(|log| Ok((log.try_clone()?, log)))
            .map_err(|source| NativeError::Log { path: path.clone(), source })?;
        command.stdin(Stdio::null()).stdout(log.0).stderr(log.1);
    }
    if request.output_to_error {
        command.stdout(std::io::stderr());
    }
    let libraries = request.objects.needs_libraries();
    let filter = Filter::new(libraries);
    let (mut number, mut go) = (File::from(number), File::from(go));
    let prepare = move || {
        let mut byte = [0];
        // The child's copy of our end would keep the pipe open when ours is closed.
        nix::unistd::close(going)?;
        // Nothing stops at a filter before it is traced. Without libraries it only saves time.
        let filtered = match filter.install() {
            Err(error) if libraries => return Err(error),
            installed => installed.is_ok(),
        };
        let [a, b, c, d] = std::process::id().to_ne_bytes();
        number.write_all(&[a, b, c, d, filtered.into()])?;
        // The end of the pipe says that the tracer is gone.
        if go.read(&mut byte)? == 0 {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated: errors
    // made of a kind or of the last system call are plain numbers.
    unsafe { command.pre_exec(prepare) };
    Ok(command)
}

/// Why a child is not traced.
enum TraceRefusal {
    /// The system does not allow it.
    Refused(io::Error),
    /// It never said who it is.
    Silent(io::Error),
}

fn trace_child(number: OwnedFd, going: OwnedFd) -> Result<TracedProcess, TraceRefusal> {
    let mut bytes = [0; 5];
    File::from(number).read_exact(&mut bytes).map_err(TraceRefusal::Silent)?;
    let [a, b, c, d, filtered] = bytes;
    let root = u32::from_ne_bytes([a, b, c, d]).cast_signed();
    system::seize(root).map_err(TraceRefusal::Refused)?;
    File::from(going).write_all(&[1]).map_err(TraceRefusal::Silent)?;
    Ok(TracedProcess { root, filtered: filtered != 0 })
}
