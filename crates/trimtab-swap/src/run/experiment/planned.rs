//! The plan of a run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Code, CompilerLists, LinkerScript, PatchKind, Plan, ResidentBudget};
use anyhow::{Context, Result};
use trimtab_lab::cache::Key;
use trimtab_lab::workdir::{Step, WorkDir, write_whole};
use trimtab_machine::kernel::KernelImage;
use trimtab_program::Program;
use trimtab_report::Report;
use trimtab_report::model::SwapSweep;

use super::boots::Done;
use crate::run::sweep::{self, FRAMES, Range};
use crate::run::{self, Files, Inputs, Request};
use trimtab_lab::observe::Observe;

/// The placement that is best in `trimtab swap sweep`.
const PLACEMENT: &str = "recency";
/// Thresholds of the report's figures, less than `trimtab swap sweep` has: each takes half a minute.
const THRESHOLDS: [f64; 6] = [0.5, 0.9, 0.98, 0.99, 0.999, 1.0];
/// Kept where page faults were counted.
const SWEEP: &str = "sweep.json";

/// A plan, and what a kernel's build takes of it.
pub(super) struct Made {
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
fn inputs(request: &Request, kernel: &KernelImage, traced: &[&Done]) -> Result<Inputs> {
    Ok(Inputs {
        kernel: kernel.vmlinux.clone(),
        trace: traced.iter().map(|done| done.stream.clone()).collect(),
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
    traced: &[&Done],
    progress: &dyn Observe,
) -> Result<Made> {
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
    Ok(Made { id: script.id(), plan, script, order, lists: partition.lists()?, path })
}

/// Counts page faults for other thresholds, placements, cache sizes and policies, or reads what was
/// counted before.
pub(super) fn sweep(
    work: &WorkDir,
    request: &Request,
    kernel: &KernelImage,
    traced: &[&Done],
    held_out: &[&Done],
    progress: &dyn Observe,
) -> Result<SwapSweep> {
    let inputs = inputs(request, kernel, traced)?;
    let held_out: Vec<PathBuf> = held_out.iter().map(|done| done.stream.clone()).collect();
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
    // The folder of a stream has the hash of all that it depends on.
    let key = Key::new("swap-sweep/2")
        .after(&kernel.key)
        .field("traces", format_args!("{:?} {held_out:?}", inputs.trace))
        .field("granularity", inputs.granularity.name())
        .field("range", format_args!("{range:?}"));
    let building = match work.resumable("swap-sweep", &key)? {
        Step::Done(folder) => return swept(&folder),
        Step::Todo(building) => building,
    };
    let found = sweep::sweep(&inputs, &held_out, range, progress)?;
    let path = building.path().join(SWEEP);
    fs::write(&path, found.to_json())
        .with_context(|| format!("cannot write {}", path.display()))?;
    swept(&building.finish()?)
}

fn swept(folder: &Path) -> Result<SwapSweep> {
    let path = folder.join(SWEEP);
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    SwapSweep::from_json(&text)
        .with_context(|| format!("{} is damaged; remove the folder it is in", path.display()))
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
