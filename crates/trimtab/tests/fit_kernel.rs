//! `trimtab fit kernel` on a real, small kernel, which is built on the first run.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Ended, PROGRAM, alone, fit, run, shared};
use serde_json::Value;
use trimtab_fit::report::{FitKernel, Granularity};
use trimtab_report::Report;
use trimtab_report::common::TargetSense;

/// What the JSON of `trimtab.fit.kernel/1` has, as JSON pointers.
const KEYS: &[&str] = &[
    "/schema",
    "/kernel/version",
    "/kernel/arch",
    "/config",
    "/text/pages_spanned/before",
    "/text/pages_spanned/after",
    "/touched/before",
    "/touched/after",
    "/touched/shuffled/2",
    "/minimum/function_pages",
    "/minimum/executed_pages",
    "/held_out/2/name",
    "/held_out/2/touched_before",
    "/held_out/2/touched_after",
    "/held_out/2/minimum_function_pages",
    "/functions/total",
    "/functions/executed",
    "/coverage/names",
    "/coverage/bytes",
    "/curve_area/before",
    "/curve_area/after",
    "/image/vmlinux_bytes/before",
    "/image/vmlinux_bytes/after",
    "/image/compressed_bytes/before",
    "/image/compressed_bytes/after",
    "/boot/instructions/before",
    "/boot/instructions/after",
    "/order/placed",
    "/order/unknown",
    "/order/duplicate",
    "/order/discarded",
    "/order/pinned",
    "/artifacts/vmlinux_before",
    "/artifacts/vmlinux_after",
    "/artifacts/image_before",
    "/artifacts/image_after",
    "/artifacts/guest",
    "/artifacts/order_file",
    "/artifacts/trace",
    "/artifacts/html",
    "/excess/alignment",
    "/excess/pinned_sections",
    "/excess/sharing",
    "/excess/other",
    "/seconds/total",
    "/seconds/build",
    "/seconds/trace",
    "/seconds/layout",
    "/seconds/relink",
];

/// Stages that are computed each time; all others are kept.
const COMPUTED: &[&str] = &["find what ran", "lay out"];

/// Fits with these options, and gives the result and what it said.
fn fitted(folder: &Path, options: &[&str]) -> (FitKernel, Value, Ended) {
    let json = folder.join("fit.json");
    let outputs = ["--json", json.to_str().unwrap(), "--html", folder.to_str().unwrap()];
    let html = format!("{}/fit.html", outputs[3]);
    let outputs = [outputs[0], outputs[1], outputs[2], html.as_str()];
    let ended = run(&mut fit(&shared(), &[options, &outputs].concat()));
    assert_eq!(ended.code, Some(0), "{}", ended.error);
    let text = fs::read_to_string(&json).unwrap();
    (FitKernel::from_json(&text).unwrap(), serde_json::from_str(&text).unwrap(), ended)
}

/// What holds of every kernel that was fitted.
fn assert_sound(fit: &FitKernel) {
    assert_eq!(fit.failures(), [""; 0]);
    assert!(fit.touched.after < fit.touched.before, "{:?}", fit.touched);
    assert_eq!(fit.touched.shuffled.len(), 3);
    assert!(fit.touched.shuffled.iter().all(|pages| fit.touched.after < *pages));
    assert!(fit.minimum.executed_pages <= fit.minimum.function_pages);
    let by_blocks = fit.granularity == Granularity::Block;
    assert!(0 < fit.functions.executed && fit.functions.executed < fit.functions.total);
    assert!(fit.coverage.names > 0.9 && fit.coverage.names <= 1.0, "{:?}", fit.coverage);
    assert!(fit.coverage.bytes > 0.9 && fit.coverage.bytes <= 1.0, "{:?}", fit.coverage);
    assert!(fit.curve_area.after < fit.curve_area.before);
    for boot in &fit.held_out {
        assert!(boot.touched_after < boot.touched_before, "{boot:?}");
        assert!(by_blocks || boot.touched_after >= boot.minimum_function_pages, "{boot:?}");
    }
    let counted = fit.boot.instructions;
    let ratio = counted.after as f64 / counted.before as f64;
    assert!((0.95..1.05).contains(&ratio), "the boot is the same one: {counted:?}");
    let lines = fs::read_to_string(&fit.artifacts.order_file).unwrap();
    // What is left of a file's code is not named piece by piece; where each piece lies is checked.
    let names_none =
        |line: &str| line.starts_with("/*") || line.ends_with("(.text.[0-9a-gi-zA-Z_]*)");
    let lines = lines.lines().filter(|line| !names_none(line)).count() as u64;
    assert!(lines > 0);
    assert_eq!(fit.order.total(), lines, "every line is accounted for: {:?}", fit.order);
    assert_eq!(fit.order.placed, lines, "{:?}", fit.order);
    let ftrace = fit.ftrace.as_ref().unwrap();
    assert!(ftrace.contained && ftrace.functions_ftrace < ftrace.functions_plugin, "{ftrace:?}");
    let artifacts = &fit.artifacts;
    for (path, bytes) in [
        (&artifacts.vmlinux_before, Some(fit.image.vmlinux_bytes.before)),
        (&artifacts.vmlinux_after, Some(fit.image.vmlinux_bytes.after)),
        (&artifacts.image_before, Some(fit.image.compressed_bytes.before)),
        (&artifacts.image_after, Some(fit.image.compressed_bytes.after)),
        (&artifacts.guest, None),
        (&artifacts.order_file, None),
        (&artifacts.trace, None),
        (artifacts.html.as_ref().unwrap(), None),
    ] {
        let size = fs::metadata(path).unwrap().len();
        assert!(size > 0 && bytes.is_none_or(|bytes| bytes == size), "{path} has {size} bytes");
    }
}

