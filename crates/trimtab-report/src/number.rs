//! Numbers as people read them; the same in the terminal and on the page. Whatever has decimals is
//! rounded by [`fixed`] and nowhere else, so that no two places show one number differently.

/// Shown where there is no number.
pub const NONE: &str = "–";

/// A count with a comma between thousands: `2,048`.
pub fn count(value: u64) -> String {
    group(&value.to_string())
}

/// A difference with its sign: `+12`, `−3`, `0`.
pub fn signed(value: i64) -> String {
    format!("{}{}", sign(value as f64), count(value.unsigned_abs()))
}

/// The first `most` names on one line, and how many more there are.
pub fn some(names: &[String], most: usize) -> String {
    let mut text = names.iter().take(most).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > most {
        text += &format!(" and {} more", count((names.len() - most) as u64));
    }
    text
}

/// A size in bytes: `512 B`, `1.5 KiB`, `34.2 MiB`.
pub fn bytes(value: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    for (unit, size) in UNITS {
        if value >= size {
            let scaled = fixed(value as f64 / size as f64, 1);
            return format!("{scaled} {unit}");
        }
    }
    format!("{value} B")
}

/// A size in bytes that is round, without the decimal that [`bytes`] would show: `4 KiB`.
pub fn whole_bytes(value: u64) -> String {
    bytes(value).replace(".0 ", " ")
}

/// A share from 0 to 1 as percentage: `99.2 %`. What is not everything never reads `100.0 %`, and
/// what is not nothing never reads `0.0 %`.
pub fn share(value: f64) -> String {
    percentage(
        if value < 1.0 && value > 0.999 {
            0.999
        } else if value > 0.0 {
            value.max(0.001)
        } else {
            value
        },
        1,
    )
}

/// A share that falls short of something, as percentage, cut off behind the first decimal: what is
/// below a limit of whole percents never reads as that limit.
pub fn share_short(value: f64) -> String {
    percentage((value * 1e3).floor() / 1e3, 1)
}

/// What became of `before`, as percentage with its sign: `−64.3 %`.
pub fn change(before: f64, after: f64) -> String {
    signed_share(after / before - 1.0)
}

/// A share that is more or less than nothing, with its sign: `+1.2 %`.
pub fn signed_share(value: f64) -> String {
    // Small changes of a measured time need the second digit.
    let digits = if value.abs() < 0.01 { 2 } else { 1 };
    with_sign(value, percentage(value.abs(), digits))
}

/// A share that is often close to 1, with all of its digits: `99.9999 %`.
pub fn threshold(value: f64) -> String {
    let percent = percentage(value, 4);
    let Some(digits) = percent.strip_suffix(" %") else { return percent };
    let short = digits.trim_end_matches('0');
    let zero = if short.ends_with('.') { "0" } else { "" };
    format!("{short}{zero} %")
}

/// A number with two digits behind the point: `1.06`.
pub fn hundredths(value: f64) -> String {
    fixed(value, 2)
}

/// How many times something is something else: `1.05 ×`.
pub fn times(value: f64) -> String {
    unit(fixed(value, 2), "×")
}

/// A ratio that is an estimate: `0.9931`, to four digits.
pub fn ratio(value: f64) -> String {
    fixed(value, 4)
}

/// A number found and the limit that it is held against, as [`plain`] numbers, with as many more
/// digits as tell the one from the other: a limit that is missed must not read as met.
pub fn against(found: f64, limit: f64) -> (String, String) {
    let digits = digits_apart(found, limit).into();
    (short(found, digits), short(limit, digits))
}

/// How many digits [`against`] needs; 3 or more.
pub(crate) fn digits_apart(found: f64, limit: f64) -> u8 {
    let apart = |digits: &u8| short(found, (*digits).into()) != short(limit, (*digits).into());
    if found == limit { 3 } else { (3..12).find(apart).unwrap_or(12) }
}

/// A duration in seconds: `340 ms`, `2.81 s`, `48.1 s`, `6 min 12 s`.
pub fn seconds(value: f64) -> String {
    if !value.is_finite() || value < 0.0 {
        NONE.to_owned()
    } else if value < 0.9995 {
        format!("{} ms", fixed(value * 1e3, if value < 0.00995 { 2 } else { 0 }))
    } else if value < 9.995 {
        format!("{} s", fixed(value, 2))
    } else if value < 99.95 {
        format!("{} s", fixed(value, 1))
    } else {
        let whole = value.round() as u64;
        format!("{} min {} s", count(whole / 60), whole % 60)
    }
}

/// A short time, given in nanoseconds: `12 ns`, `3.1 us`, `4.0 ms`, `1.25 s`.
pub fn nanoseconds(value: f64) -> String {
    match value {
        ns if !ns.is_finite() || ns < 0.0 => NONE.to_owned(),
        ns if ns < 999.5 => unit(fixed(ns, 0), "ns"),
        ns if ns < 999.95e3 => unit(fixed(ns / 1e3, 1), "us"),
        ns if ns < 999.95e6 => unit(fixed(ns / 1e6, 1), "ms"),
        ns => unit(fixed(ns / 1e9, 2), "s"),
    }
}

