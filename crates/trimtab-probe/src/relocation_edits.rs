//! Instructions on their way to another place of their section, with what the linker does to them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::elf::{Object, Relocation};

/// Relocations that come and go while an object is rewritten.
#[derive(Debug, Default)]
pub struct RelocationEdits {
    /// Those that are new, by section.
    added: HashMap<usize, Vec<Relocation>>,
    /// Those that went elsewhere, by section and index.
    gone: HashSet<(usize, usize)>,
}

impl RelocationEdits {
    /// Adds a relocation for a section.
    pub fn add(&mut self, section: usize, relocation: Relocation) {
        self.added.entry(section).or_default().push(relocation);
    }

    /// Adds a relocation for a section, in place of the one that is there, if there is one.
    pub fn put(&mut self, object: &Object, section: usize, relocation: Relocation) {
        let all = &object.relocations[section];
        if let Ok(index) = all.binary_search_by_key(&relocation.offset, |other| other.offset) {
            self.gone.insert((section, index));
        }
        self.add(section, relocation);
    }

    /// Makes them those of the object.
    pub fn apply(self, object: &mut Object) {
        for (section, added) in self.added {
            let relocations = &mut object.relocations[section];
            let mut index = 0;
            relocations.retain(|_| {
                index += 1;
                !self.gone.contains(&(section, index - 1))
            });
            relocations.extend(added);
            relocations.sort_by_key(|relocation| relocation.offset);
        }
    }
}

/// The end of a section, to which instructions are moved.
pub struct SectionEnd<'a> {
    /// The object.
    pub object: &'a mut Object,
    /// The section.
    pub section: usize,
    /// The symbol that stands for the section.
    pub section_symbol: u32,
    /// What becomes of the relocations.
    pub changes: &'a mut RelocationEdits,
}

impl SectionEnd<'_> {
    /// The code of the section, which grows.
    pub fn data(&mut self) -> &mut Vec<u8> {
        &mut self.object.sections[self.section].data
    }

    /// Where the end is.
    pub fn end(&self) -> u64 {
        self.object.sections[self.section].data.len() as u64
    }

    /// Takes the relocations of some bytes away.
    pub fn take_relocations(&mut self, from: Range<u64>) -> Vec<Relocation> {
        let all = &self.object.relocations[self.section];
        let first = all.partition_point(|relocation| relocation.offset < from.start);
        let behind = all.partition_point(|relocation| relocation.offset < from.end);
        self.changes.gone.extend((first..behind).map(|index| (self.section, index)));
        all[first..behind].to_vec()
    }

    /// Gives the relocations of some bytes to a copy of these ([`Relocation::moved_to`]). Says whether
    /// there are any.
    pub fn move_relocations(&mut self, from: Range<u64>, to: u64, anchored: &[u32]) -> bool {
        let taken = self.take_relocations(from.clone());
        for &relocation in &taken {
            let offset = relocation.offset - from.start + to;
            self.changes.add(self.section, relocation.moved_to(offset, anchored));
        }
        !taken.is_empty()
    }
}
