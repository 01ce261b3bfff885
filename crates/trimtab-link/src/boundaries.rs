//! Whether a relinked kernel kept its boundaries: the symbols between which it expects certain
//! code and nothing else, and those whose addresses mean something.

use crate::kernel::{BOUNDED, FIXED, SymbolRule, is_linker_made};
use std::collections::BTreeMap;
use trimtab_program::{Program, Range};

/// A symbol that bounds what must stay where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary {
    /// Its name.
    pub symbol: &'static str,
    /// Where it was before the order; `None` where it was not, or that is not known.
    pub before: Option<u64>,
    /// Where it is now.
    pub after: Option<u64>,
    /// Whether that is right.
    pub ok: bool,
    /// Why, in words.
    pub detail: String,
}

/// Names that a message lists at most.
const NAMES: usize = 5;

/// Checks every boundary that `program` or `before` has. `before` is the same kernel without the
/// order; without it only what `program` says of itself can be checked: that each pair is whole
/// and in order.
pub fn boundaries(program: &Program<'_>, before: Option<&Program<'_>>) -> Vec<Boundary> {
    let mut found = Vec::new();
    for (start, end, purpose) in BOUNDED {
        found.extend(pair(program, before, start, end, purpose));
    }
    for (symbol, fixed) in FIXED {
        found.extend(single(program, before, symbol, fixed));
    }
    found
}

/// Both ends of a pair; nothing where neither program has any of it.
fn pair(
    program: &Program<'_>,
    before: Option<&Program<'_>>,
    start: &'static str,
    end: &'static str,
    purpose: &str,
) -> Vec<Boundary> {
    let places = |program: &Program<'_>| (program.address_of(start), program.address_of(end));
    let (old_start, old_end) = before.map_or((None, None), places);
    let (new_start, new_end) = places(program);
    let row = |symbol, before, after, ok, detail| Boundary { symbol, before, after, ok, detail };
    let both = |ok, detail: String| {
        vec![
            row(start, old_start, new_start, ok, detail.clone()),
            row(end, old_end, new_end, ok, detail),
        ]
    };
    let (from, to) = match (new_start, new_end) {
        (Some(from), Some(to)) => (from, to),
        (None, None) if old_start.is_none() && old_end.is_none() => return Vec::new(),
        _ => {
            let missing: Vec<&str> = [(start, new_start), (end, new_end)]
                .into_iter()
                .filter(|(_, place)| place.is_none())
                .map(|(name, _)| name)
                .collect();
            return both(false, format!("{} is not there: {purpose}", missing.join(" and ")));
        }
    };
    if from > to {
        return both(false, format!("{start} lies behind {end}: {purpose}"));
    }
    let now = names_in(program, Range { start: from, end: to });
    let count: usize = now.values().sum();
    let (ok, detail) = match (before, old_start.zip(old_end)) {
        (Some(before), Some((from, to))) => {
            let then = names_in(before, Range { start: from, end: to.max(from) });
            match difference(&then, &now) {
                None => (true, format!("{count} functions, as before: {purpose}")),
                Some(difference) => (false, format!("{difference}: {purpose}")),
            }
        }
        (Some(_), None) => (true, format!("{count} functions, new: {purpose}")),
        (None, _) => (true, format!("{count} functions: {purpose}")),
    };
    let length = to - from;
    vec![
        row(start, old_start, new_start, ok, detail),
        // What is wrong with the pair is said once.
        row(end, old_end, new_end, true, format!("{length} bytes further")),
    ]
}

/// How often each name begins a function in `range`. The cold part that a compiler split off a
/// function is none of its own.
fn names_in<'data>(program: &Program<'data>, range: Range) -> BTreeMap<&'data str, usize> {
    let mut names = BTreeMap::new();
    for id in program.functions_in(range) {
        let function = program.function(id);
        if range.contains(function.range.start)
            && !function.name.ends_with(".cold")
            && !is_linker_made(function.name)
        {
            *names.entry(function.name).or_insert(0) += 1;
        }
    }
    names
}

