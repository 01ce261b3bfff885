//! The hooks: what is recorded when a function is entered and left, and where.
//!
//! A new kind of hook is a row in each table here, what stubs do for it (`arch/*/stub`; no match there has
//! an arm for all others), and what the run time does for it (`probe/hooks.h`) where stubs call that. What
//! the run time must know of hooks is written to `probe/abi.h` from here.

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

/// What adds up when a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddsUp {
    /// The stub, by what it keeps on the stack or in the frame of the call.
    Stub,
    /// The run time, by its own stack of calls.
    RunTime,
}

impl Counter {
    /// Whether it grows when a call ends, by what was between entry and exit.
    fn is_sum(self) -> bool {
        match self {
            Self::Cycles | Self::Total | Self::Own | Self::Value => true,
            Self::Calls | Self::Exits | Self::First | Self::Outermost => false,
        }
    }
}

impl Hook {
    /// What is done where nothing else is said.
    pub const DEFAULT: Self = Self::Time;
    /// What is done with functions of the user's where nothing else is said: they are called.
    pub const DEFAULT_OF_USERS: Self = Self::User;

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

    /// The names of those of which something is true, in a sentence.
    pub fn names(is: impl Fn(Self) -> bool, between: &str) -> String {
        let those = Self::ALL.into_iter().filter(|hook| is(*hook));
        those.map(Self::name).collect::<Vec<_>>().join(between)
    }

    /// The hook of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }

    /// What its name alone does not say, as help has it behind the name; empty for most.
    pub fn remark(self) -> &'static str {
        match self {
            Self::Count | Self::Cycles | Self::Time | Self::Order | Self::Edges | Self::Trace => "",
            Self::User => " for functions of your own",
            Self::Value => " (see trimtab_probe.h)",
            Self::Event => " (TRIMTAB_PROBE_EVENT names it when the program runs)",
        }
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
        match self {
            Self::Count | Self::Cycles | Self::Time | Self::Order | Self::Value => true,
            Self::Edges | Self::Trace | Self::User | Self::Event => false,
        }
    }

    /// What adds up when a call ends; none where nothing is counted there. Calls that are under way when
    /// the program ends must be accounted for then.
    pub fn adds_up(self) -> Option<AddsUp> {
        let sums = self.cell().iter().any(|counter| counter.is_sum());
        sums.then(|| if self.is_in_stubs() { AddsUp::Stub } else { AddsUp::RunTime })
    }

    /// The counter that has cycles of the stubs themselves in it, which are measured when the program
    /// begins, and taken off when the recording is read.
    pub fn overhead(self) -> Option<Counter> {
        let has = |counter: &Counter| matches!(counter, Counter::Cycles | Counter::Own);
        self.cell().iter().copied().find(has).filter(|_| self.is_in_stubs())
    }

    /// Whether each entry and exit is recorded.
    pub fn has_events(self) -> bool {
        match self {
            Self::Trace => true,
            Self::Count | Self::Cycles | Self::Time | Self::Order | Self::Edges => false,
            Self::User | Self::Value | Self::Event => false,
        }
    }

    /// Whether recordings tell which function ran first.
    pub fn tells_first(self) -> bool {
        self.has_events() || self.cell().contains(&Counter::First)
    }

    /// Whether what grows is a counter that is chosen when the program runs, and no cycles.
    pub fn counts_chosen(self) -> bool {
        match self {
            Self::Event => true,
            Self::Count | Self::Cycles | Self::Time | Self::Order | Self::Edges => false,
            Self::Trace | Self::User | Self::Value => false,
        }
    }

    /// Whether functions of the user's are called.
    pub fn calls_user(self) -> bool {
        match self {
            Self::User => true,
            Self::Count | Self::Cycles | Self::Time | Self::Order | Self::Edges => false,
            Self::Trace | Self::Value | Self::Event => false,
        }
    }

    /// Whether reports have what a function took without its callees.
    pub fn has_own(self) -> bool {
        self.has_events() || self.cell().contains(&Counter::Own)
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
        match self {
            Self::Order => false,
            Self::Count | Self::Cycles | Self::Time | Self::Edges | Self::Trace => true,
            Self::User | Self::Value | Self::Event => true,
        }
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

    #[test]
    fn what_follows_from_the_words_of_a_cell() {
        let those = |is: fn(Hook) -> bool| Hook::names(is, " ");
        assert_eq!(those(|hook| hook.adds_up() == Some(AddsUp::Stub)), "cycles time value");
        assert_eq!(those(|hook| hook.adds_up() == Some(AddsUp::RunTime)), "event");
        assert_eq!(those(|hook| hook.overhead().is_some()), "cycles time");
        assert_eq!(those(Hook::tells_first), "order trace");
        assert!(Hook::DEFAULT_OF_USERS.calls_user());
    }
}