/// What holds of every kernel that was fitted by its blocks.
fn assert_split(fit: &FitKernel) {
    assert_sound(fit);
    assert_eq!(fit.granularity, Granularity::Block);
    assert!(fit.touched.after < fit.minimum.function_pages, "{:?} {:?}", fit.touched, fit.minimum);
    assert!(fit.split.functions > 500 && fit.split.cold_bytes > 100_000, "{:?}", fit.split);
    let over = i64::from(fit.touched.after) - i64::from(fit.minimum.executed_pages);
    assert_eq!(fit.byte_excess.unwrap().total(), over);
    assert!(fit.repeat.command.contains(" --granularity block "), "{}", fit.repeat.command);
}

/// The result without the times that differ from run to run.
fn timeless(result: &Value) -> Value {
    let mut result = result.clone();
    for key in ["total", "trace", "layout"] {
        result["seconds"][key] = Value::Null;
    }
    result
}

#[test]
fn a_kernel_is_fitted_and_the_second_time_all_is_kept() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let options = ["--boots", "3", "--wall-boots", "2"];
    let (fit, first, ended) = fitted(folder.path(), &options);
    for key in KEYS {
        assert!(first.pointer(key).is_some_and(|value| !value.is_null()), "{key} is missing");
    }
    assert_sound(&fit);
    assert_eq!((fit.config.as_str(), fit.tracer.as_str()), ("tiny", "plugin"));
    assert_eq!(fit.kernel.arch, "x86_64");
    assert!(fit.kernel.version.starts_with("6.12."), "{}", fit.kernel.version);
    assert!(fit.ratio_to_minimum() <= 1.10, "{:.3}", fit.ratio_to_minimum());
    assert!(fit.shuffle_factor().unwrap() > 2.0, "{:?}", fit.touched);
    assert_eq!(fit.boot.booted.attempted, 3);
    assert_eq!(fit.boot.wall_seconds.as_ref().unwrap().before.runs, 2);

    // A target that is missed is a line, and no failure.
    let missed: Vec<_> = fit.targets.iter().filter(|target| !target.met).collect();
    let warnings: Vec<_> =
        ended.error.lines().filter(|line| line.starts_with("trimtab: warning: ")).collect();
    assert_eq!(warnings.len(), usize::from(!missed.is_empty()), "{}", ended.error);
    for target in missed {
        let expected = if target.sense == TargetSense::AtMost { "at most" } else { "at least" };
        assert!(warnings[0].contains(&format!("{} is ", target.name)), "{}", warnings[0]);
        assert!(warnings[0].contains(&format!("{expected} {}", target.limit)), "{}", warnings[0]);
    }
    // The table is for people, and has the same numbers.
    for number in [fit.touched.before, fit.touched.after, fit.minimum.function_pages] {
        assert!(ended.output.contains(&number.to_string()), "{number}\n{}", ended.output);
    }

    let (_, second, ended) = fitted(folder.path(), &options);
    assert_eq!(timeless(&first), timeless(&second));
    let stages: Vec<&str> = ended
        .error
        .lines()
        .filter_map(|line| line.strip_prefix("trimtab: ")?.strip_suffix(" ..."))
        .collect();
    assert!(stages.len() >= 8, "{}", ended.error);
    for stage in stages.iter().filter(|stage| !COMPUTED.contains(stage)) {
        let kept = format!("trimtab: {stage} kept from an earlier run, ");
        assert!(ended.error.contains(&kept), "{stage} was done again:\n{}", ended.error);
    }
}

