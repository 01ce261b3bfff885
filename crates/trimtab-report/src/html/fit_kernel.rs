//! The page of `trimtab fit kernel`: first the result, then why to believe it.

use super::figures::{Bar, bars};
use super::frame::{foot, page, section, tile};
use super::{evidence, provenance, shown};
use crate::model::{BeforeAfter, FitKernel, FitKernelSchema, Granularity};
use crate::svg::curve::{Series, curve};
use crate::svg::page_map::{columns, legend, page_map};
use maud::{Markup, html};

/// Columns up to which two page maps stand side by side.
const SIDE_BY_SIDE: usize = 64;

/// Renders `fit` as a whole HTML page.
pub fn fit_kernel(fit: &FitKernel) -> String {
    let body = html! {
        main {
            (hero(fit))
            (standing(fit))
            (maps(fit))
            (curves(fit))
            (evidence::held_out(fit))
            (evidence::cost(fit))
            (evidence::paper(fit))
            (evidence::excess(fit))
            (evidence::accounting(fit))
            (evidence::sections(fit))
            (evidence::checks(fit))
            (provenance::repeat(fit))
        }
        (foot(FitKernelSchema::NAME))
    };
    let title = format!("Linux {} fitted to its boot", fit.kernel.version);
    page(&title, &body, fit)
}

/// By how much the boot touches fewer pages, or more.
fn fewer(fit: &FitKernel) -> Markup {
    let share = f64::from(fit.touched.after) / f64::from(fit.touched.before);
    html! {
        @if share <= 1.0 {
            (shown::share("1-touched.after/touched.before", 1.0 - share)) " fewer"
        } @else {
            (shown::share("touched.after/touched.before-1", share - 1.0)) " more"
        }
    }
}

fn hero(fit: &FitKernel) -> Markup {
    html! {
        header.hero {
            p.eyebrow {
                b { "trimtab fit kernel" }
                span { "Linux " (fit.kernel.version) }
                span { (fit.kernel.arch) }
                span { "configuration " (fit.config) }
                span { "traced by " (fit.tracer) }
                @if fit.granularity == Granularity::Block { span { "split by blocks" } }
            }
            h1 {
                span.numbers {
                    span.before { (shown::count("touched.before", fit.touched.before)) }
                    span.arrow aria-label="to" { "→" }
                    span.after { (shown::count("touched.after", fit.touched.after)) }
                }
                span.what { "pages touched while booting" }
            }
            p.summary {
                (fewer(fit)) " text pages, at "
                (shown::times(
                    "touched.after/minimum.function_pages",
                    fit.ratio_to_minimum(),
                ))
                " the fewest that the executed functions fit into. " (evidence::tally(fit))
            }
            @let contradictions = fit.contradictions();
            @if !contradictions.is_empty() {
                div.alarm role="alert" {
                    p { b { "Numbers of this result contradict one another." } }
                    ul { @for sentence in &contradictions { li { (sentence) } } }
                }
            }
            dl.tiles { (tiles(fit)) }
        }
    }
}

fn tiles(fit: &FitKernel) -> Markup {
    let worst = fit.held_out.iter().enumerate().max_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio));
    let booted = fit.boot.booted;
    let image = fit.image.compressed_bytes;
    html! {
        (tile(
            &shown::times("touched.after/minimum.function_pages", fit.ratio_to_minimum()),
            "the function-level minimum",
            &html! {
                (shown::count("minimum.function_pages", fit.minimum.function_pages))
                " pages would do; before: "
                (shown::times(
                    "touched.before/minimum.function_pages",
                    crate::model::ratio(fit.touched.before, fit.minimum.function_pages),
                ))
            },
        ))
        @if let Some((place, boot)) = worst {
            (tile(
                &shown::times(&format!("held_out.{place}.ratio"), boot.ratio),
                "in the worst held-out boot",
                &html! { (boot.name) "; did not make the order" },
            ))
        }
        @if let Some(factor) = fit.shuffle_factor() {
            (tile(
                &shown::times_fewer(&format!("{}/touched.after", best_shuffle(fit)), factor),
                "fewer than random orders",
                &html! { "best of " (fit.touched.shuffled.len()) " shuffles" },
            ))
        }
        (tile(
            &html! {
                (shown::count("boot.booted.succeeded", booted.succeeded)) span.of { " of " }
                (shown::count("boot.booted.attempted", booted.attempted))
            },
            "boots came up",
            &html! { "of the kernel laid out" },
        ))
        @if let (Some(wall), Some(ratio)) = (&fit.boot.wall_seconds, &fit.boot.wall_ratio) {
            (tile(
                &shown::change_of("boot.wall_ratio.mean-1", BeforeAfter::new(1.0, ratio.mean)),
                "wall time of a boot",
                &html! {
                    @if ratio.contains(1.0) { "not told apart in " } @else { "beyond chance in " }
                    (shown::count("boot.wall_seconds.after.runs", wall.after.runs)) " paired runs"
                },
            ))
        }
        (tile(
            &shown::change("curve_area", fit.curve_area),
            "area under the fault curve",
            &html! {
                (shown::rough("curve_area.before", fit.curve_area.before)) " → "
                (shown::rough("curve_area.after", fit.curve_area.after)) " page events"
            },
        ))
        (tile(
            &shown::change("image.compressed_bytes", image.map(|bytes| *bytes as f64)),
            "compressed image",
            &html! {
                (shown::bytes("image.compressed_bytes.before", image.before)) " → "
                (shown::bytes("image.compressed_bytes.after", image.after))
            },
        ))
        (tile(
            &shown::share("coverage.bytes", fit.coverage.bytes),
            "of executed bytes resolved",
            &html! { (shown::share("coverage.names", fit.coverage.names)) " of function names" },
        ))
    }
}

