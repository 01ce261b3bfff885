//! What differs between processors: the breakpoint and the registers.

use nix::libc::{c_int, pid_t};
use object::elf;
use std::io;
use trimtab_program::Isa;

/// An instruction that stops the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Breakpoint {
    /// Its bytes.
    pub(super) bytes: &'static [u8],
    /// How far behind its address the program counter stands when it has been hit.
    advance: u64,
    /// Alignment of instructions in bytes, a power of two.
    alignment: u64,
    /// `si_code` of the SIGTRAP that it raises.
    code: c_int,
}

/// `int3`.
const X86_64: Breakpoint = Breakpoint { bytes: &[0xcc], advance: 1, alignment: 1, code: SI_KERNEL };
/// `brk #0`. Written and removed by one aligned store of a word, so no thread sees half of it.
const AARCH64: Breakpoint =
    Breakpoint { bytes: &[0x00, 0x00, 0x20, 0xd4], advance: 0, alignment: 4, code: TRAP_BRKPT };

const SI_KERNEL: c_int = 0x80;
const TRAP_BRKPT: c_int = 1;

/// `mov $15, %rax; syscall`: where handlers of signals return to. Unwinders know frames of handlers
/// by exactly these bytes, so they must stay.
const X86_64_SIGNAL_RETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05];

impl Breakpoint {
    /// The breakpoint for an instruction set, where this tracer knows it.
    pub(super) fn of(isa: Isa) -> Option<Self> {
        match isa {
            Isa::X86_64 => Some(X86_64),
            Isa::Aarch64 => Some(AARCH64),
            Isa::Mips32 => None,
        }
    }

    /// Whether it can replace what stands at the linked `address`, where the code goes on with
    /// `code`.
    pub(super) fn fits(&self, address: u64, code: &[u8]) -> bool {
        // A breakpoint of the program's own must reach the program.
        address & (self.alignment - 1) == 0
            && code.len() >= self.bytes.len()
            && !code.starts_with(self.bytes)
            && !(*self == X86_64 && code.starts_with(&X86_64_SIGNAL_RETURN))
    }
}

/// The ELF machine whose programs can be traced here; 0, which none has, where none can.
pub(super) const NATIVE: u16 = if cfg!(target_arch = "x86_64") {
    elf::EM_X86_64
} else if cfg!(target_arch = "aarch64") {
    elf::EM_AARCH64
} else {
    elf::EM_NONE
};

/// How far behind a breakpoint the program counter stands when it has been hit.
pub(super) const ADVANCE: u64 = if NATIVE == elf::EM_X86_64 { X86_64.advance } else { 0 };

/// `si_code` of the SIGTRAP that a breakpoint raises.
pub(super) const TRAP_CODE: c_int =
    if NATIVE == elf::EM_X86_64 { X86_64.code } else { AARCH64.code };

/// The kernel's name for the processor in seccomp filters (`AUDIT_ARCH_*`).
pub(super) const AUDIT: u32 = 0xc000_0000 | NATIVE as u32;

/// A call of `mmap` that has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mmap {
    /// Where the mapping begins.
    pub(super) start: u64,
    /// Its length in bytes, as it was asked for.
    pub(super) length: u64,
    /// `MAP_*`.
    pub(super) flags: c_int,
    /// The mapped file.
    pub(super) file: c_int,
    /// Where in the file it begins.
    pub(super) offset: u64,
}

impl Mmap {
    /// From the arguments of the call and its result.
    fn new(result: u64, arguments: [u64; 6]) -> Option<Self> {
        // Results in the last page are errors.
        let failed = result > u64::MAX - 4096;
        let [_, length, _, flags, file, offset] = arguments;
        let [flags, file] = [flags, file].map(|word| word as c_int);
        (!failed).then_some(Mmap { start: result, length, flags, file, offset })
    }
}

#[cfg(target_arch = "x86_64")]
mod registers {
    use super::{Mmap, io, pid_t};
    use crate::native::system;
    use nix::libc::{c_long, user_regs_struct};
    use std::mem::offset_of;

