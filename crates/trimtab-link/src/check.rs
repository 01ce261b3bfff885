//! Holding an order against what the linker made of it.

use crate::order_file::{Entry, OrderFile, Target};
use std::collections::{HashMap, HashSet};
use trimtab_program::{Fragments, FunctionId, Origin, Program, Range};

/// What became of one line of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It stands behind the line before it.
    Placed,
    /// It is in the text, but not where the order wants it.
    Misplaced,
    /// There is nothing of this name, nor was there.
    Unknown,
    /// The name came before in the order, or several pieces have it.
    Duplicate,
    /// It was there before linking, and is gone.
    Discarded,
    /// It stays where the kernel pins it.
    Pinned,
}

/// One line of the order and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Line number in the order.
    pub line: usize,
    /// The function or section that it names.
    pub name: String,
    /// What became of it.
    pub outcome: Outcome,
    /// The first place of what it names, where the program has it.
    pub range: Option<Range>,
    /// What the function is called now, where the program has it under another suffix of the compiler's
    /// alone: then no linker knows the line. It counts as placed where it happens to lie right.
    pub renamed: Option<String>,
}

/// Every line of an order, accounted for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Check {
    /// The lines in their order.
    pub lines: Vec<Line>,
}

impl Check {
    /// How many lines had this outcome.
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.lines.iter().filter(|line| line.outcome == outcome).count() as u64
    }

    /// From the first line that was placed to the last; `None` where none was.
    pub fn span(&self) -> Option<Range> {
        let placed = self.lines.iter().filter(|line| line.outcome == Outcome::Placed);
        placed
            .filter_map(|line| line.range)
            .reduce(|a, b| Range { start: a.start.min(b.start), end: a.end.max(b.end) })
    }

    /// Names of the lines that had this outcome.
    pub fn names(&self, outcome: Outcome) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(move |line| line.outcome == outcome).map(|line| line.name.as_str())
    }
}

/// Looks up every line of `order` in the linked `program`.
///
/// `fragments` are the program's own, best from its linker's map; `pinned` are the ranges that do
/// not follow an order. `before`, the program as it was linked without the order, tells what was
/// discarded from what was never there. Of a line that names nothing the function is looked for that has
/// the name but for the compiler's suffix, which can change with every build.
pub fn check(
    order: &OrderFile,
    program: &Program<'_>,
    fragments: &Fragments<'_>,
    pinned: &[Range],
    before: Option<&Program<'_>>,
) -> Check {
    let found = found(order, program, fragments, before);
    // What the linker placed as ordered is ascending; the longest ascending run of addresses is the
    // largest set of lines that can be said to be in order.
    let movable: Vec<(usize, u64)> = found
        .iter()
        .enumerate()
        .filter_map(|(line, (_, places))| match places {
            LineTarget::At(places) if !places.iter().any(|r| is_pinned(*r, pinned)) => {
                Some((line, places[0].start))
            }
            _ => None,
        })
        .collect();
    let in_order = longest_ascending(&movable);
    let renamed: Vec<(usize, u64)> = found
        .iter()
        .enumerate()
        .filter_map(|(line, (_, places))| match places {
            LineTarget::Renamed(id) => Some((line, program.function(*id).range.start)),
            _ => None,
        })
        .collect();
    let fitting = fitting(&movable, &in_order, &renamed);
    let outcome = |position: usize, places: &LineTarget| match places {
        LineTarget::Renamed(_) if fitting.contains(&position) => Outcome::Placed,
        LineTarget::Renamed(_) => Outcome::Unknown,
        LineTarget::Again => Outcome::Duplicate,
        LineTarget::Gone => Outcome::Discarded,
        LineTarget::Nowhere => Outcome::Unknown,
        LineTarget::At(places) if places.iter().any(|r| is_pinned(*r, pinned)) => Outcome::Pinned,
        LineTarget::At(_) if !in_order.contains(&position) => Outcome::Misplaced,
        LineTarget::At(places) if places.len() > 1 => Outcome::Duplicate,
        LineTarget::At(_) => Outcome::Placed,
    };
    let line = |(position, (entry, places)): (usize, &(Entry, LineTarget))| {
        let (range, renamed) = match places {
            LineTarget::At(places) => (places.first().copied(), None),
            LineTarget::Renamed(id) => {
                let function = program.function(*id);
                (Some(function.range), Some(function.name.to_owned()))
            }
            _ => (None, None),
        };
        Line {
            line: entry.line,
            name: entry.function().to_owned(),
            outcome: outcome(position, places),
            range,
            renamed,
        }
    };
    Check { lines: found.iter().enumerate().map(line).collect() }
}

