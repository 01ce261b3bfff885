//! A run with code swapped out: a kernel that swaps its cold code is built, planned by what its
//! workloads run, linked again, and run beside the same kernel with all code in memory.

mod boots;
mod guest;
mod planned;
mod result;

use crate::check::{LinkSummary, check};
use anyhow::{Context, Result};
use trimtab_lab::tools;
use trimtab_lab::workdir::WorkDir;
use trimtab_link::{CAN_SPLIT, KERNEL_ORDER};
use trimtab_machine::Isa;
use trimtab_machine::kernel::{Build, Configuration, Generated, KernelImage, Source, Toolchain};
use trimtab_machine::testbed::{self, Testbed};
use trimtab_report::model::{SwapRun, SwapSweep};

use super::Request;
use crate::{COLDSWAP, Granularity};
use boots::{Boots, Done, Keep, Side};
use planned::Made;
use result::NANOSECONDS;
use trimtab_inputs::Elf;
use trimtab_lab::executor::{self, Local};
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::{Observe, Stage};

/// The function with which init begins: what runs from there on is the workload's.
const INIT: &str = "kernel_execve";

/// How often a workload runs while it is traced: what comes back comes back at least once.
const TRACED_ROUNDS: u32 = 3;
/// Most often that a workload runs.
const MOST_ROUNDS: u32 = 10_000;

/// What was measured; [`result::model`] makes the report of it.
struct Measurements<'a> {
    request: &'a Request,
    version: String,
    toolchain: Toolchain,
    before: &'a KernelImage,
    after: &'a KernelImage,
    made: &'a Made,
    checked: LinkSummary,
    data: u64,
    workloads: Vec<WorkloadRun>,
    /// Both kernels with all workloads, beside a thread that wants to be woken in time.
    late: Vec<Done>,
    selftest: Option<Done>,
    sweep: Option<SwapSweep>,
    bench: &'a Testbed<'a>,
}

/// A workload that was run.
struct WorkloadRun {
    name: String,
    /// Whether the plan knows nothing of it.
    held_out: bool,
    rounds: u32,
    /// The kernel with all code in memory.
    before: Done,
    after: Done,
}

