//! What one CPU of a kernel with coarse locks did, in its order.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::counted::Place;

/// What a CPU does for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// A program.
    User,
    /// Nothing.
    Idle,
    /// An interrupt or exception that came from a program, as far as it took no lock.
    Interrupt,
    /// The kernel, from where it was entered, or gone on with after others ran.
    Kernel(Place),
}

/// A time in which a CPU does one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// What it does.
    pub doing: Doing,
    /// For how many cycles of its counter.
    pub cycles: u64,
    /// The thread that runs, by its number; 0 for none.
    pub thread: u32,
}

impl Stretch {
    /// Whether a thread of the kernel runs.
    pub fn is_of_threads(&self) -> bool {
        self.doing == Doing::Kernel(Place::Threads)
    }
}

/// A thread is woken, or begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// In which stretch, by its place in [`Record::stretches`]; at their end, in none.
    pub stretch: usize,
    /// So many cycles after that one began.
    pub after: u64,
    /// The thread, by its number.
    pub thread: u32,
    /// Whether the thread that runs does that, and not an interrupt.
    pub by_thread: bool,
}

/// What a CPU did, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// Times in which it did one thing.
    pub stretches: Vec<Stretch>,
    /// Threads that were woken meanwhile.
    pub wakes: Vec<Wake>,
}

impl Record {
    /// Cycles that it covers.
    pub fn cycles(&self) -> u64 {
        self.stretches.iter().map(|stretch| stretch.cycles).sum()
    }
}

/// Words that are no record.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecordError {
    /// There is none.
    #[error("the guest does not say in which order its CPU did what")]
    Nothing,
    /// A word cannot be read.
    #[error(
        "in line {line} of what its CPU did the guest says {word:?}; expected PLACE:CYCLES:THREAD, in lines \
         that are numbered"
    )]
    Unreadable {
        /// The number of its line, as the guest has it.
        line: String,
        /// The word.
        word: String,
    },
    /// A line does not come after the one before it.
    #[error("of what its CPU did the guest does not say line {line}")]
    Gap {
        /// The number of the line that is missing.
        line: u64,
    },
}

/// A step of a record.
enum Step {
    Stretch(Stretch),
    /// A thread that is woken so many cycles after the next stretch began.
    Wake {
        after: u64,
        thread: u32,
        by_thread: bool,
    },
}

/// Reads lines of `PLACE:CYCLES:THREAD` by their numbers, from 0.
///
/// # Errors
/// If there are none, if one of them is missing, or if one is no such line.
pub fn read(lines: &BTreeMap<String, String>) -> Result<Record, RecordError> {
    let unreadable = |line: &str, word: &str| RecordError::Unreadable {
        line: line.to_owned(),
        word: word.to_owned(),
    };
    let mut numbered = BTreeMap::new();
    for (line, words) in lines {
        let number: u64 = line.parse().map_err(|_| unreadable(line, words))?;
        let steps: Option<Vec<Step>> = words.split_whitespace().map(step).collect();
        let found = steps.ok_or_else(|| {
            let word = words.split_whitespace().find(|word| step(word).is_none());
            unreadable(line, word.unwrap_or_default())
        })?;
        numbered.insert(number, found);
    }
    for (expected, &found) in (0..).zip(numbered.keys()) {
        if expected != found {
            return Err(RecordError::Gap { line: expected });
        }
    }
    let mut record = Record::default();
    for step in numbered.into_values().flatten() {
        match step {
            Step::Stretch(stretch) => record.stretches.push(stretch),
            Step::Wake { after, thread, by_thread } => {
                let stretch = record.stretches.len();
                record.wakes.push(Wake { stretch, after, thread, by_thread });
            }
        }
    }
    if record.stretches.is_empty() { Err(RecordError::Nothing) } else { Ok(record) }
}

fn step(word: &str) -> Option<Step> {
    let mut parts = word.split(':');
    let (place, cycles, thread) = (parts.next()?, parts.next()?, parts.next()?);
    let (cycles, thread) = (cycles.parse().ok()?, thread.parse().ok()?);
    if parts.next().is_some() {
        return None;
    }
    let doing = match place {
        "user" => Doing::User,
        "idle" => Doing::Idle,
        "interrupt" => Doing::Interrupt,
        "wakes" | "wakes.interrupt" => {
            let by_thread = place == "wakes";
            return Some(Step::Wake { after: cycles, thread, by_thread });
        }
        name => Doing::Kernel(Place::named(name)?),
    };
    Some(Step::Stretch(Stretch { doing, cycles, thread }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subsystem::Subsystem;

    fn said(lines: &[(&str, &str)]) -> Result<Record, RecordError> {
        let pair = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        read(&lines.iter().map(pair).collect())
    }

    #[test]
    fn lines_are_in_the_order_of_their_numbers() {
        let mut lines: Vec<(String, String)> =
            (0..12).map(|number| (number.to_string(), format!("files:{number}:5"))).collect();
        lines[0].1 = "user:7:5 idle:8:0 interrupt:9:5 threads:10:2".to_owned();
        let found = read(&lines.into_iter().collect()).unwrap().stretches;
        let files = Doing::Kernel(Place::Of(Subsystem::Files));
        let first: Vec<Doing> = found[..4].iter().map(|stretch| stretch.doing).collect();
        let threads = Doing::Kernel(Place::Threads);
        assert_eq!(first, [Doing::User, Doing::Idle, Doing::Interrupt, threads]);
        let after: Vec<u64> = found[4..].iter().map(|stretch| stretch.cycles).collect();
        assert_eq!(after, (1..12).collect::<Vec<u64>>());
        assert!(found[4..].iter().all(|stretch| stretch.doing == files));
        let ran: Vec<u32> = found.iter().map(|stretch| stretch.thread).collect();
        assert_eq!(ran[..5], [5, 0, 5, 2, 5]);
    }

    #[test]
    fn threads_are_woken_in_the_stretch_that_comes_next() {
        let found = said(&[("0", "user:7:5 wakes:2:6 files:9:5 wakes.interrupt:0:5")]).unwrap();
        assert_eq!((found.stretches.len(), found.cycles()), (2, 16));
        let wake = |stretch, after, thread, by_thread| Wake { stretch, after, thread, by_thread };
        assert_eq!(found.wakes, [wake(1, 2, 6, true), wake(2, 0, 5, false)]);
    }

    #[test]
    fn what_is_no_record_is_refused() {
        assert_eq!(said(&[]), Err(RecordError::Nothing));
        assert_eq!(said(&[("0", "wakes:1:2")]), Err(RecordError::Nothing));
        let gap = said(&[("0", "user:1:1"), ("2", "user:1:1")]);
        assert_eq!(gap, Err(RecordError::Gap { line: 1 }));
        for (line, words, wrong) in [
            ("0", "user:1:1 files", "files"),
            ("0", "user:1", "user:1"),
            ("0", "user:1:1:1", "user:1:1:1"),
            ("0", "user:-1:1", "user:-1:1"),
            ("0", "user:1:-1", "user:1:-1"),
            ("0", "disks:1:1", "disks:1:1"),
            ("0", "waiting.files:1:1", "waiting.files:1:1"),
            ("x", "user:1:1", "user:1:1"),
        ] {
            let error = said(&[(line, words)]).unwrap_err().to_string();
            assert!(error.contains(&format!("{wrong:?}")), "{error}");
        }
    }
}
