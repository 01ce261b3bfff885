//! The page of `trimtab swap run`.

use super::frame::{foot, page, section, tile};
use super::swap_sweep::figures;
use super::tables::{number, table, text};
use crate::model::{BeforeAfter, SwapRun, SwapRunSchema};
use crate::number::{NONE, count, kibibytes, or_none, plain, share, signed_share, times};
use crate::table::swap_threshold;
use maud::{Markup, html};

/// Renders `run` as a whole HTML page.
pub fn swap_run(run: &SwapRun) -> String {
    let body = html! {
        main {
            (hero(run))
            (memory(run))
            (workloads(run))
            (cores(run))
            (selftest(run))
            @if let Some(sweep) = &run.sweep { (figures(sweep)) }
            (checks(run))
            (repeat(run))
        }
        (foot(SwapRunSchema::NAME))
    };
    page(&format!("Linux {} with its cold code swapped out", run.kernel), &body, run)
}

fn hero(run: &SwapRun) -> Markup {
    let code = run.code_kib;
    html! {
        header.hero {
            p.eyebrow {
                b { "trimtab swap run" }
                span { "Linux " (run.kernel) }
                span { (run.config) }
                span { "by " (run.granularity) }
                span { "plan " (run.plan) }
            }
            h1 {
                span.numbers { span.after { (share(run.resident_share())) } }
                span.what {
                    "of the kernel's code stays in memory at T = " (swap_threshold(run.threshold))
                    " with " (run.frames) " page frames, " (run.policy) ", from " (run.store)
                }
            }
            dl.tiles {
                (tile(&html! { (kibibytes(code.core)) }, "core", &html! { "must never be absent" }))
                (tile(&html! { (kibibytes(code.base)) }, "base", &html! { "runs too often" }))
                (tile(
                    &html! { (kibibytes(code.swappable)) },
                    "swappable",
                    &html! { "on " (count(run.pages)) " pages" },
                ))
                (tile(
                    &html! { (share(run.footprint_reduction)) },
                    "less code and data",
                    &html! { (share(run.footprint_reduction_with_store)) " less with the store" },
                ))
            }
        }
    }
}

fn memory(run: &SwapRun) -> Markup {
    let code = run.code_kib;
    let rows: Vec<Vec<Markup>> = [
        ("core", code.core),
        ("base", code.base),
        ("cache", code.cache),
        ("tables", code.tables),
        ("what stays of the code", code.net_resident),
        ("swappable", code.swappable),
        ("all code", code.original),
        ("data", run.data_kib),
        ("swappable data", run.data_swappable_kib),
        ("store", run.store_kib),
    ]
    .into_iter()
    .map(|(name, kib)| vec![html! { (name) }, html! { (kibibytes(kib)) }])
    .collect();
    section(
        "memory",
        "Memory",
        &html! {
            "What is released when the kernel is up is not counted. "
            @if let Some(kib) = run.released_kib {
                "The guest itself says that it has " (kibibytes(kib)) " more."
            }
        },
        &table("Memory", &[text(""), number("memory")], &rows),
    )
}

fn workloads(run: &SwapRun) -> Markup {
    let columns = [
        text("workload"),
        number("rounds"),
        number("without swapping"),
        number("faults"),
        number("evictions"),
        number("overflow"),
        number("system time"),
        number("worst fault"),
        text("in"),
        number("late"),
    ];
    let rows: Vec<Vec<Markup>> = run
        .workloads
        .iter()
        .map(|found| {
            vec![
                html! { (found.title()) },
                html! { (count(found.rounds)) },
                html! { (plain(found.system_seconds)) " s" },
                html! { (count(found.faults)) },
                html! { (count(found.evictions)) },
                html! { (count(found.overflow)) },
                html! { (or_none(found.system_time_ratio, times)) },
                html! { (or_none(found.worst_us, |us| format!("{} µs", plain(us)))) },
                html! { (found.worst_context.as_deref().unwrap_or(NONE)) },
                html! { (found.late_us.map_or_else(|| NONE.to_owned(), late)) },
            ]
        })
        .collect();
    section(
        "workloads",
        "Workloads",
        &html! {
            "System time is that of the kernel from the start of init on, as a multiple of that of "
            "the kernel with all code in memory, on the core where it is larger. Waiting "
            (run.latency_us) " µs for a page of the store is part of it. The system time without "
            "swapping is given in seconds. Late is how much too late a thread of real-time priority "
            "that sleeps a millisecond at a time woke up at worst, without and with swapping."
            @if run.workloads.iter().any(|found| found.held_out) {
                " * the plan was made without it."
            }
        },
        &table("Workloads", &columns, &rows),
    )
}

fn late(found: BeforeAfter<u64>) -> String {
    format!("{} µs → {} µs", count(found.before), count(found.after))
}

fn cores(run: &SwapRun) -> Markup {
    let columns = [
        text("workload"),
        text("core"),
        number("waiting"),
        number("handling"),
        number("cache"),
        number("address translation"),
        number("together"),
    ];
    let rows: Vec<Vec<Markup>> = run
        .workloads
        .iter()
        .flat_map(|found| {
            found.cores.iter().map(|core| {
                vec![
                    html! { (found.title()) },
                    html! { (core.name) },
                    html! { (signed_share(core.delay_share)) },
                    html! { (signed_share(core.handling_share)) },
                    html! { (signed_share(core.cache_share)) },
                    html! { (signed_share(core.tlb_share)) },
                    html! { (times(core.system_time_ratio)) },
                ]
            })
        })
        .collect();
    section(
        "cores",
        "System time by its causes",
        &html! {
            "What of the system time without swapping each cause adds: waiting for the store, all else "
            "that is executed, and code that the core does not have at hand, by a simulation of its "
            "instruction cache and its address translation."
        },
        &table("System time by its causes", &columns, &rows),
    )
}

fn selftest(run: &SwapRun) -> Markup {
    let Some(test) = &run.selftest else { return html! {} };
    let rows: Vec<Vec<Markup>> = [
        ("page faults", test.faults),
        ("of them for data", test.data_faults),
        ("evictions", test.evictions),
        ("shootdowns", test.shootdowns),
        ("pages read at random", test.touches),
        ("audits", test.audits),
        ("overflow", test.overflow),
        ("errors", test.errors),
    ]
    .into_iter()
    .map(|(name, value)| vec![html! { (name) }, html! { (count(value)) }])
    .collect();
    section(
        "selftest",
        "Self-test",
        &html! {
            "All workloads, with everything swapped out every " (test.interval_ms)
            " ms, free frames filled with INT3, and all that is mapped compared with the store. "
            (run.handler.sentence())
        },
        &table("Self-test", &[text("counted"), number("times")], &rows),
    )
}

fn checks(run: &SwapRun) -> Markup {
    let row = |check: &crate::model::Check| {
        vec![
            html! { (check.name) },
            html! { (if check.ok { "ok" } else { "FAILED" }) },
            html! { (check.detail) },
        ]
    };
    let rows: Vec<Vec<Markup>> = run.checks.iter().map(row).collect();
    let columns = [text("what must hold"), text(""), text("found")];
    section("checks", "Checks", &html! {}, &table("Checks", &columns, &rows))
}

fn repeat(run: &SwapRun) -> Markup {
    section(
        "repeat",
        "How to repeat it",
        &html! { "Seed " (run.repeat.seed) "." },
        &html! { pre { code { (run.repeat.command) } } pre { code { (run.artifacts.boot) } } },
    )
}
