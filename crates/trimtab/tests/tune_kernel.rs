//! `trimtab tune kernel`.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::fs;
use std::process::Command;

use common::{Ended, PROGRAM, alone, run, shared};
use trimtab_report::Report;
use trimtab_tune::TuneProgram;

fn tune_kernel(arguments: &[&str]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    let ended =
        run(Command::new(PROGRAM).args(["tune", "kernel", "--work"]).arg(&work).args(arguments));
    assert!(!work.exists(), "nothing is begun");
    ended
}

#[test]
fn what_cannot_be_is_said_before_anything_is_built() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = folder.path().join("wrong.json");
    fs::write(&wrong, r#"{"schema": "trimtab.fit/1"}"#).unwrap();
    let wrong = wrong.to_str().unwrap();
    for (arguments, message) in [
        (["--calls", "open,fork"].as_slice(), "the call fork is held out"),
        (&["--calls", "opne"], "there is no call opne here; expected some of accept, access,"),
        (
            &["--profile", wrong],
            "is no profile of system calls: the result has the schema \"trimtab.fit/1\"",
        ),
        (&["--profile", wrong, "--calls", "open"], "cannot be used with"),
        (&["--compiler", "true"], "expected gcc or clang"),
        (&["--search", "annealing"], "expected one of incumbent, paper-ga"),
        (&["--budget", "0"], "0 is not in 1.."),
        (&["--tune-choices", "--no-choices"], "cannot be used with"),
        (&["--boots", "41"], "41 is not in 0..=40"),
        (&["--core", "large"], "possible values: small, current"),
    ] {
        let ended = tune_kernel(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.error);
        assert!(ended.error.contains(message), "{arguments:?}: {}", ended.error);
    }
}

/// One option changes nothing, one does not compile, one costs instructions in each function.
const FLAGS: &str = "-O3\n-DTRIMTAB_UNUSED\n-Dstruct=union\n-fno-tree-dominator-opts\n";

/// Compiles a kernel five times, and once for each choice of its configuration.
#[test]
#[ignore = "compiles kernels, for which continuous integration has no time; run: cargo test --test \
            tune_kernel -- --ignored"]
fn a_kernel_is_tuned_and_judged_by_calls_that_are_held_out() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let flags = folder.path().join("flags.txt");
    let json = folder.path().join("kernel.json");
    fs::write(&flags, FLAGS).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["tune", "kernel", "--budget", "6", "--ablation", "3"]);
    command.args(["--beside", "random,incumbent", "--boots", "3", "--work"]);
    command.arg(shared()).arg("--flags").arg(&flags).arg("--json").arg(&json);
    let ended = run(&mut command);
    assert_eq!(ended.code, Some(0), "{}", ended.error);
    assert!(ended.output.contains("make KCFLAGS=\"-O"), "{}", ended.output);
    let report = TuneProgram::from_json(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(report.failures(), [""; 0]);
    let preempted = report.arms.iter().find(|arm| arm.name == "full preemption").unwrap();
    assert_eq!(preempted.configuration.as_deref(), Some("CONFIG_PREEMPT=y"));
    assert!(preempted.ratio.is_some_and(|ratio| ratio != 1.0), "{preempted:?}");
    let kernel = report.kernel.unwrap();
    assert!(kernel.calls.len() >= 40 && kernel.missing.is_empty(), "{kernel:?}");
    let call = |name: &str| kernel.calls.iter().find(|call| call.name == name).unwrap();
    for name in ["open", "close", "fstat", "read", "write"] {
        assert!((call(name).weight - 0.2).abs() < 1e-9, "{name}");
    }
    for name in ["fork", "mmap", "socket"] {
        assert_eq!(call(name).weight, 0.0, "{name}");
    }
    // Its own search is not beside itself.
    let [random] = kernel.beside.as_slice() else { panic!("{:?}", kernel.beside) };
    assert_eq!((random.search.as_str(), random.calls.len()), ("random", kernel.calls.len()));
    assert!(random.fitness_ratio.is_some_and(|ratio| ratio >= report.best.fitness_ratio));
    // One option alone changes what calls cost, and in each state of the guest about as much.
    assert_eq!((kernel.boots, kernel.failed_boots.len()), (3, 0));
    let found = kernel.fitness_boots_ratio.unwrap();
    assert!((found.mean - report.minimal.fitness_ratio).abs() < 0.02, "{found:?}");
    assert!(
        found.low <= found.mean
            && found.mean <= found.high
            && kernel.held_out_boots_ratio.is_some()
    );
    assert!(kernel.calls.iter().all(|call| call.boots_ratio.is_some()), "{kernel:?}");
    assert_eq!(random.calls_boots_ratio.len(), kernel.calls.len());
    // Far from what is seen, and far from what a call of a kernel can cost.
    assert!(call("fork").base > 10.0 * call("getpid").base, "{kernel:?}");
    assert!(report.evaluations.deduplicated + report.evaluations.known > 0);
    let failing = report.failing.iter().find(|failing| failing.flags.contains("-Dstruct=union"));
    assert!(failing.unwrap().reason.contains("the kernel does not build"), "{:?}", report.failing);
    // What is known costs no build, and comes to the same.
    let again = run(&mut command);
    assert_eq!(again.code, Some(0), "{}", again.error);
    let again = TuneProgram::from_json(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!((again.evaluations.built, again.kernel), (0, Some(kernel)));
}

/// Compiles a kernel once for each choice of its configuration, and a few times more.
#[test]
#[ignore = "compiles kernels, for which continuous integration has no time; run: cargo test --test \
            tune_kernel -- --ignored"]
fn a_configuration_is_tuned_beside_flags() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let flags = folder.path().join("flags.txt");
    let json = folder.path().join("kernel.json");
    fs::write(&flags, "-fno-tree-dominator-opts\n").unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["tune", "kernel", "--tune-choices", "--budget", "4", "--ablation", "3"]);
    command.arg("--work").arg(shared()).arg("--flags").arg(&flags).arg("--json").arg(&json);
    let ended = run(&mut command);
    assert_eq!(ended.code, Some(0), "{}", ended.error);
    let report = TuneProgram::from_json(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(report.failures(), [""; 0]);
    // Each choice that the configuration does not make is an arm, and one that the search can take.
    let choices = report.arms.iter().filter(|arm| arm.configuration.is_some());
    let choices: Vec<_> = choices.collect();
    assert!(choices.len() >= 4 && choices.iter().all(|arm| arm.is_in_space), "{choices:?}");
    assert_eq!(report.space.options, 1 + choices.len() as u64);
    assert_eq!(report.budget, 4);
    assert!(!report.history.is_empty(), "{report:?}");
    // Preemption costs instructions, and saves none: it is another kernel, of other bytes.
    let preempted = report.front.iter().all(|point| !point.flags.contains("CONFIG_PREEMPT=y"));
    assert!(preempted && !report.take.flags.contains("CONFIG_PREEMPT=y"), "{report:?}");
}