/// What is lost and what is new, in words; nothing where both are the same.
fn difference(then: &BTreeMap<&str, usize>, now: &BTreeMap<&str, usize>) -> Option<String> {
    let more = |a: &BTreeMap<&str, usize>, b: &BTreeMap<&str, usize>| {
        let names: Vec<String> = a
            .iter()
            .filter(|(name, count)| b.get(*name).copied().unwrap_or(0) < **count)
            .map(|(name, _)| (*name).to_owned())
            .collect();
        let shown = names.iter().take(NAMES).cloned().collect::<Vec<_>>().join(", ");
        match names.len().checked_sub(NAMES) {
            Some(rest) if rest > 0 => format!("{shown} and {rest} more"),
            _ => shown,
        }
    };
    match (more(then, now), more(now, then)) {
        (lost, new) if lost.is_empty() && new.is_empty() => None,
        (lost, new) if new.is_empty() => Some(format!("lost {lost}")),
        (lost, new) if lost.is_empty() => Some(format!("gained {new}")),
        (lost, new) => Some(format!("lost {lost}; gained {new}")),
    }
}

/// A symbol by itself; nothing where neither program has it.
fn single(
    program: &Program<'_>,
    before: Option<&Program<'_>>,
    symbol: &'static str,
    fixed: SymbolRule,
) -> Option<Boundary> {
    let old = before.and_then(|before| before.address_of(symbol));
    let new = program.address_of(symbol);
    let (ok, detail) = match (old, new) {
        (None, None) => return None,
        (Some(_), None) => (false, "is not there any more".to_owned()),
        (None, Some(_)) if before.is_some() => (true, "is new".to_owned()),
        (None, Some(_)) => (true, "is there".to_owned()),
        (Some(old), Some(new)) => kept(fixed, old, new),
    };
    Some(Boundary { symbol, before: old, after: new, ok, detail })
}

