//! All that was found, as the report's model.

use std::collections::BTreeMap;
use std::path::Path;

use crate::report::{
    Artifacts, BlockOrder, Boot, BootFigures, Curve, FitKernel, Granularity, HeldOut,
    Kernel as KernelName, PageCounts, Seconds, Split, Text,
};
use anyhow::Result;
use trimtab_layout::pages;
use trimtab_link::{KERNEL_ORDER, Outcome};
use trimtab_machine::boot::Accelerator;
use trimtab_program::PAGE_SIZE;
use trimtab_report::common::{BeforeAfter, Coverage, Functions, Minimum, OrderCounts, Repeat};
use trimtab_stats as statistics;

use super::kept_boot::KeptBoot;
use super::measured::{Evidence, Measures, narrow};
use super::proved::Timed;
use super::request::Tracer;
use super::trials;
use super::verdict;
use trimtab_lab::shell::quoted;

/// The most points of a curve that a report holds.
const CURVE_POINTS: usize = 600;

/// Makes the report's model.
///
/// # Errors
/// That a file of which the size is wanted is not there.
pub(super) fn model(m: &Evidence<'_>) -> Result<FitKernel> {
    // Long: a field for each thing that the report says.
    let measures = Measures::of(m)?;
    let Measures { before: foot, after: foot_after, .. } = &measures;
    let (before, after) = (m.before.kernel, m.after.kernel);
    let coverage = m.before.profile.coverage();
    let mut fit = FitKernel {
        schema: Default::default(),
        kernel: KernelName {
            version: m.workshop.release.version.clone(),
            arch: before.program.isa().name().to_owned(),
        },
        config: m.workshop.request.config.clone(),
        granularity: m.split.map_or(Granularity::Function, |_| Granularity::Block),
        tracer: tracer(m).to_owned(),
        seed: m.workshop.request.seed,
        page_size: PAGE_SIZE as u32,
        text: Text {
            pages_spanned: BeforeAfter::new(
                narrow(foot.pages_spanned),
                narrow(foot_after.pages_spanned),
            ),
            bytes: BeforeAfter::new(before.range().length(), after.range().length()),
        },
        touched: PageCounts {
            before: narrow(foot.touched),
            after: narrow(foot_after.touched),
            shuffled: m.proof.shuffled.clone(),
        },
        minimum: Minimum {
            function_pages: narrow(foot.function_pages),
            executed_pages: narrow(foot.executed_pages),
        },
        held_out: held_out(m, &measures),
        functions: Functions { total: foot.functions, executed: foot.functions_executed },
        coverage: Coverage { names: coverage.names(), bytes: coverage.bytes() },
        curve_area: BeforeAfter::new(foot.curve_area() as f64, foot_after.curve_area() as f64),
        boot: boot(m)?,
        order: order(m),
        left_out: m.order.left_out,
        artifacts: artifacts(m),
        split: split(m),
        seconds: seconds(m),
        page_map: BeforeAfter::new(
            pages::map(before.range(), m.before.profile.executed()),
            pages::map(after.range(), m.after.profile.executed()),
        ),
        curve: Curve::sampled(&foot.curve, &foot_after.curve, CURVE_POINTS),
        repeat: repeat(m),
        image: measures.image,
        excess: measures.excess,
        byte_excess: measures.byte_excess,
        sections: measures.sections,
        ftrace: measures.ftrace,
        checks: Vec::new(),
        targets: Vec::new(),
        trials: trials::trials(m)?,
    };
    fit.checks = verdict::checks(m, &fit);
    fit.targets = verdict::targets(&fit);
    Ok(fit)
}

fn held_out(m: &Evidence<'_>, measures: &Measures) -> Vec<HeldOut> {
    let boots = m.proof.held_out.iter().zip(&measures.held_out);
    boots
        .map(|(boot, footprint)| {
            let held_out = HeldOut::new(
                &boot.scene.name,
                BeforeAfter::new(narrow(footprint.before.touched), narrow(footprint.after.touched)),
                narrow(footprint.before.function_pages),
                BootFigures { attempted: boot.again.len() as u32 + 1, succeeded: boot.succeeded() },
            );
            HeldOut { failed: boot.failed(), ..held_out }
        })
        .collect()
}

fn order(m: &Evidence<'_>) -> OrderCounts {
    let count = |outcome| m.order.lines.count(outcome);
    OrderCounts {
        placed: count(Outcome::Placed),
        unknown: count(Outcome::Unknown),
        duplicate: count(Outcome::Duplicate),
        discarded: count(Outcome::Discarded),
        pinned: count(Outcome::Pinned),
    }
}

fn split(m: &Evidence<'_>) -> Split {
    m.split.map_or_else(Split::default, |split| Split {
        functions: split.functions,
        cold_bytes: split.cold_bytes,
        objects: split.objects as u64,
        block_order: BlockOrder::Source,
    })
}

