//! Tables of text. One that is wider than the terminal becomes several, each with the names of the rows.

use super::NARROWEST;
use crate::section::{Column, ColumnKind, Table as Rows};
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, Table, TableComponent, presets,
};

/// From this width on no number, name or address is broken into two lines.
const COMFORTABLE: u16 = 80;

/// From this width on nothing is left out.
const WIDE: u16 = 100;

/// Columns of text are not made narrower than this for the sake of others.
const TEXT: usize = 16;

/// `table`, at most `width` columns wide. Without rows there is no table, without names of columns no
/// header.
pub fn grid(table: &Rows, width: u16) -> String {
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(|cell| cell.text()).collect()).collect();
    if rows.is_empty() {
        return String::new();
    }
    let shown: Vec<usize> = (0..table.columns.len())
        .filter(|place| width >= WIDE || !table.columns[*place].is_aside)
        .collect();
    let parts = split(&table.columns, &rows, &shown, width);
    let texts: Vec<String> =
        parts.iter().map(|places| part(&table.columns, &rows, places, width)).collect();
    texts.join("\n")
}

/// Which columns stand in which part of a table that is too wide: the leading names of the rows in
/// each, all others in one.
fn split(columns: &[Column], rows: &[Vec<String>], shown: &[usize], width: u16) -> Vec<Vec<usize>> {
    let wide = |place: usize| {
        let most = cells(rows, place).max(longest_word(&columns[place]));
        // The separating column of a header, and one of padding.
        2 + if columns[place].kind == ColumnKind::Text { most.min(TEXT) } else { most }
    };
    let names = shown.iter().position(|place| columns[*place].kind == ColumnKind::Number);
    let (names, others) = shown.split_at(names.unwrap_or(shown.len()));
    let taken: usize = names.iter().map(|place| wide(*place)).sum();
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut left = 0;
    for place in others {
        if parts.is_empty() || wide(*place) > left {
            parts.push(names.to_vec());
            left = usize::from(width).saturating_sub(taken);
        }
        left = left.saturating_sub(wide(*place));
        if let Some(part) = parts.last_mut() {
            part.push(*place);
        }
    }
    if parts.is_empty() { vec![names.to_vec()] } else { parts }
}

/// Width of the widest cell of a column.
fn cells(rows: &[Vec<String>], place: usize) -> usize {
    let cells = rows.iter().filter_map(|row| row.get(place)).map(|cell| cell.chars().count());
    cells.max().unwrap_or(0)
}

fn longest_word(column: &Column) -> usize {
    let words = column.heading.split(' ').chain(column.group.split(' '));
    words.map(|word| word.chars().count()).max().unwrap_or(0)
}

/// The lines of a heading that is broken between words, so that it does not widen its column.
fn folded(heading: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in heading.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                *line = format!("{line} {word}");
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The headings of a part, each below its group, all of one height.
fn headings(columns: &[Column], rows: &[Vec<String>], places: &[usize]) -> Vec<String> {
    let lines = |place: &usize| {
        let column = &columns[*place];
        let room = match column.kind {
            ColumnKind::Text => usize::MAX,
            _ => cells(rows, *place).max(longest_word(column)),
        };
        let mut lines = folded(&column.group, room);
        lines.extend(folded(&column.heading, room));
        lines
    };
    let all: Vec<Vec<String>> = places.iter().map(lines).collect();
    let high = all.iter().map(Vec::len).max().unwrap_or(0);
    all.iter()
        .map(|lines| {
            let blank = std::iter::repeat_n(String::new(), high - lines.len());
            blank.chain(lines.iter().cloned()).collect::<Vec<_>>().join("\n")
        })
        .collect()
}

fn part(columns: &[Column], rows: &[Vec<String>], places: &[usize], width: u16) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width.max(NARROWEST));
    let header = columns.iter().any(|column| !column.heading.is_empty());
    if header {
        table
            .set_style(TableComponent::HeaderLines, '─')
            .set_style(TableComponent::MiddleHeaderIntersections, '─')
            .set_header(headings(columns, rows, places));
    }
    for row in rows {
        table.add_row(places.iter().map(|place| row.get(*place).map_or("", String::as_str)));
    }
    for (at, (column, place)) in table.column_iter_mut().zip(places).enumerate() {
        // A header brings a separating column of its own.
        let gap = if header { 1 } else { 2 };
        column.set_padding((if at == 0 { 0 } else { gap }, 0));
        let kind = columns[*place].kind;
        column.set_cell_alignment(match kind {
            ColumnKind::Text | ColumnKind::Name => CellAlignment::Left,
            ColumnKind::Number => CellAlignment::Right,
        });
        if kind != ColumnKind::Text && width >= COMFORTABLE {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    // Trailing blanks would wrap in a terminal of just this width, and clutter a diff.
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}