#[test]
fn every_block_of_a_boot_is_kept_for_a_plan() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (fit, ..) = fitted(folder.path(), &["--boots", "3", "--wall-boots", "2"]);
    let [trace, stream] = ["boot.trace", "boot.stream"].map(|name| folder.path().join(name));
    let ended = run(Command::new(PROGRAM)
        .args(["trace", "--kernel", &fit.artifacts.image_after, "-o"])
        .arg(&trace)
        .args(["--vmlinux", &fit.artifacts.vmlinux_after, "--stream"])
        .arg(&stream));
    assert_eq!(ended.code, Some(0), "{}", ended.error);
    assert!(ended.output.contains("boot.stream: every block that ran"), "{}", ended.output);
    assert!(fs::metadata(&trace).unwrap().len() > 0);
    let ended = run(Command::new(PROGRAM)
        .args(["swap", "plan", &fit.artifacts.vmlinux_after, "--trace"])
        .arg(&stream));
    assert_eq!(ended.code, Some(0), "{}", ended.error);
    assert!(ended.output.contains("% of executed instructions"), "{}", ended.output);
}

#[test]
fn a_kernel_is_fitted_below_the_minimum_of_whole_functions_by_its_blocks() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let options = ["--granularity", "block", "--boots", "2", "--wall-boots", "0"];
    let (fit, json, _) = fitted(folder.path(), &options);
    assert_split(&fit);
    assert_eq!(json["granularity"], "block");
    assert!(fit.ratio_to_executed() < 1.25, "{:.3}", fit.ratio_to_executed());
    // The last cause takes what the others leave: the minimum's rounding, and little else.
    let parts = fit.byte_excess.unwrap();
    assert!(parts.other.abs() <= 2, "{parts:?}");
    // What the kernel puts away is said by the name of its function.
    let lines = fs::read_to_string(&fit.artifacts.order_file).unwrap();
    assert!(lines.lines().filter(|line| line.contains("(.text.")).count() > 500);

    // Nothing but what is split is compiled a second time.
    let build = newest_step("kernel-apart");
    let log = fs::read_to_string(build.join("build.log")).unwrap();
    let lists = fs::read_to_string(build.join("include/generated/block-lists")).unwrap();
    for line in log.lines() {
        let Some(object) = line.strip_prefix("# CC ").map(str::trim) else { continue };
        // The version, and what unpacks the kernel, which gets its addresses.
        let always = object.starts_with("init/version") || object.starts_with("arch/x86/boot/");
        assert!(always || lists.contains(&format!("block-list-{object} ")), "{object}");
    }

    let mut refused = common::fit(&shared(), &["--granularity", "block", "--tracer", "ftrace"]);
    let ended = run(&mut refused);
    assert_eq!(ended.code, Some(2), "{}", ended.error);
    assert!(ended.error.contains("use --tracer plugin"), "{}", ended.error);
}

/// The newest step of this name in the work directory that the tests share.
fn newest_step(name: &str) -> PathBuf {
    let steps = fs::read_dir(shared().join("steps")).unwrap().map(|entry| entry.unwrap().path());
    let named = |path: &PathBuf| {
        let file = path.file_name().unwrap().to_str().unwrap();
        file.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'))
    };
    steps.filter(named).max_by_key(|path| fs::metadata(path).unwrap().modified().unwrap()).unwrap()
}

#[test]
fn a_kernel_is_fitted_by_what_its_function_tracer_saw() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let options = ["--tracer", "ftrace", "--boots", "1", "--wall-boots", "0"];
    let (fit, json, _) = fitted(folder.path(), &options);
    assert_sound(&fit);
    assert_eq!(fit.tracer, "ftrace");
    assert_eq!(json["boot"]["wall_seconds"], Value::Null);
    // The order is made of what ftrace saw; what was touched is measured by the plugin, which sees
    // more, on a boot without ftrace.
    let seen = fit.ftrace.unwrap();
    assert!(fit.order.placed <= seen.functions_ftrace, "{:?} {seen:?}", fit.order);
    assert!(fit.order.placed < fit.functions.executed, "{:?} {:?}", fit.order, fit.functions);
    let trace = fs::read_to_string(&fit.artifacts.trace).unwrap();
    assert!(trace.starts_with("# tracer: function\n"), "{}", trace.lines().next().unwrap());
    let events = trace.lines().filter(|line| !line.starts_with('#')).count() as u64;
    assert!(events >= seen.functions_ftrace, "{events} {seen:?}");
    assert!(fit.repeat.command.contains(" --tracer ftrace "), "{}", fit.repeat.command);
}