fn seconds(m: &Evidence<'_>) -> Seconds {
    let seconds = &m.seconds;
    Seconds {
        total: seconds.start.elapsed().as_secs_f64(),
        build: seconds.build.as_secs_f64(),
        trace: seconds.trace.as_secs_f64(),
        split: seconds.split.as_secs_f64(),
        layout: seconds.layout.as_secs_f64(),
        relink: seconds.relink.as_secs_f64(),
    }
}

fn boot(m: &Evidence<'_>) -> Result<Boot> {
    let wall = &m.proof.wall;
    let both =
        |(before, after): &(Timed, Timed)| Some((*before.as_ref().ok()?, *after.as_ref().ok()?));
    let pairs: Vec<(f64, f64)> = wall.pairs.iter().filter_map(both).collect();
    let (before, after): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let timed = before.len() >= 2;
    let measured = |samples: &[f64]| statistics::measured(samples);
    let instructions = |boot: &KeptBoot| boot.record.instructions.map_or(0, |all| all.kernel);
    Ok(Boot {
        instructions: BeforeAfter::new(instructions(m.before.boot), instructions(m.after.boot)),
        virtual_seconds: BeforeAfter::new(m.before.boot.record.uptime, m.after.boot.record.uptime),
        wall_seconds: match timed {
            true => Some(BeforeAfter::new(measured(&before)?, measured(&after)?)),
            false => None,
        },
        wall_ratio: match timed {
            true => Some(statistics::paired_ratio(&before, &after)?),
            false => None,
        },
        booted: BootFigures {
            // The traced boot of the kernel laid out came up, or there would be no report.
            attempted: wall.pairs.len() as u32 + 1,
            succeeded: wall.pairs.iter().filter(|(_, after)| after.is_ok()).count() as u32 + 1,
        },
        failed: wall.failed(),
    })
}

fn artifacts(m: &Evidence<'_>) -> Artifacts {
    let path = |path: &Path| path.display().to_string();
    Artifacts {
        vmlinux_before: path(&m.before.image.vmlinux),
        vmlinux_after: path(&m.after.image.vmlinux),
        image_before: path(&m.before.image.image),
        image_after: path(&m.after.image.image),
        guest: path(m.workshop.testbed.guest()),
        order_file: path(&m.after.image.generated(KERNEL_ORDER)),
        trace: m.trace.clone(),
        html: m.workshop.request.html.as_deref().map(path),
    }
}

fn repeat(m: &Evidence<'_>) -> Repeat {
    let mut inputs = BTreeMap::new();
    inputs.insert("kernel source and patch".to_owned(), m.workshop.source_hash.clone());
    inputs.insert("kernel before".to_owned(), m.before.image.key.hash());
    inputs.insert("kernel after".to_owned(), m.after.image.key.hash());
    let mut tool_versions = m.workshop.testbed.versions().clone();
    tool_versions.extend(m.workshop.toolchain.versions());
    let accelerator = match m.workshop.testbed.accelerator() {
        Accelerator::Kvm => "KVM",
        Accelerator::Tcg => "TCG",
    };
    tool_versions.insert("accelerator of wall times".to_owned(), accelerator.to_owned());
    Repeat { command: command(m), tool_versions, inputs, seed: m.workshop.request.seed }
}

/// The command that repeats this.
fn command(m: &Evidence<'_>) -> String {
    let request = m.workshop.request;
    let mut command = match std::env::var("LLVM") {
        Ok(chosen) if !chosen.is_empty() => format!("LLVM={} ", quoted(chosen)),
        _ => String::new(),
    };
    command.push_str("trimtab fit kernel");
    let mut add = |option: &str, value: &dyn std::fmt::Display| {
        command.push_str(&format!(" {option} {}", quoted(value.to_string())));
    };
    if let Some(source) = &request.source {
        add("--source", &source.display());
    }
    add("--config", &request.config);
    add("--arch", &request.isa.name());
    if let Some(busybox) = &request.busybox {
        add("--busybox", &busybox.display());
    }
    add("--boots", &request.boots);
    add("--wall-boots", &request.wall_boots);
    add("--held-out-boots", &request.held_out_boots);
    if m.split.is_some() {
        add("--granularity", &"block");
    }
    add("--tracer", &tracer(m));
    add("--compiler", &m.workshop.toolchain.name());
    add("--min-coverage", &request.min_coverage);
    add("--seed", &request.seed);
    command
}

fn tracer(m: &Evidence<'_>) -> &'static str {
    match m.workshop.request.tracer {
        Tracer::Plugin => "plugin",
        Tracer::Ftrace => "ftrace",
    }
}