/// A number without a unit, as short as it is exact to three decimals: `1.05`, `40`, `0.938`.
pub fn plain(value: f64) -> String {
    short(value, 3)
}

/// A difference with its sign and one decimal: `+12.3`, `−0.4`, `0.0`.
pub fn signed_tenths(value: f64) -> String {
    with_sign(value, fixed(value.abs(), 1))
}

/// A large area or count without needless digits: `1.24 M`, `310 k`, `812`.
pub fn rough(value: f64) -> String {
    if !value.is_finite() {
        NONE.to_owned()
    } else if value.abs() >= 999_500.0 {
        format!("{} M", fixed(value / 1e6, 2))
    } else if value.abs() >= 9_999.5 {
        format!("{} k", fixed(value / 1e3, 0))
    } else {
        fixed(value, 0)
    }
}

fn sign(value: f64) -> &'static str {
    if value > 0.0 {
        "+"
    } else if value < 0.0 {
        // The minus sign proper: a hyphen is too short beside a plus, and lines break after it.
        "−"
    } else {
        ""
    }
}

/// `value` rounded to the nearest with `digits` decimals, and commas between thousands; [`NONE`]
/// where it is no number. What rounds to nothing has no sign.
pub fn fixed(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let text = format!("{:.digits$}", value.abs());
    let minus = if value < 0.0 && !is_zero(&text) { "−" } else { "" };
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{minus}{}{point}{fraction}", group(whole))
}

