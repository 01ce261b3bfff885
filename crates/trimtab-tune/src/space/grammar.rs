//! Files of flags, in the grammar of J. Kukunas, R. D. Cupper and G. M. Kapfhammer, "A Genetic Algorithm
//! to Improve Linux Kernel Performance on Resource-Constrained Devices", GECCO (2010): each line is an
//! option, or `EITHER m`, and the next m lines are options that exclude each other. Blank lines,
//! lines that begin with `#`, which are left out, and lines of a kernel's configuration are ours.

use std::fmt::Write;

use thiserror::Error;

use super::configuration::{has_blank, has_line};
use super::group::LEVEL;
use super::{Choice, MOST_OPTIONS, Space};

/// Why a file of flags cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrammarError {
    /// Behind `EITHER` there is no number that can be.
    #[error(
        "line {line} is {found:?}; expected EITHER and how many of the next lines exclude each \
         other, 1 to {MOST_OPTIONS}"
    )]
    Either {
        /// From 1.
        line: usize,
        /// The line.
        found: String,
    },
    /// The file ends within options that exclude each other.
    #[error("line {line} says EITHER {expected}, and {found} lines follow; expected {expected}")]
    Short {
        /// From 1.
        line: usize,
        /// Lines that it says.
        expected: usize,
        /// Lines that there are.
        found: usize,
    },
    /// A line is no option.
    #[error(
        "line {line} is {found:?}; expected an option that begins with -, or of a kernel's configuration a \
         line such as CONFIG_HZ_100=y"
    )]
    Option {
        /// From 1.
        line: usize,
        /// The line.
        found: String,
    },
    /// A line of configuration has a value with a blank in it.
    #[error("line {line} is {found:?}; expected values without blanks of a kernel's configuration")]
    Blank {
        /// From 1.
        line: usize,
        /// The line.
        found: String,
    },
    /// There is too much.
    #[error("the file has more than {most} choices; expected fewer")]
    Many {
        /// How many can be.
        most: usize,
    },
}

/// Most choices of a file.
const MOST: usize = 10_000;

/// Reads a file of flags, on top of `level`. Choices of nothing but levels (`-O1`) replace it.
///
/// # Errors
/// [`GrammarError`], by line.
pub fn parse(text: &str, level: &str) -> Result<Space, GrammarError> {
    let lines = text.lines().map(str::trim).zip(1..);
    let mut lines = lines.filter(|(text, _)| !text.is_empty() && !text.starts_with('#'));
    let option = |text: &str, line: usize| match text.starts_with('-') || has_line(text) {
        true if has_blank(text) => Err(GrammarError::Blank { line, found: text.to_owned() }),
        true => Ok(text.to_owned()),
        false => Err(GrammarError::Option { line, found: text.to_owned() }),
    };
    let mut choices = Vec::new();
    while let Some((text, line)) = lines.next() {
        let options = match text.split_once(char::is_whitespace) {
            Some(("EITHER", number)) => {
                let wrong = || GrammarError::Either { line, found: text.to_owned() };
                let expected: usize = number.trim().parse().map_err(|_| wrong())?;
                if expected == 0 || expected > MOST_OPTIONS {
                    return Err(wrong());
                }
                let options: Vec<String> = lines
                    .by_ref()
                    .take(expected)
                    .map(|(text, line)| option(text, line))
                    .collect::<Result<_, _>>()?;
                if options.len() < expected {
                    return Err(GrammarError::Short { line, expected, found: options.len() });
                }
                options
            }
            _ if text == "EITHER" => {
                return Err(GrammarError::Either { line, found: text.to_owned() });
            }
            _ => vec![option(text, line)?],
        };
        if choices.len() == MOST {
            return Err(GrammarError::Many { most: MOST });
        }
        choices.push(Choice::new(name(&options), options));
    }
    Ok(Space { level: level.to_owned(), choices })
}

