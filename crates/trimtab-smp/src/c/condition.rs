//! The expressions of `#if` and `#elif`, as a preprocessor evaluates them that sees one file alone: a name
//! that the file does not define is 0.

use super::macros::{Build, Macros};
use super::token::{Kind, Scanner, Token};

/// Tokens that are looked at for one expression, those of macros with them: none that people write comes
/// near, and macros that double each other grow without end.
const MOST: usize = 20_000;
/// How deep parentheses and macros may lie in one another.
const DEEPEST: u32 = 256;

/// That an expression cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

/// What takes an option and says whether it is set. A preprocessor that sees one file does not know them.
pub const OPTION_TESTS: [&str; 4] = ["IS_ENABLED", "IS_BUILTIN", "IS_REACHABLE", "config_enabled"];

/// Whether a word is one of [`OPTION_TESTS`].
pub fn is_option_test(word: &[u8]) -> bool {
    OPTION_TESTS.iter().any(|test| word == test.as_bytes())
}

/// Whether a condition holds in a build.
///
/// # Errors
/// That it is no expression.
pub fn holds(line: &[Token<'_>], macros: &Macros<'_>, build: Build) -> Result<bool, Unreadable> {
    let mut context = Context { macros, build, budget: MOST };
    context.value(line, DEEPEST).map(|value| value != 0)
}

/// What the value of an expression depends on.
struct Context<'m, 'a> {
    macros: &'m Macros<'a>,
    build: Build,
    budget: usize,
}

impl<'a> Context<'_, 'a> {
    /// What follows an expression is of no account: preprocessors only warn of it.
    fn value(&mut self, tokens: &[Token<'a>], depth: u32) -> Result<i64, Unreadable> {
        self.budget = self.budget.checked_sub(tokens.len()).ok_or(Unreadable)?;
        Expression { context: self, tokens, at: 0 }.ternary(depth)
    }
}

struct Expression<'c, 'm, 'a, 't> {
    context: &'c mut Context<'m, 'a>,
    tokens: &'t [Token<'a>],
    at: usize,
}

/// Operators of two operands, and how tightly each binds; longer ones before those that they begin with.
const OPERATORS: [(&[u8], u8); 18] = [
    (b"||", 1),
    (b"&&", 2),
    (b"==", 6),
    (b"!=", 6),
    (b"<=", 7),
    (b">=", 7),
    (b"<<", 8),
    (b">>", 8),
    (b"|", 3),
    (b"^", 4),
    (b"&", 5),
    (b"<", 7),
    (b">", 7),
    (b"+", 9),
    (b"-", 9),
    (b"*", 10),
    (b"/", 10),
    (b"%", 10),
];

