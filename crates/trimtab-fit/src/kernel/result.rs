//! What was measured, as the report's model.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use trimtab_lab::shell::quoted;
use trimtab_layout::{Excess, ExcessOverBytes, Footprint, functions_run, pages};
use trimtab_link::{KERNEL_ORDER, Outcome, boundaries, kernel};
use trimtab_machine::boot::Accelerator;
use trimtab_profile::Profile;
use trimtab_program::{FunctionId, Origin, PAGE_SIZE, Program, Range, RangeSet};
use trimtab_report::model::{
    Artifacts, BeforeAfter, BlockOrder, Boot, Booted, ByteExcess, Check, Coverage, Curve,
    FitKernel, Ftrace, Functions, Granularity, HeldOut, Image, Invisible, Kernel as KernelName,
    Minimum, OrderCounts, Repeat, Seconds, Section, Split, Target, Text, Touched,
};
use trimtab_stats as statistics;

use super::linked::Kernel;
use super::{Measured, Tracer};

/// The most points of a curve that a report holds.
const CURVE_POINTS: usize = 600;

/// Makes the report's model.
///
/// # Errors
/// That a file of which the size is wanted is not there.
pub(super) fn model(measured: Measured<'_>) -> Result<FitKernel> {
    let m = &measured;
    let (before, after) = (m.before.kernel, m.after.kernel);
    let foot = Footprint::of(&before.program, before.text, m.reference);
    let foot_after = Footprint::of(&after.program, after.text, m.reference_after);
    let touched = BeforeAfter::new(narrow(foot.touched), narrow(foot_after.touched));
    let minimum = Minimum {
        function_pages: narrow(foot.function_pages),
        executed_pages: narrow(foot.executed_pages),
    };
    let held_out: Vec<HeldOut> = m
        .held_out
        .iter()
        .map(|boot| {
            let before = Footprint::of(&before.program, before.text, &boot.before);
            let after = Footprint::of(&after.program, after.text, &boot.after);
            let held_out = HeldOut::new(
                &boot.scene.name,
                BeforeAfter::new(narrow(before.touched), narrow(after.touched)),
                narrow(before.function_pages),
                Booted { attempted: boot.attempted, succeeded: boot.succeeded },
            );
            HeldOut { failed: boot.failed.clone(), ..held_out }
        })
        .collect();
    let boot = boot(m)?;
    let order = OrderCounts {
        placed: m.order.count(Outcome::Placed),
        unknown: m.order.count(Outcome::Unknown),
        duplicate: m.order.count(Outcome::Duplicate),
        discarded: m.order.count(Outcome::Discarded),
        pinned: m.order.count(Outcome::Pinned),
    };
    let ftrace = m.ftrace.as_ref().map(|(plugin, calls)| compare(before, plugin, calls));
    let coverage = m.reference.coverage();
    let total = m.seconds.start.map_or(0.0, |start| start.elapsed().as_secs_f64());
    let seconds = Seconds {
        total,
        build: m.seconds.build.as_secs_f64(),
        trace: m.seconds.trace.as_secs_f64(),
        split: m.seconds.split.as_secs_f64(),
        layout: m.seconds.layout.as_secs_f64(),
        relink: m.seconds.relink.as_secs_f64(),
    };
    let mut fit = FitKernel {
        schema: Default::default(),
        kernel: KernelName {
            version: m.release.version.clone(),
            arch: before.program.isa().name().to_owned(),
        },
        config: m.request.config.clone(),
        granularity: match m.split {
            None => Granularity::Function,
            Some(_) => Granularity::Block,
        },
        tracer: tracer(m).to_owned(),
        seed: m.request.seed,
        page_size: PAGE_SIZE as u32,
        text: Text {
            pages_spanned: BeforeAfter::new(
                narrow(foot.pages_spanned),
                narrow(foot_after.pages_spanned),
            ),
            bytes: BeforeAfter::new(before.range().length(), after.range().length()),
        },
        touched: Touched {
            before: touched.before,
            after: touched.after,
            shuffled: m.shuffled.clone(),
        },
        minimum,
        held_out,
        functions: Functions { total: foot.functions, executed: foot.functions_executed },
        coverage: Coverage { names: coverage.names(), bytes: coverage.bytes() },
        curve_area: BeforeAfter::new(foot.curve_area() as f64, foot_after.curve_area() as f64),
        image: Image {
            vmlinux_bytes: BeforeAfter::new(
                size(&m.before.linked.vmlinux)?,
                size(&m.after.linked.vmlinux)?,
            ),
            compressed_bytes: BeforeAfter::new(
                size(&m.before.linked.image)?,
                size(&m.after.linked.image)?,
            ),
        },
        boot,
        order,
        artifacts: artifacts(m),
        excess: excess(m, touched.after, minimum.function_pages),
        split: m.split.map_or_else(Split::default, |split| Split {
            functions: split.functions,
            cold_bytes: split.cold_bytes,
            objects: split.objects as u64,
            block_order: BlockOrder::Source,
        }),
        byte_excess: match m.split {
            None => None,
            Some(_) => Some(byte_excess(m, touched.after, minimum.executed_pages)?),
        },
        seconds,
        page_map: BeforeAfter::new(
            pages::map(before.range(), m.reference.executed()),
            pages::map(after.range(), m.reference_after.executed()),
        ),
        curve: Curve::sampled(&foot.curve, &foot_after.curve, CURVE_POINTS),
        sections: sections(m),
        ftrace,
        repeat: repeat(m),
        checks: Vec::new(),
        targets: Vec::new(),
    };
    fit.checks = checks(m, &fit);
    fit.targets = targets(&fit);
    Ok(fit)
}

