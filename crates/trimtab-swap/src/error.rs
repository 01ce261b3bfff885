//! Why there is no plan.

use thiserror::Error;

/// Why there is no plan.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum SwapError {
    /// Another machine's kernel.
    #[error(
        "the kernel is for {found}; cold code swapping is for x86_64: its page fault path is known \
         there only"
    )]
    InstructionSet {
        /// Its instruction set.
        found: &'static str,
    },
    /// No page fault handler was found.
    #[error(
        "the program has none of the functions {wanted}, expected a Linux kernel for x86_64 with \
         its symbols; give vmlinux from the build directory"
    )]
    NoFaultPath {
        /// What was looked for.
        wanted: &'static str,
    },
    /// A table of the kernel's is cut off or points nowhere.
    #[error(
        "the table between {start} and {end} cannot be read: {bytes} bytes, expected a multiple of \
         {entry} that are in the file; give vmlinux as it was linked"
    )]
    Table {
        /// Symbol at its start.
        start: &'static str,
        /// Symbol at its end.
        end: &'static str,
        /// Bytes between them.
        bytes: u64,
        /// Bytes of an entry.
        entry: u64,
    },
    /// Nothing ran after swapping would have begun.
    #[error(
        "the traces say nothing of what runs after {from}, where swapping begins: expected a stream \
         of a boot that goes on behind it; trace further, or begin elsewhere with --from"
    )]
    NothingRan {
        /// Where swapping begins.
        from: String,
    },
    /// What is counted never began.
    #[error(
        "the kernel has no function {from}, or the boot never got there; expected what is counted to \
         begin with it"
    )]
    NeverBegan {
        /// What it begins with.
        from: String,
    },
    /// The symbol at which swapping is to begin is not known.
    #[error(
        "there is no function {name} in the kernel; give one with --from that runs once it is up"
    )]
    NoSuchFunction {
        /// What was asked for.
        name: String,
    },
    /// It is not known of which object a function is.
    #[error(
        "it is not known of which object {function} is, and the compiler takes a list for each: \
         expected a linker's map that names objects; give it with --map, or plan with --granularity \
         function where the kernel was linked from one vmlinux.o"
    )]
    NoObjects {
        /// The function.
        function: String,
    },
    /// A threshold that is none.
    #[error("the threshold {found} is not above 0 and at most 1, such as 0.999 for 99.9 %")]
    Threshold {
        /// What was asked for.
        found: f64,
    },
    /// All of it is needed.
    #[error(
        "nothing can be swapped out: all {functions} functions are core, {patched} of them only \
         because they can be patched at run time ({kinds}); build the kernel without what patches \
         them, or promise with --never-patched that it is not used"
    )]
    NothingSwappable {
        /// Functions of the kernel.
        functions: u64,
        /// Those that are core for their patch sites.
        patched: u64,
        /// What patches them.
        kinds: String,
    },
    /// A plan that cannot be read.
    #[error("this is no plan: {why}; expected the JSON that trimtab swap plan writes")]
    Plan {
        /// What is wrong with it.
        why: String,
    },
    /// A section name that no linker script can hold.
    #[error(
        "the section name {section:?} cannot be written in a linker script: it has characters that \
         mean something else there"
    )]
    Section {
        /// The section's name.
        section: String,
    },
}
