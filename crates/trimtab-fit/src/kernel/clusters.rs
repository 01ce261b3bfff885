//! Which blocks of a kernel's functions run, said to the compiler object by object.

use std::collections::{HashMap, HashSet};
use std::fs;

use anyhow::{Context, Result};
use trimtab_layout::{HotColdSplit, Prices, split, split_by_price};
use trimtab_link::{BlockList, ClusterList};
use trimtab_machine::kernel::Build;
use trimtab_profile::Profile;
use trimtab_program::decode::jumps;
use trimtab_program::{BlockMap, Fragment, FunctionId, Isa, Origin, RangeSet, objects};

use super::linked::Kernel;

/// Sections with a place of their own in the kernel's text in which the order of functions, and of
/// their parts, is free. Not so `.head.text`, in which the processor begins.
const FREE_IN_THEIR_PLACE: [&str; 8] = [
    ".noinstr.text",
    ".cpuidle.text",
    ".sched.text",
    ".spinlock.text",
    ".kprobes.text",
    ".irqentry.text",
    ".softirqentry.text",
    ".ref.text",
];

/// The one of these in which what ran lies last: the kernel has `.sched.text` behind it, in which it
/// lies first, so that both share pages.
const HOT_LAST: &str = ".ref.text";

/// What splitting costs in a kernel, in tenths of a byte of its image as gzip compresses it: a branch
/// two bytes, a part twelve, as measured with Linux 6.12. A page's byte that did not run is held to be
/// worth 1.6 bytes of the image: with that both targets of `trimtab fit kernel` are met.
fn prices(isa: Isa) -> Prices {
    // A branch between neighbours is shorter than others only where instructions differ in length.
    let (longer, jump) = match isa {
        Isa::X86_64 => (4, 5),
        Isa::Aarch64 | Isa::Mips32 => (0, 4),
    };
    Prices { idle_byte: 16, branch: 20, longer, jump, part: 120 }
}

/// What a split kernel is made from.
#[derive(Debug, Default)]
pub struct Splitting {
    /// Symbols of text with a place of its own, in the order in which they shall lie there.
    pub first: Vec<String>,
    /// A list for each object with functions to split.
    pub lists: Vec<BlockList>,
    /// Functions that are split.
    pub functions: u64,
    /// Bytes that leave them.
    pub cold_bytes: u64,
}

/// A function to be split, as the linked kernel has it.
struct Candidate<'a> {
    size: u64,
    /// The file it was linked from, where the linker's map says it.
    file: Option<&'a str>,
    split: HotColdSplit,
}

/// Splits the functions that the first of `profiles` executed: what it executed stays in a function's
/// own section. Functions that only others executed stay whole, in sections of their own.
///
/// # Errors
/// If an object file cannot be read.
pub fn splitting(
    kernel: &Kernel<'_>,
    map: &BlockMap,
    build: &Build<'_>,
    profiles: &[Profile],
) -> Result<Splitting> {
    let candidates = candidates(kernel, map, profiles);
    let first = first(kernel, &candidates, profiles);
    let mut splitting = Splitting { first, ..Splitting::default() };
    for object in build.objects()? {
        let path = build.directory().join(&object);
        let data = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let Some(mut functions) = objects::functions(&data) else { continue };
        // All names of a function come one after the other.
        functions.sort_by_key(|function| (function.section, function.offset));
        let mut list = ClusterList::default();
        for same in functions.chunk_by(|a, b| (a.section, a.offset) == (b.section, b.offset)) {
            let names: Vec<&str> = same.iter().map(|function| function.name).collect();
            let found = names
                .iter()
                .filter_map(|name| candidates.get(name))
                .flatten()
                .find(|candidate| candidate.size == same[0].size && candidate.is_in(&object));
            if let Some(candidate) = found {
                list.add(&names, &candidate.split.hot);
                splitting.cold_bytes += candidate.split.cold_bytes;
                splitting.functions += u64::from(candidate.split.cold_bytes > 0);
            }
        }
        if list.functions() > 0 {
            splitting.lists.push(BlockList { object, text: list.text().to_owned() });
        }
    }
    Ok(splitting)
}

impl Candidate<'_> {
    /// Whether it can be of this object: a kernel that is linked by way of `vmlinux.o` does not say
    /// which object a function is of. Then its name and size decide; where several objects have
    /// the same, all are split alike.
    fn is_in(&self, object: &str) -> bool {
        self.file.is_none_or(|file| match file.split_once(':') {
            // vmlinux.a names its members from the build directory, a folder's lib.a from there.
            Some((archive, member)) => {
                let folder = archive.rsplit_once('/').map_or("", |(folder, _)| folder);
                object == member
                    || object
                        .strip_suffix(member)
                        .and_then(|rest| rest.strip_suffix('/'))
                        .is_some_and(|rest| rest == folder)
            }
            None => file == object,
        })
    }
}

