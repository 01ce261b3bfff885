//! The whole job of tuning a kernel: the paper's own experiment.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;
use trimtab_lab::tools;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::Isa;
use trimtab_machine::calls::{self, CALLS};
use trimtab_machine::kernel::{BuildInputs, Toolchain};
use trimtab_machine::testbed::Testbed;
use trimtab_report::common::Repeat;

use super::arms::{kernel_arms, measured_arms};
use super::choices::{config_options, measured_choices};
use super::compiler::{Compiler, Family};
use super::configurations::Configurations;
use super::core_model::CoreModel;
use super::evaluator::Evaluation;
use super::job::{Job, searched};
use super::kernel::KernelSubject;
use super::kernel_boots::{boot_again, works_in_each_boot};
use super::request::{Plan, Setup};
use super::results::{best_is_best, core_costs};
use super::subject::Costs;
use super::tuning::{Tuning, opened, space};
use crate::fitness::Fitness;
use crate::report::{CallCost, KernelCalls, OtherSearch, Take, TuneProfile, TuneProgram};
use crate::search::Method;
use crate::space::{Point, Purpose};

/// Calls that have no part in any fitness: the paper judges by them.
pub const JUDGES: [&str; 3] = ["fork", "mmap", "socket"];
/// Calls that the paper finds flags by.
pub const PAPER: [&str; 5] = ["open", "close", "fstat", "read", "write"];

/// What to do.
#[derive(Debug, Clone)]
pub struct KernelRequest {
    /// What it is evaluated with; the compiler is `gcc` or `clang`.
    pub setup: Setup,
    /// How it is searched.
    pub plan: Plan,
    /// Other searches, which try as many sets of flags by the same plan.
    pub beside: Vec<Method>,
    /// The kernel's source; none for the newest that is installed.
    pub source: Option<PathBuf>,
    /// The kernel's configuration: a name or a file.
    pub config: String,
    /// A static busybox for the guest; none for the one that is installed.
    pub busybox: Option<PathBuf>,
    /// What calls count.
    pub calls: Calls,
    /// What becomes of choices of the kernel's configuration.
    pub choices: Choices,
    /// Boots of each kernel of the report in other states of the guest, by which intervals are; 0 for none.
    pub boots: u32,
}

/// What becomes of choices of a kernel's configuration: its timer's frequency, preemption and level of
/// optimisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choices {
    /// They stay as they are.
    Fixed,
    /// Kernels with others are measured, each by itself at the level.
    Measured,
    /// These, and the search chooses among them beside flags.
    Searched,
}

/// Which calls count, and how much.
#[derive(Debug, Clone)]
pub enum Calls {
    /// These, all the same.
    Equal(Vec<String>),
    /// Those of a profile, by their shares of all calls.
    Profile(TuneProfile),
}

