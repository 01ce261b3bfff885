//! The page of `trimtab pages`.

use super::figures::{Bar, bars};
use super::frame::{foot, page, section, tile};
use super::provenance::list;
use super::shown;
use super::tables::{grouped, number, table, text};
use crate::model::{PagesReport, PagesSchema};
use crate::svg::curve::{Series, curve};
use crate::svg::page_map::{columns, legend, page_map};
use maud::{Markup, html};

/// Renders `pages` as a whole HTML page.
pub fn pages(pages: &PagesReport) -> String {
    let body = html! {
        main {
            (hero(pages))
            (standing(pages))
            (map(pages))
            (fault_curve(pages))
            (sections(pages))
            (excess(pages))
            (inputs(pages))
        }
        (foot(PagesSchema::NAME))
    };
    page(&format!("Pages of {}", pages.program.path), &body, pages)
}

fn hero(pages: &PagesReport) -> Markup {
    html! {
        header.hero {
            p.eyebrow {
                b { "trimtab pages" }
                span { (pages.program.path) }
                span { (pages.program.kind) }
            }
            h1 {
                span.numbers {
                    span.before { (shown::count("touched", pages.touched)) }
                    span.arrow { "of" }
                    span.rest { (shown::count("text.pages_spanned", pages.text.pages_spanned)) }
                }
                span.what { "text pages touched" }
            }
            p.summary {
                (shown::times("touched/minimum.function_pages", pages.ratio_to_minimum()))
                " the fewest that the executed functions fit into."
            }
            dl.tiles {
                (tile(
                    &shown::count("minimum.function_pages", pages.minimum.function_pages),
                    "pages at function level",
                    &html! { "the fewest with whole functions moved" },
                ))
                (tile(
                    &shown::count("minimum.executed_pages", pages.minimum.executed_pages),
                    "pages of executed bytes",
                    &html! { "the fewest with single bytes moved" },
                ))
                (tile(
                    &shown::count("functions.executed", pages.functions.executed),
                    "functions executed",
                    &html! { "of " (shown::count("functions.total", pages.functions.total)) },
                ))
                (tile(
                    &shown::share("coverage.bytes", pages.coverage.bytes),
                    "of executed bytes resolved",
                    &html! {
                        (shown::share("coverage.names", pages.coverage.names)) " of function names"
                    },
                ))
            }
        }
    }
}

fn standing(pages: &PagesReport) -> Markup {
    let bar = |label: &str, class, key: &str, value| Bar {
        label: label.to_owned(),
        class,
        key: key.to_owned(),
        value,
    };
    let minimum = pages.minimum;
    section(
        "standing",
        "Where it stands",
        &html! { "Pages of the text, those that the trace touches, and the two floors below." },
        &bars(&[
            bar("spanned", "quiet", "text.pages_spanned", pages.text.pages_spanned),
            bar("touched", "before", "touched", pages.touched),
            bar("function floor", "floor", "minimum.function_pages", minimum.function_pages),
            bar("byte floor", "floor", "minimum.executed_pages", minimum.executed_pages),
        ]),
    )
}

fn map(pages: &PagesReport) -> Markup {
    let width = columns(pages.page_map.len());
    let row = u64::from(pages.page_size) * width as u64;
    section(
        "map",
        "The text, page by page",
        &html! {
            "Each cell is a page of " (shown::whole_bytes("page_size", pages.page_size.into()))
            ", each row " (crate::number::whole_bytes(row)) " of text, first page "
            "at the top left. Colour is the share of the page that was executed."
        },
        &html! {
            (legend())
            div.maps.single {
                (page_map(&pages.page_map, pages.page_size, width, "page_map", "The text"))
            }
        },
    )
}

fn fault_curve(pages: &PagesReport) -> Markup {
    let series = [Series {
        label: "touched",
        class: "before",
        points: &pages.curve.pages,
        events: pages.curve.events,
    }];
    section(
        "curve",
        "When pages are first touched",
        &html! {
            "The page-fault curve: distinct pages touched against events. The area under it is "
            (shown::rough("curve_area", pages.curve_area)) " page events."
        },
        &curve(&series, pages.curve.step, pages.minimum.function_pages),
    )
}

fn sections(pages: &PagesReport) -> Markup {
    let rows: Vec<Vec<Markup>> = pages
        .sections
        .iter()
        .enumerate()
        .map(|(place, section)| {
            let key = |name: &str| format!("sections.{place}.{name}");
            let minimum = section.minimum;
            vec![
                html! { code { (section.name) } },
                html! { code { (section.address) } },
                shown::bytes(&key("bytes"), section.bytes),
                shown::bytes(&key("executed_bytes"), section.executed_bytes),
                shown::count(&key("pages_spanned"), section.pages_spanned),
                shown::count(&key("touched"), section.touched),
                shown::count(&key("minimum.function_pages"), minimum.function_pages),
                shown::count(&key("minimum.executed_pages"), minimum.executed_pages),
            ]
        })
        .collect();
    let groups = [("", 2), ("size", 2), ("pages", 2), ("minimum", 2)];
    let columns = [
        text("section"),
        text("address"),
        number("all"),
        number("executed"),
        number("spanned"),
        number("touched"),
        number("functions"),
        number("bytes"),
    ];
    html! {
        @if !rows.is_empty() {
            (section(
                "sections",
                "Section by section",
                &html! {
                    "By address. A page on the border of two sections counts for both."
                },
                &grouped("Sections", &groups, &columns, &rows),
            ))
        }
    }
}

fn excess(pages: &PagesReport) -> Markup {
    let rows: Vec<Vec<Markup>> = pages
        .excess
        .iter()
        .enumerate()
        .map(|(place, cause)| {
            let key = format!("excess.{place}.pages");
            vec![html! { (cause.cause) }, shown::signed_tenths(&key, cause.pages)]
        })
        .collect();
    html! {
        @if !rows.is_empty() {
            (section(
                "excess",
                "Above the minimum",
                &html! { "Where the pages above the function-level minimum come from." },
                &table("Causes", &[text("cause"), number("pages")], &rows),
            ))
        }
    }
}

fn inputs(pages: &PagesReport) -> Markup {
    let (program, trace) = (&pages.program, &pages.trace);
    section(
        "inputs",
        "What was read",
        &html! { (trace.path) ": " (trace.kind) "." },
        &html! {
            (list([
                (program.path.as_str(), program.sha256.as_str()),
                (trace.path.as_str(), trace.sha256.as_str()),
            ].into_iter()))
            @if !pages.missing.is_empty() {
                h3 { "Not found in the program" }
                p.names { @for name in &pages.missing { code { (name) } " " } }
            }
        },
    )
}
