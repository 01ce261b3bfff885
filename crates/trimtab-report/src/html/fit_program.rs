//! The page of `trimtab fit program`: first the result, then why to believe it.

use super::figures::{Bar, bars, runs};
use super::frame::{foot, page, section, tile};
use super::provenance::list;
use super::shown;
use super::tables::{number, table, text};
use crate::model::{
    BeforeAfter, FitProgram, FitProgramSchema, Granularity, Interval, Measured, ObjectLayout,
};
use crate::svg::curve::{Series, curve};
use crate::svg::page_map::{columns, legend, page_map};
use maud::{Markup, html};

/// Columns up to which two page maps stand side by side.
const SIDE_BY_SIDE: usize = 64;

/// Renders `fit` as a whole HTML page.
pub fn fit_program(fit: &FitProgram) -> String {
    let body = html! {
        main {
            (hero(fit))
            (standing(fit))
            (maps(fit))
            (curves(fit))
            (cost(fit))
            (beside(fit))
            (held_out(fit))
            (libraries(fit))
            (accounting(fit))
            (repeat(fit))
        }
        (foot(FitProgramSchema::NAME))
    };
    page(&format!("{} fitted to its start", fit.program), &body, fit)
}

fn hero(fit: &FitProgram) -> Markup {
    let touched = &fit.layout.touched;
    let share = f64::from(touched.after) / f64::from(touched.before.max(1));
    html! {
        header.hero {
            p.eyebrow {
                b { "trimtab fit program" }
                span { (fit.program) }
                span { (fit.arch) }
                span { "linked by " (fit.linker) }
                span { "traced by " (fit.tracer) }
                @if fit.granularity == Granularity::Block { span { "split by blocks" } }
            }
            h1 {
                span.numbers {
                    span.before { (shown::count("touched.before", touched.before)) }
                    span.arrow aria-label="to" { "→" }
                    span.after { (shown::count("touched.after", touched.after)) }
                }
                span.what { "pages touched while starting" }
            }
            p.summary {
                @if share <= 1.0 {
                    (shown::share("1-touched.after/touched.before", 1.0 - share)) " fewer"
                } @else {
                    (shown::share("touched.after/touched.before-1", share - 1.0)) " more"
                }
                " text pages, at "
                (shown::times(
                    "touched.after/minimum.function_pages",
                    fit.layout.ratio_to_minimum(),
                ))
                " the fewest that the executed functions fit into."
            }
            @let failures = fit.failures();
            @if !failures.is_empty() {
                div.alarm role="alert" {
                    p { b { "Not everything holds." } }
                    ul { @for sentence in &failures { li { (sentence) } } }
                }
            }
            dl.tiles { (tiles(fit)) }
        }
    }
}

fn tiles(fit: &FitProgram) -> Markup {
    let sides = |key: &str, sides: BeforeAfter<f64>| {
        html! {
            (shown::plain(&format!("{key}.before"), sides.before)) " → "
            (shown::plain(&format!("{key}.after"), sides.after))
        }
    };
    html! {
        @if fit.faults.runs > 0 {
            (tile(
                &shown::change("faults.major", fit.faults.major),
                "major faults of a cold start",
                &sides("faults.major", fit.faults.major),
            ))
            (tile(
                &shown::change("resident_file_kib", fit.resident_file_kib),
                "of the file in memory",
                &html! { (sides("resident_file_kib", fit.resident_file_kib)) " KiB" },
            ))
            (tile(
                &shown::change("warm_minor_faults", fit.warm_minor_faults),
                "faults of a warm start",
                &sides("warm_minor_faults", fit.warm_minor_faults),
            ))
        }
        @if let Some(ratio) = fit.time_ratio {
            (tile(
                &shown::change_of("time_ratio.mean-1", BeforeAfter::new(1.0, ratio.mean)),
                "time of a cold start",
                &html! {
                    @if ratio.contains(1.0) { "not told apart in " } @else { "beyond chance in " }
                    (shown::count("faults.runs", fit.faults.runs)) " paired runs"
                },
            ))
        }
        @if let Some(factor) = fit.layout.shuffle_factor() {
            @let best = fit.layout.touched.shuffled.iter().enumerate().min_by_key(|(_, p)| **p);
            (tile(
                &shown::times_fewer(
                    &format!("touched.shuffled.{}/touched.after", best.map_or(0, |(at, _)| at)),
                    factor,
                ),
                "fewer than random orders",
                &html! { "best of " (fit.layout.touched.shuffled.len()) " shuffles, as placed" },
            ))
        }
        (tile(
            &shown::share("coverage.bytes", fit.layout.coverage.bytes),
            "of executed bytes resolved",
            &html! {
                (shown::share("coverage.names", fit.layout.coverage.names)) " of function names"
            },
        ))
    }
}

