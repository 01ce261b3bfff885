//! The tables of `trimtab swap sweep`.

use super::{Lean, grid, report, titled, wrap};
use crate::model::{SwapSweep, SweptThreshold};
use crate::number::{bytes, count, plain, share, times};

/// Writes `sweep` as plain text, at most `width` columns wide (40 or more).
pub fn swap_sweep(sweep: &SwapSweep, width: u16) -> String {
    let head = format!(
        "{}: {}, taken apart by {}, {} traces, faults by {}",
        sweep.kernel.path,
        sweep.kernel.kind,
        sweep.granularity,
        count(sweep.traces.len() as u64),
        sweep.policy
    );
    let mut parts = vec![wrap(&head, width), titled("Code", code(sweep, width))];
    for held_out in [false, true] {
        if held_out && !sweep.has_held_out() {
            continue;
        }
        let which = if held_out { "held-out traces" } else { "training traces" };
        parts.push(titled(
            &format!("Page faults by placement and frames, {which}"),
            faults(sweep, held_out, width),
        ));
        parts.push(titled(
            &format!(
                "Page faults by policy and frames at {}, {which}",
                threshold(sweep.policy_threshold)
            ),
            policies(sweep, held_out, width),
        ));
        parts.push(titled(
            &format!("System time against that without swapping, {which}"),
            time(sweep, held_out, width),
        ));
    }
    report(parts)
}

/// A threshold, which is often close to 1, with all of its digits.
pub(crate) fn threshold(value: f64) -> String {
    let percent = format!("{:.4}", value * 100.0);
    let short = percent.trim_end_matches('0');
    let short = if short.ends_with('.') { format!("{short}0") } else { short.to_owned() };
    format!("{short} %")
}

fn code(sweep: &SwapSweep, width: u16) -> String {
    let frames = sweep.frames.first().copied().unwrap_or(0);
    let rows = sweep.thresholds.iter().map(|found| {
        vec![
            threshold(found.threshold),
            bytes(found.core),
            bytes(found.base),
            bytes(found.swappable),
            count(found.pages),
            bytes(found.resident(frames)),
            share(found.resident(frames) as f64 / found.original.max(1) as f64),
            bytes(found.store),
        ]
    });
    let columns = [
        ("T", Lean::Right),
        ("core", Lean::Right),
        ("base", Lean::Right),
        ("swappable", Lean::Right),
        ("pages", Lean::Right),
        ("stays", Lean::Right),
        ("of all", Lean::Right),
        ("store", Lean::Right),
    ];
    grid(width, &columns, rows.collect())
}

fn faults(sweep: &SwapSweep, held_out: bool, width: u16) -> String {
    let row = |found: &SweptThreshold| {
        found
            .placements
            .iter()
            .enumerate()
            .map(|(place, placement)| {
                let first = if place == 0 { threshold(found.threshold) } else { String::new() };
                let all = if held_out { &placement.held_out } else { &placement.faults };
                let numbers = all.iter().map(|faults| count(*faults));
                [first, placement.name.clone()].into_iter().chain(numbers).collect()
            })
            .collect::<Vec<_>>()
    };
    let frames: Vec<String> = sweep.frames.iter().map(|frames| count(*frames)).collect();
    let mut columns = vec![("T", Lean::Right), ("placement", Lean::Left)];
    columns.extend(frames.iter().map(|frames| (frames.as_str(), Lean::Right)));
    grid(width, &columns, sweep.thresholds.iter().flat_map(row).collect())
}

fn policies(sweep: &SwapSweep, held_out: bool, width: u16) -> String {
    let rows = sweep.policies.iter().map(|policy| {
        let all = if held_out { &policy.held_out } else { &policy.faults };
        let numbers = all.iter().map(|faults| count(*faults));
        [policy.name.clone()].into_iter().chain(numbers).collect()
    });
    let frames: Vec<String> = sweep.frames.iter().map(|frames| count(*frames)).collect();
    let mut columns = vec![("policy", Lean::Left)];
    columns.extend(frames.iter().map(|frames| (frames.as_str(), Lean::Right)));
    grid(width, &columns, rows.collect())
}

/// The first placement at each threshold, for each cache size and latency.
fn time(sweep: &SwapSweep, held_out: bool, width: u16) -> String {
    let latencies = sweep.latencies.iter();
    let rows = latencies.flat_map(|latency| {
        sweep.thresholds.iter().enumerate().filter_map(move |(place, found)| {
            let placement = found.placements.first()?;
            let all = if held_out { &placement.held_out } else { &placement.faults };
            let first = match place {
                0 => format!("{}, {} µs", latency.name, plain(latency.microseconds)),
                _ => String::new(),
            };
            let numbers =
                all.iter().map(|faults| times(sweep.slowdown(*faults, latency, held_out)));
            Some([first, threshold(found.threshold)].into_iter().chain(numbers).collect())
        })
    });
    let frames: Vec<String> = sweep.frames.iter().map(|frames| count(*frames)).collect();
    let mut columns = vec![("page from", Lean::Left), ("T", Lean::Right)];
    columns.extend(frames.iter().map(|frames| (frames.as_str(), Lean::Right)));
    grid(width, &columns, rows.collect())
}
