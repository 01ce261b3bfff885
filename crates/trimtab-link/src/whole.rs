//! An order of all of a kernel's movable text, in few lines.

use std::collections::{BTreeSet, HashMap, HashSet};

use trimtab_program::{Fragment, Origin};

use crate::emit::{is_plain, is_single_object};
use crate::{Linker, OrderText};

/// The sections of all functions, and their cold parts, of a file that are not in `.text.hot`: those of
/// which a list says how they are split. Functions that begin with an *h* are not among them, either.
pub(crate) const REST: &str = ".text.[0-9a-gi-zA-Z_]*";

/// What a kernel's linker script has to include for its movable text to be linked in the order of
/// the objects, whatever compilers call likely or unlikely.
pub const FILE_ORDER: &str = "*(.text.unlikely .text.unlikely.* .text.unknown .text.unknown.* \
     .text.hot .text.hot.* .text .text.fixup .text.[0-9a-zA-Z_]*)\n";

/// Writes the order of `fragments`, which are all that can be moved, for a kernel that was linked in
/// [`FILE_ORDER`].
///
/// Where all that is left of a file's cold code comes in its own order, one line says so: linkers try
/// each line with every section.
pub fn emit_whole<'a, 'data: 'a>(fragments: &[&'a Fragment<'data>]) -> OrderText {
    let mut left: HashMap<&str, BTreeSet<u64>> = HashMap::new();
    for fragment in fragments {
        if let Some(file) = file_with_rest(fragment) {
            left.entry(file).or_default().insert(fragment.range.start);
        }
    }
    let mut emitted = OrderText::default();
    emitted.text.push_str("/* Written by trimtab. First line is placed first. */\n");
    let mut seen = HashSet::new();
    let mut at = 0;
    while let Some(fragment) = fragments.get(at) {
        let file = file_with_rest(fragment);
        if let Some(left) = file.and_then(|file| left.get_mut(file)) {
            let next = fragments[at..].iter().map(|fragment| fragment.range.start);
            if left.len() > 1 && left.iter().copied().eq(next.take(left.len())) {
                emitted.text.push_str(&format!("{}({REST})\n", file.unwrap_or("*")));
                emitted.lines += left.len() as u64;
                at += left.len();
                left.clear();
                continue;
            }
            left.remove(&fragment.range.start);
        }
        at += 1;
        emitted.add(Linker::Kernel, fragment, &mut seen);
    }
    emitted
}

/// The file of a fragment, where [`REST`] matches it there.
fn file_with_rest<'a>(fragment: &'a Fragment<'_>) -> Option<&'a str> {
    let Origin::InputSection { file, section, .. } = &fragment.origin else { return None };
    let name = section.strip_prefix(".text.")?;
    let known = name.starts_with(|c: char| c != 'h' && (c.is_ascii_alphanumeric() || c == '_'));
    (known && is_single_object(file) && is_plain(file)).then_some(file.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OrderFile, Target};
    use trimtab_fixture::Elf;
    use trimtab_program::{Fragments, LinkMap, Program};

    const MAP: &str = "\
             VMA              LMA     Size Align Out     In      Symbol
            1000             1000      100    16 .text
            1000             1000       10    16         vmlinux.a:a.o:(.text.hot.one)
            1010             1010       10    16         vmlinux.a:a.o:(.text.two)
            1020             1020       10    16         vmlinux.a:a.o:(.text.split.one)
            1030             1030       10    16         vmlinux.a:b.o:(.text.unlikely.three)
            1040             1040       10    16         vmlinux.a:b.o:(.text)
            1050             1050       10    16         vmlinux.o:(.text.four)
            1060             1060       10    16         vmlinux.o:(.text.five)
";

    fn written(order: &[usize]) -> OrderText {
        let bytes = Elf::new().text(".text", 0x1000, 0x100).function("one", 0x1000, 16).build();
        let program = Program::parse(&bytes).unwrap();
        let map = LinkMap::parse(MAP).unwrap();
        let (section, _) = program.section_named(".text").unwrap();
        let fragments = Fragments::from_link_map(&program, &map, section);
        let fragments = fragments.as_slice();
        assert_eq!(fragments.len(), 7);
        emit_whole(&order.iter().map(|at| &fragments[*at]).collect::<Vec<_>>())
    }

    fn lines(emitted: &OrderText) -> Vec<&str> {
        emitted.text.lines().skip(1).collect()
    }

    #[test]
    fn what_is_left_of_a_file_takes_one_line() {
        let emitted = written(&[3, 1, 2, 0, 4, 5, 6]);
        assert_eq!(
            lines(&emitted),
            [
                "vmlinux.a:b.o(.text.unlikely.three)",
                "vmlinux.a:a.o(.text.[0-9a-gi-zA-Z_]*)",
                "vmlinux.a:a.o(.text.hot.one)",
                "vmlinux.a:b.o(.text)",
                "*(.text.four)",
                "*(.text.five)"
            ]
        );
        assert_eq!((emitted.lines, emitted.unnamed), (7, 0));
    }

    #[test]
    fn what_is_left_but_comes_otherwise_is_named_piece_by_piece() {
        // Not together, not in its order, and not all.
        for order in [&[0, 3, 2, 1][..], &[0, 1, 3, 2], &[2, 1, 0]] {
            let emitted = written(order);
            assert!(!emitted.text.contains(REST), "{}", emitted.text);
            assert_eq!(emitted.lines, order.len() as u64);
        }
    }

    #[test]
    fn such_a_line_names_nothing_when_it_is_read_again() {
        let text = written(&[0, 3, 1, 2, 4, 5, 6]).text;
        let order = OrderFile::parse(&text).unwrap();
        let sections: Vec<&str> = order
            .entries
            .iter()
            .map(|entry| match &entry.target {
                Target::Section { section, .. } => section.as_str(),
                Target::Symbol(name) => name,
            })
            .collect();
        assert_eq!(
            sections,
            [".text.hot.one", ".text.unlikely.three", ".text", ".text.four", ".text.five"]
        );
    }
}
