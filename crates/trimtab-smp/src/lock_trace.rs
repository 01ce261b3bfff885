//! Which locks of the kernel's own copies of a workload took, and for how long: what `qemu/trimtab_locks.c` wrote
//! while they ran one after the other, each on a CPU of its own.
//!
//! On a CPU of its own, what a copy has for itself alone (its address space, its files, what the kernel has for each
//! CPU) is elsewhere in memory than that of another copy. So a lock that two copies took, at the same address, is one
//! for which they can wait; all others are left out.

use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::trace::Taking;

/// A step of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockStep {
    /// It executes so many instructions.
    Run(u64),
    /// It takes a lock, by its place in [`LockTrace::locks`].
    Take(u32, Taking),
    /// It gives back a lock.
    Release(u32),
}

/// What a copy did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockedCopy {
    /// In its order. Each lock that is taken is given back.
    pub steps: Vec<LockStep>,
    /// Instructions of its CPU from its beginning to its end.
    pub instructions: u64,
    /// How often its CPU had nothing to do.
    pub idle: u64,
}

/// A lock that more than one copy took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedLock {
    /// Addresses of code that took it, and how often, the most first.
    pub takers: Vec<(u64, u64)>,
}

/// What all copies did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockTrace {
    /// The copies, by their numbers.
    pub copies: Vec<LockedCopy>,
    /// The locks that more than one took.
    pub locks: Vec<SharedLock>,
}

/// Text that is no trace of locks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LockTraceError {
    /// A line cannot be read.
    #[error(
        "line {line} of the locks that were taken is {text:?}; expected `mark`, an event of a CPU, or `end`"
    )]
    Unreadable {
        /// Its number, from 1.
        line: usize,
        /// What it says.
        text: String,
    },
    /// Copies did not begin, or one did not end.
    #[error(
        "the guest marked {marks} beginnings and ends of copies; expected two for each of 2 or more copies"
    )]
    Marks {
        /// How many there are.
        marks: usize,
    },
}

/// An event of the CPU of the copy that ran.
#[derive(Debug, Clone, Copy)]
struct Event {
    /// Instructions of its CPU before it.
    count: u64,
    lock: u64,
    /// How it was taken, and by whose code; none if it was given back.
    taken: Option<(Taking, u64)>,
}

/// A copy, as it is read.
#[derive(Debug, Default)]
struct Interval {
    begin: u64,
    end: u64,
    idle: u64,
    events: Vec<Event>,
}

impl LockTrace {
    /// Reads what the plugin wrote.
    ///
    /// # Errors
    /// [`LockTraceError`]
    pub fn read(text: &str) -> Result<Self, LockTraceError> {
        let intervals = intervals(text)?;
        // The first copy that took each lock, and whether another one did.
        let mut takers: FxHashMap<u64, (usize, bool)> = FxHashMap::default();
        for (copy, interval) in intervals.iter().enumerate() {
            for event in interval.events.iter().filter(|event| event.taken.is_some()) {
                let (first, is_shared) = takers.entry(event.lock).or_insert((copy, false));
                *is_shared |= *first != copy;
            }
        }
        takers.retain(|_, (_, is_shared)| *is_shared);
        let mut numbers: FxHashMap<u64, u32> = FxHashMap::default();
        let mut code: Vec<FxHashMap<u64, u64>> = Vec::new();
        let copies = intervals.iter().map(|interval| {
            let mut copy = Copy::new(interval);
            for event in interval.events.iter().filter(|event| takers.contains_key(&event.lock)) {
                let number = *numbers.entry(event.lock).or_insert_with(|| {
                    code.push(FxHashMap::default());
                    code.len() as u32 - 1
                });
                if let Some((_, by)) = event.taken {
                    *code[number as usize].entry(by).or_default() += 1;
                }
                copy.add(event, number);
            }
            copy.end(interval)
        });
        let copies = copies.collect();
        let locks = code.into_iter().map(|takers| {
            let mut takers: Vec<(u64, u64)> = takers.into_iter().collect();
            takers.sort_unstable_by_key(|&(address, times)| (std::cmp::Reverse(times), address));
            SharedLock { takers }
        });
        Ok(Self { copies, locks: locks.collect() })
    }
}

/// A copy whose steps are put together.
struct Copy {
    steps: Vec<LockStep>,
    last: u64,
    held: Vec<u32>,
}

impl Copy {
    fn new(interval: &Interval) -> Self {
        Self { steps: Vec::new(), last: interval.begin, held: Vec::new() }
    }

    fn run_to(&mut self, count: u64) {
        if count > self.last {
            self.steps.push(LockStep::Run(count - self.last));
            self.last = count;
        }
    }

    fn add(&mut self, event: &Event, number: u32) {
        match event.taken {
            Some((taking, _)) => {
                self.run_to(event.count);
                self.held.push(number);
                self.steps.push(LockStep::Take(number, taking));
            }
            None => {
                // What was taken before it began is not its own.
                let Some(at) = self.held.iter().rposition(|held| *held == number) else { return };
                self.run_to(event.count);
                self.held.remove(at);
                self.steps.push(LockStep::Release(number));
            }
        }
    }

