//! Children of fork, signals, and hooks that do not come to their ends.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::fs;
use std::process::Command;

use common::{Bench, GCC, compilers, runtime, succeeds};
use trimtab_probe::{Hook, Profile, Recording, Selection};

/// Calls of a function.
fn calls(recording: &Recording<'_>, name: &str) -> u64 {
    let profile = Profile::of(std::slice::from_ref(recording)).unwrap();
    profile.functions.iter().find(|row| row.name == name).map_or(0, |row| row.calls)
}

#[test]
fn a_child_of_fork_has_its_own_counts_in_a_file_of_its_own() {
    let bench = Bench::new(GCC, &["-O1"]);
    let object = bench.compile("forks.c", &[]);
    for hook in [Hook::Count, Hook::Time, Hook::Edges, Hook::Trace, Hook::Value] {
        let (probed, _) = bench.instrument(&object, hook, Selection::default());
        bench.link("probed", &[&probed], &[runtime().as_os_str()]);
        let ran = bench.run("probed");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let child = bench.file(&format!("probed.out.{}", ran.output.trim()));
        for (data, expected) in
            [(bench.recording("probed"), [17, 7, 0, 4]), (fs::read(child).unwrap(), [3, 3, 7, 0])]
        {
            let recording = Recording::parse(&data).unwrap();
            let names = ["before", "both", "child_only", "parent_only"];
            let found = names.map(|name| calls(&recording, name));
            assert_eq!(found, expected, "{}", hook.name());
            assert_eq!((recording.lost, recording.missed, recording.ended), (0, 0, true));
        }
    }
}

#[test]
fn a_child_of_fork_does_not_wait_for_a_thread_of_its_parent() {
    let bench = Bench::new(GCC, &["-O1"]);
    let object = bench.compile("held.c", &[]);
    let (probed, _) = bench.instrument(&object, Hook::Count, Selection::default());
    let held = bench.file("runtime.o");
    let mut globalize = Command::new("objcopy");
    succeeds(globalize.args(["--globalize-symbol=pool_lock"]).arg(runtime()).arg(&held));
    bench.link("probed", &[&probed], &[held.as_os_str()]);
    assert_eq!(bench.run("probed").output, "7\n");
}

#[test]
fn a_signal_turns_probes_off_and_on() {
    let bench = Bench::new(GCC, &["-O1"]);
    let object = bench.compile("toggled.c", &[]);
    for hook in [Hook::Count, Hook::Time, Hook::Edges] {
        let (probed, _) = bench.instrument(&object, hook, Selection::default());
        bench.link("probed", &[&probed], &[runtime().as_os_str()]);
        // SIGUSR1.
        for (environment, expected) in [
            (&[("TRIMTAB_PROBE_SIGNAL", "10")][..], 1030),
            (&[("TRIMTAB_PROBE_SIGNAL", "10"), ("TRIMTAB_PROBE", "off")], 500),
        ] {
            let ran = bench.run_with("probed", environment);
            assert_eq!(ran.code, Some(0), "{ran:?}");
            let data = bench.recording("probed");
            assert_eq!(calls(&Recording::parse(&data).unwrap(), "work"), expected);
        }
    }
}

#[test]
fn what_hooks_do_not_see_is_counted() {
    for compiler in compilers() {
        let bench = Bench::new(compiler, &["-O1"]);
        let object = bench.compile("interrupts.c", &[]);
        let selection = Selection::default().only(&["probed_*"]).unwrap();
        let (probed, _) = bench.instrument(&object, Hook::User, selection);
        bench.link("probed", &[&probed], &[runtime().as_os_str()]);
        // Of the last calls, behind the hook that was left by a jump, none is seen.
        let ran = bench.run("probed");
        assert_eq!((ran.code, ran.output.as_str()), (Some(0), "7\n"));
        let data = bench.recording("probed");
        // Three interrupts and four calls, each with its exit.
        assert_eq!(Recording::parse(&data).unwrap().missed, 2 * (3 + 4));
    }
}
