//! Figures as data. How each is drawn is in `svg`.

use crate::common::BeforeAfter;
use crate::svg::{boxes, curve, page_map, steps};
use maud::{Markup, html};
use trimtab_stats::Estimate;

pub use crate::svg::boxes::Bar;
pub use crate::svg::curve::Series;
pub use crate::svg::steps::{Line, Scale};

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub enum Figure {
    /// Bars on one scale.
    Bars(Vec<Bar>),
    /// Page maps: each page of a text a cell, coloured by the share of it that ran.
    PageMaps {
        /// Bytes in a page.
        page_size: u32,
        /// The maps, one or two, on one scale.
        maps: Vec<PageMap>,
    },
    /// Page-fault curves: distinct pages touched against events.
    Curve {
        /// The curves.
        series: Vec<Series>,
        /// Events between two points of each.
        step: u32,
        /// Fewest pages that would do.
        minimum: u32,
    },
    /// Lines over named steps, such as thresholds or cache sizes.
    Steps {
        /// What the values are.
        what: String,
        /// What the steps are.
        along: String,
        /// The steps.
        steps: Vec<String>,
        /// The lines.
        lines: Vec<Line>,
        /// How values become heights.
        scale: Scale,
    },
    /// Pages by cause: one bar in parts, with a legend.
    Causes {
        /// Where the causes are in the JSON.
        key: String,
        /// Key, name for people and pages of each.
        causes: Vec<(&'static str, &'static str, i64)>,
    },
    /// Every run of both sides on one axis, with mean and confidence interval.
    Runs(BeforeAfter<Estimate>),
}

/// A page map.
#[derive(Debug, Clone, PartialEq)]
pub struct PageMap {
    /// What it shows.
    pub name: String,
    /// Where the numbers are in the JSON.
    pub key: String,
    /// Executed bytes of each page.
    pub executed: Vec<u32>,
    /// Pages touched, with all pages; stands above the map.
    pub caption: crate::Phrase,
}

/// Columns up to which two page maps stand side by side.
const SIDE_BY_SIDE: usize = 64;

impl Figure {
    /// Cells in a row of page maps of so many pages.
    pub fn map_columns(pages: usize) -> usize {
        page_map::columns(pages)
    }

    /// As part of a page.
    pub(crate) fn draw(&self) -> Markup {
        match self {
            Self::Bars(bars) => boxes::bars(bars),
            Self::PageMaps { page_size, maps } => page_maps(*page_size, maps),
            Self::Curve { series, step, minimum } => curve::curve(series, *step, *minimum),
            Self::Steps { what, along, steps, lines, scale } => {
                steps::steps(what, along, steps, lines, *scale)
            }
            Self::Causes { key, causes } => boxes::causes(key, causes),
            Self::Runs(sides) => boxes::runs(sides),
        }
    }
}

fn page_maps(page_size: u32, maps: &[PageMap]) -> Markup {
    let most = maps.iter().map(|map| map.executed.len()).max().unwrap_or(0);
    let columns = page_map::columns(most);
    let draw =
        |map: &PageMap| page_map::page_map(&map.executed, page_size, columns, &map.key, &map.name);
    html! {
        (page_map::legend())
        @if let [map] = maps {
            div.maps.single { (draw(map)) }
        } @else {
            // Side by side, the cells of wider maps would be too small to see.
            div.maps.stacked[columns > SIDE_BY_SIDE] {
                @for map in maps {
                    div {
                        h3 { (map.name) small { (crate::html::phrase(&map.caption)) } }
                        (draw(map))
                    }
                }
            }
        }
    }
}
