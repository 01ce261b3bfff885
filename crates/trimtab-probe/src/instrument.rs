//! Chooses how an object is rewritten by its instruction set: the only place that names them.

use trimtab_program::Isa;

use crate::arch::Arch;
use crate::arch::aarch64::Aarch64;
use crate::arch::x86_64::X86_64;
use crate::elf::Object;
use crate::error::ProbeError;
use crate::rewrite::{Options, Outcome, rewrite};
use crate::target::Target;
use crate::user::Hooks;

/// Instruments an object, given as the bytes of its file.
///
/// # Errors
/// Whatever [`ProbeError`] lists: for what is no object that a compiler wrote. Never panics,
/// whatever the bytes are.
pub fn instrument(data: &[u8], options: &Options) -> Result<Outcome, ProbeError> {
    let object = Object::parse(data)?;
    match object.isa() {
        Isa::X86_64 => rewrite::<X86_64>(object, data, options),
        Isa::Aarch64 => rewrite::<Aarch64>(object, data, options),
        isa @ Isa::Mips32 => Err(refused(isa)),
    }
}

impl Hooks {
    /// Reads the object with the user's functions.
    ///
    /// # Errors
    /// [`ProbeError::NoHooks`] where it has neither of them; what is no object of a compiler's. Never
    /// panics, whatever the bytes are.
    pub fn read(data: &[u8]) -> Result<Self, ProbeError> {
        let object = Object::parse(data)?;
        match object.isa() {
            Isa::X86_64 => Self::of(object, data, X86_64::inline_hook),
            Isa::Aarch64 => Self::of(object, data, Aarch64::inline_hook),
            isa @ Isa::Mips32 => Err(refused(isa)),
        }
    }
}

/// An instruction set that trimtab knows, and does not instrument; objects of it are not read either.
fn refused(isa: Isa) -> ProbeError {
    ProbeError::Machine { found: isa.elf_machine(), expected: Target::expected() }
}
