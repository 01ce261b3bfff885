//! Checking: did the linker do what an order says?

use std::path::PathBuf;

use crate::cause;
use crate::report::{Boundary, CheckReport, OrderNames};
use trimtab_inputs::{self as inputs, Elf, Text};
use trimtab_link::kernel::Mobility;
use trimtab_link::{Check, Outcome};
use trimtab_program::{Program, Range};
use trimtab_report::common;
use trimtab_report::common::Address;
use trimtab_report::number::{bytes, count, share};

/// What is checked.
#[derive(Debug, Clone)]
pub struct CheckRequest {
    /// The program as it was linked with the order.
    pub program: PathBuf,
    /// The order that the linker was given.
    pub order: PathBuf,
    /// The program as it was linked without the order.
    pub before: Option<PathBuf>,
    /// The linker's map of the program.
    pub map: Option<PathBuf>,
    /// The largest share of lines that may name nothing in the program, 0 to 1.
    pub max_unknown: f64,
}

/// Whether enough lines name something.
const OF_THIS_PROGRAM: &str = "the order is of this program";

/// Whether enough of what was there before still is.
const STILL_THERE: &str = "what the order names is still there";

/// Reads everything and checks it.
///
/// # Errors
/// Files that cannot be read. An order that was not followed is no error: [`broken`] says it.
pub fn check(request: &CheckRequest) -> anyhow::Result<CheckReport> {
    let order_text = Text::of_order(&request.order)?;
    let order = order_text.order()?;
    let file = Elf::open(&request.program)?;
    let program = file.program()?;
    let before_file = request.before.as_deref().map(Elf::open).transpose()?;
    let before = before_file.as_ref().map(Elf::program).transpose()?;
    let section = inputs::section(&program, file.path(), None)?;
    let map_file = request.map.as_deref().map(Text::of_map).transpose()?;
    let map = map_file.as_ref().map(|text| text.link_map()).transpose()?;
    let with_map = map.as_ref().zip(request.map.as_deref());
    let fragments = inputs::fragments(&program, with_map, section)?;
    let mobility = Mobility::of(&program);

    let check =
        trimtab_link::check(&order, &program, &fragments, mobility.pinned(), before.as_ref());
    let names = |outcome| check.names(outcome).map(str::to_owned).collect();
    let boundaries = match mobility.is_kernel() {
        true => trimtab_link::boundaries(&program, before.as_ref()),
        false => Vec::new(),
    };
    let mut report = CheckReport::new(
        request.program.display().to_string(),
        request.order.display().to_string(),
        check.count(Outcome::Placed),
        OrderNames {
            unknown: names(Outcome::Unknown),
            duplicate: names(Outcome::Duplicate),
            discarded: names(Outcome::Discarded),
            pinned: names(Outcome::Pinned),
            misplaced: names(Outcome::Misplaced),
        },
        boundaries.into_iter().map(boundary).collect(),
    );
    report.checks.push(in_order(&check));
    let renamed = cause::renamed(&check);
    report.checks.push(known(&report, request.max_unknown, renamed.as_deref()));
    if let Some(before) = before.as_ref().zip(request.before.as_deref())
        && report.order.counts.discarded > 0
    {
        let cause = cause::discarded(&program, before);
        report.checks.push(there(&report, request.max_unknown, Some(&cause)));
    }
    if mobility.is_kernel() {
        report.checks.push(apart(&check, mobility.pinned()));
    }
    if let Some(before) = &before {
        report.checks.push(size(before, &program));
    }
    Ok(report)
}

fn boundary(boundary: trimtab_link::Boundary) -> Boundary {
    Boundary {
        symbol: boundary.symbol.to_owned(),
        before: boundary.before.map(Address),
        after: boundary.after.map(Address),
        ok: boundary.ok,
        detail: boundary.detail,
    }
}

/// Lines that the program has are where the order wants them.
fn in_order(check: &Check) -> common::Check {
    let misplaced = check.count(Outcome::Misplaced);
    let placed = check.count(Outcome::Placed);
    let (ok, detail) = match (misplaced, placed) {
        (0, 0) => (false, "no line of it was placed".to_owned()),
        (0, placed) => (true, format!("{} lines placed", count(placed))),
        _ => (false, cause::misplaced(check).unwrap_or_default()),
    };
    common::Check::new("the linker followed the order", ok, detail)
}

/// Not too many lines name nothing: else the order is of another program.
fn known(report: &CheckReport, most: f64, cause: Option<&str>) -> common::Check {
    let unknown = report.order.counts.unknown;
    limited(OF_THIS_PROGRAM, unknown, "unknown", report.order.total(), most, cause)
}

/// Not too many lines name what is gone: else the order is of another build.
fn there(report: &CheckReport, most: f64, cause: Option<&str>) -> common::Check {
    let gone = report.order.counts.discarded;
    limited(STILL_THERE, gone, "gone", report.order.total(), most, cause)
}

/// At most a share of the lines is `what`.
fn limited(
    name: &str,
    lines: u64,
    what: &str,
    all: u64,
    most: f64,
    cause: Option<&str>,
) -> common::Check {
    let mut detail =
        format!("{} of {} lines are {what}, allowed are {}", count(lines), count(all), share(most));
    if let Some(cause) = cause {
        detail.push_str(": ");
        detail.push_str(cause);
    }
    common::Check::new(name, lines as f64 <= all as f64 * most, detail)
}

/// No code that the kernel keeps apart lies between the lines that were placed.
fn apart(check: &Check, pinned: &[Range]) -> common::Check {
    let name = "no pinned text within the order";
    let Some(span) = check.span() else { return common::Check::new(name, true, "nothing placed") };
    let within = pinned.iter().find(|range| !range.intersection(span).is_empty());
    let detail = match within {
        None => format!("ordered from {:#x} to {:#x}", span.start, span.end),
        Some(range) => format!("pinned text from {:#x} to {:#x}", range.start, range.end),
    };
    common::Check::new(name, within.is_none(), detail)
}

/// An order moves code and makes none; alignment can add a little.
fn size(before: &Program<'_>, after: &Program<'_>) -> common::Check {
    let text = |program: &Program<'_>| {
        program.section_named(".text").map_or(0, |(_, section)| section.range.length())
    };
    let detail = format!("{}, before {}", bytes(text(after)), bytes(text(before)));
    common::Check::new("size of .text", true, detail)
}

/// The one line that says why the link is not right; nothing where it is.
pub fn broken(report: &CheckReport) -> Option<String> {
    let head = format!("{} does not honour {}", report.program, report.order_file);
    let boundary = report.boundaries.iter().find(|boundary| !boundary.ok);
    // Where lines name nothing, that is why they are not in order.
    let mut failed: Vec<&common::Check> = report.checks.iter().filter(|check| !check.ok).collect();
    failed.sort_by_key(|check| ![OF_THIS_PROGRAM, STILL_THERE].contains(&check.name.as_str()));
    let check = failed.first();
    match (boundary, check) {
        (Some(boundary), _) => Some(format!("{head}: {}: {}", boundary.symbol, boundary.detail)),
        (None, Some(check)) => Some(format!("{head}: {}", check.detail)),
        (None, None) => None,
    }
}
