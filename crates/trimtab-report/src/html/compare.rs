//! The page of `trimtab compare`.

use super::frame::{foot, page, section, tile};
use super::shown;
use super::tables::{Column, number, table, text};
use crate::model::{CompareReport, CompareSchema, Compared, Cost};
use crate::svg::curve::{Series, curve};
use maud::{Markup, html};

/// Classes of the curves that are drawn together; their colours tell them apart.
const CURVES: [&str; 4] = ["before", "after", "tone-good", "tone-bad"];

/// Renders `compared` as a whole HTML page.
pub fn compare(compared: &CompareReport) -> String {
    let body = html! {
        main {
            (hero(compared))
            (curves(compared))
            @for held_out in [true, false] {
                @if compared.traces.iter().any(|trace| trace.held_out == held_out) {
                    (costs(compared, held_out))
                    (paging(compared, held_out))
                }
            }
            (traces(compared))
            (algorithms(compared))
        }
        (foot(CompareSchema::NAME))
    };
    page(&format!("Orders of {}", compared.program.path), &body, compared)
}

fn hero(compared: &CompareReport) -> Markup {
    html! {
        header.hero {
            p.eyebrow {
                b { "trimtab compare" }
                span { (compared.program.path) }
                span { (compared.program.kind) }
            }
            h1 {
                span.numbers { span.after { (compared.algorithms.len()) } }
                span.what { "orders of the same code, and what each costs" }
            }
            @for note in &compared.notes { p.summary { (note) } }
            dl.tiles {
                (tile(
                    &shown::count("pieces", compared.pieces),
                    "movable pieces",
                    &html! { "in the program's text" },
                ))
                (tile(
                    &shown::count("model.frames", compared.model.frames),
                    "page frames",
                    &html! { "in the model of demand paging" },
                ))
            }
        }
    }
}

/// The curves of one trace: the first held-out one, or the first. As many as there are colours: the
/// program as it is, and the orders with the smallest areas.
fn curves(compared: &CompareReport) -> Markup {
    let place = compared.traces.iter().position(|trace| trace.held_out).unwrap_or(0);
    let (Some(trace), Some(first)) = (compared.traces.get(place), compared.algorithms.first())
    else {
        return html! {};
    };
    let cost = |algorithm: &'_ Compared| algorithm.costs.get(place).map_or(0, |cost| cost.area);
    let mut best: Vec<&Compared> = compared.algorithms.iter().skip(1).collect();
    best.sort_by_key(|algorithm| cost(algorithm));
    best.truncate(CURVES.len() - 1);
    let drawn: Vec<Series> = std::iter::once(first)
        .chain(best)
        .zip(CURVES)
        .filter_map(|(algorithm, class)| {
            let curve = &algorithm.costs.get(place)?.curve;
            Some(Series {
                label: &algorithm.name,
                class,
                points: &curve.pages,
                events: curve.events,
            })
        })
        .collect();
    let step = first.costs.get(place).map_or(1, |cost| cost.curve.step);
    section(
        "curve",
        "When pages are first touched",
        &html! {
            "The page-fault curve of " code { (trace.path) }
            ": the program as it is, and the three orders with the smallest area."
        },
        &curve(&drawn, step, trace.minimum.function_pages),
    )
}

fn which(held_out: bool) -> &'static str {
    if held_out { "held-out" } else { "training" }
}

fn costs(compared: &CompareReport, held_out: bool) -> Markup {
    let rows: Vec<Vec<Markup>> = compared
        .algorithms
        .iter()
        .map(|algorithm| {
            let sum = |cost: fn(&Cost) -> u64| summed(compared.sum(algorithm, held_out, cost));
            vec![
                html! { code { (algorithm.name) } },
                sum(|cost| cost.touched),
                sum(|cost| cost.area),
                compared.function_area(algorithm, held_out).map_or(html! {}, summed),
                sum(|cost| cost.l1i),
                sum(|cost| cost.itlb_4k),
                sum(|cost| cost.itlb_2m),
            ]
        })
        .collect();
    let columns: [Column; 7] = [
        text("order"),
        number("pages touched"),
        number("area"),
        number("area, 32 functions a page"),
        number("L1I misses"),
        number("TLB misses, 4 KiB"),
        number("TLB misses, 2 MiB"),
    ];
    section(
        &format!("costs-{}", which(held_out)),
        &format!("Costs on {} traces", which(held_out)),
        &html! {
            "Summed over the traces. The area is that under the page-fault curve; with 32 functions "
            "a page it is what llvm-profdata order counts."
        },
        &table("Costs", &columns, &rows),
    )
}

fn paging(compared: &CompareReport, held_out: bool) -> Markup {
    let rows: Vec<Vec<Markup>> = compared
        .algorithms
        .iter()
        .map(|algorithm| {
            let sum = |cost: fn(&Cost) -> u64| summed(compared.sum(algorithm, held_out, cost));
            vec![
                html! { code { (algorithm.name) } },
                sum(|cost| cost.paging.lru),
                sum(|cost| cost.paging.fifo),
                sum(|cost| cost.paging.random),
                sum(|cost| cost.paging.nru),
                sum(|cost| cost.paging.optimum),
            ]
        })
        .collect();
    let columns = [
        text("order"),
        number("LRU"),
        number("FIFO"),
        number("random"),
        number("NRU"),
        number("optimum"),
    ];
    section(
        &format!("paging-{}", which(held_out)),
        &format!("Page faults of {} traces with little memory", which(held_out)),
        &html! {
            "Memory has room for " (shown::count("model.frames", compared.model.frames))
            " pages of code; the columns differ in which page makes room."
        },
        &table("Page faults", &columns, &rows),
    )
}

/// A sum over traces, which the JSON has only one by one.
fn summed(value: u64) -> Markup {
    html! { (crate::number::count(value)) }
}

fn traces(compared: &CompareReport) -> Markup {
    let rows: Vec<Vec<Markup>> = compared
        .traces
        .iter()
        .enumerate()
        .map(|(place, trace)| {
            let key = |name: &str| format!("traces.{place}.{name}");
            vec![
                html! { code { (trace.path) } },
                html! { (which(trace.held_out)) },
                html! { (trace.kind) },
                shown::count(&key("executed"), trace.executed),
                shown::count(&key("minimum.function_pages"), trace.minimum.function_pages),
                shown::share(&key("coverage.names"), trace.coverage.names),
            ]
        })
        .collect();
    let columns = [
        text("trace"),
        text("use"),
        text("kind"),
        number("pieces executed"),
        number("minimum, pages"),
        number("coverage"),
    ];
    section(
        "traces",
        "Traces",
        &html! { "Orders were made from the training traces alone." },
        &table("Traces", &columns, &rows),
    )
}

fn algorithms(compared: &CompareReport) -> Markup {
    let rows: Vec<Vec<Markup>> = compared
        .algorithms
        .iter()
        .enumerate()
        .map(|(place, algorithm)| {
            let key = |name: &str| format!("algorithms.{place}.{name}");
            vec![
                html! { code { (algorithm.name) } },
                html! { (algorithm.description) },
                html! { (algorithm.input) },
                shown::count(&key("listed"), algorithm.listed),
                shown::seconds(&key("seconds"), algorithm.seconds),
            ]
        })
        .collect();
    let columns =
        [text("order"), text("what it does"), text("from"), number("listed"), number("time")];
    section(
        "algorithms",
        "Orders",
        &html! { "An approximated flow is guessed from first executions alone." },
        &table("Orders", &columns, &rows),
    )
}