/// Tunes a kernel.
///
/// # Errors
/// What is missing, a kernel that does not build or boot as it is, and an interrupt: the same command goes
/// on then.
pub fn tune_kernel(request: &KernelRequest, observe: &dyn Observe) -> Result<TuneProgram> {
    // Long: what is prepared, one after the other, is borrowed by what comes next.
    let start = Instant::now();
    let KernelRequest { setup, plan, .. } = request;
    fitness(&request.calls, &calls::names())?;
    let compiler = Compiler::find(&setup.compiler)?;
    let work = opened(&setup.work)?;
    let toolchain = toolchain(setup, &compiler)?;
    let config = (request.config.as_str(), Isa::X86_64);
    let inputs = BuildInputs::find(request.source.as_deref(), &[&CALLS], config, 1, toolchain)?
        .with_lines(calls::lean());
    let (tree, build) = inputs.prepare(&work, observe)?;
    let stage = observe.stage("prepare emulator and guest");
    let (testbed, varied) = testbeds(&work, request)?;
    stage.ended(testbed.cached() && varied.cached(), "");
    let stage = observe.stage("read what the compiler offers");
    let mut read = space(setup, &compiler, Purpose::Kernel)?;
    let options = match request.choices {
        Choices::Fixed => Vec::new(),
        Choices::Measured | Choices::Searched => config_options(&build)?,
    };
    if request.choices == Choices::Searched {
        read.space = read.space.with_configuration(&options);
    }
    stage.done(&read.to_string());

    let folder = tempfile::Builder::new().prefix(".tune-").tempdir_in(work.path());
    let folder = folder.context("cannot make a folder for boots in the work directory")?;
    let name = format!("Linux {} {}", tree.release.version, request.config);
    let boots = folder.path().to_owned();
    let configurations = Configurations::new(&work, &inputs, &build);
    let core = setup.core.as_deref().map(|id| CoreModel::prepare(&work, id)).transpose()?;
    let described = core.as_ref().map(|model| core_costs(model, None));
    let (version, how) = (compiler.version.clone(), (setup.limits, core));
    let guests = (&testbed, &varied);
    let subject = KernelSubject::new(name, version, &configurations, guests, how, boots);
    let stage = observe.stage("build the kernel as it is, and boot it");
    let tuning = Tuning::with(&subject, work.path(), compiler.family, read, |costs| {
        subject.expect(costs);
        fitness(&request.calls, &costs.keys().map(String::as_str).collect())
    })?;
    stage.done(&format!("{} calls", tuning.base.costs.len()));
    let mut arms = measured_arms(&tuning, &kernel_arms(), observe)?;
    arms.extend(measured_choices(&tuning, &options, observe)?);
    let mut job = Job::done(&tuning, plan, &arms, observe)?;
    job.report.origin = format!("{}, configuration {}", tree.origin, request.config);
    job.report.compiler.clone_from(&compiler.version);
    job.report.best.held_out_ratio = held_out(&tuning, &job.best)?;
    job.report.minimal.held_out_ratio = held_out(&tuning, &job.minimal.point)?;
    let mut kernel = calls(&tuning, request, &job.minimal.point)?;
    let mut others = Vec::new();
    for method in &request.beside {
        let plan = Plan { method: *method, ..*plan };
        let (found, best) = other_search(&tuning, &plan, &kernel, observe)?;
        kernel.beside.push(found);
        others.push(best);
    }
    if request.boots > 0 {
        boot_again(&tuning, (&job.minimal.point, &others), request.boots, &mut kernel, observe)?;
    }
    job.report.kernel = Some(kernel);
    job.report.core = described;
    job.report.take = Take::kernel(&job.report.minimal.flags);
    let mut report = job.counted(&tuning, start);
    report.checks = vec![best_is_best(&report)];
    report.checks.extend(works_in_each_boot(&report));
    let mut tool_versions = testbed.versions().clone();
    tool_versions.insert("compiler".to_owned(), compiler.version);
    tool_versions.extend(inputs.toolchain().versions());
    report.repeat = Repeat {
        command: setup.command.clone(),
        tool_versions,
        inputs: BTreeMap::from([
            ("kernel".to_owned(), build.key().hash()),
            ("image".to_owned(), tuning.base.image.clone()),
        ]),
        seed: plan.seed,
    };
    Ok(report)
}

/// What builds kernels by a compiler.
fn toolchain(setup: &Setup, compiler: &Compiler) -> Result<Toolchain> {
    let llvm = tools::llvm()?;
    match (setup.compiler.as_str(), compiler.family) {
        ("gcc", Family::Gcc) => Ok(Toolchain::Gcc { gcc: tools::find("gcc")?, llvm }),
        ("clang", Family::Clang) => Ok(Toolchain::Clang(llvm)),
        (other, _) => Err(Failure::usage(format!(
            "kernels are tuned for gcc or clang as they are installed, and not for {other}"
        ))
        .into()),
    }
}