    fn end(mut self, interval: &Interval) -> LockedCopy {
        self.run_to(interval.end);
        for number in std::mem::take(&mut self.held).into_iter().rev() {
            self.steps.push(LockStep::Release(number));
        }
        LockedCopy {
            steps: self.steps,
            instructions: interval.end.saturating_sub(interval.begin),
            idle: interval.idle,
        }
    }
}

/// What the copies did, each between two marks.
fn intervals(text: &str) -> Result<Vec<Interval>, LockTraceError> {
    let mut intervals: Vec<Interval> = Vec::new();
    let mut marks = 0;
    for (at, line) in text.lines().enumerate() {
        let unreadable = || LockTraceError::Unreadable { line: at + 1, text: line.to_owned() };
        let mut words = line.split(' ');
        match words.next() {
            Some("mark") => {
                let cpu = marks / 2;
                // A CPU that executed nothing yet may be missing.
                let count = match words.nth(cpu) {
                    Some(word) => word.parse().map_err(|_| unreadable())?,
                    None => 0,
                };
                if marks % 2 == 0 {
                    intervals.push(Interval { begin: count, ..Interval::default() });
                } else if let Some(interval) = intervals.last_mut() {
                    interval.end = count;
                }
                marks += 1;
            }
            Some("end") => break,
            Some(word) => {
                let cpu: usize = word.parse().map_err(|_| unreadable())?;
                let event = event(words).ok_or_else(unreadable)?;
                let running = (marks % 2 == 1 && cpu == marks / 2).then(|| intervals.last_mut());
                match (running.flatten(), event) {
                    (Some(interval), Some(event)) => interval.events.push(event),
                    (Some(interval), None) => interval.idle += 1,
                    (None, _) => {}
                }
            }
            None => return Err(unreadable()),
        }
    }
    if marks < 4 || marks % 2 == 1 {
        return Err(LockTraceError::Marks { marks });
    }
    Ok(intervals)
}

/// What comes behind the number of a CPU: none if that is no event, nothing in it if the CPU had nothing to do.
fn event<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Option<Event>> {
    let count = words.next()?.parse().ok()?;
    let kind = words.next()?;
    let mut address = || u64::from_str_radix(words.next()?, 16).ok();
    let taking = match kind {
        "i" => return Some(None),
        "r" => return Some(Some(Event { count, lock: address()?, taken: None })),
        "x" => Taking::Alone,
        "t" => Taking::Try,
        "s" => Taking::Shared,
        _ => return None,
    };
    let lock = address()?;
    Some(Some(Event { count, lock, taken: Some((taking, address()?)) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "mark 100 40\n\
        0 110 x a0 f1\n\
        1 41 x a0 f9\n\
        0 120 s b0 f2\n\
        0 130 r b0\n\
        0 150 r a0\n\
        0 155 r c0\n\
        0 160 i\n\
        0 170 s c0 f3\n\
        mark 200 50\n\
        0 210 x b0 f4\n\
        mark 220 60\n\
        1 70 x a0 f1\n\
        1 75 x a0 f5\n\
        1 80 r a0\n\
        1 85 t c0 f3\n\
        mark 230 90\n\
        end\n";

    #[test]
    fn only_locks_that_two_copies_took_are_kept_and_all_are_given_back() {
        use LockStep::{Release, Run, Take};
        let found = LockTrace::read(TEXT).unwrap();
        let first = [
            Run(10),
            Take(0, Taking::Alone),
            Run(40),
            Release(0),
            Run(20),
            Take(1, Taking::Shared),
            Run(30),
            Release(1),
        ];
        assert_eq!(found.copies[0].steps, first);
        assert_eq!((found.copies[0].instructions, found.copies[0].idle), (100, 1));
        let second = [
            Run(10),
            Take(0, Taking::Alone),
            Run(5),
            Take(0, Taking::Alone),
            Run(5),
            Release(0),
            Run(5),
            Take(1, Taking::Try),
            Run(5),
            Release(1),
            Release(0),
        ];
        assert_eq!(found.copies[1].steps, second);
        assert_eq!(found.locks[0].takers, [(0xf1, 2), (0xf5, 1)]);
        assert_eq!(found.locks[1].takers, [(0xf3, 2)]);
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        for text in ["", "mark 1\nend\n", "mark 1\nmark 2\nend\n", "mark 1\nmark 2\nmark 3\nend\n"]
        {
            assert!(matches!(LockTrace::read(text), Err(LockTraceError::Marks { .. })), "{text}");
        }
        for line in
            ["0", "0 1", "0 1 y 2", "0 1 x 2", "0 1 x 2 z", "0 x r 1", "mark x", "", "x 1 r 1"]
        {
            let text = format!("mark 0\n{line}\nmark 1\n");
            let found = LockTrace::read(&text);
            assert!(matches!(found, Err(LockTraceError::Unreadable { .. })), "{line}: {found:?}");
        }
    }
}
