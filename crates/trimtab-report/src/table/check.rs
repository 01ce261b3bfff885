//! The table of `trimtab check`.

use super::{Lean, grid, report, some, titled, wrap, yes};
use crate::model::{Boundary, CheckReport};
use crate::number::{NONE, count};

/// Names shown per fate.
const NAMES: usize = 10;

/// Writes `check` as plain text, at most `width` columns wide (40 or more).
pub fn check(check: &CheckReport, width: u16) -> String {
    let verdict = if check.ok() { "The link honours the order." } else { "The link is NOT right." };
    let head = format!("{} against {}: {verdict}", check.program, check.order_file);
    report(vec![
        wrap(&head, width),
        order(check, width),
        titled("Boundary symbols", boundaries(check, width)),
        titled("Checks", checks(check, width)),
    ])
}

fn order(check: &CheckReport, width: u16) -> String {
    let (order, names) = (&check.order, &check.names);
    let counts = &order.counts;
    let fates: [(&str, u64, &[String]); 6] = [
        ("placed", counts.placed, &[]),
        ("misplaced", order.misplaced, &names.misplaced),
        ("unknown", counts.unknown, &names.unknown),
        ("duplicate", counts.duplicate, &names.duplicate),
        ("discarded", counts.discarded, &names.discarded),
        ("pinned", counts.pinned, &names.pinned),
    ];
    let mut rows: Vec<Vec<String>> = fates
        .iter()
        .map(|(fate, lines, names)| vec![(*fate).to_owned(), count(*lines), some(names, NAMES)])
        .collect();
    rows.push(vec!["all".to_owned(), count(order.total()), String::new()]);
    let columns = [("order", Lean::Left), ("lines", Lean::Right), ("", Lean::Left)];
    grid(width, &columns, rows)
}

fn boundaries(check: &CheckReport, width: u16) -> String {
    // Without anything to compare with, nothing is new.
    let compared = check.boundaries.iter().any(|boundary| boundary.before.is_some());
    let rows = check
        .boundaries
        .iter()
        .map(|boundary| {
            vec![
                boundary.symbol.clone(),
                boundary.after.map_or(NONE.to_owned(), |address| address.to_string()),
                if compared { moved(boundary) } else { NONE.to_owned() },
                yes(boundary.ok),
                boundary.detail.clone(),
            ]
        })
        .collect();
    let columns = [
        ("symbol", Lean::Whole),
        ("address", Lean::Whole),
        ("moved by", Lean::Right),
        ("", Lean::Whole),
        ("", Lean::Left),
    ];
    grid(width, &columns, rows)
}

/// How far a symbol moved, in hexadecimal: shorter beside its address than a second address.
fn moved(boundary: &Boundary) -> String {
    match (boundary.before, boundary.after) {
        (None, None) => NONE.to_owned(),
        (None, Some(_)) => "new".to_owned(),
        (Some(_), None) => "gone".to_owned(),
        (Some(before), Some(after)) if after == before => "0".to_owned(),
        (Some(before), Some(after)) if after > before => format!("+{:#x}", after.0 - before.0),
        (Some(before), Some(after)) => format!("−{:#x}", before.0 - after.0),
    }
}

fn checks(check: &CheckReport, width: u16) -> String {
    let rows = check
        .checks
        .iter()
        .map(|check| vec![check.name.clone(), yes(check.ok), check.detail.clone()])
        .collect();
    grid(width, &[("", Lean::Left), ("", Lean::Left), ("", Lean::Left)], rows)
}
