//! The hooks: what is recorded when a function is entered and left, and where.
//!
//! A new kind of hook is a row in each table here, what stubs do for it (`arch/*/stub`), and what the run
//! time does for it (`probe/hooks.h`) where stubs call that.

use serde::{Deserialize, Serialize};

/// What is done when a function is entered and left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hook {
    /// Counts entries and exits.
    Count,
    /// Counts calls, and adds up the cycles between entry and exit.
    Cycles,
    /// As `Cycles`, and tells the function's own cycles from those of what it calls.
    Time,
    /// Counts calls, and notes which function ran first. Exits are not seen.
    Order,
    /// Counts how often each function calls each other.
    Edges,
    /// Records every entry and exit with its time.
    Trace,
    /// Calls two functions of the user's.
    User,
    /// Counts calls, and adds up by how much a number in memory grew between entry and exit.
    Value,
    /// Counts calls, and adds up by how much a counter of the processor or of the system grew, in all
    /// and without what the function calls. Which one is chosen when the program runs.
    Event,
}

/// What a word of a function's cell counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// Entries, or with hooks that see exits by themselves, calls that ended.
    Calls,
    /// Exits.
    Exits,
    /// Cycles from entry to exit.
    Cycles,
    /// The same, or what else grew, of the outermost calls.
    Total,
    /// That without callees.
    Own,
    /// By how much the number grew.
    Value,
    /// The place in the order of first calls.
    First,
    /// Which call is the outermost; of no interest when the program has ended.
    Outermost,
}

impl Hook {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Count,
        Self::Cycles,
        Self::Time,
        Self::Order,
        Self::Edges,
        Self::Trace,
        Self::User,
        Self::Value,
        Self::Event,
    ];

    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Cycles => "cycles",
            Self::Time => "time",
            Self::Order => "order",
            Self::Edges => "edges",
            Self::Trace => "trace",
            Self::User => "user",
            Self::Value => "value",
            Self::Event => "event",
        }
    }

    /// The hook of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }

    /// The number by which the run time knows it.
    pub fn number(self) -> u32 {
        self as u32 + 1
    }

    /// The hook of this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.number() == number)
    }

    /// What each function has on each thread, a word for each.
    pub fn cell(self) -> &'static [Counter] {
        match self {
            Self::Count => &[Counter::Calls, Counter::Exits],
            Self::Cycles => &[Counter::Calls, Counter::Cycles],
            Self::Order => &[Counter::Calls, Counter::First],
            Self::Value => &[Counter::Calls, Counter::Value],
            Self::Time | Self::Event => {
                &[Counter::Calls, Counter::Total, Counter::Own, Counter::Outermost]
            }
            Self::Edges | Self::Trace | Self::User => &[],
        }
    }

    /// Bytes that each function has on each thread.
    pub fn cell_size(self) -> u32 {
        8 * self.cell().len() as u32
    }

    /// Whether stubs do it by themselves, and do not call the run time for it.
    pub fn is_in_stubs(self) -> bool {
        !matches!(self, Self::Edges | Self::Trace | Self::User | Self::Event)
    }

    /// Whether reports have what a function took without its callees.
    pub fn has_own(self) -> bool {
        self == Self::Trace || self.cell().contains(&Counter::Own)
    }

    /// Whether reports have what a function took with its callees.
    pub fn has_total(self) -> bool {
        self.has_own() || self.cell().contains(&Counter::Cycles)
    }

    /// Whether reports have by how much a number grew.
    pub fn has_value(self) -> bool {
        self.cell().contains(&Counter::Value)
    }

    /// Whether it sees functions end.
    pub fn sees_exits(self) -> bool {
        self != Self::Order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_read_back() {
        for hook in Hook::ALL {
            assert_eq!(Hook::from_name(hook.name()), Some(hook));
            assert_eq!(Hook::from_number(hook.number()), Some(hook));
        }
        assert_eq!(Hook::from_name("nothing"), None);
        assert_eq!(Hook::from_number(0), None);
    }
}
