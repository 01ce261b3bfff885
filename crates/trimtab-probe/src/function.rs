//! The functions of an object, by its symbols.

use std::collections::BTreeMap;

use object::elf;

use crate::elf::Object;

/// A place in a section: its number and an offset.
pub type Place = (usize, u64);

/// A function, by its symbols.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its name; that of a symbol that other objects see, if there is one.
    pub name: String,
    /// Section that it is in.
    pub section: usize,
    /// Offset of its first byte.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// Whether it chooses an implementation when the program is loaded, before anything else runs.
    pub is_ifunc_resolver: bool,
    /// What its symbols say of it beyond that: `st_other`.
    pub other: u8,
    /// Whether no other object sees it.
    pub is_local: bool,
}

impl Function {
    /// Offset behind its last byte.
    pub fn end(&self) -> u64 {
        self.start + self.size
    }

    /// Whether a place is in it.
    pub fn contains(&self, (section, offset): Place) -> bool {
        section == self.section && (self.start..self.end()).contains(&offset)
    }

    /// Whether it is a part of another, split off, by the name that compilers give it.
    pub fn is_part(&self) -> bool {
        self.part_of().is_some()
    }

    /// The name of the function that it is a part of.
    pub fn part_of(&self) -> Option<&str> {
        let is_end = |at: &usize| matches!(self.name.as_bytes().get(at + 5), None | Some(b'.'));
        let cold = self.name.match_indices(".cold").map(|(at, _)| at).find(is_end);
        // clang's, where each block may have a section of its own.
        let at = cold.or_else(|| self.name.find(".__part."))?;
        Some(&self.name[..at])
    }
}

/// Whether LLVM gives such names to instructions that it moved out of several functions (its pass
/// `MachineOutliner`). They work on their callers' registers and stack as if they were still there.
pub fn is_outlined(name: &str) -> bool {
    name.starts_with("OUTLINED_FUNCTION_")
}

/// The functions of an object in order of section and offset: each place once.
pub fn functions(object: &Object) -> Vec<Function> {
    let mut found: BTreeMap<Place, Function> = BTreeMap::new();
    for symbol in &object.symbols {
        let is_ifunc_resolver = symbol.kind() == elf::STT_GNU_IFUNC;
        let Some(section) = symbol.defined_in() else { continue };
        if !(is_ifunc_resolver || symbol.kind() == elf::STT_FUNC)
            || !object.sections[section].is_text()
        {
            continue;
        }
        let length = object.sections[section].data.len() as u64;
        let fits = symbol.value.checked_add(symbol.size).is_some_and(|end| end <= length);
        if !fits || symbol.size == 0 {
            continue;
        }
        let seen_elsewhere = symbol.binding() != elf::STB_LOCAL;
        let function = Function {
            name: String::from_utf8_lossy(&symbol.name).into_owned(),
            section,
            start: symbol.value,
            size: symbol.size,
            is_ifunc_resolver,
            other: symbol.other,
            is_local: !seen_elsewhere,
        };
        found
            .entry((section, symbol.value))
            .and_modify(|known| {
                known.is_ifunc_resolver |= is_ifunc_resolver;
                known.other |= symbol.other;
                known.size = known.size.max(symbol.size);
                if seen_elsewhere && known.is_local {
                    known.name.clone_from(&function.name);
                    known.is_local = false;
                }
            })
            .or_insert(function);
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_known_by_their_names() {
        for (name, whole) in [
            ("parse.cold", Some("parse")),
            ("parse.part.0.cold", Some("parse.part.0")),
            ("parse.cold.1", Some("parse")),
            ("parse.__part.3", Some("parse")),
            ("parse.coldest", None),
            ("parse_cold", None),
            ("parse.part.0", None),
        ] {
            let name = name.to_owned();
            let (section, start, size) = (1, 0, 8);
            let (is_ifunc_resolver, other, is_local) = (false, 0, false);
            let function =
                Function { name, section, start, size, is_ifunc_resolver, other, is_local };
            assert_eq!(function.part_of(), whole, "{}", function.name);
        }
    }
}