/// Key of the random order that came out best.
fn best_shuffle(fit: &FitKernel) -> String {
    let best = fit.touched.shuffled.iter().enumerate().min_by_key(|(_, pages)| **pages);
    format!("touched.shuffled.{}", best.map_or(0, |(place, _)| place))
}

fn standing(fit: &FitKernel) -> Markup {
    let bar = |label: &str, class, key: &str, value| Bar {
        label: label.to_owned(),
        class,
        key: key.to_owned(),
        value,
    };
    let mut all: Vec<Bar> = fit
        .touched
        .shuffled
        .iter()
        .enumerate()
        .map(|(place, pages)| {
            let label = format!("random order {}", place + 1);
            bar(&label, "quiet", &format!("touched.shuffled.{place}"), *pages)
        })
        .collect();
    let minimum = fit.minimum;
    all.extend([
        bar("as built", "before", "touched.before", fit.touched.before),
        bar("laid out", "after", "touched.after", fit.touched.after),
        bar("function floor", "floor", "minimum.function_pages", minimum.function_pages),
        bar("byte floor", "floor", "minimum.executed_pages", minimum.executed_pages),
    ]);
    section(
        "standing",
        "Where it stands",
        &html! {
            "Text pages that one boot touches. The last two are floors: the fewest pages that the "
            "executed functions fit into whole, and the fewest if single bytes could be moved."
        },
        &bars(&all),
    )
}

fn maps(fit: &FitKernel) -> Markup {
    let width = columns(fit.page_map.before.len().max(fit.page_map.after.len()));
    let row = u64::from(fit.page_size) * width as u64;
    section(
        "map",
        "The text, page by page",
        &html! {
            "Each cell is a page of " (shown::whole_bytes("page_size", fit.page_size.into()))
            ", each row " (crate::number::whole_bytes(row)) " of text, first page "
            "at the top left. Colour is the share of the page that the boot executed."
        },
        &html! {
            (legend())
            // Side by side, the cells of wider maps would be too small to see.
            div.maps.stacked[width > SIDE_BY_SIDE] {
                div {
                    h3 {
                        "As built" small {
                            (shown::count("touched.before", fit.touched.before)) " of "
                            (shown::count("text.pages_spanned.before", fit.text.pages_spanned.before))
                        }
                    }
                    (page_map(&fit.page_map.before, fit.page_size, width, "page_map.before", "As built"))
                }
                div {
                    h3 {
                        "Laid out" small {
                            (shown::count("touched.after", fit.touched.after)) " of "
                            (shown::count("text.pages_spanned.after", fit.text.pages_spanned.after))
                        }
                    }
                    (page_map(&fit.page_map.after, fit.page_size, width, "page_map.after", "Laid out"))
                }
            }
        },
    )
}

fn curves(fit: &FitKernel) -> Markup {
    let series = [
        Series {
            label: "as built",
            class: "before",
            points: &fit.curve.before,
            events: fit.curve.events.before,
        },
        Series {
            label: "laid out",
            class: "after",
            points: &fit.curve.after,
            events: fit.curve.events.after,
        },
    ];
    section(
        "curve",
        "When pages are first touched",
        &html! {
            "The page-fault curve: distinct pages touched against events. The smaller the area "
            "under it, the later pages are needed; it changed by "
            (shown::change("curve_area", fit.curve_area)) ", from "
            (shown::rough("curve_area.before", fit.curve_area.before)) " to "
            (shown::rough("curve_area.after", fit.curve_area.after)) " page events."
        },
        &curve(&series, fit.curve.step, fit.minimum.function_pages),
    )
}
