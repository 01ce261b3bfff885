//! Locks of the kernel's own that are waited for.

use serde::{Deserialize, Serialize};
use trimtab_report::phrase::{code, count, joined, share};
use trimtab_report::row;
use trimtab_report::section::{Section, Table, number, text};

use crate::simulate::Prediction;

/// A lock of the kernel's own that is waited for. Shares are of the model's time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnLockWait {
    /// The kernel's name of it, or functions that take it: those that do so most often, and that one first.
    pub names: Vec<String>,
    /// How often it is taken.
    pub takes: u64,
    /// How often it is not free.
    pub contended: u64,
    /// For which share of the time somebody has it; those who share it are added up.
    pub held: f64,
    /// For which share of the time of all CPUs somebody waits for it.
    pub waiting: f64,
}

impl OwnLockWait {
    /// So many are listed.
    const MOST: usize = 10;

    /// Those that are waited for in what was simulated on so many CPUs, the longest first; `names` has the names of
    /// a lock by its number.
    pub fn of(
        found: &Prediction,
        cpus: usize,
        names: impl Fn(usize) -> Vec<String>,
    ) -> Vec<OwnLockWait> {
        let mut waited: Vec<_> =
            found.own.iter().enumerate().filter(|(_, used)| used.waited > 0).collect();
        waited.sort_by_key(|(_, used)| std::cmp::Reverse(used.waited));
        waited.truncate(Self::MOST);
        let share = |time: u64| time as f64 / found.time.max(1) as f64;
        let wait = |(number, used): (usize, &crate::simulate::OwnLockUse)| OwnLockWait {
            names: names(number),
            takes: used.takes,
            contended: used.contended,
            held: share(used.held),
            waiting: share(used.waited) / cpus as f64,
        };
        waited.into_iter().map(wait).collect()
    }
}

/// The table of them; what `names` are stands above its first column.
pub(super) fn section(locks: &[OwnLockWait], names: &'static str, lede: String) -> Section {
    let rows = locks.iter().enumerate().map(|(place, lock)| {
        let key = |field: &str| format!("own_locks.{place}.{field}");
        row![
            joined(lock.names.iter().map(|name| code(name.clone())), ", "),
            count(key("takes"), lock.takes),
            count(key("contended"), lock.contended),
            share(key("held"), lock.held),
            share(key("waiting"), lock.waiting),
        ]
    });
    let columns = [
        text(names),
        number("taken"),
        number("of these waited"),
        number("held"),
        number("waiting"),
    ];
    Section::new("own-locks", "Locks of the kernel's own", lede).with(Table::new(
        "Locks that are waited for",
        columns,
        rows,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::OwnLockUse;

    #[test]
    fn the_lock_that_is_waited_for_longest_is_first() {
        let used = |waited| OwnLockUse { takes: 5, contended: 2, waited, held: 300 };
        let own = vec![used(10), used(0), used(100)];
        let found = Prediction { time: 1000, own, ..Prediction::default() };
        let locks = OwnLockWait::of(&found, 4, |number| vec![format!("lock {number}")]);
        let expected = |name: &str, waiting| OwnLockWait {
            names: vec![name.to_owned()],
            takes: 5,
            contended: 2,
            held: 0.3,
            waiting,
        };
        assert_eq!(locks, [expected("lock 2", 0.025), expected("lock 0", 0.0025)]);
    }
}
