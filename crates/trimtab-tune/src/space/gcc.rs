//! The flags of gcc, from its own lists: `-Q --help=optimizers`, `-Q --help=params`.

use super::group::LEVEL;
use super::{Choice, Purpose, Space, is_forbidden};

/// What gcc prints about itself at the level that is tuned on top of.
#[derive(Debug, Clone, Copy)]
pub struct GccLists<'a> {
    /// `-Q --help=optimizers`.
    pub optimizers: &'a str,
    /// `-Q --help=params`.
    pub params: &'a str,
}

/// Levels that are chosen among, beside the one that is there otherwise.
const LEVELS: [&str; 4] = ["-O1", "-O2", "-O3", "-Os"];

/// Machines that are asked for; the compiler and the processor say which there are.
const MACHINES: [&str; 3] = ["-march=x86-64-v2", "-march=x86-64-v3", "-march=native"];

/// How the whole program is built.
const BUILDS: [(&str, &[&str]); 2] = [("-fprofile-use", &["-fprofile-use"]), ("-flto", &["-flto"])];

/// Words in the names of parameters that decide over code; the others are about limits of memory and
/// compile time, other machines, messages, and tools.
const PARAMS: &[&str] = &[
    "inline",
    "early-inlin",
    "large-function",
    "large-unit",
    "unroll",
    "peel",
    "unswitch",
    "ipa-cp",
    "ipa-sra",
    "gcse",
    "hoist",
    "jump-thread",
    "fsm",
    "crossjump",
    "goto-dup",
    "grow-copy",
    "sched-",
    "sched",
    "vect-",
    "loop-interchange",
    "loop-versioning",
    "iv-",
    "ira-loop",
    "lra-inheritance",
    "case-values",
    "switch-conversion",
    "tracer",
    "store-merg",
    "stores-to",
    "sra-max",
    "if-conversion",
    "predictable-branch",
    "align-",
    "hot-bb-freq",
    "average-unrolled",
    "partial-inlining",
    "sink-frequency",
    "combine-insns",
    "builtin-string",
    "builtin-expect",
    "max-cse-path",
    "tail-merge",
    "slsr",
    "reassoc",
    "split-prob",
    "tree-if",
    "uninlined",
    "loop-header",
    "variable-expansions",
];

/// Values of flags that name none in gcc's list.
const VALUED: [(&str, &[u32]); 4] = [
    ("-falign-functions=", &[1, 8, 16, 32, 64]),
    ("-falign-loops=", &[1, 8, 16, 32, 64]),
    ("-falign-jumps=", &[1, 8, 16, 32]),
    ("-falign-labels=", &[1, 8, 16]),
];

/// The space of a gcc, on top of `level`: what its lists have, less what is forbidden. Which options it
/// really takes, and whether they go together, only compiling says.
pub fn gcc(lists: GccLists<'_>, level: &str, purpose: Purpose) -> Space {
    let levels = LEVELS.iter().filter(|name| **name != level);
    let mut choices = vec![Choice::new(LEVEL, levels.map(|name| (*name).to_owned()))];
    choices.push(Choice::new("-march", MACHINES.map(str::to_owned)));
    for (name, options) in BUILDS {
        choices.push(Choice::new(name, options.iter().map(|option| (*option).to_owned())));
    }
    choices.extend(lists.optimizers.lines().filter_map(flag));
    choices.extend(lists.params.lines().filter_map(param));
    let space = Space { level: level.to_owned(), choices };
    space.only_options(|option| !is_forbidden(option, purpose))
}

/// The choice of a line of `--help=optimizers`.
fn flag(line: &str) -> Option<Choice> {
    let (flag, state) = halves(line)?;
    if !flag.starts_with("-f") || state.contains("available in") {
        return None;
    }
    if let Some((_, values)) = VALUED.iter().find(|(name, _)| *name == flag) {
        let options = values.iter().map(|value| format!("{flag}{value}"));
        return Some(Choice::new(flag.trim_end_matches('='), options));
    }
    match flag.split_once('=') {
        None if state == "[enabled]" || state == "[disabled]" || state.is_empty() => {
            // Also a flag that the level has can be named: another level may not have it.
            Some(Choice::new(flag, [flag.to_owned(), opposite(flag)]))
        }
        None => None,
        Some((name, values)) => {
            let values = values.strip_prefix('[')?.strip_suffix(']')?;
            let options = values.split('|').map(|value| format!("{name}={value}"));
            Some(Choice::new(name, options))
        }
    }
}

