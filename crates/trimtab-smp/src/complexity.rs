//! McCabe's cyclomatic complexity of functions: 1, and 1 for each `if`, `for`, `while`, `case`, `&&`, `||`
//! and `?` (T. J. McCabe, A Complexity Measure, IEEE Transactions on Software Engineering, 1976).
//!
//! Code counts as it is written: macros are not expanded, and of conditionals of the preprocessor one
//! branch is read, so that braces match.

use serde::{Deserialize, Serialize};

use crate::c::token::{Kind, Token};

/// Complexities that are told apart: the last stands for itself and all above.
pub const BINS: usize = 100;

/// Above this a function is regarded as not simple.
pub const SIMPLE: u32 = 10;

/// The complexity of many functions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Complexity {
    /// Functions.
    pub functions: u64,
    /// Functions of each complexity from 1 on; the hundredth place stands for 100 and more. Shorter where
    /// the rest is 0.
    pub histogram: Vec<u64>,
    /// Mean; 0 without functions.
    pub mean: f64,
    /// Functions above 10.
    pub above_10: u64,
    /// The highest; 0 without functions.
    pub most: u64,
}

/// Collects complexities.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    histogram: Vec<u64>,
    sum: u64,
    above: u64,
    most: u64,
}

impl Tally {
    /// Adds a function.
    pub fn add(&mut self, complexity: u32) {
        let place = (complexity.max(1) as usize).min(BINS);
        if self.histogram.len() < place {
            self.histogram.resize(place, 0);
        }
        self.histogram[place - 1] += 1;
        self.sum += u64::from(complexity);
        self.above += u64::from(complexity > SIMPLE);
        self.most = self.most.max(u64::from(complexity));
    }

    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        if self.histogram.len() < other.histogram.len() {
            self.histogram.resize(other.histogram.len(), 0);
        }
        for (all, more) in self.histogram.iter_mut().zip(&other.histogram) {
            *all += more;
        }
        self.sum += other.sum;
        self.above += other.above;
        self.most = self.most.max(other.most);
    }

    /// What they are together.
    pub fn done(self) -> Complexity {
        let functions: u64 = self.histogram.iter().sum();
        let mean = if functions == 0 { 0.0 } else { self.sum as f64 / functions as f64 };
        let Self { histogram, above, most, .. } = self;
        Complexity { functions, histogram, mean, above_10: above, most }
    }
}

/// Finds functions in the tokens of a file, and their complexities.
#[derive(Debug, Default)]
pub struct Functions {
    /// Whether a brace at the beginning of a line ends a function whatever came before.
    mends: bool,
    complexities: Vec<u32>,
    braces: usize,
    parentheses: usize,
    /// Of the function that is being read.
    current: Option<u32>,
    declared: Declared,
    before: Before,
    unmatched: bool,
}

/// What has been read of a declaration outside of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Declared {
    /// Nothing that makes it a function.
    #[default]
    Nothing,
    /// Parentheses with parameters behind a name.
    Parameters,
    /// A value: what follows is no function.
    Value,
}

/// The token before, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Before {
    #[default]
    Anything,
    /// A name that parameters may follow.
    Name,
    /// The first sign of an operator of two, and where it ends.
    Sign(u8, usize),
}

impl Functions {
    /// One that goes by how functions end in the kernel's style, for files whose braces do not match.
    pub fn mending() -> Self {
        Self { mends: true, ..Self::default() }
    }

    /// Takes the next token of the branches that are followed. `in_first_column`: whether it is the first
    /// byte of its line.
    pub fn token(&mut self, token: &Token<'_>, in_first_column: bool) {
        match token.kind {
            Kind::Word => self.word(token.text),
            Kind::Sign => self.sign(token, in_first_column),
            Kind::Number | Kind::Literal => self.before = Before::Anything,
        }
    }

    fn decide(&mut self) {
        if let Some(complexity) = &mut self.current {
            *complexity = complexity.saturating_add(1);
        }
    }

    fn word(&mut self, word: &[u8]) {
        let is_attribute = word.starts_with(b"__attribute");
        self.before = if is_attribute { Before::Anything } else { Before::Name };
        if matches!(word, b"if" | b"for" | b"while" | b"case") {
            self.decide();
        }
    }

