//! The table of `trimtab fit kernel`.

use super::{Lean, grid, report, some, titled, wrap, yes};
use crate::model::{BeforeAfter, FitKernel, Granularity, Interval, TargetSense};
use crate::number::{bytes, change, count, plain, ratio, rough, seconds, share, signed};
use crate::number::{times, times_fewer};
use crate::paper::BOOST;

/// Writes `fit` as plain text, at most `width` columns wide (40 or more).
pub fn fit_kernel(fit: &FitKernel, width: u16) -> String {
    report(vec![
        head(fit, width),
        main_table(fit, width),
        titled("Boots that did not make the order", held_out(fit, width)),
        titled("What a boot costs", boot(fit, width)),
        titled(
            "Pages above the function-level minimum, by cause",
            causes(&fit.excess.causes(), width),
        ),
        byte_excess(fit, width),
        accounts(fit, width),
        titled("Targets", targets(fit, width)),
        titled("Checks", checks(fit, width)),
        wrap(
            &format!(
                "Paper: {} ({}; time over {} boots).",
                BOOST.source, BOOST.machine, BOOST.boots
            ),
            width,
        ),
    ])
}

fn head(fit: &FitKernel, width: u16) -> String {
    let text = format!(
        "Linux {} {}, configuration {}, traced by {}, seed {}",
        fit.kernel.version, fit.kernel.arch, fit.config, fit.tracer, fit.seed
    );
    let verdict = format!(
        "{} → {} text pages touched while booting ({}), {} the function-level minimum of {}",
        count(fit.touched.before.into()),
        count(fit.touched.after.into()),
        change(fit.touched.before.into(), fit.touched.after.into()),
        times(fit.ratio_to_minimum()),
        count(fit.minimum.function_pages.into()),
    );
    let mut lines = vec![wrap(&text, width), wrap(&verdict, width)];
    for contradiction in fit.contradictions() {
        lines.push(wrap(&format!("CONTRADICTION: {contradiction}"), width));
    }
    lines.join("\n")
}

/// One row of the main table: ours before, after and the change, and the paper's.
fn row(name: &str, before: String, after: String, change: String, paper: String) -> Vec<String> {
    vec![name.to_owned(), before, after, change, paper]
}

fn pages(name: &str, sides: BeforeAfter<u32>, paper: String) -> Vec<String> {
    row(
        name,
        count(sides.before.into()),
        count(sides.after.into()),
        change(sides.before.into(), sides.after.into()),
        paper,
    )
}

fn sizes(name: &str, sides: BeforeAfter<u64>, paper: String) -> Vec<String> {
    row(
        name,
        bytes(sides.before),
        bytes(sides.after),
        change(sides.before as f64, sides.after as f64),
        paper,
    )
}

fn main_table(fit: &FitKernel, width: u16) -> String {
    let none = String::new;
    let arrow = |(before, after): (u64, u64)| format!("{} → {}", count(before), count(after));
    let megabytes = |(before, after): (u64, u64)| format!("{before} → {after} MB");
    let touched = BeforeAfter::new(fit.touched.before, fit.touched.after);
    let mut rows = vec![
        pages("text pages", fit.text.pages_spanned, arrow(BOOST.pages_spanned)),
        pages("pages touched", touched, arrow(BOOST.touched)),
    ];
    if let (Some(least), Some(most)) =
        (fit.touched.shuffled.iter().min(), fit.touched.shuffled.iter().max())
    {
        let range = match least == most {
            true => count((*least).into()),
            false => format!("{}–{}", count((*least).into()), count((*most).into())),
        };
        let factor = fit.shuffle_factor().map(times_fewer).unwrap_or_default();
        rows.push(row("  of random orders", none(), range, factor + " ours", none()));
    }
    let minimum = fit.minimum;
    rows.extend([
        row(
            "minimum, whole functions",
            none(),
            count(minimum.function_pages.into()),
            none(),
            count(BOOST.minimum),
        ),
        row(
            "minimum, executed bytes",
            none(),
            count(minimum.executed_pages.into()),
            none(),
            none(),
        ),
        row(
            "touched / minimum",
            times(crate::model::ratio(fit.touched.before, minimum.function_pages)),
            times(fit.ratio_to_minimum()),
            none(),
            times(BOOST.ratio()),
        ),
        row(
            "touched / executed bytes",
            times(crate::model::ratio(fit.touched.before, minimum.executed_pages)),
            times(fit.ratio_to_executed()),
            none(),
            none(),
        ),
        row(
            "page-fault curve, area",
            rough(fit.curve_area.before),
            rough(fit.curve_area.after),
            change(fit.curve_area.before, fit.curve_area.after),
            none(),
        ),
        sizes("vmlinux", fit.image.vmlinux_bytes, megabytes(BOOST.vmlinux)),
        sizes("compressed image", fit.image.compressed_bytes, megabytes(BOOST.image)),
    ]);
    let columns = [
        ("", Lean::Left),
        ("before", Lean::Right),
        ("after", Lean::Right),
        ("change", Lean::Right),
        ("paper", Lean::Right),
    ];
    grid(width, &columns, rows)
}

