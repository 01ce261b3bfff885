//! Which lines of a file are compiled: the conditionals that are open, for both builds.

use super::macros::{Build, Macros};
use super::token::Token;
use super::{condition, macros};

/// How deep conditionals may lie in one another. None that people write comes near.
const DEEPEST: usize = 1 << 16;

/// What a directive does to the conditionals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directive {
    /// `#if`
    If,
    /// `#ifdef`
    Ifdef,
    /// `#ifndef`
    Ifndef,
    /// `#elif`
    Elif,
    /// `#elifdef`
    Elifdef,
    /// `#elifndef`
    Elifndef,
    /// `#else`
    Else,
    /// `#endif`
    Endif,
}

impl Directive {
    /// By its name.
    pub fn named(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"if" => Self::If,
            b"ifdef" => Self::Ifdef,
            b"ifndef" => Self::Ifndef,
            b"elif" => Self::Elif,
            b"elifdef" => Self::Elifdef,
            b"elifndef" => Self::Elifndef,
            b"else" => Self::Else,
            b"endif" => Self::Endif,
            _ => return None,
        })
    }

    /// Whether a condition stands behind it.
    pub fn has_condition(self) -> bool {
        !matches!(self, Self::Else | Self::Endif)
    }
}

/// Why conditionals cannot be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// A condition is no expression.
    Condition,
    /// `#else`, `#elif` or `#endif` without an `#if`.
    Unopened,
    /// Conditionals lie too deep in one another.
    TooDeep,
}

/// A conditional that is open.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// Its line.
    line: u32,
    /// What is around it, for each build.
    around: [bool; 2],
    /// Whether one of its branches was taken, for each build.
    taken: [bool; 2],
    /// The branch that the lines are in now, for each build.
    now: [bool; 2],
    /// The same for who follows the first branch that can ever be compiled, whatever the build.
    shape: Shape,
}

/// Of the branches of a conditional one is followed that can be compiled in some build.
#[derive(Debug, Clone, Copy)]
struct Shape {
    around: bool,
    taken: bool,
    now: bool,
}

/// The conditionals that are open.
#[derive(Debug, Default)]
pub struct Conditionals {
    open: Vec<Open>,
    /// Conditionals beyond the deepest that are followed.
    beyond: usize,
}

impl Conditionals {
    /// Whether lines are compiled here, in each build.
    pub fn active(&self) -> [bool; 2] {
        self.open.last().map_or([true, true], |open| open.now)
    }

    /// Whether lines are in the branches that are followed for the shape of the file: one of each
    /// conditional, so that braces match.
    pub fn is_followed(&self) -> bool {
        self.open.last().is_none_or(|open| open.shape.now)
    }

    /// Whether a conditional begins or ends here for who follows its shape, and if so, whether the branch
    /// before was followed: the depth of braces is then that of the beginning.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// The line of the first conditional that has no end.
    pub fn unclosed(&self) -> Option<u32> {
        self.open.first().map(|open| open.line)
    }