fn can_be_split_in_its_place(fragment: &Fragment<'_>) -> bool {
    matches!(&fragment.origin, Origin::InputSection { section, .. }
        if FREE_IN_THEIR_PLACE.contains(section))
}

/// The symbols of text with a place of its own in the order in which they shall lie there: what the
/// first run executed first, in its order, then what others did, and what is not named behind it. In
/// [`HOT_LAST`] it is the other way round.
fn first(
    kernel: &Kernel<'_>,
    candidates: &HashMap<&str, Vec<Candidate<'_>>>,
    profiles: &[Profile],
) -> Vec<String> {
    let mut ran: HashSet<FunctionId> = HashSet::new();
    let executed: Vec<FunctionId> = profiles
        .iter()
        .flat_map(Profile::functions)
        .map(|executed| executed.function)
        .filter(|function| ran.insert(*function))
        .collect();
    let mut symbols = Vec::new();
    for fragment in kernel.fragments.as_slice() {
        if !matches!(&fragment.origin, Origin::InputSection { section, .. } if *section == HOT_LAST)
        {
            continue;
        }
        for id in fragment.functions() {
            let name = kernel.program.function(id).name;
            if candidates.contains_key(name) {
                symbols.push(format!("{name}.cold"));
            }
            if !ran.contains(&id) {
                symbols.push(name.to_owned());
            }
        }
    }
    let placed = |id: &FunctionId| {
        let start = kernel.program.function(*id).range.start;
        kernel.fragments.at(start).map(|id| kernel.fragments.get(id))
    };
    symbols.extend(
        executed
            .iter()
            .filter(|id| placed(id).is_some_and(can_be_split_in_its_place))
            .map(|id| kernel.program.function(*id).name.to_owned()),
    );
    symbols
}

fn candidates<'a>(
    kernel: &'a Kernel<'_>,
    map: &BlockMap,
    profiles: &[Profile],
) -> HashMap<&'a str, Vec<Candidate<'a>>> {
    let all = profiles.iter().fold(RangeSet::default(), |all, p| all.union(p.executed()));
    let first = profiles.first().map(Profile::executed);
    let prices = prices(kernel.program.isa());
    let mut candidates: HashMap<&str, Vec<Candidate<'_>>> = HashMap::new();
    for fragment in kernel.fragments.as_slice() {
        let in_its_place = can_be_split_in_its_place(fragment);
        if !kernel.movable(fragment) && !in_its_place {
            continue;
        }
        let file = match &fragment.origin {
            Origin::InputSection { file, .. } if file != "vmlinux.o" => Some(file.as_ref()),
            _ => None,
        };
        for id in fragment.functions() {
            let function = kernel.program.function(id);
            let Some(blocks) = map.function(function.range.start) else { continue };
            let ran = |set: &RangeSet| blocks.iter().any(|b| set.within(b.range).next().is_some());
            if !ran(&all) {
                continue;
            }
            let in_first = first.filter(|first| ran(first));
            let parted = match in_first {
                // Little text has a place of its own, and each run may execute other parts of it.
                _ if in_its_place => split(blocks, in_first.unwrap_or(&all)),
                Some(first) => {
                    split_by_price(blocks, &jumps(&kernel.program, blocks), first, prices)
                }
                None => None,
            };
            // What ran needs a list even where it stays whole: so it has a section of its own, that can
            // be moved, and begins where the code before it ends.
            let whole =
                || HotColdSplit { hot: blocks.iter().map(|b| b.id).collect(), cold_bytes: 0 };
            let split = parted.unwrap_or_else(whole);
            let size = function.range.length();
            candidates.entry(function.name).or_default().push(Candidate { size, file, split });
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_known_in_an_archive_and_alone() {
        let is_in = |file: Option<&str>, object: &str| {
            let split = HotColdSplit { hot: vec![0], cold_bytes: 1 };
            Candidate { size: 1, file, split }.is_in(object)
        };
        for (file, object, expected) in [
            ("vmlinux.a:kernel/fork.o", "kernel/fork.o", true),
            ("vmlinux.a:kernel/fork.o", "fork.o", false),
            ("lib/lib.a:maple_tree.o", "lib/maple_tree.o", true),
            ("lib/lib.a:maple_tree.o", "arch/x86/lib/maple_tree.o", false),
            ("arch/x86/lib/lib.a:insn.o", "arch/x86/lib/insn.o", true),
            ("init/version.o", "init/version.o", true),
            ("init/version.o", "version.o", false),
        ] {
            assert_eq!(is_in(Some(file), object), expected, "{file} {object}");
        }
        assert!(is_in(None, "any.o"));
    }
}
