//! What the CPUs of a kernel with coarse locks did: its counters, added up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::subsystem::Subsystem;

/// Where a CPU is in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A call or a fault of a subsystem.
    Of(Subsystem),
    /// A thread of the kernel.
    Threads,
}

impl Place {
    /// All of them, in the order of [`Self::index`].
    pub const ALL: [Place; 6] = [
        Place::Of(Subsystem::Files),
        Place::Of(Subsystem::Network),
        Place::Of(Subsystem::Memory),
        Place::Of(Subsystem::Ipc),
        Place::Of(Subsystem::Processes),
        Place::Threads,
    ];

    /// Its name among the kernel's counters and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Place::Of(Subsystem::Ipc) => "ipc",
            Place::Of(subsystem) => subsystem.name(),
            Place::Threads => "threads",
        }
    }

    /// Its place in [`Self::ALL`].
    pub fn index(self) -> usize {
        match self {
            Place::Of(subsystem) => subsystem.index(),
            Place::Threads => Subsystem::ALL.len(),
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.name() == name)
    }
}

/// A value for each place in the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ByPlace<T> {
    /// Files and file systems.
    pub files: T,
    /// Sockets.
    pub network: T,
    /// Address spaces, and page faults.
    pub memory: T,
    /// Pipes, futexes, and waiting for events.
    pub ipc: T,
    /// Processes, signals, time, and all else.
    pub processes: T,
    /// Threads of the kernel.
    pub threads: T,
}

impl<T: Copy> ByPlace<T> {
    /// That of a place.
    pub fn of(&self, place: Place) -> T {
        match place {
            Place::Of(Subsystem::Files) => self.files,
            Place::Of(Subsystem::Network) => self.network,
            Place::Of(Subsystem::Memory) => self.memory,
            Place::Of(Subsystem::Ipc) => self.ipc,
            Place::Of(Subsystem::Processes) => self.processes,
            Place::Threads => self.threads,
        }
    }

    /// The same of what is made of each.
    pub fn map<U>(&self, make: impl Fn(T) -> U) -> ByPlace<U> {
        ByPlace {
            files: make(self.files),
            network: make(self.network),
            memory: make(self.memory),
            ipc: make(self.ipc),
            processes: make(self.processes),
            threads: make(self.threads),
        }
    }

    fn of_mut(&mut self, place: Place) -> &mut T {
        match place {
            Place::Of(Subsystem::Files) => &mut self.files,
            Place::Of(Subsystem::Network) => &mut self.network,
            Place::Of(Subsystem::Memory) => &mut self.memory,
            Place::Of(Subsystem::Ipc) => &mut self.ipc,
            Place::Of(Subsystem::Processes) => &mut self.processes,
            Place::Threads => &mut self.threads,
        }
    }
}

impl ByPlace<f64> {
    /// All of it.
    pub fn sum(&self) -> f64 {
        Place::ALL.into_iter().map(|place| self.of(place)).sum()
    }
}

impl ByPlace<u64> {
    /// All of it.
    pub fn sum(&self) -> u64 {
        Place::ALL.into_iter().map(|place| self.of(place)).sum()
    }
}

/// What all CPUs did together; times are in cycles of their counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// In programs.
    pub user: u64,
    /// With nothing to do.
    pub idle: u64,
    /// In interrupts and exceptions that came from programs, but for where a task takes a lock or would; and in
    /// interrupts that came from where nothing was to do, where interrupts take a lock.
    pub interrupt: u64,
    /// In the kernel.
    pub kernel: ByPlace<u64>,
    /// Waiting for locks.
    pub waiting: ByPlace<u64>,
    /// How often the kernel was entered, or gone on with after others ran: with a lock, it was taken then.
    pub taken: ByPlace<u64>,
    /// How often a lock was not free.
    pub contended: ByPlace<u64>,
    /// What interrupts did that take a lock.
    pub irq: Irq<u64>,
}

/// What interrupts did that take a lock; the time for which they had it is that of interrupts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Irq<T> {
    /// Waiting for it.
    pub waiting: T,
    /// How often they took it.
    pub taken: u64,
    /// How often it was not free.
    pub contended: u64,
}

/// Counters that are none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CountedError {
    /// There are none.
    #[error("the guest says nothing of what its CPUs did")]
    Nothing,
    /// One of them cannot be read.
    #[error(
        "the guest says that its counter {name} is {value:?}; expected `cpuN.WHAT`, or `cpuN.WHAT.SUBSYSTEM`, and \
         a number"
    )]
    Unreadable {
        /// Its name.
        name: String,
        /// What it is.
        value: String,
    },
}

