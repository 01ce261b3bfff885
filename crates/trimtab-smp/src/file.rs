//! All that is counted in one file.

mod confusion;
mod feed;
mod reading;

use crate::complexity::Functions;
use crate::lock::{Locks, Place};

pub use confusion::Confusion;
use reading::Reading;

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    /// C, with its headers.
    C,
    /// Assembly that the C preprocessor reads.
    Assembly,
}

impl Language {
    /// By the file's name; none of what is not counted.
    pub fn of(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1 {
            "c" | "h" => Some(Self::C),
            "S" => Some(Self::Assembly),
            _ => None,
        }
    }
}

/// What was counted in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileCounts {
    /// Lines of a build without SMP.
    pub up: u64,
    /// Lines of a build with SMP.
    pub smp: u64,
    /// Lines that only one of the builds has.
    pub differing: u64,
    /// Lock operations, in code of all branches and in the macros that it defines.
    pub locks: Locks,
    /// Complexities of its functions.
    pub complexities: Vec<u32>,
    /// Conditions that name SMP.
    pub conditions: u64,
    /// Places in code that ask at run time, or of the compiler, whether SMP is configured.
    pub option_tests: u64,
    /// What was not understood, first things first.
    pub confusions: Vec<Confusion>,
    /// Whether it is UTF-8.
    pub is_utf8: bool,
}

/// Counts in a file.
pub fn count(bytes: &[u8], language: Language) -> FileCounts {
    count_with(bytes, language, &mut |_| ())
}

/// Counts in a file; `each` is shown the lock operations, from top to bottom.
pub fn count_with(bytes: &[u8], language: Language, each: &mut dyn FnMut(Place)) -> FileCounts {
    if bytes.contains(&0) {
        let confusions = vec![Confusion::Binary];
        let is_utf8 = std::str::from_utf8(bytes).is_ok();
        return FileCounts { confusions, is_utf8, ..FileCounts::default() };
    }
    let (mut counts, is_matched) = Reading::new(bytes, language, Functions::default(), each).all();
    if !is_matched && language == Language::C {
        counts.confusions.push(Confusion::Braces);
        let mut none = |_| ();
        let again = Reading::new(bytes, language, Functions::mending(), &mut none);
        counts.complexities = again.all().0.complexities;
    }
    counts.is_utf8 = std::str::from_utf8(bytes).is_ok();
    counts
}

#[cfg(test)]
mod tests;
