//! Read-only data that is swapped.

use serde::{Deserialize, Serialize};
use trimtab_program::{FunctionId, InputSection, LinkMap, Program, references};

use crate::code::Code;
use crate::residence::Residence;

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
/// fault does so before it has given up its lock. Where code reads it that must never be absent (a kernel
/// that checks itself writes reports down everywhere), it stays: a fault in it could not be served.
pub fn cold_data(map: &LinkMap<'_>, code: &Code<'_>, residence: &Residence) -> Vec<ColdData> {
    let symbols: Vec<_> = map
        .sections
        .iter()
        .filter(|section| section.output == READ_ONLY && section.file.ends_with(SYMBOLS))
        .collect();
    let program = code.program();
    let is_read = program.function_ids().filter(|id| residence.why(*id).is_some()).any(|id| {
        addresses(program, id).any(|at| symbols.iter().any(|data| data.range.contains(at)))
    });
    if is_read {
        return Vec::new();
    }
    let cold = |section: &&InputSection<'_>| ColdData {
        file: format!("*{SYMBOLS}"),
        section: section.name.to_owned(),
        size: section.range.length(),
        why: "the kernel's table of symbols".to_owned(),
    };
    symbols.iter().map(cold).collect()
}

/// What the instructions of a function refer to.
pub(crate) fn addresses<'a>(
    program: &'a Program<'_>,
    function: FunctionId,
) -> impl Iterator<Item = u64> + 'a {
    references::instructions(program, program.function(function).range)
        .flat_map(|found| found.addresses)
        .flatten()
}
