//! The tables of `trimtab compare`.

use super::{Lean, grid, report, titled, wrap};
use crate::model::{CompareReport, Compared, Cost};
use crate::number::{bytes, count, ratio, seconds, share};

/// Writes `compared` as plain text, at most `width` columns wide (40 or more).
pub fn compare(compared: &CompareReport, width: u16) -> String {
    let model = &compared.model;
    let head = [
        format!("{}: {}", compared.program.path, compared.program.kind),
        format!(
            "{} movable pieces; L1I of {}, TLBs of {} and {} entries, {} page frames",
            count(compared.pieces),
            bytes(model.l1i_bytes),
            count(model.itlb_4k_entries),
            count(model.itlb_2m_entries),
            count(model.frames),
        ),
    ];
    let mut parts = vec![
        head.iter().map(|line| wrap(line, width) + "\n").collect(),
        titled("Traces", traces(compared, width)),
    ];
    for held_out in [false, true] {
        if compared.traces.iter().any(|trace| trace.held_out == held_out) {
            let which = match (held_out, compared.leave_one_out) {
                (false, _) => "training traces",
                (true, false) => "held-out traces",
                (true, true) => "traces left out in turn",
            };
            parts.push(titled(
                &format!("Pages, sums over {which}"),
                pages(compared, held_out, width),
            ));
            parts.push(titled(
                &format!("Misses, sums over {which}"),
                misses(compared, held_out, width),
            ));
        }
    }
    parts.push(compared.notes.iter().map(|note| wrap(note, width) + "\n").collect());
    report(parts)
}

fn traces(compared: &CompareReport, width: u16) -> String {
    let rows = compared
        .traces
        .iter()
        .map(|trace| {
            vec![
                trace.path.clone(),
                if trace.held_out { "held out" } else { "training" }.to_owned(),
                if trace.complete { "all" } else { "first" }.to_owned(),
                count(trace.executed),
                count(trace.minimum.function_pages.into()),
                count(trace.minimum.executed_pages.into()),
                share(trace.coverage.names),
            ]
        })
        .collect();
    let columns = [
        ("", Lean::Left),
        ("", Lean::Whole),
        ("executions", Lean::Right),
        ("pieces", Lean::Right),
        ("min. fn", Lean::Right),
        ("min. bytes", Lean::Right),
        ("coverage", Lean::Right),
    ];
    grid(width, &columns, rows)
}

fn pages(compared: &CompareReport, held_out: bool, width: u16) -> String {
    let row = |algorithm: &Compared| {
        let sum = |cost: fn(&Cost) -> u64| count(compared.sum(algorithm, held_out, cost));
        let none = || "-".to_owned();
        vec![
            algorithm.name.clone(),
            sum(|cost| cost.touched),
            sum(|cost| cost.area),
            compared.function_area(algorithm, held_out).map_or_else(none, count),
            compared.to_peer(algorithm, held_out).map_or_else(none, ratio),
            if algorithm.listed > 0 { seconds(algorithm.seconds) } else { none() },
        ]
    };
    let columns = [
        ("", Lean::Whole),
        ("touched", Lean::Right),
        ("area", Lean::Right),
        ("area/32", Lean::Right),
        ("to LLVM's", Lean::Right),
        ("time", Lean::Right),
    ];
    grid(width, &columns, compared.algorithms.iter().map(row).collect())
}

fn misses(compared: &CompareReport, held_out: bool, width: u16) -> String {
    let row = |algorithm: &Compared| {
        let sum = |cost: fn(&Cost) -> u64| count(compared.sum(algorithm, held_out, cost));
        vec![
            algorithm.name.clone(),
            sum(|cost| cost.l1i),
            sum(|cost| cost.itlb_4k),
            sum(|cost| cost.itlb_2m),
            sum(|cost| cost.paging.lru),
            sum(|cost| cost.paging.fifo),
            sum(|cost| cost.paging.random),
            sum(|cost| cost.paging.nru),
            sum(|cost| cost.paging.optimum),
        ]
    };
    let columns = [
        ("", Lean::Whole),
        ("L1I", Lean::Right),
        ("TLB 4K", Lean::Right),
        ("2M", Lean::Right),
        ("LRU", Lean::Right),
        ("FIFO", Lean::Right),
        ("random", Lean::Right),
        ("NRU", Lean::Right),
        ("optimum", Lean::Right),
    ];
    grid(width, &columns, compared.algorithms.iter().map(row).collect())
}