impl<'a> Expression<'_, '_, 'a, '_> {
    fn next(&self) -> Option<&Token<'a>> {
        self.tokens.get(self.at)
    }

    fn is(&self, sign: u8) -> bool {
        self.next().is_some_and(|token| token.is(sign))
    }

    fn expect(&mut self, sign: u8) -> Result<(), Unreadable> {
        if !self.is(sign) {
            return Err(Unreadable);
        }
        self.at += 1;
        Ok(())
    }

    fn ternary(&mut self, depth: u32) -> Result<i64, Unreadable> {
        let depth = depth.checked_sub(1).ok_or(Unreadable)?;
        let condition = self.binary(1, depth)?;
        if !self.is(b'?') {
            return Ok(condition);
        }
        self.at += 1;
        let yes = self.ternary(depth)?;
        self.expect(b':')?;
        let no = self.ternary(depth)?;
        Ok(if condition != 0 { yes } else { no })
    }

    fn operator(&self) -> Option<(&'static [u8], u8)> {
        let first = self.next().filter(|token| token.kind == Kind::Sign)?;
        let second = self.tokens.get(self.at + 1).filter(|second| second.start == first.end());
        OPERATORS.iter().copied().find(|(bytes, _)| {
            bytes[0] == first.text[0]
                && (bytes.len() == 1 || second.is_some_and(|second| second.is(bytes[1])))
        })
    }

    /// Operands with all operators between them that bind at least so tightly.
    fn binary(&mut self, least: u8, depth: u32) -> Result<i64, Unreadable> {
        let depth = depth.checked_sub(1).ok_or(Unreadable)?;
        let mut left = self.unary(depth)?;
        while let Some((operator, tightness)) = self.operator().filter(|found| found.1 >= least) {
            self.at += operator.len();
            let right = self.binary(tightness + 1, depth)?;
            left = apply(operator, left, right);
        }
        Ok(left)
    }

    fn unary(&mut self, depth: u32) -> Result<i64, Unreadable> {
        let depth = depth.checked_sub(1).ok_or(Unreadable)?;
        let token = *self.next().ok_or(Unreadable)?;
        self.at += 1;
        match (token.kind, token.text[0]) {
            (Kind::Sign, b'!') => Ok(i64::from(self.unary(depth)? == 0)),
            (Kind::Sign, b'~') => Ok(!self.unary(depth)?),
            (Kind::Sign, b'-') => Ok(self.unary(depth)?.wrapping_neg()),
            (Kind::Sign, b'+') => self.unary(depth),
            (Kind::Sign, b'(') => {
                let value = self.ternary(depth)?;
                self.expect(b')')?;
                Ok(value)
            }
            (Kind::Number, _) => number(token.text).ok_or(Unreadable),
            (Kind::Literal, b'\'') => Ok(i64::from(token.text.get(1).copied().unwrap_or(0))),
            (Kind::Word, _) if token.is_word("defined") => {
                let name = self.operand()?;
                Ok(i64::from(self.context.macros.is_defined(name, self.context.build)))
            }
            (Kind::Word, _) => self.word(&token, depth),
            _ => Err(Unreadable),
        }
    }

    /// A name, in parentheses or not.
    fn operand(&mut self) -> Result<&'a [u8], Unreadable> {
        let is_enclosed = self.is(b'(');
        self.at += usize::from(is_enclosed);
        let name = self.next().filter(|token| token.kind == Kind::Word).ok_or(Unreadable)?.text;
        self.at += 1;
        if is_enclosed {
            self.expect(b')')?;
        }
        Ok(name)
    }

    fn word(&mut self, token: &Token<'a>, depth: u32) -> Result<i64, Unreadable> {
        let (macros, build) = (self.context.macros, self.context.build);
        if is_option_test(token.text) && self.is(b'(') {
            return Ok(i64::from(macros.is_defined(self.operand()?, build)));
        }
        match macros.get(token.text, build) {
            Some(found) if found.parameters.is_none() => {
                let body: Vec<Token<'a>> = Scanner::new(found.body).take(MOST).collect();
                // One that stands for nothing leaves nothing to evaluate.
                if body.is_empty() { Ok(0) } else { self.context.value(&body, depth) }
            }
            None if macros.is_defined(token.text, build) => Ok(1),
            // What arguments come to is not known here.
            _ => {
                self.skip_arguments();
                Ok(0)
            }
        }
    }

    fn skip_arguments(&mut self) {
        let mut depth = 0_usize;
        while let Some(token) = self.next() {
            if token.is(b'(') {
                depth += 1;
            } else if depth == 0 {
                return;
            } else if token.is(b')') {
                depth -= 1;
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }
}

fn apply(operator: &[u8], left: i64, right: i64) -> i64 {
    match operator {
        b"||" => i64::from(left != 0 || right != 0),
        b"&&" => i64::from(left != 0 && right != 0),
        b"==" => i64::from(left == right),
        b"!=" => i64::from(left != right),
        b"<=" => i64::from(left <= right),
        b">=" => i64::from(left >= right),
        b"<" => i64::from(left < right),
        b">" => i64::from(left > right),
        b"<<" => left.wrapping_shl(right as u32),
        b">>" => left.wrapping_shr(right as u32),
        b"|" => left | right,
        b"^" => left ^ right,
        b"&" => left & right,
        b"+" => left.wrapping_add(right),
        b"-" => left.wrapping_sub(right),
        b"*" => left.wrapping_mul(right),
        b"/" => left.checked_div(right).unwrap_or(0),
        // Only a remainder is left.
        _ => left.checked_rem(right).unwrap_or(0),
    }
}

/// A whole number with its suffix.
fn number(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let text = text.trim_end_matches(['u', 'U', 'l', 'L']).to_ascii_lowercase();
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x', ..] => (&text[2..], 16),
        [b'0', b'b', ..] => (&text[2..], 2),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text.as_str(), 10),
    };
    // As a processor would have it: what does not fit is cut off.
    u64::from_str_radix(digits, radix).ok().map(|value| value as i64)
}

