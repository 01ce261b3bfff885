//! How a function was cut: what each part has, and what crosses between parts.

use super::partition::part_of;
use super::pieces::{Entries, changed, exits, needed, piece_name, read};
use super::{Context, Home};
use crate::classfile::Code;
use crate::function::Function;
use crate::liveness::Facts;
use crate::report::Part;
use crate::vars::{Vars, register_name};
use std::collections::BTreeMap;

/// What is said of each part, given its own blocks and these with copies of others; `codes` are their methods, and `counts` how often blocks ran, where that is known.
pub(super) fn explain(
    context: &Context<'_>,
    function: &Function,
    home: &Home,
    (homes, parts): (&[Vec<usize>], &[Vec<usize>]),
    codes: &[Code],
    entries: &Entries,
    counts: Option<&[u64]>,
) -> Vec<Part> {
    let facts = Facts::of(context.summaries, function);
    let names = |vars: Vars| vars.iter().map(register_name).collect();
    let part_of = part_of(function, homes);
    let one = |(number, part): (usize, &Vec<usize>)| {
        let exits = exits(function, part);
        let mut goes_to = BTreeMap::<usize, usize>::new();
        for exit in &exits {
            *goes_to.entry(part_of[*exit]).or_default() += 1;
        }
        Part {
            method: piece_name(home, number),
            bytes: codes[number].len(),
            blocks: homes[number].len(),
            copies: part.len() - homes[number].len(),
            runs: counts.map(|all| homes[number].iter().map(|block| all[*block]).sum()),
            entries: homes[number]
                .iter()
                .filter(|block| entries.blocks.contains_key(block))
                .count(),
            takes: names(needed(context, function, part, number, entries)),
            puts_back: names(changed(&facts, function, part).and(read(function, &exits))),
            goes_to: goes_to.keys().map(|to| piece_name(home, *to)).collect(),
        }
    };
    parts.iter().enumerate().map(one).collect()
}
