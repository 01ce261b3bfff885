//! Reads what tests say in the kernel's own format for that, KTAP, between all else on a console.
//!
//! Source: `Documentation/dev-tools/ktap.rst` of Linux. As `kunit_tool` does, a line in front of which the
//! kernel put a time is read as well, and indentation shows nesting.

use serde::{Deserialize, Serialize};

/// Results kept of one boot. A kernel with all of its own tests has some two thousand.
const MOST_RESULTS: usize = 20_000;
/// Tests in tests in tests: more than any has.
const MOST_LEVELS: usize = 16;
/// Bytes kept of a name and of what is said of it.
const MOST_BYTES: usize = 512;

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It passed.
    Pass,
    /// It failed, or it is missing: see [`Test::detail`].
    Fail,
    /// It could not run here.
    Skip,
}

/// A test that ran in a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Test {
    /// Its name, behind the names of the suites that it is in: `coldswap/patches`.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it was skipped, or what is wrong; may be empty.
    pub detail: String,
}

/// The tests that ran in a guest, in the order in which they ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tests {
    all: Vec<Test>,
    /// Results that were too many to be kept.
    dropped: u64,
}

impl Tests {
    /// All of them, and suites that failed although none of their tests did.
    pub fn all(&self) -> &[Test] {
        &self.all
    }

    /// Those that ended so.
    pub fn ended(&self, outcome: Outcome) -> impl Iterator<Item = &Test> {
        self.all.iter().filter(move |test| test.outcome == outcome)
    }

    /// Whether none failed. A guest without tests has none that failed.
    pub fn passed(&self) -> bool {
        self.dropped == 0 && self.ended(Outcome::Fail).next().is_none()
    }

    /// Results that were not kept, because they were too many.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn add(&mut self, name: String, outcome: Outcome, detail: &str) {
        if self.all.len() < MOST_RESULTS {
            self.all.push(Test { name, outcome, detail: short(detail) });
        } else {
            self.dropped += 1;
        }
    }
}

/// A level of nesting that is open.
#[derive(Debug)]
struct Level {
    /// Blanks in front of its lines.
    indent: usize,
    /// The suite's name; the outermost has none.
    name: String,
    /// How many results it is to have.
    planned: Option<u64>,
    seen: u64,
    failed: bool,
}

/// Reads a console line by line.
#[derive(Debug, Default)]
pub(super) struct Reader {
    tests: Tests,
    levels: Vec<Level>,
}

impl Reader {
    pub(super) fn line(&mut self, line: &str) {
        let line = without_time(line);
        let words = line.trim_start_matches(' ');
        let indent = line.len() - words.len();
        let words = words.trim_end();
        if words.starts_with("KTAP version ") || words.starts_with("TAP version ") {
            self.close(|level| level.indent >= indent);
            if self.levels.len() < MOST_LEVELS {
                let name = String::new();
                self.levels.push(Level { indent, name, planned: None, seen: 0, failed: false });
            }
            return;
        }
        if self.levels.is_empty() {
            return;
        }
        if let Some(name) = words.strip_prefix("# Subtest: ") {
            if let Some(level) = self.levels.last_mut().filter(|level| level.indent == indent) {
                level.name = short(name);
            }
        } else if let Some(count) = words.strip_prefix("1..") {
            let level = self.levels.iter_mut().rfind(|level| level.indent == indent);
            if let Some((level, planned)) = level.zip(count.parse().ok()) {
                level.planned = Some(planned);
            }
        } else if let Some((good, words)) = result(words) {
            self.result(indent, good, words);
        }
    }

