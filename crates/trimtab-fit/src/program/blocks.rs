//! Which blocks of a program's functions run, said to clang object by object.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use trimtab_layout::{BlockFlow, HotColdSplit, split};
use trimtab_link::ClusterList;
use trimtab_native::program::wrap::{Compile, Link};
use trimtab_profile::Profile;
use trimtab_program::{Block, BlockMap, BlockMapError, Origin, RangeSet, objects};

use super::object::Object;
use trimtab_lab::failure::Failure;

/// What a program with split functions is made from.
#[derive(Debug, Default)]
pub(super) struct Splitting {
    /// For what clang compiled, by its path, the list of its blocks.
    pub lists: Vec<(PathBuf, String)>,
    /// Functions that are split.
    pub functions: u64,
    /// Bytes that leave them.
    pub cold_bytes: u64,
}

/// A linked file of which functions are to be split.
pub(super) struct Target<'a> {
    pub object: &'a Object<'a>,
    pub map: &'a BlockMap,
    pub link: &'a Link,
    /// The run to make better comes first.
    pub profiles: Vec<&'a Profile>,
    /// How control moved in each of these runs, where the blocks that stay are to be ordered by it.
    pub flows: Option<Vec<&'a BlockFlow>>,
}

/// Where the linker had a function from, as far as its map says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Home {
    /// This object.
    Object(PathBuf),
    /// A member of an archive.
    Member(String),
    /// An object that lived only while the compiler compiled and linked at once.
    Passing,
}

/// A function to be split, as the linked file has it.
struct Candidate<'a> {
    names: Vec<&'a str>,
    size: u64,
    from: Home,
    split: HotColdSplit,
}

/// Splits the functions that ran: what the first profile executed stays in a function's own section,
/// and in a function that it did not execute what any other did. It stays in the compiler's order
/// where a target has no flows.
///
/// # Errors
/// If an object cannot be read.
pub(super) fn splitting(targets: &[Target<'_>], compiles: &[Compile]) -> Result<Splitting> {
    let mut splitting = Splitting::default();
    // By the object's path: a function of two linked files is split alike in both.
    let mut lists: BTreeMap<&Path, ClusterList> = BTreeMap::new();
    for target in targets {
        let candidates = candidates(target);
        for compile in compiles {
            let Ok(path) = compile.output.canonicalize() else { continue };
            if lists.contains_key(compile.output.as_path()) {
                continue;
            }
            let data =
                fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let found = match objects::functions(&data) {
                Some(functions) => in_object(&candidates, &path, functions),
                None if path == target.link.output.canonicalize().unwrap_or_default() => {
                    passing(&candidates)
                }
                None => continue,
            };
            let mut list = ClusterList::default();
            for candidate in found {
                list.add(&candidate.names, &candidate.split.hot);
                splitting.cold_bytes += candidate.split.cold_bytes;
                splitting.functions += u64::from(candidate.split.cold_bytes > 0);
            }
            if list.functions() > 0 {
                lists.insert(&compile.output, list);
            }
        }
    }
    for (output, list) in lists {
        splitting.lists.push((output.to_owned(), list.text().to_owned()));
    }
    Ok(splitting)
}

/// The blocks of a linked file; `None` where the compiler wrote down none.
///
/// # Errors
/// That they are written down in a way that is not known, or that the objects are what an earlier
/// run made.
pub(super) fn block_map(object: &Object<'_>, elf: &[u8]) -> Result<Option<BlockMap>> {
    let split = object.fragments.as_slice().iter().any(|fragment| {
        matches!(&fragment.origin, Origin::InputSection { section, .. }
            if section.starts_with(".text.split."))
    });
    if split {
        return Err(Failure::new(format!(
            "functions of {} are split already, by a build that this work directory knows nothing of",
            object.path.display()
        ))
        .hint("begin with a clean build, as in --build 'make clean all'")
        .into());
    }
    match BlockMap::parse(elf) {
        Ok(map) => Ok(Some(map)),
        Err(BlockMapError::Missing) => Ok(None),
        Err(error) => Err(error)
            .with_context(|| format!("cannot split the functions of {}", object.path.display())),
    }
}

fn candidates<'a>(target: &Target<'a>) -> Vec<Candidate<'a>> {
    let object = target.object;
    let all = target.profiles.iter().fold(RangeSet::default(), |all, p| all.union(p.executed()));
    let first = target.profiles.first().map(|profile| profile.executed());
    let first_flow = target.flows.as_ref().and_then(|flows| flows.first());
    let all_flows = target.flows.as_ref().map(|flows| BlockFlow::sum(flows.iter().copied()));
    let mut froms: HashMap<&str, Home> = HashMap::new();
    let mut candidates: Vec<Candidate<'a>> = Vec::new();
    for fragment in object.fragments.as_slice() {
        let Origin::InputSection { file, .. } = &fragment.origin else { continue };
        let mut last: Option<(u64, usize)> = None;
        for id in fragment.functions() {
            let function = object.program.function(id);
            let start = function.range.start;
            // All names of a function go into one line.
            if let Some((_, at)) = last.filter(|(known, _)| *known == start) {
                candidates[at].names.push(function.name);
                continue;
            }
            let Some(blocks) = target.map.function(start) else { continue };
            let in_first =
                first.filter(|first| blocks.iter().any(|b| first.within(b.range).next().is_some()));
            let parted = split(blocks, in_first.unwrap_or(&all));
            let parted = match (first_flow, &all_flows) {
                (Some(first), Some(all)) => {
                    in_order(parted, blocks, if in_first.is_some() { first } else { all })
                }
                _ => parted,
            };
            let Some(split) = parted else { continue };
            let from = froms.entry(file.as_ref()).or_insert_with(|| from(file, target.link));
            last = Some((start, candidates.len()));
            candidates.push(Candidate {
                names: vec![function.name],
                size: function.range.length(),
                from: from.clone(),
                split,
            });
        }
    }
    candidates
}

