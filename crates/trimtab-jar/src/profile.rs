//! How often each block of a program ran, as a jar with counters recorded it.
//!
//! A profile is text: `trimtab.jar.profile/1`, a line that says of which program, and a line for each
//! block that ran: the function's address, the block's within it, both in hexadecimal, and how often. A jar
//! with counters has the same without the last column, for all blocks, as `program.blocks`.

use crate::error::JarError;
use crate::function::Function;
use flate2::Crc;
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// The first line of a profile.
const SCHEMA: &str = "trimtab.jar.profile/1";

/// Counts of blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// By the address of the function and the key of the block.
    counts: FxHashMap<(u32, u32), u64>,
}

/// The second line of the profile of a program: its bytes, so that a profile is not taken for another's.
fn program_line(elf: &[u8]) -> String {
    let mut crc = Crc::new();
    crc.update(elf);
    format!("program {:08x} {}", crc.sum(), elf.len())
}

/// The beginning of what was found, for a message: a file that is no text has one endless line.
fn beginning(text: &str) -> String {
    let end = text.char_indices().nth(40).map_or(text.len(), |(at, _)| at);
    format!("{:?}", &text[..end])
}

impl Profile {
    /// Adds a file's counts: its name and its text, of the program with these bytes.
    ///
    /// # Errors
    /// What is no profile, or one of another program.
    pub fn add(&mut self, file: &str, text: &str, elf: &[u8]) -> Result<(), JarError> {
        let wrong = |what: String| JarError::Profile { file: file.to_owned(), what };
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        if first != SCHEMA {
            return Err(wrong(format!("it begins with {}, expected {SCHEMA}", beginning(first))));
        }
        let (found, expected) = (lines.next().unwrap_or_default(), program_line(elf));
        if found != expected {
            let found = beginning(found);
            return Err(wrong(format!("it is of another program: {found}, expected {expected:?}")));
        }
        for (at, line) in lines.enumerate() {
            let words: Vec<&str> = line.split(' ').collect();
            let address = |word: &str| u32::from_str_radix(word, 16).ok();
            let read = match words.as_slice() {
                [function, block, count] => {
                    address(function).zip(address(block)).zip(count.parse::<u64>().ok())
                }
                _ => None,
            };
            let Some((block, count)) = read else {
                let expected = "expected the addresses of a function and of a block, and a number";
                return Err(wrong(format!("line {}: {}; {expected}", at + 3, beginning(line))));
            };
            let sum = self.counts.entry(block).or_default();
            *sum = sum.saturating_add(count);
        }
        if self.counts.is_empty() {
            return Err(wrong("no block ran".to_owned()));
        }
        Ok(())
    }

    /// How often each block of a function ran; none of one that did not run.
    pub(crate) fn of(&self, function: &Function) -> Option<Vec<u64>> {
        let count = |key| self.counts.get(&(function.start, key)).copied().unwrap_or_default();
        let counts: Vec<u64> = function.blocks.iter().map(|block| count(block.key)).collect();
        counts.iter().any(|count| *count > 0).then_some(counts)
    }
}

/// The blocks of functions, as a jar with counters has them: in this order they are numbered.
pub(crate) fn blocks(elf: &[u8], functions: &[Function]) -> String {
    let mut text = format!("{SCHEMA}\n{}\n", program_line(elf));
    for function in functions {
        for block in &function.blocks {
            let _ = writeln!(text, "{:x} {:x}", function.start, block.key);
        }
    }
    text
}

/// The number of each function's first block.
pub(crate) fn first_blocks(functions: &[Function]) -> FxHashMap<u32, u32> {
    let mut next = 0;
    let mut first = FxHashMap::default();
    for function in functions {
        first.insert(function.start, next);
        next += function.blocks.len() as u32;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(elf: &[u8], lines: &str) -> String {
        format!("{SCHEMA}\n{}\n{lines}", program_line(elf))
    }

    #[test]
    fn counts_of_several_files_add_up() {
        let mut profile = Profile::default();
        profile.add("a", &text(b"x", "400 410 7\n400 420 1\n"), b"x").unwrap();
        profile.add("b", &text(b"x", "400 410 18446744073709551615\n"), b"x").unwrap();
        assert_eq!(profile.counts[&(0x400, 0x410)], u64::MAX);
        assert_eq!(profile.counts[&(0x400, 0x420)], 1);
    }

    #[test]
    fn what_is_no_profile_of_the_program_is_refused() {
        let why = |file: &str| Profile::default().add("p", file, b"x").unwrap_err().to_string();
        assert!(why("").contains("expected trimtab.jar.profile/1"));
        assert!(why(&text(b"y", "1 1 1\n")).contains("of another program"));
        assert!(why(&text(b"x", "")).contains("no block ran"));
        for long in [
            "\0é".repeat(9000),
            text(b"x", &"1 ".repeat(9000)),
            format!("{SCHEMA}\n{}", "é".repeat(9000)),
        ] {
            assert!(why(&long).len() < 500, "{}", why(&long));
        }
        for line in ["1 1", "1 1 1 1", "1 x 1", "1 1 -1", "100000000 1 1"] {
            assert!(why(&text(b"x", line)).contains("line 3"), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(lines in "[0-9a-f -]{0,60}\\PC{0,9}(\n[0-9a-f]{1,9} [0-9a-f]{1,9} [0-9]{1,22}){0,4}") {
            let mut profile = Profile::default();
            let read = profile.add("p", &text(b"x", &lines), b"x");
            prop_assert!(profile.add("q", &lines, b"x").is_err());
            prop_assert_eq!(read.is_ok() && profile.counts.is_empty(), false);
        }
    }
}
