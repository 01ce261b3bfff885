//! Tables that become lists where the screen is narrow.

use maud::{Markup, html};

/// A column: its heading, and whether its cells are numbers.
#[derive(Clone, Copy)]
pub struct Column {
    heading: &'static str,
    number: bool,
}

/// A column of text.
pub fn text(heading: &'static str) -> Column {
    Column { heading, number: false }
}

/// A column of numbers.
pub fn number(heading: &'static str) -> Column {
    Column { heading, number: true }
}

/// A table whose first cell of each row is the row's heading.
pub fn table(label: &str, columns: &[Column], rows: &[Vec<Markup>]) -> Markup {
    grouped(label, &[], columns, rows)
}

/// A table with a line above its headings that names groups of columns: name and width of each.
pub fn grouped(
    label: &str,
    groups: &[(&str, usize)],
    columns: &[Column],
    rows: &[Vec<Markup>],
) -> Markup {
    // The style sheet turns rows into blocks on narrow screens, which would take their meaning
    // from assistive software; the roles keep it.
    html! {
        table role="table" aria-label=(label) {
            thead role="rowgroup" {
                @if !groups.is_empty() {
                    tr.groups role="row" {
                        @for (name, width) in groups {
                            th role="columnheader" scope="colgroup" colspan=(width) {
                                @if !name.is_empty() { span { (name) } }
                            }
                        }
                    }
                }
                tr role="row" {
                    @for column in columns {
                        th role="columnheader" scope="col" .number[column.number] {
                            (column.heading)
                        }
                    }
                }
            }
            tbody role="rowgroup" {
                @for row in rows {
                    tr role="row" {
                        @for (place, (cell, column)) in row.iter().zip(columns).enumerate() {
                            @if place == 0 {
                                th role="rowheader" scope="row" { (cell) }
                            } @else {
                                td role="cell" .number[column.number]
                                    .empty[cell.0.is_empty()]
                                    data-label=(label_of(groups, columns, place)) { div { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What a cell is called where its column has no room for a heading.
fn label_of(groups: &[(&str, usize)], columns: &[Column], place: usize) -> String {
    let heading = columns.get(place).map_or("", |column| column.heading);
    let mut end = 0;
    for (name, width) in groups {
        end += width;
        if place < end {
            return if name.is_empty() { heading.to_owned() } else { format!("{name}: {heading}") };
        }
    }
    heading.to_owned()
}
