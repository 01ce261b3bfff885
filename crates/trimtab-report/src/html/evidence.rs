//! Why to believe the result: other boots, what a boot costs, the paper, every page accounted for.

use super::figures;
use super::frame::section;
use super::shown;
use super::tables::{grouped, number, table, text};
use crate::model::{BeforeAfter, Booted, FitKernel, Interval, TargetSense};
use crate::number as say;
use crate::paper::BOOST;
use maud::{Markup, html};

fn booted(key: &str, booted: Booted) -> Markup {
    html! {
        (shown::count(&format!("{key}.succeeded"), booted.succeeded)) " of "
        (shown::count(&format!("{key}.attempted"), booted.attempted))
    }
}

/// How many targets and checks hold, in a sentence with links.
pub fn tally(fit: &FitKernel) -> Markup {
    let met = fit.targets.iter().filter(|target| target.met).count();
    let held = fit.checks.iter().filter(|check| check.ok).count();
    html! {
        @if !fit.targets.is_empty() {
            a href="#checks" class=(class(met == fit.targets.len())) {
                (met) " of " (fit.targets.len()) " targets met"
            }
        }
        @if !fit.targets.is_empty() && !fit.checks.is_empty() { ", " }
        @if !fit.checks.is_empty() {
            a href="#checks" class=(class(held == fit.checks.len())) {
                (held) " of " (fit.checks.len()) " checks hold"
            }
        }
        @if !fit.targets.is_empty() || !fit.checks.is_empty() { "." }
    }
}

fn class(good: bool) -> &'static str {
    if good { "good" } else { "bad" }
}

/// The boots that did not make the order.
pub fn held_out(fit: &FitKernel) -> Markup {
    let rows: Vec<Vec<Markup>> = fit
        .held_out
        .iter()
        .enumerate()
        .map(|(place, boot)| {
            let key = |name: &str| format!("held_out.{place}.{name}");
            let sides =
                BeforeAfter::new(f64::from(boot.touched_before), f64::from(boot.touched_after));
            let change = format!("{}/{}-1", key("touched_after"), key("touched_before"));
            let minimum = key("minimum_function_pages");
            vec![
                html! { (boot.name) },
                shown::count(&key("touched_before"), boot.touched_before),
                shown::count(&key("touched_after"), boot.touched_after),
                shown::change_of(&change, sides),
                shown::count(&minimum, boot.minimum_function_pages),
                html! { b { (shown::times(&key("ratio"), boot.ratio)) } },
                booted(&key("booted"), boot.booted),
            ]
        })
        .collect();
    let columns = [
        text("boot"),
        number("before"),
        number("after"),
        number("change"),
        number("its minimum"),
        number("after / minimum"),
        number("came up"),
    ];
    html! {
        @if !rows.is_empty() {
            (section(
                "held-out",
                "Boots that did not make the order",
                &html! {
                    "A layout that fits only the boot it was made from proves nothing. These ran "
                    "the same two kernels in other circumstances, each held against its own minimum."
                },
                &table("Held-out boots", &columns, &rows),
            ))
        }
    }
}

