//! What was measured, as the report's model.

use std::collections::BTreeMap;

use crate::report::{
    SwapArtifacts, SwapCode, SwapCore, SwapHandler, SwapRun, SwapSelftest, SwapWorkload,
};
use crate::{KernelTime, Waits};
use anyhow::{Context, Result};
use trimtab_layout::cost::{CORES, Core};
use trimtab_machine::boot::{Clock, Outcome};
use trimtab_program::PAGE_SIZE;
use trimtab_report::Schema;
use trimtab_report::common::{BeforeAfter, Check, Repeat};

use super::boots::{SwapBoot, counter, said};
use super::measurements::{Measurements, WorkloadRun};
use super::soak::complaints;

/// Nanoseconds that an instruction takes on the clock that the boots have.
pub(super) const NANOSECONDS: f64 = match Clock::INSTRUCTIONS {
    Clock::Instructions { shift } => (1_u64 << shift) as f64,
    Clock::Real | Clock::Parallel { .. } => panic!("instructions are the clock of counted boots"),
};

/// Makes the report's model.
///
/// # Errors
/// That a guest did not say what its kernel counted.
pub(super) fn model(m: &Measurements<'_>) -> Result<SwapRun> {
    // Long: a line for each field of the model.
    let request = m.workshop.request;
    let bytes = m.plan.plan.code_bytes;
    let kib = |bytes: u64| bytes as f64 / 1024.0;
    let one = m.workloads.first().map(|ran| &ran.after);
    let counter = |name| one.map_or(Ok(0), |done| counter(done, name));
    let store = counter("store_bytes")?;
    let tables = bytes.tables + counter("table_bytes")?;
    let net = bytes.core + bytes.base + request.frames as u64 * PAGE_SIZE + tables;
    let in_memory = if request.store.is_memory() { store } else { 0 };
    let before = bytes.original + m.swapped.data;
    let data = m.swapped.data.saturating_sub(bytes.data);
    let reduction = |after: u64| 1.0 - (after + data) as f64 / before.max(1) as f64;
    let workloads =
        m.workloads.iter().map(|ran| workload(m, ran)).collect::<Result<Vec<SwapWorkload>>>()?;
    let selftest = m.selftest.as_ref().map(|done| tested(m, done)).transpose()?;
    Ok(SwapRun {
        schema: Schema::default(),
        kernel: m.workshop.version.clone(),
        config: request.config.clone(),
        granularity: request.granularity.name().to_owned(),
        threshold: request.threshold,
        room: request.room,
        frames: request.frames.into(),
        policy: request.policy.name().to_owned(),
        store: request.store.name().to_owned(),
        latency_us: request.latency().into(),
        cpus: request.cpus.into(),
        plan: m.plan.id.clone(),
        pages: m.plan.plan.pages,
        code_kib: SwapCode {
            original: kib(bytes.original),
            core: kib(bytes.core),
            base: kib(bytes.base),
            cache: kib(u64::from(request.frames) * PAGE_SIZE),
            swappable: kib(bytes.swappable),
            tables: kib(tables),
            net_resident: kib(net),
        },
        data_kib: kib(m.swapped.data),
        data_swappable_kib: kib(bytes.data),
        store_kib: kib(store),
        footprint_reduction: reduction(net),
        footprint_reduction_with_store: reduction(net + in_memory),
        released_kib: released(m)?,
        checks: checks(m, &workloads, selftest.as_ref())?,
        handler: handler(m)?,
        cache_penalty: largest(&workloads, |core| core.cache_share),
        tlb_penalty: largest(&workloads, |core| core.tlb_share),
        workloads,
        selftest,
        sweep: m.sweep.clone(),
        artifacts: SwapArtifacts {
            vmlinux_before: m.before.vmlinux.display().to_string(),
            vmlinux_after: m.swapped.image.vmlinux.display().to_string(),
            image: m.swapped.image.image.display().to_string(),
            plan: m.plan.path.display().to_string(),
            guest: m.workshop.testbed.guest().display().to_string(),
            boot: one.map_or_else(String::new, |done| done.record.command_line.clone()),
        },
        repeat: repeat(m),
    })
}

fn overflow(m: &Measurements<'_>, done: &SwapBoot) -> Result<u64> {
    Ok(counter(done, "resident_peak")?.saturating_sub(m.workshop.request.frames.into()))
}

