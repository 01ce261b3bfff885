//! A linked program: its sections, segments, functions and other symbols, by address and by name.

use crate::isa::Isa;
use crate::ranges::Range;

/// What sort of linked file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Linked to fixed addresses (`ET_EXEC`), as x86-64 kernels are.
    Executable,
    /// Position-independent (`ET_DYN`): a PIE, a shared library, an AArch64 kernel.
    Shared,
}

/// Index of a [`Section`] in [`Program::sections`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionId(pub u32);

/// Index of a [`Function`] in [`Program::functions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

impl FunctionId {
    /// The index as a `usize`.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An executable output section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section<'data> {
    /// Its name, `.text` for one.
    pub name: &'data str,
    /// Where it lies in memory.
    pub range: Range,
}

/// A loadable segment. Kernels run at their physical addresses before paging is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Where the segment is linked to run.
    pub range: Range,
    /// Where it is loaded (`p_paddr`).
    pub physical: u64,
    /// Where its bytes are in the file: offset and length. The rest of the segment is zero.
    pub file: Range,
}

/// A function: a named run of code. Functions never overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function<'data> {
    /// Its symbol's name; of several names for the same address a global one, then the first by
    /// alphabet.
    pub name: &'data str,
    /// Where it lies in memory. Padding behind the function is not part of it.
    pub range: Range,
    /// The output section that holds it.
    pub section: SectionId,
}

/// A symbol that is no function: a boundary such as `__sched_text_start`, or a further name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker<'data> {
    /// The symbol's name.
    pub name: &'data str,
    /// Its value.
    pub address: u64,
}

/// A linked program: what its ELF file says of its code.
#[derive(Debug, Clone)]
pub struct Program<'data> {
    pub(crate) data: &'data [u8],
    pub(crate) isa: Isa,
    pub(crate) kind: Kind,
    pub(crate) entry: u64,
    pub(crate) build_id: Option<&'data [u8]>,
    pub(crate) sections: Vec<Section<'data>>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) functions: Vec<Function<'data>>,
    /// Function indices sorted by name, then address.
    pub(crate) by_name: Vec<FunctionId>,
    /// All other symbols, and the further names of functions, sorted by name, then address.
    pub(crate) markers: Vec<Marker<'data>>,
}

