//! The manual is true: each `console` example of these pages is run, and what it shows must be what
//! is printed.
//!
//! Lines that begin with `$ ` are run by a shell, in a folder with the program of `testdata/app`; the
//! lines below each are what it prints, `...` standing for any lines. Words behind `console`: `fails`
//! means that the last command must fail; `kernel` and `board` examples need a kernel's build or a
//! board, and are only counted.

#![allow(clippy::unwrap_used, reason = "tests")]

mod app;
mod kernel_tree;

use std::fs;
use std::path::Path;

use app::Bench;
use trimtab_fixture::kernel;
use trimtab_profile::{Source, stream};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// One fenced example.
struct Example {
    /// Line of the page on which it begins.
    line: usize,
    fails: bool,
    skipped: bool,
    /// Commands with the lines shown below each.
    steps: Vec<(String, Vec<String>)>,
}

fn examples(text: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut current: Option<Example> = None;
    for (index, line) in text.lines().enumerate() {
        match (&mut current, line.strip_prefix("```")) {
            (None, Some(words)) if words.split(' ').next() == Some("console") => {
                let has = |word| words.split(' ').any(|found| found == word);
                current = Some(Example {
                    line: index + 1,
                    fails: has("fails"),
                    skipped: has("kernel") || has("board"),
                    steps: Vec::new(),
                });
            }
            (None, _) => {}
            (Some(_), Some(_)) => examples.extend(current.take()),
            (Some(example), None) => match (line.strip_prefix("$ "), example.steps.last_mut()) {
                (Some(command), _) => example.steps.push((command.to_owned(), Vec::new())),
                (None, Some((_, shown))) => shown.push(line.to_owned()),
                (None, None) => panic!("line {}: output without a command", index + 1),
            },
        }
    }
    assert!(current.is_none(), "an example has no end");
    examples
}

/// Whether the lines shown are the lines printed, where `...` stands for any number of lines. Columns
/// are as wide as what was measured, so words are compared, and not the room between them.
fn matches(shown: &[String], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        Some((first, rest)) => {
            let same = |line: &str| line.split_whitespace().eq(first.split_whitespace());
            printed.split_first().is_some_and(|(line, more)| same(line) && matches(rest, more))
        }
    }
}

/// Runs all examples of a page, in one folder. Returns how many ran and how many were skipped.
fn run(page: &str) -> (usize, usize) {
    run_in(&Bench::new(), page)
}

/// Runs all examples of a page in this folder.
fn run_in(bench: &Bench, page: &str) -> (usize, usize) {
    let text = fs::read_to_string(Path::new(DOCS).join(page)).unwrap();
    let (mut ran, mut skipped) = (0, 0);
    for example in examples(&text) {
        if example.skipped {
            skipped += 1;
            continue;
        }
        ran += 1;
        let last = example.steps.len() - 1;
        for (index, (command, shown)) in example.steps.iter().enumerate() {
            let (code, output, error) = bench.run("sh", &["-c", command]);
            let at = format!("docs/{page}:{}: $ {command}\n{output}{error}", example.line);
            assert_eq!(code != 0, example.fails && index == last, "exit code {code}: {at}");
            let all = output + &error;
            let printed: Vec<&str> = all.lines().collect();
            assert!(matches(shown, &printed), "shown is\n{}\nprinted by {at}", shown.join("\n"));
        }
    }
    println!("docs/{page}: {ran} examples ran, {skipped} need a kernel's build or a board");
    (ran, skipped)
}

#[test]
fn hooks_of_the_manual_are_those_that_are_compiled() {
    let page = fs::read_to_string(Path::new(DOCS).join("probe.md")).unwrap();
    let source = fs::read_to_string(Path::new(DOCS).join("../testdata/app/largest.c")).unwrap();
    assert!(page.contains(&format!("```c\n{source}```\n")), "largest.c");
}

#[test]
fn pages_is_true() {
    assert_eq!(run("pages.md"), (5, 0));
}

#[test]
fn fit_program_is_true() {
    assert_eq!(run("fit-program.md"), (4, 0));
}

#[test]
fn swap_is_true() {
    let bench = Bench::new();
    let (blocks, executions) = kernel::executed();
    let recorded = stream::write(Source::QemuPlugin, &blocks, &executions);
    fs::write(bench.file("vmlinux"), kernel::kernel()).unwrap();
    fs::write(bench.file("boot.stream"), recorded).unwrap();
    assert_eq!(run_in(&bench, "swap.md"), (3, 4));
}

#[test]
fn swap_run_is_true() {
    assert_eq!(run("swap-run.md"), (1, 1));
}

#[test]
fn fit_kernel_is_true() {
    assert_eq!(run("fit-kernel.md"), (1, 0));
}

#[test]
fn doctor_is_true() {
    assert_eq!(run("doctor.md"), (2, 0));
}

#[test]
fn report_is_true() {
    assert_eq!(run("report.md"), (4, 0));
}

#[test]
fn order_is_true() {
    assert_eq!(run("order.md"), (5, 1));
}

