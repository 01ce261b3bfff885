//! Stops a program where it maps code, and where it asks on which processors it can run, and at no
//! other system call.
//!
//! Watching for either by tracing every system call would slow a program down many times. A seccomp
//! filter lets the kernel choose.

use super::arch;
use nix::libc::{self, c_int, c_long, c_ulong, pid_t, sock_filter, sock_fprog};
use std::io;
use std::mem::offset_of;

/// A call at which the filter stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// `mmap` with `PROT_EXEC`.
    Maps = 0,
    /// `sched_getaffinity` or `sched_setaffinity`.
    AsksForProcessors = 1,
}

impl Call {
    /// The one that the kernel tells of by this number.
    pub(super) fn of(data: pid_t) -> Self {
        if data == Call::AsksForProcessors as pid_t { Call::AsksForProcessors } else { Call::Maps }
    }

    /// What the filter answers.
    fn verdict(self) -> u32 {
        libc::SECCOMP_RET_TRACE | self as u32
    }
}

/// The filter: classic BPF over `struct seccomp_data`.
pub(super) struct Filter([sock_filter; 11]);

impl Filter {
    /// Stops at [`Call::AsksForProcessors`], and at [`Call::Maps`] if `maps`.
    pub(super) fn new(maps: bool) -> Self {
        let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
        let equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        let bits = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
        let give = (libc::BPF_RET | libc::BPF_K) as u16;
        // The low half of the third argument, the protection: both processors are little-endian.
        let protection = offset_of!(libc::seccomp_data, args) + 2 * size_of::<u64>();
        let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
        // No protection has a bit of 0: then the step below never finds one.
        let code = if maps { libc::PROT_EXEC as u32 } else { 0 };
        Filter([
            step(load, 0, 0, offset_of!(libc::seccomp_data, arch) as u32),
            step(equal, 0, 7, arch::AUDIT),
            step(load, 0, 0, offset_of!(libc::seccomp_data, nr) as u32),
            step(equal, 6, 0, libc::SYS_sched_getaffinity as u32),
            step(equal, 5, 0, libc::SYS_sched_setaffinity as u32),
            step(equal, 0, 3, libc::SYS_mmap as u32),
            step(load, 0, 0, protection as u32),
            step(bits, 0, 1, code),
            step(give, 0, 0, Call::Maps.verdict()),
            step(give, 0, 0, libc::SECCOMP_RET_ALLOW),
            step(give, 0, 0, Call::AsksForProcessors.verdict()),
        ])
    }

    /// Puts the calling thread, and all that it starts, under the filter. Allocates nothing, so
    /// that it can be called between fork and exec.
    pub(super) fn install(&self) -> io::Result<()> {
        let program = sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        let install = || -> c_long {
            // SAFETY: the kernel copies the program, which lives as long as the call.
            unsafe {
                libc::syscall(
                    libc::SYS_seccomp,
                    libc::SECCOMP_SET_MODE_FILTER,
                    0 as c_ulong,
                    &raw const program,
                )
            }
        };
        if install() == 0 {
            return Ok(());
        }
        // Without privileges the kernel first wants the promise that no program gets more of them.
        let yes: c_int = 1;
        // SAFETY: the call takes numbers.
        unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, yes, 0, 0, 0) };
        match install() {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel does.
    fn verdict(maps: bool, nr: i64, arch: u32, protection: u64) -> u32 {
        let mut data = Vec::new();
        data.extend((nr as u32).to_le_bytes());
        data.extend(arch.to_le_bytes());
        data.extend(0_u64.to_le_bytes());
        for argument in [0, 0x1000, protection, 2, 3, 0] {
            data.extend(u64::to_le_bytes(argument));
        }
        let Filter(program) = Filter::new(maps);
        let mut accumulator = 0;
        let mut at = 0;
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            match code {
                0x20 => {
                    let at = k as usize;
                    accumulator = u32::from_le_bytes(data[at..at + 4].try_into().unwrap());
                }
                0x15 => at += usize::from(if accumulator == k { jt } else { jf }),
                0x45 => at += usize::from(if accumulator & k != 0 { jt } else { jf }),
                0x06 => return k,
                code => panic!("an instruction that was not expected: {code:#x}"),
            }
        }
    }

    #[test]
    fn only_mappings_of_code_and_questions_for_processors_stop() {
        let (mmap, code) = (libc::SYS_mmap, libc::PROT_EXEC as u64);
        let (asks, sets) = (libc::SYS_sched_getaffinity, libc::SYS_sched_setaffinity);
        let (maps, processors) = (Call::Maps.verdict(), Call::AsksForProcessors.verdict());
        let none = libc::SECCOMP_RET_ALLOW;
        // What is expected where mappings are to stop, and where not.
        for (nr, arch, protection, expected) in [
            (mmap, arch::AUDIT, code | 1, [maps, none]),
            (mmap, arch::AUDIT, 3, [none, none]),
            (libc::SYS_read, arch::AUDIT, code, [none, none]),
            (asks, arch::AUDIT, 0, [processors, processors]),
            (sets, arch::AUDIT, code, [processors, processors]),
            // The same numbers mean other calls to 32-bit programs.
            (mmap, 0x4000_0003, code, [none, none]),
            (asks, 0x4000_0003, code, [none, none]),
        ] {
            let found = [true, false].map(|maps| verdict(maps, nr, arch, protection));
            assert_eq!(found, expected, "{nr} {arch:x} {protection}");
        }
        assert_eq!(Call::of((maps & 0xffff) as pid_t), Call::Maps);
        assert_eq!(Call::of((processors & 0xffff) as pid_t), Call::AsksForProcessors);
    }
}
