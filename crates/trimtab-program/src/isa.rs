//! The instruction sets that trimtab knows: the one enumeration of them.

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

    /// Whether this very program runs on it.
    pub fn is_here(self) -> bool {
        match self {
            Isa::X86_64 => cfg!(target_arch = "x86_64"),
            Isa::Aarch64 => cfg!(target_arch = "aarch64"),
            Isa::Mips32 => cfg!(all(target_arch = "mips", target_endian = "little")),
        }
    }
}
