//! Whether it pays to give initialization code copies of its own of what it calls.

use crate::code::Code;
use crate::residence::Residence;
use crate::units::{Class, Units};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use trimtab_program::FunctionId;
use trimtab_program::references::Target;

/// What duplication would save.
///
/// Source: Chanet et al., section 3.1. In the paper's kernel swappable code is not in memory when
/// the kernel starts, so that what initialization code calls would have to be core unless it gets
/// copies. In trimtab's kernels all code is in memory until swapping begins, and nothing has to be
/// copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Duplication {
    /// Functions, neither core nor base, that initialization code can reach.
    pub functions: u64,
    /// Their bytes: what would be core in a kernel that starts without its swappable code.
    pub bytes: u64,
    /// Bytes of them that copies would make swappable in such a kernel.
    pub saved_there: u64,
    /// Bytes that copies save in a kernel that starts with all of its code: none.
    pub saved_here: u64,
}

/// Computes what initialization code reaches, and what copies would save.
pub fn duplication(code: &Code<'_>, units: &Units, residence: &Residence) -> Duplication {
    let program = code.program();
    let class_of = |function: FunctionId| {
        let unit = units.at(program.function(function).range.start)?;
        Some(units.as_slice()[unit.index()].class)
    };
    let mut seen: FxHashSet<FunctionId> = FxHashSet::default();
    let mut open: Vec<FunctionId> =
        program.function_ids().filter(|id| class_of(*id) == Some(Class::Init)).collect();
    seen.extend(open.iter().copied());
    let mut found = Duplication::default();
    while let Some(function) = open.pop() {
        for reference in code.references_of(function) {
            let to = match reference.target {
                Target::Call(to) | Target::Jump(to) | Target::Address(to) => to,
                Target::IndirectCall | Target::IndirectJump => continue,
            };
            let Some(callee) = code.entry(to).filter(|callee| seen.insert(*callee)) else {
                continue;
            };
            open.push(callee);
            if class_of(callee) == Some(Class::Swappable) && residence.why(callee).is_none() {
                found.functions += 1;
                found.bytes += program.function(callee).range.length();
            }
        }
    }
    found.saved_there = found.bytes;
    found
}