fn kept(fixed: SymbolRule, old: u64, new: u64) -> (bool, String) {
    match fixed {
        SymbolRule::SameAddress if old == new => (true, "did not move".to_owned()),
        SymbolRule::SameAddress => (false, "must not move".to_owned()),
        SymbolRule::Present => (true, "may move".to_owned()),
        SymbolRule::LowBits(bits) => {
            let mask = 1u64.checked_shl(bits).map_or(u64::MAX, |bit| bit - 1);
            match (old ^ new) & mask {
                0 => (true, format!("keeps its low {bits} bits")),
                _ => (false, format!("must keep its low {bits} bits")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimtab_fixture::Elf;

    const BASE: u64 = 0xffff_ffff_8100_0000;

    /// A kernel whose scheduler text begins at an offset and holds these functions.
    fn kernel(offset: u64, scheduler: &[&'static str], thunk: u64) -> Vec<u8> {
        let start = BASE + offset;
        let mut elf = Elf::new()
            .text(".text", BASE, 0x4000)
            .label("_stext", BASE)
            .label("_etext", BASE + 0x3000)
            .function("first", BASE, 0x20)
            .label("__sched_text_start", start);
        for (index, name) in scheduler.iter().enumerate() {
            elf = elf.function(name, start + index as u64 * 0x20, 0x20);
        }
        elf.label("__sched_text_end", start + scheduler.len() as u64 * 0x20)
            .function("srso_alias_safe_ret", BASE + thunk, 0x10)
            .build()
    }

    fn checked(before: &[u8], after: &[u8]) -> Vec<(&'static str, bool, String)> {
        let (before, after) = (Program::parse(before).unwrap(), Program::parse(after).unwrap());
        boundaries(&after, Some(&before)).into_iter().map(|b| (b.symbol, b.ok, b.detail)).collect()
    }

    fn broken(before: &[u8], after: &[u8]) -> Vec<(&'static str, String)> {
        let rows = checked(before, after).into_iter();
        rows.filter(|(_, ok, _)| !ok).map(|(symbol, _, detail)| (symbol, detail)).collect()
    }

    #[test]
    fn text_that_moved_as_a_whole_is_right() {
        let before = kernel(0x100, &["schedule", "wait"], 0x2000);
        let after = kernel(0x1000, &["wait", "schedule"], 0x2000);
        let rows = checked(&before, &after);
        let of = |symbol| rows.iter().find(|row| row.0 == symbol).unwrap().2.as_str();
        assert_eq!(broken(&before, &after), []);
        assert_eq!(
            of("__sched_text_start"),
            "2 functions, as before: scheduler code, skipped by get_wchan"
        );
        assert_eq!(of("__sched_text_end"), "64 bytes further");
        assert_eq!(of("_stext"), "did not move");
        assert_eq!(of("srso_alias_safe_ret"), "keeps its low 21 bits");
        assert_eq!(rows.len(), 5, "what neither kernel has is not listed: {rows:?}");
    }

    #[test]
    fn a_function_that_left_or_came_is_named() {
        let before = kernel(0x100, &["schedule", "wait"], 0x2000);
        let after = kernel(0x100, &["schedule", "intruder"], 0x2000);
        assert_eq!(
            broken(&before, &after),
            [(
                "__sched_text_start",
                "lost wait; gained intruder: scheduler code, skipped by get_wchan".to_owned()
            )]
        );
        let after = kernel(0x100, &["schedule", "schedule.cold", "wait"], 0x2000);
        assert_eq!(broken(&before, &after), [], "a cold part stays with its function");
        let after = kernel(0x100, &["schedule", "wait", "a", "b", "c", "d", "e", "f"], 0x2000);
        assert_eq!(
            broken(&before, &after)[0].1,
            "gained a, b, c, d, e and 1 more: scheduler code, skipped by get_wchan"
        );
        let after = kernel(0x100, &["schedule"], 0x2000);
        assert!(broken(&before, &after)[0].1.starts_with("lost wait: "));
    }

    #[test]
    fn what_the_linker_makes_belongs_nowhere() {
        let before = kernel(0x100, &["schedule"], 0x2000);
        let after = kernel(0x100, &["schedule", "__CortexA53843419_FFFF800080012FF8"], 0x2000);
        assert_eq!(broken(&before, &after), []);
    }

    #[test]
    fn names_that_come_twice_count_twice() {
        let before = kernel(0x100, &["init_once", "init_once"], 0x2000);
        assert_eq!(broken(&before, &before), []);
        let after = kernel(0x100, &["init_once", "wait"], 0x2000);
        assert!(broken(&before, &after)[0].1.starts_with("lost init_once; gained wait: "));
    }

    #[test]
    fn lost_and_turned_bounds_are_told() {
        let before = kernel(0x100, &["schedule"], 0x2000);
        let plain = Elf::new()
            .text(".text", BASE, 0x4000)
            .label("_stext", BASE + 0x10)
            .function("schedule", BASE + 0x100, 0x20)
            .label("__sched_text_start", BASE + 0x200);
        let after = plain.clone().build();
        let rows = broken(&before, &after);
        assert_eq!(
            rows[0].1,
            "__sched_text_end is not there: scheduler code, skipped by get_wchan"
        );
        assert_eq!(rows[1].0, "__sched_text_end");
        assert_eq!(rows[2], ("_stext", "must not move".to_owned()));
        assert_eq!(rows[3], ("_etext", "is not there any more".to_owned()));
        let after = plain.label("__sched_text_end", BASE + 0x100).build();
        assert!(
            broken(&before, &after)[0]
                .1
                .starts_with("__sched_text_start lies behind __sched_text_")
        );
    }

    #[test]
    fn low_bits_must_stay() {
        let before = kernel(0x100, &["schedule"], 0x2000);
        let after = kernel(0x100, &["schedule"], 0x2040);
        assert_eq!(
            broken(&before, &after),
            [("srso_alias_safe_ret", "must keep its low 21 bits".to_owned())]
        );
    }

    #[test]
    fn without_the_kernel_from_before_pairs_are_checked_for_themselves() {
        let bytes = kernel(0x100, &["schedule"], 0x2000);
        let rows = boundaries(&Program::parse(&bytes).unwrap(), None);
        assert!(rows.iter().all(|row| row.ok && row.before.is_none()), "{rows:?}");
        let program = Elf::new().text(".text", 0x1000, 0x100).function("main", 0x1000, 16).build();
        assert_eq!(boundaries(&Program::parse(&program).unwrap(), None), []);
    }
}
