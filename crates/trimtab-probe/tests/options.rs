//! Compilers' options that change how code begins, ends, calls and keeps its stack: instrumented programs do what
//! the plain ones do, whatever they were compiled with. A sample of all combinations by itself, each option
//! with all else with `--ignored`.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::fmt::Write;

use common::{Bench, Compiler, RUNTIME, compilers, runtime};
use trimtab_fixture::Random;
use trimtab_probe::{Hook, Selection};

const SEED: u64 = 21;
/// Builds of the sample.
const SAMPLE: usize = 36;

const PROGRAMS: [&str; 8] = [
    "calls.c",
    "stacked.c",
    "conventions.c",
    "interrupts.c",
    "world.c",
    "exceptions.cc",
    "member_pointers.cc",
    "torture.cc",
];

const LEVELS: [&str; 5] = ["-O0", "-O1", "-O2", "-O3", "-Os"];

const LINKS: [&[&str]; 4] = [
    &["-fPIE", "-pie"],
    &["-fno-pie", "-no-pie"],
    &["-fno-pie", "-no-pie", "-static"],
    &["-fPIE", "-static-pie"],
];

/// What a compiler does not know or a linker does not take, is passed over.
const OPTIONS: [&[&str]; 22] = [
    &[],
    &["-fcf-protection=full"],
    &["-fcf-protection=none"],
    &["-fsplit-stack"],
    &["-pg"],
    &["-mcmodel=large"],
    &["-mcmodel=medium", "-mlarge-data-threshold=16"],
    &["-mfunction-return=thunk", "-mindirect-branch=thunk", "-fcf-protection=none"],
    &["-mfunction-return=thunk-inline", "-mindirect-branch=thunk-inline", "-fcf-protection=none"],
    &["-mretpoline"],
    &["-fsanitize=kcfi"],
    &["-fpatchable-function-entry=5"],
    &["-fpatchable-function-entry=16,8"],
    &["-mstackrealign"],
    &["-fzero-call-used-regs=all"],
    &["-fzero-call-used-regs=used-gpr"],
    &["-fno-asynchronous-unwind-tables", "-DWITHOUT_TABLES"],
    &["-mno-red-zone", "-fno-plt", "-fno-omit-frame-pointer"],
    &["-fstack-protector-all", "-fstack-clash-protection"],
    &["-ffunction-sections", "-Wl,--gc-sections", "-g"],
    &["-falign-functions=64", "-fno-ipa-ra"],
    &["-fxray-instrument", "-fxray-instruction-threshold=1"],
];

/// What became of a build.
enum Ended {
    /// The compiler or the linker does not take these options together, or the plain program fails.
    Refused,
    Same,
    Differs(String),
}

fn build(compiler: Compiler, program: &str, flags: &[&str], hook: Hook) -> Ended {
    let include = format!("-I{RUNTIME}");
    let bench = Bench::new(compiler, &[flags, &[include.as_str(), "-w"]].concat());
    let label = format!("{program} by {} {flags:?} with {}", compiler.c, hook.name());
    let Some(object) = bench.try_compile(program) else { return Ended::Refused };
    // The run time of XRay is not linked: it would print.
    let link: Vec<&std::ffi::OsStr> = flags
        .contains(&"-fxray-instrument")
        .then(|| "-fno-xray-instrument".as_ref())
        .into_iter()
        .collect();
    if !bench.try_link("plain", &[&object], &link) {
        return Ended::Refused;
    }
    let plain = bench.run_anyhow("plain", &[], &[]);
    // Some options do not work with the program.
    if plain.code.is_none() {
        return Ended::Refused;
    }
    let (probed, done) = bench.instrument(&object, hook, Selection::default());
    let more = [&[runtime().as_os_str()], link.as_slice()].concat();
    if !bench.try_link("probed", &[&probed], &more) {
        return Ended::Differs(format!("{label} does not link"));
    }
    let mut ran = bench.run("probed");
    if done.instrumented.is_empty() {
        ran.output = ran.output.lines().filter(|line| !line.contains("trimtab-probe:")).fold(
            String::new(),
            |mut text, line| {
                let _ = writeln!(text, "{line}");
                text
            },
        );
    }
    match ran == plain {
        true => Ended::Same,
        false => Ended::Differs(format!("{label}: {ran:?} where it was {plain:?}")),
    }
}

/// Hooks that record what is no longer than the program.
const HOOKS: [Hook; 6] =
    [Hook::Count, Hook::Time, Hook::Value, Hook::Order, Hook::Edges, Hook::Cycles];

#[test]
fn a_sample_of_all_options_together() {
    let compilers = compilers();
    let mut random = Random::of(SEED);
    let (mut same, mut wrong) = (0, Vec::new());
    for _ in 0..SAMPLE {
        let compiler = compilers[random.below(compilers.len())];
        let program = PROGRAMS[random.below(PROGRAMS.len() - 1)];
        let mut flags = vec![LEVELS[random.below(LEVELS.len())]];
        flags.extend(LINKS[random.below(LINKS.len())]);
        for _ in 0..=random.below(2) {
            flags.extend(OPTIONS[random.below(OPTIONS.len())]);
        }
        match build(compiler, program, &flags, HOOKS[random.below(HOOKS.len())]) {
            Ended::Refused => {}
            Ended::Same => same += 1,
            Ended::Differs(what) => wrong.push(what),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(same * 3 >= SAMPLE, "only {same} of {SAMPLE} could be built");
}

#[test]
fn gold_takes_stubs_of_functions_with_split_stacks() {
    let gcc = compilers()[0];
    let flags = ["-O1", "-fsplit-stack", "-fuse-ld=gold"];
    for hook in [Hook::Count, Hook::Time, Hook::Value] {
        match build(gcc, "calls.c", &flags, hook) {
            Ended::Same => {}
            Ended::Differs(what) => panic!("{what}"),
            Ended::Refused => panic!("the plain program does not build or fails"),
        }
    }
}

/// Every option, with every level, way to link and program, by one compiler.
fn each_option_by(compiler: Compiler) {
    let (mut all, mut refused, mut wrong) = (0, 0, Vec::new());
    for options in OPTIONS {
        let before = (all, refused);
        for level in LEVELS {
            for link in LINKS {
                for program in PROGRAMS {
                    let flags = [&[level], link, options].concat();
                    let ended = build(compiler, program, &flags, HOOKS[all % HOOKS.len()]);
                    all += 1;
                    match ended {
                        Ended::Refused => refused += 1,
                        Ended::Same => {}
                        Ended::Differs(what) => {
                            println!("{what}");
                            wrong.push(what);
                        }
                    }
                }
            }
        }
        let (built, refused) = (all - before.0, refused - before.1);
        println!("{} {options:?}: {built} builds, {refused} refused", compiler.c);
    }
    println!("{}: {all} builds, {refused} refused, {} differ", compiler.c, wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "takes an hour: `make weekly` runs it"]
fn each_option_with_all_else_by_gcc() {
    each_option_by(compilers()[0]);
}

#[test]
#[ignore = "takes an hour: `make weekly` runs it"]
fn each_option_with_all_else_by_clang() {
    each_option_by(compilers()[1]);
}
