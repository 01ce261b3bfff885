//! The pieces that a layout may move.

use crate::link_map::LinkMap;
use crate::program::{FunctionId, Program, SectionId};
use crate::ranges::Range;
use std::borrow::Cow;

/// Index of a [`Fragment`] in [`Fragments`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FragmentId(pub u32);

impl FragmentId {
    /// The index as a `usize`.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How the linker knows a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin<'data> {
    /// An input section of an object file, read from the linker's map.
    InputSection {
        /// The file as a linker script matches it: `fork.o` or `vmlinux.a:kernel/fork.o`.
        file: Cow<'data, str>,
        /// The section's name in that file.
        section: &'data str,
    },
    /// Nothing but a symbol is known: the section is taken to be `.text.NAME`.
    Symbol,
}

/// The smallest piece of code that a layout moves: an input section, and the functions in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment<'data> {
    /// Name of its first function; that of its section where it holds none.
    pub name: &'data str,
    /// How the linker knows it.
    pub origin: Origin<'data>,
    /// Where it lies in memory.
    pub range: Range,
    /// Alignment in bytes that it needs: a power of two.
    pub alignment: u64,
    /// First function in it.
    first_function: u32,
    /// Number of functions in it.
    function_count: u32,
}

impl Fragment<'_> {
    /// The functions in the fragment, by ascending address.
    pub fn functions(&self) -> impl Iterator<Item = FunctionId> + use<> {
        (self.first_function..self.first_function + self.function_count).map(FunctionId)
    }

    /// Name of its input section, `.text.NAME` where only the symbol is known.
    pub fn section_name(&self) -> Cow<'_, str> {
        match &self.origin {
            Origin::InputSection { section, .. } => Cow::Borrowed(section),
            Origin::Symbol => Cow::Owned(format!(".text.{}", self.name)),
        }
    }
}

/// All fragments of one output section, by ascending address. They do not overlap.
#[derive(Debug, Clone)]
pub struct Fragments<'data> {
    section: SectionId,
    fragments: Vec<Fragment<'data>>,
}

impl<'data> Fragments<'data> {
    /// The input sections that the linker's map lists for the output section `section`.
    pub fn from_link_map(
        program: &Program<'data>,
        map: &LinkMap<'data>,
        section: SectionId,
    ) -> Self {
        let (output, whole) = (program.section(section).name, program.section(section).range);
        let mut last_end = 0;
        let fragments = map
            .sections
            .iter()
            .filter(|input| input.output == output)
            // What a map says beyond that is of another program.
            .filter(|input| input.range.intersection(whole) == input.range)
            .filter(|input| {
                let separate = input.range.start >= last_end;
                last_end = last_end.max(input.range.end);
                separate
            })
            .map(|input| {
                let functions = functions_starting_in(program, input.range);
                let name = match functions.clone().next() {
                    Some(id) => program.function(FunctionId(id)).name,
                    None => input.name,
                };
                Fragment {
                    name,
                    origin: Origin::InputSection { file: input.file.clone(), section: input.name },
                    range: input.range,
                    alignment: possible_alignment(input.alignment, input.range.start),
                    first_function: functions.start,
                    function_count: functions.end - functions.start,
                }
            })
            .collect();
        Fragments { section, fragments }
    }

    /// One fragment for each function of the output section `section`: what can be said without a
    /// map. The alignment is the largest power of two, at most 16, that all addresses share.
    pub fn from_symbols(program: &Program<'data>, section: SectionId) -> Self {
        let functions: Vec<FunctionId> =
            program.function_ids().filter(|id| program.function(*id).section == section).collect();
        let alignment = functions
            .iter()
            .map(|id| program.function(*id).range.start)
            .fold(16, |alignment: u64, start| alignment.min(1 << start.trailing_zeros().min(4)));
        let fragments = functions
            .into_iter()
            .map(|id| {
                let function = program.function(id);
                Fragment {
                    name: function.name,
                    origin: Origin::Symbol,
                    range: function.range,
                    alignment,
                    first_function: id.0,
                    function_count: 1,
                }
            })
            .collect();
        Fragments { section, fragments }
    }

    /// The output section whose fragments these are.
    pub fn section(&self) -> SectionId {
        self.section
    }

    /// All fragments by ascending address.
    pub fn as_slice(&self) -> &[Fragment<'data>] {
        &self.fragments
    }

    /// The fragment that `id` stands for.
    pub fn get(&self, id: FragmentId) -> &Fragment<'data> {
        &self.fragments[id.index()]
    }

    /// The ids of all fragments by ascending address.
    pub fn ids(&self) -> impl Iterator<Item = FragmentId> + use<> {
        (0..self.fragments.len() as u32).map(FragmentId)
    }

    /// The fragment whose bytes hold `address`.
    pub fn at(&self, address: u64) -> Option<FragmentId> {
        let after = self.fragments.partition_point(|f| f.range.start <= address);
        let index = after.checked_sub(1)?;
        self.fragments[index].range.contains(address).then_some(FragmentId(index as u32))
    }

    /// Functions of the section that lie in no fragment: where there are many, the map is not the
    /// program's own.
    pub fn orphans<'a>(
        &'a self,
        program: &'a Program<'data>,
    ) -> impl Iterator<Item = FunctionId> + 'a {
        program.function_ids().filter(move |id| {
            let function = program.function(*id);
            function.section == self.section && self.at(function.range.start).is_none()
        })
    }
}

/// An alignment as a map has it, if what lies at `address` can have it; else 1.
fn possible_alignment(alignment: u64, address: u64) -> u64 {
    let possible = alignment.is_power_of_two() && address.is_multiple_of(alignment);
    if possible { alignment } else { 1 }
}

fn functions_starting_in(program: &Program<'_>, range: Range) -> std::ops::Range<u32> {
    let functions = program.functions();
    let start = functions.partition_point(|f| f.range.start < range.start);
    let end = functions.partition_point(|f| f.range.start < range.end);
    start as u32..end.max(start) as u32
}