/// Counts of pages fit 32 bits by far; a report is no place to fail over one that does not.
fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn size(path: &Path) -> Result<u64> {
    let data = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(data.len())
}

fn boot(m: &Measured<'_>) -> Result<Boot> {
    let pairs: Vec<(f64, f64)> =
        m.wall.pairs.iter().filter_map(|(before, after)| before.zip(*after)).collect();
    let (before, after): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let timed = before.len() >= 2;
    let measured = |samples: &[f64]| statistics::measured(samples);
    let instructions = |done: &super::boots::Done| done.record.kernel_instructions.unwrap_or(0);
    Ok(Boot {
        instructions: BeforeAfter::new(
            instructions(&m.before.counted),
            instructions(&m.after.counted),
        ),
        virtual_seconds: BeforeAfter::new(
            m.before.counted.record.uptime,
            m.after.counted.record.uptime,
        ),
        wall_seconds: match timed {
            true => Some(BeforeAfter::new(measured(&before)?, measured(&after)?)),
            false => None,
        },
        wall_ratio: match timed {
            true => Some(statistics::paired_ratio(&before, &after)?),
            false => None,
        },
        booted: Booted {
            // The traced boot of the kernel laid out came up, or there would be no report.
            attempted: m.wall.pairs.len() as u32 + 1,
            succeeded: m.wall.pairs.iter().filter(|(_, after)| after.is_some()).count() as u32 + 1,
        },
        failed: m.wall.failed.clone(),
    })
}

fn artifacts(m: &Measured<'_>) -> Artifacts {
    let path = |path: &Path| path.display().to_string();
    Artifacts {
        vmlinux_before: path(&m.before.linked.vmlinux),
        vmlinux_after: path(&m.after.linked.vmlinux),
        image_before: path(&m.before.linked.image),
        image_after: path(&m.after.linked.image),
        guest: path(m.bench.guest()),
        order_file: path(&m.after.linked.generated(KERNEL_ORDER)),
        trace: m.trace.clone(),
        html: m.request.html.as_deref().map(path),
    }
}

