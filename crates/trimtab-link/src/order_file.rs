//! Reading an order that was written for a linker.

use crate::linker::HEAD;
use crate::whole::REST;
use thiserror::Error;
use trimtab_program::{FunctionId, Program};

/// What a line of an order names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// A symbol, as lld's order files have them.
    Symbol(String),
    /// An input section, with the file it must come from where the line says so.
    Section {
        /// Name of the section.
        section: String,
        /// Name of the file; `None` for any.
        file: Option<String>,
    },
}

/// One line of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Line number, from 1.
    pub line: usize,
    /// What it names.
    pub target: Target,
}

impl Entry {
    /// Its place in `program` by symbols alone, by ascending address.
    ///
    /// GCC keeps the cold part of `f`, called `f.cold`, in `.text.unlikely.f`; the same section name
    /// can hold a whole function that is unlikely to run.
    pub fn lookup(&self, program: &Program<'_>) -> Vec<FunctionId> {
        if let Target::Section { section, .. } = &self.target
            && let Some(name) = section.strip_prefix(".text.unlikely.")
        {
            let cold = program.lookup(&format!("{name}.cold"));
            if !cold.is_empty() {
                return cold;
            }
        }
        program.lookup(self.function())
    }

    /// Name of the function that it is about, by the compilers' naming of sections.
    pub fn function(&self) -> &str {
        match &self.target {
            Target::Symbol(name) => name,
            Target::Section { section, .. } => {
                let name = section.strip_prefix(".text.").unwrap_or(section);
                ["unlikely.", "hot.", "startup.", "exit."]
                    .iter()
                    .find_map(|prefix| name.strip_prefix(prefix))
                    .unwrap_or(name)
            }
        }
    }
}

/// An order as a linker reads it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrderFile {
    /// Its lines, without comments.
    pub entries: Vec<Entry>,
}

/// Why a text is not an order.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum OrderFileError {
    /// Nothing in it.
    #[error(
        "the order is empty: expected a line for each function; write one with `trimtab order`"
    )]
    Empty,
    /// A line in no known form.
    #[error(
        "line {line} of the order: found `{found}`, expected a symbol, a section name, or FILE(SECTION)"
    )]
    Line {
        /// Line number, from 1.
        line: usize,
        /// The line, cut to 80 characters.
        found: String,
    },
}

impl OrderFile {
    /// Reads an order for any of the linkers: symbols, section names, or `FILE(SECTION)`. What says
    /// only where the rest of a file comes, as [`emit_whole`](crate::emit_whole) does, names nothing.
    ///
    /// # Errors
    /// [`OrderFileError`].
    pub fn parse(text: &str) -> Result<Self, OrderFileError> {
        let mut entries = Vec::new();
        // Then each line is a name, whatever is in it.
        let ours = text.starts_with(HEAD);
        for (index, raw) in text.lines().enumerate() {
            let line = raw.trim();
            let block = line.starts_with("/*") && line.ends_with("*/");
            let comment = line.starts_with('#') || (block && !ours);
            if line.is_empty() || comment || line == "}" || (line.ends_with(": {") && !ours) {
                continue;
            }
            let bad =
                || OrderFileError::Line { line: index + 1, found: line.chars().take(80).collect() };
            let target = match section_of(line).filter(|_| !ours) {
                Some((_, section)) if section == REST => continue,
                Some((file, section)) => {
                    let file = (file != "*").then(|| file.to_owned());
                    Target::Section { section: section.to_owned(), file }
                }
                None if line.starts_with('.') => {
                    Target::Section { section: line.to_owned(), file: None }
                }
                None => Target::Symbol(line.to_owned()),
            };
            let (Target::Symbol(name) | Target::Section { section: name, .. }) = &target;
            let quoted = line.ends_with("\")");
            let blank = name.contains(char::is_whitespace) && !quoted;
            let cut = line.starts_with("*(") && matches!(target, Target::Symbol(_));
            if name.is_empty() || ((blank || cut) && !ours) {
                return Err(bad());
            }
            entries.push(Entry { line: index + 1, target });
        }
        if entries.is_empty() {
            return Err(OrderFileError::Empty);
        }
        Ok(OrderFile { entries })
    }
}

/// The file and the section of `FILE(SECTION)`, without the quotation marks that the section may have.
/// The names of sections of code begin with a dot.
fn section_of(line: &str) -> Option<(&str, &str)> {
    let (file, section) = line.strip_suffix(')')?.split_once('(')?;
    let section = section.trim();
    let plain = section.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
    let section = plain.unwrap_or(section);
    section.starts_with('.').then_some((file.trim(), section))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trimtab_fixture::Elf;

    fn functions(text: &str) -> Vec<String> {
        let order = OrderFile::parse(text).unwrap();
        order.entries.iter().map(|entry| entry.function().to_owned()).collect()
    }

    #[test]
    fn reads_every_form() {
        assert_eq!(functions("# mine\n\nmain\n helper \r\n"), ["main", "helper"]);
        assert_eq!(
            functions(".text.main\n.text.unlikely.fail\n.init\n"),
            ["main", "fail", ".init"]
        );
        assert_eq!(
            functions("/* mine */\n.text : {\n*(.text.main)\nlib.a:b.o(.text.hot.loop)\n}\n"),
            ["main", "loop"]
        );
        // In our own orders each line is a name.
        assert_eq!(functions(&format!("{HEAD}\nmain\n/*c*/\n")), ["main", "/*c*/"]);
        let order = OrderFile::parse("\nb.o(.text.main)\n").unwrap();
        let target =
            Target::Section { section: ".text.main".to_owned(), file: Some("b.o".to_owned()) };
        assert_eq!(order.entries, [Entry { line: 2, target }]);
    }

    #[test]
    fn refuses_what_is_no_order() {
        for text in ["", "\n\n", "# nothing\n", ".text : {\n}\n"] {
            assert_eq!(OrderFile::parse(text), Err(OrderFileError::Empty), "{text}");
        }
        assert_eq!(functions("*(\".text.two words\")\n"), ["two words"]);
        for text in ["main\ntwo words\n", "main\n*(.text.a .text.b)\n", "main\n*(.text.a\n"] {
            let error = OrderFile::parse(text).unwrap_err();
            assert!(matches!(error, OrderFileError::Line { line: 2, .. }), "{error}");
        }
    }

    #[test]
    fn the_cold_part_of_a_function_is_found_by_its_section() {
        let bytes = Elf::new()
            .text(".text", 0x1000, 0x100)
            .function("hot", 0x1000, 16)
            .local("hot.cold", 0x1040, 16)
            .function("rare", 0x1080, 16)
            .build();
        let program = Program::parse(&bytes).unwrap();
        let found = |text: &str| {
            let order = OrderFile::parse(text).unwrap();
            let ids = order.entries[0].lookup(&program);
            ids.into_iter().map(|id| program.function(id).name).collect::<Vec<_>>()
        };
        assert_eq!(found(".text.unlikely.hot"), ["hot.cold"]);
        assert_eq!(found(".text.unlikely.rare"), ["rare"]);
        assert_eq!(found(".text.hot"), ["hot"]);
        assert!(found("gone").is_empty());
    }

    proptest! {
        #[test]
        fn never_panics_on_any_text(text in "\\PC{0,200}") {
            let _ = OrderFile::parse(&text);
        }

        #[test]
        fn never_panics_on_lines_like_an_order(text in "([.a-z*]{0,6}[( ){}:/#\n]{0,2}){0,30}") {
            let _ = OrderFile::parse(&text);
        }
    }
}
