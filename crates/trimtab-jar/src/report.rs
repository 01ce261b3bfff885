//! What a translation did, as numbers.

use crate::function::Function;
use crate::translate::has_unknown;

/// A function that was cut into several methods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitFunction {
    /// Its name.
    pub name: String,
    /// Bytes of Java code that one method would have had.
    pub bytes: usize,
    /// Bytes of each method: first the one that calls the others.
    pub methods: Vec<usize>,
}

/// What a translation did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Functions that were translated: those that something reaches.
    pub functions: usize,
    /// Instructions in the file.
    pub instructions: usize,
    /// Classes, without those of the run time.
    pub classes: usize,
    /// Bytes of the ELF file.
    pub elf_bytes: usize,
    /// It catches exceptions of C++, but has no symbols that would tell its unwinder.
    pub loses_exceptions: bool,
    /// Functions that were cut.
    pub split: Vec<SplitFunction>,
    /// Names of functions with instructions that are not known: reaching one stops the program.
    pub unknown: Vec<String>,
    /// Classes whose pool of constants grew large.
    pub full_classes: usize,
}

impl Report {
    pub(crate) fn count(&mut self, function: &Function) {
        if has_unknown(function) {
            self.unknown.push(function.name.clone());
        }
    }
}
