//! The page of `trimtab swap sweep`: the figures 4 to 8 of Chanet et al. for this kernel.

use super::frame::{foot, page, section, tile};
use super::shown;
use super::tables::{Column, number, table, text};
use crate::model::{Latency, SwapSweep, SwapSweepSchema, SweptPlacement};
use crate::number::{count, plain, share, times};
use crate::svg::steps::{Line, Scale, steps};
use crate::table::swap_threshold;
use maud::{Markup, html};

/// Colours of placements and policies.
const CLASSES: [&str; 5] = ["after", "before", "tone-bad", "tone-good", "floor"];

/// Renders `sweep` as a whole HTML page.
pub fn swap_sweep(sweep: &SwapSweep) -> String {
    let body = html! {
        main {
            (hero(sweep))
            (figures(sweep))
            (numbers(sweep))
            (traces(sweep))
        }
        (foot(SwapSweepSchema::NAME))
    };
    page(&format!("Swapping the code of {}", sweep.kernel.path), &body, sweep)
}

/// The figures 4 to 8.
pub(super) fn figures(sweep: &SwapSweep) -> Markup {
    html! {
        (size(sweep))
        (faults(sweep))
        (time(sweep))
        (policies(sweep))
        (policy_time(sweep))
    }
}

fn frames(sweep: &SwapSweep) -> u64 {
    sweep.frames.first().copied().unwrap_or(0)
}

fn hero(sweep: &SwapSweep) -> Markup {
    let at = sweep.thresholds.iter().find(|found| found.threshold == sweep.policy_threshold);
    html! {
        header.hero {
            p.eyebrow {
                b { "trimtab swap sweep" }
                span { (sweep.kernel.path) }
                span { (sweep.kernel.kind) }
                span { "by " (sweep.granularity) }
            }
            @if let Some(found) = at {
                h1 {
                    span.numbers {
                        span.after {
                            (share(found.resident(frames(sweep)) as f64 / found.original.max(1) as f64))
                        }
                    }
                    span.what {
                        "of the kernel's code stays in memory at T = "
                        (swap_threshold(found.threshold)) " with " (frames(sweep)) " page frames"
                    }
                }
                dl.tiles {
                    (tile(&shown::bytes("core", found.core), "core", &html! { "must never be absent" }))
                    (tile(&shown::bytes("base", found.base), "base", &html! { "runs too often" }))
                    (tile(
                        &shown::bytes("swappable", found.swappable),
                        "swappable",
                        &html! { "on " (count(found.pages)) " pages" },
                    ))
                    (tile(
                        &shown::bytes("store", found.store),
                        "store",
                        &html! { "the swappable pages, each compressed with LZ4" },
                    ))
                }
            }
        }
    }
}

fn thresholds(sweep: &SwapSweep) -> Vec<String> {
    sweep.thresholds.iter().map(|found| swap_threshold(found.threshold)).collect()
}

fn kib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

/// Figure 4: code by threshold.
fn size(sweep: &SwapSweep) -> Markup {
    let line =
        |label: &str, class, broken, value: &dyn Fn(&crate::model::SweptThreshold) -> u64| Line {
            label: label.to_owned(),
            class,
            broken,
            values: sweep.thresholds.iter().map(|found| kib(value(found))).collect(),
        };
    let frames = frames(sweep);
    let lines = [
        line("all code", "floor", true, &|found| found.original),
        line("what stays", "before", false, &|found| found.resident(0)),
        line(&format!("with a cache of {frames} frames"), "after", false, &|found| {
            found.resident(frames)
        }),
    ];
    section(
        "size",
        "Code that stays in memory",
        &html! {
            "Core and base code and tables, by the share of executed instructions that stays. "
            "What is released when the kernel is up is not counted."
        },
        &steps("KiB", "threshold T", &thresholds(sweep), &lines, Scale::Linear),
    )
}

/// A line for each placement and cache size.
fn by_placement(
    sweep: &SwapSweep,
    value: &dyn Fn(&SweptPlacement, usize) -> Option<f64>,
) -> Vec<Line> {
    let names = sweep.thresholds.first().map_or(&[][..], |found| found.placements.as_slice());
    let mut lines = Vec::new();
    for (place, (first, class)) in names.iter().zip(CLASSES).enumerate() {
        for (size, frames) in sweep.frames.iter().enumerate() {
            lines.push(Line {
                label: format!("{}, {frames} frames", first.name),
                class,
                broken: size > 0,
                values: sweep
                    .thresholds
                    .iter()
                    .filter_map(|found| value(found.placements.get(place)?, size))
                    .collect(),
            });
        }
    }
    lines
}

/// Figure 5: faults by placement.
fn faults(sweep: &SwapSweep) -> Markup {
    let lines = by_placement(sweep, &|placement, size| {
        placement.faults.get(size).map(|faults| *faults as f64)
    });
    section(
        "faults",
        "Page faults by placement",
        &html! {
            "In replays of the traces that made the plans, by threshold, placement and cache size; "
            "replacement is " (sweep.policy) ". Each line of the grid is ten times the one below."
        },
        &steps("page faults", "threshold T", &thresholds(sweep), &lines, Scale::Logarithmic),
    )
}

