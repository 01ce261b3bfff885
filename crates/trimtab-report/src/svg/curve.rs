//! The page-fault curve: distinct pages touched against events.

use crate::number;
use maud::{Markup, html};
use std::fmt::Write;

/// Height of the plot in CSS pixels; the style sheet has the same number.
const HEIGHT: f64 = 320.0;
/// Least distance between two labels, in CSS pixels.
const LABEL: f64 = 19.0;
/// Side of the square that the shapes are drawn in, before they are stretched to the plot.
const SIDE: f64 = 1000.0;

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What it is, for its label.
    pub label: String,
    /// Class that gives its colour.
    pub class: &'static str,
    /// Distinct pages touched; see the model on which event each point stands for.
    pub points: Vec<u32>,
    /// Events in all.
    pub events: u64,
}

/// Draws `series`, a point every `step` events, and a line at `minimum` pages.
pub fn curve(series: &[Series], step: u32, minimum: u32) -> Markup {
    let events = series.iter().map(|one| one.events).max().unwrap_or(0).max(1) as f64;
    let most = series.iter().filter_map(|one| one.points.last()).max().copied().unwrap_or(0);
    let y_ticks = ticks(f64::from(most.max(minimum).max(1)) * 1.04, 6.0);
    let x_ticks = ticks(events, 5.0);
    let top = y_ticks.last().copied().unwrap_or(1.0);
    let high = |pages: f64| 1.0 - pages / top;
    let percent = |share: f64| format!("{:.3}%", share * 100.0);
    html! {
        figure.curve {
            figcaption.axis-y { "distinct text pages touched" }
            div.plot {
                svg role="img" aria-label=(describe(series, minimum)) preserveAspectRatio="none"
                    viewBox={ "0 0 " (SIDE) " " (SIDE) } {
                    @for tick in &y_ticks {
                        path.grid d={ "M0 " (point(high(*tick) * SIDE)) "H" (SIDE) } {}
                    }
                    @for one in series {
                        path class={ "area " (one.class) }
                            d={ (line(one, step, events, top)) "V" (SIDE) "H0z" } {}
                    }
                    path.minimum d={
                        "M0 " (point(high(minimum.into()) * SIDE)) "H" (SIDE)
                    } {}
                    @for one in series {
                        path class={ "line " (one.class) } d=(line(one, step, events, top)) {}
                    }
                }
                @for tick in &y_ticks {
                    span.tick-y style={ "top:" (percent(high(*tick))) } {
                        (number::count(*tick as u64))
                    }
                }
                @for tick in &x_ticks {
                    span.tick-x style={ "left:" (percent(tick / events)) } {
                        (number::count(*tick as u64))
                    }
                }
                @for (class, text, pixels) in labels(series, minimum, top) {
                    span class={ "label " (class) } style={ "top:" (format!("{pixels:.1}")) "px" } {
                        (text)
                    }
                }
            }
            figcaption.axis-x { "events of the trace" }
        }
    }
}

/// The curves in words.
pub fn describe(series: &[Series], minimum: u32) -> String {
    let mut text = "Page-fault curve.".to_owned();
    for one in series {
        let end = one.points.last().copied().unwrap_or(0);
        let half = one.points.get(one.points.len() / 2).copied().unwrap_or(0);
        let _ = write!(
            text,
            " {}: {} pages after half of {} events, {} in the end.",
            one.label,
            number::count(half.into()),
            number::count(one.events),
            number::count(end.into())
        );
    }
    let _ = write!(text, " Function-level minimum: {}.", number::count(minimum.into()));
    text
}

/// A line from no pages at no event to the last point.
fn line(one: &Series, step: u32, events: f64, top: f64) -> String {
    let mut path = format!("M0 {SIDE}");
    for (place, pages) in one.points.iter().enumerate() {
        let event = ((place as u64 + 1) * u64::from(step.max(1))).min(one.events.max(1));
        let x = event as f64 / events * SIDE;
        let y = (1.0 - f64::from(*pages) / top) * SIDE;
        let _ = write!(path, "L{} {}", point(x), point(y));
    }
    path
}

/// A coordinate to a tenth: finer than any screen draws it.
fn point(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Labels of the ends of the curves and of the minimum: class, text, and distance from the top in
/// pixels, moved apart where they would overlap.
fn labels(series: &[Series], minimum: u32, top: f64) -> Vec<(&'static str, String, f64)> {
    let place = |pages: u32| (1.0 - f64::from(pages) / top) * HEIGHT;
    let mut labels: Vec<(&'static str, String, f64)> = series
        .iter()
        .map(|one| {
            let end = one.points.last().copied().unwrap_or(0);
            (one.class, format!("{} {}", number::count(end.into()), one.label), place(end))
        })
        .collect();
    let text = format!("{} minimum", number::count(minimum.into()));
    labels.push(("floor", text, place(minimum)));
    labels.sort_by(|a, b| b.2.total_cmp(&a.2));
    let mut limit = HEIGHT;
    for label in &mut labels {
        label.2 = label.2.min(limit);
        limit = label.2 - LABEL;
    }
    labels
}

/// Round numbers from 0, about `count` steps, the last one at or above `most` for `count` above 5,
/// at or below otherwise: the plot's height is rounded up, its width is not.
fn ticks(most: f64, count: f64) -> Vec<f64> {
    let raw = (most / count).max(1.0);
    let power = 10_f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= raw && (factor * power).fract() == 0.0)
        .unwrap_or(10.0);
    let step = factor * power;
    let last = if count > 5.0 { (most / step).ceil() } else { (most / step).floor() };
    (0..=last as u64).map(|tick| tick as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(842.0, 6.0), [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]);
        assert_eq!(ticks(3887.0, 5.0), [0.0, 1000.0, 2000.0, 3000.0]);
        assert_eq!(ticks(1.0, 6.0), [0.0, 1.0]);
    }

    #[test]
    fn labels_do_not_overlap() {
        let series = |class: &'static str, points| Series {
            label: class.to_owned(),
            class,
            points: vec![points],
            events: 1,
        };
        let labels = labels(&[series("a", 289), series("b", 290)], 288, 1000.0);
        for pair in labels.windows(2) {
            assert!(pair[0].2 - pair[1].2 >= LABEL, "{labels:?}");
        }
    }

    proptest! {
        #[test]
        fn ticks_are_few(most in 1.0f64..1e12) {
            let found = ticks(most, 6.0);
            prop_assert!(found.len() >= 2 && found.len() <= 9, "{:?}", found);
            prop_assert!(found.last().unwrap() >= &most);
        }
    }
}