/// Runs a kernel with its cold code swapped out.
///
/// # Errors
/// Missing tools or sources, no space, a build that fails, a plan that cannot be, a guest that does
/// not come up.
pub fn run(request: &Request, progress: &dyn Observe) -> Result<SwapRun> {
    let workloads = guest::chosen(&request.workload)?;
    let held_out = guest::held_out(&workloads, &request.held_out)?;
    if request.threshold <= 0.0 {
        return Err(Failure::usage(
            "a threshold of 0 keeps nothing in memory for speed, expected more, and at most 1; see \
             --help",
        )
        .into());
    }
    let least = 4 * request.cpus;
    if request.frames < least {
        return Err(Failure::usage(format!(
            "{} frames are too few for {} CPUs, expected at least {least}: each may need four pages \
             at once for a single instruction; see --help",
            request.frames, request.cpus
        ))
        .into());
    }
    let isa = Isa::X86_64;
    let configuration = Configuration::named(&request.config, isa)?.with(&COLDSWAP, request.cpus);
    let source = Source::find(request.source.as_deref(), &[&COLDSWAP])?;
    let toolchain = Toolchain::Clang(tools::llvm()?);
    testbed::require_tools(isa, request.busybox.as_deref())?;
    let work = WorkDir::open(&request.work)?;
    trimtab_lab::interrupt::now_resumable();

    let stage = progress.stage("unpack and patch the kernel source");
    let unpacked = source.unpack(&work, &[&COLDSWAP])?;
    stage.ended(unpacked.cached, &format!("Linux {}", unpacked.release.version));
    let stage = progress.stage("configure the kernel");
    let build = Build::configure(&work, &unpacked, &configuration, &toolchain)?;
    stage.ended(build.cached(), "");
    if request.granularity == Granularity::Block && !build.has(CAN_SPLIT)? {
        return Err(Failure::new(
            "this kernel's configuration did not accept CONFIG_BLOCK_ORDER, without which functions \
             are not taken apart",
        )
        .hint("use --granularity function")
        .into());
    }
    let stage = progress.stage("prepare the guest");
    let programs = guest::programs()?;
    let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
    let bench = Testbed::prepare_with(
        &work,
        isa,
        request.busybox.as_deref(),
        guest::workloads()?,
        &programs,
    )?;
    stage.ended(bench.cached(), "");
    let stage = progress.stage("build the kernel");
    let before = link(&build, &Generated::new(), &stage)?;
    stage.ended(before.cached, "");

    let boots = Boots { bench: &bench, request };
    let stage = progress.stage("trace the workloads");
    stage.parts(workloads.len() as u64);
    let traced = all(&workloads, &stage, |_, name| {
        boots.counted(&before, name, TRACED_ROUNDS, Side::Before, Keep::Stream)
    })?;
    stage.ended(traced.iter().all(|done| done.cached), &format!("{} boots", traced.len()));
    let rounds = traced.iter().map(|done| rounds(request, done)).collect::<Result<Vec<u32>>>()?;

    let traced_where = |held: bool| -> Vec<&Done> {
        let chosen = traced.iter().zip(&held_out).filter(|(_, out)| **out == held);
        chosen.map(|(done, _)| done).collect()
    };
    let known = traced_where(false);
    let made = planned::plan(request, &before, &known, progress)?;
    let sweep = match request.sweep {
        true => {
            Some(planned::sweep(&work, request, &before, &known, &traced_where(true), progress)?)
        }
        false => None,
    };
    let stage = progress.stage("make the kernel with its code swapped out");
    let build = match made.lists.splits() {
        Some(splits) => build.apart(&splits.generated())?,
        None => build,
    };
    let planned = made.script.generated().with(KERNEL_ORDER, made.order.as_str());
    let after = link(&build, &planned, &stage)?;
    stage.ended(after.cached, "");
    let elf = Elf::open(&after.vmlinux)?;
    let program = elf.program()?;
    let checked = check(&program, &made.plan).with_context(|| elf.path().display().to_string())?;
    let data = planned::data(&program);

    let count = |kernel, side, title| {
        let stage = progress.stage(title);
        stage.parts(workloads.len() as u64);
        let done = all(&workloads, &stage, |place, name| {
            boots.counted(kernel, name, rounds[place], side, Keep::Counts)
        })?;
        stage.ended(done.iter().all(|done| done.cached), &format!("{} boots", done.len()));
        anyhow::Ok(done)
    };
    let whole = count(&before, Side::Before, "run the workloads with all code in memory")?;
    let swapped = count(&after, Side::After(&made.id), "run the workloads with code swapped out")?;
    let late = [(&before, Side::Before), (&after, Side::After(&made.id))];
    let stage = progress.stage("wake a thread in time");
    let late =
        executor::each(&Local, &late, |_, (kernel, side)| boots.latency(kernel, *side), |_| {})?;
    stage.ended(late.iter().all(|done| done.cached), "");
    let selftest = match request.selftest {
        0 => None,
        _ => {
            let stage = progress.stage("test it with all workloads");
            let done = boots.selftest(&after, &made.id)?;
            stage.ended(done.cached, "");
            Some(done)
        }
    };
    let chosen = workloads.iter().cloned().zip(held_out);
    let rows = chosen.zip(rounds).zip(whole.into_iter().zip(swapped));
    result::model(&Measurements {
        request,
        version: unpacked.release.version.clone(),
        toolchain,
        before: &before,
        after: &after,
        made: &made,
        checked,
        data,
        workloads: rows
            .map(|(((name, held_out), rounds), (before, after))| WorkloadRun {
                name,
                held_out,
                rounds,
                before,
                after,
            })
            .collect(),
        late,
        selftest,
        sweep,
        bench: &bench,
    })
}

/// How often a workload runs to take the system time that was asked for.
fn rounds(request: &Request, traced: &Done) -> Result<u32> {
    let counted = traced.record.digest.as_ref().context("a boot was not counted")?;
    let round = counted.instructions as f64 * NANOSECONDS / f64::from(TRACED_ROUNDS);
    let rounds = (request.seconds * 1e9 / round.max(1.0)).ceil();
    Ok((rounds as u32).clamp(1, MOST_ROUNDS))
}

/// Does the same with each workload; its time is the guest's own, whatever else this machine does.
fn all(
    workloads: &[String],
    stage: &Stage,
    boot: impl Fn(usize, &str) -> Result<Done> + Sync,
) -> Result<Vec<Done>> {
    let work = |place: usize, name: &String| {
        stage.note(name);
        boot(place, name)
    };
    executor::each(&Local, workloads, work, |done| stage.at(done as u64))
}

fn link(build: &Build<'_>, generated: &Generated, stage: &Stage) -> Result<KernelImage> {
    Ok(build.link(generated, |line| stage.note_make(line))?)
}
