//! Read-only data that is swapped.

use serde::{Deserialize, Serialize};
use trimtab_program::LinkMap;

/// Ends the name of the object with the kernel's table of its own symbols. The file before that has
/// another number in each step of linking.
const SYMBOLS: &str = ".kallsyms.o";
/// The output section that all read-only data is in.
const READ_ONLY: &str = ".rodata";

/// An input section of read-only data that is swapped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColdData {
    /// Its file, as a linker script matches it.
    pub file: String,
    /// Its name.
    pub section: String,
    /// Length in bytes.
    pub size: u64,
    /// Why it can be absent.
    pub why: String,
}

impl ColdData {
    /// The line of a linker script that means it.
    pub(crate) fn line(&self) -> String {
        format!("{}({})", self.file, self.section)
    }
}

/// What read-only data of a kernel is swapped: its table of symbols. Only who looks up a name or writes
/// one down reads it (reports, `/proc/kallsyms`), through its virtual addresses, and no handler of a page
/// fault does so before it has given up its lock.
pub fn cold_data(map: &LinkMap<'_>) -> Vec<ColdData> {
    let symbols = map
        .sections
        .iter()
        .filter(|section| section.output == READ_ONLY && section.file.ends_with(SYMBOLS));
    symbols
        .map(|section| ColdData {
            file: format!("*{SYMBOLS}"),
            section: section.name.to_owned(),
            size: section.range.length(),
            why: "the kernel's table of symbols".to_owned(),
        })
        .collect()
}
