//! The plan of a run.

use std::path::PathBuf;

use anyhow::{Context, Result};
use trimtab_lab::kernel::Linked;
use trimtab_lab::workdir::write_whole;
use trimtab_program::Program;
use trimtab_swap::{Code, LinkerScript, Plan};

use super::boots::Done;
use crate::progress::Progress;
use crate::swap::{self, Files, Inputs, Kernel, Lists, Patcher, Room};
use crate::verbs::swap::run::Options;

/// The placement that is best in `trimtab swap sweep`.
const PLACEMENT: &str = "recency";

/// A plan, and what a kernel's build takes of it.
pub(super) struct Made {
    pub plan: Plan,
    /// For the linker script: what is swapped.
    pub script: LinkerScript,
    /// For the linker script: what stays.
    pub order: String,
    /// For the compiler.
    pub lists: Lists,
    /// What a kernel with it calls it.
    pub id: String,
    /// Where the plan is.
    pub path: PathBuf,
}

/// Plans by what the workloads ran.
pub(super) fn plan(
    options: &Options,
    kernel: &Linked,
    traced: &[&Done],
    progress: &Progress,
) -> Result<Made> {
    let inputs = Inputs {
        kernel: kernel.vmlinux.clone(),
        trace: traced.iter().map(|done| done.stream.clone()).collect(),
        map: Some(kernel.map.clone()),
        granularity: options.granularity,
        // The boots have noreplace-smp, and the driver keeps what is patched in swapped code.
        never_patched: vec![Patcher::SmpLocks, Patcher::JumpLabels, Patcher::StaticCalls],
        from: None,
        min_coverage: options.min_coverage,
    };
    let frames = options.frames as usize;
    let packing = swap::packing(PLACEMENT, frames)?;
    let files = Files::open(&inputs)?;
    let program = files.program()?;
    let stage = progress.stage("read what ran");
    let map = swap::block_map(&files, inputs.granularity)?;
    let code = Code::read(&program, map.as_ref())?;
    let training = swap::runs(&inputs.trace, &program, inputs.min_coverage)?;
    stage.done("");
    let kernel = Kernel::read(&files, &inputs, &code, &training, progress)?;
    let stage = progress.stage("place what can be swapped");
    let room = (options.room > 0.0).then_some(Room { share: options.room, frames });
    let divided = kernel.at(options.threshold, room)?;
    let (plan, _) = divided.plan(&files, &inputs, packing.as_ref(), frames)?;
    stage.done(&format!("{} pages", plan.pages));
    let script = plan.linker_script()?;
    let path = options.work.join("plan.json");
    let mut text = serde_json::to_string_pretty(&plan).context("cannot write JSON")?;
    text.push('\n');
    write_whole(&path, text.as_bytes())?;
    let order = plan.resident_order()?;
    Ok(Made { id: script.id(), plan, script, order, lists: divided.lists()?, path })
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
