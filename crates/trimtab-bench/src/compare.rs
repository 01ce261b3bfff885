//! The programs in turn, each in all ways: built, run side by side, and what came of it.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::report::{BenchProgram, BenchRewrite, BenchTool, ProbeBench};
use anyhow::Context;
use trimtab_native::measure::{SimulatedCosts, processor_seconds, reported_seconds, simulate};
use trimtab_probe::{Hook, Options};
use trimtab_report::{Trial, Value};
use trimtab_stats::paired_ratio;

use crate::build::{Builds, build};
use crate::dyninst::Rewriter;
use crate::suites;
use crate::summary;
use crate::variants::{Compilers, Size, Variant, Workshop};
use trimtab_lab::observe::Observe;
use trimtab_lab::workload::Workload;
use trimtab_lab::workload::programs::Program;
use trimtab_probe::run::instrument_files;

/// What to measure, and how.
#[derive(Debug)]
pub struct Plan {
    /// The programs.
    pub programs: Vec<&'static Program>,
    /// The test suites that are run instrumented.
    pub suites: Vec<&'static Workload>,
    /// Runs of each program in each way; at least 2.
    pub rounds: u32,
    /// Whether valgrind counts instructions and misses as well.
    pub simulate: bool,
    /// Bytes of objects that are rewritten, at least, to see how fast that is.
    pub rewritten: u64,
    /// Where to work: an absolute path.
    pub work: PathBuf,
    /// gcc.
    pub gcc: Compilers,
    /// clang, where it is there with its run time for XRay.
    pub clang: Option<Compilers>,
    /// uftrace, where it is there.
    pub uftrace: Option<PathBuf>,
    /// A Python that has frida.
    pub frida: Option<PathBuf>,
    /// What has Dyninst instrument programs.
    pub dyninst: Option<Rewriter>,
}