/// The emulator, and a guest with the program that makes the calls; and one that may be in other states. They are two,
/// so that what is tried in the first does not depend on how the other is made.
fn testbeds<'w>(work: &'w WorkDir, request: &KernelRequest) -> Result<(Testbed<'w>, Testbed<'w>)> {
    let gcc = tools::find("gcc")?;
    let suite = calls::program(&gcc).get(work)?;
    let files = BTreeMap::from([(calls::PROGRAM.to_owned(), suite)]);
    let busybox = request.busybox.as_deref();
    let with =
        |workload| Testbed::prepare_files(work, Isa::X86_64, busybox, vec![workload], &files);
    Ok((with(calls::workload())?, with(calls::varied_workload())?))
}

/// What calls count, of those that there are.
fn fitness(calls: &Calls, known: &BTreeSet<&str>) -> Result<Fitness> {
    let all = || known.iter().copied().collect::<Vec<_>>().join(", ");
    let is_judge = |name: &String| JUDGES.contains(&name.as_str());
    let is_known = |name: &String| known.contains(name.as_str());
    let weights: Vec<(String, f64)> = match calls {
        Calls::Equal(names) => {
            if let Some(name) = names.iter().find(|name| is_judge(name)) {
                return Err(Failure::usage(format!(
                    "the call {name} is held out: flags are judged by it, and not found by it"
                ))
                .into());
            }
            if let Some(name) = names.iter().find(|name| !is_known(name)) {
                let why = format!("there is no call {name} here; expected some of {}", all());
                return Err(Failure::usage(why).into());
            }
            names.iter().map(|name| (name.clone(), 1.0)).collect()
        }
        Calls::Profile(profile) => {
            let rows = profile.calls.iter().map(|call| (call.name.clone(), call.weight));
            rows.filter(|(name, _)| is_known(name) && !is_judge(name)).collect()
        }
    };
    Fitness::new(weights).ok_or_else(|| {
        let why = "there is no call to find flags by; expected some of";
        Failure::usage(format!("{why} {}", all())).into()
    })
}

/// The geometric mean of the ratios of all calls that are held out; none where there is none.
pub(super) fn held_out_ratio(fitness: &Fitness, base: &Costs, costs: &Costs) -> Option<f64> {
    let held_out = base.keys().filter(|name| fitness.weight(name) == 0.0);
    Fitness::new(held_out.map(|name| (name.clone(), 1.0)))?.ratio(base, costs)
}

/// The costs of a point that was evaluated.
fn costs_of(tuning: &Tuning<'_>, point: &Point) -> Result<Option<Costs>> {
    let found = tuning.evaluator.peek(&tuning.space.flags(point))?;
    Ok(match found {
        Evaluation::WorkingImage(good) => Some(good.costs),
        Evaluation::Failed(_) => None,
    })
}

fn held_out(tuning: &Tuning<'_>, point: &Point) -> Result<Option<f64>> {
    let costs = costs_of(tuning, point)?;
    Ok(costs.and_then(|costs| held_out_ratio(&tuning.fitness, &tuning.base.costs, &costs)))
}

/// Each call before and after: first those that flags were found by, then the judges, then the others.
fn calls(tuning: &Tuning<'_>, request: &KernelRequest, point: &Point) -> Result<KernelCalls> {
    let tuned = costs_of(tuning, point)?.unwrap_or_default();
    let mut calls: Vec<CallCost> = tuning
        .base
        .costs
        .iter()
        .filter_map(|(name, base)| {
            let tuned = *tuned.get(name)?;
            let (name, weight) = (name.clone(), tuning.fitness.weight(name));
            let ratio = tuned / base;
            Some(CallCost { name, weight, base: *base, tuned, ratio, boots_ratio: None })
        })
        .collect();
    let place = |call: &CallCost| match (call.weight > 0.0, JUDGES.contains(&call.name.as_str())) {
        (true, _) => 0,
        (_, true) => 1,
        _ => 2,
    };
    calls.sort_by(|a, b| {
        place(a).cmp(&place(b)).then(b.weight.total_cmp(&a.weight)).then(a.name.cmp(&b.name))
    });
    let not_covered = match &request.calls {
        Calls::Equal(_) => Vec::new(),
        Calls::Profile(profile) => {
            let names = profile.calls.iter().map(|call| call.name.clone());
            names.filter(|name| !tuning.base.costs.contains_key(name)).collect()
        }
    };
    let missing = calls::names().into_iter().filter(|name| !tuning.base.costs.contains_key(*name));
    let missing = missing.map(str::to_owned).collect();
    let rounds = u64::from(calls::ROUNDS);
    Ok(KernelCalls { rounds, calls, missing, not_covered, ..KernelCalls::default() })
}

