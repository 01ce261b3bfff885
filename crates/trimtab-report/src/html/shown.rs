//! Numbers on the page. Each is a `<data>` element that carries the exact value and says which
//! keys of the embedded JSON it comes from, so that a test can hold the two against each other.
//!
//! A key is a path into the JSON, `touched.after`, or paths and numbers joined by `/` and `-`,
//! where `/` binds tighter: `touched.after/touched.before-1`.

use crate::model::BeforeAfter;
use crate::number;
use maud::{Markup, html};

fn shown(key: &str, value: impl std::fmt::Display, text: String) -> Markup {
    html! { data value=(value) data-key=(key) { (text) } }
}

/// A count.
pub fn count(key: &str, value: impl Into<u64>) -> Markup {
    let value = value.into();
    shown(key, value, number::count(value))
}

/// A count that may be below zero.
pub fn signed(key: &str, value: i64) -> Markup {
    shown(key, value, number::signed(value))
}

/// A size in bytes.
pub fn bytes(key: &str, value: u64) -> Markup {
    shown(key, value, number::bytes(value))
}

/// A round size in bytes.
pub fn whole_bytes(key: &str, value: u64) -> Markup {
    shown(key, value, number::whole_bytes(value))
}

/// A share, 0 to 1.
pub fn share(key: &str, value: f64) -> Markup {
    shown(key, value, number::share(value))
}

/// A duration in seconds.
pub fn seconds(key: &str, value: f64) -> Markup {
    shown(key, value, number::seconds(value))
}

/// A multiple of something that should be small.
pub fn times(key: &str, value: f64) -> Markup {
    shown(key, value, number::times(value))
}

/// A multiple of something that should be large.
pub fn times_fewer(key: &str, value: f64) -> Markup {
    shown(key, value, number::times_fewer(value))
}

/// An estimated ratio.
pub fn ratio(key: &str, value: f64) -> Markup {
    shown(key, value, number::ratio(value))
}

/// A number that is said without a unit.
pub fn plain(key: &str, value: f64) -> Markup {
    shown(key, value, number::plain(value))
}

/// A difference with one decimal.
pub fn signed_tenths(key: &str, value: f64) -> Markup {
    shown(key, value, number::signed_tenths(value))
}

/// A large number, roughly.
pub fn rough(key: &str, value: f64) -> Markup {
    shown(key, value, number::rough(value))
}

/// The change from `KEY.before` to `KEY.after`.
pub fn change(key: &str, sides: BeforeAfter<f64>) -> Markup {
    change_of(&format!("{key}.after/{key}.before-1"), sides)
}

/// The change from one number to another, where `key` says how to find it.
pub fn change_of(key: &str, sides: BeforeAfter<f64>) -> Markup {
    let value = sides.after / sides.before - 1.0;
    shown(key, value, number::change(sides.before, sides.after))
}
