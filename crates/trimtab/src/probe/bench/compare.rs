use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_lab::measure::{Simulated, processor_seconds, simulate};
use trimtab_probe::{Hook, Profile, Recording, Selection};
use trimtab_report::model::{BenchProgram, BenchTool, ProbeBench, Target};
use trimtab_report::statistics::paired_ratio;

use super::programs::Program;
use super::variants::{Compilers, Variant, Workshop};
use crate::failure::Failure;
use crate::progress::Progress;

/// What makes up the hot functions: this share of a program's cycles.
const HOT: f64 = 0.8;

/// What to measure, and how.
#[derive(Debug)]
pub struct Plan {
    /// The programs.
    pub programs: Vec<&'static Program>,
    /// Runs of each program in each way; at least 2.
    pub rounds: u32,
    /// Whether valgrind counts instructions and misses as well.
    pub simulate: bool,
    /// Where to work.
    pub work: PathBuf,
    /// gcc.
    pub gcc: Compilers,
    /// clang, where it is there with its run time for XRay.
    pub clang: Option<Compilers>,
    /// uftrace, where it is there.
    pub uftrace: Option<PathBuf>,
}

/// Measures.
///
/// # Errors
/// What cannot be fetched, built or run.
pub fn measure(plan: &Plan, progress: &Progress) -> anyhow::Result<ProbeBench> {
    let mut bench = ProbeBench { rounds: plan.rounds, ..ProbeBench::default() };
    if plan.clang.is_none() {
        bench.left_out.push("clang XRay: install clang and libclang-rt of one version".to_owned());
    }
    if plan.uftrace.is_none() {
        bench.left_out.push("uftrace: install the package uftrace".to_owned());
    }
    for program in &plan.programs {
        let stage = progress.stage(&format!("measure {}", program.name));
        let folder = plan.work.join(program.name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let sources = program.prepare(&plan.work.join("sources"), &folder)?;
        let workshop = Workshop { program, sources: &sources, folder: &folder };
        stage.note("building");
        let built = build(plan, &workshop)?;
        stage.parts(u64::from(plan.rounds) * built.variants.len() as u64);
        let times = time(plan, &folder, &built.variants, |part| stage.at(part))?;
        stage.note("simulating");
        let counts = simulate_all(plan, &folder, &built.variants)?;
        let result = result(program, &sources.package, &built, &times, &counts)?;
        stage.done(&format!("{} ways", result.tools.len()));
        bench.programs.push(result);
    }
    bench.targets = targets(&bench.programs);
    Ok(bench)
}

struct Built {
    variants: Vec<Variant>,
    functions: u64,
    hot: Vec<String>,
    calls: BTreeMap<String, u64>,
}

/// Builds a program in all ways.
fn build(plan: &Plan, workshop: &Workshop<'_>) -> anyhow::Result<Built> {
    let gcc = &plan.gcc;
    let mut variants = Vec::new();
    let objects = workshop.compile("gcc", gcc, &[])?;
    let plain = workshop.link("plain", gcc, &[], &objects)?;
    variants.push(variant("plain", "", "", 0, plain));

    let (timed, functions) =
        workshop.probe("time-all", gcc, &objects, Hook::Time, Selection::default())?;
    let hot = record(&timed, workshop.folder, |profile| {
        profile.hottest(HOT).into_iter().map(str::to_owned).collect::<Vec<_>>()
    })?;
    let (counted, _) =
        workshop.probe("count-all", gcc, &objects, Hook::Count, Selection::default())?;
    let calls = record(&counted, workshop.folder, |profile| {
        profile
            .functions
            .iter()
            .map(|row| (row.name.clone(), row.calls))
            .collect::<BTreeMap<_, _>>()
    })?;
    variants.push(variant("trimtab", "count", "all", 0, counted));
    for (hook, scope) in
        [(Hook::Cycles, "hot"), (Hook::Cycles, "all"), (Hook::Time, "all"), (Hook::Order, "all")]
    {
        let selection = match scope {
            "hot" => Selection::default().named(hot.clone()),
            _ => Selection::default(),
        };
        let name = format!("{}-{scope}", hook.name());
        let (command, _) = workshop.probe(&name, gcc, &objects, hook, selection)?;
        variants.push(variant("trimtab", hook.name(), scope, 0, command));
    }

    let mut objects = workshop.compile("finstrument", gcc, &["-finstrument-functions"])?;
    objects.push(workshop.hook("finstrument", gcc, &[])?);
    let command = workshop.link("finstrument", gcc, &[], &objects)?;
    variants.push(variant("-finstrument-functions", "cycles", "all", 0, command));

    if let Some(clang) = &plan.clang {
        let objects = workshop.compile("clang", clang, &[])?;
        let plain = workshop.link("plain-clang", clang, &[], &objects)?;
        let base = variants.len();
        variants.push(variant("plain", "", "", base, plain));
        let xray = ["-fxray-instrument", "-fxray-instruction-threshold=1"];
        let mut objects = workshop.compile("xray", clang, &xray)?;
        objects.push(workshop.hook("xray", clang, &["-DXRAY", "-fxray-instrument"])?);
        let command = workshop.link("xray", clang, &["-fxray-instrument"], &objects)?;
        variants.push(variant("clang XRay", "cycles", "all", base, command));
        let objects = workshop.compile("clang", clang, &[])?;
        let selection = Selection::default();
        let (command, _) =
            workshop.probe("clang-cycles", clang, &objects, Hook::Cycles, selection)?;
        variants.push(variant("trimtab (clang)", "cycles", "all", base, command));
    }
    if let Some(uftrace) = &plan.uftrace {
        let objects = workshop.compile("pg", gcc, &["-pg"])?;
        let command = workshop.link("pg", gcc, &["-pg"], &objects)?;
        let mut traced: Vec<OsString> =
            [uftrace.as_os_str().to_owned()].into_iter().chain(uftrace_options()).collect();
        traced.extend(command);
        let mut variant = variant("uftrace -pg", "trace", "all", 0, traced);
        variant.simulated = false;
        variants.push(variant);
        let selection = Selection::default();
        let objects = workshop.compile("gcc", gcc, &[])?;
        let (command, _) = workshop.probe("trace-all", gcc, &objects, Hook::Trace, selection)?;
        variants.push(self::variant("trimtab", "trace", "all", 0, command));
    }
    Ok(Built { variants, functions, hot, calls })
}

/// What uftrace records: the program's functions, and nothing else.
fn uftrace_options() -> impl Iterator<Item = OsString> {
    ["record", "--no-libcall", "--no-event", "--no-args", "-d", "uftrace.data"]
        .into_iter()
        .map(Into::into)
}

fn variant(
    tool: &str,
    hook: &'static str,
    functions: &'static str,
    base: usize,
    command: Vec<OsString>,
) -> Variant {
    Variant {
        tool: tool.to_owned(),
        hook,
        functions,
        base,
        command,
        environment: vec![("TRIMTAB_PROBE_FILE".to_owned(), "run.out".into())],
        // Every event written to a file would fill a disk at valgrind's speed, too.
        simulated: hook != "trace",
    }
}

/// Runs an instrumented program once, and reads what it recorded.
fn record<T>(
    command: &[OsString],
    folder: &Path,
    look: impl Fn(&Profile) -> T,
) -> anyhow::Result<T> {
    let environment = [("TRIMTAB_PROBE_FILE".to_owned(), OsString::from("record.out"))];
    processor_seconds(command, folder, &environment)?;
    let path = folder.join("record.out");
    let data = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let recording = Recording::parse(&data)?;
    let profile = Profile::of(&[recording])
        .ok_or_else(|| Failure::new(format!("{} is empty", path.display())))?;
    Ok(look(&profile))
}

/// Runs all variants in turn, round after round. Gives the seconds of each, by variant.
fn time(
    plan: &Plan,
    folder: &Path,
    variants: &[Variant],
    progress: impl Fn(u64),
) -> anyhow::Result<Vec<Vec<f64>>> {
    let mut times = vec![Vec::new(); variants.len()];
    let mut done = 0;
    for _ in 0..plan.rounds {
        for (variant, times) in variants.iter().zip(&mut times) {
            times.push(processor_seconds(&variant.command, folder, &variant.environment)?);
            done += 1;
            progress(done);
        }
    }
    Ok(times)
}

fn simulate_all(
    plan: &Plan,
    folder: &Path,
    variants: &[Variant],
) -> anyhow::Result<Vec<Option<Simulated>>> {
    let one = |variant: &Variant| {
        if !plan.simulate || !variant.simulated {
            return Ok(None);
        }
        Ok(Some(simulate(&variant.command, folder, &variant.environment)?))
    };
    variants.iter().map(one).collect()
}

fn result(
    program: &Program,
    package: &str,
    built: &Built,
    times: &[Vec<f64>],
    counts: &[Option<Simulated>],
) -> anyhow::Result<BenchProgram> {
    let mut tools = Vec::new();
    let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    for (index, variant) in built.variants.iter().enumerate() {
        if variant.base == index {
            continue;
        }
        let time_ratio = paired_ratio(&times[variant.base], &times[index])?;
        // Other compilers inline other functions.
        let events = (variant.base == 0).then(|| {
            let hot = |name: &&String| variant.functions != "hot" || built.hot.contains(name);
            built.calls.iter().filter(|(name, _)| hot(name)).map(|(_, calls)| calls).sum::<u64>()
        });
        let extra = (time_ratio.mean - 1.0) * least(&times[variant.base]) * 1e9;
        let ratio = |count: fn(&Simulated) -> u64| {
            let (base, own) = (counts[variant.base].as_ref()?, counts[index].as_ref()?);
            Some(count(own) as f64 / count(base).max(1) as f64)
        };
        tools.push(BenchTool {
            tool: variant.tool.clone(),
            hook: variant.hook.to_owned(),
            functions: variant.functions.to_owned(),
            time_ratio,
            instruction_ratio: ratio(|counts| counts.instructions),
            events,
            ns_per_event: events.filter(|&events| events > 0).map(|events| extra / events as f64),
            branch_miss_ratio: ratio(|counts| counts.branch_misses),
            l1i_miss_ratio: ratio(|counts| counts.l1i_misses),
            l1d_miss_ratio: ratio(|counts| counts.l1d_misses),
        });
    }
    Ok(BenchProgram {
        name: program.name.to_owned(),
        package: package.to_owned(),
        functions: built.functions,
        hot: built.hot.len() as u64,
        seconds: least(&times[0]),
        tools,
    })
}

/// Holds the results against what was asked for.
fn targets(programs: &[BenchProgram]) -> Vec<Target> {
    let find = |program: &'_ BenchProgram, tool: &str, hook: &str, functions: &str| {
        let fits = |found: &&BenchTool| {
            found.tool == tool && found.hook == hook && found.functions == functions
        };
        program.tools.iter().find(fits).cloned()
    };
    let mut targets = Vec::new();
    if let Some(fib) = programs.iter().find(|program| program.name == "fib")
        && let Some(count) = find(fib, "trimtab", "count", "all")
    {
        let calls = count.events.unwrap_or(0).max(1) as f64;
        let all = count.time_ratio.mean * fib.seconds * 1e9 / calls;
        targets.push(Target::at_most("fib with counters: ns a call, in all", 6.0, all));
        if let (Some(ours), Some(theirs)) =
            (find(fib, "trimtab", "trace", "all"), find(fib, "uftrace -pg", "trace", "all"))
        {
            let ratio = ours.time_ratio.mean / theirs.time_ratio.mean;
            targets.push(Target::at_most("fib traced: time in times of uftrace's", 1.0, ratio));
        }
        if let (Some(ours), Some(theirs)) = (
            find(fib, "trimtab (clang)", "cycles", "all"),
            find(fib, "clang XRay", "cycles", "all"),
        ) {
            let ratio = ours.time_ratio.mean / theirs.time_ratio.mean;
            targets.push(Target::at_most("fib with cycles: time in times of XRay's", 1.0, ratio));
        }
    }
    let hot: Vec<BenchTool> = programs
        .iter()
        .filter(|program| program.name != "fib")
        .filter_map(|program| find(program, "trimtab", "cycles", "hot"))
        .collect();
    let mean = |values: Vec<f64>| {
        let count = values.len() as f64;
        (values.iter().map(|value| value.ln()).sum::<f64>() / count).exp()
    };
    if !hot.is_empty() {
        let time = mean(hot.iter().map(|tool| tool.time_ratio.mean).collect());
        targets.push(Target::at_most("cycles, hot functions: geometric mean of time", 1.10, time));
        let instructions: Vec<f64> = hot.iter().filter_map(|tool| tool.instruction_ratio).collect();
        if instructions.len() == hot.len() {
            targets.push(Target::at_most(
                "cycles, hot functions: geometric mean of instructions",
                1.20,
                mean(instructions),
            ));
        }
    }
    targets
}