fn standing(fit: &FitProgram) -> Markup {
    let bar = |label: &str, class, key: &str, value| Bar {
        label: label.to_owned(),
        class,
        key: key.to_owned(),
        value,
    };
    let (touched, minimum) = (&fit.layout.touched, fit.layout.minimum);
    let mut all: Vec<Bar> = touched
        .shuffled
        .iter()
        .enumerate()
        .map(|(place, pages)| {
            let label = format!("random order {}", place + 1);
            bar(&label, "quiet", &format!("touched.shuffled.{place}"), *pages)
        })
        .collect();
    all.extend([
        bar("as built", "before", "touched.before", touched.before),
        bar("laid out", "after", "touched.after", touched.after),
        bar("function floor", "floor", "minimum.function_pages", minimum.function_pages),
        bar("byte floor", "floor", "minimum.executed_pages", minimum.executed_pages),
    ]);
    section(
        "standing",
        "Where it stands",
        &html! {
            "Text pages that one start touches. The last two are floors: the fewest pages that the "
            "executed functions fit into whole, and the fewest if single bytes could be moved."
        },
        &bars(&all),
    )
}

fn maps(fit: &FitProgram) -> Markup {
    let object = &fit.layout;
    let width = columns(object.page_map.before.len().max(object.page_map.after.len()));
    let side = |name: &str, side: &str, map: &[u32], touched: u32, spanned: u32| {
        html! {
            div {
                h3 {
                    (name) small {
                        (shown::count(&format!("touched.{side}"), touched)) " of "
                        (shown::count(&format!("text.pages_spanned.{side}"), spanned))
                    }
                }
                (page_map(map, fit.page_size, width, &format!("page_map.{side}"), name))
            }
        }
    };
    let spanned = object.text.pages_spanned;
    section(
        "map",
        "The text, page by page",
        &html! {
            "Each cell is a page of " (shown::whole_bytes("page_size", fit.page_size.into()))
            ", first page at the top left. Colour is the share of the page that the start executed."
        },
        &html! {
            (legend())
            div.maps.stacked[width > SIDE_BY_SIDE] {
                (side(
                    "As built", "before", &object.page_map.before, object.touched.before,
                    spanned.before,
                ))
                (side(
                    "Laid out", "after", &object.page_map.after, object.touched.after,
                    spanned.after,
                ))
            }
        },
    )
}

fn curves(fit: &FitProgram) -> Markup {
    let object = &fit.layout;
    let series = [
        Series {
            label: "as built",
            class: "before",
            points: &object.curve.before,
            events: object.curve.events.before,
        },
        Series {
            label: "laid out",
            class: "after",
            points: &object.curve.after,
            events: object.curve.events.after,
        },
    ];
    section(
        "curve",
        "When pages are first touched",
        &html! {
            "The page-fault curve: distinct pages touched against events. The area under it changed "
            "by " (shown::change("curve_area", object.curve_area)) ", from "
            (shown::rough("curve_area.before", object.curve_area.before)) " to "
            (shown::rough("curve_area.after", object.curve_area.after)) " page events."
        },
        &curve(&series, object.curve.step, object.minimum.function_pages),
    )
}