/// Where each line's pieces are in the program.
fn found(
    order: &OrderFile,
    program: &Program<'_>,
    fragments: &Fragments<'_>,
    before: Option<&Program<'_>>,
) -> Vec<(Entry, LineTarget)> {
    let index = Index::new(fragments);
    let mut seen: HashSet<&Target> = HashSet::new();
    let mut taken: HashSet<Range> = HashSet::new();
    let mut found: Vec<(Entry, LineTarget)> = Vec::with_capacity(order.entries.len());
    for entry in &order.entries {
        let places = if seen.insert(&entry.target) {
            let places = index.find(entry, program);
            let known = !places.is_empty();
            let fresh: Vec<Range> = places.into_iter().filter(|r| taken.insert(*r)).collect();
            match fresh.is_empty() {
                false => LineTarget::At(fresh),
                // Another wording of a line before it: it names nothing new.
                true if known => LineTarget::Again,
                true => match program.lookup_without_suffix(entry.function()) {
                    Some(id) if taken.insert(program.function(id).range) => LineTarget::Renamed(id),
                    _ if before.is_some_and(|p| !entry.lookup(p).is_empty()) => LineTarget::Gone,
                    _ => LineTarget::Nowhere,
                },
            }
        } else {
            LineTarget::Again
        };
        found.push((entry.clone(), places));
    }
    found
}

enum LineTarget {
    At(Vec<Range>),
    /// Under another suffix.
    Renamed(FunctionId),
    Gone,
    Nowhere,
    Again,
}

fn is_pinned(range: Range, pinned: &[Range]) -> bool {
    pinned.iter().any(|bounds| bounds.contains(range.start))
}

/// Fragments by the names that an order can use for them.
struct Index<'a> {
    by_section: HashMap<&'a str, Vec<(&'a str, Range)>>,
}

impl<'a> Index<'a> {
    fn new(fragments: &'a Fragments<'_>) -> Self {
        let mut by_section: HashMap<&str, Vec<(&str, Range)>> = HashMap::new();
        for fragment in fragments.as_slice() {
            if let Origin::InputSection { file, section } = &fragment.origin {
                by_section.entry(section).or_default().push((file.as_ref(), fragment.range));
            }
        }
        Index { by_section }
    }

    /// Where the fragments of this entry are, by ascending address.
    fn find(&self, entry: &Entry, program: &Program<'_>) -> Vec<Range> {
        if let Target::Section { section, file } = &entry.target
            && !self.by_section.is_empty()
        {
            let all = self.by_section.get(section.as_str()).map_or(&[][..], Vec::as_slice);
            return all
                .iter()
                .filter(|(name, _)| file.as_ref().is_none_or(|wanted| wanted == name))
                .map(|(_, range)| *range)
                .collect();
        }
        entry.lookup(program).iter().map(|id| program.function(*id).range).collect()
    }
}

/// The lines of those `renamed`, which no linker knew, that lie right all the same:
/// between the lines before and behind them that are `in_order`, and in order among themselves.
fn fitting(
    lines: &[(usize, u64)],
    in_order: &HashSet<usize>,
    renamed: &[(usize, u64)],
) -> HashSet<usize> {
    let mut sorted: Vec<(usize, u64)> =
        lines.iter().copied().filter(|(line, _)| in_order.contains(line)).collect();
    let between = |line: usize, address: u64| {
        let behind = sorted.partition_point(|(other, _)| *other < line);
        let before = behind.checked_sub(1).map(|at| sorted[at].1);
        let next = sorted.get(behind).map(|(_, address)| *address);
        before.is_none_or(|before| before < address) && next.is_none_or(|next| address < next)
    };
    let candidates: Vec<(usize, u64)> =
        renamed.iter().copied().filter(|(line, address)| between(*line, *address)).collect();
    sorted.extend(candidates);
    sorted.sort_unstable();
    longest_ascending(&sorted)
}

