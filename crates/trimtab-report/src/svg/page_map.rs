//! The page map: each page of the text a cell, coloured by the share of its bytes that ran.

use crate::number;
use maud::{Markup, PreEscaped, html};
use std::fmt::Write;

/// Steps of the colour ramp. Steps are of even width in share and of even distance in lightness.
pub const STEPS: u32 = 8;

/// Width and height of a cell, and of the part of it that is filled, in units of the picture.
const CELL: usize = 10;
const FILL: usize = 9;

/// Cells in a row, a power of two so that a row is a round number of bytes, such that the map is
/// somewhat wider than high.
pub fn columns(pages: usize) -> usize {
    let aim = (pages as f64 * 1.6).sqrt();
    [16, 32, 64, 128].into_iter().find(|columns| *columns as f64 >= aim).unwrap_or(256)
}

/// A map of `executed` bytes per page of `page_size` bytes. `key` is the path of the numbers in
/// the embedded JSON, `name` tells what the map shows.
pub fn page_map(executed: &[u32], page_size: u32, columns: usize, key: &str, name: &str) -> Markup {
    let rows = executed.len().div_ceil(columns).max(1);
    let touched = executed.iter().filter(|bytes| **bytes > 0).count();
    let title = format!(
        "{name}: {} of {} pages touched",
        number::count(touched as u64),
        number::count(executed.len() as u64)
    );
    let id = key.replace('.', "-");
    html! {
        figure.map {
            (gutter(rows, columns, page_size))
            svg role="img" aria-labelledby={ (id) "-title" } data-map=(key) data-columns=(columns)
                data-cells=(executed.len())
                viewBox={ "0 0 " (columns * CELL) " " (rows * CELL) } {
                title id={ (id) "-title" } { (title) }
                // Most pages are untouched: one pattern draws all their cells.
                pattern id={ (id) "-cell" } width=(CELL) height=(CELL)
                    patternUnits="userSpaceOnUse" {
                    rect.c0 width=(FILL) height=(FILL) {}
                }
                path d=(ground(executed.len(), columns)) fill={ "url(#" (id) "-cell)" } {}
                (PreEscaped(cells(executed, page_size, columns)))
            }
        }
    }
}

/// The step of the ramp for a page, 0 where nothing of it ran, else 1 to [`STEPS`].
fn step(bytes: u32, page_size: u32) -> u32 {
    if bytes == 0 || page_size == 0 {
        return 0;
    }
    let bytes = u64::from(bytes.min(page_size));
    (bytes * u64::from(STEPS)).div_ceil(u64::from(page_size)) as u32
}

/// The outline of all cells: whole rows, and what is left in the last one.
fn ground(pages: usize, columns: usize) -> String {
    let (rows, rest) = (pages / columns, pages % columns);
    let mut path = format!("M0 0h{}v{}H0z", columns * CELL, rows * CELL);
    if rest > 0 {
        let _ = write!(path, "M0 {}h{}v{CELL}H0z", rows * CELL, rest * CELL);
    }
    path
}

fn cells(executed: &[u32], page_size: u32, columns: usize) -> String {
    let mut text = String::new();
    for (page, bytes) in executed.iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
        let (x, y) = (page % columns * CELL, page / columns * CELL);
        // Writing into a string cannot fail.
        let _ = write!(
            text,
            "<path class=\"c{}\" d=\"M{x} {y}h{FILL}v{FILL}h-{FILL}z\">\
             <title>page {}: {} of {} bytes executed</title></path>",
            step(*bytes, page_size),
            number::count(page as u64),
            number::count((*bytes).into()),
            number::count(page_size.into()),
        );
    }
    text
}

/// Distance from the start of the text, on the left: at most five labels, at round rows.
fn gutter(rows: usize, columns: usize, page_size: u32) -> Markup {
    let mut every = 1;
    while rows.div_ceil(every) > 5 {
        every *= 2;
    }
    let size = |row: usize| (row * columns) as u64 * u64::from(page_size);
    let label = |row: usize| match row {
        0 => "0".to_owned(),
        _ => number::whole_bytes(size(row)),
    };
    html! {
        div.gutter aria-hidden="true" {
            @for row in (0..rows).step_by(every) {
                span style={ "top:" (format!("{:.3}", row as f64 * 100.0 / rows as f64)) "%" } {
                    (label(row))
                }
            }
        }
    }
}

/// What the colours mean.
pub fn legend() -> Markup {
    html! {
        div.legend role="img"
            aria-label="Colours: grey where nothing of a page ran, then in eight even steps from \
                        pale, a little of it, to deep, all of it." {
            span { "untouched" }
            i class="swatch b0" {}
            span.low { "1 byte" }
            span.ramp { @for step in 1..=STEPS { i class={ "swatch b" (step) } {} } }
            span { "whole page executed" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_cover_the_page_evenly() {
        assert_eq!(step(0, 4096), 0);
        assert_eq!(step(1, 4096), 1);
        assert_eq!(step(512, 4096), 1);
        assert_eq!(step(513, 4096), 2);
        assert_eq!(step(4096, 4096), STEPS);
        assert_eq!(step(u32::MAX, 4096), STEPS);
        assert_eq!(step(5, 0), 0);
    }

    #[test]
    fn maps_are_wider_than_high() {
        for pages in [1, 200, 810, 2048, 5375, 6000, 20_000] {
            assert!(pages <= columns(pages) * columns(pages), "{pages}");
        }
        assert_eq!(columns(2048), 64);
        assert_eq!(columns(6000), 128);
    }

    #[test]
    fn each_touched_page_is_one_cell() {
        let text = page_map(&[0, 7, 4096, 0, 0], 4096, 2, "page_map.before", "Before").0;
        assert_eq!(text.matches("<path class=").count(), 2);
        assert!(text.contains("page 1: 7 of 4,096 bytes executed"), "{text}");
        assert!(text.contains("d=\"M0 10h9v9h-9z\""), "{text}");
        assert!(text.contains("Before: 2 of 5 pages touched"), "{text}");
        assert!(text.contains("M0 0h20v20H0zM0 20h10v10H0z"), "{text}");
    }
}
