//! The instruction sets that trimtab knows: the one enumeration of them, and how ELF files tell them.

use object::elf;

/// An instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Isa {
    /// x86-64.
    #[default]
    X86_64,
    /// 64-bit Arm.
    Aarch64,
    /// 32-bit MIPS, little-endian: MIPS32 up to release 5.
    Mips32,
}

impl Isa {
    /// All of them.
    pub const ALL: [Isa; 3] = [Isa::X86_64, Isa::Aarch64, Isa::Mips32];

    /// Those whose kernels are built and booted. Of the others only programs are read.
    pub const KERNELS: [Isa; 2] = [Isa::X86_64, Isa::Aarch64];

    /// The kernel's name of it, as in `uname -m`.
    pub fn name(self) -> &'static str {
        match self {
            Isa::X86_64 => "x86_64",
            Isa::Aarch64 => "aarch64",
            Isa::Mips32 => "mips",
        }
    }

    /// How messages call it.
    pub fn title(self) -> &'static str {
        match self {
            Isa::X86_64 => "x86-64",
            Isa::Aarch64 => "AArch64",
            Isa::Mips32 => "MIPS",
        }
    }

    /// `e_machine` of its ELF files.
    pub fn elf_machine(self) -> u16 {
        match self {
            Isa::X86_64 => elf::EM_X86_64,
            Isa::Aarch64 => elf::EM_AARCH64,
            Isa::Mips32 => elf::EM_MIPS,
        }
    }

    /// Whether its ELF files have addresses of 64 bits; of 32 else.
    pub fn is_64_bit(self) -> bool {
        match self {
            Isa::X86_64 | Isa::Aarch64 => true,
            Isa::Mips32 => false,
        }
    }

    /// The one whose ELF files have this `e_machine`.
    pub fn of_elf_machine(machine: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|isa| isa.elf_machine() == machine)
    }

    /// These as messages say what `e_machine` is expected: `62 (x86-64)`, with `between` between them.
    pub fn expected(isas: impl IntoIterator<Item = Self>, between: &str) -> String {
        let text = |isa: Self| format!("{} ({})", isa.elf_machine(), isa.title());
        isas.into_iter().map(text).collect::<Vec<_>>().join(between)
    }

    /// Whether a symbol's name is that of a mapping symbol: such say where code (`$x`) and data (`$d`) begin, with any ending
    /// behind a dot, and name nothing. ELF for the Arm 64-bit Architecture, section "Mapping symbols".
    pub fn is_mapping_symbol(self, name: &[u8]) -> bool {
        match self {
            Isa::Aarch64 => matches!(name, [b'$', b'x' | b'd'] | [b'$', b'x' | b'd', b'.', ..]),
            Isa::X86_64 | Isa::Mips32 => false,
        }
    }

    /// Whether this very program runs on it.
    pub fn is_here(self) -> bool {
        match self {
            Isa::X86_64 => cfg!(target_arch = "x86_64"),
            Isa::Aarch64 => cfg!(target_arch = "aarch64"),
            Isa::Mips32 => cfg!(all(target_arch = "mips", target_endian = "little")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_by_its_number_in_elf_files() {
        for isa in Isa::ALL {
            assert_eq!(Isa::of_elf_machine(isa.elf_machine()), Some(isa));
        }
        assert_eq!(Isa::of_elf_machine(elf::EM_RISCV), None);
        assert_eq!(Isa::expected(Isa::KERNELS, " or "), "62 (x86-64) or 183 (AArch64)");
    }
}