    fn sign(&mut self, token: &Token<'_>, in_first_column: bool) {
        let sign = token.text[0];
        let before = std::mem::replace(&mut self.before, Before::Anything);
        match sign {
            b'?' => self.decide(),
            b'&' | b'|' => {
                if before == Before::Sign(sign, token.start) {
                    self.decide();
                } else {
                    self.before = Before::Sign(sign, token.end());
                }
            }
            b'{' => self.open(),
            b'}' => self.close(in_first_column),
            _ if self.braces > 0 => {}
            b'(' => {
                let is_first = self.parentheses == 0 && before == Before::Name;
                if is_first && self.declared != Declared::Value {
                    self.declared = Declared::Parameters;
                }
                self.parentheses += 1;
            }
            b')' => self.parentheses = self.parentheses.saturating_sub(1),
            b'=' if self.parentheses == 0 => self.declared = Declared::Value,
            b';' => (self.declared, self.parentheses) = (Declared::Nothing, 0),
            _ => {}
        }
    }

    fn open(&mut self) {
        if self.braces == 0 && self.parentheses == 0 && self.declared == Declared::Parameters {
            self.current = Some(1);
        }
        self.braces += 1;
    }

    fn close(&mut self, in_first_column: bool) {
        match self.braces {
            0 => self.unmatched = true,
            _ if self.mends && in_first_column && self.current.is_some() => self.braces = 0,
            _ => self.braces -= 1,
        }
        if self.braces == 0 {
            self.complexities.extend(self.current.take());
            (self.declared, self.parentheses) = (Declared::Nothing, 0);
        }
    }

    /// The complexities of all functions, and whether all braces matched.
    pub fn done(self) -> (Vec<u32>, bool) {
        (self.complexities, self.braces == 0 && !self.unmatched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c::token::Scanner;

    fn found(text: &str, mut functions: Functions) -> (Vec<u32>, bool) {
        for token in Scanner::new(text.as_bytes()) {
            let column = token.start == 0 || text.as_bytes()[token.start - 1] == b'\n';
            functions.token(&token, column);
        }
        functions.done()
    }

    #[test]
    fn decisions_are_counted() {
        for (text, expected) in [
            ("int f(void) { return 0; }", vec![1]),
            ("int f(int a) { if (a && b || c) x(); else y(); return a ? 1 : 2; }", vec![5]),
            ("void f() { for (;;) while (x) do y(); while (z); }", vec![4]),
            ("int f() { switch (x) { case 1: case 2: break; default: } }", vec![3]),
            ("int f() { return a & b | c & & d; }", vec![1]),
            ("int f(void); struct s { int (*g)(void); }; int a[] = { F(1) };", vec![]),
            ("static int __init f(int x) __acquires(l) { } DEFINE(a, b) { if (x) ; }", vec![1, 2]),
            ("struct s { int a; } __attribute__((packed)); int f(void) { }", vec![1]),
            ("struct __attribute__((packed)) s { int a; };", vec![]),
            ("int (*table[])(int) = { a, b }; int *f(struct s *s) { { } }", vec![1]),
        ] {
            assert_eq!(found(text, Functions::default()), (expected, true), "{text}");
        }
    }

    #[test]
    fn braces_that_do_not_match_are_told_and_functions_found_by_style() {
        let text = "int f(void)\n{\n\tSOUP {\n}\nint g(void)\n{\n\tif (x) { }\n}\n";
        assert_eq!(found(text, Functions::default()), (vec![], false));
        assert_eq!(found(text, Functions::mending()), (vec![1, 2], true));
        assert_eq!(found("}", Functions::default()), (vec![], false));
    }

    #[test]
    fn the_last_bin_is_open() {
        let mut tally = Tally::default();
        for complexity in [1, 1, 4, 11, 5000] {
            tally.add(complexity);
        }
        let found = tally.done();
        assert_eq!((found.functions, found.above_10, found.most), (5, 2, 5000));
        assert_eq!(
            (found.histogram.len(), found.histogram[0], found.histogram[BINS - 1]),
            (BINS, 2, 1)
        );
        assert_eq!(found.mean, 5017.0 / 5.0);
        assert_eq!(Tally::default().done(), Complexity::default());
    }
}
