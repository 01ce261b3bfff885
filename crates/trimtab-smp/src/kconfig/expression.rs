//! Conditions of Kconfig files: whether they can hold with SMP, and without.

/// What can become of a condition, whatever other options are: with SMP and without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chance {
    with: Outcomes,
    without: Outcomes,
}

/// Whether something can be true, and can be false.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Outcomes {
    yes: bool,
    no: bool,
}

impl Outcomes {
    const ANY: Self = Self { yes: true, no: true };
    const YES: Self = Self { yes: true, no: false };
    const NO: Self = Self { yes: false, no: true };

    fn and(self, other: Self) -> Self {
        Self { yes: self.yes && other.yes, no: self.no || other.no }
    }

    fn not(self) -> Self {
        Self { yes: self.no, no: self.yes }
    }
}

impl Chance {
    /// Something that has nothing to do with SMP.
    pub(super) const ANY: Self = Self { with: Outcomes::ANY, without: Outcomes::ANY };
    const YES: Self = Self { with: Outcomes::YES, without: Outcomes::YES };
    const NO: Self = Self { with: Outcomes::NO, without: Outcomes::NO };
    const SMP: Self = Self { with: Outcomes::YES, without: Outcomes::NO };

    /// Both of two conditions.
    pub(super) fn and(self, other: Self) -> Self {
        Self { with: self.with.and(other.with), without: self.without.and(other.without) }
    }

    fn not(self) -> Self {
        Self { with: self.with.not(), without: self.without.not() }
    }

    fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    /// Whether it can hold with SMP.
    pub(super) fn can_be_with(self) -> bool {
        self.with.yes
    }

    /// Whether it can hold with SMP only.
    pub(super) fn needs_smp(self) -> bool {
        self.with.yes && !self.without.yes
    }

    /// Whether it can hold without SMP only.
    pub(super) fn excludes_smp(self) -> bool {
        !self.with.yes && self.without.yes
    }
}

/// How deep brackets are followed.
const DEEPEST: usize = 32;

/// What can become of a condition. What is no condition has nothing to do with SMP.
pub(super) fn chance(text: &str) -> Chance {
    let text = text.split('#').next().unwrap_or_default();
    let mut words = Words { rest: text };
    match words.either(0) {
        Some(chance) if words.next().is_none() => chance,
        _ => Chance::ANY,
    }
}

struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    fn peek(&self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let symbols = ["&&", "||", "!=", "<=", ">=", "!", "=", "<", ">", "(", ")"];
        if let Some(symbol) = symbols.iter().find(|symbol| rest.starts_with(**symbol)) {
            return Some(&rest[..symbol.len()]);
        }
        if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            return Some(rest[1..].find(quote).map_or(rest, |end| &rest[..end + 2]));
        }
        let is_end = |c: char| c.is_whitespace() || "&|!=<>()\"'".contains(c);
        match rest.find(is_end) {
            _ if rest.is_empty() => None,
            // A single & or |.
            Some(0) => Some(&rest[..1]),
            end => Some(&rest[..end.unwrap_or(rest.len())]),
        }
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.peek()?;
        self.rest = &self.rest.trim_start()[word.len()..];
        Some(word)
    }

    fn takes(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        if found {
            self.next();
        }
        found
    }

    fn either(&mut self, depth: usize) -> Option<Chance> {
        let mut all = self.both(depth)?;
        while self.takes("||") {
            all = all.or(self.both(depth)?);
        }
        Some(all)
    }

    fn both(&mut self, depth: usize) -> Option<Chance> {
        let mut all = self.one(depth)?;
        while self.takes("&&") {
            all = all.and(self.one(depth)?);
        }
        Some(all)
    }

    fn one(&mut self, depth: usize) -> Option<Chance> {
        if depth > DEEPEST {
            return None;
        }
        if self.takes("!") {
            return Some(self.one(depth + 1)?.not());
        }
        if self.takes("(") {
            let inner = self.either(depth + 1)?;
            return self.takes(")").then_some(inner);
        }
        let left = value(self.next()?);
        if !matches!(self.peek(), Some("=" | "!=" | "<" | ">" | "<=" | ">=")) {
            return Some(left);
        }
        let (sign, right) = (self.next()?, value(self.next()?));
        // Of what is not y or n, nothing follows for SMP.
        Some(match (sign, right) {
            ("=", Chance::YES) | ("!=", Chance::NO) => left,
            ("=", Chance::NO) | ("!=", Chance::YES) => left.not(),
            _ => Chance::ANY,
        })
    }
}

/// What an option, or `y` and `n`, can be.
fn value(word: &str) -> Chance {
    match word {
        "SMP" => Chance::SMP,
        // What all that breaks with SMP depends on.
        "BROKEN_ON_SMP" => Chance::SMP.not(),
        "y" | "m" | "\"y\"" => Chance::YES,
        "n" | "\"n\"" => Chance::NO,
        _ => Chance::ANY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_what_can_become_of_them() {
        for (text, expected) in [
            ("SMP", "needs"),
            ("!SMP", "excludes"),
            ("!(!SMP)", "needs"),
            ("SMP && !SMP", "never"),
            ("X && SMP || Y && SMP", "needs"),
            ("(X || SMP) && (Y || SMP)", "any"),
            ("SMP != n", "needs"),
            ("SMP = n && X < 3", "excludes"),
            ("X = \"SMP\"", "any"),
            ("SMP_X || XSMP", "any"),
            ("$(cc-option,-a SMP)", "any"),
            ("SMP &", "any"),
            ("(SMP", "any"),
            ("\"SMP", "any"),
            ("", "any"),
        ] {
            let found = chance(text);
            let found = match () {
                () if found.needs_smp() => "needs",
                () if found.excludes_smp() => "excludes",
                () if !found.can_be_with() => "never",
                () => "any",
            };
            assert_eq!(found, expected, "{text}");
        }
        let deep = format!("{}SMP", "(".repeat(100_000));
        assert_eq!(chance(&deep), Chance::ANY);
        assert_eq!(chance(&format!("{}SMP", "!".repeat(100_000))), Chance::ANY);
    }
}
