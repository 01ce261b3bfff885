//! The table of `trimtab pages`.

use super::{Lean, grid, report, some, titled, wrap};
use crate::model::PagesReport;
use crate::number::{bytes, count, rough, share, signed_tenths, times};

/// Names of a trace that were not found, at most.
const MISSING: usize = 10;

/// Writes `pages` as plain text, at most `width` columns wide (40 or more).
pub fn pages(pages: &PagesReport, width: u16) -> String {
    let minimum = pages.minimum;
    let head = [
        format!("{}: {}", pages.program.path, pages.program.kind),
        format!("{}: {}", pages.trace.path, pages.trace.kind),
        format!(
            "{} of {} text pages touched, {} the function-level minimum of {}",
            count(pages.touched.into()),
            count(pages.text.pages_spanned.into()),
            times(pages.ratio_to_minimum()),
            count(minimum.function_pages.into()),
        ),
    ];
    let facts = vec![
        fact("text", bytes(pages.text.bytes)),
        fact("pages spanned", count(pages.text.pages_spanned.into())),
        fact("pages touched", count(pages.touched.into())),
        fact("minimum, whole functions", count(minimum.function_pages.into())),
        fact("minimum, executed bytes", count(minimum.executed_pages.into())),
        fact(
            "functions executed",
            format!("{} of {}", count(pages.functions.executed), count(pages.functions.total)),
        ),
        fact("page-fault curve, area", rough(pages.curve_area)),
        fact("coverage, names", share(pages.coverage.names)),
        fact("coverage, bytes", share(pages.coverage.bytes)),
    ];
    let missing = match pages.missing.is_empty() {
        true => String::new(),
        false => wrap(&format!("Not found: {}.", some(&pages.missing, MISSING)), width),
    };
    report(vec![
        head.iter().map(|line| wrap(line, width) + "\n").collect(),
        grid(width, &[("", Lean::Left), ("", Lean::Right)], facts),
        missing,
        titled("Sections", sections(pages, width)),
        titled("Pages above the function-level minimum", excess(pages, width)),
    ])
}

fn fact(name: &str, value: String) -> Vec<String> {
    vec![name.to_owned(), value]
}

fn excess(pages: &PagesReport, width: u16) -> String {
    let rows = pages.excess.iter().map(|c| vec![c.cause.clone(), signed_tenths(c.pages)]).collect();
    grid(width, &[("", Lean::Left), ("", Lean::Right)], rows)
}

fn sections(pages: &PagesReport, width: u16) -> String {
    let rows = pages
        .sections
        .iter()
        .map(|section| {
            vec![
                section.name.clone(),
                bytes(section.bytes),
                count(section.pages_spanned.into()),
                count(section.touched.into()),
                count(section.minimum.function_pages.into()),
                count(section.minimum.executed_pages.into()),
                bytes(section.executed_bytes),
            ]
        })
        .collect();
    let columns = [
        ("", Lean::Whole),
        ("size", Lean::Right),
        ("pages", Lean::Right),
        ("touched", Lean::Right),
        ("min. fn", Lean::Right),
        ("min. bytes", Lean::Right),
        ("executed", Lean::Right),
    ];
    grid(width, &columns, rows)
}
