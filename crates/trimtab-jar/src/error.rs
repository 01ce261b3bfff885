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
    /// A function that Java is to call is not there.
    #[error(
        "the program has no function {name}: Java can call what a static link keeps and `strip` left a \
         symbol of; name it with -Wl,-u,{name} when linking, and give a library an empty main"
    )]
    Symbol {
        /// Its name.
        name: String,
    },
    /// A class cannot have this name.
    #[error(
        "{name} is no name for a class that is made: expected one with a package, as org.example.Name, and not in \
         the packages trimtab, program and java"
    )]
    Class {
        /// The name.
        name: String,
    },
    /// A module cannot have this name.
    #[error(
        "{name} is no name for a module: expected words with points between them, as org.example.name"
    )]
    Module {
        /// The name.
        name: String,
    },
    /// A header cannot be understood.
    #[error("{file}: {what}")]
    Header {
        /// The header.
        file: String,
        /// What was found, what was expected.
        what: String,
    },
    /// A profile cannot be used.
    #[error("{file}: {what}; record one by running the jar of `trimtab jar --profile-generate`")]
    Profile {
        /// Its file.
        file: String,
        /// What was found, what was expected.
        what: String,
    },
    /// A function cannot share a method with others.
    #[error("{name} cannot be co-located: {why}")]
    CoLocated {
        /// Its name, as it was given.
        name: String,
        /// Why not, and what to do.
        why: String,
    },
    /// Functions that were to share a method are too large for that.
    #[error(
        "{} take {bytes} bytes as one method, of which HotSpot compiles none of more than {limit}: leave out {}",
        list(sizes), leave_out.join(" and ")
    )]
    CoLocatedSize {
        /// Bytes of each function.
        sizes: Vec<(String, usize)>,
        /// Bytes of the method.
        bytes: usize,
        /// The most that there may be.
        limit: usize,
        /// Functions without which the others fit, or all but one.
        leave_out: Vec<String>,
    },
    /// The archive could not be put together.
    #[error("the jar cannot be written: {0}")]
    Archive(String),
}

fn list(sizes: &[(String, usize)]) -> String {
    let texts: Vec<String> =
        sizes.iter().map(|(name, bytes)| format!("{name} ({bytes})")).collect();
    texts.join(", ")
}
