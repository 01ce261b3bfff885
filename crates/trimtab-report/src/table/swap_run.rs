//! The tables of `trimtab swap run`.

use super::{Lean, grid, report, swap_threshold, titled, wrap, yes};
use crate::model::SwapRun;
use crate::number::{NONE, count, kibibytes, or_none, plain, share, signed_share, times};

/// Writes `run` as plain text, at most `width` columns wide (40 or more).
pub fn swap_run(run: &SwapRun, width: u16) -> String {
    let store = match run.latency_us {
        0 => run.store.clone(),
        latency => format!("{}, {latency} µs a page", run.store),
    };
    let head = format!(
        "Linux {} ({}): {} of its code stays in memory at T = {}, {} frames, {}, from {store}, on \
         {} CPU{}",
        run.kernel,
        run.config,
        share(run.resident_share()),
        swap_threshold(run.threshold),
        run.frames,
        run.policy,
        run.cpus,
        if run.cpus == 1 { "" } else { "s" },
    );
    report(vec![
        wrap(&head, width),
        titled("Memory", memory(run, width)),
        titled(
            "Workloads, against the kernel with all code in memory; * held out of the plan",
            workloads(run, width),
        ),
        titled("Self-test", selftest(run, width)),
        titled("System time by its causes", cores(run, width)),
        titled("Checks", checks(run, width)),
    ])
}

fn memory(run: &SwapRun, width: u16) -> String {
    let code = run.code_kib;
    let of = |part: f64| match code.original {
        0.0 => NONE.to_owned(),
        original => share(part / original),
    };
    let mut rows: Vec<Vec<String>> = [
        ("core", code.core),
        ("base", code.base),
        ("cache", code.cache),
        ("tables", code.tables),
        ("stays", code.net_resident),
        ("swappable", code.swappable),
        ("all code", code.original),
    ]
    .into_iter()
    .map(|(name, kib)| vec![name.to_owned(), kibibytes(kib), of(kib)])
    .collect();
    rows.push(vec!["data".to_owned(), kibibytes(run.data_kib), String::new()]);
    rows.push(vec!["swappable data".to_owned(), kibibytes(run.data_swappable_kib), String::new()]);
    rows.push(vec!["store".to_owned(), kibibytes(run.store_kib), String::new()]);
    let less = |share_less: f64| format!("{} less", share(share_less));
    rows.push(vec!["code and data".to_owned(), less(run.footprint_reduction), String::new()]);
    rows.push(vec![
        "with the store".to_owned(),
        less(run.footprint_reduction_with_store),
        String::new(),
    ]);
    let released = or_none(run.released_kib, kibibytes);
    rows.push(vec!["more for the guest".to_owned(), released, String::new()]);
    let columns = [("", Lean::Left), ("memory", Lean::Right), ("of all code", Lean::Right)];
    grid(width, &columns, rows)
}

fn workloads(run: &SwapRun, width: u16) -> String {
    let rows = run.workloads.iter().map(|found| {
        vec![
            found.title(),
            count(found.rounds),
            format!("{} s", plain(found.system_seconds)),
            count(found.faults),
            count(found.overflow),
            or_none(found.system_time_ratio, times),
            or_none(found.worst_us, |us| format!("{} µs", plain(us))),
        ]
    });
    let columns = [
        ("workload", Lean::Left),
        ("rounds", Lean::Right),
        ("without swapping", Lean::Right),
        ("faults", Lean::Right),
        ("overflow", Lean::Right),
        ("system time", Lean::Right),
        ("worst fault", Lean::Right),
    ];
    grid(width, &columns, rows.collect())
}

fn cores(run: &SwapRun, width: u16) -> String {
    let rows = run.workloads.iter().flat_map(|found| {
        found.cores.iter().map(|core| {
            vec![
                found.title(),
                core.name.clone(),
                signed_share(core.delay_share),
                signed_share(core.handling_share),
                signed_share(core.cache_share),
                signed_share(core.tlb_share),
                times(core.system_time_ratio),
            ]
        })
    });
    let columns = [
        ("workload", Lean::Left),
        ("core", Lean::Left),
        ("waiting", Lean::Right),
        ("handling", Lean::Right),
        ("cache", Lean::Right),
        ("TLB", Lean::Right),
        ("together", Lean::Right),
    ];
    grid(width, &columns, rows.collect())
}

fn selftest(run: &SwapRun, width: u16) -> String {
    let Some(test) = &run.selftest else { return String::new() };
    let rows = vec![vec![
        format!("{} ms", test.interval_ms),
        count(test.faults),
        count(test.data_faults),
        count(test.evictions),
        count(test.shootdowns),
        count(test.touches),
        count(test.audits),
        count(test.overflow),
        count(test.errors),
    ]];
    let columns = [
        ("every", Lean::Right),
        ("faults", Lean::Right),
        ("data", Lean::Right),
        ("evictions", Lean::Right),
        ("shootdowns", Lean::Right),
        ("touched", Lean::Right),
        ("audits", Lean::Right),
        ("overflow", Lean::Right),
        ("errors", Lean::Right),
    ];
    let table = grid(width, &columns, rows);
    let sentences = [run.handler.sentence(), run.late_sentence()];
    let said = sentences.iter().filter(|sentence| !sentence.is_empty());
    said.fold(table, |text, sentence| format!("{text}\n{}", wrap(sentence, width)))
}

fn checks(run: &SwapRun, width: u16) -> String {
    let row =
        |check: &crate::model::Check| vec![check.name.clone(), yes(check.ok), check.detail.clone()];
    let columns = [("", Lean::Left), ("", Lean::Left), ("", Lean::Left)];
    grid(width, &columns, run.checks.iter().map(row).collect())
}
