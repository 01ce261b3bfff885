//! Lines over named steps, such as thresholds or cache sizes.

use crate::number;
use maud::{Markup, html};
use std::fmt::Write;

/// Side of the square that the shapes are drawn in, before they are stretched to the plot.
const SIDE: f64 = 1000.0;

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What it is, for the legend.
    pub label: String,
    /// Class that gives its colour.
    pub class: &'static str,
    /// Whether it is drawn broken.
    pub broken: bool,
    /// A value for each step.
    pub values: Vec<f64>,
}

/// How values become heights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// In proportion.
    Linear,
    /// By their logarithm: each line of the grid is ten times the one below.
    Logarithmic,
}

/// Draws `lines` over `steps`; `what` says what the values are, `along` what the steps are.
pub fn steps(what: &str, along: &str, steps: &[String], lines: &[Line], scale: Scale) -> Markup {
    let most = lines.iter().flat_map(|line| &line.values).copied().fold(0.0, f64::max).max(1.0);
    let ticks = ticks(most, scale);
    let top = ticks.last().copied().unwrap_or(1.0);
    let high = |value: f64| match scale {
        Scale::Linear => 1.0 - value / top,
        Scale::Logarithmic => 1.0 - value.max(1.0).log10() / top.log10().max(1.0),
    };
    let across = |place: usize| place as f64 / (steps.len().max(2) - 1) as f64;
    let percent = |share: f64| format!("{:.3}%", share * 100.0);
    html! {
        figure.curve.steps {
            figcaption.axis-y { (what) }
            div.plot {
                svg role="img" aria-label=(describe(what, steps, lines)) preserveAspectRatio="none"
                    viewBox={ "0 0 " (SIDE) " " (SIDE) } {
                    @for tick in &ticks {
                        path.grid d={ "M0 " (format!("{:.1}", high(*tick) * SIDE)) "H" (SIDE) } {}
                    }
                    @for line in lines {
                        path class={ "line " (line.class) (broken(line)) } d=(path(line, across, high)) {}
                    }
                }
                @for tick in &ticks {
                    span.tick-y style={ "top:" (percent(high(*tick))) } { (number::plain(*tick)) }
                }
                @for (place, step) in steps.iter().enumerate() {
                    span.tick-x style={ "left:" (percent(across(place))) } { (step) }
                }
            }
            figcaption.axis-x { (along) }
            p.legend {
                @for line in lines {
                    i class={ "swatch " (line.class) (broken(line)) } {}
                    (line.label)
                }
            }
        }
    }
}

/// A further class of what is drawn broken.
fn broken(line: &Line) -> &'static str {
    if line.broken { " broken" } else { "" }
}

fn path(line: &Line, across: impl Fn(usize) -> f64, high: impl Fn(f64) -> f64) -> String {
    let mut text = String::new();
    for (place, value) in line.values.iter().enumerate() {
        let command = if place == 0 { 'M' } else { 'L' };
        let (x, y) = (across(place) * SIDE, high(*value) * SIDE);
        // Writing to a string does not fail.
        let _ = write!(text, "{command}{x:.1} {y:.1}");
    }
    text
}

fn describe(what: &str, steps: &[String], lines: &[Line]) -> String {
    let mut text = format!("{what}.");
    for line in lines {
        if let (Some(first), Some(last)) = (line.values.first(), line.values.last())
            && let (Some(from), Some(to)) = (steps.first(), steps.last())
        {
            let (first, last) = (number::plain(*first), number::plain(*last));
            let _ = write!(text, " {}: {first} at {from}, {last} at {to}.", line.label);
        }
    }
    text
}

/// Round values from the bottom to the top of the plot.
fn ticks(most: f64, scale: Scale) -> Vec<f64> {
    match scale {
        Scale::Logarithmic => {
            let last = most.log10().ceil().max(1.0) as i32;
            (0..=last).map(|power| 10_f64.powi(power)).collect()
        }
        Scale::Linear => {
            let raw = most / 5.0;
            let power = 10_f64.powf(raw.log10().floor());
            let factors = [1.0, 2.0, 2.5, 5.0, 10.0];
            let factor = factors.into_iter().find(|factor| factor * power >= raw).unwrap_or(10.0);
            let step = factor * power;
            (0..=(most / step).ceil() as u64).map(|tick| tick as f64 * step).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(842.0, Scale::Linear), [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]);
        assert_eq!(ticks(842.0, Scale::Logarithmic), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(ticks(1.0, Scale::Logarithmic), [1.0, 10.0]);
    }

    proptest! {
        #[test]
        fn all_values_lie_in_the_plot(most in 1.0f64..1e12) {
            for scale in [Scale::Linear, Scale::Logarithmic] {
                let found = ticks(most, scale);
                prop_assert!(found.len() >= 2 && found.len() <= 14, "{:?}", found);
                prop_assert!(*found.last().unwrap() >= most * 0.999_999);
            }
        }
    }
}
