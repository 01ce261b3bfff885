//! Lines of a kernel's configuration among the options of a space: `CONFIG_HZ_100=y`. An option may have flags
//! and lines; whoever builds the kernel parts them.

use super::group::LEVEL;
use super::{Choice, Group, Space};

/// What lines of configuration begin with.
const PREFIX: &str = "CONFIG_";

/// Whether a word of an option is a line of a kernel's configuration, and no flag.
pub fn is_line(word: &str) -> bool {
    word.strip_prefix(PREFIX).is_some_and(|rest| rest.contains('='))
}

/// Whether an option has a line of a kernel's configuration.
pub fn has_line(option: &str) -> bool {
    option.split_whitespace().any(is_line)
}

/// Whether a kernel that is configured so has taken a line. What is off is not set there, or not named at all.
pub fn is_taken(line: &str, configuration: &str) -> bool {
    let mut lines = configuration.lines();
    match line.strip_suffix("=n") {
        Some(option) => {
            !lines.any(|line| line.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')))
        }
        None => lines.any(|one| one == line),
    }
}

/// Whether a line of an option has a blank in its value, where it would end.
pub fn has_blank(option: &str) -> bool {
    let mut is_behind = false;
    option.split_whitespace().any(|word| {
        // A quote behind a backslash is one of the value.
        let quotes = word.matches('"').count() - word.matches("\\\"").count();
        let is_cut = is_line(word) && quotes % 2 == 1;
        let is_rest = is_behind && !is_line(word) && !word.starts_with('-');
        is_behind = is_line(word);
        is_cut || is_rest
    })
}

/// The flags among words, and the lines of configuration.
pub fn parted<W: AsRef<str>>(words: &[W]) -> (Vec<String>, Vec<String>) {
    words.iter().map(|word| word.as_ref().to_owned()).partition(|word| !is_line(word))
}

/// An option of a kernel's configuration that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigOption {
    /// What it is called.
    pub name: &'static str,
    /// What it excludes others of; none where it is a level of optimisation.
    pub choice: Option<&'static str>,
    /// Its line of the configuration: one of a Kconfig `choice`, so that it turns the others off.
    pub line: &'static str,
    /// Flags that go with it: the last level of optimisation wins over the configuration's.
    pub flags: &'static str,
}

impl ConfigOption {
    /// The option of a space.
    pub fn option(&self) -> String {
        format!("{} {}", self.flags, self.line).trim().to_owned()
    }
}

const fn option(
    name: &'static str,
    choice: Option<&'static str>,
    (line, flags): (&'static str, &'static str),
) -> ConfigOption {
    ConfigOption { name, choice, line, flags }
}

const HZ: Option<&str> = Some("CONFIG_HZ");
const PREEMPTION: Option<&str> = Some("CONFIG_PREEMPT");

/// What users of kernels choose for speed: how often the timer interrupts, where the kernel is preempted,
/// what it is compiled for.
pub const CONFIG_OPTIONS: [ConfigOption; 7] = [
    option("100 Hz", HZ, ("CONFIG_HZ_100=y", "")),
    option("250 Hz", HZ, ("CONFIG_HZ_250=y", "")),
    option("1000 Hz", HZ, ("CONFIG_HZ_1000=y", "")),
    option("no preemption", PREEMPTION, ("CONFIG_PREEMPT_NONE=y", "")),
    option("voluntary preemption", PREEMPTION, ("CONFIG_PREEMPT_VOLUNTARY=y", "")),
    option("full preemption", PREEMPTION, ("CONFIG_PREEMPT=y", "")),
    option("for size", None, ("CONFIG_CC_OPTIMIZE_FOR_SIZE=y", "-Os")),
];

impl Space {
    /// The same with these options of a kernel's configuration: those of one Kconfig `choice` exclude each other,
    /// and a level of optimisation excludes the compiler's other levels.
    #[must_use]
    pub fn with_configuration(mut self, options: &[ConfigOption]) -> Self {
        for option in options {
            let name = option.choice.unwrap_or(LEVEL);
            let is_same = |choice: &&mut Choice| match option.choice {
                Some(name) => choice.name == name,
                None => choice.group == Group::Level,
            };
            match self.choices.iter_mut().find(is_same) {
                Some(choice) => choice.add(option.option()),
                None => self.choices.push(Choice::new(name, [option.option()])),
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn options_of_one_kconfig_choice_exclude_each_other_and_a_level_is_a_level() {
        let flags = parse("EITHER 2\n-O1\n-O3\n-fweb\n", "-O2").unwrap();
        let space = flags.clone().with_configuration(&CONFIG_OPTIONS);
        let names: Vec<&str> = space.choices.iter().map(|choice| choice.name.as_str()).collect();
        assert_eq!(names, ["level", "-fweb", "CONFIG_HZ", "CONFIG_PREEMPT"]);
        assert_eq!(space.options(), flags.options() + CONFIG_OPTIONS.len());
        assert_eq!(space.choices[2].group, Group::Configuration);
        let words = |values: [u8; 4]| space.flags(&super::super::Point::new(values.to_vec()));
        assert_eq!(words([0, 1, 0, 0]), ["-O2", "-fweb"]);
        let chosen = words([3, 1, 3, 1]);
        let expected = ["-Os", "CONFIG_CC_OPTIMIZE_FOR_SIZE=y", "-fweb", "CONFIG_HZ_1000=y"];
        assert_eq!(chosen[..4], expected);
        let (flags, lines) = parted(&chosen);
        assert_eq!(flags, ["-Os", "-fweb"]);
        assert_eq!(lines[1..], ["CONFIG_HZ_1000=y", "CONFIG_PREEMPT_NONE=y"]);
        let size = CONFIG_OPTIONS[6].option();
        assert_eq!(space.point(&[&size]), Some(space.base().with(0, 3)));
    }

    #[test]
    fn a_level_is_a_choice_of_its_own_where_there_is_none() {
        let flags = parse("-fweb\n", "-O2").unwrap();
        let space = flags.with_configuration(&CONFIG_OPTIONS[6..]);
        let point = space.base().with(1, 1);
        assert_eq!(space.flags(&point), ["-Os", "CONFIG_CC_OPTIMIZE_FOR_SIZE=y"]);
    }

    #[test]
    fn what_is_off_is_not_set_or_not_there() {
        let configuration = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=m\nCONFIG_C_D=7\n";
        for (line, expected) in [
            ("CONFIG_A=y", true),
            ("CONFIG_A=n", false),
            ("CONFIG_B=n", true),
            ("CONFIG_B=y", false),
            ("CONFIG_C=n", false),
            ("CONFIG_C_D=n", false),
            ("CONFIG_C_D=7", true),
            ("CONFIG_D=n", true),
            ("CONFIG_D=y", false),
        ] {
            assert_eq!(is_taken(line, configuration), expected, "{line}");
        }
    }

    #[test]
    fn lines_are_told_from_flags() {
        assert!(is_line("CONFIG_HZ_100=y") && !is_line("-DCONFIG_HZ_100=y"));
        assert!(!is_line("CONFIG_HZ_100") && !is_line("-O2"));
        assert!(has_blank("CONFIG_A=\"b -c\"") && has_blank("-Os CONFIG_A=b c"));
        assert!(!has_blank("--param x=1 CONFIG_A=\"b\" CONFIG_B=y -Os"));
        assert!(!has_blank("CONFIG_A=\"b\\\"c\""));
        assert!(has_line("-Os CONFIG_CC_OPTIMIZE_FOR_SIZE=y") && !has_line("-Os -fweb"));
    }
}