    const RIP: usize = offset_of!(user_regs_struct, rip);

    pub(in crate::native) fn program_counter(task: pid_t) -> io::Result<u64> {
        system::peek_user(task, RIP)
    }

    pub(in crate::native) fn set_program_counter(task: pid_t, address: u64) -> io::Result<()> {
        system::poke_user(task, RIP, address as c_long)
    }

    pub(in crate::native) fn mmap(task: pid_t) -> io::Result<Option<Mmap>> {
        let r = system::registers(task)?;
        Ok(Mmap::new(r.rax, [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9]))
    }
}

#[cfg(target_arch = "aarch64")]
mod registers {
    use super::{Mmap, io, pid_t};
    use crate::native::system;

    pub(in crate::native) fn program_counter(task: pid_t) -> io::Result<u64> {
        Ok(system::registers(task)?.pc)
    }

    pub(in crate::native) fn set_program_counter(task: pid_t, address: u64) -> io::Result<()> {
        let mut registers = system::registers(task)?;
        registers.pc = address;
        system::set_registers(task, registers)
    }

    pub(in crate::native) fn mmap(task: pid_t) -> io::Result<Option<Mmap>> {
        let [x0, x1, x2, x3, x4, x5, ..] = system::registers(task)?.regs;
        // The result has taken the place of the first argument, which nobody needs.
        Ok(Mmap::new(x0, [x0, x1, x2, x3, x4, x5]))
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod registers {
    use super::{Mmap, io, pid_t};

    pub(in crate::native) fn program_counter(_: pid_t) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::native) fn set_program_counter(_: pid_t, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::native) fn mmap(_: pid_t) -> io::Result<Option<Mmap>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

pub(super) use registers::{mmap, program_counter, set_program_counter};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breakpoints_are_those_of_the_processors() {
        let x86 = Breakpoint::of(Isa::X86_64).unwrap();
        assert_eq!((x86.bytes, x86.advance), (&[0xcc][..], 1));
        let arm = Breakpoint::of(Isa::Aarch64).unwrap();
        assert_eq!(arm.bytes, 0xd420_0000_u32.to_le_bytes());
        assert_eq!(arm.advance, 0, "brk leaves the program counter where it stands");
        assert_eq!(Breakpoint::of(Isa::Mips32), None);
    }

    #[test]
    fn they_replace_code_and_nothing_else() {
        let x86 = Breakpoint::of(Isa::X86_64).unwrap();
        assert!(x86.fits(0x1001, &[0x55, 0x48]));
        assert!(!x86.fits(0x1000, &[0xcc, 0x90]), "the program's own");
        assert!(!x86.fits(0x1000, &[]), "no code");
        assert!(!x86.fits(0x1000, &X86_64_SIGNAL_RETURN));
        let arm = Breakpoint::of(Isa::Aarch64).unwrap();
        assert!(arm.fits(0x1004, &[0x3f, 0x23, 0x03, 0xd5]));
        assert!(!arm.fits(0x1002, &[0x3f, 0x23, 0x03, 0xd5]), "not where instructions begin");
        assert!(!arm.fits(0x1004, &[0x3f, 0x23]), "cut off");
        assert!(!arm.fits(0x1004, &[0, 0, 0x20, 0xd4]), "the program's own");
    }

    #[test]
    fn mmap_that_failed_is_no_mapping() {
        let arguments = [0, 0x2000, 5, 2, u64::from(3_u32), 0x1000];
        let expected = Mmap { start: 0x7000, length: 0x2000, flags: 2, file: 3, offset: 0x1000 };
        assert_eq!(Mmap::new(0x7000, arguments), Some(expected));
        assert_eq!(Mmap::new(-12_i64 as u64, arguments), None);
    }

    #[test]
    fn the_filter_names_the_processor_as_the_kernel_does() {
        match NATIVE {
            elf::EM_X86_64 => assert_eq!(AUDIT, 0xc000_003e),
            elf::EM_AARCH64 => assert_eq!(AUDIT, 0xc000_00b7),
            _ => {}
        }
    }
}
