//! Programs on this machine: built, traced, placed and measured.

pub mod measure;
pub mod native;
pub mod probe;
pub mod profdata;
pub mod program;

/// What errors of this crate know that the user can do: see [`Hint`](trimtab_lab::failure::Hint).
pub fn hint(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    trimtab_lab::failure::hint_of::<program::ProgramError>(error)
}