/// What another search finds, of the calls that a kernel has; and where that is.
fn other_search(
    tuning: &Tuning<'_>,
    plan: &Plan,
    kernel: &KernelCalls,
    observe: &dyn Observe,
) -> Result<(OtherSearch, Option<Point>)> {
    let (log, _, _) = searched(tuning, plan, observe)?;
    let search = plan.method.name().to_owned();
    let nothing = OtherSearch { search: search.clone(), ..OtherSearch::default() };
    let Some(best) = log.best() else { return Ok((nothing, None)) };
    let flags = tuning.space.flags(&best.point);
    let Evaluation::WorkingImage(good) = tuning.evaluator.peek(&flags)? else {
        return Ok((nothing, None));
    };
    let ratio = |call: &CallCost| Some(good.costs.get(&call.name)? / call.base);
    let found = OtherSearch {
        search,
        flags: flags.join(" "),
        fitness_ratio: Some(tuning.ratio(&good)),
        held_out_ratio: held_out_ratio(&tuning.fitness, &tuning.base.costs, &good.costs),
        bytes_ratio: Some(good.bytes / tuning.base.bytes),
        calls: kernel.calls.iter().map(ratio).collect(),
        ..OtherSearch::default()
    };
    Ok((found, Some(best.point.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::CallRow;

    fn costs(of: &[(&str, f64)]) -> Costs {
        of.iter().map(|(name, cost)| ((*name).to_owned(), *cost)).collect()
    }

    fn all() -> Costs {
        costs(&[("open", 900.0), ("read", 400.0), ("fork", 9000.0), ("mmap", 700.0)])
    }

    fn fitness(calls: &Calls) -> Result<Fitness> {
        super::fitness(calls, &BTreeSet::from(["open", "read", "fork", "mmap"]))
    }

    #[test]
    fn calls_count_the_same_or_by_a_profile_and_judges_never() {
        let equal = fitness(&Calls::Equal(vec!["open".into(), "read".into()])).unwrap();
        assert_eq!((equal.weight("open"), equal.weight("fork")), (0.5, 0.0));
        let row = |name: &str, weight| CallRow { name: name.into(), weight, ..CallRow::default() };
        let calls = vec![row("open", 0.2), row("mmap", 0.5), row("read", 0.1), row("bpf", 0.2)];
        let profile = TuneProfile { calls, ..TuneProfile::default() };
        let by_profile = fitness(&Calls::Profile(profile)).unwrap();
        assert_eq!(by_profile.names().collect::<Vec<_>>(), ["open", "read"]);
        assert!((by_profile.weight("open") - 2.0 / 3.0).abs() < 1e-12);
        let why = |calls| fitness(&calls).unwrap_err().to_string();
        assert!(why(Calls::Equal(vec!["fork".into()])).contains("fork is held out"));
        assert!(
            why(Calls::Equal(vec!["opne".into()])).contains("no call opne here; expected some")
        );
        assert!(why(Calls::Profile(TuneProfile::default())).contains("there is no call to find"));
    }

    #[test]
    fn what_has_no_weight_judges() {
        let equal = fitness(&Calls::Equal(vec!["open".into(), "read".into()])).unwrap();
        let tuned = costs(&[("open", 1.0), ("read", 1.0), ("fork", 4500.0), ("mmap", 1400.0)]);
        assert!((held_out_ratio(&equal, &all(), &tuned).unwrap() - 1.0).abs() < 1e-12);
        let two = costs(&[("open", 900.0), ("read", 400.0)]);
        assert_eq!(held_out_ratio(&equal, &two, &two), None);
    }
}
