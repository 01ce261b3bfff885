//! What all programs together say.

use std::collections::BTreeMap;

use crate::report::{BenchProgram, BenchSummary, BenchTool, ProbeBench};
use trimtab_report::common::Target;
use trimtab_stats::geometric_mean;

use crate::variants::Variant;

/// Who works on the linked program, as trimtab does on objects.
const BINARY_LEVEL: [&str; 3] = ["uftrace patchable", "frida", "dyninst"];

/// Whether a target compares this variant with another, so that noise must not decide.
pub fn is_compared(variant: &Variant) -> bool {
    let is_ours = (variant.tool, variant.hook) == ("trimtab", "value");
    variant.functions == "hot" && (is_ours || BINARY_LEVEL.contains(&variant.tool))
}

/// Geometric means over the real programs, of each way that any of them was instrumented in: over
/// those that were.
pub fn of(programs: &[BenchProgram]) -> Vec<BenchSummary> {
    let mut ways: BTreeMap<(&str, &str, &str), Vec<&BenchTool>> = BTreeMap::new();
    let mut order = Vec::new();
    let real: Vec<&BenchProgram> = programs.iter().filter(|p| !p.package.is_empty()).collect();
    for tool in real.iter().flat_map(|program| &program.tools) {
        let way = (tool.tool.as_str(), tool.hook.as_str(), tool.functions.as_str());
        if !ways.contains_key(&way) {
            order.push(way);
        }
        ways.entry(way).or_default().push(tool);
    }
    let all = order.iter().filter_map(|way| Some((way, ways.get(way)?)));
    all.map(|((tool, hook, functions), tools)| {
        let mean = |of: fn(&BenchTool) -> Option<f64>| {
            let values: Option<Vec<f64>> = tools.iter().map(|tool| of(tool)).collect();
            values.as_deref().and_then(geometric_mean)
        };
        BenchSummary {
            tool: (*tool).to_owned(),
            hook: (*hook).to_owned(),
            functions: (*functions).to_owned(),
            programs: tools.len() as u32,
            time_ratio: mean(|tool| Some(tool.time_ratio.mean)).unwrap_or(f64::NAN),
            instruction_ratio: mean(|tool| tool.instruction_ratio),
            text_ratio: mean(|tool| tool.text_ratio),
            bytes_per_stub: bytes_per_stub(tools),
        }
    })
    .collect()
}

/// Over all programs: each stub counts the same.
fn bytes_per_stub(tools: &[&BenchTool]) -> Option<f64> {
    let each = tools.iter().map(|tool| Some((tool.stubs?, tool.bytes_per_stub?)));
    let each: Vec<(u64, f64)> = each.collect::<Option<_>>()?;
    let stubs: u64 = each.iter().map(|(stubs, _)| stubs).sum();
    let bytes: f64 = each.iter().map(|(stubs, bytes)| *stubs as f64 * bytes).sum();
    (stubs > 0).then(|| bytes / stubs as f64)
}

fn find<'a>(
    program: &'a BenchProgram,
    tool: &str,
    hook: &str,
    functions: &str,
) -> Option<&'a BenchTool> {
    program
        .tools
        .iter()
        .find(|found| found.tool == tool && found.hook == hook && found.functions == functions)
}

/// Compares the results with the targets.
pub fn targets(bench: &ProbeBench) -> Vec<Target> {
    let mut targets = Vec::new();
    if let Some(fib) = bench.programs.iter().find(|program| program.name == "fib") {
        targets.extend(calls_alone(fib));
    }
    let way = |way: &&BenchSummary| {
        (way.tool.as_str(), way.hook.as_str(), way.functions.as_str())
            == ("trimtab", "value", "hot")
    };
    if let Some(hot) = bench.summary.iter().find(way) {
        let name = "value, hot functions: geometric mean of time";
        targets.push(Target::at_most(name, 1.10, hot.time_ratio));
        if let Some(instructions) = hot.instruction_ratio {
            let name = "value, hot functions: geometric mean of instructions";
            targets.push(Target::at_most(name, 1.20, instructions));
        }
    }
    targets.extend(beside_binary_level(bench));
    if let Some(rewriting) = &bench.rewriting {
        let seconds = rewriting.seconds * 1e8 / rewriting.bytes as f64;
        let name = "rewriting 100 MB of objects, read from files and written to files: seconds";
        targets.push(Target::at_most(name, 10.0, seconds));
    }
    if !bench.suites.is_empty() {
        let passed = bench.suites.iter().filter(|suite| suite.instrumented_passed).count();
        let name = "test suites that pass with all functions instrumented";
        targets.push(Target::at_least(name, bench.suites.len() as f64, passed as f64));
    }
    targets
}