impl Counted {
    /// Adds up counters, by their names.
    ///
    /// # Errors
    /// If there are none, or if one is none of this kernel.
    pub fn read(counters: &BTreeMap<String, String>) -> Result<Self, CountedError> {
        let mut all = Self::default();
        for (name, value) in counters {
            let unreadable =
                || CountedError::Unreadable { name: name.clone(), value: value.clone() };
            let number: u64 = value.parse().map_err(|_| unreadable())?;
            let counter = all.counter(name).ok_or_else(unreadable)?;
            *counter = counter.checked_add(number).ok_or_else(unreadable)?;
        }
        if all.time() == 0 { Err(CountedError::Nothing) } else { Ok(all) }
    }

    fn counter(&mut self, name: &str) -> Option<&mut u64> {
        let mut words = name.strip_prefix("cpu")?.split('.');
        words.next()?.parse::<u32>().ok()?;
        let (what, place) = (words.next()?, words.next());
        if words.next().is_some() {
            return None;
        }
        if place == Some("interrupt") {
            return match what {
                "waiting" => Some(&mut self.irq.waiting),
                "taken" => Some(&mut self.irq.taken),
                "contended" => Some(&mut self.irq.contended),
                _ => None,
            };
        }
        let place = match place {
            None => None,
            Some(name) => Some(Place::named(name)?),
        };
        match (what, place) {
            ("user", None) => Some(&mut self.user),
            ("idle", None) => Some(&mut self.idle),
            ("interrupt", None) => Some(&mut self.interrupt),
            ("kernel", Some(place)) => Some(self.kernel.of_mut(place)),
            ("waiting", Some(place)) => Some(self.waiting.of_mut(place)),
            ("taken", Some(place)) => Some(self.taken.of_mut(place)),
            ("contended", Some(place)) => Some(self.contended.of_mut(place)),
            _ => None,
        }
    }

    /// All of the time of all CPUs.
    pub fn time(&self) -> u64 {
        let waiting = [self.waiting.sum(), self.irq.waiting];
        let parts = [self.user, self.idle, self.interrupt, self.kernel.sum()];
        parts.into_iter().chain(waiting).fold(0, u64::saturating_add)
    }

    /// Which share of the time that is not idle is in the kernel, without waiting.
    pub fn in_kernel(&self) -> f64 {
        let kernel = self.kernel.sum() + self.interrupt;
        kernel as f64 / (kernel + self.user).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(counters: &[(&str, &str)]) -> Result<Counted, CountedError> {
        let pair = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        Counted::read(&counters.iter().map(pair).collect())
    }

    #[test]
    fn counters_of_all_cpus_are_added_up() {
        let found = read(&[
            ("cpu0.user", "600"),
            ("cpu1.user", "40"),
            ("cpu0.kernel.files", "300"),
            ("cpu10.kernel.ipc", "60"),
            ("cpu1.waiting.files", "9"),
            ("cpu1.taken.threads", "2"),
            ("cpu1.contended.files", "1"),
            ("cpu1.idle", "71"),
            ("cpu0.waiting.interrupt", "20"),
            ("cpu1.taken.interrupt", "5"),
            ("cpu1.contended.interrupt", "4"),
        ])
        .unwrap();
        assert_eq!((found.user, found.kernel.files, found.kernel.ipc), (640, 300, 60));
        assert_eq!((found.waiting.files, found.taken.threads, found.contended.files), (9, 2, 1));
        assert_eq!(found.irq, Irq { waiting: 20, taken: 5, contended: 4 });
        assert_eq!((found.time(), found.in_kernel()), (1100, 0.36));
    }

    #[test]
    fn what_is_no_counter_is_refused() {
        assert_eq!(read(&[]), Err(CountedError::Nothing));
        assert_eq!(read(&[("cpu0.taken.files", "3")]), Err(CountedError::Nothing));
        for (name, value) in [
            ("cpu0.user", "-1"),
            ("cpu0.user", "many"),
            ("user", "1"),
            ("cpu.user", "1"),
            ("cpux.user", "1"),
            ("cpu0", "1"),
            ("cpu0.kernel", "1"),
            ("cpu0.user.files", "1"),
            ("cpu0.kernel.disks", "1"),
            ("cpu0.kernel.interrupt", "1"),
            ("cpu0.kernel.files.more", "1"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(value), "{error}");
        }
        let most = u64::MAX.to_string();
        assert!(read(&[("cpu0.user", &most), ("cpu1.user", "1")]).is_err());
    }

    #[test]
    fn each_place_has_a_name_and_an_index() {
        for (number, place) in Place::ALL.into_iter().enumerate() {
            assert_eq!((place.index(), Place::named(place.name())), (number, Some(place)));
        }
    }
}
