//! Reads a guest's console: what our init says, and a kernel's last words.

use super::ktap;
use std::collections::BTreeMap;
use std::time::Duration;
use trimtab_lab::process::Line;

/// Lines kept of a panic.
const PANIC_LINES: usize = 40;
/// Values kept of what a guest says: far more than any workload has.
pub(super) const MOST_SAID: usize = 100_000;

/// What a console has said so far.
#[derive(Debug, Default)]
pub(super) struct Console {
    /// Wall time of `ready` and of `end`.
    pub(super) ready: Option<Duration>,
    pub(super) end: Option<Duration>,
    /// The guest's own clock.
    pub(super) uptime: Option<Duration>,
    pub(super) finished: Option<Duration>,
    /// Name of the workload and its exit code.
    pub(super) workload: Option<(String, i32)>,
    pub(super) ftrace: Option<FtraceEnd>,
    /// How many of how many parts of its workload are done, if it said so since somebody last asked.
    pub(super) progress: Option<(u64, u64)>,
    /// What init itself could not do.
    pub(super) errors: Vec<String>,
    /// What it said else: by topic, by name.
    pub(super) said: BTreeMap<String, BTreeMap<String, String>>,
    /// How many values that were.
    values: usize,
    /// What its tests said.
    pub(super) tests: ktap::Reader,
    /// The kernel's words from the first sign of its end on. It may be none: see `panicked`.
    pub(super) panic: Vec<String>,
    pub(super) panicked: bool,
    /// Whether the one who reads has taken note of the end.
    pub(super) ending: bool,
    oops: bool,
}

/// What our init says of the function tracer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FtraceEnd {
    pub(super) calls: u64,
    pub(super) functions: u64,
    pub(super) lost: u64,
}

impl Console {
    pub(super) fn line(&mut self, line: &Line) {
        self.look_for_panic(&line.text);
        self.tests.line(&line.text);
        // Something may stand before it that had no end of line of its own.
        let Some((_, words)) = line.text.split_once("trimtab: ") else { return };
        match words.split_once(' ') {
            None if words == "ready" => self.ready = Some(line.at),
            None if words == "end" => self.end = Some(line.at),
            Some(("uptime", seconds)) => self.uptime = self.uptime.or(duration(seconds)),
            Some(("finished", seconds)) => self.finished = duration(seconds),
            Some(("workload", words)) => self.workload = self.workload.take().or(workload(words)),
            Some(("ftrace", words)) => self.ftrace = ftrace(words),
            Some(("progress", words)) => self.progress = parts(words).or(self.progress),
            Some(("error", text)) => self.errors.push(text.to_owned()),
            Some((topic, words)) => self.say(topic, words),
            None => {}
        }
    }

    /// Whether it said more than is kept.
    pub(super) fn said_too_much(&self) -> bool {
        self.values > MOST_SAID
    }

    fn say(&mut self, topic: &str, words: &str) {
        let Some((name, value)) = words.split_once(' ') else { return };
        self.values += 1;
        if !topic.is_empty() && !self.said_too_much() {
            let topic = self.said.entry(topic.to_owned()).or_default();
            topic.insert(name.to_owned(), value.trim().to_owned());
        }
    }

    fn look_for_panic(&mut self, text: &str) {
        let panics = text.contains("Kernel panic - not syncing");
        self.panicked |= panics;
        // An oops says what happened; the panic that follows it says only that it did.
        let starts = ["BUG: ", "Oops: ", "kernel BUG at ", "Internal error: "];
        if panics || self.oops || starts.iter().any(|start| text.contains(start)) {
            self.oops = true;
            if self.panic.len() < PANIC_LINES || panics {
                let plain: String = text.chars().filter(|c| !c.is_control()).collect();
                self.panic.push(plain);
            }
        }
    }
}

