//! The table of `trimtab probe bench`.

use super::{Lean, grid, report, titled, wrap, yes};
use crate::model::{BenchTool, ProbeBench};
use crate::number::{NONE, bytes, count};

/// Writes `bench` as plain text, at most `width` columns wide (40 or more).
pub fn probe_bench(bench: &ProbeBench, width: u16) -> String {
    let head = format!(
        "{} programs, each run {} times in each way, in turn; times are of the processor, beside \
         the plain program by the same compiler, with the interval that covers 95 %.",
        bench.programs.len(),
        bench.rounds
    );
    let mut parts = vec![wrap(&head, width)];
    if let Some(reading) = bench.counter_ns {
        let text = format!(
            "Hooks that tell cycles read the machine's counter twice a call, {reading:.0} ns each."
        );
        parts.push(wrap(&text, width));
    }
    parts.push(summary(bench, width));
    for program in &bench.programs {
        let title = match program.package.as_str() {
            "" => program.name.clone(),
            package => format!("{} ({package})", program.name),
        };
        let title = format!(
            "{title}: {} functions, {} of them hot, {:.2} s",
            count(program.functions),
            count(program.hot),
            program.seconds
        );
        let columns = [
            ("tool", Lean::Whole),
            ("hook", Lean::Whole),
            ("functions", Lean::Whole),
            ("time", Lean::Right),
            ("95 %", Lean::Right),
            ("instr.", Lean::Right),
            ("calls", Lean::Right),
            ("ns/call", Lean::Right),
        ];
        parts.push(titled(&title, grid(width, &columns, program.tools.iter().map(row).collect())));
    }
    if let Some(rewriting) = &bench.rewriting {
        let text = format!(
            "{} of objects with {} functions to instrument were rewritten in {:.2} s on {} cores.",
            bytes(rewriting.bytes),
            count(rewriting.functions),
            rewriting.seconds,
            rewriting.cores
        );
        parts.push(wrap(&text, width));
    }
    parts.push(suites(bench, width));
    let targets = bench.targets.iter().map(|target| {
        vec![
            target.name.clone(),
            format!("{:.2}", target.limit),
            format!("{:.2}", target.value),
            yes(target.met),
        ]
    });
    let columns = [
        ("target", Lean::Left),
        ("limit", Lean::Right),
        ("reached", Lean::Right),
        ("", Lean::Left),
    ];
    parts.push(titled("Targets", grid(width, &columns, targets.collect())));
    parts.extend(bench.left_out.iter().map(|line| wrap(&format!("Left out: {line}"), width)));
    report(parts)
}

fn summary(bench: &ProbeBench, width: u16) -> String {
    let rows: Vec<Vec<String>> = bench
        .summary
        .iter()
        .map(|way| {
            vec![
                way.tool.clone(),
                way.hook.clone(),
                way.functions.clone(),
                format!("{:.2}", way.time_ratio),
                number(way.instruction_ratio),
            ]
        })
        .collect();
    let columns = [
        ("tool", Lean::Whole),
        ("hook", Lean::Whole),
        ("functions", Lean::Whole),
        ("time", Lean::Right),
        ("instr.", Lean::Right),
    ];
    let programs = bench.summary.first().map_or(0, |way| way.programs);
    titled(&format!("Geometric means of {programs} programs"), grid(width, &columns, rows))
}

fn suites(bench: &ProbeBench, width: u16) -> String {
    let passed = |passed: bool| if passed { "pass" } else { "fail" }.to_owned();
    let rows: Vec<Vec<String>> = bench
        .suites
        .iter()
        .map(|suite| {
            vec![
                suite.package.clone(),
                format!("{} of {}", count(suite.instrumented), count(suite.seen)),
                count(suite.recordings),
                passed(suite.plain_passed),
                passed(suite.instrumented_passed),
            ]
        })
        .collect();
    let columns = [
        ("tests of", Lean::Whole),
        ("functions", Lean::Right),
        ("recordings", Lean::Right),
        ("plain", Lean::Left),
        ("instrumented", Lean::Left),
    ];
    titled("Test suites", grid(width, &columns, rows))
}

fn number(value: Option<f64>) -> String {
    value.map_or(NONE.to_owned(), |value| format!("{value:.2}"))
}

fn row(tool: &BenchTool) -> Vec<String> {
    vec![
        tool.tool.clone(),
        tool.hook.clone(),
        tool.functions.clone(),
        format!("{:.2}", tool.time_ratio.mean),
        format!("{:.2}-{:.2}", tool.time_ratio.low, tool.time_ratio.high),
        number(tool.instruction_ratio),
        tool.events.map_or(NONE.to_owned(), count),
        number(tool.ns_per_event),
    ]
}
