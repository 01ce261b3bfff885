//! The compiler's lists for splitting functions.

use crate::SwapError;
use crate::code::Code;
use crate::units::{Part, Unit, Units};
use std::collections::BTreeMap;
use trimtab_link::ClusterList;
use trimtab_program::{FunctionId, Program};

/// The list of one object, for clang's `-fbasic-block-sections=list=`. With
/// `-funique-basic-block-section-names` the sections have the names that a plan expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectList {
    /// The object, relative to the build directory: `kernel/fork.o`.
    pub object: String,
    /// The list.
    pub text: String,
}

/// The lists of all objects with functions that a plan takes apart, by name of the object.
///
/// # Errors
/// [`SwapError::NoObjects`] where it is not known of which object a function is: without a linker's
/// map, or in a kernel that was linked from one `vmlinux.o`.
pub fn object_lists(code: &Code<'_>, units: &Units) -> Result<Vec<ObjectList>, SwapError> {
    let program = code.program();
    let names = Names::of(program);
    let mut lists: BTreeMap<String, ClusterList> = BTreeMap::new();
    let mut all = units.as_slice().iter().peekable();
    while let Some(unit) = all.next() {
        let (Part::First, Some(function)) = (unit.part, unit.functions.first()) else { continue };
        // The parts of a function follow each other.
        let warm = all.next_if(|next| next.part == Part::Warm && next.functions == unit.functions);
        let object = unit.file.as_deref().and_then(object);
        let object = object.ok_or_else(|| SwapError::NoObjects { function: unit.name.clone() })?;
        let first = numbers(code, unit);
        let second = warm.map_or(Vec::new(), |warm| numbers(code, warm));
        let list = lists.entry(object).or_default();
        list.add_clusters(&names.all(program, *function), &[&first, &second]);
    }
    let list =
        |(object, list): (String, ClusterList)| ObjectList { object, text: list.text().to_owned() };
    Ok(lists.into_iter().map(list).collect())
}

/// Numbers of the blocks that a unit has, with those without bytes before each.
pub(crate) fn numbers(code: &Code<'_>, unit: &Unit) -> Vec<u32> {
    let blocks = unit.ranges.iter().filter_map(|range| code.block_at(range.start));
    blocks.flat_map(|block| code.empty_before(block).chain(code.block(block).id)).collect()
}

/// The object that a linker's map names, as make names it. Archives are named from the build
/// directory; members of `vmlinux.a` from there, too, and those of a folder's own from it.
fn object(file: &str) -> Option<String> {
    match file.split_once(':') {
        _ if file.ends_with("vmlinux.o") => None,
        Some((archive, member)) if !member.contains('/') => match archive.rsplit_once('/') {
            Some((folder, _)) => Some(format!("{folder}/{member}")),
            None => Some(member.to_owned()),
        },
        Some((_, member)) => Some(member.to_owned()),
        None => Some(file.to_owned()),
    }
}

/// All symbols at an address.
struct Names<'a> {
    markers: Vec<(u64, &'a str)>,
}

impl<'a> Names<'a> {
    fn of(program: &Program<'a>) -> Self {
        let mut markers: Vec<(u64, &str)> =
            program.markers().iter().map(|marker| (marker.address, marker.name)).collect();
        markers.sort_unstable();
        markers.dedup();
        Names { markers }
    }

    fn all(&self, program: &Program<'a>, function: FunctionId) -> Vec<&'a str> {
        let own = program.function(function);
        let start = own.range.start;
        let first = self.markers.partition_point(|(at, _)| *at < start);
        let same = self.markers[first..].iter().take_while(|(at, _)| *at == start);
        let others = same.map(|(_, name)| *name).filter(|name| *name != own.name);
        std::iter::once(own.name).chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_named_as_make_names_them() {
        for (file, expected) in [
            ("vmlinux.a:kernel/fork.o", Some("kernel/fork.o")),
            ("lib/lib.a:maple_tree.o", Some("lib/maple_tree.o")),
            ("lib/lib.a:lib/maple_tree.o", Some("lib/maple_tree.o")),
            ("init/version.o", Some("init/version.o")),
            ("vmlinux.o", None),
        ] {
            assert_eq!(object(file).as_deref(), expected, "{file}");
        }
    }
}