#[test]
#[ignore = "builds another kernel; run: cargo test --test fit_kernel -- --ignored for_arm64"]
fn a_kernel_is_fitted_for_arm64() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let options = ["--arch", "arm64", "--boots", "3", "--wall-boots", "0"];
    let (fit, ..) = fitted(folder.path(), &options);
    assert_sound(&fit);
    assert_eq!(fit.kernel.arch, "aarch64");
    assert!(fit.artifacts.image_after.ends_with("/Image.gz"), "{}", fit.artifacts.image_after);
    assert!(fit.ratio_to_minimum() <= 1.10, "{:.3}", fit.ratio_to_minimum());
    assert!(fit.repeat.command.contains(" --arch arm64 "), "{}", fit.repeat.command);
    for tool in ["qemu-arm64", "gcc-arm64", "busybox", "llvm"] {
        assert!(fit.repeat.tool_versions.contains_key(tool), "{:?}", fit.repeat.tool_versions);
    }

    // The image alone says what it is for.
    let trace = folder.path().join("boot.trace");
    let ended = run(Command::new(PROGRAM)
        .args(["trace", "--kernel", &fit.artifacts.image_after])
        .args(["--vmlinux", &fit.artifacts.vmlinux_after, "-o", trace.to_str().unwrap()]));
    assert_eq!(ended.code, Some(0), "{}", ended.error);
    // From where the kernel was loaded on, and from its first function on where it is linked.
    let trace = fs::read_to_string(trace).unwrap();
    assert!(trace.contains("\n40200000 "), "the image is entered");
    assert!(trace.contains(" start_kernel+0x0\n"), "it goes on at its own addresses");
}

#[test]
#[ignore = "builds another kernel; run: cargo test --test fit_kernel -- --ignored with_gcc"]
fn a_kernel_is_fitted_that_was_built_with_gcc() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let options = ["--compiler", "gcc", "--boots", "3", "--wall-boots", "0"];
    let (fit, ..) = fitted(folder.path(), &options);
    assert_sound(&fit);
    assert!(fit.repeat.tool_versions.contains_key("gcc"));
    assert!(fit.ratio_to_minimum() <= 1.10, "{:.3}", fit.ratio_to_minimum());
}

#[test]
#[ignore = "builds another kernel; run: cargo test --test fit_kernel -- --ignored of_6_1"]
fn a_kernel_is_fitted_of_6_1() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let source = "/usr/src/linux-source-6.1.tar.xz";
    let options = ["--source", source, "--boots", "3", "--wall-boots", "0"];
    let (fit, ..) = fitted(folder.path(), &options);
    assert_sound(&fit);
    assert!(fit.kernel.version.starts_with("6.1."), "{}", fit.kernel.version);
    assert!(fit.ratio_to_minimum() <= 1.10, "{:.3}", fit.ratio_to_minimum());
}

#[test]
#[ignore = "builds another kernel; run: cargo test --test fit_kernel -- --ignored arm64_kernel"]
fn an_arm64_kernel_is_fitted_by_its_blocks() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let options =
        ["--arch", "arm64", "--granularity", "block", "--boots", "2", "--wall-boots", "0"];
    let (fit, ..) = fitted(folder.path(), &options);
    assert_split(&fit);
    assert_eq!(fit.kernel.arch, "aarch64");
}

#[test]
#[ignore = "builds another kernel; run: cargo test --test fit_kernel -- --ignored 6_1_kernel"]
fn a_6_1_kernel_is_fitted_by_its_blocks() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let source = "/usr/src/linux-source-6.1.tar.xz";
    let options =
        ["--source", source, "--granularity", "block", "--boots", "2", "--wall-boots", "0"];
    let (fit, ..) = fitted(folder.path(), &options);
    assert_split(&fit);
    assert!(fit.kernel.version.starts_with("6.1."), "{}", fit.kernel.version);
}

#[test]
#[ignore = "builds another kernel; run: LLVM=-19 cargo test --test fit_kernel -- --ignored clang_19_kernel"]
fn a_clang_19_kernel_is_fitted_by_its_blocks() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let options = ["--granularity", "block", "--boots", "2", "--wall-boots", "0"];
    let (fit, ..) = fitted(folder.path(), &options);
    assert_split(&fit);
    let llvm = &fit.repeat.tool_versions["llvm"];
    assert!(llvm.starts_with("19."), "{llvm}: the test is for LLVM=-19");
}
