//! The table of `trimtab probe bench`.

use super::{Lean, grid, report, titled, wrap, yes};
use crate::model::{BenchTool, ProbeBench};
use crate::number::{NONE, count};

/// Writes `bench` as plain text, at most `width` columns wide (40 or more).
pub fn probe_bench(bench: &ProbeBench, width: u16) -> String {
    let head = format!(
        "{} programs, each run {} times in each way, in turn; times are of the processor, beside \
         the plain program by the same compiler, with the interval that covers 95 %.",
        bench.programs.len(),
        bench.rounds
    );
    let mut parts = vec![wrap(&head, width)];
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

fn row(tool: &BenchTool) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or(NONE.to_owned(), |value| format!("{value:.2}"));
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
