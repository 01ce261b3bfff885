//! Flags that change what a program means, what it is protected by, or what else it can be linked
//! with: they are not tuned.

/// What is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// Programs, by the rules of C and C++.
    #[default]
    Program,
    /// Kernels, which break some of these rules and say so to the compiler.
    Kernel,
}

/// Words that are in the names of flags that may not be changed: neither on nor off.
const WORDS: &[&str] = &[
    // Arithmetic.
    "fast-math",
    "associative-math",
    "reciprocal-math",
    "finite-math",
    "unsafe-math",
    "math-errno",
    "rounding-math",
    "signaling-nans",
    "signed-zeros",
    "trapping-math",
    "cx-limited",
    "cx-fortran",
    "single-precision",
    "float-store",
    "fp-contract",
    "excess-precision",
    "fp-int-builtin",
    "approx-func",
    "honor-",
    "strict-float",
    "-ftrapv",
    "wrapv",
    "avoid-fma",
    // What programs are protected by.
    "stack-protector",
    "stack-clash",
    "stack-check",
    "ssp-buffer",
    "cf-protection",
    "harden",
    "sanitize",
    "auto-var-init",
    "split-stack",
    "zero-call-used",
    // What other objects rely on.
    "short-enums",
    "short-wchar",
    "pack-struct",
    "struct-return",
    "exceptions",
    "unwind-tables",
    "rtti",
    "threadsafe-statics",
    "strict-enums",
    "strict-volatile",
    "common",
    "instrument",
    "patchable",
    "visibility",
    "use-cxa",
    "init-array",
    // What threads and debuggers rely on.
    "store-data-races",
    "var-tracking",
    "statement-frontiers",
    "keep-gc-roots",
    "opt-info",
    "save-optimization",
    "debug",
    "openacc",
    "parallelize",
    "unconstrained-commons",
    "finite-loops",
    "merge-all-constants",
    "live-patching",
    "handle-exceptions",
    "isolate-erroneous",
    // Profiles are made and used by the build itself.
    "auto-profile",
    "branch-probabilities",
    "profile-arcs",
    "profile-partial",
    // Values that sizes of arrays and messages depend on.
    "interference-size",
    "diagnostic",
];

/// Flags that may not be given for kernels; the opposite may.
const KERNEL: &[&str] = &[
    "-fstrict-aliasing",
    "-fdelete-null-pointer-checks",
    "-fstrict-overflow",
    "-fipa-pta",
    "-flto",
    "-fprofile-use",
    "-fsplit-machine-functions",
    "-fno-omit-frame-pointer",
    "-fomit-frame-pointer",
    "-fno-plt",
    "-mavx",
    "-msse",
    "-march=",
];

/// Flags by which code needs a newer processor than the compiler's default, or depends on the machine that compiles.
const NOT_PORTABLE: &[&str] = &[
    "-march=",
    "-mcpu=",
    "-mtune=native",
    "-mavx",
    "-msse3",
    "-mssse3",
    "-msse4",
    "-mfma",
    "-mf16c",
    "-mbmi",
    "-mlzcnt",
    "-mpopcnt",
    "-mmovbe",
    "-madx",
    "-maes",
    "-mpclmul",
    "-msha",
    "-mvaes",
    "-mgfni",
];

/// Whether code that is compiled with an option runs on all processors of the compiler's default, and is the same
/// wherever it is compiled.
pub fn is_portable(option: &str) -> bool {
    !option.split_whitespace().any(|word| NOT_PORTABLE.iter().any(|flag| word.starts_with(flag)))
}

/// Whether an option may not be given for this purpose.
pub fn is_forbidden(option: &str, purpose: Purpose) -> bool {
    let begins = |flags: &[&str]| flags.iter().any(|flag| option.starts_with(flag));
    WORDS.iter().any(|word| option.contains(word)) || (purpose == Purpose::Kernel && begins(KERNEL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_newer_processor_is_not_portable() {
        for option in ["-march=native", "-O3 -march=native", "-mtune=native", "-mavx2 -mfma"] {
            assert!(!is_portable(option), "{option}");
        }
        for option in ["-O3", "-mtune=generic", "-mno-avx", "-mprefer-vector-width=128"] {
            assert!(is_portable(option), "{option}");
        }
    }

    #[test]
    fn what_changes_the_meaning_is_forbidden() {
        for option in ["-ffast-math", "-fno-math-errno", "-fwrapv", "-fno-stack-protector"] {
            assert!(is_forbidden(option, Purpose::Program), "{option}");
        }
        for option in ["-fstrict-aliasing", "-fdelete-null-pointer-checks", "-march=x86-64-v3"] {
            assert!(!is_forbidden(option, Purpose::Program), "{option}");
            assert!(is_forbidden(option, Purpose::Kernel), "{option}");
        }
        for option in ["-funroll-loops", "-fno-strict-aliasing", "--param=max-unroll-times=4"] {
            assert!(!is_forbidden(option, Purpose::Kernel), "{option}");
        }
    }
}