    /// Goes through a directive with its condition.
    ///
    /// # Errors
    /// Why it cannot be followed. What follows is read on, as if the condition did not hold.
    pub fn pass(
        &mut self,
        directive: Directive,
        line: u32,
        condition: &[Token<'_>],
        macros: &Macros<'_>,
    ) -> Result<(), Trouble> {
        use Directive::{Elif, Elifdef, Elifndef, Else, Endif, If, Ifdef, Ifndef};
        match directive {
            If | Ifdef | Ifndef => {
                if self.open.len() >= DEEPEST {
                    self.beyond += 1;
                    return Err(Trouble::TooDeep);
                }
                let around = self.active();
                let followed = self.is_followed();
                let (now, result) = evaluate(directive, condition, macros, around);
                let can_be = !is_zero(directive, condition);
                let shape = Shape { around: followed, taken: can_be, now: followed && can_be };
                self.open.push(Open { line, around, taken: now, now, shape });
                result
            }
            Elif | Elifdef | Elifndef | Else => {
                if self.beyond > 0 {
                    return Ok(());
                }
                let open = self.open.last_mut().ok_or(Trouble::Unopened)?;
                let left = [0, 1].map(|index| open.around[index] && !open.taken[index]);
                let (now, result) = match directive {
                    Else => (left, Ok(())),
                    _ => evaluate(directive, condition, macros, left),
                };
                open.now = now;
                open.taken = [0, 1].map(|index| open.taken[index] || now[index]);
                let can_be = directive == Else || !is_zero(directive, condition);
                open.shape.now = open.shape.around && !open.shape.taken && can_be;
                open.shape.taken |= can_be;
                result
            }
            Endif if self.beyond > 0 => {
                self.beyond -= 1;
                Ok(())
            }
            Endif => self.open.pop().map(|_| ()).ok_or(Trouble::Unopened),
        }
    }
}

/// Whether a condition is `0`: what it excludes is compiled in no build.
fn is_zero(directive: Directive, condition: &[Token<'_>]) -> bool {
    matches!(directive, Directive::If | Directive::Elif)
        && matches!(condition, [only] if only.text == b"0")
}

/// Whether a condition holds in each build in which it is looked at.
fn evaluate(
    directive: Directive,
    condition: &[Token<'_>],
    macros: &Macros<'_>,
    looked_at: [bool; 2],
) -> ([bool; 2], Result<(), Trouble>) {
    let mut result = Ok(());
    let holds = Build::ALL.map(|build| {
        if !looked_at[build.index()] {
            return false;
        }
        let name = || condition.first().map_or(&b""[..], |token| token.text);
        match directive {
            Directive::Ifdef | Directive::Elifdef => macros.is_defined(name(), build),
            Directive::Ifndef | Directive::Elifndef => !macros.is_defined(name(), build),
            _ => condition::holds(condition, macros, build).unwrap_or_else(|_| {
                result = Err(Trouble::Condition);
                false
            }),
        }
    });
    (holds, result)
}

/// Whether a condition names SMP itself.
pub fn names_smp(condition: &[Token<'_>]) -> bool {
    let is_smp = |token: &Token<'_>| macros::SMP_NAMES.iter().any(|name| token.is_word(name));
    condition.iter().any(is_smp)
}

#[cfg(test)]
mod tests {
    use super::super::token::Scanner;
    use super::*;

    /// What is compiled of lines that are letters: in both builds, in each, and in the shape.
    fn compiled(text: &str) -> (String, String, String) {
        let macros = Macros::default();
        let mut conditionals = Conditionals::default();
        let (mut up, mut smp, mut shape) = (String::new(), String::new(), String::new());
        for (line, text) in text.split(' ').enumerate() {
            let (name, rest) = text.split_once(':').unwrap_or((text, ""));
            match Directive::named(name.as_bytes()) {
                Some(directive) => {
                    let condition: Vec<Token<'_>> = Scanner::new(rest.as_bytes()).collect();
                    let _ = conditionals.pass(directive, line as u32, &condition, &macros);
                }
                None => {
                    let active = conditionals.active();
                    for (is_active, into) in active.iter().zip([&mut up, &mut smp]) {
                        into.push_str(if *is_active { text } else { "" });
                    }
                    shape.push_str(if conditionals.is_followed() { text } else { "" });
                }
            }
        }
        (up, smp, shape)
    }

    #[test]
    fn branches_are_taken_by_build() {
        let expected = |up: &str, smp: &str, shape: &str| (up.into(), smp.into(), shape.into());
        for (text, up, smp, shape) in [
            ("a ifdef:CONFIG_SMP b else c endif d", "acd", "abd", "abd"),
            ("ifndef:__SMP__ a elif:1 b endif c", "ac", "bc", "ac"),
            ("if:0 a elif:0 b else c endif", "c", "c", "c"),
            ("if:X a elif:CONFIG_SMP b elif:1 c else d endif", "c", "b", "a"),
            ("if:0 ifdef:CONFIG_SMP a else b endif else c endif", "c", "c", "c"),
            ("ifdef:CONFIG_SMP ifndef:X a endif b else c endif", "c", "ab", "ab"),
            ("ifdef:X a elifdef:CONFIG_SMP b elifndef:X c endif", "c", "b", "a"),
        ] {
            assert_eq!(compiled(text), expected(up, smp, shape), "{text}");
        }
    }

    #[test]
    fn what_does_not_match_is_told_and_read_on() {
        let macros = Macros::default();
        let mut conditionals = Conditionals::default();
        let mut pass = |directive, condition: &str| {
            let tokens: Vec<Token<'_>> = Scanner::new(condition.as_bytes()).collect();
            conditionals.pass(directive, 7, &tokens, &macros)
        };
        assert_eq!(pass(Directive::Endif, ""), Err(Trouble::Unopened));
        assert_eq!(pass(Directive::Else, ""), Err(Trouble::Unopened));
        assert_eq!(pass(Directive::If, "1 +"), Err(Trouble::Condition));
        assert_eq!(conditionals.active(), [false, false]);
        assert_eq!(conditionals.unclosed(), Some(7));
    }

    #[test]
    fn conditionals_without_end_take_little_memory() {
        let macros = Macros::default();
        let mut conditionals = Conditionals::default();
        let deep = DEEPEST + 10;
        let failed = (0..deep)
            .filter(|_| conditionals.pass(Directive::Ifdef, 1, &[], &macros).is_err())
            .count();
        assert_eq!(failed, 10);
        for _ in 0..deep {
            conditionals.pass(Directive::Endif, 1, &[], &macros).unwrap();
        }
        assert_eq!(conditionals.unclosed(), None);
    }
}
