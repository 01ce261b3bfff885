//! An order of fragments as the text that a linker reads.

use std::collections::{HashMap, HashSet};
use trimtab_program::{Fragment, FragmentId, Fragments, Program};

use crate::Linker;
use crate::linker::{Line, OrderedBy, symbol_line};

/// An order as a linker reads it, and what could not be said in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrderText {
    /// The file's text.
    pub text: String,
    /// Fragments that the order names, each with a line of its own.
    pub lines: u64,
    /// Names of the fragments whose line was there before, in their order: the linker places them
    /// beside the first of their name.
    pub duplicate: Vec<String>,
    /// Fragments without a name that this linker knows: code without a symbol, in a section that
    /// shares its name with all others.
    pub unnamed: u64,
    /// Names that this linker's format has no way to write, left out.
    pub unwritable: Vec<String>,
}

impl OrderText {
    /// Fragments that were to be in the order and are not, as the linker has no name for them or cannot
    /// read it.
    pub fn left_out(&self) -> u64 {
        self.unnamed + self.unwritable.len() as u64
    }
}

/// Writes the order of `fragments` for `linker`. What linkers know by the same line is written
/// once; names that the linker cannot read are left out.
pub fn write<'a, 'data: 'a>(
    linker: Linker,
    fragments: impl IntoIterator<Item = &'a Fragment<'data>>,
) -> OrderText {
    let mut emitted = OrderText::default();
    let (before, after) = linker.frame("Written by trimtab order. First line is placed first.");
    emitted.text.push_str(&before);
    let mut seen = HashSet::new();
    for fragment in fragments {
        emitted.add(linker, fragment, &mut seen);
    }
    emitted.text.push_str(after);
    emitted
}

impl OrderText {
    /// Adds the line for a fragment, if it has one that is not there yet.
    pub(crate) fn add(
        &mut self,
        linker: Linker,
        fragment: &Fragment<'_>,
        seen: &mut HashSet<String>,
    ) {
        match linker.line(fragment) {
            Line::None => self.unnamed += 1,
            Line::Unwritable => self.unwritable.push(fragment.name.to_owned()),
            Line::Text(line) if seen.contains(&line) => {
                self.duplicate.push(fragment.name.to_owned());
            }
            Line::Text(line) => {
                self.text.push_str(&line);
                self.text.push('\n');
                self.lines += 1;
                seen.insert(line);
            }
        }
    }
}

/// What a linker places when it follows an order: for each line all that the line means.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkedOrder {
    /// The fragments in the order in which the linker places them.
    pub order: Vec<FragmentId>,
    /// Those of them that the order did not list: they have the name of one that it lists.
    pub namesakes: Vec<FragmentId>,
}

/// Finds out what a linker places when its order lists the fragments `listed`, in their order. lld
/// knows functions by their names alone, gold sections; so static functions of several files that have the
/// same name come together, even those that never ran. Such come in their present order.
pub fn follow(
    linker: Linker,
    program: &Program<'_>,
    fragments: &Fragments<'_>,
    listed: &[FragmentId],
) -> LinkedOrder {
    let mut by_line: HashMap<String, Vec<FragmentId>> = HashMap::new();
    let mut add = |line: String, id: FragmentId| {
        let ids = by_line.entry(line).or_default();
        if !ids.contains(&id) {
            ids.push(id);
        }
    };
    for id in fragments.ids() {
        if let Line::Text(line) = linker.line(fragments.get(id)) {
            add(line, id);
        }
    }
    if linker.ordered_by() == OrderedBy::Symbols {
        let further = program.names().filter_map(|(function, name)| {
            Some((symbol_line(name)?, fragments.at(program.function(function).range.start)?))
        });
        further.for_each(|(line, id)| add(line, id));
    }
    let wanted: HashSet<FragmentId> = listed.iter().copied().collect();
    let mut placed = HashSet::new();
    let mut followed = LinkedOrder::default();
    for id in listed {
        let Line::Text(line) = linker.line(fragments.get(*id)) else { continue };
        let mut all = by_line.get(&line).cloned().unwrap_or_default();
        all.sort_unstable();
        for id in all.into_iter().filter(|id| placed.insert(*id)) {
            followed.order.push(id);
            if !wanted.contains(&id) {
                followed.namesakes.push(id);
            }
        }
    }
    followed
}

/// Whether a name means itself in an order, and nothing else.
pub fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_graphic() && !"*?[](){}\"\\;,".contains(c);
    !name.is_empty() && name.chars().all(plain)
}

