//! The instruction sets whose objects are instrumented: what the run time is compiled of and with.

use object::elf;
use trimtab_program::Isa;

/// What depends on the instruction set, beside how code is rewritten (in `arch/`).
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The instruction set.
    pub isa: Isa,
    /// A compiler for it, by the name that Debian gives it.
    pub compiler: &'static str,
    /// Flags that the run time is compiled with, beside those that it has on any machine.
    pub(crate) flags: &'static [&'static str],
    /// The run time's sources that only it has: name, and text.
    pub(crate) sources: &'static [(&'static str, &'static str)],
}

/// All of them.
pub const TARGETS: [Target; 2] = [
    Target {
        isa: Isa::X86_64,
        compiler: "x86_64-linux-gnu-gcc",
        // The marks of control-flow enforcement are in all objects of a program, or it does without.
        flags: &["-DMACHINE=x86_64", "-fcf-protection"],
        sources: &[
            ("x86_64.h", include_str!("../../../probe/x86_64.h")),
            ("x86_64.S", include_str!("../../../probe/x86_64.S")),
        ],
    },
    Target {
        isa: Isa::Aarch64,
        compiler: "aarch64-linux-gnu-gcc",
        // Not what libgcc has in place of atomic instructions: it is not linked here.
        flags: &["-DMACHINE=aarch64", "-mbranch-protection=standard", "-mno-outline-atomics"],
        sources: &[
            ("aarch64.h", include_str!("../../../probe/aarch64.h")),
            ("aarch64.S", include_str!("../../../probe/aarch64.S")),
        ],
    },
];

impl Target {
    /// The one of an instruction set.
    pub fn of_isa(isa: Isa) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.isa == isa)
    }

    /// The one of this `e_machine`.
    pub fn of_elf_machine(machine: u16) -> Option<&'static Self> {
        Isa::of_elf_machine(machine).and_then(Self::of_isa)
    }

    /// The one that an ELF file is for; none for what is no ELF file, or for another machine.
    pub fn of_file(data: &[u8]) -> Option<&'static Self> {
        let machine = data.strip_prefix(&elf::ELFMAG)?.get(14..16)?.first_chunk()?;
        Self::of_elf_machine(u16::from_le_bytes(*machine))
    }

    /// The one that a compiler is for, by what it says to `-dumpmachine`: `aarch64-linux-gnu`.
    pub fn of_triple(triple: &str) -> Option<&'static Self> {
        let machine = triple.trim().split('-').next()?;
        // Some builds of clang have Apple's name of it.
        let machine = if machine == "arm64" { "aarch64" } else { machine };
        TARGETS.iter().find(|target| target.isa.name() == machine)
    }

    /// What messages say is expected: `62 (x86-64) or 183 (AArch64)`.
    pub(crate) fn expected() -> String {
        Isa::expected(TARGETS.map(|target| target.isa), " or ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_by_what_compilers_and_objects_say() {
        for target in &TARGETS {
            let triple = format!("{}-linux-gnu\n", target.isa.name());
            assert_eq!(Target::of_triple(&triple).unwrap().isa, target.isa);
            let mut file = vec![0; 64];
            file[..4].copy_from_slice(b"\x7fELF");
            file[18..20].copy_from_slice(&target.isa.elf_machine().to_le_bytes());
            assert_eq!(Target::of_file(&file).unwrap().isa, target.isa);
            assert!(Target::of_file(&file[..19]).is_none());
        }
        assert!(Target::of_triple("riscv64-linux-gnu").is_none());
        assert_eq!(Target::expected(), "62 (x86-64) or 183 (AArch64)");
    }
}