/// The excess over the function-level minimum by cause, in whole pages that add up.
fn excess(m: &Measured<'_>, touched: u32, minimum: u32) -> trimtab_report::model::Excess {
    let kernel = m.after.kernel;
    let ran = functions_run(&kernel.program, kernel.text, m.reference_after);
    let parts = Excess::account(
        &kernel.program,
        &kernel.fragments,
        m.reference_after.executed(),
        &ran,
        |fragment| kernel.movable(fragment),
    );
    // What was split off functions is cold code of theirs that has gone elsewhere.
    let before = m.before.kernel;
    let ran_before = functions_run(&before.program, before.text, m.reference);
    let gone = match m.split {
        None => 0.0,
        Some(_) => (ran.bytes() as f64 - ran_before.bytes() as f64) / PAGE_SIZE as f64,
    };
    // The minimum is that of the first kernel's boot, and no two boots run quite the same: what is
    // left is other.
    let total = i64::from(touched) - i64::from(minimum);
    let [alignment, pinned_sections, sharing, cold_parts, other] = whole(
        [parts.alignment, parts.pinned_sections, parts.sharing, parts.cold_parts + gone, 0.0],
        total,
    );
    trimtab_report::model::Excess { alignment, pinned_sections, sharing, cold_parts, other }
}

/// The excess over the executed bytes by cause, in whole pages that add up.
fn byte_excess(m: &Measured<'_>, touched: u32, minimum: u32) -> Result<ByteExcess> {
    let kernel = m.after.kernel;
    let map = m.block_map.context("a split kernel has a map of its blocks")?;
    let executed: RangeSet = m.reference_after.executed().within(kernel.range()).collect();
    let parts =
        ExcessOverBytes::account(&kernel.program, &kernel.fragments, map, &executed, |fragment| {
            kernel.movable(fragment)
        });
    let before: RangeSet = m.reference.executed().within(m.before.kernel.range()).collect();
    let longer = (executed.bytes() as f64 - before.bytes() as f64) / PAGE_SIZE as f64;
    let total = i64::from(touched) - i64::from(minimum);
    let [alignment, pinned_sections, assembly, entry_blocks, sharing, longer_code, other] = whole(
        [
            parts.alignment,
            parts.pinned_sections,
            parts.assembly,
            parts.entry_blocks,
            parts.sharing,
            longer,
            0.0,
        ],
        total,
    );
    Ok(ByteExcess {
        alignment,
        pinned_sections,
        assembly,
        entry_blocks,
        sharing,
        longer_code,
        other,
    })
}

/// Parts in whole numbers that add up to `total`: the last takes what the others leave.
fn whole<const N: usize>(mut parts: [f64; N], total: i64) -> [i64; N] {
    let sum: f64 = parts.iter().sum();
    if let Some(last) = parts.last_mut() {
        *last += total as f64 - sum;
    }
    apportion(parts, total)
}

/// Rounds parts that add up to `total` to whole numbers that do: each down, then as many up as are
/// missing, those with the largest remainders (Hamilton's method).
fn apportion<const N: usize>(parts: [f64; N], total: i64) -> [i64; N] {
    let mut whole = parts.map(|part| part.floor() as i64);
    let mut by_remainder: Vec<usize> = (0..N).collect();
    let remainder = |index: &usize| parts[*index] - parts[*index].floor();
    by_remainder.sort_by(|a, b| remainder(b).total_cmp(&remainder(a)));
    let missing = usize::try_from(total - whole.iter().sum::<i64>()).unwrap_or(0);
    for index in by_remainder.into_iter().take(missing) {
        whole[index] += 1;
    }
    whole
}