/// Instructions, virtual time, wall time.
pub fn cost(fit: &FitKernel) -> Markup {
    let boot = &fit.boot;
    let instructions = boot.instructions;
    let mut rows = vec![
        vec![
            html! { "instructions " small { "exact" } },
            shown::count("boot.instructions.before", instructions.before),
            shown::count("boot.instructions.after", instructions.after),
            shown::change("boot.instructions", instructions.map(|count| *count as f64)),
        ],
        vec![
            html! { "virtual time " small { "exact" } },
            shown::seconds("boot.virtual_seconds.before", boot.virtual_seconds.before),
            shown::seconds("boot.virtual_seconds.after", boot.virtual_seconds.after),
            shown::change("boot.virtual_seconds", boot.virtual_seconds),
        ],
    ];
    if let Some(wall) = &boot.wall_seconds {
        let side = |name: &str, side: &crate::model::Measured| {
            let key = |field: &str| format!("boot.wall_seconds.{name}.{field}");
            html! {
                (shown::seconds(&key("mean"), side.mean)) " "
                small {
                    (shown::seconds(&key("low"), side.low)) " to "
                    (shown::seconds(&key("high"), side.high))
                }
            }
        };
        rows.push(vec![
            html! {
                "wall time "
                small { "mean of " (shown::count("boot.wall_seconds.after.runs", wall.after.runs)) }
            },
            side("before", &wall.before),
            side("after", &wall.after),
            shown::change_of(
                "boot.wall_seconds.after.mean/boot.wall_seconds.before.mean-1",
                wall.map(|side| side.mean),
            ),
        ]);
    }
    let columns = [text("cost of a boot"), number("before"), number("after"), number("change")];
    section(
        "cost",
        "What a boot costs",
        &html! {
            "Instructions and virtual time come from the emulator's instruction count and repeat "
            "exactly. Wall time is noisy: the two kernels booted in turn, intervals are of 95 % "
            "confidence."
        },
        &html! {
            (table("Cost of a boot", &columns, &rows))
            @if let Some(wall) = &boot.wall_seconds { (figures::runs(wall)) }
            @if let Some(interval) = &boot.wall_ratio { (verdict(interval)) }
        },
    )
}

fn verdict(interval: &Interval) -> Markup {
    html! {
        p.verdict {
            "Wall time after over before, from pairs: "
            b { (shown::ratio("boot.wall_ratio.mean", interval.mean)) } " ("
            (shown::ratio("boot.wall_ratio.low", interval.low)) " to "
            (shown::ratio("boot.wall_ratio.high", interval.high)) "). "
            @if interval.contains(1.0) {
                "The interval holds 1: these runs show no difference."
            } @else if interval.high < 1.0 {
                "The interval lies below 1: the boot became faster."
            } @else {
                "The interval lies above 1: the boot became slower."
            }
        }
    }
}

/// The published numbers beside ours.
pub fn paper(fit: &FitKernel) -> Markup {
    let theirs = |before: String, after: String, change: String| {
        [html! { (before) }, html! { (after) }, html! { (change) }]
    };
    let counts = |(before, after): (u64, u64)| {
        theirs(say::count(before), say::count(after), say::change(before as f64, after as f64))
    };
    let megabytes = |(before, after): (u64, u64)| {
        let change = say::change(before as f64, after as f64);
        theirs(format!("{before} MB"), format!("{after} MB"), change)
    };
    let none = || html! {};
    let row = |name: &str, [a, b, c]: [Markup; 3], [d, e, f]: [Markup; 3]| {
        vec![html! { (name) }, a, b, c, d, e, f]
    };
    let (text_pages, image) = (fit.text.pages_spanned, &fit.image);
    let sizes = |key: &str, sides: BeforeAfter<u64>| {
        [
            shown::bytes(&format!("{key}.before"), sides.before),
            shown::bytes(&format!("{key}.after"), sides.after),
            shown::change(key, sides.map(|bytes| *bytes as f64)),
        ]
    };
    let touched = BeforeAfter::new(f64::from(fit.touched.before), f64::from(fit.touched.after));
    let minimum = fit.minimum.function_pages;
    let mut rows = vec![
        row(
            "text pages",
            counts(BOOST.pages_spanned),
            [
                shown::count("text.pages_spanned.before", text_pages.before),
                shown::count("text.pages_spanned.after", text_pages.after),
                shown::change("text.pages_spanned", text_pages.map(|pages| f64::from(*pages))),
            ],
        ),
        row(
            "pages touched",
            counts(BOOST.touched),
            [
                shown::count("touched.before", fit.touched.before),
                shown::count("touched.after", fit.touched.after),
                shown::change("touched", touched),
            ],
        ),
        row(
            "function-level minimum",
            theirs(String::new(), say::count(BOOST.minimum), String::new()),
            [none(), shown::count("minimum.function_pages", minimum), none()],
        ),
        row(
            "touched / minimum",
            theirs(
                say::times(BOOST.touched.0 as f64 / BOOST.minimum as f64),
                say::times(BOOST.ratio()),
                String::new(),
            ),
            [
                shown::times(
                    "touched.before/minimum.function_pages",
                    crate::model::ratio(fit.touched.before, minimum),
                ),
                shown::times("touched.after/minimum.function_pages", fit.ratio_to_minimum()),
                none(),
            ],
        ),
        row("vmlinux", megabytes(BOOST.vmlinux), sizes("image.vmlinux_bytes", image.vmlinux_bytes)),
        row(
            "boot image",
            megabytes(BOOST.image),
            sizes("image.compressed_bytes", image.compressed_bytes),
        ),
    ];
    let time = match &fit.boot.wall_seconds {
        None => [none(), none(), none()],
        Some(wall) => [
            shown::seconds("boot.wall_seconds.before.mean", wall.before.mean),
            shown::seconds("boot.wall_seconds.after.mean", wall.after.mean),
            shown::change_of(
                "boot.wall_seconds.after.mean/boot.wall_seconds.before.mean-1",
                wall.map(|side| side.mean),
            ),
        ],
    };
    let published = theirs(String::new(), String::new(), BOOST.boot_time.to_owned());
    rows.push(row("kernel boot time", published, time));
    let columns = [
        text(""),
        number("before"),
        number("after"),
        number("change"),
        number("before"),
        number("after"),
        number("change"),
    ];
    section(
        "paper",
        "The paper beside ours",
        &html! {
            (BOOST.source) ": " (BOOST.machine) ", mean of " (BOOST.boots) " boots. Another kernel "
            "on another machine: compare the shape, not the counts."
        },
        &grouped(
            "The paper beside ours",
            &[("", 1), ("paper", 3), ("this run", 3)],
            &columns,
            &rows,
        ),
    )
}

