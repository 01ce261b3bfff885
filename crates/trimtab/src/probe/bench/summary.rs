//! What all programs together say.

use std::collections::BTreeMap;

use trimtab_report::model::{BenchProgram, BenchSummary, BenchTool, ProbeBench, Target};

/// Who works on the linked program, as trimtab does on objects.
const BINARY_LEVEL: [&str; 3] = ["uftrace patchable", "frida", "dyninst"];

/// Geometric means over the real programs, of each way that all of them were instrumented in.
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
    all.filter(|(_, tools)| tools.len() == real.len())
        .map(|((tool, hook, functions), tools)| {
            let times: Vec<f64> = tools.iter().map(|tool| tool.time_ratio.mean).collect();
            let instructions: Vec<f64> =
                tools.iter().filter_map(|tool| tool.instruction_ratio).collect();
            BenchSummary {
                tool: (*tool).to_owned(),
                hook: (*hook).to_owned(),
                functions: (*functions).to_owned(),
                programs: tools.len() as u32,
                time_ratio: geometric_mean(&times),
                instruction_ratio: (instructions.len() == tools.len())
                    .then(|| geometric_mean(&instructions)),
            }
        })
        .collect()
}

fn geometric_mean(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (sum / values.len().max(1) as f64).exp()
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

/// Holds the results against what was asked for.
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
    let beside = |program: &BenchProgram| {
        let ours = find(program, "trimtab", "value", "hot")?.time_ratio.mean;
        let theirs = program
            .tools
            .iter()
            .filter(|tool| BINARY_LEVEL.contains(&tool.tool.as_str()) && tool.functions == "hot")
            .map(|tool| tool.time_ratio.mean)
            .reduce(f64::min)?;
        Some(ours / theirs)
    };
    let worst = bench.programs.iter().filter(|p| !p.package.is_empty()).filter_map(beside);
    if let Some(worst) = worst.reduce(f64::max) {
        let name = "value, hot functions: time in times of the best binary-level tool's, at worst";
        targets.push(Target::at_most(name, 1.0, worst));
    }
    if let Some(rewriting) = &bench.rewriting {
        let seconds = rewriting.seconds * 1e8 / rewriting.bytes as f64;
        targets.push(Target::at_most("rewriting 100 MB of objects: seconds", 10.0, seconds));
    }
    if !bench.suites.is_empty() {
        let passed = bench.suites.iter().filter(|suite| suite.instrumented_passed).count();
        let name = "test suites that pass with all functions instrumented";
        targets.push(Target::at_least(name, bench.suites.len() as f64, passed as f64));
    }
    targets
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
    use trimtab_report::model::Interval;

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
    fn means_are_over_real_programs_and_ways_that_all_have() {
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
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].tool.as_str(), found[0].programs), ("trimtab", 2));
        assert!((found[0].time_ratio - 1.1).abs() < 1e-9, "{found:?}");
        assert!((found[0].instruction_ratio.unwrap() - 1.1).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn targets_are_held_against_the_nearest_rival() {
        let fib = program(
            "fib",
            "",
            &[("trimtab", "count", "all", 5.0, 3.0), ("uftrace -pg", "trace", "all", 13.0, 3.0)],
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
        assert_eq!(met.len(), 5, "{met:?}");
        assert_eq!(met[0], (5.0, true));
        assert_eq!(met[1], (4.0 / 12.0, true));
        assert!(!met[2].1 && met[3].1, "{met:?}");
        assert!(met[4].0 > 1.09 && !met[4].1, "{met:?}");
    }
}
