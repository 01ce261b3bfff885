//! The pieces that several reports share.

use crate::number;
use crate::phrase::{Number, Unit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The same thing measured on the program as it was and on the program as it was laid out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeforeAfter<T> {
    /// As the program was.
    pub before: T,
    /// As it is laid out now.
    pub after: T,
}

impl<T> BeforeAfter<T> {
    /// Both sides.
    pub fn new(before: T, after: T) -> Self {
        Self { before, after }
    }

    /// Both sides, each put through `f`.
    pub fn map<U>(&self, mut f: impl FnMut(&T) -> U) -> BeforeAfter<U> {
        BeforeAfter { before: f(&self.before), after: f(&self.after) }
    }
}

/// The fewest pages that what ran fits into.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Minimum {
    /// With whole functions moved: the executed functions' bytes, in pages.
    pub function_pages: u32,
    /// With single bytes moved: the executed bytes, in pages.
    pub executed_pages: u32,
}

/// Functions of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Functions {
    /// All of them.
    pub total: u64,
    /// Those that ran.
    pub executed: u64,
}

/// How much of a trace was found in the program, 0 to 1 each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// Share of the functions.
    pub names: f64,
    /// Share of the executed bytes.
    pub bytes: f64,
}

/// A file that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Where it is, as the command line gave it.
    pub path: String,
    /// What it is, for people: `ELF x86-64`, `trace of the QEMU plugin`.
    pub kind: String,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

/// What became of the lines of an order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderCounts {
    /// Placed where the order says.
    pub placed: u64,
    /// The program has no such name.
    pub unknown: u64,
    /// The name occurs more than once, in the program or in the order.
    pub duplicate: u64,
    /// The linker threw the section away.
    pub discarded: u64,
    /// The kernel keeps it in a section of its own, where no order reaches.
    pub pinned: u64,
}

impl OrderCounts {
    /// All lines of the order.
    pub fn total(&self) -> u64 {
        self.placed + self.unknown + self.duplicate + self.discarded + self.pinned
    }
}

/// Something that must hold, and whether it does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What must hold, as a short sentence without a full stop.
    pub name: String,
    /// Whether it does.
    pub ok: bool,
    /// What was found.
    pub detail: String,
}

impl Check {
    /// A check called `name`.
    pub fn new(name: impl Into<String>, ok: bool, detail: impl Into<String>) -> Self {
        Self { name: name.into(), ok, detail: detail.into() }
    }

    /// Those of `checks` that do not hold, a clause each.
    pub fn failures(checks: &[Self]) -> Vec<String> {
        let failed = checks.iter().filter(|check| !check.ok);
        failed.map(|check| format!("not so: {} ({})", check.name, check.detail)).collect()
    }
}

/// On which side of its limit a target is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetSense {
    /// `value <= limit`.
    AtMost,
    /// `value >= limit`.
    AtLeast,
}

impl TargetSense {
    /// The sign between the number found and its limit.
    pub fn sign(self) -> &'static str {
        match self {
            Self::AtMost => "≤",
            Self::AtLeast => "≥",
        }
    }
}

/// A number to reach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Of what, with its unit.
    pub name: String,
    /// The number to reach.
    pub limit: f64,
    /// The number found.
    pub value: f64,
    /// Whether it was reached.
    pub met: bool,
    /// On which side of the limit it is met.
    pub sense: TargetSense,
}

impl Target {
    /// Met where `value <= limit`.
    pub fn at_most(name: impl Into<String>, limit: f64, value: f64) -> Self {
        Self { name: name.into(), limit, value, met: value <= limit, sense: TargetSense::AtMost }
    }

    /// Met where `value >= limit`.
    pub fn at_least(name: impl Into<String>, limit: f64, value: f64) -> Self {
        Self { name: name.into(), limit, value, met: value >= limit, sense: TargetSense::AtLeast }
    }

    /// The number found and its limit, as the target at `place` of a report shows them.
    pub(crate) fn numbers(&self, place: usize) -> [Number; 2] {
        let unit = Unit::Exact(number::digits_apart(self.value, self.limit));
        [("value", self.value), ("limit", self.limit)]
            .map(|(field, value)| Number::new(format!("targets.{place}.{field}"), value, unit))
    }