/// Every page above the minimum, by cause.
pub fn excess(fit: &FitKernel) -> Markup {
    let total = fit.excess.total();
    let key = "touched.after-minimum.function_pages";
    section(
        "excess",
        "Pages above the minimum",
        &html! {
            (shown::signed(key, total))
            " pages over the function-level minimum, each with its cause."
        },
        &html! {
            (figures::excess("excess", &fit.excess.causes()))
            @if let Some(parts) = &fit.byte_excess {
                h3 { "Above the minimum of executed bytes" }
                p {
                    (shown::signed("touched.after-minimum.executed_pages", parts.total()))
                    " pages: "
                    (shown::count("split.functions", fit.split.functions))
                    " functions were split, and of what ran only this is left."
                }
                (figures::excess("byte_excess", &parts.causes()))
            }
        },
    )
}

/// What became of the order's lines and of the trace's functions.
pub fn accounting(fit: &FitKernel) -> Markup {
    let order = fit.order;
    let fates = [
        ("placed", order.placed, "stands where the order says"),
        ("pinned", order.pinned, "kept by the kernel in a section of its own"),
        ("duplicate", order.duplicate, "a name that occurs more than once"),
        ("discarded", order.discarded, "thrown away by the linker"),
        ("unknown", order.unknown, "no such name in the kernel"),
    ];
    let rows: Vec<Vec<Markup>> = fates
        .iter()
        .map(|(name, lines, meaning)| {
            vec![
                html! { (name) },
                shown::count(&format!("order.{name}"), *lines),
                html! { (meaning) },
            ]
        })
        .collect();
    section(
        "order",
        "Every line of the order",
        &html! {
            (say::count(order.total())) " lines, from "
            (shown::count("functions.executed", fit.functions.executed)) " executed functions of "
            (shown::count("functions.total", fit.functions.total)) "."
        },
        &html! {
            (table("Lines of the order", &[text("fate"), number("lines"), text("meaning")], &rows))
            @if let Some(seen) = &fit.ftrace {
                @let hidden = seen.invisible;
                h3 { "What ftrace cannot see" }
                p {
                    "Of the same boot, ftrace saw "
                    (shown::count("ftrace.functions_ftrace", seen.functions_ftrace))
                    " functions, the plugin "
                    (shown::count("ftrace.functions_plugin", seen.functions_plugin))
                    @if seen.contained { ", and all of ftrace's are among them. " }
                    @else { ". " b.bad { "Some of ftrace's are not among them. " } }
                    "Invisible to ftrace: "
                    (shown::count("ftrace.invisible.before_start", hidden.before_start))
                    " ran before it started, "
                    (shown::count("ftrace.invisible.noinstr", hidden.noinstr)) " are noinstr, "
                    (shown::count("ftrace.invisible.entry", hidden.entry)) " entry code, "
                    (shown::count("ftrace.invisible.other", hidden.other)) " others."
                }
            }
        },
    )
}