/// Measures.
///
/// # Errors
/// What cannot be fetched, built or run.
pub fn measure(plan: &Plan, progress: &dyn Observe) -> anyhow::Result<ProbeBench> {
    let mut bench = ProbeBench { rounds: plan.rounds, ..ProbeBench::default() };
    let mut objects = Vec::new();
    for program in &plan.programs {
        let stage = progress.stage(&format!("measure {}", program.name));
        let folder = plan.work.join(program.name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        stage.note("fetching");
        let sources = program.prepare(&plan.work.join("sources"), &folder)?;
        let workshop =
            Workshop { program, sources: &sources, folder: &folder, runtime: &plan.gcc.c };
        stage.note("building");
        let built = build(plan, &workshop)?;
        objects.extend(built.objects.iter().cloned());
        // The least is the one that nothing disturbed.
        let readings = bench.counter_ns.into_iter().chain(built.counter_ns);
        bench.counter_ns = readings.reduce(f64::min);
        stage.note("running");
        stage.parts(u64::from(plan.rounds) * built.variants.len() as u64);
        let Runs { times, failures, trials } =
            time(plan, (program.name, &folder), &built.variants, |part| stage.at(part))?;
        bench.trials.extend(trials);
        stage.note("simulating");
        let (counts, not_simulated) = simulate_all(plan, &folder, &built.variants)?;
        bench.trials.extend(simulated(program.name, &built.variants, &counts));
        let failures = built.failures.iter().chain(&failures).chain(&not_simulated);
        bench.left_out.extend(failures.map(|why| format!("{}: {why}", program.name)));
        let result = result(program, &sources.package, &built, &times, &counts)?;
        stage.done(&format!("{} ways", result.tools.len()));
        bench.programs.push(result);
    }
    let stage = progress.stage("rewrite objects");
    bench.rewriting = rewrite(&objects, plan.rewritten, &plan.work)?;
    stage.done("");
    for suite in &plan.suites {
        let stage = progress.stage(&format!("test {}", suite.name));
        let result = suites::run(plan, suite)?;
        stage.done(if result.instrumented_passed { "passed" } else { "failed" });
        bench.suites.push(result);
    }
    bench.summary = summary::of(&bench.programs);
    bench.targets = summary::targets(&bench);
    bench.left_out.extend(summary::not_looked_at(&bench));
    Ok(bench)
}

/// What instrumented programs write, in the folder that they run in.
const RECORDING: &str = "run.out";

/// The environment of an instrumented program.
fn environment(variant: &Variant) -> Vec<(String, OsString)> {
    let mut all = vec![("TRIMTAB_PROBE_FILE".to_owned(), RECORDING.into())];
    all.extend(variant.environment.iter().cloned());
    all
}

/// Variants that targets compare run this many times as many rounds.
const MORE: u32 = 10;

/// Runs of all variants.
struct Runs {
    /// Seconds of each, by variant: none of another tool's that fails.
    times: Vec<Vec<f64>>,
    /// Why those failed.
    failures: Vec<String>,
    /// All, one by one.
    trials: Vec<Trial>,
}

/// Runs all variants of a `program` in turn, round after round; what is slow only in the first rounds,
/// and what is held against others side by side and in more rounds.
fn time(
    plan: &Plan,
    (program, folder): (&str, &Path),
    variants: &[Variant],
    progress: impl Fn(u64),
) -> anyhow::Result<Runs> {
    let names = names(variants);
    let mut times: Vec<Option<Vec<f64>>> = vec![Some(Vec::new()); variants.len()];
    let (mut failures, mut trials) = (Vec::new(), Vec::new());
    let mut done = 0;
    let is_held = |index: &usize| *index == 0 || summary::is_compared(&variants[*index]);
    let (mut held, others): (Vec<usize>, Vec<usize>) = (0..variants.len()).partition(is_held);
    for round in 0..plan.rounds.saturating_mul(MORE) {
        let is_more = round >= plan.rounds;
        let shortest = |times: &[f64]| times.iter().copied().reduce(f64::min).unwrap_or(0.0);
        let plain = times.first().and_then(Option::as_deref).map_or(0.0, shortest);
        let rest = if is_more { &[][..] } else { &others };
        for &index in held.iter().chain(rest) {
            let (variant, seconds) = (&variants[index], &mut times[index]);
            done += u64::from(!is_more);
            progress(done);
            let Some(own) = seconds else { continue };
            let takes_long = variant.is_slow && shortest(own) > 2.0 * plain;
            if takes_long && round >= (plan.rounds / 3).max(2) {
                continue;
            }
            // Else a run is charged with giving back the memory of a trace before it, which is long.
            remove_if_there(&folder.join(RECORDING))?;
            let measure = if variant.reports { reported_seconds } else { processor_seconds };
            match measure(&variant.command, folder, &environment(variant)) {
                Ok(time) => {
                    own.push(time);
                    let values = vec![Value::seconds("processor time", time)];
                    trials.push(Trial::new(program, &names[index], Ok(values)).round(round));
                }
                Err(error) if !variant.is_peer() => {
                    return Err(error.into());
                }
                Err(error) => {
                    failures.push(format!("{}: {error}", variant.tool));
                    let why = Err(error.to_string());
                    trials.push(Trial::new(program, &names[index], why).round(round));
                    *seconds = None;
                }
            }
        }
        // There and back: what ran before may matter.
        held.reverse();
    }
    let times = times.into_iter().map(Option::unwrap_or_default).collect();
    Ok(Runs { times, failures, trials })
}

/// What variants are called as they are stored: no two the same.
fn names(variants: &[Variant]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for Variant { tool, hook, functions, .. } in variants {
        let words = [*tool, *hook, *functions].into_iter().filter(|word| !word.is_empty());
        let name = words.collect::<Vec<_>>().join(", ");
        let same = names.iter().filter(|other| other.split(" #").next() == Some(&name)).count();
        names.push(if same == 0 { name } else { format!("{name} #{}", same + 1) });
    }
    names
}

/// What was simulated of a program, one by one.
fn simulated(program: &str, variants: &[Variant], counts: &[Option<SimulatedCosts>]) -> Vec<Trial> {
    let of = |(name, counts): (String, &Option<SimulatedCosts>)| {
        let counts = counts.as_ref()?;
        let values = vec![
            Value::count("instructions", counts.instructions),
            Value::count("L1i misses", counts.l1i_misses),
            Value::count("L1d misses", counts.l1d_misses),
            Value::count("branch misses", counts.branch_misses),
        ];
        Some(Trial::new(format!("{program}, simulated"), name, Ok(values)))
    };
    names(variants).into_iter().zip(counts).filter_map(of).collect()
}

fn remove_if_there(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Simulates all variants that can be. Gives the counts of each, by variant: none of another tool's
/// that fails, and why it did.
fn simulate_all(
    plan: &Plan,
    folder: &Path,
    variants: &[Variant],
) -> anyhow::Result<(Vec<Option<SimulatedCosts>>, Vec<String>)> {
    let mut failures = Vec::new();
    let mut one = |variant: &Variant| {
        let Some(command) = variant.simulated.as_ref().filter(|_| plan.simulate) else {
            return Ok(None);
        };
        match simulate(command, folder, &environment(variant)) {
            Ok(counts) => Ok(Some(counts)),
            Err(error) if !variant.is_peer() => Err(error.into()),
            Err(error) => {
                failures.push(format!("instructions of {}: {error}", variant.tool));
                Ok(None)
            }
        }
    };
    let counts = variants.iter().map(&mut one).collect::<anyhow::Result<_>>()?;
    Ok((counts, failures))
}

fn result(
    program: &Program,
    package: &str,
    built: &Builds,
    times: &[Vec<f64>],
    counts: &[Option<SimulatedCosts>],
) -> anyhow::Result<BenchProgram> {
    // Long: each ratio is of the same pair of variants.
    let mut tools = Vec::new();
    let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    for (index, variant) in built.variants.iter().enumerate() {
        if variant.base == index || times[index].is_empty() {
            continue;
        }
        let (base, own) = (&times[variant.base], &times[index]);
        let time_ratio = paired_ratio(&base[..own.len().min(base.len())], own)?;
        // Other compilers inline other functions: those of the plain program tell nothing there.
        let same = || {
            let has_hook = |name: &String| {
                (variant.functions != "hot" || built.hot.contains(name))
                    && !variant.left_alone.contains(name)
            };
            let calls = built.calls.iter().filter(|(name, _)| has_hook(name));
            calls.map(|(_, calls)| calls).sum::<u64>()
        };
        let in_source = matches!(variant.tool, "macros" | "-finstrument-functions");
        let events = variant.events.or_else(|| (variant.base == 0 && !in_source).then(same));
        let extra = (least(own) - least(base)) * 1e9;
        let ratio = |count: fn(&SimulatedCosts) -> u64| {
            let (base, own) = (counts[variant.base].as_ref()?, counts[index].as_ref()?);
            Some(count(own) as f64 / count(base).max(1) as f64)
        };
        let plain = built.variants[variant.base].size;
        let sizes = plain.zip(variant.size);
        let share = |of: fn(Size) -> u64| {
            sizes.map(|(plain, size)| of(size) as f64 / of(plain).max(1) as f64)
        };
        let added = |(plain, size): (Size, Size)| {
            let stubs = variant.stubs.filter(|&stubs| stubs > 0)?;
            let bytes = size.text as f64 - plain.text as f64 - built.runtime_text as f64;
            Some(bytes / stubs as f64)
        };
        tools.push(BenchTool {
            tool: variant.tool.to_owned(),
            hook: variant.hook.to_owned(),
            functions: variant.functions.to_owned(),
            runs: own.len() as u32,
            seconds: least(own),
            time_ratio,
            instruction_ratio: ratio(|counts| counts.instructions),
            events,
            ns_per_event: events.filter(|&events| events > 0).map(|events| extra / events as f64),
            branch_miss_ratio: ratio(|counts| counts.branch_misses),
            l1i_miss_ratio: ratio(|counts| counts.l1i_misses),
            l1d_miss_ratio: ratio(|counts| counts.l1d_misses),
            text_bytes: variant.size.map(|size| size.text),
            text_ratio: share(|size| size.text),
            loaded_bytes: variant.size.map(|size| size.loaded),
            loaded_ratio: share(|size| size.loaded),
            stubs: variant.stubs,
            bytes_per_stub: sizes.and_then(added),
        });
    }
    Ok(BenchProgram {
        name: program.name.to_owned(),
        package: package.to_owned(),
        functions: built.functions,
        hot: built.hot.len() as u64,
        seconds: least(&times[0]),
        text_bytes: built.variants[0].size.map_or(0, |size| size.text),
        loaded_bytes: built.variants[0].size.map_or(0, |size| size.loaded),
        tools,
    })
}

/// Rewrites the objects of all programs, from files to files, as often as it takes to have read many
/// bytes; none without objects.
fn rewrite(objects: &[PathBuf], least: u64, work: &Path) -> anyhow::Result<Option<BenchRewrite>> {
    let sizes = objects.iter().map(|path| {
        let found =
            fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(found.len())
    });
    let bytes: u64 = sizes.collect::<anyhow::Result<Vec<u64>>>()?.iter().sum();
    if bytes == 0 {
        return Ok(None);
    }
    let cannot = || format!("cannot write to {}", work.display());
    let folder =
        tempfile::Builder::new().prefix("rewritten-").tempdir_in(work).with_context(cannot)?;
    let options = Options::new(Hook::Time);
    let times = least.div_ceil(bytes);
    let (mut functions, mut written) = (0, 0);
    let begin = Instant::now();
    for time in 0..times {
        for (index, one) in instrument_files(objects, &options, |_| ())?.iter().enumerate() {
            functions += one.result.instrumented.len() as u64;
            written += one.result.bytes.len() as u64;
            // A file of its own for each: none takes over the pages of another.
            let to = folder.path().join(format!("{time}-{index}.o"));
            fs::write(to, &one.result.bytes).with_context(cannot)?;
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    Ok(Some(BenchRewrite {
        bytes: bytes * times,
        written,
        functions,
        seconds,
        cores: std::thread::available_parallelism().map_or(1, usize::from) as u32,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(tool: &'static str, hook: &'static str, functions: &'static str) -> Variant {
        Variant {
            tool,
            hook,
            functions,
            base: 0,
            command: Vec::new(),
            environment: Vec::new(),
            simulated: None,
            is_slow: false,
            reports: false,
            left_alone: Vec::new(),
            events: None,
            size: None,
            stubs: None,
        }
    }

    #[test]
    fn no_two_variants_have_the_same_name() {
        let plain = || variant("plain", "", "");
        let all = [plain(), variant("trimtab", "count", "hot"), plain(), plain()];
        assert_eq!(names(&all), ["plain", "trimtab, count, hot", "plain #2", "plain #3"]);
    }

    #[test]
    fn what_was_simulated_is_a_trial_and_what_was_not_is_none() {
        let all = [variant("plain", "", ""), variant("frida", "value", "hot")];
        let counts =
            SimulatedCosts { instructions: 7, l1i_misses: 1, l1d_misses: 2, branch_misses: 3 };
        let trials = simulated("lua", &all, &[Some(counts), None]);
        assert_eq!(trials.len(), 1);
        assert_eq!((&*trials[0].subject, &*trials[0].variant), ("lua, simulated", "plain"));
        let values = trials[0].outcome.clone().unwrap();
        assert_eq!(values[0], Value::count("instructions", 7));
    }
}