fn first_latency(sweep: &SwapSweep) -> Latency {
    sweep.latencies.first().cloned().unwrap_or_default()
}

/// Figure 6: system time by placement.
fn time(sweep: &SwapSweep) -> Markup {
    let latency = first_latency(sweep);
    let lines = by_placement(sweep, &|placement, size| {
        let faults = placement.faults.get(size)?;
        Some(100.0 * sweep.slowdown(*faults, &latency, false))
    });
    section(
        "time",
        "System time by placement",
        &html! {
            "Modelled: " (plain(sweep.nanoseconds_per_instruction)) " ns for each instruction of the "
            "kernel, and " (plain(latency.microseconds)) " µs for each page fault (" (latency.name)
            "). Caches are not in the model."
        },
        &steps(
            "system time in % of that without swapping",
            "threshold T",
            &thresholds(sweep),
            &lines,
            Scale::Logarithmic,
        ),
    )
}

fn by_policy(sweep: &SwapSweep, value: &dyn Fn(u64) -> f64) -> Vec<Line> {
    let line = |(policy, class): (&crate::model::SweptPolicy, &'static str)| Line {
        label: policy.name.clone(),
        class,
        broken: false,
        values: policy.faults.iter().map(|faults| value(*faults)).collect(),
    };
    sweep.policies.iter().zip(CLASSES).map(line).collect()
}

fn sizes(sweep: &SwapSweep) -> Vec<String> {
    sweep.frames.iter().map(|frames| count(*frames)).collect()
}

/// Figure 7: faults by policy.
fn policies(sweep: &SwapSweep) -> Markup {
    section(
        "policies",
        "Page faults by policy of replacement",
        &html! {
            "At T = " (swap_threshold(sweep.policy_threshold)) ", by cache size. The optimum knows the "
            "future; no policy can do better."
        },
        &steps(
            "page faults",
            "page frames",
            &sizes(sweep),
            &by_policy(sweep, &|faults| faults as f64),
            Scale::Linear,
        ),
    )
}

/// Figure 8: system time by policy.
fn policy_time(sweep: &SwapSweep) -> Markup {
    let latency = first_latency(sweep);
    let lines = by_policy(sweep, &|faults| 100.0 * sweep.slowdown(faults, &latency, false));
    section(
        "policy-time",
        "System time by policy of replacement",
        &html! { "The same as modelled system time, with " (plain(latency.microseconds)) " µs a page." },
        &steps(
            "system time in % of that without swapping",
            "page frames",
            &sizes(sweep),
            &lines,
            Scale::Linear,
        ),
    )
}

fn numbers(sweep: &SwapSweep) -> Markup {
    let mut rows = Vec::new();
    for found in &sweep.thresholds {
        for placement in &found.placements {
            for (place, frames) in sweep.frames.iter().enumerate() {
                let faults = placement.faults.get(place).copied().unwrap_or(0);
                let held_out = placement.held_out.get(place);
                let mut row = vec![
                    html! { (swap_threshold(found.threshold)) },
                    html! { code { (placement.name) } },
                    html! { (count(*frames)) },
                    html! { (count(faults)) },
                    html! { @if let Some(faults) = held_out { (count(*faults)) } },
                ];
                row.extend(sweep.latencies.iter().map(|latency| {
                    html! { (times(sweep.slowdown(faults, latency, false))) }
                }));
                rows.push(row);
            }
        }
    }
    // Headings of columns have to be known beforehand: what each latency is stands above.
    const TIMES: [&str; 4] = ["time, first", "time, second", "time, third", "time, fourth"];
    let mut columns: Vec<Column> = vec![
        number("T"),
        text("placement"),
        number("frames"),
        number("faults"),
        number("held out"),
    ];
    columns.extend(sweep.latencies.iter().zip(TIMES).map(|(_, heading)| number(heading)));
    section(
        "numbers",
        "All numbers",
        &html! {
            "System time is a multiple of that without swapping. Pages come from: "
            @for (place, latency) in sweep.latencies.iter().enumerate() {
                @if place > 0 { "; " }
                (latency.name) ", " (plain(latency.microseconds)) " µs"
            }
            "."
        },
        &table("All numbers", &columns, &rows),
    )
}

fn traces(sweep: &SwapSweep) -> Markup {
    let row = |trace: &crate::model::SweptTrace| {
        vec![
            html! { code { (trace.path) } },
            html! { (if trace.held_out { "held out" } else { "training" }) },
            html! { (count(trace.instructions)) },
        ]
    };
    let rows: Vec<Vec<Markup>> = sweep.traces.iter().map(row).collect();
    section(
        "traces",
        "Traces",
        &html! { "Instructions of the kernel from the first execution of " code { (sweep.from) } " on." },
        &table("Traces", &[text("trace"), text("used for"), number("instructions")], &rows),
    )
}
