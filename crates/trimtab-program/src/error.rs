//! Why the bytes of a file are not a program.

use thiserror::Error;

use crate::Isa;

/// Why the bytes of a file are not a program that can be laid out.
///
/// Each message says what was read, what was expected, and what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file does not start with the ELF magic number.
    #[error(
        "not an ELF file: it starts with {found}, expected 7f 45 4c 46; \
         give the linked file with its symbols (for a kernel: vmlinux, not bzImage)"
    )]
    NotElf {
        /// The first bytes found, in hexadecimal.
        found: String,
    },
    /// A header or table lies outside the file.
    #[error(
        "the ELF file is truncated or damaged: {what} does not fit into its {size} bytes; \
         build or copy it again"
    )]
    Damaged {
        /// What could not be read.
        what: String,
        /// Length of the input in bytes.
        size: usize,
    },
    /// A big-endian file, or a 32-bit file of a machine whose programs are read in 64 bits only.
    #[error("this is {found}; expected a little-endian ELF file of 64 bits, or of 32 for MIPS")]
    Format {
        /// The format found.
        found: &'static str,
    },
    /// An architecture that trimtab does not know.
    #[error(
        "the ELF file is for another machine: e_machine is {found}, \
         expected {} or, of 32 bits, {}",
        expected(true),
        expected(false)
    )]
    Machine {
        /// Value of `e_machine`.
        found: u16,
    },
    /// A relocatable object, core file or the like.
    #[error(
        "the ELF file is not linked: e_type is {found}, expected 2 (executable) or \
         3 (shared object or PIE); give the linker's output"
    )]
    NotLinked {
        /// Value of `e_type`.
        found: u16,
    },
    /// Sections of code without content.
    #[error(
        "the code of the ELF file is not in it: section {section} has a size but no content, as in a \
         file of debug information alone; give the linked program itself"
    )]
    WithoutCode {
        /// Name of the section.
        section: String,
    },
    /// No symbol table.
    #[error(
        "the ELF file is stripped: it has no .symtab section with functions; \
         give the file from before `strip` (for a kernel: vmlinux from the build directory)"
    )]
    Stripped,
}

/// The machines that are expected in files of 64 bits, or of 32.
fn expected(is_64_bit: bool) -> String {
    Isa::expected(Isa::ALL.into_iter().filter(|isa| isa.is_64_bit() == is_64_bit), ", ")
}
