//! Why a program cannot be translated.

use thiserror::Error;
use trimtab_program::ReadError;

/// Why a program cannot be translated.
///
/// Each message says what was read, what was expected, and what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JarError {
    /// The file is no linked ELF file, or a damaged one.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A program for another processor, or with instructions that are not translated.
    #[error(
        "not supported: this is {found}; expected a 32-bit little-endian MIPS program of release 1 \
         or 2, as mipsel-linux-gnu-gcc -static makes it"
    )]
    Machine {
        /// What was found.
        found: &'static str,
    },
    /// A program that needs other files to run.
    #[error(
        "not supported: this program is {found}; expected one that is linked to fixed addresses and \
         needs no other file: link it with -static (and without -static-pie)"
    )]
    Dynamic {
        /// What was found.
        found: &'static str,
    },
    /// A header that says what cannot be.
    #[error("the ELF file is damaged: {what}; build or copy it again")]
    Damaged {
        /// What is wrong.
        what: String,
    },
    /// More than a Java array or the address space of a program holds.
    #[error(
        "not supported: the program ends at {end:#x}, expected at most {limit:#x}: its memory is one \
         Java array"
    )]
    TooLarge {
        /// End of the last segment.
        end: u64,
        /// The highest end that is accepted.
        limit: u64,
    },
    /// The archive could not be put together.
    #[error("the jar cannot be written: {0}")]
    Archive(String),
}
