//! What a translation did, as numbers.

use crate::function::Function;

use crate::translate::has_unknown;
use std::collections::BTreeSet;

/// A part of a function that was cut: a method of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "run", derive(serde::Serialize))]
pub struct Part {
    /// The method.
    pub method: String,
    /// Bytes of its Java code.
    pub bytes: usize,
    /// How many basic blocks it has.
    pub blocks: usize,
    /// How many blocks it has copies of, which lead to a switch with cases in several parts.
    pub copies: usize,
    /// How often its blocks ran by the profile; none without one.
    pub runs: Option<u64>,
    /// At how many of them it is entered.
    pub entries: usize,
    /// Registers that it takes out of the frame when it is entered.
    pub takes: Vec<String>,
    /// Registers that it puts back when it is left.
    pub puts_back: Vec<String>,
    /// The methods in which the function goes on then.
    pub goes_to: Vec<String>,
}

/// A function that was cut into several methods.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "run", derive(serde::Serialize))]
pub struct SplitFunction {
    /// Its name.
    pub name: String,
    /// Bytes of Java code that one method would have had.
    pub bytes: usize,
    /// Bytes of each method: first the one that calls the others.
    pub methods: Vec<usize>,
    /// What these are but for the first, and what crosses between them.
    pub parts: Vec<Part>,
}

/// Functions that share one method.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "run", derive(serde::Serialize))]
pub struct CoLocatedFunctions {
    /// Their names.
    pub names: Vec<String>,
    /// The method.
    pub method: String,
    /// Bytes of its Java code.
    pub bytes: usize,
    /// Calls from one of them to another that are jumps.
    pub jumps: usize,
    /// Those that are calls.
    pub calls: usize,
}

/// What a translation did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Names of the functions that were translated.
    pub names: BTreeSet<String>,
    /// Functions that were translated: those that something reaches.
    pub functions: usize,
    /// Functions that nothing is seen to reach.
    pub others: usize,
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
    /// Functions that share methods.
    pub co_located: Vec<CoLocatedFunctions>,
    /// Places within functions that code may jump to by their addresses, as labels of GNU's dialect of C.
    pub labels: usize,
    /// Names of functions with instructions that are not known: reaching one stops the program.
    pub unknown: Vec<String>,
    /// Names of functions that do not fit into methods and classes of Java's: they are interpreted.
    pub too_large: Vec<String>,
    /// Names of functions that can return once more, as `setjmp` does: whoever calls them, catches exceptions.
    pub returning_twice: Vec<String>,
    /// Classes whose pool of constants grew large.
    pub full_classes: usize,
}

impl Report {
    pub(crate) fn count(&mut self, function: &Function) {
        self.names.insert(function.name.clone());
        self.labels += function.labels.len();
        if has_unknown(function) {
            self.unknown.push(function.name.clone());
        }
    }
}