fn duration(seconds: &str) -> Option<Duration> {
    seconds.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

fn workload(words: &str) -> Option<(String, i32)> {
    let mut words = words.split_whitespace();
    let name = words.next()?.to_owned();
    match (words.next()?, words.next()) {
        ("ok", None) => Some((name, 0)),
        ("failed", Some(code)) => Some((name, code.parse().ok().filter(|&code| code != 0)?)),
        _ => None,
    }
}

fn parts(words: &str) -> Option<(u64, u64)> {
    let (done, total) = words.split_once(' ')?;
    let (done, total) = (done.parse().ok()?, total.trim().parse().ok()?);
    (done <= total).then_some((done, total))
}

fn ftrace(words: &str) -> Option<FtraceEnd> {
    let mut numbers = words.split_whitespace().map(|word| word.parse().ok());
    Some(FtraceEnd { calls: numbers.next()??, functions: numbers.next()??, lost: numbers.next()?? })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Console {
        let mut console = Console::default();
        for (number, text) in text.lines().enumerate() {
            let at = Duration::from_secs(number as u64);
            console.line(&Line { at, text: text.to_owned() });
        }
        console
    }

    #[test]
    fn a_good_boot() {
        let console = read(
            "Linux version 6.12\n[    0.9] trimtab: ready\ntrimtab: uptime 0.912629001\nhello\n\
             no end of line\u{7}trimtab: workload boot ok\ntrimtab: finished 1.5\n\
             trimtab: ftrace 100 20 0\ntrimtab: error cannot\ntrimtab: end",
        );
        assert_eq!(console.ready, Some(Duration::from_secs(1)));
        assert_eq!(console.uptime, Some(Duration::from_nanos(912_629_001)));
        assert_eq!(console.workload, Some(("boot".to_owned(), 0)));
        assert_eq!(console.finished, Some(Duration::from_millis(1500)));
        assert_eq!(console.ftrace, Some(FtraceEnd { calls: 100, functions: 20, lost: 0 }));
        assert_eq!(console.errors, ["cannot"]);
        assert_eq!(console.end, Some(Duration::from_secs(8)));
        assert!(!console.panicked);
    }

    #[test]
    fn damaged_lines_say_nothing() {
        let console = read(
            "trimtab: uptime -1\ntrimtab: finished soon\ntrimtab: workload x failed\n\
             trimtab: workload x failed 0\ntrimtab: ftrace 1 2\ntrimtab: readyx\ntrimtab: ",
        );
        assert_eq!((console.uptime, console.finished, console.ready), (None, None, None));
        assert_eq!((console.workload, console.ftrace), (None, None));
    }

    #[test]
    fn a_panic_is_kept_with_the_oops_before_it() {
        let console = read(
            "fine\nBUG: kernel NULL pointer dereference, address: 0\nRIP: 0010:bad+0x1\n\
             Kernel panic - not syncing: Fatal exception\nRebooting",
        );
        assert_eq!(console.panic[0], "BUG: kernel NULL pointer dereference, address: 0");
        assert_eq!(console.panic.len(), 4);
        assert!(console.panicked);
        assert!(!read("BUG: sleeping function called from invalid context").panicked);
    }

    #[test]
    fn what_it_says_else_is_kept_by_topic_and_name() {
        let console = read(
            "trimtab: counts faults 12\n[ 1.0] xtrimtab: counts worst_context a task\n\
             trimtab: counts\ntrimtab: module hello ok\ntrimtab: counts faults 13\n",
        );
        let said: Vec<_> = console
            .said
            .iter()
            .flat_map(|(topic, values)| {
                values.iter().map(move |(name, value)| (topic, name, value))
            })
            .map(|(topic, name, value)| (topic.as_str(), name.as_str(), value.as_str()))
            .collect();
        let expected = [
            ("counts", "faults", "13"),
            ("counts", "worst_context", "a task"),
            ("module", "hello", "ok"),
        ];
        assert_eq!(said, expected);
        assert!(!console.said_too_much());
    }

    #[test]
    fn how_far_it_is_is_no_result() {
        let console =
            read("trimtab: progress 2 10\ntrimtab: progress 3 10\ntrimtab: progress 11 10");
        assert_eq!(console.progress, Some((3, 10)));
        assert!(console.said.is_empty());
        assert_eq!(read("trimtab: progress 3\ntrimtab: progress a 10").progress, None);
    }

    #[test]
    fn memory_is_bounded() {
        let text: String =
            (0..=MOST_SAID).map(|number| format!("trimtab: t n{number} 1\n")).collect();
        let console = read(&text);
        assert!(console.said_too_much());
        assert_eq!(console.said["t"].len(), MOST_SAID);
    }

    #[test]
    fn a_failed_workload_has_a_code() {
        let console = read("trimtab: workload files failed 127");
        assert_eq!(console.workload, Some(("files".to_owned(), 127)));
    }
}
