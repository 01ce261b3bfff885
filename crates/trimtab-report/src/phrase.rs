//! What a report says: words, and numbers that carry their key, their exact value and their unit.
//!
//! A key is the path of the number in the report's JSON, `touched.after`, or paths and numbers joined
//! by `/` and `-`, where `/` binds tighter: `touched.after/touched.before-1`. It goes into the page,
//! where a test compares both. An empty key is for numbers that the JSON has only in
//! parts, such as sums.

use crate::common::BeforeAfter;
use crate::number;
use std::fmt;

/// Words and numbers in a row: a cell of a table, or a sentence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Phrase(pub(crate) Vec<Piece>);

/// A part of a [`Phrase`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    /// A name from a program or a command line.
    Code(String),
    /// What counts.
    Strong(Phrase),
    /// What is said beside it; in brackets where all letters are of one size.
    Small(Phrase),
    /// What is said beside it, without brackets.
    Faint(Phrase),
    /// A detail, which may be long.
    Detail(String),
    /// Whether something is as it should be: a mark and a word, for colour alone is not for everyone.
    Mark(bool, String),
    Number(Number),
}

/// A number of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    /// Where it is in the JSON; empty where it is not.
    pub key: String,
    /// Exactly.
    pub value: Value,
    /// What it is a number of, which says how it is written.
    pub unit: Unit,
}

/// An exact number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// 0 or more.
    Whole(u64),
    /// Below, at or above 0.
    Signed(i64),
    /// Not a whole number.
    Real(f64),
}

/// What a number is one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A count: `2,048`.
    Count,
    /// A difference of counts: `+12`.
    Difference,
    /// Bytes: `34.2 MiB`.
    Bytes,
    /// A round number of bytes: `4 KiB`.
    WholeBytes,
    /// A share from 0 to 1: `99.2 %`.
    Share,
    /// The same with all its digits, for what is often close to 1: `99.99 %`.
    Threshold,
    /// A share that is more or less than nothing: `−64.3 %`.
    Change,
    /// Seconds: `340 ms`, `6 min 12 s`.
    Seconds,
    /// A multiple: `1.05 ×`.
    Times,
    /// An estimate: `0.9931`.
    Ratio,
    /// Two digits behind the point: `1.06`.
    Hundredths,
    /// As short as it is exact to three: `40`, `0.938`.
    Plain,
    /// As short as it is exact to so many.
    Exact(u8),
    /// A difference with one digit: `−0.4`.
    Tenths,
    /// A large area or count: `1.24 M`.
    Rough,
}

impl Value {
    fn real(self) -> f64 {
        match self {
            Self::Whole(value) => value as f64,
            Self::Signed(value) => value as f64,
            Self::Real(value) => value,
        }
    }

    fn whole(self) -> u64 {
        match self {
            Self::Whole(value) => value,
            Self::Signed(value) => value.max(0) as u64,
            Self::Real(value) => value.round().max(0.0) as u64,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Signed(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
        }
    }
}

macro_rules! value {
    ($($from:ty => $kind:ident),*) => {
        $(impl From<$from> for Value {
            fn from(value: $from) -> Self {
                Self::$kind(value.into())
            }
        })*
    };
}
value!(u32 => Whole, u64 => Whole, i64 => Signed, f64 => Real);

impl Number {
    /// A number at `key` in the JSON.
    pub fn new(key: impl Into<String>, value: impl Into<Value>, unit: Unit) -> Self {
        Self { key: key.into(), value: value.into(), unit }
    }

