//! Ctrl-C in each stage of `trimtab fit kernel`: nothing runs on, nothing is broken, and the same
//! command goes on.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Live, alone, assert_nothing_runs_in, fit, run, shared};
use nix::sys::signal::Signal;
use serde_json::Value;
use trimtab_fit::report::FitKernel;
use trimtab_lab::tools;
use trimtab_report::Report;

/// Stops the command while `tool` works in `stage`, and gives what it said.
fn stopped_in(work: &Path, options: &[&str], stage: &str, tool: &str, signal: Signal) -> String {
    let mut live = Live::start(&mut fit(work, options));
    live.wait_for(stage, work, tool);
    let ended = live.stop(signal);
    assert_nothing_runs_in(work);
    if signal == Signal::SIGKILL {
        return ended.error;
    }
    assert_eq!(ended.code, Some(128 + signal as i32), "{}", ended.error);
    let said = ended.error.split_once(&format!("{stage} ...\n")).unwrap().1;
    assert_eq!(said, "trimtab: stopped; the same command goes on where this one was\n");
    ended.error
}

fn name(tool: &Path) -> String {
    tool.file_name().unwrap().to_str().unwrap().to_owned()
}

fn kept(stage: &str) -> String {
    format!("trimtab: {stage} kept from an earlier run, ")
}

const UNPACK: &str = "unpack and patch the kernel source";
const CONFIGURE: &str = "configure the kernel";
const BUILD: &str = "build the kernel";
const TRACE: &str = "trace boots";
const RELINK: &str = "link the kernel in this order";
const TURNS: &str = "boot the two kernels in turn";

#[test]
fn before_there_is_a_kernel() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let work = folder.path().join("work");
    let clang = name(&tools::llvm().unwrap().clang());
    let stop = |stage, tool: &str| stopped_in(&work, &[], stage, tool, Signal::SIGINT);
    stop(UNPACK, "tar");
    let steps = || fs::read_dir(work.join("steps")).unwrap().count();
    assert_eq!(steps(), 0, "no half source is kept");
    let said = stop(CONFIGURE, "make");
    assert!(!said.contains(&kept(UNPACK)), "it was unpacked again:\n{said}");
    let said = stop(BUILD, &clang);
    assert!(said.contains(&kept(UNPACK)) && !said.contains(&kept(CONFIGURE)), "{said}");

    let build = fs::read_dir(work.join("steps")).unwrap().map(|entry| entry.unwrap().path());
    let build = build.into_iter().find(|path| path.to_str().unwrap().contains("kernel-build"));
    let made_first = build.unwrap().join("scripts/kconfig/conf");
    let made = made_first.metadata().unwrap().modified().unwrap();
    let said = stop(BUILD, &clang);
    assert!(said.contains(&kept(CONFIGURE)), "{said}");
    assert_eq!(made_first.metadata().unwrap().modified().unwrap(), made, "make goes on");
}

/// Removes the steps of a kind of whose key `doomed` says so.
fn forget(work: &Path, kind: &str, doomed: impl Fn(&Path, &Value) -> bool) {
    let mut forgotten = 0;
    for entry in fs::read_dir(work.join("steps")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(key) = fs::read(path.join(".trimtab-step.json")) else { continue };
        let key: Value = serde_json::from_slice(&key).unwrap();
        if key["kind"] == kind && doomed(&path, &key["fields"]) {
            fs::remove_dir_all(path).unwrap();
            forgotten += 1;
        }
    }
    assert!(forgotten > 0, "no step of the kind {kind} is to be forgotten");
}

/// Whether a kept boot left a trace.
fn is_traced(step: &Path) -> bool {
    let record: Value =
        serde_json::from_slice(&fs::read(step.join("record.json")).unwrap()).unwrap();
    !record["blocks"].is_null()
}

#[test]
fn with_a_kernel() {
    let _alone = alone();
    let work = shared();
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("fit.json");
    // One boot more than any other test traces, which makes an order of its own.
    let options = ["--boots", "4", "--wall-boots", "1", "--json", json.to_str().unwrap()];
    let finish = || -> (FitKernel, Vec<u8>) {
        let ended = run(&mut fit(&work, &options));
        assert_eq!(ended.code, Some(0), "{}", ended.error);
        let fit = FitKernel::from_json(&fs::read_to_string(&json).unwrap()).unwrap();
        assert_eq!(fit.failures(), [""; 0]);
        let image = fs::read(&fit.artifacts.image_after).unwrap();
        (fit, image)
    };
    let (fit, image) = finish();
    let laid_out = PathBuf::from(&fit.artifacts.image_after);
    let laid_out = laid_out.parent().unwrap();
    let lld = name(&tools::llvm().unwrap().lld());

    forget(&work, "boot/2", |step, fields| fields["repetition"] == "3" || !is_traced(step));
    let said = stopped_in(&work, &options, TRACE, "qemu-system-x86_64", Signal::SIGINT);
    assert!(said.contains(&kept(BUILD)), "{said}");
    forget(&work, "kernel/3", |path, _| path == laid_out);
    stopped_in(&work, &options, RELINK, "make", Signal::SIGINT);
    // A power cut: not even trimtab's own end can be in order.
    stopped_in(&work, &options, RELINK, &lld, Signal::SIGKILL);
    stopped_in(&work, &options, RELINK, &lld, Signal::SIGTERM);
    let said = stopped_in(&work, &options, TURNS, "qemu-system-x86_64", Signal::SIGINT);
    assert!(said.contains(&kept(TRACE)) && !said.contains(&kept(RELINK)), "{said}");

    let (again, image_again) = finish();
    assert!(image == image_again, "the same kernel, linked again, is the same file");
    assert_eq!(
        (&fit.touched, fit.boot.instructions, fit.order),
        (&again.touched, again.boot.instructions, again.order)
    );
}
