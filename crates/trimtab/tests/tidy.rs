//! The rules of docs/DESIGN.md hold: each test reads the sources of the workspace and names what breaks a
//! rule, by file and line.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "tidy/arrows.rs"]
mod arrows;
#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/source.rs"]
mod source;

use std::collections::BTreeSet;

use source::Source;

/// Most lines of a file, in any language.
const MOST_LINES: usize = 600;
/// Most lines of a function, in Rust.
const MOST_LINES_OF_A_FUNCTION: usize = 100;
/// Most lines of a function that has no comment `// Long: …`, which says why it is not cut.
const MOST_LINES_WITHOUT_A_REASON: usize = 60;
/// Most files that reach each other by their imports.
const LARGEST_CIRCLE: usize = 5;
/// Crates that are given bytes and values, and give values back.
const WITHOUT_IO: [&str; 6] = [
    "trimtab-program",
    "trimtab-profile",
    "trimtab-layout",
    "trimtab-link",
    "trimtab-stats",
    "trimtab-report",
];
/// Where processes are started: by jobs, and under the tracer, which must be the parent.
const STARTS_PROCESSES: [&str; 2] =
    ["crates/trimtab-lab/src/process", "crates/trimtab-native/src/native"];

/// Where steps of a work directory are made: all others give it a value that is `KeptStep`.
const MAKES_STEPS: &str = "crates/trimtab-lab/src/workdir";

/// Fails with a list of what breaks a rule.
fn none(rule: &str, broken: Vec<String>) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

#[test]
fn the_arrows_of_the_design_are_those_of_the_manifests() {
    let (drawn, real) = (arrows::of_the_design(), arrows::of_the_manifests());
    let missing = real.difference(&drawn).map(|(from, to)| format!("{from} -> {to} is not drawn"));
    let stale = drawn.difference(&real).map(|(from, to)| format!("{from} -> {to} is not there"));
    none("docs/DESIGN.md draws other arrows than the manifests", missing.chain(stale).collect());
}

#[test]
fn no_capability_knows_another() {
    let capabilities: BTreeSet<String> = arrows::capabilities();
    assert!(capabilities.len() >= 3, "{capabilities:?}");
    let broken = arrows::of_the_manifests()
        .into_iter()
        .filter(|(from, to)| capabilities.contains(from) && capabilities.contains(to))
        .map(|(from, to)| format!("{from} -> {to}"));
    none("a capability depends on another", broken.collect());
}

#[test]
fn only_the_command_reads_command_lines() {
    let broken = arrows::users_of("clap").into_iter().filter(|name| name != "trimtab");
    none("a crate beside the command depends on clap", broken.collect());
}

#[test]
fn each_file_says_what_it_is_for() {
    let broken = Source::all_rust().into_iter().filter(|file| !file.says_what_it_is_for());
    none("a file has no //! line", broken.map(|file| file.path).collect());
}

#[test]
fn no_file_is_too_long() {
    let broken = Source::all().into_iter().filter_map(|file| {
        let lines = file.text.lines().count();
        (lines > MOST_LINES).then(|| format!("{} has {lines} lines", file.path))
    });
    none("a file has more lines than one concept takes", broken.collect());
}

#[test]
fn no_conflict_of_a_merge_is_left() {
    none(
        "lines of a merge are left",
        source::lines_of_the_repository("^([<]{7}|[|]{7}|[>]{7})( |$)"),
    );
    let this = source::lines_of_the_repository("^fn no_conflict_of_a_merge_is_left");
    assert_eq!(this.len(), 1, "lines are found: {this:?}");
}

#[test]
fn no_function_is_too_long() {
    let broken = Source::all_rust().into_iter().flat_map(|file| {
        let functions = file.functions();
        let long = functions.into_iter().filter(|f| f.lines > MOST_LINES_OF_A_FUNCTION);
        long.map(|f| format!("{}:{} {} has {} lines", file.path, f.line, f.name, f.lines))
            .collect::<Vec<String>>()
    });
    none("a function has too many lines", broken.collect());
}