/// How trimtab does beside the best of the tools that work on binaries, where it does worst. The name
/// says where that is, and on how many programs each of them was compared: they fail on some.
fn beside_binary_level(bench: &ProbeBench) -> Option<Target> {
    let real = || bench.programs.iter().filter(|program| !program.package.is_empty());
    let theirs = |program: &'_ BenchProgram, peer: &str| {
        let same = |tool: &&BenchTool| tool.tool == peer && tool.functions == "hot";
        Some(program.tools.iter().find(same)?.time_ratio.mean)
    };
    let beside = |program: &BenchProgram| {
        let ours = find(program, "trimtab", "value", "hot")?.time_ratio.mean;
        let peers = BINARY_LEVEL.iter().filter_map(|peer| Some((theirs(program, peer)?, *peer)));
        let (best, peer) = peers.min_by(|one, other| one.0.total_cmp(&other.0))?;
        Some((ours / best, format!("{} beside {peer}", program.name)))
    };
    let ratios: Vec<(f64, String)> = real().filter_map(beside).collect();
    let (worst, place) = ratios.iter().max_by(|one, other| one.0.total_cmp(&other.0))?.clone();
    let each = BINARY_LEVEL.map(|peer| {
        match real().filter(|program| theirs(program, peer).is_some()).count() {
            0 => format!("not with {peer}"),
            count => format!("with {peer} on {count}"),
        }
    });
    let name = format!(
        "value, hot functions: time in times of the best binary-level tool's, at worst ({place}); \
         compared on {} of {} programs: {}",
        ratios.len(),
        real().count(),
        each.join(", ")
    );
    Some(Target::at_most(name, 1.0, worst))
}

/// Targets for which there is nothing to compare with, each in a sentence.
pub fn not_looked_at(bench: &ProbeBench) -> Option<String> {
    (beside_binary_level(bench).is_none()).then(|| {
        format!(
            "whether value on hot functions takes less time than each binary-level tool was not looked \
             at: none of {} ran on a program from a package",
            BINARY_LEVEL.join(", ")
        )
    })
}