fn cost(fit: &FitProgram) -> Markup {
    let row = |name: Markup, key: &str, sides: BeforeAfter<f64>| {
        vec![
            name,
            shown::plain(&format!("{key}.before"), sides.before),
            shown::plain(&format!("{key}.after"), sides.after),
            shown::change(key, sides),
        ]
    };
    let mut rows = Vec::new();
    if fit.faults.runs > 0 {
        rows.extend([
            row(html! { "major faults " small { "cold" } }, "faults.major", fit.faults.major),
            row(html! { "minor faults " small { "cold" } }, "faults.minor", fit.faults.minor),
            row(
                html! { "file in memory " small { "cold, KiB" } },
                "resident_file_kib",
                fit.resident_file_kib,
            ),
            row(
                html! { "code in memory " small { "cold, KiB" } },
                "resident_text_kib",
                fit.resident_text_kib,
            ),
            row(
                html! { "minor faults " small { "warm" } },
                "warm_minor_faults",
                fit.warm_minor_faults,
            ),
        ]);
    }
    if let Some(instructions) = fit.instructions {
        rows.push(vec![
            html! { "instructions" },
            shown::count("instructions.before", instructions.before),
            shown::count("instructions.after", instructions.after),
            shown::change("instructions", instructions.map(|count| *count as f64)),
        ]);
    }
    if let Some(jumps) = fit.jumps_taken {
        rows.push(vec![
            html! { "jumps taken" },
            shown::count("jumps_taken.before", jumps.before),
            shown::count("jumps_taken.after", jumps.after),
            shown::change("jumps_taken", jumps.map(|count| *count as f64)),
        ]);
    }
    let columns = [text("cost of a start"), number("before"), number("after"), number("change")];
    let timed = |name: &str, key: &str, sides: &BeforeAfter<Measured>, ratio: &Interval| {
        html! {
            h3 { (name) }
            (runs(sides))
            p.verdict {
                "After over before, from pairs: "
                b { (shown::ratio(&format!("{key}.mean"), ratio.mean)) } " ("
                (shown::ratio(&format!("{key}.low"), ratio.low)) " to "
                (shown::ratio(&format!("{key}.high"), ratio.high)) "). "
                @if ratio.contains(1.0) {
                    "The interval holds 1: these runs show no difference."
                } @else if ratio.high < 1.0 {
                    "The interval lies below 1: it became faster."
                } @else {
                    "The interval lies above 1: it became slower."
                }
            }
        }
    };
    html! {
        @if !rows.is_empty() {
            (section(
                "cost",
                "What a start costs",
                &html! {
                    "Means of " (shown::count("faults.runs", fit.faults.runs))
                    " starts of each side, in turn. Cold: no page of the files that were laid out is "
                    "in memory, all others may be; "
                    @if let Some(kib) = fit.faults.read_ahead_kib {
                        "faults and pages are counted on a disk that reads ahead by "
                        (shown::count("faults.read_ahead_kib", kib)) " KiB. "
                    } @else { "faults and pages are counted on the machine's disk. " }
                    "Linux maps pages around a fault and reads ahead, "
                    "so faults alone mislead: see what came into memory, too."
                },
                &html! {
                    (table("Cost of a start", &columns, &rows))
                    @if let Some(time) = &fit.time {
                        @if let Some(ratio) = &fit.time_ratio {
                            (timed("Time of a cold start", "time_ratio", &time.cold, ratio))
                        }
                        @if let (Some(first), Some(ratio)) =
                            (&time.first_output, &fit.first_output_ratio) {
                            (timed("Time to the first output", "first_output_ratio", first, ratio))
                        }
                        @if let Some(ratio) = &fit.warm_time_ratio {
                            (timed("Time of a warm start", "warm_time_ratio", &time.warm, ratio))
                        }
                    }
                },
            ))
        }
    }
}

fn beside(fit: &FitProgram) -> Markup {
    let plain = |key: String, value: f64| shown::plain(&key, value);
    let ours = |name: &str, side: &str, of: fn(&BeforeAfter<f64>) -> f64| {
        vec![
            html! { (name) },
            plain(format!("faults.major.{side}"), of(&fit.faults.major)),
            plain(format!("resident_file_kib.{side}"), of(&fit.resident_file_kib)),
            plain(format!("warm_minor_faults.{side}"), of(&fit.warm_minor_faults)),
        ]
    };
    let mut rows = vec![
        ours("as built", "before", |sides| sides.before),
        ours("trimtab", "after", |sides| sides.after),
    ];
    rows.extend(fit.beside.iter().enumerate().map(|(place, other)| {
        let key = |name: &str| format!("beside.{place}.{name}");
        vec![
            html! { (other.name) },
            plain(key("major_faults"), other.major_faults),
            plain(key("resident_file_kib"), other.resident_file_kib),
            plain(key("warm_minor_faults"), other.warm_minor_faults),
        ]
    }));
    let columns = [
        text("version"),
        number("major faults, cold"),
        number("file in memory, KiB"),
        number("minor faults, warm"),
    ];
    html! {
        @if !fit.beside.is_empty() {
            (section(
                "beside",
                "Beside it",
                &html! { "Versions of the same program that other tools made, started in turn with ours." },
                &table("Versions", &columns, &rows),
            ))
        }
    }
}

fn held_out(fit: &FitProgram) -> Markup {
    let rows: Vec<Vec<Markup>> = fit
        .held_out
        .iter()
        .enumerate()
        .map(|(place, run)| {
            let key = |name: &str| format!("held_out.{place}.{name}");
            vec![
                html! { code { (run.name) } },
                shown::count(&key("touched_before"), run.touched_before),
                shown::count(&key("touched_after"), run.touched_after),
                shown::count(&key("minimum_function_pages"), run.minimum_function_pages),
                html! { b { (shown::times(&key("ratio"), run.ratio)) } },
            ]
        })
        .collect();
    let columns = [
        text("run"),
        number("before"),
        number("after"),
        number("its minimum"),
        number("after / minimum"),
    ];
    html! {
        @if !rows.is_empty() {
            (section(
                "held-out",
                "Runs that did not make the order",
                &html! {
                    "A layout that fits only the run it was made from proves nothing. Each is held "
                    "against its own minimum."
                },
                &table("Held-out runs", &columns, &rows),
            ))
        }
    }
}

