//! What system calls cost with and without coarse locks.

use serde::{Deserialize, Serialize};
use trimtab_report::phrase::{change_by, code, count};
use trimtab_report::section::{Section, Table, number, text};
use trimtab_report::{Phrase, phrase, row};

/// Instructions of a system call on one CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LockedCall {
    /// Its name.
    pub name: String,
    /// In the same kernel without the patch.
    pub without: u64,
    /// With the patch, and nothing locked or counted.
    pub off: u64,
    /// With nothing locked, and all counted.
    pub fine: u64,
    /// With a lock for each subsystem.
    pub coarse: u64,
    /// With one lock.
    pub giant: u64,
}

impl LockedCall {
    /// By which share it costs more than without the patch, if nothing is locked or counted.
    pub fn off_change(&self) -> f64 {
        change(self.without, self.off)
    }
}

fn change(without: u64, with: u64) -> f64 {
    with as f64 / without.max(1) as f64 - 1.0
}

/// A section with a row for each call; `calls` are those of the report.
pub(super) fn section(calls: &[LockedCall]) -> Section {
    Section::new("calls", "Instructions of each call", lede(calls)).with(table(calls))
}

fn lede(calls: &[LockedCall]) -> Phrase {
    let most = calls.iter().enumerate().max_by(|(_, one), (_, other)| {
        one.off_change()
            .abs()
            .total_cmp(&other.off_change().abs())
            .then_with(|| other.name.cmp(&one.name))
    });
    let (place, worst) = match most {
        Some((place, call)) => (place, call.clone()),
        None => return Phrase::default(),
    };
    phrase![
        "Of one CPU. Without the patch is the same kernel without it; off is the kernel with it, in which nothing is \
         locked or counted. Off, the patch changes a call by ",
        change_by(format!("calls.{place}.off/calls.{place}.without-1"), worst.off_change()),
        " at most, ",
        code(worst.name),
        ".",
    ]
}

fn table(calls: &[LockedCall]) -> Table {
    let rows = calls.iter().enumerate().map(|(place, call)| {
        let key = format!("calls.{place}");
        let instructions = |name: &str, value| count(format!("{key}.{name}"), value);
        row![
            code(call.name.clone()),
            instructions("without", call.without),
            instructions("off", call.off),
            change_by(format!("{key}.off/{key}.without-1"), call.off_change()),
            instructions("fine", call.fine),
            instructions("coarse", call.coarse),
            instructions("giant", call.giant),
        ]
    });
    let columns = [
        text("call"),
        number("without the patch"),
        number("off"),
        number("more"),
        number("fine"),
        number("coarse"),
        number("giant"),
    ];
    Table::new("Instructions of each call", columns, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_call_is_named() {
        let call = |name: &str, without, off| LockedCall {
            name: name.to_owned(),
            without,
            off,
            ..LockedCall::default()
        };
        let calls = [call("open", 1000, 1001), call("getpid", 100, 101), call("read", 500, 490)];
        assert!((calls[1].off_change() - 0.01).abs() < 1e-12);
        let lede = lede(&calls).text();
        assert!(lede.contains("-2.0 %") || lede.contains("\u{2212}2.0 %"), "{lede}");
        assert!(lede.contains("read"), "{lede}");
        assert_eq!(section(&[]).id, "calls");
    }
}
