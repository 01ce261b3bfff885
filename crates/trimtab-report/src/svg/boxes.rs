//! Figures that are made of words and boxes: bars, a stacked bar, a strip of runs.

use crate::common::BeforeAfter;
use crate::html::shown;
use crate::{number, phrase};
use maud::{Markup, html};
use trimtab_stats::{CONFIDENCE_TEXT, Estimate};

/// One bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it measures.
    pub label: String,
    /// Class that gives its colour.
    pub class: &'static str,
    /// Key of the value in the JSON.
    pub key: String,
    /// Pages.
    pub value: u32,
}

impl Bar {
    /// A bar of `value`, which is at `key` in the JSON, in the colour of `class`.
    pub fn new(
        label: impl Into<String>,
        class: &'static str,
        key: impl Into<String>,
        value: u32,
    ) -> Self {
        Self { label: label.into(), class, key: key.into(), value }
    }
}

/// Bars on one scale, longest full width.
pub fn bars(bars: &[Bar]) -> Markup {
    let most = f64::from(bars.iter().map(|bar| bar.value).max().unwrap_or(0).max(1));
    html! {
        dl.bars {
            @for bar in bars {
                div class=(bar.class) {
                    dt { (bar.label) }
                    dd {
                        i style={ "width:" (percent(f64::from(bar.value) / most)) } {}
                        (shown(&phrase::count(&bar.key, bar.value)))
                    }
                }
            }
        }
    }
}

/// Pages above a minimum by cause: one bar in parts, and its legend. `key` is where the causes are
/// in the JSON.
pub fn causes(key: &str, causes: &[(&str, &str, i64)]) -> Markup {
    let above: i64 = causes.iter().map(|(_, _, pages)| (*pages).max(0)).sum();
    let part = |pages: i64| percent(pages.max(0) as f64 / above.max(1) as f64);
    html! {
        div.stack aria-hidden="true" {
            @for (cause, _, pages) in causes {
                @if *pages > 0 { i class={ "cause-" (cause) } style={ "width:" (part(*pages)) } {} }
            }
        }
        dl.legend-list {
            @for (cause, name, pages) in causes {
                div {
                    dt { i class={ "swatch cause-" (cause) } {} (name) }
                    dd { (shown(&phrase::difference(format!("{key}.{cause}"), *pages))) }
                }
            }
        }
    }
}

/// Every run of both sides on one axis, with mean and confidence interval.
pub fn runs(sides: &BeforeAfter<Estimate>) -> Markup {
    let samples = || sides.before.samples.iter().chain(&sides.after.samples).copied();
    let (low, high) = samples()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), sample| (low.min(sample), high.max(sample)));
    // With nothing measured the fold leaves an infinite span; then there is nothing to draw.
    let span = if high > low { high - low } else { 1.0 };
    let place = |seconds: f64| percent((seconds - low) / span);
    html! {
        @if low.is_finite() {
            div.runs {
                @for (name, class, side) in
                    [("before", "before", &sides.before), ("after", "after", &sides.after)] {
                    div class=(class) role="img" aria-label=(describe(name, side)) {
                        span { (name) }
                        div {
                            @for sample in &side.samples { i style={ "left:" (place(*sample)) } {} }
                            b style={
                                "left:" (place(side.low))
                                ";width:" (percent((side.high - side.low) / span))
                            } {}
                            u style={ "left:" (place(side.mean)) } {}
                        }
                    }
                }
                div.scale aria-hidden="true" {
                    span {}
                    div { span { (number::seconds(low)) } span { (number::seconds(high)) } }
                }
            }
        }
    }
}

fn describe(name: &str, side: &Estimate) -> String {
    format!(
        "{} runs {name}: mean {}, {CONFIDENCE_TEXT} confidence interval {} to {}",
        side.runs,
        number::seconds(side.mean),
        number::seconds(side.low),
        number::seconds(side.high)
    )
}

/// A share as CSS length, kept inside its box.
fn percent(share: f64) -> String {
    format!("{:.3}%", share.clamp(0.0, 1.0) * 100.0)
}
