//! Version numbers as tools print them.

use std::fmt;

/// A version: numbers in order of weight, such as 22.1.8. A missing number counts as 0 in
/// comparisons, so 22 equals 22.0.
#[derive(Debug, Clone)]
pub struct Version(Box<[u32]>);

impl Version {
    /// A version of these numbers.
    pub fn new(numbers: &[u32]) -> Self {
        Self(numbers.into())
    }

    /// The first number; 0 where there is none.
    pub fn major(&self) -> u32 {
        self.0.first().copied().unwrap_or(0)
    }

    /// Finds a version in what a tool prints: the number right after `marker`, or with an empty
    /// marker the first number that has a dot.
    pub fn find(text: &str, marker: &str) -> Option<Self> {
        if !marker.is_empty() {
            let start = text.find(marker)? + marker.len();
            return Self::leading(text.get(start..)?);
        }
        text.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | ':'))
            .map(without_name)
            .filter_map(Self::leading)
            .find(|version| version.0.len() > 1)
    }

    /// The version that `text` starts with.
    fn leading(text: &str) -> Option<Self> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let numbers: Vec<u32> = text
            .get(..end)?
            .split('.')
            .take_while(|part| !part.is_empty())
            .map(|part| part.parse().ok())
            .collect::<Option<_>>()?;
        (!numbers.is_empty()).then_some(Self(numbers.into()))
    }

    /// The numbers that count: without the zeros at the end.
    fn significant(&self) -> &[u32] {
        let end = self.0.iter().rposition(|number| *number != 0).map_or(0, |last| last + 1);
        self.0.get(..end).unwrap_or_default()
    }
}

/// `3.19.0` of `valgrind-3.19.0`, `1.2` of `v1.2`.
fn without_name(word: &str) -> &str {
    match word.split_once('-') {
        Some((name, rest)) if name.chars().all(|c| c.is_ascii_alphabetic()) => rest,
        _ => word.strip_prefix('v').unwrap_or(word),
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.significant() == other.significant()
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.significant().cmp(other.significant())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, number) in self.0.iter().enumerate() {
            if index > 0 {
                out.write_str(".")?;
            }
            write!(out, "{number}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, marker: &str) -> String {
        Version::find(text, marker).map(|version| version.to_string()).unwrap_or_default()
    }

    #[test]
    fn reads_what_real_tools_print() {
        assert_eq!(found("Debian clang version 22.1.8 (1~deb12u1)", ""), "22.1.8");
        assert_eq!(found("Debian LLD 22.1.8 (compatible with GNU linkers)", ""), "22.1.8");
        assert_eq!(found("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", ""), "12.2.0");
        assert_eq!(found("valgrind-3.19.0", ""), "3.19.0");
        assert_eq!(found("GNU ld (GNU Binutils for Debian) 2.40", ""), "2.40");
        assert_eq!(found("This is perl 5, version 36, subversion 0 (v5.36.0) built", ""), "5.36.0");
        assert_eq!(
            found("BusyBox v1.35.0 (Debian 1:1.35.0-4+deb12u1+b1) multi-call", ""),
            "1.35.0"
        );
        assert_eq!(found("*** LZ4 command line interface 64-bits v1.9.4, by", ""), "1.9.4");
        assert_eq!(found("kmod version 30\n+ZSTD +XZ", "kmod version "), "30");
        assert_eq!(found("clang version 15", "version "), "15");
    }

    #[test]
    fn finds_none_where_there_is_none() {
        for text in ["", "no such thing", "5", "...", "99999999999.1", "v"] {
            assert_eq!(Version::find(text, ""), None, "{text}");
        }
        assert_eq!(Version::find("kmod version", "version "), None);
        assert_eq!(Version::find("version é", "version "), None);
    }

    #[test]
    fn compares_numbers_not_text() {
        assert!(Version::new(&[9, 9]) < Version::new(&[10]));
        assert!(Version::new(&[2, 5, 35]) < Version::new(&[2, 6]));
        assert_eq!(Version::new(&[22]), Version::new(&[22, 0]));
        assert_eq!(Version::new(&[]).major(), 0);
    }
}
