//! The table of `trimtab probe bench`.

use super::{Lean, grid, report, titled, wrap, yes};
use crate::model::{BenchProgram, BenchTool, ProbeBench};
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
            ("of", Lean::Whole),
            ("time", Lean::Right),
            ("95 %", Lean::Right),
            ("calls", Lean::Right),
            ("ns/call", Lean::Right),
        ];
        parts.push(titled(&title, grid(width, &columns, program.tools.iter().map(row).collect())));
        parts.push(simulated(program, width));
        parts.push(sizes(program, width));
    }
    if let Some(rewriting) = &bench.rewriting {
        let text = format!(
            "{} of objects with {} functions to instrument were read, rewritten and written to files \
             ({}) in {:.2} s on {} cores: {:.0} MB/s.",
            bytes(rewriting.bytes),
            count(rewriting.functions),
            bytes(rewriting.written),
            rewriting.seconds,
            rewriting.cores,
            rewriting.speed()
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
                count(way.programs.into()),
                format!("{:.2}", way.time_ratio),
                number(way.instruction_ratio),
                number(way.text_ratio),
                way.bytes_per_stub.map_or(NONE.to_owned(), |bytes| format!("{bytes:.0}")),
            ]
        })
        .collect();
    let columns = [
        ("tool", Lean::Whole),
        ("hook", Lean::Whole),
        ("of", Lean::Whole),
        ("programs", Lean::Right),
        ("time", Lean::Right),
        ("instr.", Lean::Right),
        ("code", Lean::Right),
        ("B/stub", Lean::Right),
    ];
    titled("Geometric means", grid(width, &columns, rows))
}

/// What valgrind counts.
fn simulated(program: &BenchProgram, width: u16) -> String {
    let counted = |tool: &&BenchTool| {
        let misses = [tool.branch_miss_ratio, tool.l1i_miss_ratio, tool.l1d_miss_ratio];
        tool.instruction_ratio.is_some() || misses.iter().any(Option::is_some)
    };
    let rows = program.tools.iter().filter(counted).map(|tool| {
        vec![
            tool.tool.clone(),
            tool.hook.clone(),
            tool.functions.clone(),
            number(tool.instruction_ratio),
            number(tool.branch_miss_ratio),
            number(tool.l1i_miss_ratio),
            number(tool.l1d_miss_ratio),
        ]
    });
    let columns = [
        ("tool", Lean::Whole),
        ("hook", Lean::Whole),
        ("of", Lean::Whole),
        ("instr.", Lean::Right),
        ("branches", Lean::Right),
        ("L1I", Lean::Right),
        ("L1D", Lean::Right),
    ];
    let title = format!("{}: instructions and misses, simulated", program.name);
    titled(&title, grid(width, &columns, rows.collect()))
}

/// How large programs become.
fn sizes(program: &BenchProgram, width: u16) -> String {
    let plain = vec![
        "plain".to_owned(),
        String::new(),
        String::new(),
        count(program.text_bytes),
        number(Some(1.0)),
        number(Some(1.0)),
        NONE.to_owned(),
        NONE.to_owned(),
    ];
    let tools = program.tools.iter().filter(|tool| tool.text_bytes.is_some());
    let tools: Vec<Vec<String>> = tools
        .map(|tool| {
            let whole = |value: Option<u64>| value.map_or(NONE.to_owned(), count);
            vec![
                tool.tool.clone(),
                tool.hook.clone(),
                tool.functions.clone(),
                whole(tool.text_bytes),
                number(tool.text_ratio),
                number(tool.loaded_ratio),
                whole(tool.stubs),
                tool.bytes_per_stub.map_or(NONE.to_owned(), |bytes| format!("{bytes:.0}")),
            ]
        })
        .collect();
    if tools.is_empty() {
        return String::new();
    }
    let columns = [
        ("tool", Lean::Whole),
        ("hook", Lean::Whole),
        ("of", Lean::Whole),
        ("bytes", Lean::Right),
        ("code", Lean::Right),
        ("loaded", Lean::Right),
        ("stubs", Lean::Right),
        ("B/stub", Lean::Right),
    ];
    let title = format!("{}: bytes of code, and of all that is loaded", program.name);
    let rows = std::iter::once(plain).chain(tools).collect();
    titled(&title, grid(width, &columns, rows))
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
        tool.events.map_or(NONE.to_owned(), count),
        number(tool.ns_per_event),
    ]
}
