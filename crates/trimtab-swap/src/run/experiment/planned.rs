//! The plan of a run.

use std::path::{Path, PathBuf};

use crate::report::SwapSweep;
use crate::{Code, CompilerLists, Granularity, LinkerScript, PatchKind, Plan, ResidentBudget};
use anyhow::{Context, Result};
use trimtab_lab::cache::Key;
use trimtab_lab::workdir::{KeptStep, WorkDir, WorkError, write_whole};
use trimtab_machine::kernel::KernelImage;
use trimtab_program::Program;

use super::boots::SwapBoot;
use crate::run::sweep::{self, FRAMES, Range};
use crate::run::{self, Files, Inputs, Request};
use trimtab_lab::observe::Observe;

/// The placement that is best in `trimtab swap sweep`.
const PLACEMENT: &str = "recency";
/// Thresholds of the report's figures, less than `trimtab swap sweep` has: each takes half a minute.
const THRESHOLDS: [f64; 6] = [0.5, 0.9, 0.98, 0.99, 0.999, 1.0];

/// A plan, and what a kernel's build takes of it.
pub(super) struct KernelPlan {
    pub plan: Plan,
    /// For the linker script: what is swapped.
    pub script: LinkerScript,
    /// For the linker script: what stays.
    pub order: String,
    /// For the compiler.
    pub lists: CompilerLists,
    /// What a kernel with it calls it.
    pub id: String,
    /// Where the plan is.
    pub path: PathBuf,
}

/// What a plan is made from.
fn inputs(request: &Request, kernel: &KernelImage, traced: &[&SwapBoot]) -> Result<Inputs> {
    Ok(Inputs {
        kernel: kernel.vmlinux.clone(),
        trace: traced.iter().map(|done| done.stream()).collect(),
        map: Some(kernel.map()?),
        granularity: request.granularity,
        // The boots have noreplace-smp, and the driver keeps what is patched in swapped code.
        never_patched: vec![PatchKind::SmpLocks, PatchKind::JumpLabels, PatchKind::StaticCalls],
        from: None,
        min_coverage: request.min_coverage,
        formats: &[],
    })
}

/// Plans by what the workloads ran.
pub(super) fn plan(
    request: &Request,
    kernel: &KernelImage,
    traced: &[&SwapBoot],
    progress: &dyn Observe,
) -> Result<KernelPlan> {
    let inputs = inputs(request, kernel, traced)?;
    let frames = request.frames as usize;
    let packing = run::packing(PLACEMENT, frames)?;
    let files = Files::open(&inputs)?;
    let program = files.program()?;
    let stage = progress.stage("read what ran");
    let map = run::block_map(&files, inputs.granularity)?;
    let code = Code::read(&program, map.as_ref())?;
    let training = run::runs(&inputs.trace, &program, inputs.min_coverage, inputs.formats)?;
    stage.done("");
    let kernel = run::read_kernel(&files, &inputs, &code, &training, progress)?;
    let stage = progress.stage("place what can be swapped");
    let room = (request.room > 0.0).then_some(ResidentBudget { share: request.room, frames });
    let partition = kernel.at(request.threshold, room)?;
    let (plan, _) = partition.plan(files.bytes(), &inputs.never(), packing.as_ref(), frames)?;
    stage.done(&format!("{} pages", plan.pages));
    let script = plan.linker_script()?;
    let path = request.work.join("plan.json");
    let mut text = serde_json::to_string_pretty(&plan).context("cannot write JSON")?;
    text.push('\n');
    write_whole(&path, text.as_bytes())?;
    let order = plan.resident_order()?;
    Ok(KernelPlan { id: script.id(), plan, script, order, lists: partition.lists()?, path })
}

/// Counts page faults for other thresholds, placements, cache sizes and policies, or reads what was
/// counted before.
pub(super) fn sweep(
    work: &WorkDir,
    request: &Request,
    kernel: &KernelImage,
    traced: &[&SwapBoot],
    held_out: &[&SwapBoot],
    progress: &dyn Observe,
) -> Result<SwapSweep> {
    let inputs = inputs(request, kernel, traced)?;
    let streams: Vec<PathBuf> = held_out.iter().map(|done| done.stream()).collect();
    let mut frames = FRAMES.to_vec();
    frames.push(request.frames);
    frames.sort_unstable();
    frames.dedup();
    let range = Range {
        thresholds: &THRESHOLDS,
        frames: &frames,
        policy_threshold: request.threshold,
        seed: 0,
    };
    let counting = Counting {
        kernel,
        traced: traced.iter().map(|done| &done.key).collect(),
        held_out: held_out.iter().map(|done| &done.key).collect(),
        granularity: inputs.granularity,
        range,
        make: &|| sweep::sweep(&inputs, &streams, range, progress),
    };
    Ok(work.get(&counting)?.record)
}

/// Counts of page faults, which are kept.
struct Counting<'a> {
    kernel: &'a KernelImage,
    /// Keys of the boots that plans are made of.
    traced: Vec<&'a Key>,
    /// Keys of those that judge them.
    held_out: Vec<&'a Key>,
    granularity: Granularity,
    range: Range<'a>,
    make: &'a dyn Fn() -> Result<SwapSweep>,
}

impl KeptStep for Counting<'_> {
    const KIND: &'static str = "swap-sweep";
    const VERSION: u32 = 4;
    type Record = SwapSweep;
    type Error = anyhow::Error;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        let Range { thresholds, frames, policy_threshold, seed } = self.range;
        let listed = |numbers: Vec<String>| numbers.join(" ");
        let key = key
            .after(&self.kernel.key)
            .field("granularity", self.granularity.name())
            .field("thresholds", listed(thresholds.iter().map(f64::to_string).collect()))
            .field("frames", listed(frames.iter().map(u32::to_string).collect()))
            .field("threshold of policies", policy_threshold)
            .field("seed", seed);
        let key = self.traced.iter().fold(key, |key, boot| key.after(boot));
        Ok(self.held_out.iter().fold(key, |key, boot| key.after_as("held out", boot)))
    }

    fn make(&self, _at: &Path) -> Result<SwapSweep> {
        (self.make)()
    }
}

/// Bytes of the kernel's data that are not released when it is up.
pub(super) fn data(program: &Program<'_>) -> u64 {
    [("_sdata", "_edata"), ("__bss_start", "__bss_stop"), ("__start_rodata", "__end_rodata")]
        .into_iter()
        .filter_map(|(start, end)| {
            Some(program.address_of(end)?.saturating_sub(program.address_of(start)?))
        })
        .sum()
}
