//! The page of `trimtab probe bench`.

use super::frame::{foot, page, section};
use super::tables::{number, table, text};
use crate::model::{BenchRewriting, ProbeBench, ProbeBenchSchema};
use crate::number::{NONE, count};
use maud::{Markup, html};

/// Renders `bench` as a whole HTML page.
pub fn probe_bench(bench: &ProbeBench) -> String {
    let body = html! {
        main {
            header.hero {
                p.eyebrow { b { "trimtab probe bench" } span { (bench.rounds) " runs in each way" } }
                h1 { span.what { "What instrumented programs cost" } }
                p.summary {
                    "Processor time beside the plain program by the same compiler, run in turn, "
                    "with the interval that covers 95 %."
                    @if let Some(reading) = bench.counter_ns {
                        " Hooks that tell cycles read the machine's counter twice a call, "
                        (shown("counter_ns".to_owned(), Some(reading))) " ns each."
                    }
                }
            }
            @if !bench.summary.is_empty() { (summary(bench)) }
            @for (index, program) in bench.programs.iter().enumerate() { (tools(bench, index, &program.name)) }
            @if let Some(rewriting) = &bench.rewriting { (rewritten(rewriting)) }
            @if !bench.suites.is_empty() { (suites(bench)) }
            (targets(bench))
            @if !bench.left_out.is_empty() { (left_out(bench)) }
        }
        (foot(ProbeBenchSchema::NAME))
    };
    page("What instrumented programs cost", &body, bench)
}

/// A whole number of the result.
fn whole(key: String, value: Option<u64>) -> Markup {
    match value {
        Some(value) => html! { data value=(value) data-key=(key) { (count(value)) } },
        None => html! { (NONE) },
    }
}

/// A number of the result: it can be held against the JSON in the page.
fn shown(key: String, value: Option<f64>) -> Markup {
    match value {
        Some(value) => html! { data value=(value) data-key=(key) { (format!("{value:.2}")) } },
        None => html! { (NONE) },
    }
}

fn tools(bench: &ProbeBench, index: usize, name: &str) -> Markup {
    let program = &bench.programs[index];
    let rows: Vec<Vec<Markup>> = program
        .tools
        .iter()
        .enumerate()
        .map(|(place, tool)| {
            let key = |field: &str| format!("programs.{index}.tools.{place}.{field}");
            vec![
                html! { (tool.tool) },
                html! { (tool.hook) },
                html! { (tool.functions) },
                shown(key("time_ratio.mean"), Some(tool.time_ratio.mean)),
                html! {
                    (shown(key("time_ratio.low"), Some(tool.time_ratio.low))) " to "
                    (shown(key("time_ratio.high"), Some(tool.time_ratio.high)))
                },
                shown(key("instruction_ratio"), tool.instruction_ratio),
                shown(key("branch_miss_ratio"), tool.branch_miss_ratio),
                shown(key("l1i_miss_ratio"), tool.l1i_miss_ratio),
                shown(key("l1d_miss_ratio"), tool.l1d_miss_ratio),
                whole(key("events"), tool.events),
                shown(key("ns_per_event"), tool.ns_per_event),
                shown(key("text_ratio"), tool.text_ratio),
                shown(key("loaded_ratio"), tool.loaded_ratio),
                shown(key("bytes_per_stub"), tool.bytes_per_stub),
            ]
        })
        .collect();
    let columns = [
        text("tool"),
        text("hook"),
        text("functions"),
        number("time"),
        number("95 %"),
        number("instructions"),
        number("branch misses"),
        number("L1I misses"),
        number("L1D misses"),
        number("calls"),
        number("ns a call"),
        number("code"),
        number("loaded"),
        number("bytes a stub"),
    ];
    let of = |field: &str| format!("programs.{index}.{field}");
    let lede = html! {
        (whole(of("functions"), Some(program.functions))) " functions, "
        (whole(of("hot"), Some(program.hot))) " of them make up 80 % of the cycles. "
        "Instructions and misses are simulated; they, the bytes of code and the bytes that are loaded are "
        "in times of the plain program's, which has "
        (whole(of("text_bytes"), Some(program.text_bytes))) " bytes of code and loads "
        (whole(of("loaded_bytes"), Some(program.loaded_bytes))) "."
    };
    section(&format!("program-{index}"), name, &lede, &table(name, &columns, &rows))
}