    /// A result that stands so far to the right.
    fn result(&mut self, indent: usize, good: bool, words: &str) {
        // Only of a level that is open: other programs say "ok 1", too.
        if !self.levels.iter().any(|level| level.indent == indent) {
            return;
        }
        let (name, directive) = match words.strip_prefix("# ") {
            Some(directive) => ("", directive),
            None => words.split_once(" # ").unwrap_or((words, "")),
        };
        let skipped = directive.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("skip"));
        let outcome = match (good, skipped) {
            (_, true) => Outcome::Skip,
            (true, false) => Outcome::Pass,
            (false, false) => Outcome::Fail,
        };
        let was = self.tests.all.len();
        let inner = self.close(|level| level.indent > indent);
        // Of a suite, its tests say it all; but for one that failed although they did not.
        let is_said = inner.is_some_and(|failed| failed || outcome != Outcome::Fail);
        let failed = outcome == Outcome::Fail || self.tests.all.len() > was;
        let mut path = String::new();
        for level in self.levels.iter_mut().filter(|level| level.indent <= indent) {
            level.failed |= failed;
            if !level.name.is_empty() {
                path.push_str(&level.name);
                path.push('/');
            }
        }
        if let Some(level) = self.levels.last_mut() {
            level.seen += 1;
        }
        if !is_said {
            let detail = if skipped { directive.get(4..).unwrap_or_default() } else { directive };
            path.push_str(&short(name.trim()));
            self.tests.add(path, outcome, detail.trim());
        }
    }

    /// Closes the innermost levels that are so. If there were any, says whether a test failed in them.
    fn close(&mut self, is_over: impl Fn(&Level) -> bool) -> Option<bool> {
        let mut failed = None;
        while let Some(level) = self.levels.pop_if(|level| is_over(level)) {
            let missing = level.planned.filter(|planned| *planned > level.seen);
            failed = Some(failed.unwrap_or(false) || level.failed || missing.is_some());
            if let Some(planned) = missing {
                let names = self.levels.iter().map(|level| level.name.as_str());
                let path: Vec<&str> =
                    names.chain([level.name.as_str()]).filter(|name| !name.is_empty()).collect();
                let detail = format!("{} of {planned} results", level.seen);
                self.tests.add(path.join("/"), Outcome::Fail, &detail);
            }
        }
        failed
    }

    /// What the console said, once it is over.
    pub(super) fn end(mut self) -> Tests {
        self.close(|_| true);
        self.tests
    }
}

/// Whether a result is good, and the words behind its number, without the dash that may be there.
fn result(words: &str) -> Option<(bool, &str)> {
    let (good, rest) = match words.strip_prefix("not ok ") {
        Some(rest) => (false, rest),
        None => (true, words.strip_prefix("ok ")?),
    };
    let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    number.parse::<u64>().ok()?;
    Some((good, rest.strip_prefix("- ").unwrap_or(rest)))
}

/// The line without the time that the kernel may have put in front: `[    1.234567] `.
fn without_time(line: &str) -> &str {
    let time =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b' ');
    match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((inside, rest)) if time(inside) => rest,
        _ => line,
    }
}

