//! Results as tables for a terminal: plain text, readable at 80 columns, never a colour code.

mod check;
mod compare;
mod doctor;
mod fit_kernel;
mod fit_program;
mod pages;
mod probe_bench;
mod swap_run;
mod swap_sweep;

pub use check::check;
pub use compare::compare;
pub use doctor::doctor;
pub use fit_kernel::fit_kernel;
pub use fit_program::fit_program;
pub use pages::pages;
pub use probe_bench::probe_bench;
pub use swap_run::swap_run;
pub use swap_sweep::swap_sweep;
pub(crate) use swap_sweep::threshold as swap_threshold;

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, Table, TableComponent, presets,
};

/// Narrowest table that is still worth looking at.
const NARROWEST: u16 = 40;

/// From this width on no number, name or address is broken into two lines.
const COMFORTABLE: u16 = 80;

/// How the cells of a column stand.
#[derive(Clone, Copy, PartialEq)]
enum Lean {
    /// Text to the left, broken into lines where it has to be.
    Left,
    /// Names and addresses to the left, whole.
    Whole,
    /// Numbers to the right, whole.
    Right,
}

/// A table with a rule under its header, at most `width` columns wide. Without rows there is no
/// table, without names of columns no header.
fn grid(width: u16, columns: &[(&str, Lean)], rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width.max(NARROWEST));
    let header = columns.iter().any(|(name, _)| !name.is_empty());
    if header {
        table
            .set_style(TableComponent::HeaderLines, '─')
            .set_style(TableComponent::MiddleHeaderIntersections, '─')
            .set_header(columns.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }
    table.add_rows(rows);
    for (place, (column, (_, lean))) in table.column_iter_mut().zip(columns).enumerate() {
        // A header brings a separating column of its own.
        let gap = if header { 1 } else { 2 };
        column.set_padding((if place == 0 { 0 } else { gap }, 0));
        column.set_cell_alignment(match lean {
            Lean::Left | Lean::Whole => CellAlignment::Left,
            Lean::Right => CellAlignment::Right,
        });
        if *lean != Lean::Left && width >= COMFORTABLE {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    // Trailing blanks would wrap in a terminal of just this width, and clutter a diff.
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Joins the parts of a report with an empty line between, leaving out those with nothing in them.
fn report(parts: Vec<String>) -> String {
    let parts: Vec<&str> =
        parts.iter().map(|part| part.trim_end()).filter(|part| !part.is_empty()).collect();
    parts.join("\n\n") + "\n"
}

/// A title above a table; nothing where there is no table.
fn titled(title: &str, table: String) -> String {
    if table.is_empty() { table } else { format!("{title}\n\n{table}") }
}

fn yes(ok: bool) -> String {
    if ok { "ok" } else { "FAILED" }.to_owned()
}

/// The first `most` names on one line, and how many more there are.
fn some(names: &[String], most: usize) -> String {
    let mut text = names.iter().take(most).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > most {
        text += &format!(" and {} more", crate::number::count((names.len() - most) as u64));
    }
    text
}

/// Breaks `text` between words so that no line is wider than `width`, where words allow.
fn wrap(text: &str, width: u16) -> String {
    let width = usize::from(width.max(NARROWEST));
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}