fn held_out(fit: &FitKernel, width: u16) -> String {
    let rows = fit
        .held_out
        .iter()
        .map(|boot| {
            vec![
                boot.name.clone(),
                count(boot.touched_before.into()),
                count(boot.touched_after.into()),
                count(boot.minimum_function_pages.into()),
                times(boot.ratio),
                format!("{} of {}", boot.booted.succeeded, boot.booted.attempted),
            ]
        })
        .collect();
    let columns = [
        ("", Lean::Left),
        ("before", Lean::Right),
        ("after", Lean::Right),
        ("minimum", Lean::Right),
        ("ratio", Lean::Right),
        ("booted", Lean::Right),
    ];
    grid(width, &columns, rows)
}

fn boot(fit: &FitKernel, width: u16) -> String {
    let boot = &fit.boot;
    let mut rows = vec![
        row(
            "instructions (exact)",
            count(boot.instructions.before),
            count(boot.instructions.after),
            change(boot.instructions.before as f64, boot.instructions.after as f64),
            String::new(),
        ),
        row(
            "virtual time (exact)",
            seconds(boot.virtual_seconds.before),
            seconds(boot.virtual_seconds.after),
            change(boot.virtual_seconds.before, boot.virtual_seconds.after),
            String::new(),
        ),
    ];
    if let Some(wall) = &boot.wall_seconds {
        let runs = wall.map(|side| side.runs);
        let sides = wall.map(|side| {
            format!("{} ± {}", seconds(side.mean), seconds((side.high - side.low) / 2.0))
        });
        rows.push(row(
            &format!("wall time, {} + {} runs", runs.before, runs.after),
            sides.before,
            sides.after,
            change(wall.before.mean, wall.after.mean),
            BOOST.boot_time.to_owned(),
        ));
    }
    let columns = [
        ("", Lean::Left),
        ("before", Lean::Right),
        ("after", Lean::Right),
        ("change", Lean::Right),
        ("paper", Lean::Right),
    ];
    let mut text = grid(width, &columns, rows);
    if let Some(interval) = &boot.wall_ratio {
        text += "\n";
        text += &wrap(&verdict(interval), width);
        text += "\n";
    }
    let booted = boot.booted;
    text += &format!("Booted {} of {} times.\n", booted.succeeded, booted.attempted);
    text
}

/// What the interval of a ratio of times allows to say, in a sentence.
fn verdict(interval: &Interval) -> String {
    let range = format!(
        "{} (95 % confidence interval {} to {})",
        ratio(interval.mean),
        ratio(interval.low),
        ratio(interval.high)
    );
    if interval.contains(1.0) {
        format!("Wall time after over before is {range}: these runs show no difference.")
    } else if interval.high < 1.0 {
        format!("Wall time after over before is {range}: the boot became faster.")
    } else {
        format!("Wall time after over before is {range}: the boot became slower.")
    }
}