/// The input regions of the text: those that the kernel pins by name, and the ordinary rest.
fn sections(m: &Measured<'_>) -> Vec<Section> {
    let regions = |kernel: &Kernel<'_>| {
        let mut regions: BTreeMap<String, Vec<Range>> = BTreeMap::new();
        for fragment in kernel.fragments.as_slice() {
            let name = match &fragment.origin {
                Origin::InputSection { section, .. } if !kernel.movable(fragment) => *section,
                _ => "ordinary text",
            };
            regions.entry(name.to_owned()).or_default().push(fragment.range);
        }
        regions
    };
    let (before, after) = (regions(m.before.kernel), regions(m.after.kernel));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let count = |ranges: Option<&Vec<Range>>, profile: &Profile| {
        let ranges = ranges.map_or(&[][..], Vec::as_slice);
        let whole = ranges
            .iter()
            .copied()
            .reduce(|a, b| Range { start: a.start.min(b.start), end: a.end.max(b.end) });
        let executed: RangeSet = RangeSet::new(ranges.to_vec())
            .as_slice()
            .iter()
            .flat_map(|range| profile.executed().within(*range).collect::<Vec<_>>())
            .collect();
        let spanned = whole.map_or(0, pages::spanned);
        (narrow(spanned), narrow(pages::touched(&executed).len() as u64), executed.bytes())
    };
    let mut sections: Vec<Section> = names
        .into_iter()
        .map(|name| {
            let (spanned, touched, bytes) = count(before.get(name), m.reference);
            let (spanned_after, touched_after, _) = count(after.get(name), m.reference_after);
            Section {
                name: name.clone(),
                pages_spanned: BeforeAfter::new(spanned, spanned_after),
                touched: BeforeAfter::new(touched, touched_after),
                executed_bytes: bytes,
            }
        })
        .collect();
    sections.sort_by(|a, b| b.touched.before.cmp(&a.touched.before).then(a.name.cmp(&b.name)));
    sections
}

/// What the function tracer saw of a boot, beside what the plugin saw of the same.
fn compare(kernel: &Kernel<'_>, plugin: &Profile, calls: &Profile) -> Ftrace {
    let program = &kernel.program;
    let set = |profile: &Profile| -> BTreeSet<FunctionId> {
        profile.functions().iter().map(|executed| executed.function).collect()
    };
    let (seen, called) = (set(plugin), set(calls));
    let traceable = kernel::traceable(program);
    let mut invisible = Invisible::default();
    for id in seen.difference(&called) {
        let range = program.function(*id).range;
        let count = if kernel::is_traceable(&traceable, range) {
            &mut invisible.before_start
        } else if within(program, range, "__noinstr_text_start", "__noinstr_text_end") {
            &mut invisible.noinstr
        } else if within(program, range, "__entry_text_start", "__entry_text_end") {
            &mut invisible.entry
        } else {
            &mut invisible.other
        };
        *count += 1;
    }
    Ftrace {
        contained: called.is_subset(&seen),
        functions_ftrace: called.len() as u64,
        functions_plugin: seen.len() as u64,
        invisible,
    }
}

fn within(program: &Program<'_>, range: Range, start: &str, end: &str) -> bool {
    match (program.address_of(start), program.address_of(end)) {
        (Some(start), Some(end)) => Range { start, end }.contains(range.start),
        _ => false,
    }
}

fn repeat(m: &Measured<'_>) -> Repeat {
    let mut inputs = BTreeMap::new();
    inputs.insert("kernel source and patch".to_owned(), m.source_hash.clone());
    inputs.insert("kernel before".to_owned(), m.before.linked.key.hash());
    inputs.insert("kernel after".to_owned(), m.after.linked.key.hash());
    let mut tool_versions = m.bench.versions().clone();
    tool_versions.extend(m.toolchain.versions());
    let accelerator = match m.bench.accelerator() {
        Accelerator::Kvm => "KVM",
        Accelerator::Tcg => "TCG",
    };
    tool_versions.insert("accelerator of wall times".to_owned(), accelerator.to_owned());
    Repeat { command: command(m), tool_versions, inputs, seed: m.request.seed }
}

/// The command that repeats this.
fn command(m: &Measured<'_>) -> String {
    let request = m.request;
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
    add("--compiler", &m.toolchain.name());
    add("--min-coverage", &request.min_coverage);
    add("--seed", &request.seed);
    command
}

