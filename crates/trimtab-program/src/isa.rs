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

/// What a mapping symbol says of the bytes from there on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mapped {
    /// They are instructions.
    Code,
    /// They are data within code.
    Data,
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

    /// What begins where a symbol of this name is, if that is a mapping symbol: such name nothing, and may have any ending
    /// behind a dot. ELF for the Arm 64-bit Architecture, section "Mapping symbols".
    pub fn mapped(self, name: &[u8]) -> Option<Mapped> {
        let is = |symbol: &str| {
            let behind = name.strip_prefix(symbol.as_bytes());
            behind.is_some_and(|behind| matches!(behind, [] | [b'.', ..]))
        };
        [Mapped::Code, Mapped::Data]
            .into_iter()
            .find(|mapped| self.mapping_symbol(*mapped).is_some_and(is))
    }

    /// The mapping symbol for what begins there; none where there are no such symbols.
    pub fn mapping_symbol(self, mapped: Mapped) -> Option<&'static str> {
        match (self, mapped) {
            (Isa::Aarch64, Mapped::Code) => Some("$x"),
            (Isa::Aarch64, Mapped::Data) => Some("$d"),
            (Isa::X86_64 | Isa::Mips32, _) => None,
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
        let mapped = |name: &str| Isa::Aarch64.mapped(name.as_bytes());
        assert_eq!((mapped("$x"), mapped("$d.1")), (Some(Mapped::Code), Some(Mapped::Data)));
        assert_eq!((mapped("$xy"), mapped("x"), Isa::X86_64.mapped(b"$x")), (None, None, None));
        assert_eq!(Isa::expected(Isa::KERNELS, " or "), "62 (x86-64) or 183 (AArch64)");
    }
}
