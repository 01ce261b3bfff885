//! The system calls of the tracer, as safe functions. nix has most of them, but its types cannot
//! hold real-time signals.

use nix::libc::{self, c_int, c_long, c_uint, pid_t};
use std::fs::File;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// What happened to a task, which is a thread or a process of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// It ended with this status.
    Exited(c_int),
    /// This signal killed it.
    Killed(c_int),
    /// It is about to get this signal.
    Signal(c_int),
    /// It enters or leaves a system call.
    SystemCall,
    /// It stopped for one of the `PTRACE_EVENT_*`, with this signal.
    Event(c_int, c_int),
}

impl Change {
    /// Decodes what `waitpid` says.
    fn of(status: c_int) -> Option<Self> {
        if libc::WIFEXITED(status) {
            Some(Change::Exited(libc::WEXITSTATUS(status)))
        } else if libc::WIFSIGNALED(status) {
            Some(Change::Killed(libc::WTERMSIG(status)))
        } else if libc::WIFSTOPPED(status) {
            let signal = libc::WSTOPSIG(status);
            Some(match (status >> 16, signal) {
                (0, signal) if signal == libc::SIGTRAP | 0x80 => Change::SystemCall,
                (0, signal) => Change::Signal(signal),
                (event, signal) => Change::Event(event, signal),
            })
        } else {
            None
        }
    }
}

/// Waits for the next change of any task that this thread traces. Nothing when there are none left.
pub(super) fn wait() -> io::Result<Option<(pid_t, Change)>> {
    loop {
        let mut status = 0;
        // Other threads have children of their own, which are theirs to wait for.
        let flags = libc::__WALL | libc::__WNOTHREAD;
        // SAFETY: the pointer is to a variable that lives as long as the call.
        let task = unsafe { libc::waitpid(-1, &raw mut status, flags) };
        if task > 0 {
            match Change::of(status) {
                Some(change) => return Ok(Some((task, change))),
                None => continue,
            }
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::ECHILD) => return Ok(None),
            _ => return Err(error),
        }
    }
}

/// Begins to trace a child and all that it will start. It ends when this thread does.
pub(super) fn seize(task: pid_t) -> io::Result<()> {
    let options = libc::PTRACE_O_EXITKILL
        | libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACESECCOMP;
    request(libc::PTRACE_SEIZE, task, 0, options as usize)
}

/// How a stopped task goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resume {
    /// It runs, and gets this signal; 0 is none.
    Run(c_int),
    /// It runs until the end of the system call that it is in.
    ToEndOfCall,
    /// It gets this signal, 0 for none, and runs until it enters or leaves a system call.
    ToNextCall(c_int),
    /// It stays stopped as it would without a tracer: until SIGCONT.
    Stopped,
}

/// Lets a stopped task go on. One that was killed meanwhile is no error.
pub(super) fn resume(task: pid_t, how: Resume) -> io::Result<()> {
    let done = match how {
        Resume::Run(signal) => request(libc::PTRACE_CONT, task, 0, signal as usize),
        Resume::ToEndOfCall => request(libc::PTRACE_SYSCALL, task, 0, 0),
        Resume::ToNextCall(signal) => request(libc::PTRACE_SYSCALL, task, 0, signal as usize),
        Resume::Stopped => request(libc::PTRACE_LISTEN, task, 0, 0),
    };
    match done {
        Err(error) if is_gone(&error) => Ok(()),
        done => done,
    }
}

/// Whether it says that the task has been killed.
pub(super) fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}

/// The number that came with a `PTRACE_EVENT_*`.
pub(super) fn event_message(task: pid_t) -> io::Result<pid_t> {
    let mut message: libc::c_ulong = 0;
    request(libc::PTRACE_GETEVENTMSG, task, 0, &raw mut message as usize)?;
    Ok(message as pid_t)
}

/// `si_code` of the signal that a task is about to get.
pub(super) fn signal_code(task: pid_t) -> io::Result<c_int> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    request(libc::PTRACE_GETSIGINFO, task, 0, info.as_mut_ptr() as usize)?;
    // SAFETY: all bytes are zero or have been written by the call; any bytes are a `siginfo_t`.
    Ok(unsafe { info.assume_init() }.si_code)
}

/// The entry into a system call, or the return from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallStop {
    /// Into the call of this number.
    Entry(u64),
    /// From one that failed, or did not.
    Exit {
        /// Whether it failed.
        failed: bool,
    },
    /// Neither.
    Other,
}

/// Where in a system call a stopped task is. (nix 0.30 has this and tells the kernel no size, so that it
/// gets nothing.)
pub(super) fn call_stop(task: pid_t) -> io::Result<CallStop> {
    let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    let size = size_of::<libc::ptrace_syscall_info>();
    request(libc::PTRACE_GET_SYSCALL_INFO, task, size, info.as_mut_ptr() as usize)?;
    // SAFETY: all bytes are zero or have been written by the call; any bytes are a `ptrace_syscall_info`.
    let info = unsafe { info.assume_init() };
    Ok(match info.op {
        // SAFETY: of an entry the kernel fills in this part.
        libc::PTRACE_SYSCALL_INFO_ENTRY => CallStop::Entry(unsafe { info.u.entry.nr }),
        libc::PTRACE_SYSCALL_INFO_EXIT => {
            // SAFETY: of an exit the kernel fills in this part.
            CallStop::Exit { failed: unsafe { info.u.exit.is_error } != 0 }
        }
        _ => CallStop::Other,
    })
}

