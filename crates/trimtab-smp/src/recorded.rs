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
}

impl Stretch {
    /// Whether a thread of the kernel runs.
    pub fn is_of_threads(&self) -> bool {
        self.doing == Doing::Kernel(Place::Threads)
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
        "in line {line} of what its CPU did the guest says {word:?}; expected PLACE:CYCLES, in lines that are \
         numbered"
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

/// Reads lines of `PLACE:CYCLES` by their numbers, from 0.
///
/// # Errors
/// If there are none, if one of them is missing, or if one is no such line.
pub fn read(lines: &BTreeMap<String, String>) -> Result<Vec<Stretch>, RecordError> {
    let unreadable = |line: &str, word: &str| RecordError::Unreadable {
        line: line.to_owned(),
        word: word.to_owned(),
    };
    let mut numbered = BTreeMap::new();
    for (line, words) in lines {
        let number: u64 = line.parse().map_err(|_| unreadable(line, words))?;
        let stretches: Option<Vec<Stretch>> = words.split_whitespace().map(stretch).collect();
        let found = stretches.ok_or_else(|| {
            let word = words.split_whitespace().find(|word| stretch(word).is_none());
            unreadable(line, word.unwrap_or_default())
        })?;
        numbered.insert(number, found);
    }
    for (expected, &found) in (0..).zip(numbered.keys()) {
        if expected != found {
            return Err(RecordError::Gap { line: expected });
        }
    }
    let all: Vec<Stretch> = numbered.into_values().flatten().collect();
    if all.is_empty() { Err(RecordError::Nothing) } else { Ok(all) }
}

fn stretch(word: &str) -> Option<Stretch> {
    let (place, cycles) = word.split_once(':')?;
    let doing = match place {
        "user" => Doing::User,
        "idle" => Doing::Idle,
        "interrupt" => Doing::Interrupt,
        name => Doing::Kernel(Place::named(name)?),
    };
    Some(Stretch { doing, cycles: cycles.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subsystem::Subsystem;

    fn said(lines: &[(&str, &str)]) -> Result<Vec<Stretch>, RecordError> {
        let pair = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        read(&lines.iter().map(pair).collect())
    }

    #[test]
    fn lines_are_in_the_order_of_their_numbers() {
        let mut lines: Vec<(String, String)> =
            (0..12).map(|number| (number.to_string(), format!("files:{number}"))).collect();
        lines[0].1 = "user:7 idle:8 interrupt:9 threads:10".to_owned();
        let found = read(&lines.into_iter().collect()).unwrap();
        let files = Doing::Kernel(Place::Of(Subsystem::Files));
        let first: Vec<Doing> = found[..4].iter().map(|stretch| stretch.doing).collect();
        let threads = Doing::Kernel(Place::Threads);
        assert_eq!(first, [Doing::User, Doing::Idle, Doing::Interrupt, threads]);
        let after: Vec<u64> = found[4..].iter().map(|stretch| stretch.cycles).collect();
        assert_eq!(after, (1..12).collect::<Vec<u64>>());
        assert!(found[4..].iter().all(|stretch| stretch.doing == files));
    }

    #[test]
    fn what_is_no_record_is_refused() {
        assert_eq!(said(&[]), Err(RecordError::Nothing));
        assert_eq!(said(&[("0", "user:1"), ("2", "user:1")]), Err(RecordError::Gap { line: 1 }));
        for (line, words, wrong) in [
            ("0", "user:1 files", "files"),
            ("0", "user:-1", "user:-1"),
            ("0", "disks:1", "disks:1"),
            ("0", "waiting.files:1", "waiting.files:1"),
            ("x", "user:1", "user:1"),
        ] {
            let error = said(&[(line, words)]).unwrap_err().to_string();
            assert!(error.contains(&format!("{wrong:?}")), "{error}");
        }
    }
}