fn workload(m: &Measurements<'_>, ran: &WorkloadRun) -> Result<SwapWorkload> {
    let WorkloadRun { name, held_out, before, after, .. } = ran;
    let faults = counter(after, "faults")?;
    let delay = faults as f64 * f64::from(m.workshop.request.latency()) * 1000.0 / NANOSECONDS;
    let without = before.record.digest.as_ref().context("a boot was not counted")?;
    let with = after.record.digest.as_ref().context("a boot was not counted")?;
    let cores: Vec<SwapCore> = CORES
        .iter()
        .zip(without.waits.iter().zip(&with.waits))
        .map(|(core, waits)| on_core(core, (without, with), waits, delay))
        .collect();
    let slowest = cores.iter().max_by(|a, b| a.system_time_ratio.total_cmp(&b.system_time_ratio));
    let worst = counter(after, "worst_ns")?;
    Ok(SwapWorkload {
        name: name.clone(),
        held_out: *held_out,
        rounds: ran.rounds.into(),
        system_seconds: without.instructions as f64 * NANOSECONDS / 1e9,
        faults,
        data_faults: counter(after, "data_faults")?,
        evictions: counter(after, "evictions")?,
        overflow: overflow(m, after)?,
        system_instructions: BeforeAfter::new(without.instructions, with.instructions),
        system_time_ratio: slowest.map(|core| core.system_time_ratio),
        delay_share: slowest.map(|core| core.delay_share),
        handling_share: slowest.map(|core| core.handling_share),
        cores,
        // Zero where the guest has no clock.
        worst_us: (worst > 0).then(|| worst as f64 / 1000.0),
        worst_context: (worst > 0)
            .then(|| said(after, "worst_context").map(str::to_owned))
            .flatten(),
        late_us: late(m, name),
    })
}

/// How much too late a thread was woken at worst; nothing where this kernel cannot wake it in time.
fn late(m: &Measurements<'_>, workload: &str) -> Option<BeforeAfter<u64>> {
    let name = format!("late_{workload}");
    let mut found = m.late.iter().map(|done| counter(done, &name).ok());
    Some(BeforeAfter::new(found.next()??, found.next()??))
}

/// System time on a core, in shares of what it is without swapping. `delay` is in instructions.
fn on_core(
    core: &Core,
    (without, with): (&KernelTime, &KernelTime),
    (before, after): (&Waits, &Waits),
    delay: f64,
) -> SwapCore {
    let cycles = |counted: &KernelTime, waits: &Waits| {
        (counted.instructions + waits.cache + waits.translation) as f64
    };
    let all = cycles(without, before);
    let share = |before: u64, after: u64| (after as f64 - before as f64) / all;
    let delay_share = delay / all;
    SwapCore {
        name: core.name.to_owned(),
        system_time_ratio: cycles(with, after) / all,
        delay_share,
        handling_share: share(without.instructions, with.instructions) - delay_share,
        cache_share: share(before.cache, after.cache),
        tlb_share: share(before.translation, after.translation),
    }
}

/// What a fault takes: by the clock of instructions in the workloads, which wait for the store, and by
/// this machine's in the self-test, which does not.
fn handler(m: &Measurements<'_>) -> Result<SwapHandler> {
    let mut faults = 0;
    let mut time = 0;
    for WorkloadRun { after, .. } in &m.workloads {
        faults += counter(after, "faults")?;
        time += counter(after, "total_ns")?;
    }
    let waiting = faults * u64::from(m.workshop.request.latency()) * 1000;
    let each = |time: f64, faults: u64| (faults > 0 && time > 0.0).then(|| time / faults as f64);
    let tested = |done: &SwapBoot| {
        anyhow::Ok(each(counter(done, "total_ns")? as f64 / 1000.0, counter(done, "faults")?))
    };
    Ok(SwapHandler {
        instructions: each(time.saturating_sub(waiting) as f64 / NANOSECONDS, faults),
        microseconds: m.selftest.as_ref().map(tested).transpose()?.flatten(),
    })
}

/// The largest of a share, over all workloads and cores.
fn largest(workloads: &[SwapWorkload], share: impl Fn(&SwapCore) -> f64) -> Option<f64> {
    let all = workloads.iter().flat_map(|workload| &workload.cores);
    all.map(share).max_by(f64::total_cmp)
}

fn tested(m: &Measurements<'_>, done: &SwapBoot) -> Result<SwapSelftest> {
    Ok(SwapSelftest {
        interval_ms: m.workshop.request.selftest.into(),
        faults: counter(done, "faults")?,
        data_faults: counter(done, "data_faults")?,
        evictions: counter(done, "evictions")?,
        shootdowns: counter(done, "shootdowns")?,
        touches: counter(done, "touches")?,
        audits: counter(done, "audits")?,
        overflow: overflow(m, done)?,
        errors: counter(done, "errors")?,
    })
}