#[test]
fn compare_is_true() {
    assert_eq!(run("compare.md"), (3, 1));
}

#[test]
fn check_is_true() {
    assert_eq!(run("check.md"), (2, 1));
}

#[test]
fn probe_is_true() {
    assert_eq!(run("probe.md"), (5, 0));
}

#[test]
fn jar_is_true() {
    assert_eq!(run("jar.md"), (4, 0));
}

#[test]
fn jar_java_is_true() {
    let bench = Bench::new();
    let examples = Path::new(DOCS).join("../jar/examples/words");
    let page = fs::read_to_string(Path::new(DOCS).join("jar-java.md")).unwrap();
    for (name, language) in [("words.c", ""), ("words.h", "c"), ("Use.java", "java")] {
        let text = fs::read_to_string(examples.join(name)).unwrap();
        let (_, body) = text.split_once('\n').unwrap();
        assert!(
            language.is_empty() || page.contains(&format!("```{language}\n{body}```\n")),
            "{name}"
        );
        fs::write(bench.file(name), text).unwrap();
    }
    assert_eq!(run_in(&bench, "jar-java.md"), (3, 0));
}

#[test]
fn tune_is_true() {
    assert_eq!(run("tune.md"), (7, 0));
}

#[test]
fn rent_run_is_true() {
    assert_eq!(run("rent-run.md"), (2, 2));
}

#[test]
fn rent_sweep_is_true() {
    assert_eq!(run("rent-sweep.md"), (0, 1));
}

#[test]
fn rent_verify_is_true() {
    assert_eq!(run("rent-verify.md"), (1, 1));
}

#[test]
fn rent_plan_is_true() {
    let bench = Bench::new();
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/rent/reads.txt");
    fs::copy(trace, bench.file("board.txt")).unwrap();
    assert_eq!(run_in(&bench, "rent-plan.md"), (2, 0));
}

#[test]
fn smp_is_true() {
    let bench = Bench::new();
    kernel_tree::write(&bench.file("tiny"));
    assert_eq!(run_in(&bench, "smp.md"), (1, 0));
}

#[test]
fn smp_cost_is_true() {
    assert_eq!(run("smp-cost.md"), (1, 1));
}

#[test]
fn smp_predict_is_true() {
    let bench = Bench::new();
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/smp/two-hashes.txt");
    fs::copy(trace, bench.file("board.txt")).unwrap();
    let locks = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/smp/locks.txt");
    fs::copy(locks, bench.file("locks.txt")).unwrap();
    assert_eq!(run_in(&bench, "smp-predict.md"), (3, 0));
}

#[test]
fn smp_scale_is_true() {
    assert_eq!(run("smp-scale.md"), (1, 4));
}

#[test]
fn smp_locks_is_true() {
    assert_eq!(run("smp-locks.md"), (2, 9));
}

#[test]
fn smp_run_is_true() {
    assert_eq!(run("smp-run.md"), (1, 0));
}

#[test]
fn trace_is_true() {
    assert_eq!(run("trace.md"), (1, 2));
}

#[test]
fn trace_program_is_true() {
    assert_eq!(run("trace-program.md"), (4, 1));
}

#[test]
fn own_kernel_is_true() {
    assert_eq!(run("own-kernel.md"), (1, 10));
}

#[test]
fn what_the_examples_cannot_run_is_at_least_spelled_right() {
    for page in ["trace.md", "own-kernel.md", "check.md"] {
        let text = fs::read_to_string(Path::new(DOCS).join(page)).unwrap();
        for example in examples(&text).iter().filter(|example| example.skipped) {
            for (command, _) in &example.steps {
                let Some(arguments) = command.strip_prefix("trimtab ") else { continue };
                let verb = arguments.split(' ').next().unwrap();
                let bench = Bench::new();
                // Files are not there, which is found out after the command line was understood.
                let arguments: Vec<&str> = arguments.split(' ').collect();
                let (code, _, error) = bench.trimtab(&arguments);
                assert_eq!(code, 1, "{page}: {verb}: {error}");
            }
        }
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    let pages = fs::read_dir(DOCS).unwrap().map(|entry| entry.unwrap().file_name());
    for page in pages.map(|name| name.into_string().unwrap()).filter(|name| name.ends_with(".md")) {
        let text = fs::read_to_string(Path::new(DOCS).join(&page)).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { page.as_str() } else { file };
            let path = Path::new(DOCS).join(file);
            assert!(path.exists(), "{page}: {target}");
            if !heading.is_empty() {
                let text = fs::read_to_string(path).unwrap();
                let found = text.lines().any(|line| anchor(line).as_deref() == Some(heading));
                assert!(found, "{page}: {target}");
            }
        }
    }
}

/// What links to a heading end in: its words in lower case, with hyphens between them.
fn anchor(line: &str) -> Option<String> {
    let heading = line.strip_prefix('#')?.trim_start_matches('#').trim();
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    Some(kept.collect::<String>().to_lowercase().replace(' ', "-"))
}
