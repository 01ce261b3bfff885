use thiserror::Error;

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
    /// Reads an order for any of the linkers: symbols, section names, or `FILE(SECTION)`.
    ///
    /// # Errors
    /// [`OrderFileError`].
    pub fn parse(text: &str) -> Result<Self, OrderFileError> {
        let mut entries = Vec::new();
        for (index, raw) in text.lines().enumerate() {
            let line = raw.trim();
            let comment = line.starts_with('#') || (line.starts_with("/*") && line.ends_with("*/"));
            if line.is_empty() || comment || line == "}" || line.ends_with(": {") {
                continue;
            }
            let bad =
                || OrderFileError::Line { line: index + 1, found: line.chars().take(80).collect() };
            let target = match line.split_once('(') {
                Some((file, rest)) => {
                    let section = rest.strip_suffix(')').ok_or_else(bad)?.trim();
                    let file = (file.trim() != "*").then(|| file.trim().to_owned());
                    Target::Section { section: section.to_owned(), file }
                }
                None if line.starts_with('.') => {
                    Target::Section { section: line.to_owned(), file: None }
                }
                None => Target::Symbol(line.to_owned()),
            };
            let name = match &target {
                Target::Symbol(name) | Target::Section { section: name, .. } => name,
            };
            if name.is_empty() || name.contains(char::is_whitespace) {
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
