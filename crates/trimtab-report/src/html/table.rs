//! Tables that become lists where the screen is narrow.

use super::phrase;
use crate::section::{Column, ColumnKind, Table};
use maud::{Markup, html};

/// A table whose first cell of each row is the row's heading. Names of groups of columns stand in a
/// line above the headings.
pub fn table(table: &Table) -> Markup {
    let number = |column: &Column| column.kind == ColumnKind::Number;
    // The style sheet turns rows into blocks on narrow screens, which would take their meaning
    // from assistive software; the roles keep it.
    html! {
        table role="table" aria-label=(table.label) {
            thead role="rowgroup" {
                @if table.columns.iter().any(|column| !column.group.is_empty()) {
                    tr.groups role="row" {
                        @for group in table.columns.chunk_by(|a, b| a.group == b.group) {
                            th role="columnheader" scope="colgroup" colspan=(group.len()) {
                                @let name = group.first().map_or("", |column| &column.group);
                                @if !name.is_empty() { span { (name) } }
                            }
                        }
                    }
                }
                tr role="row" {
                    @for column in &table.columns {
                        th role="columnheader" scope="col" .number[number(column)] {
                            (column.heading)
                        }
                    }
                }
            }
            tbody role="rowgroup" {
                @for row in &table.rows {
                    tr role="row" {
                        @for (place, (cell, column)) in row.iter().zip(&table.columns).enumerate() {
                            @if place == 0 {
                                th role="rowheader" scope="row" { (phrase(cell)) }
                            } @else {
                                td role="cell" .number[number(column)] .empty[cell.is_empty()]
                                    data-label=(label(column)) { div { (phrase(cell)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What a cell is called where its column has no room for a heading.
fn label(column: &Column) -> String {
    match column.group.as_str() {
        "" => column.heading.clone(),
        group => format!("{group}: {}", column.heading),
    }
}