/// The lines of a longest strictly ascending subsequence of addresses, by patience sorting.
fn longest_ascending(lines: &[(usize, u64)]) -> HashSet<usize> {
    let mut tails: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = vec![None; lines.len()];
    for (index, &(_, address)) in lines.iter().enumerate() {
        let at = tails.partition_point(|&tail| lines[tail].1 < address);
        previous[index] = at.checked_sub(1).map(|below| tails[below]);
        if at == tails.len() {
            tails.push(index);
        } else {
            tails[at] = index;
        }
    }
    let mut chosen = HashSet::new();
    let mut next = tails.last().copied();
    while let Some(index) = next {
        chosen.insert(lines[index].0);
        next = previous[index];
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    use trimtab_fixture::Elf;
    use trimtab_program::LinkMap;

    fn program(functions: &[(&'static str, u64)]) -> Vec<u8> {
        let mut elf = Elf::new().text(".text", 0x1000, 0x1000);
        for (name, address) in functions {
            elf = elf.local(name, *address, 0x10);
        }
        elf.build()
    }

    fn outcomes(
        order: &str,
        after: &[u8],
        pinned: &[Range],
        before: Option<&[u8]>,
    ) -> Vec<Outcome> {
        let after = Program::parse(after).unwrap();
        let before = before.map(|bytes| Program::parse(bytes).unwrap());
        let fragments = Fragments::from_symbols(&after, after.section_named(".text").unwrap().0);
        let order = OrderFile::parse(order).unwrap();
        let check = check(&order, &after, &fragments, pinned, before.as_ref());
        check.lines.iter().map(|line| line.outcome).collect()
    }

    #[test]
    fn every_line_is_accounted_for() {
        let before = program(&[("a", 0x1000), ("b", 0x1010), ("gone", 0x1020)]);
        let after = program(&[
            ("b", 0x1000),
            ("twice", 0x1010),
            ("twice", 0x1020),
            ("a", 0x1030),
            ("late", 0x1100),
            ("early", 0x1040),
            ("entry", 0x1200),
        ]);
        let pinned = [Range { start: 0x1200, end: 0x1300 }];
        let order = "b\ntwice\na\nlate\nearly\nnever\ngone\nb\nentry\n";
        assert_eq!(
            outcomes(order, &after, &pinned, Some(&before)),
            [
                Outcome::Placed,
                Outcome::Duplicate,
                Outcome::Placed,
                // Of these two one is wrong; which, nobody can say.
                Outcome::Misplaced,
                Outcome::Placed,
                Outcome::Unknown,
                Outcome::Discarded,
                Outcome::Duplicate,
                Outcome::Pinned,
            ]
        );
        let without = outcomes("b\ngone\n", &after, &pinned, None);
        assert_eq!(without, [Outcome::Placed, Outcome::Unknown]);
    }

    #[test]
    fn a_function_under_another_suffix_is_found_and_no_line_that_the_linker_knew() {
        let after =
            program(&[("a", 0x1000), ("b.llvm.2", 0x1010), ("c", 0x1020), ("d.llvm.2", 0x1030)]);
        let order = "a\nb.llvm.1\nd.llvm.1\nc\ne.llvm.1\n";
        assert_eq!(
            outcomes(order, &after, &[], None),
            [Outcome::Placed, Outcome::Placed, Outcome::Unknown, Outcome::Placed, Outcome::Unknown]
        );
        let program = Program::parse(&after).unwrap();
        let fragments =
            Fragments::from_symbols(&program, program.section_named(".text").unwrap().0);
        let check = check(&OrderFile::parse(order).unwrap(), &program, &fragments, &[], None);
        let renamed: Vec<Option<&str>> =
            check.lines.iter().map(|line| line.renamed.as_deref()).collect();
        assert_eq!(renamed, [None, Some("b.llvm.2"), Some("d.llvm.2"), None, None]);
    }

    #[test]
    fn the_map_tells_sections_apart_that_share_a_name() {
        let bytes = program(&[("f", 0x1000), ("f", 0x1010), ("g", 0x1020)]);
        let program = Program::parse(&bytes).unwrap();
        let map = LinkMap::parse(
            "             VMA              LMA     Size Align Out     In      Symbol
            1000             1000      100    16 .text
            1000             1000       10    16         b.o:(.text.f)
            1010             1010       10    16         a.o:(.text.f)
            1020             1020       10    16         a.o:(.text.g)
",
        )
        .unwrap();
        let section = program.section_named(".text").unwrap().0;
        let fragments = Fragments::from_link_map(&program, &map, section);
        let outcomes = |text: &str| {
            let order = OrderFile::parse(text).unwrap();
            let check = check(&order, &program, &fragments, &[], None);
            check.lines.iter().map(|line| line.outcome).collect::<Vec<_>>()
        };
        assert_eq!(outcomes("b.o(.text.f)\na.o(.text.f)\n"), [Outcome::Placed; 2]);
        assert_eq!(outcomes("*(.text.f)\n*(.text.g)\n"), [Outcome::Duplicate, Outcome::Placed]);
        assert_eq!(outcomes("c.o(.text.f)\n"), [Outcome::Unknown]);
        assert_eq!(outcomes("a.o(.text.g)\n*(.text.g)\n"), [Outcome::Placed, Outcome::Duplicate]);
    }

    #[test]
    fn the_span_is_that_of_what_was_placed() {
        let bytes = program(&[("a", 0x1010), ("b", 0x1020), ("c", 0x1040)]);
        let program = Program::parse(&bytes).unwrap();
        let fragments =
            Fragments::from_symbols(&program, program.section_named(".text").unwrap().0);
        let span = |text: &str| {
            check(&OrderFile::parse(text).unwrap(), &program, &fragments, &[], None).span()
        };
        assert_eq!(span("a\nb\nx\n"), Some(Range { start: 0x1010, end: 0x1030 }));
        assert_eq!(span("x\n"), None);
    }

    #[test]
    fn finds_what_is_in_order() {
        let lines: Vec<(usize, u64)> =
            [10, 20, 15, 30, 5, 40].iter().enumerate().map(|(i, a)| (i, *a)).collect();
        let chosen = longest_ascending(&lines);
        assert_eq!(chosen.len(), 4);
        assert!(chosen.contains(&0) && chosen.contains(&3) && chosen.contains(&5));
    }
}
