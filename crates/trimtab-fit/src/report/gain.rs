//! Whether a layout gains anything: what the machine does before and after, and what follows from it,
//! in the sentence that a report begins with.

use trimtab_report::common::BeforeAfter;
use trimtab_report::phrase::{change_of, count, kibibytes, plain, seconds};
use trimtab_report::section::Tile;
use trimtab_report::{Phrase, phrase};
use trimtab_stats::{Estimate, Interval};

/// Changes of counts below this share are no gain.
const LEAST_SHARE: f64 = 0.01;

/// Less memory than this is no gain, in KiB: Linux maps 16 pages around a fault, so what a start brings
/// in depends on where the file's code lies within 64 KiB.
const LEAST_KIB: f64 = 64.0;

/// One thing that a start or a boot costs.
#[derive(Debug)]
pub struct Cost {
    /// What it is before and after, as the end of a sentence.
    said: Phrase,
    /// Whether it became less (−1) or more (1), or that cannot be told (0).
    became: i8,
}

/// What became of a count of which a difference of less than `least` means nothing.
fn became(sides: BeforeAfter<f64>, least: f64) -> i8 {
    let BeforeAfter { before, after } = sides;
    let told = (before - after).abs() >= least.max(before * LEAST_SHARE);
    if !told || before == after { 0 } else { i8::from(after > before) * 2 - 1 }
}

impl Cost {
    /// Faults that wait for the disk; `key` is where the JSON has them.
    pub fn major_faults(key: &str, sides: BeforeAfter<f64>) -> Self {
        let said = phrase!["has ", arrow(key, sides), " major faults"];
        Self { said, became: became(sides, 1.0) }
    }

    /// Faults that find their page in memory. A few more or less are no gain: where they matter, the
    /// time shows it.
    pub fn minor_faults(key: &str, sides: BeforeAfter<f64>) -> Self {
        Self { said: phrase!["has ", arrow(key, sides), " minor faults"], became: 0 }
    }

    /// What of the files comes into memory, in KiB.
    pub fn memory(key: &str, sides: BeforeAfter<f64>) -> Self {
        let side = |which: &str, kib| kibibytes(&format!("{key}.{which}"), kib);
        let (before, after) = (side("before", sides.before), side("after", sides.after));
        let said = phrase!["brings ", before, " → ", after, " of it into memory"];
        Self { said, became: became(sides, LEAST_KIB) }
    }

    /// Pages of code that it touches.
    pub fn touched(before: u32, after: u32) -> Self {
        let sides = BeforeAfter::new(f64::from(before), f64::from(after));
        let (from, to) = (count("touched.before", before), count("touched.after", after));
        let said = phrase!["touches ", from, " → ", to, " pages of code"];
        Self { said, became: became(sides, 1.0) }
    }

    /// How long it takes, from pairs of runs.
    pub fn time(key: &str, sides: &BeforeAfter<Estimate>, ratio: &Interval) -> Self {
        let mean = |which: &str, side: &Estimate| seconds(format!("{key}.{which}.mean"), side.mean);
        let (before, after) = (mean("before", &sides.before), mean("after", &sides.after));
        let chance = if ratio.contains(1.0) { " (not told apart)" } else { " (beyond chance)" };
        Self {
            said: phrase!["takes ", before, " → ", after, chance],
            became: i8::from(ratio.low > 1.0) - i8::from(ratio.high < 1.0),
        }
    }

    /// Costs of one `subject`, as a part of a sentence.
    pub fn all(subject: &str, costs: &[Self]) -> Phrase {
        let mut said = Phrase::from(subject);
        for (place, cost) in costs.iter().enumerate() {
            let between = if place == 0 {
                " "
            } else if place + 1 == costs.len() {
                " and "
            } else {
                ", "
            };
            said.push(between);
            said.push(cost.said.clone());
        }
        said
    }
}

/// What follows from costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Some became less, and none more.
    Gain,
    /// None can be told from before.
    Same,
    /// Some became more, and none less.
    Loss,
    /// Some became less, and some more.
    Mixed,
}