    /// As people read it.
    pub fn text(&self) -> String {
        let value = self.value;
        match self.unit {
            Unit::Count => number::count(value.whole()),
            Unit::Difference => match value {
                Value::Signed(value) => number::signed(value),
                _ => number::signed(value.real() as i64),
            },
            Unit::Bytes => number::bytes(value.whole()),
            Unit::WholeBytes => number::whole_bytes(value.whole()),
            Unit::Share => number::share(value.real()),
            Unit::Threshold => number::threshold(value.real()),
            Unit::Change => number::signed_share(value.real()),
            Unit::Seconds => number::seconds(value.real()),
            Unit::Times => number::times(value.real()),
            Unit::Ratio => number::ratio(value.real()),
            Unit::Hundredths => number::hundredths(value.real()),
            Unit::Plain => number::plain(value.real()),
            Unit::Exact(digits) => number::short(value.real(), digits.into()),
            Unit::Tenths => number::signed_tenths(value.real()),
            Unit::Rough => number::rough(value.real()),
        }
    }
}

macro_rules! shown {
    ($($(#[$doc:meta])* $name:ident: $value:ty => $unit:ident;)*) => {
        $($(#[$doc])*
        pub fn $name(key: impl Into<String>, value: impl Into<$value>) -> Number {
            Number::new(key, value.into(), Unit::$unit)
        })*
    };
}
shown! {
    /// A count.
    count: u64 => Count;
    /// A difference of counts.
    difference: i64 => Difference;
    /// A size in bytes.
    bytes: u64 => Bytes;
    /// A share, 0 to 1.
    share: f64 => Share;
    /// A duration in seconds.
    seconds: f64 => Seconds;
    /// A multiple of something.
    times: f64 => Times;
    /// An estimated ratio.
    ratio: f64 => Ratio;
    /// A number with two digits behind the point.
    hundredths: f64 => Hundredths;
    /// A number that is said without a unit.
    plain: f64 => Plain;
    /// A large number, roughly.
    rough: f64 => Rough;
    /// A share of more or less than nothing.
    change_by: f64 => Change;
    /// A share that is often close to 1.
    threshold: f64 => Threshold;
}

/// A size that the JSON has in KiB.
pub fn kibibytes(key: &str, kib: f64) -> Number {
    // The key says where the JSON has it, and by what to divide to come to bytes.
    Number::new(format!("{key}/{}", 1.0 / 1024.0), kib * 1024.0, Unit::Bytes)
}

/// The change from `KEY.before` to `KEY.after`.
pub fn change(key: &str, sides: BeforeAfter<f64>) -> Number {
    change_of(format!("{key}.after/{key}.before-1"), sides)
}

/// The change from one number to another, where `key` says how to find it.
pub fn change_of(key: impl Into<String>, sides: BeforeAfter<f64>) -> Number {
    change_by(key, sides.after / sides.before - 1.0)
}

/// A row of a table: `name`, before, after and the change of what is at `key` in the JSON.
pub fn compared<T: Into<Value> + Copy>(
    name: impl Into<Phrase>,
    key: &str,
    sides: BeforeAfter<T>,
    unit: Unit,
) -> Vec<Phrase> {
    let before = Number::new(format!("{key}.before"), sides.before, unit);
    let after = Number::new(format!("{key}.after"), sides.after, unit);
    let change = change(key, BeforeAfter::new(before.value.real(), after.value.real()));
    vec![name.into(), before.into(), after.into(), change.into()]
}

/// What `show` makes of a value, or a dash.
pub fn or_none<T, P: Into<Phrase>>(value: Option<T>, show: impl FnOnce(T) -> P) -> Phrase {
    value.map_or_else(|| number::NONE.into(), |value| show(value).into())
}

/// A name from a program or a command line.
pub fn code(text: impl Into<String>) -> Phrase {
    Phrase(vec![Piece::Code(text.into())])
}

/// What counts.
pub fn strong(phrase: impl Into<Phrase>) -> Phrase {
    Phrase(vec![Piece::Strong(phrase.into())])
}

/// What is said beside it.
pub fn small(phrase: impl Into<Phrase>) -> Phrase {
    Phrase(vec![Piece::Small(phrase.into())])
}

/// What counts less than what it follows.
pub fn faint(phrase: impl Into<Phrase>) -> Phrase {
    Phrase(vec![Piece::Faint(phrase.into())])
}

/// A detail, which may be long.
pub fn detail(text: impl Into<String>) -> Phrase {
    Phrase(vec![Piece::Detail(text.into())])
}

/// A mark, and the word for whether something is `good`.
pub fn mark(good: bool, yes: &str, no: &str) -> Phrase {
    Phrase(vec![Piece::Mark(good, if good { yes } else { no }.to_owned())])
}

/// `items` with `between` them.
pub fn joined(items: impl IntoIterator<Item = Phrase>, between: &str) -> Phrase {
    let mut all = Phrase::default();
    for item in items {
        if !all.is_empty() {
            all.push(between);
        }
        all.push(item);
    }
    all
}

impl Phrase {
    /// Adds to it.
    pub fn push(&mut self, more: impl Into<Phrase>) {
        self.0.extend(more.into().0);
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a number of the report is in it.
    pub(crate) fn has_number(&self) -> bool {
        self.0.iter().any(|piece| match piece {
            Piece::Number(_) => true,
            Piece::Strong(inner) | Piece::Small(inner) | Piece::Faint(inner) => inner.has_number(),
            _ => false,
        })
    }

    /// As plain text.
    pub fn text(&self) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) | Piece::Code(text) | Piece::Detail(text) => text.clone(),
            Piece::Strong(inner) | Piece::Faint(inner) => inner.text(),
            Piece::Small(inner) => format!("({})", inner.text()),
            Piece::Mark(true, word) => word.clone(),
            Piece::Mark(false, word) => word.to_uppercase(),
            Piece::Number(number) => number.text(),
        };
        self.0.iter().map(text).collect()
    }
}

impl From<&str> for Phrase {
    fn from(text: &str) -> Self {
        Self(if text.is_empty() { Vec::new() } else { vec![Piece::Text(text.to_owned())] })
    }
}

impl From<&String> for Phrase {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<String> for Phrase {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<Number> for Phrase {
    fn from(number: Number) -> Self {
        Self(vec![Piece::Number(number)])
    }
}

/// A [`Phrase`] of all that is given, one behind the other.
#[macro_export]
macro_rules! phrase {
    ($($piece:expr),* $(,)?) => {{
        #[allow(unused_mut)]
        let mut phrase = $crate::Phrase::default();
        $(phrase.push($piece);)*
        phrase
    }};
}

/// A row of a table: each of what is given becomes a cell, a [`Phrase`].
#[macro_export]
macro_rules! row {
    ($($cell:expr),* $(,)?) => { vec![$($crate::Phrase::from($cell)),*] };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_words_and_numbers() {
        let said =
            phrase![count("runs", 2048_u32), " runs of ", code("a.out"), " ", small("exact")];
        assert_eq!(said.text(), "2,048 runs of a.out (exact)");
        assert!(said.has_number() && !Phrase::from("none").has_number());
        assert!(strong(count("runs", 1_u32)).has_number());
        assert!(phrase![].is_empty() && Phrase::from("").is_empty());
        assert_eq!(mark(false, "holds", "fails").text(), "FAILS");
        assert_eq!(or_none(None::<f64>, |value| plain("key", value)).text(), number::NONE);
    }

    #[test]
    fn units_say_how_numbers_are_written() {
        for (unit, text) in [
            (Unit::Count, "3"),
            (Unit::Difference, "+3"),
            (Unit::Bytes, "3 B"),
            (Unit::Share, "300.0 %"),
            (Unit::Threshold, "300.0 %"),
            (Unit::Change, "+300.0 %"),
            (Unit::Seconds, "3.00 s"),
            (Unit::Times, "3.00 ×"),
            (Unit::Ratio, "3.0000"),
            (Unit::Hundredths, "3.00"),
            (Unit::Plain, "3"),
            (Unit::Tenths, "+3.0"),
        ] {
            assert_eq!(Number::new("", 3.0, unit).text(), text, "{unit:?}");
        }
    }

    #[test]
    fn keys_say_how_to_come_to_the_value() {
        let row = compared("pages", "touched", BeforeAfter::new(4_u32, 1), Unit::Count);
        let change = phrase![row[3].clone()];
        assert_eq!(change.text(), "−75.0 %");
        let Piece::Number(number) = &change.0[0] else { panic!("{change:?}") };
        assert_eq!(number.key, "touched.after/touched.before-1");
        let size = kibibytes("core", 1.5);
        assert_eq!((size.key.as_str(), size.text()), ("core/0.0009765625", "1.5 KiB".to_owned()));
    }
}