fn calls_alone(fib: &BenchProgram) -> Vec<Target> {
    let mut targets = Vec::new();
    let extra = |tool, hook, functions| find(fib, tool, hook, functions)?.ns_per_event;
    if let Some(count) = find(fib, "trimtab", "count", "all")
        && let Some(calls) = count.events
    {
        let all = count.seconds * 1e9 / calls.max(1) as f64;
        targets.push(Target::at_most("fib with counters: ns a call, in all", 6.0, all));
    }
    let off = ["count", "value", "time"].map(|hook| extra("trimtab off", hook, "all"));
    if let Some(worst) = off.into_iter().flatten().reduce(f64::max) {
        let name =
            "fib with probes that are off (the worst of count, value, time): added ns a call";
        targets.push(Target::at_most(name, 1.0, worst));
    }
    for (hook, limit, name) in [
        ("count", 1.0 / 3.0, "fib with counters: added time in times of uftrace's trace"),
        ("trace", 1.0, "fib traced: added time in times of uftrace's trace"),
    ] {
        if let (Some(ours), Some(theirs)) =
            (extra("trimtab", hook, "all"), extra("uftrace -pg", "trace", "all"))
        {
            targets.push(Target::at_most(name, limit, ours / theirs));
        }
    }
    if let (Some(ours), Some(theirs)) =
        (extra("trimtab (clang)", "count", "all"), extra("clang XRay", "count", "all"))
    {
        let name = "fib with counters: added time in times of XRay's";
        targets.push(Target::at_most(name, 1.0, ours / theirs));
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimtab_stats::Interval;

    fn program(name: &str, package: &str, tools: &[(&str, &str, &str, f64, f64)]) -> BenchProgram {
        let tools = tools.iter().map(|&(tool, hook, functions, time, instructions)| BenchTool {
            tool: tool.to_owned(),
            hook: hook.to_owned(),
            functions: functions.to_owned(),
            seconds: time,
            time_ratio: Interval { mean: time, low: time, high: time },
            instruction_ratio: Some(instructions),
            events: Some(1_000_000_000),
            ns_per_event: Some(time - 1.0),
            ..BenchTool::default()
        });
        BenchProgram {
            name: name.to_owned(),
            package: package.to_owned(),
            tools: tools.collect(),
            ..BenchProgram::default()
        }
    }

    #[test]
    fn means_are_over_the_real_programs_that_have_a_way() {
        let programs = [
            program("fib", "", &[("trimtab", "value", "hot", 9.0, 9.0)]),
            program(
                "a",
                "a 1",
                &[("trimtab", "value", "hot", 1.0, 1.1), ("x", "y", "z", 2.0, 2.0)],
            ),
            program("b", "b 2", &[("trimtab", "value", "hot", 1.21, 1.1)]),
        ];
        let found = of(&programs);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].tool.as_str(), found[0].programs), ("trimtab", 2));
        assert!((found[0].time_ratio - 1.1).abs() < 1e-9, "{found:?}");
        assert!((found[0].instruction_ratio.unwrap() - 1.1).abs() < 1e-9, "{found:?}");
        assert_eq!((found[1].tool.as_str(), found[1].programs), ("x", 1));
        assert_eq!((found[1].text_ratio, found[1].bytes_per_stub), (None, None));
    }

    #[test]
    fn each_stub_counts_the_same() {
        let mut programs =
            ["a", "b"].map(|name| program(name, "p 1", &[("trimtab", "count", "all", 1.0, 1.0)]));
        for (program, (stubs, bytes)) in programs.iter_mut().zip([(30, 100.0), (10, 60.0)]) {
            program.tools[0].stubs = Some(stubs);
            program.tools[0].bytes_per_stub = Some(bytes);
        }
        assert_eq!(of(&programs)[0].bytes_per_stub, Some(90.0));
    }

    #[test]
    fn targets_are_held_against_the_nearest_rival() {
        let fib = program(
            "fib",
            "",
            &[
                ("trimtab", "count", "all", 5.0, 3.0),
                ("trimtab off", "count", "all", 1.25, 3.0),
                ("trimtab off", "time", "all", 2.5, 3.0),
                ("uftrace -pg", "trace", "all", 13.0, 3.0),
            ],
        );
        let real = program(
            "a",
            "a 1",
            &[
                ("trimtab", "value", "hot", 1.2, 1.1),
                ("frida", "value", "hot", 3.0, 1.0),
                ("uftrace patchable", "trace", "hot", 1.4, 1.0),
                ("dyninst", "value", "hot", 1.1, 1.0),
            ],
        );
        let mut bench = ProbeBench { programs: vec![fib, real], ..ProbeBench::default() };
        bench.summary = of(&bench.programs);
        let met: Vec<(f64, bool)> =
            targets(&bench).iter().map(|target| (target.value, target.met)).collect();
        assert_eq!(met.len(), 6, "{met:?}");
        assert_eq!(met[0], (5.0, true));
        assert_eq!(met[1], (1.5, false));
        assert_eq!(met[2], (4.0 / 12.0, true));
        assert!(!met[3].1 && met[4].1, "{met:?}");
        assert!(met[5].0 > 1.09 && !met[5].1, "{met:?}");
        assert_eq!(not_looked_at(&bench), None);
    }

    #[test]
    fn rivals_that_failed_are_told() {
        let ours = ("trimtab", "value", "hot", 1.0, 1.0);
        let programs = vec![
            program("a", "a 1", &[ours, ("dyninst", "value", "hot", 1.1, 1.0)]),
            program("b", "b 1", &[ours, ("dyninst", "value", "all", 0.5, 1.0)]),
            program(
                "c",
                "c 1",
                &[ours, ("frida", "value", "hot", 3.0, 1.0), ("dyninst", "value", "hot", 2.0, 1.0)],
            ),
        ];
        let bench = ProbeBench { programs, ..ProbeBench::default() };
        let target = beside_binary_level(&bench).unwrap();
        let end = "compared on 2 of 3 programs: not with uftrace patchable, with frida on 1, with dyninst on 2";
        assert!(target.name.ends_with(end), "{}", target.name);
        assert!((target.value - 1.0 / 1.1).abs() < 1e-9, "{target:?}");

        let alone =
            ProbeBench { programs: vec![program("a", "a 1", &[ours])], ..ProbeBench::default() };
        assert!(beside_binary_level(&alone).is_none());
        assert!(not_looked_at(&alone).unwrap().contains("was not looked at"));
    }
}
