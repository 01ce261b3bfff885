//! The instruction sets that trimtab knows: the one enumeration of them.

/// An instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Isa {
    /// x86-64.
    #[default]
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Isa {
    /// All of them.
    pub const ALL: [Isa; 2] = [Isa::X86_64, Isa::Aarch64];

    /// The kernel's name of it, as in `uname -m`.
    pub fn name(self) -> &'static str {
        match self {
            Isa::X86_64 => "x86_64",
            Isa::Aarch64 => "aarch64",
        }
    }

    /// Whether this very program runs on it.
    pub fn is_here(self) -> bool {
        match self {
            Isa::X86_64 => cfg!(target_arch = "x86_64"),
            Isa::Aarch64 => cfg!(target_arch = "aarch64"),
        }
    }
}