/// As much of a text as is kept, in one line.
fn short(text: &str) -> String {
    let mut short: String = text.chars().filter(|c| !c.is_control()).collect();
    let mut end = short.len().min(MOST_BYTES);
    while !short.is_char_boundary(end) {
        end -= 1;
    }
    short.truncate(end);
    short
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Tests {
        let mut reader = Reader::default();
        text.split('\n').for_each(|line| reader.line(line));
        reader.end()
    }

    fn said(tests: &Tests) -> Vec<(&str, Outcome, &str)> {
        let all = tests.all().iter();
        all.map(|test| (test.name.as_str(), test.outcome, test.detail.as_str())).collect()
    }

    /// As Linux 6.12 writes it on its console.
    const KUNIT: &str = "\
[    0.100000] KTAP version 1
[    0.100000] 1..2
[    0.110000]     KTAP version 1
[    0.110000]     # Subtest: coldswap
[    0.110000]     # module: coldswap
[    0.110000]     1..3
[    0.120000]     ok 1 picks
[    0.125000] random: crng init done
[    0.130000]     # patches: EXPECTATION FAILED at mm/coldswap_test.c:18
[    0.130000]     not ok 2 patches
[    0.140000]     ok 3 pokes # SKIP nothing is swapped out
[    0.140000] # coldswap: pass:1 fail:1 skip:1 total:3
[    0.140000] not ok 1 coldswap
[    0.150000]     KTAP version 1
[    0.150000]     # Subtest: lists
[    0.150000]     1..1
[    0.150000]         KTAP version 1
[    0.150000]         # Subtest: each
[    0.150000]         ok 1 short
[    0.150000]         ok 2 long
[    0.160000]     ok 1 each
[    0.160000] ok 2 lists
";

    #[test]
    fn the_kernels_own_tests_have_the_names_of_their_suites() {
        use Outcome::{Fail, Pass, Skip};
        let tests = read(KUNIT);
        let expected = [
            ("coldswap/picks", Pass, ""),
            ("coldswap/patches", Fail, ""),
            ("coldswap/pokes", Skip, "nothing is swapped out"),
            ("lists/each/short", Pass, ""),
            ("lists/each/long", Pass, ""),
        ];
        assert_eq!(said(&tests), expected);
        assert!(!tests.passed());
    }

    #[test]
    fn a_program_of_the_guest_may_say_it_without_suites() {
        let tests = read("TAP version 13\n1..2\nok 1 - it is there\nok 2 # skip no disk\nok 3x\n");
        let expected = [("it is there", Outcome::Pass, ""), ("", Outcome::Skip, "no disk")];
        assert_eq!(said(&tests), expected);
        assert!(tests.passed());
    }

    #[test]
    fn what_is_planned_and_not_said_has_failed() {
        let tests =
            read("KTAP version 1\n1..1\n  KTAP version 1\n  # Subtest: s\n  1..3\n  ok 1 a\n");
        let missing = [
            ("s/a", Outcome::Pass, ""),
            ("s", Outcome::Fail, "1 of 3 results"),
            ("", Outcome::Fail, "0 of 1 results"),
        ];
        assert_eq!(said(&tests), missing);
    }

    #[test]
    fn a_suite_that_fails_though_its_tests_did_not_is_said() {
        let text = "KTAP version 1\n1..1\n    KTAP version 1\n    # Subtest: s\n    1..1\n    ok 1 a\n\
                    not ok 1 s\n";
        let tests = read(text);
        assert_eq!(said(&tests), [("s/a", Outcome::Pass, ""), ("s", Outcome::Fail, "")]);
    }

    #[test]
    fn what_is_no_test_says_nothing() {
        assert_eq!(read("ok 1 not a test\nnot ok 2\n1..4\n"), Tests::default());
        let tests = read("KTAP version 1\nok none\nok\n  ok 1 elsewhere\nokay 1\n");
        assert_eq!(tests, Tests::default());
    }

    #[test]
    fn memory_is_bounded() {
        let mut text = "KTAP version 1\n".to_owned();
        for number in 0..MOST_RESULTS + 7 {
            text.push_str(&format!("ok {number} t\n"));
        }
        text.push_str(&format!("not ok 1 {}", "ä".repeat(MOST_BYTES)));
        let tests = read(&text);
        assert_eq!((tests.all().len(), tests.dropped()), (MOST_RESULTS, 8));
        assert!(!tests.passed(), "nobody knows what was dropped");
        let deep: String =
            (0..100).map(|depth| format!("{}KTAP version 1\n", " ".repeat(depth))).collect();
        read(&deep);
    }

    proptest! {
        #[test]
        fn never_panics(text in "(\\[ 0.1\\] )?( {0,9}(KTAP version 1|# Subtest: \\PC{0,3}|1\\.\\.[0-9]{1,22}|(not )?ok [0-9]{1,3}( - )?\\PC{0,9}( # \\PC{0,9})?|\\PC{0,20})\n){0,40}") {
            read(&text);
        }

        #[test]
        fn each_result_of_a_plain_list_is_kept(outcomes in prop::collection::vec(any::<bool>(), 0..50)) {
            let mut text = format!("KTAP version 1\n1..{}\n", outcomes.len());
            for (number, good) in (1..).zip(&outcomes) {
                let good = if *good { "ok" } else { "not ok" };
                text.push_str(&format!("{good} {number} test{number}\n"));
            }
            let tests = read(&text);
            let found: Vec<bool> =
                tests.all().iter().map(|test| test.outcome == Outcome::Pass).collect();
            prop_assert_eq!(found, outcomes);
        }
    }
}