/// By how much more memory the guest says that it has, in KiB. The flash, which is memory of the
/// guest, is taken from both; what only aligns swapped text is taken from the kernel that swaps none
/// as well, and no other kernel has it.
fn released(m: &Measurements<'_>) -> Result<Option<f64>> {
    let Some(WorkloadRun { before, after, .. }) = m.workloads.first() else { return Ok(None) };
    let total = |done: &SwapBoot| counter(done, "mem_total_kib");
    let gap = counter(before, "gap_pages")? * PAGE_SIZE / 1024;
    Ok(Some(total(after)? as f64 - (total(before)? + gap) as f64))
}

fn checks(
    m: &Measurements<'_>,
    workloads: &[SwapWorkload],
    selftest: Option<&SwapSelftest>,
) -> Result<Vec<Check>> {
    // Long: a line for each check.
    let checked = &m.swapped.summary;
    let all = checked.swappable + checked.outside;
    let mut active = true;
    let mut cpus = u64::from(m.workshop.request.cpus);
    for WorkloadRun { before, after, .. } in &m.workloads {
        let plan = said(after, "plan").is_some_and(|plan| plan == m.plan.id);
        active &= plan && counter(after, "active")? == 1;
        active &= counter(before, "active")? == 0;
        cpus = cpus.min(counter(before, "cpus")?).min(counter(after, "cpus")?);
    }
    let overflow: u64 = workloads.iter().map(|workload| workload.overflow).sum();
    let faults: u64 = workloads.iter().map(|workload| workload.faults).sum();
    let mut checks = vec![
        Check::new(
            "the linker put nine tenths of the plan's code where it is swapped",
            // What lies elsewhere only stays in memory.
            checked.swappable * 10 >= all * 9,
            format!(
                "{} of {all} pieces, {} of {} pages",
                checked.swappable, checked.pages_kept, checked.pages
            ),
        ),
        Check::new(
            "code was swapped out in each workload, and only where it was to be",
            active,
            format!("{faults} faults in {} workloads", workloads.len()),
        ),
        Check::new(
            "the guest had as many CPUs as it was given",
            cpus == u64::from(m.workshop.request.cpus),
            format!("{cpus} of {}", m.workshop.request.cpus),
        ),
        Check::new(
            "no workload took more frames than there are",
            overflow == 0,
            overflow.to_string(),
        ),
    ];
    if let Some(test) = selftest {
        checks.push(Check::new(
            "the self-test found nothing wrong",
            test.errors == 0
                && test.overflow == 0
                && test.touches > 0
                && test.audits > 0
                && test.faults > 0,
            format!(
                "{} errors in {} audits, {} pages read, {} faults",
                test.errors, test.audits, test.touches, test.faults
            ),
        ));
    }
    if m.workshop.request.debug
        && let Some(boot) = &m.selftest
    {
        let (said, tests) = (complaints(boot)?, &boot.record.tests);
        let first = said.first().map_or_else(String::new, |first| format!(", the first: {first}"));
        checks.push(Check::new(
            "the kernel, which checks itself, complained of nothing and its tests passed",
            said.is_empty() && tests.passed() && tests.ended(Outcome::Pass).next().is_some(),
            format!("{} complaints, {} tests{first}", said.len(), tests.all().len()),
        ));
    }
    checks.extend(m.soak.as_ref().map(|soak| soak.check(m.workshop.request.soak)));
    Ok(checks)
}

fn repeat(m: &Measurements<'_>) -> Repeat {
    let request = m.workshop.request;
    let mut command = format!(
        "trimtab swap run --config {} --granularity {} --threshold {} --frames {} --policy {} --store {} \
         --latency {} --cpus {} --selftest {} --room {} --seconds {}",
        request.config,
        request.granularity.name(),
        request.threshold,
        request.frames,
        request.policy.name(),
        request.store.name(),
        request.latency(),
        request.cpus,
        request.selftest,
        request.room,
        request.seconds,
    );
    for name in &request.workload {
        command.push_str(&format!(" --workload {name}"));
    }
    for name in &request.held_out {
        command.push_str(&format!(" --held-out {name}"));
    }
    if request.soak > 0 {
        command.push_str(&format!(" --soak {}", request.soak));
    }
    for (asked, option) in [(request.debug, " --debug-kernel"), (request.sweep, " --sweep")] {
        if asked {
            command.push_str(option);
        }
    }
    let mut tool_versions = m.workshop.testbed.versions().clone();
    tool_versions.extend(m.workshop.toolchain.versions());
    let inputs = BTreeMap::from([
        ("kernel before".to_owned(), m.before.key.hash()),
        ("kernel after".to_owned(), m.swapped.image.key.hash()),
        ("plan".to_owned(), m.plan.plan.id.clone()),
    ]);
    Repeat { command, tool_versions, inputs, seed: 0 }
}
