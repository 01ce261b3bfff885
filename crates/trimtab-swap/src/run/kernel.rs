//! Reading a kernel and what ran in it.

use trimtab_inputs::Runs;
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;
use trimtab_link::kernel::Mobility;

use super::inputs::{Files, Inputs, swapping_runs};
use crate::{Code, Heat, KernelProfile, PatchSites, Residence, cold_data};

/// Finds out what must stay in memory and how often everything ran.
///
/// # Errors
/// Damaged files, and programs that are no x86-64 kernel.
pub fn read_kernel<'a>(
    files: &'a Files,
    inputs: &Inputs,
    code: &'a Code<'a>,
    training: &'a Runs,
    progress: &dyn Observe,
) -> anyhow::Result<KernelProfile<'a>> {
    let program = code.program();
    if !Mobility::of(program).is_kernel() {
        return Err(Failure::usage(format!(
            "{} is no Linux kernel: it has no symbols _stext, _etext and __sched_text_start",
            files.path().display()
        ))
        .into());
    }
    let section = trimtab_inputs::section(program, files.path(), None)?;
    let map = files.map.as_ref().map(|text| text.link_map()).transpose()?;
    let with_map = map.as_ref().zip(inputs.map.as_deref());
    let fragments = trimtab_inputs::fragments(program, with_map, section)?;
    let stage = progress.stage("count what ran");
    let (runs, from) = swapping_runs(training, code, inputs.from.as_deref())?;
    let heat = Heat::of(code, &runs);
    stage.done("");
    let stage = progress.stage("find what must stay in memory");
    let sites = PatchSites::of(program)?;
    let residence = Residence::of(code, &fragments, &sites, &inputs.never(), &runs)?;
    let data = map.as_ref().map(|map| cold_data(map, code, &residence)).unwrap_or_default();
    stage.done("");
    Ok(KernelProfile {
        code,
        fragments,
        residence,
        heat,
        data,
        runs,
        from,
        granularity: inputs.granularity,
    })
}