    /// What was found and what was expected, as a clause: `pages is 1.0501, expected at most 1.05`.
    pub fn clause(&self) -> String {
        let (value, limit) = number::against(self.value, self.limit);
        let most = match self.sense {
            TargetSense::AtMost => "at most",
            TargetSense::AtLeast => "at least",
        };
        format!("{} is {value}, expected {most} {limit}", self.name)
    }
}

/// What it takes to get the same result again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// The command line.
    pub command: String,
    /// Version of each tool that took part.
    pub tool_versions: BTreeMap<String, String>,
    /// SHA-256 of each input and of what was built, in hexadecimal.
    pub inputs: BTreeMap<String, String>,
    /// Seed of every random choice.
    pub seed: u64,
}

/// A virtual address. JSON has it as text, `"0xffffffff81000000"`: many readers of JSON keep only
/// 53 bits of a number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Address(pub u64);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.strip_prefix("0x")
            .and_then(|digits| u64::from_str_radix(digits, 16).ok())
            .map(Self)
            .ok_or_else(|| {
                format!("{text:?} is no address; expected one like \"0xffffffff81000000\"")
            })
    }
}

/// `a / b`, and 0 where `b` is 0: JSON has no infinity.
pub fn ratio(a: u32, b: u32) -> f64 {
    if b == 0 { 0.0 } else { f64::from(a) / f64::from(b) }
}

/// Every `step`-th point of each curve, so that none keeps more than `most` points, and the step.
/// Point i of a sampled curve stands for the state after `min((i + 1) * step, events)` events;
/// the last point is always kept.
pub fn sample_curve(curves: &[&[u32]], most: usize) -> (u32, Vec<Vec<u32>>) {
    let longest = curves.iter().map(|curve| curve.len()).max().unwrap_or(0);
    let step = longest.div_ceil(most.max(1)).max(1);
    let sampled = curves
        .iter()
        .map(|curve| curve.chunks(step).filter_map(|chunk| chunk.last().copied()).collect())
        .collect();
    (u32::try_from(step).unwrap_or(u32::MAX), sampled)
}

/// Distinct pages touched against events. Point i is the state after
/// `min((i + 1) * step, events)` events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedCurve {
    /// Events between two points, 1 or more.
    pub step: u32,
    /// Events in all.
    pub events: u64,
    /// Distinct pages touched.
    pub pages: Vec<u32>,
}

impl TracedCurve {
    /// From one number of pages per event, keeping at most `most` points.
    pub fn sampled(pages: &[u32], most: usize) -> Self {
        let (step, mut curves) = sample_curve(&[pages], most);
        Self { step, events: pages.len() as u64, pages: curves.pop().unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_all_bits() {
        let address = Address(0xffff_ffff_8100_0001);
        let text = serde_json::to_string(&address).unwrap();
        assert_eq!(text, "\"0xffffffff81000001\"");
        assert_eq!(serde_json::from_str::<Address>(&text).unwrap(), address);
        let error = serde_json::from_str::<Address>("\"81\"").unwrap_err().to_string();
        assert!(error.contains("is no address"), "{error}");
    }

    #[test]
    fn sampled_curves_keep_their_end() {
        let curve: Vec<u32> = (1..=10).collect();
        assert_eq!(sample_curve(&[&curve, &[7]], 4), (3, vec![vec![3, 6, 9, 10], vec![7]]));
        assert_eq!(sample_curve(&[&curve], 100), (1, vec![curve.clone()]));
        assert_eq!(sample_curve(&[&[]], 0), (1, vec![vec![]]));
    }

    #[test]
    fn targets_know_their_side() {
        assert!(Target::at_most("pages", 1.05, 1.05).met);
        assert!(!Target::at_most("pages", 1.05, 1.06).met);
        assert!(Target::at_least("boots", 30.0, 30.0).met);
        assert!(!Target::at_least("boots", 30.0, f64::NAN).met);
        let missed = Target::at_most("pages", 1.05, 1.0501);
        assert_eq!(missed.clause(), "pages is 1.0501, expected at most 1.05");
        assert_eq!(missed.numbers(0).map(|number| number.text()), ["1.0501", "1.05"]);
    }
}