fn libraries(fit: &FitProgram) -> Markup {
    let row = |(place, object): (usize, &ObjectLayout)| {
        let key = |name: &str| format!("libraries.{place}.{name}");
        vec![
            html! { code { (object.file) } },
            shown::count(&key("text.pages_spanned.before"), object.text.pages_spanned.before),
            shown::count(&key("touched.before"), object.touched.before),
            shown::count(&key("touched.after"), object.touched.after),
            shown::count(&key("minimum.function_pages"), object.minimum.function_pages),
        ]
    };
    let rows: Vec<Vec<Markup>> = fit.libraries.iter().enumerate().map(row).collect();
    let columns = [
        text("library"),
        number("text pages"),
        number("touched before"),
        number("touched after"),
        number("minimum"),
    ];
    html! {
        @if !rows.is_empty() {
            (section(
                "libraries",
                "Shared libraries",
                &html! { "Laid out as well, each in an order of its own." },
                &table("Shared libraries", &columns, &rows),
            ))
        }
    }
}

fn accounting(fit: &FitProgram) -> Markup {
    let (order, object) = (fit.layout.order, &fit.layout);
    let fates = [
        ("order.placed", "placed", order.placed, "stands where the order says"),
        ("misplaced", "misplaced", object.misplaced, "is in the text, but not there"),
        ("order.duplicate", "duplicate", order.duplicate, "a name that occurs more than once"),
        ("order.discarded", "discarded", order.discarded, "thrown away by the linker"),
        ("order.unknown", "unknown", order.unknown, "no such name in the program"),
    ];
    let rows: Vec<Vec<Markup>> = fates
        .iter()
        .map(|(key, name, lines, meaning)| {
            vec![html! { (name) }, shown::count(key, *lines), html! { (meaning) }]
        })
        .collect();
    let checks: Vec<Vec<Markup>> = fit
        .checks
        .iter()
        .map(|check| {
            let class = if check.ok { "mark good" } else { "mark bad" };
            let word = if check.ok { "✓ holds" } else { "✗ fails" };
            vec![
                html! { (check.name) },
                html! { span.detail { (check.detail) } },
                html! { span class=(class) { (word) } },
            ]
        })
        .collect();
    section(
        "checks",
        "The order and what must hold",
        &html! {
            "From " (shown::count("functions.executed", object.functions.executed))
            " executed functions of " (shown::count("functions.total", object.functions.total))
            "; " (shown::share("separate", object.separate))
            " of the text is in sections of single functions."
        },
        &html! {
            (table("Lines of the order", &[text("fate"), number("lines"), text("meaning")], &rows))
            @if !checks.is_empty() {
                (table("Checks", &[text("check"), text("found"), text("")], &checks))
            }
        },
    )
}

fn repeat(fit: &FitProgram) -> Markup {
    let files = &fit.artifacts;
    let mut paths = vec![
        ("before", files.program_before.as_str()),
        ("after", files.program_after.as_str()),
        ("trace", files.trace.as_str()),
    ];
    paths.extend(files.order_files.iter().map(|file| ("order", file.as_str())));
    paths.extend(files.html.as_deref().map(|file| ("this page", file)));
    section(
        "repeat",
        "How to repeat it",
        &html! {
            "Seed " (shown::count("repeat.seed", fit.repeat.seed)) ". This run took "
            (shown::seconds("seconds.total", fit.seconds.total)) ": build "
            (shown::seconds("seconds.build", fit.seconds.build)) ", trace "
            (shown::seconds("seconds.trace", fit.seconds.trace)) ", layout "
            (shown::seconds("seconds.layout", fit.seconds.layout)) ", second build "
            (shown::seconds("seconds.relink", fit.seconds.relink)) "."
        },
        &html! {
            pre { code { (fit.repeat.command) } }
            p { "To keep it: " (files.use_it) "." }
            div.facts {
                div {
                    h3 { "Tools" }
                    (list(fit.repeat.tool_versions.iter().map(|(a, b)| (a.as_str(), b.as_str()))))
                }
                div {
                    h3 { "Files" }
                    (list(paths.into_iter()))
                }
                div.wide {
                    h3 { "SHA-256" }
                    (list(fit.repeat.inputs.iter().map(|(a, b)| (a.as_str(), b.as_str()))))
                }
            }
        },
    )
}
