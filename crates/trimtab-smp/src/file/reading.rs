//! One pass over a file: all counters see its tokens.

use imara_diff::{Algorithm, Diff, InternedInput};

use super::feed::Feed;
use super::{Confusion, FileCounts, Language};
use crate::c::condition::is_option_test;
use crate::c::conditional::{Conditionals, Directive, Trouble, names_smp};
use crate::c::macros::{Build, Macro, Macros, SMP_NAMES};
use crate::c::token::{Kind, Scanner, Token};
use crate::complexity::Functions;
use crate::lock::{LockCounter, Place};

/// Tokens of a condition that are kept.
const LONGEST_CONDITION: usize = 4096;
/// What of a file is named that is not understood.
const MOST_CONFUSIONS: usize = 4;

/// A pass over a file.
pub(super) struct Reading<'a, 'e> {
    bytes: &'a [u8],
    scanner: Scanner<'a>,
    macros: Macros<'a>,
    conditionals: Conditionals,
    locks: LockCounter,
    functions: Functions,
    option: OptionTest,
    /// Lines without SMP, and those with SMP once one of these may be another.
    feeds: [Option<Feed<'a>>; 2],
    counts: FileCounts,
    each: &'e mut dyn FnMut(Place),
}

/// What has been read of a question for an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum OptionTest {
    #[default]
    Nothing,
    Asked,
    Open,
}

impl<'a, 'e> Reading<'a, 'e> {
    pub(super) fn new(
        bytes: &'a [u8],
        language: Language,
        functions: Functions,
        each: &'e mut dyn FnMut(Place),
    ) -> Self {
        Self {
            bytes,
            scanner: Scanner::new(bytes),
            macros: Macros::default(),
            conditionals: Conditionals::default(),
            locks: LockCounter::default(),
            functions,
            option: OptionTest::default(),
            feeds: [Some(Feed::new(language == Language::C)), None],
            counts: FileCounts::default(),
            each,
        }
    }

    /// Reads all of the file. Gives the counts, and whether all braces matched.
    pub(super) fn all(mut self) -> (FileCounts, bool) {
        while let Some(token) = self.scanner.next() {
            if token.starts_line && token.is(b'#') {
                self.directive(&token);
            } else {
                self.code(&token);
            }
        }
        self.finish()
    }

    fn finish(mut self) -> (FileCounts, bool) {
        if let Some(line) = self.scanner.unclosed_comment() {
            self.confuse(Confusion::OpenComment(line));
        }
        if let Some(line) = self.conditionals.unclosed() {
            self.confuse(Confusion::OpenConditional(line));
        }
        if self.macros.is_full() || self.feeds.iter().flatten().any(Feed::is_exhausted) {
            self.confuse(Confusion::Macros);
        }
        let Self { mut counts, functions, feeds: [up, smp], .. } = self;
        let (complexities, is_matched) = functions.done();
        counts.complexities = complexities;
        let up = up.map(Feed::done).unwrap_or_default();
        counts.up = up.len() as u64;
        counts.smp = counts.up;
        if let Some(smp) = smp.map(Feed::done) {
            counts.smp = smp.len() as u64;
            counts.differing = differing(&up, &smp);
        }
        (counts, is_matched)
    }

    fn confuse(&mut self, confusion: Confusion) {
        if self.counts.confusions.len() < MOST_CONFUSIONS {
            self.counts.confusions.push(confusion);
        }
    }

    /// A line of the preprocessor.
    fn directive(&mut self, hash: &Token<'a>) {
        self.locks.cut();
        self.option = OptionTest::Nothing;
        let Some(name) = self.scanner.next_in_line() else { return };
        if name.is_word("define") {
            self.define();
        } else if name.is_word("undef") {
            if let Some(name) = self.scanner.next_in_line() {
                self.macros.undefine(name.text, self.conditionals.active());
            }
        } else if let Some(directive) = Directive::named(name.text) {
            self.conditional(directive, hash.line);
        }
        while self.scanner.next_in_line().is_some() {}
    }

    fn define(&mut self) {
        let Some(name) = self.scanner.next_in_line() else { return };
        let mut locks = LockCounter::default();
        let (found, each) = (&mut self.counts.locks, &mut self.each);
        let definition = Macro::read(self.bytes, &name, &mut self.scanner, |token| {
            if let Some(place) = locks.token(token) {
                found.add(place.kind, place.places);
                each(place);
            }
        });
        self.macros.define(name.text, definition, self.conditionals.active());
    }

    fn conditional(&mut self, directive: Directive, line: u32) {
        let mut condition = Vec::new();
        while let Some(token) = self.scanner.next_in_line() {
            if condition.len() < LONGEST_CONDITION {
                condition.push(token);
            }
        }
        if directive.has_condition() {
            self.counts.conditions += u64::from(names_smp(&condition));
        }
        let passed = self.conditionals.pass(directive, line, &condition, &self.macros);
        if let Err(trouble) = passed {
            self.confuse(match trouble {
                Trouble::Condition => Confusion::Condition(line),
                Trouble::Unopened => Confusion::Unopened(line),
                Trouble::TooDeep => Confusion::TooDeep(line),
            });
        }
    }

    /// A token of code.
    fn code(&mut self, token: &Token<'a>) {
        self.line_token(token);
        if self.conditionals.is_followed() {
            let column = token.start == 0 || self.bytes[token.start - 1] == b'\n';
            self.functions.token(token, column);
        }
        if let Some(place) = self.locks.token(token) {
            self.counts.locks.add(place.kind, place.places);
            (self.each)(place);
        }
        self.option = match (self.option, token.kind) {
            (OptionTest::Open, Kind::Word) => {
                let names_smp = SMP_NAMES.iter().any(|name| token.is_word(name));
                self.counts.option_tests += u64::from(names_smp);
                OptionTest::Nothing
            }
            (OptionTest::Asked, Kind::Sign) if token.is(b'(') => OptionTest::Open,
            (_, Kind::Word) if is_option_test(token.text) => OptionTest::Asked,
            _ => OptionTest::Nothing,
        };
    }

    /// Gives a token to the lines of the builds that compile it.
    fn line_token(&mut self, token: &Token<'a>) {
        let active = self.conditionals.active();
        if self.feeds[1].is_none() && (active[0] != active[1] || self.macros.differ()) {
            self.feeds[1] = self.feeds[0].clone();
        }
        for build in Build::ALL {
            if let Some(feed) = &mut self.feeds[build.index()] {
                feed.token(token, active[build.index()], &self.macros, build);
            }
        }
    }
}

/// Lines that one of two builds does not have, by the fewest lines that lead from one to the other.
fn differing(up: &[u64], smp: &[u64]) -> u64 {
    let mut input = InternedInput::default();
    input.update_before(up.iter().copied());
    input.update_after(smp.iter().copied());
    let found = Diff::compute(Algorithm::Myers, &input);
    u64::from(found.count_additions()) + u64::from(found.count_removals())
}