/// Whether the file is worth naming: a kernel built with indirect branch tracking is one object,
/// `vmlinux.o`, in which sections of the same name have already become one.
pub fn is_single_object(file: &str) -> bool {
    !file.ends_with("vmlinux.o")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OrderFile, Target};
    use trimtab_fixture::Elf;
    use trimtab_program::LinkMap;

    const MAP: &str = "\
             VMA              LMA     Size Align Out     In      Symbol
            1000             1000      100    16 .text
            1000             1000       10    16         a.o:(.text.main)
            1010             1010       10    16         a.o:(.text.helper)
            1020             1020       10    16         lib.a(b.o):(.text.helper)
            1030             1030       10    16         crt.o:(.text)
            1040             1040       10    16         c.o:(.text.unlikely.fail)
            1050             1050       10    16         a b.o:(.text.last)
            1060             1060       10    16         d.o:(.text)
";

    fn elf() -> Vec<u8> {
        Elf::new()
            .text(".text", 0x1000, 0x100)
            .function("main", 0x1000, 16)
            .local("helper", 0x1010, 16)
            .local("helper", 0x1020, 16)
            .function("_start", 0x1030, 16)
            .function("fail", 0x1040, 16)
            .function("last", 0x1050, 16)
            .build()
    }

    /// What is written for the program, with its map or without.
    fn written(linker: Linker, with_map: bool) -> OrderText {
        let bytes = elf();
        let program = Program::parse(&bytes).unwrap();
        let map = LinkMap::parse(MAP).unwrap();
        let (section, _) = program.section_named(".text").unwrap();
        let fragments = match with_map {
            true => Fragments::from_link_map(&program, &map, section),
            false => Fragments::from_symbols(&program, section),
        };
        write(linker, fragments.as_slice())
    }

    #[test]
    fn each_linker_gets_its_own_form() {
        for (linker, expected) in [
            (
                Linker::Lld,
                "# Written by trimtab order. First line is placed first.\n\
                 main\nhelper\n_start\nfail\nlast\n",
            ),
            (
                Linker::Gold,
                "# Written by trimtab order. First line is placed first.\n\
                 .text.main\n.text.helper\n.text.unlikely.fail\n.text.last\n",
            ),
            (
                Linker::Gnu,
                "/* Written by trimtab order. First line is placed first. */\n\
                 .text : {\n\
                 a.o(.text.main)\na.o(.text.helper)\nlib.a:b.o(.text.helper)\ncrt.o(.text)\n\
                 c.o(.text.unlikely.fail)\n*(.text.last)\nd.o(.text)\n}\n",
            ),
            (
                Linker::Kernel,
                "/* Written by trimtab order. First line is placed first. */\n\
                 a.o(.text.main)\na.o(.text.helper)\nlib.a:b.o(.text.helper)\ncrt.o(.text)\n\
                 c.o(.text.unlikely.fail)\n*(.text.last)\nd.o(.text)\n",
            ),
        ] {
            assert_eq!(written(linker, true).text, expected, "{}", linker.name());
        }
    }

    #[test]
    fn without_a_map_sections_have_the_names_of_their_functions() {
        assert_eq!(
            written(Linker::Gold, false).text,
            "# Written by trimtab order. First line is placed first.\n\
             .text.main\n.text.helper\n.text._start\n.text.fail\n.text.last\n"
        );
        assert!(written(Linker::Kernel, false).text.contains("\n*(.text.helper)\n"));
    }

    #[test]
    fn the_same_line_is_written_once_and_counted() {
        for (linker, lines, duplicate, unnamed) in [
            (Linker::Lld, 5, 1, 1),
            (Linker::Gold, 4, 1, 2),
            (Linker::Gnu, 7, 0, 0),
            (Linker::Kernel, 7, 0, 0),
        ] {
            let emitted = written(linker, true);
            let counts = (emitted.lines, emitted.duplicate.len(), emitted.unnamed);
            assert_eq!(counts, (lines, duplicate, unnamed), "{}", linker.name());
            assert!(emitted.duplicate.iter().all(|name| name == "helper"));
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for linker in Linker::ALL {
            for with_map in [true, false] {
                let emitted = written(linker, with_map);
                let order = OrderFile::parse(&emitted.text).unwrap();
                assert_eq!(order.entries.len() as u64, emitted.lines);
                let lines: Vec<&str> = emitted.text.lines().collect();
                for entry in &order.entries {
                    let said = match &entry.target {
                        Target::Symbol(name) => name.clone(),
                        Target::Section { section, .. } if linker == Linker::Gold => {
                            section.clone()
                        }
                        Target::Section { section, file } => {
                            format!("{}({section})", file.as_deref().unwrap_or("*"))
                        }
                    };
                    assert_eq!(lines[entry.line - 1], said);
                }
            }
        }
    }

    #[test]
    fn unusual_names_are_written_as_each_linker_takes_them_or_left_out() {
        // Which linker takes what was tried with lld 22, gold and GNU ld 2.40; see tests of the command.
        const NAMES: [&str; 11] = [
            "größe",
            "a,b",
            "f(int)",
            "two words",
            "a#b",
            "#a",
            "a*b",
            "a[b",
            "a\"b",
            "api@@V2",
            "a\nb",
        ];
        let mut elf = Elf::new().text(".text", 0x1000, 0x1000);
        for (index, name) in NAMES.iter().enumerate() {
            elf = elf.function(name, 0x1000 + index as u64 * 16, 16);
        }
        let bytes = elf.build();
        let program = Program::parse(&bytes).unwrap();
        let fragments =
            Fragments::from_symbols(&program, program.section_named(".text").unwrap().0);
        for (linker, lines, left_out) in [
            (
                Linker::Lld,
                &["größe", "a,b", "f(int)", "two words", "a#b", "a*b", "a[b", "a\"b", "api"][..],
                &["#a", "a\nb"][..],
            ),
            (
                Linker::Gold,
                &[
                    ".text.größe",
                    ".text.a,b",
                    ".text.f(int)",
                    ".text.two words",
                    ".text.a#b",
                    ".text.#a",
                    ".text.a\"b",
                    ".text.api@@V2",
                ],
                &["a*b", "a[b", "a\nb"],
            ),
            (
                Linker::Kernel,
                &[
                    "*(\".text.größe\")",
                    "*(\".text.a,b\")",
                    "*(\".text.f(int)\")",
                    "*(\".text.two words\")",
                    "*(\".text.a#b\")",
                    "*(\".text.#a\")",
                    "*(\".text.api@@V2\")",
                ],
                &["a*b", "a[b", "a\"b", "a\nb"],
            ),
        ] {
            let emitted = write(linker, fragments.as_slice());
            let written: Vec<&str> = emitted.text.lines().skip(1).collect();
            assert_eq!(written, lines, "{}", linker.name());
            assert_eq!(emitted.unwritable, left_out, "{}", linker.name());
            assert_eq!(emitted.lines as usize, lines.len());
            // What is written reads back as what it names.
            let order = OrderFile::parse(&emitted.text).unwrap();
            let names: Vec<&str> = order.entries.iter().map(|entry| entry.function()).collect();
            let meant: Vec<&str> = NAMES
                .into_iter()
                .filter(|name| !left_out.contains(name))
                .map(|name| {
                    if linker.ordered_by() == OrderedBy::Symbols {
                        name.split('@').next().unwrap()
                    } else {
                        name
                    }
                })
                .collect();
            assert_eq!(names, meant, "{}", linker.name());
            assert!(order.entries.iter().all(|entry| !entry.lookup(&program).is_empty()));
        }
    }

    #[test]
    fn what_shares_a_name_is_placed_with_it() {
        let bytes = elf();
        let program = Program::parse(&bytes).unwrap();
        let map = LinkMap::parse(MAP).unwrap();
        let (section, _) = program.section_named(".text").unwrap();
        let fragments = Fragments::from_link_map(&program, &map, section);
        let ids: Vec<FragmentId> = fragments.ids().collect();
        let listed = [ids[2], ids[0]];
        for (linker, order, namesakes) in [
            (Linker::Lld, &[ids[1], ids[2], ids[0]][..], &[ids[1]][..]),
            (Linker::Gold, &[ids[1], ids[2], ids[0]], &[ids[1]]),
            (Linker::Gnu, &[ids[2], ids[0]], &[]),
            (Linker::Kernel, &[ids[2], ids[0]], &[]),
        ] {
            let followed = follow(linker, &program, &fragments, &listed);
            assert_eq!(followed.order, order, "{}", linker.name());
            assert_eq!(followed.namesakes, namesakes, "{}", linker.name());
        }
    }

    #[test]
    fn each_linker_says_how_its_file_is_used() {
        for linker in Linker::ALL {
            assert!(linker.how_to_use("my.order").contains("my.order"), "{}", linker.name());
        }
        assert!(Linker::Kernel.how_to_use("x").contains(crate::KERNEL_ORDER));
    }
}