/// The input regions of the text.
pub fn sections(fit: &FitKernel) -> Markup {
    let rows: Vec<Vec<Markup>> = fit
        .sections
        .iter()
        .enumerate()
        .map(|(place, region)| {
            let key = |name: &str| format!("sections.{place}.{name}");
            vec![
                html! { code { (region.name) } },
                shown::count(&key("pages_spanned.before"), region.pages_spanned.before),
                shown::count(&key("pages_spanned.after"), region.pages_spanned.after),
                shown::count(&key("touched.before"), region.touched.before),
                shown::count(&key("touched.after"), region.touched.after),
                shown::bytes(&key("executed_bytes"), region.executed_bytes),
            ]
        })
        .collect();
    let groups = [("", 1), ("pages spanned", 2), ("pages touched", 2), ("executed", 1)];
    let columns = [
        text("section"),
        number("before"),
        number("after"),
        number("before"),
        number("after"),
        number("bytes"),
    ];
    html! {
        @if !rows.is_empty() {
            (section(
                "sections",
                "Section by section",
                &html! {
                    "Input regions of the text, by address. A page on the border of two counts "
                    "for both."
                },
                &grouped("Sections", &groups, &columns, &rows),
            ))
        }
    }
}

/// Targets and checks.
pub fn checks(fit: &FitKernel) -> Markup {
    let targets: Vec<Vec<Markup>> = fit
        .targets
        .iter()
        .enumerate()
        .map(|(place, target)| {
            let sense = match target.sense {
                TargetSense::AtMost => "≤ ",
                TargetSense::AtLeast => "≥ ",
            };
            vec![
                html! { (target.name) },
                shown::plain(&format!("targets.{place}.value"), target.value),
                html! { (sense) (shown::plain(&format!("targets.{place}.limit"), target.limit)) },
                mark(target.met, "met", "missed"),
            ]
        })
        .collect();
    let checks: Vec<Vec<Markup>> = fit
        .checks
        .iter()
        .map(|check| {
            vec![
                html! { (check.name) },
                html! { span.detail { (check.detail) } },
                mark(check.ok, "holds", "fails"),
            ]
        })
        .collect();
    html! {
        @if !targets.is_empty() || !checks.is_empty() {
            (section(
                "checks",
                "Targets and checks",
                &html! { "Numbers to reach, and what must hold of the kernel laid out." },
                &html! {
                    @if !targets.is_empty() {
                        (table(
                            "Targets",
                            &[text("target"), number("found"), number("limit"), text("")],
                            &targets,
                        ))
                    }
                    @if !checks.is_empty() {
                        (table("Checks", &[text("check"), text("found"), text("")], &checks))
                    }
                },
            ))
        }
    }
}

/// A mark and a word: colour alone is not for everyone.
fn mark(good: bool, yes: &str, no: &str) -> Markup {
    html! {
        span class={ "mark " (class(good)) } {
            span aria-hidden="true" { (if good { "✓" } else { "✗" }) } " "
            (if good { yes } else { no })
        }
    }
}