/// `-fno-gcse` for `-fgcse`, and the other way.
fn opposite(flag: &str) -> String {
    match (flag.strip_prefix("-fno-"), flag.strip_prefix("-f")) {
        (Some(rest), _) => format!("-f{rest}"),
        (None, Some(rest)) => format!("-fno-{rest}"),
        (None, None) => flag.to_owned(),
    }
}

/// The choice of a line of `--help=params`: half of, twice and four times what it is.
fn param(line: &str) -> Option<Choice> {
    let (param, default) = halves(line)?;
    let (name, range) = param.strip_prefix("--param=")?.split_once('=')?;
    let default: i64 = default.parse().ok()?;
    if !PARAMS.iter().any(|word| name.contains(word)) {
        return None;
    }
    let ends = range.strip_prefix('<').and_then(|range| range.strip_suffix('>'));
    let ends = ends.and_then(|ends| ends.split_once(','));
    let (low, high) = match ends {
        Some((low, high)) => (low.trim().parse().ok()?, high.trim().parse().ok()?),
        None => (0, i64::from(i32::MAX)),
    };
    let mut values: Vec<i64> = match default {
        ..0 => return None,
        0 => vec![1, 2],
        1 => vec![0, 2, 4],
        some => vec![some / 2, some.saturating_mul(2), some.saturating_mul(4)],
    };
    values.retain(|value| (low..=high).contains(value) && *value != default);
    let options = values.into_iter().map(|value| format!("--param={name}={value}"));
    let choice = Choice::new(format!("--param={name}"), options);
    (!choice.options.is_empty()).then_some(choice)
}

/// The flag of a line, and what stands behind it.
fn halves(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    if !line.starts_with('-') {
        return None;
    }
    let (flag, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    Some((flag, rest.trim()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OPTIMIZERS: &str = "\
The following options control optimizations:
  -O<number>                  \t\t
  -faggressive-loop-optimizations \t[enabled]
  -falign-functions=          \t\t16
  -fassociative-math          \t\t[disabled]
  -fexceptions                \t\t[available in Modula-2]
  -fira-region=[one|all|mixed] \tone
  -flive-patching=[inline-only-static|inline-clone] \t[default]
  -fpack-struct=<number>      \t\t
  -funroll-loops              \t\t[disabled]
";
    const PARAMS: &str = "\
The following options control parameters:
  --param=asan-stack=<0,1>    \t\t1
  --param=max-unroll-times=   \t\t8
  --param=max-inline-insns-auto=<0,40>  \t15
  --param=sched-autopref-queue-depth= \t-1
  --param=max-unswitch-level= \t\tmany
";

    fn space(purpose: Purpose) -> Space {
        gcc(GccLists { optimizers: OPTIMIZERS, params: PARAMS }, "-O2", purpose)
    }

    #[test]
    fn the_lists_are_read_without_what_is_forbidden() {
        let text = super::super::print(&space(Purpose::Program));
        for option in [
            "-O3",
            "-march=x86-64-v3",
            "-fprofile-use",
            "-fno-aggressive-loop-optimizations",
            "-falign-functions=32",
            "-fira-region=all",
            "-funroll-loops",
            "-fno-unroll-loops",
            "--param=max-unroll-times=16",
            "--param=max-inline-insns-auto=30",
        ] {
            assert!(text.lines().any(|line| line == option), "{option}: {text}");
        }
        for option in ["math", "pack", "live-patching", "asan", "autopref", "=60", "Ofast", "-O2"] {
            assert!(!text.contains(option), "{option}: {text}");
        }
    }

    #[test]
    fn kernels_have_fewer() {
        let text = super::super::print(&space(Purpose::Kernel));
        assert!(!text.contains("-march") && !text.contains("-flto") && text.contains("unroll"));
    }

    proptest! {
        #[test]
        fn no_list_makes_it_panic(optimizers in "\\PC{0,200}", params in "(  --param=[a-z=<>0-9,-]{0,30} [0-9-]{0,25}\n){0,5}") {
            let _ = gcc(GccLists { optimizers: &optimizers, params: &params }, "-O2", Purpose::Program);
        }
    }
}