/// All general registers of a stopped task.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn registers(task: pid_t) -> io::Result<libc::user_regs_struct> {
    let pid = nix::unistd::Pid::from_raw(task);
    Ok(nix::sys::ptrace::getregset::<nix::sys::ptrace::regset::NT_PRSTATUS>(pid)?)
}

/// Sets all general registers of a stopped task.
#[cfg(target_arch = "aarch64")]
pub(super) fn set_registers(task: pid_t, registers: libc::user_regs_struct) -> io::Result<()> {
    let pid = nix::unistd::Pid::from_raw(task);
    Ok(nix::sys::ptrace::setregset::<nix::sys::ptrace::regset::NT_PRSTATUS>(pid, registers)?)
}

/// One general register of a stopped task, by its place in `struct user`.
#[cfg(target_arch = "x86_64")]
pub(super) fn peek_user(task: pid_t, offset: usize) -> io::Result<u64> {
    let pid = nix::unistd::Pid::from_raw(task);
    let value: c_long = nix::sys::ptrace::read_user(pid, ptr::without_provenance_mut(offset))?;
    Ok(value as u64)
}

/// Sets one general register of a stopped task, by its place in `struct user`.
#[cfg(target_arch = "x86_64")]
pub(super) fn poke_user(task: pid_t, offset: usize, value: c_long) -> io::Result<()> {
    let pid = nix::unistd::Pid::from_raw(task);
    Ok(nix::sys::ptrace::write_user(pid, ptr::without_provenance_mut(offset), value)?)
}

/// `ptrace`, for the requests whose last argument is a number or a pointer that the kernel checks.
fn request(request: c_uint, task: pid_t, address: usize, data: usize) -> io::Result<()> {
    let address: *mut libc::c_void = ptr::without_provenance_mut(address);
    let data: *mut libc::c_void = ptr::with_exposed_provenance_mut(data);
    // SAFETY: the kernel writes at most what the request says, and callers in this module give it
    // a variable of that type.
    match unsafe { libc::ptrace(request, task, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// A handle on a process; `InvalidInput` or `NotFound` where the number is that of a thread.
pub(super) fn process_handle(process: pid_t) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two numbers.
    let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    if handle < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the system has just made this descriptor, for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(handle as c_int) })
}

/// Sends a signal to a process, and to no other that has come to have its number.
pub(super) fn send(process: &OwnedFd, signal: c_int) {
    // SAFETY: a null pointer stands for the usual information with the signal.
    unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            process.as_raw_fd(),
            signal,
            ptr::null::<libc::siginfo_t>(),
            0,
        );
    }
}

/// Whether two processes share their memory; nothing where this kernel cannot tell.
pub(super) fn share_memory(one: pid_t, other: pid_t) -> Option<bool> {
    const KCMP_VM: c_int = 1;
    // SAFETY: the call takes numbers.
    match unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_VM, 0, 0) } {
        -1 => None,
        difference => Some(difference == 0),
    }
}

/// Maps a file into memory to read it.
pub(super) fn map(file: &File) -> io::Result<memmap2::Mmap> {
    // SAFETY: the mapping is private and never written to. Should another program cut the file
    // meanwhile, the traced program, which has mapped it as well, is lost with us.
    unsafe { memmap2::Mmap::map(file) }
}

/// A pipe both ends of which are closed in programs that are started.
pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?)
}

const _: () = assert!(size_of::<usize>() == size_of::<c_long>());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_apart() {
        let stopped = |signal: c_int, event: c_int| event << 16 | signal << 8 | 0x7f;
        for (status, expected) in [
            (3 << 8, Change::Exited(3)),
            (libc::SIGSEGV, Change::Killed(libc::SIGSEGV)),
            (libc::SIGSEGV | 0x80, Change::Killed(libc::SIGSEGV)),
            (stopped(libc::SIGUSR1, 0), Change::Signal(libc::SIGUSR1)),
            (stopped(64, 0), Change::Signal(64)),
            (stopped(libc::SIGTRAP | 0x80, 0), Change::SystemCall),
            (stopped(libc::SIGTRAP, 4), Change::Event(libc::PTRACE_EVENT_EXEC, libc::SIGTRAP)),
            (stopped(libc::SIGSTOP, 128), Change::Event(libc::PTRACE_EVENT_STOP, libc::SIGSTOP)),
        ] {
            assert_eq!(Change::of(status), Some(expected), "{status:#x}");
        }
        assert_eq!(Change::of(0xffff), None, "a process that goes on");
    }

    #[test]
    fn a_process_that_is_gone_is_no_error() {
        // No process has the highest number that the kernel allows.
        assert!(resume(1 << 22, Resume::Run(0)).is_ok());
        assert!(is_gone(&seize(1 << 22).unwrap_err()));
    }
}