impl<'data> Program<'data> {
    /// The processor the program is for.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// What sort of file it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Address at which it starts (`e_entry`; a physical address for x86-64 kernels).
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// The GNU build ID, if the linker wrote one.
    pub fn build_id(&self) -> Option<&'data [u8]> {
        self.build_id
    }

    /// The executable output sections by ascending address.
    pub fn sections(&self) -> &[Section<'data>] {
        &self.sections
    }

    /// The section of this name.
    pub fn section_named(&self, name: &str) -> Option<(SectionId, &Section<'data>)> {
        let index = self.sections.iter().position(|section| section.name == name)?;
        Some((SectionId(index as u32), &self.sections[index]))
    }

    /// The section that `id` stands for.
    pub fn section(&self, id: SectionId) -> &Section<'data> {
        &self.sections[id.0 as usize]
    }

    /// The loadable segments in the order of the file.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The bytes at these addresses, where one segment of the file holds them all.
    pub fn bytes(&self, range: Range) -> Option<&'data [u8]> {
        self.segments.iter().find_map(|segment| {
            let offset = range.start.checked_sub(segment.range.start)?;
            let start = segment.file.start.checked_add(offset)?;
            let end = start.checked_add(range.length())?;
            if end > segment.file.end {
                return None;
            }
            self.data.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
        })
    }

    /// All functions by ascending address; they do not overlap.
    pub fn functions(&self) -> &[Function<'data>] {
        &self.functions
    }

    /// The function that `id` stands for.
    pub fn function(&self, id: FunctionId) -> &Function<'data> {
        &self.functions[id.index()]
    }

    /// The ids of all functions by ascending address.
    pub fn function_ids(&self) -> impl DoubleEndedIterator<Item = FunctionId> + use<> {
        (0..self.functions.len() as u32).map(FunctionId)
    }

    /// The function whose bytes hold `address`.
    pub fn function_at(&self, address: u64) -> Option<FunctionId> {
        let after = self.functions.partition_point(|f| f.range.start <= address);
        let index = after.checked_sub(1)?;
        self.functions[index].range.contains(address).then_some(FunctionId(index as u32))
    }

    /// The functions that meet `range`, by ascending address.
    pub fn functions_in(&self, range: Range) -> impl Iterator<Item = FunctionId> + '_ {
        let first = self.functions.partition_point(|f| f.range.end <= range.start);
        (first..self.functions.len())
            .take_while(move |&i| !range.is_empty() && self.functions[i].range.start < range.end)
            .map(|i| FunctionId(i as u32))
    }

    /// All functions of this name, by ascending address. Static functions of the same name in
    /// several files are common in kernels.
    pub fn functions_named(&self, name: &str) -> &[FunctionId] {
        let start = self.by_name.partition_point(|&id| self.function(id).name < name);
        let rest = &self.by_name[start..];
        &rest[..rest.partition_point(|&id| self.function(id).name == name)]
    }

    /// The functions that `name` can mean: those of this name, else those that have it as a
    /// further name, else those that have it with a version (`name@V1`, `name@@V2`), or without its own.
    pub fn lookup(&self, name: &str) -> Vec<FunctionId> {
        let named = self.functions_named(name);
        if !named.is_empty() {
            return named.to_vec();
        }
        let mut found: Vec<FunctionId> = self
            .markers_named(name)
            .iter()
            .filter_map(|marker| self.function_at(marker.address))
            .collect();
        if found.is_empty() {
            match name.split_once('@') {
                None => found.extend(self.names_beginning(&format!("{name}@")).map(|(id, _)| id)),
                // lld writes symbols without their versions.
                Some((bare, _)) if !bare.is_empty() => found = self.without_version(bare),
                Some(_) => {}
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn without_version(&self, bare: &str) -> Vec<FunctionId> {
        let further = self.markers_named(bare).iter();
        let further = further.filter_map(|marker| self.function_at(marker.address));
        self.functions_named(bare).iter().copied().chain(further).collect()
    }

    /// The functions with a name, or a further name, that begins with `start`, and that name.
    pub fn names_beginning<'a>(
        &'a self,
        start: &'a str,
    ) -> impl Iterator<Item = (FunctionId, &'data str)> + 'a {
        let first = self.by_name.partition_point(|&id| self.function(id).name < start);
        let named = self.by_name[first..]
            .iter()
            .map(|&id| (id, self.function(id).name))
            .take_while(move |(_, name)| name.starts_with(start));
        let first = self.markers.partition_point(|marker| marker.name < start);
        let further = self.markers[first..]
            .iter()
            .take_while(move |marker| marker.name.starts_with(start))
            .filter_map(|marker| Some((self.function_at(marker.address)?, marker.name)));
        named.chain(further)
    }

    /// All names of all functions, further ones included.
    pub fn names(&self) -> impl Iterator<Item = (FunctionId, &'data str)> + '_ {
        let named = self.by_name.iter().map(|&id| (id, self.function(id).name));
        let further = self.markers.iter();
        named.chain(further.filter_map(|m| Some((self.function_at(m.address)?, m.name))))
    }

    /// Address of the symbol `name`, function or not.
    pub fn address_of(&self, name: &str) -> Option<u64> {
        match self.functions_named(name).first() {
            Some(&id) => Some(self.function(id).range.start),
            None => self.markers_named(name).first().map(|marker| marker.address),
        }
    }

    /// All symbols that are no functions, sorted by name.
    pub fn markers(&self) -> &[Marker<'data>] {
        &self.markers
    }

    fn markers_named(&self, name: &str) -> &[Marker<'data>] {
        let start = self.markers.partition_point(|marker| marker.name < name);
        let rest = &self.markers[start..];
        &rest[..rest.partition_point(|marker| marker.name == name)]
    }
}
