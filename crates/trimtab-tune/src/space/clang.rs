//! The flags of clang, from its own list: `--help-hidden`. clang takes most of gcc's flags and ignores
//! them, so gcc's lists say nothing here.

use std::collections::BTreeMap;

use super::group::LEVEL;
use super::{Choice, Purpose, Space, is_forbidden};

/// Words in the names of flags that decide over code. clang lists hundreds that are about languages,
/// other machines, messages and tools, and no list of its own says which decide.
const WORDS: &[&str] = &[
    "unroll",
    "vectorize",
    "inline-functions",
    "inline-hint",
    "jump-tables",
    "frame-pointer",
    "-plt",
    "optimize-sibling",
    "split-machine",
    "devirtualize",
    "loop-interchange",
    "loop-fusion",
    "strict-aliasing",
    "delete-null",
    "virtual-tables",
    "semantic-interposition",
    "zero-initialized",
];

/// Options of LLVM itself, with values around what they are; compiling says whether they are there.
const LLVM: [(&str, &[u32]); 7] = [
    ("-inline-threshold", &[50, 100, 400, 800]),
    ("-unroll-threshold", &[75, 300, 600]),
    ("-unroll-count", &[2, 4, 8]),
    ("-unswitch-threshold", &[25, 100]),
    ("-jump-threading-threshold", &[3, 12]),
    ("-max-jump-threading-phis", &[2]),
    ("-align-all-nofallthru-blocks", &[4, 5]),
];

/// The space of a clang, on top of `level`, from what `--help-hidden` prints: without what is
/// forbidden. Which options it really takes only compiling says.
pub fn clang(help: &str, level: &str, purpose: Purpose) -> Space {
    let levels = ["-O1", "-O2", "-O3", "-Os", "-Oz"].into_iter().filter(|name| *name != level);
    let owned =
        |options: &[&str]| -> Vec<String> { options.iter().map(|o| (*o).to_owned()).collect() };
    let machines = ["-march=x86-64-v2", "-march=x86-64-v3", "-march=native"];
    let mut choices = vec![
        Choice::new(LEVEL, levels.map(str::to_owned)),
        Choice::new("-march", owned(&machines)),
        Choice::new("-fprofile-use", owned(&["-fprofile-use"])),
        Choice::new("-flto", owned(&["-flto=thin", "-flto"])),
    ];
    let mut flags: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for line in help.lines() {
        let Some(flag) = line.split_whitespace().next().filter(|flag| flag.starts_with("-f"))
        else {
            continue;
        };
        let plain = flag.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if !plain || !WORDS.iter().any(|word| flag.contains(word)) {
            continue;
        }
        let name = flag.strip_prefix("-fno-").or(flag.strip_prefix("-f")).unwrap_or(flag);
        flags.insert(name, vec![format!("-f{name}"), format!("-fno-{name}")]);
    }
    choices
        .extend(flags.into_iter().map(|(name, options)| Choice::new(format!("-f{name}"), options)));
    choices.extend(LLVM.iter().map(|(name, values)| {
        Choice::new(*name, values.iter().map(|value| format!("-mllvm {name}={value}")))
    }));
    let space = Space { level: level.to_owned(), choices };
    space.only_options(|option| !is_forbidden(option, purpose))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_list_is_read_and_not_that_of_gcc() {
        let help = "OPTIONS:\n  -fno-unroll-loops  Turn it off\n  -funroll-loops   Turn on\n  \
                    -fvectorize  x\n  -fgnu-keywords  y\n  -fvisibility=<value> z\n  -finline-functions\n";
        let space = clang(help, "-O2", Purpose::Program);
        let text = super::super::print(&space);
        for option in ["-fno-unroll-loops", "-fvectorize", "-mllvm -inline-threshold=400", "-Oz"] {
            assert!(text.lines().any(|line| line == option), "{option}: {text}");
        }
        assert_eq!(text.matches("-funroll-loops\n").count(), 1, "{text}");
        assert!(!text.contains("keywords") && !text.contains("visibility"), "{text}");
    }
}
