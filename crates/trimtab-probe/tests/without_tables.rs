//! C without unwind tables: frames are found out from the instructions.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{Bench, RUNTIME, compilers, hook, runtime};
use trimtab_probe::{Hook, Reason, Selection};

/// No unwind information, as builds for small machines have it.
const NONE: [&str; 2] = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"];

/// Programs, and how many of their functions are left alone at most.
const CASES: [(&str, usize); 4] =
    [("calls.c", 2), ("world.c", 1), ("stacked.c", 0), ("interrupts.c", 0)];

#[test]
fn programs_do_what_they_did() {
    let mut number = 0;
    for compiler in compilers() {
        for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
            for (case, left) in CASES {
                for more in [&["-fPIE", "-pie"][..], &["-fno-pie", "-no-pie", "-static"]] {
                    number += 1;
                    let hook = match hook(number) {
                        Hook::Trace | Hook::User => Hook::Value,
                        hook => hook,
                    };
                    let include = format!("-I{RUNTIME}");
                    let flags = [&[level, include.as_str()], more].concat();
                    let bench = Bench::new(compiler, &flags);
                    let object = bench.compile(case, &NONE);
                    let (probed, done) = bench.instrument(&object, hook, Selection::default());
                    let label = format!("{case} by {} {flags:?} {}", compiler.c, hook.name());
                    let is_unknown =
                        |why: &Reason| matches!(why, Reason::UnknownFrame | Reason::NoUnwind);
                    let unknown = done.left.iter().filter(|(_, why)| is_unknown(why)).count();
                    assert!(unknown <= left, "{label}: {:?}", done.left);
                    bench.link("plain", &[&object], &[]);
                    bench.link("probed", &[&probed], &[runtime().as_os_str()]);
                    assert_eq!(bench.run("probed"), bench.run("plain"), "{label}");
                }
            }
        }
    }
}

#[test]
fn builds_for_tracing_by_clang_are_instrumented() {
    for compiler in compilers().into_iter().skip(1) {
        for level in ["-O0", "-O1", "-O2"] {
            for hook in [Hook::Time, Hook::Value] {
                let flags = [level, "-fxray-instrument", "-fxray-instruction-threshold=1"];
                let bench = Bench::new(compiler, &flags);
                let object = bench.compile("stacked.c", &[]);
                let (probed, done) = bench.instrument(&object, hook, Selection::default());
                assert!(done.left.is_empty(), "{level}: {:?}", done.left);
                // Its run time is not linked.
                let link = ["-fno-xray-instrument".as_ref()];
                bench.link("plain", &[&object], &link);
                bench.link("probed", &[&probed], &[runtime().as_os_str(), link[0]]);
                assert_eq!(bench.run("probed"), bench.run("plain"), "{level} {}", hook.name());
            }
        }
    }
}