impl Verdict {
    /// What follows from `costs`.
    pub fn of<'a>(costs: impl IntoIterator<Item = &'a Cost>) -> Self {
        let (mut less, mut more) = (false, false);
        for cost in costs {
            less |= cost.became < 0;
            more |= cost.became > 0;
        }
        match (less, more) {
            (true, false) => Self::Gain,
            (false, false) => Self::Same,
            (false, true) => Self::Loss,
            (true, true) => Self::Mixed,
        }
    }

    /// The beginning of the sentence that says the costs.
    pub fn lead(self) -> &'static str {
        match self {
            Self::Gain => "A gain: ",
            Self::Same => "No gain to expect: ",
            Self::Loss => "A loss: ",
            Self::Mixed => "A gain and a loss: ",
        }
    }
}

/// Both sides, with an arrow between.
pub fn arrow(key: &str, sides: BeforeAfter<f64>) -> Phrase {
    phrase![
        plain(format!("{key}.before"), sides.before),
        " → ",
        plain(format!("{key}.after"), sides.after),
    ]
}

/// The change of a time whose means are at `key`: the same number that a table of the means shows.
pub fn time_tile(label: &str, key: &str, sides: &BeforeAfter<Estimate>, ratio: &Interval) -> Tile {
    let chance = if ratio.contains(1.0) { "not told apart in " } else { "beyond chance in " };
    let runs = count(format!("{key}.after.runs"), sides.after.runs);
    let change =
        change_of(format!("{key}.after.mean/{key}.before.mean-1"), sides.map(|side| side.mean));
    Tile::new(change, label, phrase![chance, runs, " paired runs"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(before: f64, after: f64) -> BeforeAfter<f64> {
        BeforeAfter::new(before, after)
    }

    fn time(low: f64, high: f64) -> Cost {
        let side = |mean| Estimate { mean, ..Estimate::default() };
        let interval = Interval { mean: (low + high) / 2.0, low, high };
        Cost::time("time", &BeforeAfter::new(side(0.004), side(0.0039)), &interval)
    }

    #[test]
    fn a_gain_is_what_the_machine_does_less_of() {
        let faults = |before, after| Cost::major_faults("faults", sides(before, after));
        let memory = |before, after| Cost::memory("memory", sides(before, after));
        let same = time(0.98, 1.02);
        for (costs, expected) in [
            // A small program: its text lies in fewer pages, and the machine does the same.
            (vec![&faults(1.0, 1.0), &memory(272.0, 256.0), &same], "No gain to expect: "),
            (vec![&faults(1.0, 0.5), &memory(272.0, 272.0)], "No gain to expect: "),
            (vec![&faults(500.0, 497.0), &memory(90_000.0, 89_900.0)], "No gain to expect: "),
            (vec![], "No gain to expect: "),
            (vec![&faults(3.0, 2.0)], "A gain: "),
            (vec![&memory(272.0, 200.0), &same], "A gain: "),
            (vec![&faults(1.0, 1.0), &time(0.9, 0.95)], "A gain: "),
            (vec![&faults(3.0, 2.0), &time(1.01, 1.05)], "A gain and a loss: "),
            (vec![&faults(2.0, 3.0), &same], "A loss: "),
            (vec![&Cost::minor_faults("minor", sides(46.0, 31.0)), &same], "No gain to expect: "),
            (vec![&Cost::touched(0, 0)], "No gain to expect: "),
            (vec![&Cost::touched(26, 10)], "A gain: "),
        ] {
            assert_eq!(Verdict::of(costs.iter().copied()).lead(), expected, "{costs:?}");
        }
    }

    #[test]
    fn costs_are_said_before_and_after() {
        let costs = [
            Cost::major_faults("faults", sides(1.0, 1.0)),
            Cost::memory("memory", sides(272.0, 256.0)),
            time(0.98, 1.02),
        ];
        assert_eq!(
            Cost::all("a cold start", &costs).text(),
            "a cold start has 1 → 1 major faults, brings 272.0 KiB → 256.0 KiB of it into memory \
             and takes 4.00 ms → 3.90 ms (not told apart)"
        );
    }
}
