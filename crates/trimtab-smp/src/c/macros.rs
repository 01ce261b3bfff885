//! The macros that a file defines itself, for two builds side by side: without SMP and with it.

use rustc_hash::FxHashMap;

use super::token::{Scanner, Token};

/// A build that is looked at: without SMP, or with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// For one processor.
    Up,
    /// For several.
    Smp,
}

impl Build {
    /// Both.
    pub const ALL: [Build; 2] = [Build::Up, Build::Smp];

    /// Its place in arrays of two.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// What only a build with SMP defines: the names of Linux 2.0 and 2.2, and of all since.
pub const SMP_NAMES: [&str; 2] = ["__SMP__", "CONFIG_SMP"];

/// What each build of a kernel defines.
const KERNEL: &str = "__KERNEL__";

/// Macros that are kept of a file. Register headers of GPUs have 200,000.
const MOST: usize = 500_000;

/// A macro.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Macro<'a> {
    /// Its parameters, as they are in the file without the parentheses; none where it takes none.
    pub parameters: Option<&'a [u8]>,
    /// What it stands for, as it is in the file.
    pub body: &'a [u8],
}

/// The macros that a file has defined so far.
#[derive(Debug, Default)]
pub struct Macros<'a> {
    defined: FxHashMap<&'a [u8], [Option<Macro<'a>>; 2]>,
    differ: bool,
    is_full: bool,
}

impl<'a> Macros<'a> {
    /// A macro of the file, in one of the builds.
    pub fn get(&self, name: &[u8], build: Build) -> Option<&Macro<'a>> {
        self.defined.get(name)?[build.index()].as_ref()
    }

    /// Whether a name is defined in a build, by the file or by the build.
    pub fn is_defined(&self, name: &[u8], build: Build) -> bool {
        match self.defined.get(name) {
            Some(builds) => builds[build.index()].is_some(),
            None => {
                name == KERNEL.as_bytes()
                    || build == Build::Smp && SMP_NAMES.iter().any(|smp| name == smp.as_bytes())
            }
        }
    }

    /// Whether any stands for something else in the one build than in the other.
    pub fn differ(&self) -> bool {
        self.differ
    }

    /// Whether there were more than are kept.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Defines a macro in the builds that `active` says.
    pub fn define(&mut self, name: &'a [u8], definition: Macro<'a>, active: [bool; 2]) {
        if self.defined.len() >= MOST && !self.defined.contains_key(name) {
            self.is_full = true;
            return;
        }
        let entry = self.defined.entry(name).or_default();
        for build in Build::ALL.into_iter().filter(|build| active[build.index()]) {
            entry[build.index()] = Some(definition);
        }
        self.differ |= entry[0] != entry[1];
    }

    /// Forgets a macro in the builds that `active` says.
    pub fn undefine(&mut self, name: &'a [u8], active: [bool; 2]) {
        let Some(entry) = self.defined.get_mut(name) else {
            // So that the build's own is gone, too.
            if active.contains(&true) && self.is_defined(name, Build::Smp) {
                let none = [None, None];
                self.defined.insert(name, none);
            }
            return;
        };
        for index in (0..2).filter(|index| active[*index]) {
            entry[index] = None;
        }
        self.differ |= entry[0].is_some() != entry[1].is_some();
    }
}

impl<'a> Macro<'a> {
    /// Of the tokens behind the name in a line; all of them are read. `each` is shown those of the body.
    pub fn read(
        bytes: &'a [u8],
        name: &Token<'a>,
        line: &mut Scanner<'a>,
        mut each: impl FnMut(&Token<'a>),
    ) -> Self {
        let (mut opened, mut parameters) = (None, None);
        let mut body: Option<(usize, usize)> = None;
        let mut is_first = true;
        while let Some(token) = line.next_in_line() {
            if std::mem::take(&mut is_first) && token.is(b'(') && token.start == name.end() {
                opened = Some(token.end());
            } else if let Some(start) = opened {
                if token.is(b')') {
                    parameters = Some(&bytes[start..token.start]);
                    opened = None;
                }
            } else {
                let start = body.map_or(token.start, |(start, _)| start);
                body = Some((start, token.end()));
                each(&token);
            }
        }
        let body = body.map_or(&bytes[..0], |(start, end)| &bytes[start..end]);
        Self { parameters, body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [bool; 2] = [true, true];

    fn define<'a>(macros: &mut Macros<'a>, text: &'a str, active: [bool; 2]) {
        let mut scanner = Scanner::new(text.as_bytes());
        let name = scanner.next().unwrap();
        let definition = Macro::read(text.as_bytes(), &name, &mut scanner, |_| ());
        macros.define(name.text, definition, active);
    }

    #[test]
    fn definitions_have_parameters_and_a_body() {
        let mut macros = Macros::default();
        for (text, parameters, body) in [
            ("a", None, ""),
            ("a (b)", None, "(b)"),
            ("a(b, c) b \\\n + /* x */ c", Some("b, c"), "b \\\n + /* x */ c"),
            ("a()", Some(""), ""),
            ("a(b", None, ""),
        ] {
            define(&mut macros, text, BOTH);
            let found = macros.get(b"a", Build::Up).unwrap();
            assert_eq!(found.parameters, parameters.map(str::as_bytes), "{text}");
            assert_eq!(found.body, body.as_bytes(), "{text}");
        }
    }

    #[test]
    fn only_a_build_with_smp_has_its_names() {
        let mut macros = Macros::default();
        assert!(macros.is_defined(b"__SMP__", Build::Smp));
        assert!(!macros.is_defined(b"CONFIG_SMP", Build::Up));
        assert!(macros.is_defined(b"__KERNEL__", Build::Up));
        macros.undefine(b"CONFIG_SMP", BOTH);
        assert!(!macros.is_defined(b"CONFIG_SMP", Build::Smp));
    }

    #[test]
    fn macros_differ_by_what_they_stand_for() {
        let mut macros = Macros::default();
        define(&mut macros, "same 1", BOTH);
        macros.undefine(b"same", BOTH);
        assert!(!macros.differ());
        define(&mut macros, "one 1", [false, true]);
        assert!(macros.differ());
        let mut macros = Macros::default();
        define(&mut macros, "one 1", BOTH);
        macros.undefine(b"one", [true, false]);
        assert!(macros.differ());
    }
}
