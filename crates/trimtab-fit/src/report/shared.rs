//! What the reports of both fits show in the same way.

use super::kernel::{Curve, Granularity, PageCounts, Seconds, Split};
use trimtab_report::common::{BeforeAfter, Coverage, Minimum};
use trimtab_report::figure::{Bar, Figure, PageMap, Series};
use trimtab_report::phrase::{
    Number, Unit, bytes, change, change_of, count, ratio, rough, seconds, share, small, strong,
    times,
};
use trimtab_report::section::{Section, Tile};
use trimtab_report::{Phrase, number, phrase, row};
use trimtab_stats::{Estimate, Interval};

/// How many pages are touched before and after, by how many fewer or more that is, and how far from
/// the fewest.
pub fn touched(touched: &PageCounts, minimum: Minimum) -> Phrase {
    let (before, after) = (touched.before, touched.after);
    let part = f64::from(after) / f64::from(before);
    let change = if before == after {
        "as many".into()
    } else if after < before {
        phrase![share("1-touched.after/touched.before", 1.0 - part), " fewer"]
    } else {
        phrase![share("touched.after/touched.before-1", part - 1.0), " more"]
    };
    phrase![
        count("touched.before", before),
        " → ",
        count("touched.after", after),
        " pages of code touched, ",
        change,
        ", at ",
        times(
            "touched.after/minimum.function_pages",
            trimtab_report::common::ratio(after, minimum.function_pages)
        ),
        " the fewest that the executed functions fit into.",
    ]
}

/// Beside how many random orders it stands how well.
pub fn shuffled(touched: &PageCounts, of: &str) -> Option<Tile> {
    let (place, best) = touched.shuffled.iter().enumerate().min_by_key(|(_, pages)| **pages)?;
    let factor = trimtab_report::common::ratio(*best, touched.after);
    Some(Tile::new(
        times(format!("touched.shuffled.{place}/touched.after"), factor),
        "fewer than random orders",
        format!("best of {} {of}", touched.shuffled.len()),
    ))
}

/// How much of the trace was found.
pub fn coverage(coverage: Coverage) -> Tile {
    Tile::new(
        share("coverage.bytes", coverage.bytes),
        "of executed bytes resolved",
        phrase![share("coverage.names", coverage.names), " of function names"],
    )
}

/// Pages of one `run` beside random orders and beside what is possible.
pub fn standing(run: &str, touched: &PageCounts, minimum: Minimum) -> Section {
    let mut bars: Vec<Bar> = touched
        .shuffled
        .iter()
        .enumerate()
        .map(|(place, pages)| {
            let label = format!("random order {}", place + 1);
            Bar::new(label, "quiet", format!("touched.shuffled.{place}"), *pages)
        })
        .collect();
    bars.extend([
        Bar::new("as built", "before", "touched.before", touched.before),
        Bar::new("laid out", "after", "touched.after", touched.after),
        Bar::new("function floor", "floor", "minimum.function_pages", minimum.function_pages),
        Bar::new("byte floor", "floor", "minimum.executed_pages", minimum.executed_pages),
    ]);
    let lede = format!(
        "Text pages that one {run} touches. The last two are floors: the fewest pages that the \
         executed functions fit into whole, and the fewest if single bytes could be moved."
    );
    Section::new("standing", "Where it stands", lede).with(Figure::Bars(bars))
}

/// The text as it was and as it is laid out, page by page.
pub fn maps(
    run: &str,
    page_size: u32,
    maps: &BeforeAfter<Vec<u32>>,
    touched: &PageCounts,
    spanned: BeforeAfter<u32>,
) -> Section {
    let pages = maps.before.len().max(maps.after.len());
    let row = u64::from(page_size) * Figure::map_columns(pages) as u64;
    let map = |name: &str, side: &str, executed: &[u32], touched: u32, spanned: u32| PageMap {
        name: name.to_owned(),
        key: format!("page_map.{side}"),
        executed: executed.to_vec(),
        caption: phrase![
            count(format!("touched.{side}"), touched),
            " of ",
            count(format!("text.pages_spanned.{side}"), spanned),
        ],
    };
    let lede = phrase![
        "Each cell is a page of ",
        Number::new("page_size", page_size, Unit::WholeBytes),
        format!(
            ", each row {} of text, first page at the top left. Colour is the share of the page that \
             the {run} executed.",
            number::whole_bytes(row)
        ),
    ];
    let maps = vec![
        map("As built", "before", &maps.before, touched.before, spanned.before),
        map("Laid out", "after", &maps.after, touched.after, spanned.after),
    ];
    Section::new("map", "The text, page by page", lede).with(Figure::PageMaps { page_size, maps })
}

