//! Numbers as people read them; the same in the terminal and on the page.

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
    let percent = value * 100.0;
    if !percent.is_finite() {
        return NONE.to_owned();
    }
    let shown = if percent < 100.0 && percent > 99.9 {
        99.9
    } else if percent > 0.0 && percent < 0.1 {
        0.1
    } else {
        percent
    };
    format!("{} %", fixed(shown, 1))
}

/// What became of `before`, as percentage with its sign: `−64.3 %`.
pub fn change(before: f64, after: f64) -> String {
    signed_share(after / before - 1.0)
}

/// A share that is more or less than nothing, with its sign: `+1.2 %`.
pub fn signed_share(value: f64) -> String {
    let percent = value * 100.0;
    if !percent.is_finite() {
        return NONE.to_owned();
    }
    // Small changes of a measured time need the second digit.
    let digits = if percent.abs() < 1.0 { 2 } else { 1 };
    let shown = fixed(percent.abs(), digits);
    let zero = shown.chars().all(|digit| matches!(digit, '0' | '.'));
    format!("{}{shown} %", if zero { "" } else { sign(percent) })
}

/// A share that is often close to 1, with all of its digits: `99.9999 %`.
pub fn threshold(value: f64) -> String {
    if !(value * 100.0).is_finite() {
        return NONE.to_owned();
    }
    let percent = format!("{:.4}", value * 100.0);
    let short = percent.trim_end_matches('0');
    let short = if short.ends_with('.') { format!("{short}0") } else { short.to_owned() };
    format!("{short} %")
}

/// A number with two digits behind the point: `1.06`.
pub fn hundredths(value: f64) -> String {
    if value.is_finite() { format!("{value:.2}") } else { NONE.to_owned() }
}

/// How many times something is something else: `1.05 ×`. Always rounded up: a limit that is missed
/// must not read as met.
pub fn times(value: f64) -> String {
    if !(value * 100.0).is_finite() {
        return NONE.to_owned();
    }
    // The small term keeps what is 1.05 but for its binary representation at 1.05.
    let hundredths = (value * 100.0 - 1e-9).ceil().max(0.0);
    format!("{} ×", fixed(hundredths / 100.0, 2))
}

/// How many times fewer something is: `2.83 ×`. Always rounded down, for the same reason.
pub fn times_fewer(value: f64) -> String {
    if !(value * 100.0).is_finite() {
        return NONE.to_owned();
    }
    let hundredths = (value * 100.0 + 1e-9).floor().max(0.0);
    format!("{} ×", fixed(hundredths / 100.0, 2))
}

/// A ratio that is an estimate: `0.9931`, to four digits.
pub fn ratio(value: f64) -> String {
    if value.is_finite() { fixed(value, 4) } else { NONE.to_owned() }
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

/// A number without a unit, as short as it is exact to three decimals: `1.05`, `40`, `0.938`.
pub fn plain(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let text = format!("{:.3}", value.abs());
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let point = if fraction.is_empty() { "" } else { "." };
    let sign = if text == "0" { "" } else { sign(value) };
    format!("{}{}{point}{fraction}", sign.trim_start_matches('+'), group(whole))
}

/// A difference with its sign and one decimal: `+12.3`, `−0.4`, `0.0`.
pub fn signed_tenths(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let text = fixed(value.abs(), 1);
    let sign = if text == "0.0" { "" } else { sign(value) };
    format!("{sign}{text}")
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

/// `value` with `digits` decimals and commas between thousands.
fn fixed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction}", group(whole))
}

/// Puts commas between the thousands of a run of digits.
fn group(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) && !text.ends_with('-') {
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
        assert_eq!(times(1.0501), "1.06 ×");
        assert_eq!(times(289.0 / 276.0), "1.05 ×");
        assert_eq!(times_fewer(1.999), "1.99 ×");
        assert_eq!(times_fewer(2.0), "2.00 ×");
        assert_eq!(ratio(0.993_14), "0.9931");
        assert_eq!(plain(1.05), "1.05");
        assert_eq!(plain(-1234.5), "−1,234.5");
        assert_eq!(plain(-0.0001), "0");
        assert_eq!(plain(40.0), "40");
        assert_eq!(rough(1_240_000.0), "1.24 M");
        assert_eq!(rough(999_600.0), "1.00 M");
        assert_eq!(rough(310_400.0), "310 k");
        assert_eq!(rough(812.0), "812");
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
        fn times_never_flatter(value in 0.0f64..1e6) {
            let shown = digits(&times(value));
            prop_assert!(shown >= value - 1e-6 && shown - value < 0.0101, "{} {}", shown, value);
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
                         seconds(value), plain(value), rough(value), times_fewer(value),
                         signed_tenths(value)] {
                prop_assert!(!text.is_empty() && !text.contains("NaN") && !text.contains("inf"));
            }
        }
    }
}