fn summary(bench: &ProbeBench) -> Markup {
    let rows: Vec<Vec<Markup>> = bench
        .summary
        .iter()
        .enumerate()
        .map(|(index, way)| {
            vec![
                html! { (way.tool) },
                html! { (way.hook) },
                html! { (way.functions) },
                whole(format!("summary.{index}.programs"), Some(way.programs.into())),
                shown(format!("summary.{index}.time_ratio"), Some(way.time_ratio)),
                shown(format!("summary.{index}.instruction_ratio"), way.instruction_ratio),
                shown(format!("summary.{index}.text_ratio"), way.text_ratio),
                shown(format!("summary.{index}.bytes_per_stub"), way.bytes_per_stub),
            ]
        })
        .collect();
    let columns = [
        text("tool"),
        text("hook"),
        text("functions"),
        number("programs"),
        number("time"),
        number("instructions"),
        number("code"),
        number("bytes a stub"),
    ];
    let lede = html! {
        "Geometric means, in times of the plain programs'. Means over fewer programs, because others "
        "could not be instrumented so, are not to be held against means over all."
    };
    section("summary", "All programs", &lede, &table("All programs", &columns, &rows))
}

fn rewritten(rewriting: &BenchRewriting) -> Markup {
    let key = |field: &str| format!("rewriting.{field}");
    let speed =
        shown("rewriting.bytes/1000000/rewriting.seconds".to_owned(), Some(rewriting.speed()));
    let row = vec![
        whole(key("bytes"), Some(rewriting.bytes)),
        whole(key("written"), Some(rewriting.written)),
        whole(key("functions"), Some(rewriting.functions)),
        shown(key("seconds"), Some(rewriting.seconds)),
        whole(key("cores"), Some(rewriting.cores.into())),
        speed,
    ];
    let columns = [
        number("bytes of objects"),
        number("bytes written"),
        number("functions"),
        number("seconds"),
        number("cores"),
        number("MB/s"),
    ];
    let lede = html! { "Objects are read from files, all that is in them is instrumented, and files are written." };
    section("rewriting", "Rewriting", &lede, &table("Rewriting", &columns, &[row]))
}

fn left_out(bench: &ProbeBench) -> Markup {
    let list = html! { ul.plain { @for line in &bench.left_out { li { (line) } } } };
    let lede = html! { "What was not measured, and what tools could not instrument." };
    section("left-out", "Left out", &lede, &list)
}

fn suites(bench: &ProbeBench) -> Markup {
    let passed = |passed| html! { @if passed { "pass" } @else { "fail" } };
    let rows: Vec<Vec<Markup>> = bench
        .suites
        .iter()
        .map(|suite| {
            vec![
                html! { (suite.package) },
                html! { (suite.instrumented) " of " (suite.seen) },
                html! { (suite.recordings) },
                passed(suite.plain_passed),
                passed(suite.instrumented_passed),
            ]
        })
        .collect();
    let columns = [
        text("tests of"),
        text("functions"),
        number("recordings"),
        text("plain"),
        text("instrumented"),
    ];
    let lede = html! { "The packages' own tests, with every function instrumented that can be." };
    section("suites", "Test suites", &lede, &table("Test suites", &columns, &rows))
}

fn targets(bench: &ProbeBench) -> Markup {
    let rows: Vec<Vec<Markup>> = bench
        .targets
        .iter()
        .enumerate()
        .map(|(index, target)| {
            vec![
                html! { (target.name) },
                shown(format!("targets.{index}.limit"), Some(target.limit)),
                shown(format!("targets.{index}.value"), Some(target.value)),
                html! { @if target.met { "met" } @else { "missed" } },
            ]
        })
        .collect();
    let columns = [text("target"), number("limit"), number("reached"), text("")];
    section(
        "targets",
        "Targets",
        &html! { "What had to be reached." },
        &table("Targets", &columns, &rows),
    )
}