fn causes(causes: &[(&str, &str, i64)], width: u16) -> String {
    let row = |name: &str, pages: i64| vec![name.to_owned(), signed(pages)];
    let mut rows: Vec<Vec<String>> =
        causes.iter().map(|(_, name, pages)| row(name, *pages)).collect();
    rows.push(row("all", causes.iter().map(|(_, _, pages)| pages).sum()));
    grid(width, &[("cause", Lean::Left), ("pages", Lean::Right)], rows)
}

fn byte_excess(fit: &FitKernel, width: u16) -> String {
    let title = "Pages above the minimum of executed bytes, by cause";
    fit.byte_excess.map_or(String::new(), |parts| titled(title, causes(&parts.causes(), width)))
}

fn accounts(fit: &FitKernel, width: u16) -> String {
    let order = fit.order;
    let mut lines = vec![
        format!(
            "Order: {} lines; {} placed, {} unknown, {} duplicate, {} discarded, {} pinned.",
            count(order.total()),
            count(order.placed),
            count(order.unknown),
            count(order.duplicate),
            count(order.discarded),
            count(order.pinned)
        ),
        format!(
            "Functions: {} of {} executed. Coverage of the trace: {} of names, {} of bytes.",
            count(fit.functions.executed),
            count(fit.functions.total),
            share(fit.coverage.names),
            share(fit.coverage.bytes)
        ),
    ];
    if fit.granularity == Granularity::Block {
        lines.push(format!(
            "Split: {} functions, {} moved away; {} objects compiled again.",
            count(fit.split.functions),
            bytes(fit.split.cold_bytes),
            count(fit.split.objects)
        ));
    }
    if let Some(ftrace) = &fit.ftrace {
        let hidden = ftrace.invisible;
        lines.push(format!(
            "ftrace saw {} functions, the plugin {}; ftrace's set is {} in the plugin's. \
             Invisible to ftrace: {} noinstr, {} entry, {} before it started, {} other.",
            count(ftrace.functions_ftrace),
            count(ftrace.functions_plugin),
            if ftrace.contained { "contained" } else { "NOT contained" },
            count(hidden.noinstr),
            count(hidden.entry),
            count(hidden.before_start),
            count(hidden.other)
        ));
    }
    let spent = fit.seconds;
    lines.push(format!(
        "Took {}: build {}, trace {}, {}layout {}, relink {}.",
        seconds(spent.total),
        seconds(spent.build),
        seconds(spent.trace),
        match fit.granularity {
            Granularity::Function => String::new(),
            Granularity::Block => format!("split {}, ", seconds(spent.split)),
        },
        seconds(spent.layout),
        seconds(spent.relink)
    ));
    lines.iter().map(|line| wrap(line, width) + "\n").collect()
}

fn targets(fit: &FitKernel, width: u16) -> String {
    let rows = fit
        .targets
        .iter()
        .map(|target| {
            let sense = match target.sense {
                TargetSense::AtMost => "≤",
                TargetSense::AtLeast => "≥",
            };
            let met = if target.met { "met" } else { "MISSED" };
            vec![
                target.name.clone(),
                plain(target.value),
                format!("{sense} {}", plain(target.limit)),
                met.to_owned(),
            ]
        })
        .collect();
    let columns =
        [("", Lean::Left), ("found", Lean::Right), ("limit", Lean::Right), ("", Lean::Left)];
    grid(width, &columns, rows)
}

/// The checks that hold in one line, those that fail in a row each.
fn checks(fit: &FitKernel, width: u16) -> String {
    let (held, failed): (Vec<_>, Vec<_>) = fit.checks.iter().partition(|check| check.ok);
    if fit.checks.is_empty() {
        return String::new();
    }
    let names: Vec<String> = held.iter().map(|check| check.name.clone()).collect();
    let mut text = String::new();
    if !names.is_empty() {
        text += &wrap(&format!("{} hold: {}.", names.len(), some(&names, 20)), width);
        text += "\n";
    }
    let rows: Vec<Vec<String>> = failed
        .iter()
        .map(|check| vec![check.name.clone(), yes(check.ok), check.detail.clone()])
        .collect();
    if !rows.is_empty() {
        text += &grid(width, &[("check", Lean::Left), ("", Lean::Left), ("", Lean::Left)], rows);
    }
    text
}