fn tracer(m: &Measured<'_>) -> &'static str {
    match m.request.tracer {
        Tracer::Plugin => "plugin",
        Tracer::Ftrace => "ftrace",
    }
}

fn checks(m: &Measured<'_>, fit: &FitKernel) -> Vec<Check> {
    let (movable, exact) = m.predicted;
    let misplaced = m.order.count(Outcome::Misplaced);
    let mut checks = vec![
        Check::new(
            "the linker honoured the order",
            misplaced == 0 && fit.order.unknown + fit.order.discarded == 0,
            format!(
                "{} lines, {} placed, {misplaced} misplaced",
                m.order.lines.len(),
                fit.order.placed
            ),
        ),
        Check::new(
            "functions lie where the layout said",
            exact == movable,
            format!("{exact} of {movable}"),
        ),
        Check::new(
            "the two kernels have the same functions",
            m.before.kernel.functions() == m.after.kernel.functions(),
            format!("{} before, {} after", m.before.kernel.functions(), m.after.kernel.functions()),
        ),
        Check::new(
            "the kernel laid out comes up",
            fit.boot.booted.attempted == fit.boot.booted.succeeded,
            format!("{} of {}", fit.boot.booted.succeeded, fit.boot.booted.attempted),
        ),
    ];
    let boundaries = boundaries(&m.after.kernel.program, Some(&m.before.kernel.program));
    let broken: Vec<String> = boundaries
        .iter()
        .filter(|boundary| !boundary.ok)
        .map(|boundary| format!("{}: {}", boundary.symbol, boundary.detail))
        .collect();
    checks.push(Check::new(
        "the kernel's boundaries hold",
        broken.is_empty(),
        match broken.as_slice() {
            [] => format!("{} symbols", boundaries.len()),
            broken => broken.join("; "),
        },
    ));
    if let Some(ftrace) = &fit.ftrace {
        checks.push(Check::new(
            "what ftrace saw, the plugin saw",
            ftrace.contained,
            format!(
                "{} functions by ftrace, {} by the plugin",
                ftrace.functions_ftrace, ftrace.functions_plugin
            ),
        ));
    }
    checks
}

fn targets(fit: &FitKernel) -> Vec<Target> {
    let (mut targets, held_out) = match fit.granularity {
        Granularity::Function => (
            vec![Target::at_most(
                "pages touched, times the function-level minimum",
                1.05,
                fit.ratio_to_minimum(),
            )],
            1.15,
        ),
        Granularity::Block => (
            vec![
                Target::at_most(
                    "pages touched, times the minimum of executed bytes",
                    1.1,
                    fit.ratio_to_executed(),
                ),
                Target::at_most(
                    "compressed image, times the original",
                    1.02,
                    fit.image.compressed_bytes.after as f64
                        / fit.image.compressed_bytes.before as f64,
                ),
            ],
            1.0,
        ),
    };
    for boot in &fit.held_out {
        targets.push(Target::at_most(
            format!("held out ({}), times its own minimum", boot.name),
            held_out,
            boot.ratio,
        ));
    }
    if let Some(factor) = fit.shuffle_factor() {
        targets.push(Target::at_least("times fewer pages than the best random order", 2.0, factor));
    }
    targets.push(Target::at_most("seconds to link in a new order", 40.0, fit.seconds.relink));
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_in_whole_numbers_add_up() {
        assert_eq!(apportion([0.5, 0.5, 1.5, 0.25, 0.25], 3), [1, 1, 1, 0, 0]);
        assert_eq!(apportion([2.0, -1.0, 0.0], 1), [2, -1, 0]);
        assert_eq!(apportion([-0.4, -0.6, 3.0], 2), [0, -1, 3]);
        assert_eq!(apportion([0.9999999, 1.0000001], 2), [1, 1]);
        assert_eq!(apportion([0.0; 5], 0), [0; 5]);
    }
}