/// When pages are first touched.
pub fn curves(curve: &Curve, area: BeforeAfter<f64>, minimum: Minimum) -> Section {
    let series = |label: &str, class, points: &[u32], events| Series {
        label: label.to_owned(),
        class,
        points: points.to_vec(),
        events,
    };
    let lede = phrase![
        "The page-fault curve: distinct pages touched against events. The smaller the area under it, \
         the later pages are needed; it changed by ",
        change("curve_area", area),
        ", from ",
        rough("curve_area.before", area.before),
        " to ",
        rough("curve_area.after", area.after),
        " page events.",
    ];
    Section::new("curve", "When pages are first touched", lede).with(Figure::Curve {
        series: vec![
            series("as built", "before", &curve.before, curve.events.before),
            series("laid out", "after", &curve.after, curve.events.after),
        ],
        step: curve.step,
        minimum: minimum.function_pages,
    })
}

/// A row with means of times, each with its interval.
pub fn timed(name: Phrase, key: &str, sides: &BeforeAfter<Estimate>) -> Vec<Phrase> {
    let side = |which: &str, side: &Estimate| {
        let key = |field: &str| format!("{key}.{which}.{field}");
        let (low, high) = (seconds(key("low"), side.low), seconds(key("high"), side.high));
        phrase![seconds(key("mean"), side.mean), " ", small(phrase![low, " to ", high])]
    };
    let mut row = means("", key, sides);
    row[0] = name;
    row[1] = side("before", &sides.before);
    row[2] = side("after", &sides.after);
    row
}

/// A row with means of times.
pub fn means(name: &str, key: &str, sides: &BeforeAfter<Estimate>) -> Vec<Phrase> {
    row![
        name,
        seconds(format!("{key}.before.mean"), sides.before.mean),
        seconds(format!("{key}.after.mean"), sides.after.mean),
        change_of(format!("{key}.after.mean/{key}.before.mean-1"), sides.map(|side| side.mean)),
    ]
}

/// What the interval of a ratio of times allows to say.
pub fn verdict(what: &str, key: &str, interval: &Interval, it: &str) -> Phrase {
    let says = if interval.contains(1.0) {
        "The interval holds 1: these runs show no difference.".to_owned()
    } else if interval.high < 1.0 {
        format!("The interval lies below 1: {it} became faster.")
    } else {
        format!("The interval lies above 1: {it} became slower.")
    };
    phrase![
        format!("{what} after over before, from pairs: "),
        strong(ratio(format!("{key}.mean"), interval.mean)),
        " (",
        ratio(format!("{key}.low"), interval.low),
        " to ",
        ratio(format!("{key}.high"), interval.high),
        "). ",
        says,
    ]
}

/// What an order has no line for, if anything.
pub fn left_out(left_out: u64, linker: &str) -> Option<Phrase> {
    (left_out > 0).then(|| {
        phrase![
            count("left_out", left_out),
            format!(
                " pieces of code that ran are left out of the order: {linker} has no name for "
            ),
            "them, or cannot read it.",
        ]
    })
}

/// What was moved out of functions.
pub fn split(split: &Split, granularity: Granularity) -> Option<Phrase> {
    (granularity == Granularity::Block).then(|| {
        phrase![
            "Split: ",
            count("split.functions", split.functions),
            " functions, ",
            bytes("split.cold_bytes", split.cold_bytes),
            " moved away; ",
            count("split.objects", split.objects),
            " objects compiled again.",
        ]
    })
}

/// How long each part took; the last one is called `relink`.
pub fn took(
    spent: &Seconds,
    granularity: Granularity,
    relink: &'static str,
) -> Vec<(&'static str, &'static str, f64)> {
    let mut took = vec![
        ("total", "seconds.total", spent.total),
        ("build", "seconds.build", spent.build),
        ("trace", "seconds.trace", spent.trace),
    ];
    if granularity == Granularity::Block {
        took.push(("split", "seconds.split", spent.split));
    }
    took.extend([
        ("layout", "seconds.layout", spent.layout),
        (relink, "seconds.relink", spent.relink),
    ]);
    took
}