/// `value` as [`fixed`] has it, without zeros at the end.
pub(crate) fn short(value: f64, digits: usize) -> String {
    let text = fixed(value, digits);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A share as percentage with `digits` decimals.
fn percentage(share: f64, digits: usize) -> String {
    unit(fixed(share * 100.0, digits), "%")
}

/// `shown` with its unit, where it is a number.
fn unit(shown: String, unit: &str) -> String {
    if shown == NONE { shown } else { format!("{shown} {unit}") }
}

/// `shown`, which has no sign, with that of `value`; none where it shows nothing but zeros.
fn with_sign(value: f64, shown: String) -> String {
    if is_zero(&shown) || shown == NONE { shown } else { sign(value).to_owned() + &shown }
}

/// Whether no digit of it is other than 0.
fn is_zero(shown: &str) -> bool {
    !shown.chars().any(|digit| matches!(digit, '1'..='9'))
}

/// Puts commas between the thousands of a run of digits.
fn group(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_and_sizes() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(2048), "2,048");
        assert_eq!(count(323_219_113), "323,219,113");
        assert_eq!(signed(-1234), "−1,234");
        assert_eq!(signed(7), "+7");
        assert_eq!(signed(0), "0");
        assert_eq!(signed_tenths(12.34), "+12.3");
        assert_eq!(signed_tenths(-0.04), "0.0");
        assert_eq!(signed_tenths(-1500.0), "−1,500.0");
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(36 << 20), "36.0 MiB");
    }

    #[test]
    fn nearly_all_is_not_all() {
        assert_eq!(share(1.0), "100.0 %");
        assert_eq!(share(0.999_99), "99.9 %");
        assert_eq!(share(0.000_01), "0.1 %");
        assert_eq!(share(0.0), "0.0 %");
        assert_eq!(share(f64::NAN), NONE);
    }

    #[test]
    fn changes_and_ratios() {
        assert_eq!(change(810.0, 289.0), "−64.3 %");
        assert_eq!(change(2048.0, 2051.0), "+0.15 %");
        assert_eq!(change(1.0, 1.0), "0.00 %");
        assert_eq!(change(1.0, 0.999_999), "0.00 %");
        assert_eq!(change(0.0, 1.0), NONE);
        assert_eq!(times(1.05), "1.05 ×");
        assert_eq!(times(280.0 / 274.0), "1.02 ×");
        assert_eq!(times(289.0 / 276.0), "1.05 ×");
        assert_eq!(times(1.999), "2.00 ×");
        assert_eq!(times(1234.5), "1,234.50 ×");
        for nothing in [0.0, -0.0, -0.001, 0.001] {
            assert_eq!(times(nothing), "0.00 ×");
            assert_eq!(hundredths(nothing), "0.00");
            assert_eq!(rough(nothing), "0");
        }
        assert_eq!(ratio(0.993_14), "0.9931");
        assert_eq!(plain(1.05), "1.05");
        assert_eq!(plain(-1234.5), "−1,234.5");
        assert_eq!(plain(-0.0001), "0");
        assert_eq!(plain(40.0), "40");
        assert_eq!(rough(1_240_000.0), "1.24 M");
        assert_eq!(rough(999_600.0), "1.00 M");
        assert_eq!(rough(310_400.0), "310 k");
        assert_eq!(rough(812.0), "812");
        assert_eq!(threshold(0.999_999), "99.9999 %");
        assert_eq!(threshold(0.9), "90.0 %");
        assert_eq!(threshold(f64::NAN), NONE);
    }

    #[test]
    fn what_misses_its_limit_does_not_read_as_met() {
        let both = |found, limit| {
            let (found, limit) = against(found, limit);
            format!("{found} {limit}")
        };
        assert_eq!(both(1.05, 1.05), "1.05 1.05");
        assert_eq!(both(1.0501, 1.05), "1.0501 1.05");
        assert_eq!(both(1.050_000_1, 1.05), "1.0500001 1.05");
        assert_eq!(both(40.0, 30.0), "40 30");
        assert_eq!(both(f64::NAN, 30.0), "– 30");
        assert_eq!(share_short(0.8999), "89.9 %");
        assert_eq!(share_short(0.0), "0.0 %");
    }

    #[test]
    fn durations() {
        assert_eq!(seconds(0.0012), "1.20 ms");
        assert_eq!(seconds(0.34), "340 ms");
        assert_eq!(seconds(0.9999), "1.00 s");
        assert_eq!(seconds(2.814), "2.81 s");
        assert_eq!(seconds(9.999), "10.0 s");
        assert_eq!(seconds(99.97), "1 min 40 s");
        assert_eq!(seconds(372.0), "6 min 12 s");
        assert_eq!(seconds(f64::NAN), NONE);
    }

    #[test]
    fn short_times() {
        assert_eq!(nanoseconds(12.4), "12 ns");
        assert_eq!(nanoseconds(999.7), "1.0 us");
        assert_eq!(nanoseconds(3_140.0), "3.1 us");
        assert_eq!(nanoseconds(999_960.0), "1.0 ms");
        assert_eq!(nanoseconds(4.04e6), "4.0 ms");
        assert_eq!(nanoseconds(1.25e9), "1.25 s");
        assert_eq!(nanoseconds(f64::NAN), NONE);
    }

    fn digits(text: &str) -> f64 {
        let text: String = text.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
        text.parse().unwrap()
    }

    proptest! {
        #[test]
        fn counts_lose_nothing(value: u64) {
            let text = count(value);
            prop_assert_eq!(text.replace(',', "").parse::<u64>().unwrap(), value);
            for (place, group) in text.split(',').enumerate() {
                prop_assert!(group.len() == 3 || (place == 0 && (1..=3).contains(&group.len())));
            }
        }

        #[test]
        fn signs_lose_nothing(value: i64) {
            let text = signed(value).replace(',', "").replace('−', "-");
            prop_assert_eq!(text.parse::<i64>().unwrap(), value);
        }

        #[test]
        fn sizes_are_within_their_last_digit(value in 0u64..1 << 40) {
            let text = bytes(value);
            let scale = match text.rsplit(' ').next().unwrap() {
                "B" => 1.0, "KiB" => 1024.0, "MiB" => 1048576.0, "GiB" => 1073741824.0,
                unit => panic!("{unit}"),
            };
            prop_assert!((digits(&text) * scale - value as f64).abs() <= 0.0501 * scale, "{}", text);
        }

        #[test]
        fn times_are_within_half_of_their_last_digit(value in 0.0f64..1e6) {
            let shown = digits(&times(value));
            prop_assert!((shown - value).abs() < 0.005_001, "{} {}", shown, value);
        }

        #[test]
        fn what_is_zero_has_no_sign(value in -1e-2f64..1e-2) {
            for text in [times(value), share(value), signed_share(value), hundredths(value), ratio(value),
                         plain(value), rough(value), signed_tenths(value), threshold(value)] {
                let has_sign = text.contains(['-', '−', '+']);
                prop_assert!(!has_sign || text.contains(|digit| matches!(digit, '1'..='9')), "{}", text);
            }
        }

        #[test]
        fn durations_are_within_one_percent(value in 1e-3f64..1e6) {
            let text = seconds(value);
            let shown = match text.split_once(" min ") {
                Some((minutes, rest)) => digits(minutes) * 60.0 + digits(rest),
                None if text.ends_with(" ms") => digits(&text) / 1e3,
                None => digits(&text),
            };
            prop_assert!((shown - value).abs() <= 0.051 * value, "{} {}", text, value);
        }

        #[test]
        fn no_number_panics(value: f64, other: f64) {
            for text in [share(value), change(value, other), times(value), ratio(value),
                         seconds(value), plain(value), rough(value), threshold(value),
                         share_short(value), against(value, other).0, signed_tenths(value)] {
                prop_assert!(!text.is_empty() && !text.contains("NaN") && !text.contains("inf"));
            }
        }
    }
}
