//! Counts lock operations in the tokens of a file.

use super::guard::{kind_of_class, takes_class};
use super::names::kind_of;
use super::{LockKind, Place};
use crate::c::token::{Kind, Token};

/// Counts lock operations, token by token.
///
/// A name of a lock operation is a place where it is done when it is called: a parenthesis follows, no
/// type stands before it, as in a declaration, and it is no member of a structure. A function of such a
/// name that is defined is one, too: what takes the lock is in it.
#[derive(Debug, Clone, Copy, Default)]
pub struct LockCounter {
    state: State,
    before: Before,
    definition: Option<Definition>,
}

/// What may become the definition of a function that has the name of an operation.
#[derive(Debug, Clone, Copy)]
struct Definition {
    name: Name,
    parentheses: u32,
}

/// The name of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Name {
    kind: LockKind,
    line: u32,
}

impl Name {
    fn of(token: &Token<'_>) -> Option<Self> {
        kind_of(token.text).map(|kind| Self { kind, line: token.line })
    }

    fn place(self) -> Place {
        Place { line: self.line, kind: self.kind, places: 1 }
    }
}

/// What stands before a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Before {
    /// What lets it be a call.
    #[default]
    Anything,
    /// A word that is none of a statement: the type of a declaration.
    Type,
    /// The beginning of `->`.
    Minus,
    /// `.` or `->`: it is a member.
    Member,
}

/// What has been read of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Nothing,
    /// A name that is a place if a parenthesis follows.
    Name(Name),
    /// One behind a type.
    Declared(Name),
    /// A word behind which the class of a guard stands.
    Guard,
    /// The parenthesis behind that.
    Open,
}

impl LockCounter {
    /// Takes the next token; gives the operation that it completes.
    pub fn token(&mut self, token: &Token<'_>) -> Option<Place> {
        let state = std::mem::take(&mut self.state);
        let found = match state {
            State::Name(name) if token.is(b'(') => Some(name.place()),
            State::Guard if token.is(b'(') => {
                self.state = State::Open;
                None
            }
            State::Open if token.kind == Kind::Word => {
                Some(Place { line: token.line, kind: kind_of_class(token.text), places: 2 })
            }
            _ => self.defined(token),
        };
        if let State::Declared(name) = state
            && token.is(b'(')
        {
            self.definition = Some(Definition { name, parentheses: 1 });
        }
        let is_free = !matches!(self.before, Before::Type | Before::Member) && state != State::Open;
        if token.kind == Kind::Word && is_free {
            self.state = if takes_class(token.text) {
                State::Guard
            } else {
                Name::of(token).map_or(State::Nothing, State::Name)
            };
        } else if token.kind == Kind::Word && self.before == Before::Type {
            self.state = Name::of(token).map_or(State::Nothing, State::Declared);
        }
        self.before = match (token.kind, token.text) {
            (Kind::Word, word) if is_of_statement(word) => Before::Anything,
            (Kind::Word, _) => Before::Type,
            (_, b"-") => Before::Minus,
            (_, b">") if self.before == Before::Minus => Before::Member,
            (_, b".") => Before::Member,
            _ => Before::Anything,
        };
        found
    }

    /// Whether a token opens the body of a function that has the name of an operation.
    fn defined(&mut self, token: &Token<'_>) -> Option<Place> {
        let mut definition = self.definition.take()?;
        match (definition.parentheses, token.text) {
            (0, b"{") => return Some(definition.name.place()),
            (0, _) => return None,
            (_, b"(") => definition.parentheses = definition.parentheses.saturating_add(1),
            (_, b")") => definition.parentheses -= 1,
            _ => {}
        }
        self.definition = Some(definition);
        None
    }

    /// Forgets what has been read, at both ends of a directive.
    pub fn cut(&mut self) {
        *self = Self::default();
    }
}

/// Whether an expression or a statement can follow a word.
fn is_of_statement(word: &[u8]) -> bool {
    matches!(word, b"return" | b"else" | b"do" | b"case")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c::token::Scanner;

    fn found(text: &str) -> Vec<(&'static str, u64)> {
        let mut counter = LockCounter::default();
        let tokens = Scanner::new(text.as_bytes());
        let found = tokens.filter_map(|token| counter.token(&token));
        found.map(|place| (place.kind.name(), place.places)).collect()
    }

    #[test]
    fn calls_count_and_declarations_do_not() {
        for (text, expected) in [
            ("if (down_trylock(&sem)) return; else up(&sem);", vec![("semaphore", 1); 2]),
            ("else spin_lock(&l); do spin_unlock(&l); while (0);", vec![("spin", 1); 2]),
            ("out: mutex_unlock(&m);", vec![("mutex", 1)]),
            ("extern void lock_kernel(void); static inline int down(struct s *s);", vec![]),
            ("void __down(struct s *(*s)(int)) { x(); }", vec![("semaphore", 1)]),
            ("void *up(void *x) { }", vec![("semaphore", 1)]),
            ("ops->down(x); ops.up(x); a - up(x)", vec![("semaphore", 1)]),
            ("lock = spin_lock; f(spin_lock, x)", vec![]),
            ("spin_lock\n(&lock)", vec![("spin", 1)]),
            ("flags = a > read_seqbegin(&l)", vec![("seq", 1)]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn guards_are_both_ends() {
        for (text, expected) in [
            ("guard(mutex)(&m); x();", vec![("mutex", 2)]),
            (
                "scoped_guard(spinlock_irqsave, &l) { mutex_lock(&m); }",
                vec![("spin", 2), ("mutex", 1)],
            ),
            ("scoped_cond_guard(mutex_intr, return -EINTR, &m)", vec![("mutex", 2)]),
            ("guard(rq_lock)(rq);", vec![("other_guard", 2)]),
            ("guard(rcu)();", vec![("rcu_read", 2)]),
            (
                "scoped_guard (cpus_read_lock) down(&s);",
                vec![("percpu_rwsem", 2), ("semaphore", 1)],
            ),
            ("int guard(int x); y->guard(mutex)", vec![]),
            ("guard();", vec![]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }
}