#[test]
fn a_long_function_says_why() {
    let broken = Source::shipped().into_iter().flat_map(|file| {
        let lines: Vec<&str> = file.text.lines().collect();
        let has_reason = |f: &source::Function| {
            let own = lines.iter().skip(f.line - 1).take(f.lines);
            own.map(|line| line.trim()).any(|line| line.starts_with("// Long: "))
        };
        let functions = file.functions();
        let long = functions.into_iter().filter(|f| f.lines > MOST_LINES_WITHOUT_A_REASON);
        long.filter(|f| !has_reason(f))
            .map(|f| format!("{}:{} {} has {} lines", file.path, f.line, f.name, f.lines))
            .collect::<Vec<String>>()
    });
    none("a long function does not say why", broken.collect());
}

#[test]
fn processes_are_started_in_one_place() {
    let broken = Source::shipped().into_iter().flat_map(|file| {
        let allowed = STARTS_PROCESSES.iter().any(|place| file.path.starts_with(place));
        let lines = if allowed { Vec::new() } else { file.lines_with("Command::new(") };
        lines.into_iter().map(move |line| format!("{}:{line}", file.path)).collect::<Vec<_>>()
    });
    none("a process is started outside of its room", broken.collect());
}

#[test]
fn pure_crates_read_and_write_nothing() {
    let broken = Source::shipped().into_iter().flat_map(|file| {
        let pure = WITHOUT_IO.iter().any(|name| file.path.starts_with(&format!("crates/{name}/")));
        let words = ["std::fs", "std::net", "std::process", "std::env", "File::open"];
        let lines = words.iter().filter(|_| pure).flat_map(|word| file.lines_with(word));
        lines.map(|line| format!("{}:{line}", file.path)).collect::<Vec<String>>()
    });
    none("a crate that is without I/O does some", broken.collect());
}

#[test]
fn no_key_is_made_of_debug_output() {
    let broken = Source::shipped().into_iter().flat_map(|file| {
        let lines = file.text.lines().enumerate().filter(|(_, line)| {
            line.contains(".field(") && (line.contains(":?}") || line.contains("{:?"))
        });
        lines.map(|(at, _)| format!("{}:{}", file.path, at + 1)).collect::<Vec<String>>()
    });
    none("a key changes with how a type is printed for debugging", broken.collect());
}

#[test]
fn steps_are_kept_in_one_way() {
    let broken = Source::shipped().into_iter().flat_map(|file| {
        let allowed = file.path.starts_with(MAKES_STEPS);
        let words = ["work.step(", ".resumable(", "Step::Todo"];
        let lines = words.iter().filter(|_| !allowed).flat_map(|word| file.lines_with(word));
        lines.map(|line| format!("{}:{line}", file.path)).collect::<Vec<String>>()
    });
    none("a step of a work directory is made by hand", broken.collect());
}

#[test]
fn a_crate_is_compiled_again_just_when_a_folder_that_it_takes_in_changes() {
    // Of a folder that is not there, cargo thinks that it has changed each time.
    let rest_of = |file: &Source, before: &str| {
        let lines = file.text.lines().filter_map(|line| line.split_once(before));
        lines.map(|(_, rest)| rest.split('"').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (mut taken, mut watched) = (BTreeSet::new(), BTreeSet::new());
    for file in Source::all_rust() {
        let name = file.path.split('/').nth(1).unwrap_or_default().to_owned();
        let (folders, into) = match file.path.ends_with("build.rs") {
            true => (rest_of(&file, "rerun-if-changed=../../"), &mut watched),
            false => (rest_of(&file, "include_dir!(\"$CARGO_MANIFEST_DIR/../../"), &mut taken),
        };
        into.extend(folders.into_iter().map(|folder| (name.clone(), folder)));
    }
    assert!(taken.len() >= 10, "{taken:?}");
    let broken =
        taken.symmetric_difference(&watched).map(|(name, folder)| format!("{name}: {folder}"));
    none("a crate takes in other folders than its build.rs names", broken.collect());
}

#[test]
fn few_files_reach_each_other() {
    let broken = circles::larger_than(LARGEST_CIRCLE).into_iter().map(|circle| circle.join(" "));
    none("files import each other in a circle", broken.collect());
}
