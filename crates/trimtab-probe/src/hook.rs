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

    /// Bytes that each function has on each thread.
    pub fn cell_size(self) -> u32 {
        match self {
            Self::Count | Self::Cycles | Self::Order | Self::Value => 16,
            Self::Time | Self::Event => 32,
            Self::Edges | Self::Trace | Self::User => 0,
        }
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