#[cfg(test)]
mod tests {
    use super::super::macros::Macro;
    use super::*;

    fn value(text: &str, macros: &Macros<'_>, build: Build) -> Result<bool, Unreadable> {
        let line: Vec<Token<'_>> = Scanner::new(text.as_bytes()).collect();
        holds(&line, macros, build)
    }

    fn defined(texts: &[&'static str]) -> Macros<'static> {
        let mut macros = Macros::default();
        for text in texts {
            let mut scanner = Scanner::new(text.as_bytes());
            let name = scanner.next().unwrap();
            let found = Macro::read(text.as_bytes(), &name, &mut scanner, |_| ());
            macros.define(name.text, found, [true, true]);
        }
        macros
    }

    #[test]
    fn operators_bind_as_in_c() {
        let none = Macros::default();
        for text in [
            "1 + 2 * 3 == 7",
            "1 << 2 + 1 == 8",
            "0 || 1 && 1",
            "(1 || 1) && !0",
            "6 / 4 * 2 == 2",
            "7 - 2 - 1 == 4",
            "1 ? 2 ? 3 : 0 : 0",
            "0 ? 0 : 1",
            "-1 < 0 && ~0 == -1 && +1",
            "0x10 == 16 && 010 == 8 && 0b11 == 3 && 10UL == 10",
            "(5 & 4) == 4 && (5 ^ 4) == 1 && (1 | 4) == 5",
            "1 != 2 && 2 >= 2 && 2 <= 2 && 3 > 2 && 8 >> 2 == 2 && 7 % 4 == 3",
            "'a' == 97",
            "1 / 0 == 0",
        ] {
            assert_eq!(value(text, &none, Build::Up), Ok(true), "{text}");
        }
    }

    #[test]
    fn names_are_what_the_build_and_the_file_say() {
        let macros =
            defined(&["TWO 2", "ALSO TWO", "NOTHING", "f(x) x", "SELF SELF", "VERSION(a,b) a"]);
        for (text, up, smp) in [
            ("defined(CONFIG_SMP) || defined __SMP__", false, true),
            ("CONFIG_SMP", false, true),
            ("IS_ENABLED(CONFIG_SMP) && !IS_ENABLED(CONFIG_PREEMPT)", false, true),
            ("ALSO == 2 && TWO == 2", true, true),
            ("UNKNOWN", false, false),
            ("UNKNOWN(1, (2)) + 1", true, true),
            ("NOTHING == 0", true, true),
            ("VERSION(2, 6) < 1", true, true),
            ("defined(f) && defined(__KERNEL__)", true, true),
        ] {
            assert_eq!(value(text, &macros, Build::Up), Ok(up), "{text}");
            assert_eq!(value(text, &macros, Build::Smp), Ok(smp), "{text}");
        }
        assert_eq!(value("SELF", &macros, Build::Up), Err(Unreadable));
    }

    #[test]
    fn what_is_no_expression_is_told() {
        let doubling: Vec<String> =
            (0..40).map(|number| format!("m{number} m{0} + m{0}", number + 1)).collect();
        let mut macros = Macros::default();
        for text in &doubling {
            let mut scanner = Scanner::new(text.as_bytes());
            let name = scanner.next().unwrap();
            let found = Macro::read(text.as_bytes(), &name, &mut scanner, |_| ());
            macros.define(name.text, found, [true, true]);
        }
        let deep = "(".repeat(100_000);
        let many = "1 + ".repeat(50_000);
        for text in ["", "1 +", "(1", "defined(", "\"a\" == 1", "? 1", "m0", "1x9", &deep, &many] {
            assert_eq!(value(text, &macros, Build::Up), Err(Unreadable), "{text:.20}");
        }
    }
}