/// A split with its blocks in the order that follows from `flow`; also of a function that stays whole,
/// where its blocks come into another order than the compiler's.
fn in_order(
    parted: Option<HotColdSplit>,
    blocks: &[Block],
    flow: &BlockFlow,
) -> Option<HotColdSplit> {
    match parted {
        Some(split) => Some(HotColdSplit { hot: flow.order(blocks, &split.hot), ..split }),
        None => {
            let whole: Vec<u32> = blocks.iter().map(|block| block.id).collect();
            let hot = flow.order(blocks, &whole);
            (hot != whole).then_some(HotColdSplit { hot, cold_bytes: 0 })
        }
    }
}

fn from(file: &str, link: &Link) -> Home {
    let path = link.directory.join(file);
    if file == "*" {
        return Home::Passing;
    }
    match (path.canonicalize(), file.rsplit_once(':')) {
        (Ok(path), _) => Home::Object(path),
        (Err(_), Some((_, member))) => Home::Member(member.to_owned()),
        (Err(_), None) => Home::Passing,
    }
}

/// The candidates among an object's functions.
fn in_object<'a, 'b>(
    candidates: &'b [Candidate<'a>],
    path: &Path,
    functions: Vec<objects::ObjectFunction<'_>>,
) -> Vec<&'b Candidate<'a>> {
    let sizes: HashSet<(&str, u64)> =
        functions.iter().map(|function| (function.name, function.size)).collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut seen = HashSet::new();
    candidates
        .iter()
        .filter(|candidate| match &candidate.from {
            Home::Object(object) => object == path,
            Home::Member(member) => *member == name,
            Home::Passing => false,
        })
        .filter(|candidate| {
            candidate.names.iter().any(|name| sizes.contains(&(*name, candidate.size)))
        })
        // Two members have the same name, so they cannot be distinguished.
        .filter(|candidate| seen.insert(candidate.names[0]))
        .collect()
}

/// Those of objects that are gone, where the name says which it is.
fn passing<'a, 'b>(candidates: &'b [Candidate<'a>]) -> Vec<&'b Candidate<'a>> {
    let passing = || candidates.iter().filter(|candidate| candidate.from == Home::Passing);
    let mut counts: HashMap<&str, u32> = HashMap::new();
    for candidate in passing() {
        *counts.entry(candidate.names[0]).or_default() += 1;
    }
    passing().filter(|candidate| counts.get(candidate.names[0]) == Some(&1)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn candidate(name: &'static str, size: u64, from: Home) -> Candidate<'static> {
        Candidate {
            names: vec![name],
            size,
            from,
            split: HotColdSplit { hot: vec![0], cold_bytes: 1 },
        }
    }

    #[test]
    fn a_function_is_looked_for_where_the_linker_had_it_from() {
        let root = tempfile::tempdir().unwrap();
        let object = root.path().canonicalize().unwrap().join("a.o");
        fs::write(&object, "").unwrap();
        let link = Link {
            output: root.path().join("app"),
            map: root.path().join("map"),
            directory: root.path().to_owned(),
            order: None,
            together: false,
        };
        assert_eq!(from("./a.o", &link), Home::Object(object.clone()));
        assert_eq!(from("lib/x.a:a.o", &link), Home::Member("a.o".to_owned()));
        assert_eq!(from("*", &link), Home::Passing);
        let function = |name, size| objects::ObjectFunction { name, size, section: 1, offset: 0 };
        let functions = vec![function("here", 10), function("member", 20), function("other", 30)];
        let all = [
            candidate("here", 10, Home::Object(object.clone())),
            candidate("member", 20, Home::Member("a.o".to_owned())),
            // Of another object, of another size, and gone.
            candidate("other", 30, Home::Object("/b.o".into())),
            candidate("here", 11, Home::Object(object.clone())),
            candidate("twice", 5, Home::Passing),
            candidate("twice", 6, Home::Passing),
            candidate("once", 6, Home::Passing),
        ];
        let names = |found: Vec<&Candidate<'_>>| -> Vec<String> {
            found.iter().map(|candidate| candidate.names[0].to_owned()).collect()
        };
        assert_eq!(names(in_object(&all, &object, functions)), ["here", "member"]);
        assert_eq!(names(passing(&all)), ["once"]);
    }
}
