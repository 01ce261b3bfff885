//! Why an object cannot be instrumented.

use thiserror::Error;

/// Why an object file cannot be instrumented.
///
/// Each message says what was read, what was expected, and what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The file does not start with the ELF magic number.
    #[error(
        "not an ELF file: it starts with {found}, expected 7f 45 4c 46; give what `cc -c` wrote"
    )]
    NotElf {
        /// The first bytes found, in hexadecimal.
        found: String,
    },
    /// The compiler left its intermediate code in place of machine code.
    #[error(
        "this holds {found} code for link-time optimisation and no machine code; \
         compile without -flto"
    )]
    Bitcode {
        /// Whose: LLVM or GCC.
        found: &'static str,
    },
    /// A 32-bit or big-endian file.
    #[error("this is {found}; expected a 64-bit little-endian ELF file")]
    Format {
        /// The format found.
        found: &'static str,
    },
    /// Another architecture.
    #[error("the object is for another machine: e_machine is {found}, expected {expected}")]
    Machine {
        /// Value of `e_machine`.
        found: u16,
        /// Those that can be instrumented.
        expected: String,
    },
    /// Not what `cc -c` writes.
    #[error(
        "the ELF file is no relocatable object: e_type is {found}, expected 1; \
         instrument the objects and link again"
    )]
    NotRelocatable {
        /// Value of `e_type`.
        found: u16,
    },
    /// No symbol table.
    #[error(
        "the object is stripped: it has no symbols of functions; \
         give the file that the compiler wrote, before `strip`"
    )]
    Stripped,
    /// Done before.
    #[error("the object is instrumented already; give the one that the compiler wrote")]
    Already,
    /// A table lies outside the file, or points at what is not there.
    #[error(
        "the object is truncated or damaged: {what} does not fit into its {size} bytes; \
         compile it again"
    )]
    Damaged {
        /// What could not be read.
        what: &'static str,
        /// Length of the input in bytes.
        size: usize,
    },
    /// More sections than the plain ELF header can count.
    #[error(
        "the object has {found} sections, and fewer than 65,000 can be handled; \
         split the source file, or compile it without -ffunction-sections"
    )]
    TooManySections {
        /// Sections found, or needed.
        found: usize,
    },
    /// No functions of the user's in what should have them.
    #[error(
        "this defines neither trimtab_probe_user_enter nor trimtab_probe_user_leave for other files; \
         see trimtab_probe.h (in C++ they want extern \"C\", in Rust #[unsafe(no_mangle)])"
    )]
    NoHooks,
    /// An archive that cannot be read or written.
    #[error("the archive cannot be read: {why}; make it again with `ar`")]
    Archive {
        /// Why not.
        why: String,
    },
    /// A member of an archive that cannot be instrumented.
    #[error("its member {name}: {error}")]
    Member {
        /// The member's name.
        name: String,
        /// Why not.
        error: Box<ProbeError>,
    },
    /// An archive with objects for several machines.
    #[error(
        "its member {name} is for another machine than those before it; \
         make an archive for each machine"
    )]
    Mixed {
        /// The first member that differs.
        name: String,
    },
    /// A pattern of functions that is none.
    #[error(
        "`{pattern}` is no pattern of names: {why}; expected a name, or a glob such as 'parse_*'"
    )]
    Pattern {
        /// As given.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// What a run recorded cannot be read.
    #[error(
        "the recording cannot be read: {what}; expected a file that an instrumented program wrote"
    )]
    Recording {
        /// What is wrong with it.
        what: String,
    },
    /// A mistake of ours.
    #[error("the code of a probe could not be written ({what}); please report it")]
    Internal {
        /// What was being written.
        what: &'static str,
    },
}