/// Writes a space so that [`parse`] reads it again, with the same choices in the same order.
pub fn print(space: &Space) -> String {
    let mut text = String::new();
    for choice in &space.choices {
        if choice.options.len() > 1 {
            // Writing to a string does not fail.
            let _ = writeln!(text, "EITHER {}", choice.options.len());
        }
        for option in &choice.options {
            let _ = writeln!(text, "{option}");
        }
    }
    text
}

/// What a choice among these is called.
fn name(options: &[String]) -> String {
    let is_level = |option: &String| {
        option.strip_prefix("-O").is_some_and(|rest| rest.chars().all(|c| c.is_alphanumeric()))
    };
    if !options.is_empty() && options.iter().all(is_level) {
        return LEVEL.to_owned();
    }
    let first = options.first().map_or("", String::as_str);
    match first.strip_prefix("--param=") {
        Some(rest) => format!("--param={}", rest.split('=').next().unwrap_or(rest)),
        None => first.split('=').next().unwrap_or(first).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn options_and_those_that_exclude_each_other_are_read() {
        let text =
            "# flags\nEITHER 2\n-O1\n-O3\n\n-fgcse\nEITHER 2\n-xSSE3\n-axSSE3\n--param=a=4\n";
        let space = parse(text, "-O2").unwrap();
        let names: Vec<&str> = space.choices.iter().map(|choice| choice.name.as_str()).collect();
        assert_eq!(names, ["level", "-fgcse", "-xSSE3", "--param=a"]);
        assert_eq!(space.flags(&space.base().with(0, 2).with(2, 2)), ["-O3", "-axSSE3"]);
        assert_eq!(parse(&print(&space), "-O2"), Ok(space));
    }

    #[test]
    fn lines_of_configuration_are_options() {
        let text = "EITHER 2\nCONFIG_HZ_100=y\nCONFIG_HZ_1000=y\n-Os CONFIG_SLUB_TINY=y\n";
        let space = parse(text, "-O2").unwrap();
        let names: Vec<&str> = space.choices.iter().map(|choice| choice.name.as_str()).collect();
        assert_eq!(names, ["CONFIG_HZ_100", "-Os CONFIG_SLUB_TINY"]);
        assert_eq!(space.flags(&space.base().with(0, 2)), ["-O2", "CONFIG_HZ_1000=y"]);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said_by_line() {
        for (text, expected) in [
            ("-fa\nEITHER x\n", "line 2 is \"EITHER x\""),
            ("EITHER 0\n", "line 1 is \"EITHER 0\""),
            ("EITHER\n", "line 1 is \"EITHER\""),
            ("EITHER 3\n-fa\n", "line 1 says EITHER 3, and 1 lines follow"),
            ("-fa\nfb\n", "line 2 is \"fb\"; expected an option"),
            ("CONFIG_HZ_100\n", "line 1 is \"CONFIG_HZ_100\"; expected an option"),
            ("-fa\nCONFIG_CMDLINE=\"quiet -x\"\n", "expected values without blanks"),
            ("EITHER 1\nCONFIG_A=b c\n", "line 2 is \"CONFIG_A=b c\"; expected values"),
            ("EITHER 1\nfb\n", "line 2 is \"fb\"; expected an option"),
        ] {
            let error = parse(text, "-O2").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_file_makes_it_panic(text in "\\PC{0,200}") {
            let _ = parse(&text, "-O2");
        }

        #[test]
        fn what_is_printed_is_read_again(numbers in prop::collection::vec(1usize..5, 0..20)) {
            let choices = numbers.iter().enumerate().map(|(place, options)| {
                let options: Vec<String> =
                    (0..*options).map(|option| format!("-f{place}={option}")).collect();
                Choice::new(name(&options), options)
            });
            let space = Space { level: "-O2".to_owned(), choices: choices.collect() };
            prop_assert_eq!(parse(&print(&space), "-O2"), Ok(space));
        }
    }
}
