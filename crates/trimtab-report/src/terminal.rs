//! Reports as plain text for a terminal: readable at 80 columns, never a colour code.
//!
//! What can only be drawn is left out, and so is what explains it; whoever wants it has the page.

mod grid;

use crate::common::{Check, Target};
use crate::figure::Figure;
use crate::number;
use crate::phrase::Phrase;
use crate::section::{self, Block, Headline, Section, Table, Tile};
use crate::svg::curve;
use crate::{Report, row};
use grid::grid;

/// Narrowest text that is still worth looking at.
const NARROWEST: u16 = 40;

/// Names shown of a list of many.
const NAMES: usize = 10;

/// Names of checks that hold, at most.
const CHECKS: usize = 20;

/// Renders `report`, at most `width` columns wide (40 or more).
pub(crate) fn report<R: Report>(report: &R, width: u16) -> String {
    let mut parts = vec![head(report, width)];
    parts.extend(report.sections().iter().map(|one| section(one, width)));
    parts.push(titled("Targets", targets(report.targets(), width)));
    parts.push(titled("Checks", checks(report.checks(), width)));
    parts.push(took(report, width));
    parts.extend(report.advice().map(|advice| wrap(&advice, width)));
    joined(&parts)
}

/// A table and nothing else, for what is no report.
pub fn table(table: &Table, width: u16) -> String {
    grid(table, width)
}

/// The same as wide as it is: names in it are never broken, so that other tools find them.
pub fn whole_table(table: &Table) -> String {
    grid(table, u16::MAX)
}

/// Joins parts with an empty line between, leaving out those with nothing in them.
fn joined(parts: &[String]) -> String {
    let parts: Vec<&str> =
        parts.iter().map(|part| part.trim_end()).filter(|part| !part.is_empty()).collect();
    parts.join("\n\n") + "\n"
}

/// A title above something; nothing where there is nothing.
fn titled(title: &str, shown: String) -> String {
    if shown.is_empty() { shown } else { format!("{title}\n\n{shown}") }
}

fn head<R: Report>(report: &R, width: u16) -> String {
    let head = report.head();
    let mut lines = Vec::new();
    if !head.result.is_empty() {
        lines.push(wrap(&head.result.text(), width));
    }
    if !head.facts.is_empty() {
        lines.push(wrap(&head.facts.join(", "), width));
    }
    let what = head.what.text();
    let headline = match &head.headline {
        Headline::Words => what,
        Headline::One(number) => format!("{} {what}", number.text()),
        Headline::Change(before, after) => format!("{} → {} {what}", before.text(), after.text()),
        Headline::Part(part, whole) => format!("{} of {} {what}", part.text(), whole.text()),
    };
    if head.result.is_empty() {
        lines.push(wrap(&headline, width));
    }
    if !head.summary.is_empty() {
        let summary: Vec<String> = head.summary.iter().map(Phrase::text).collect();
        lines.push(wrap(&summary.join(" "), width));
    }
    if let Some((title, sentences)) = &head.alarm {
        lines.push(wrap(&title.to_uppercase(), width));
        lines.extend(sentences.iter().map(|sentence| wrap(sentence, width)));
    }
    let tile = |tile: &Tile| row![tile.value.clone(), &tile.label, tile.remark.clone()];
    let columns = [section::number(""), section::text(""), section::text("")];
    let tiles = Table::new("", columns, head.tiles.iter().map(tile));
    joined(&[lines.join("\n"), grid(&tiles, width)])
}

fn section(section: &Section, width: u16) -> String {
    let blocks: Vec<String> = section.blocks.iter().map(|one| block(one, width)).collect();
    if blocks.iter().all(String::is_empty) {
        return String::new();
    }
    let lede = match section.lede.has_number() {
        true => wrap(&section.lede.text(), width),
        false => String::new(),
    };
    let mut parts = vec![section.title.clone(), lede];
    parts.extend(blocks);
    joined(&parts)
}

fn block(block: &Block, width: u16) -> String {
    match block {
        Block::Heading(text) => text.clone(),
        Block::Text(text) | Block::Verdict(text) => wrap(&text.text(), width),
        Block::List(items) => {
            items.iter().map(|item| wrap(&format!("- {}", item.text()), width) + "\n").collect()
        }
        Block::Table(table) => grid(table, width),
        Block::Figure(figure) => self::figure(figure, width),
        Block::Facts(facts) => {
            facts.iter().map(|(name, value)| format!("{name}\n    {value}\n")).collect()
        }
        Block::Commands(commands) => {
            commands.iter().map(|command| format!("    {command}\n")).collect()
        }
        Block::Names(names) => wrap(&number::some(names, NAMES), width),
    }
}

/// What of a figure can be said.
fn figure(figure: &Figure, width: u16) -> String {
    match figure {
        Figure::Bars(bars) => {
            let columns = [section::text(""), section::number("")];
            let rows = bars.iter().map(|bar| row![&bar.label, number::count(bar.value.into())]);
            grid(&Table::new("", columns, rows), width)
        }
        Figure::Causes { causes, .. } => {
            let line = |name: &str, pages| row![name, number::signed(pages)];
            let mut rows: Vec<_> =
                causes.iter().map(|(_, name, pages)| line(name, *pages)).collect();
            rows.push(line("all", causes.iter().map(|(_, _, pages)| pages).sum()));
            let columns = [section::text("cause"), section::number("pages")];
            grid(&Table::new("", columns, rows), width)
        }
        Figure::Curve { series, minimum, .. } => wrap(&curve::describe(series, *minimum), width),
        Figure::PageMaps { .. } | Figure::Steps { .. } | Figure::Runs(_) => String::new(),
    }
}

fn targets(targets: &[Target], width: u16) -> String {
    let line = |target: &Target| {
        let [found, limit] = target.numbers(0);
        row![
            &target.name,
            found,
            crate::phrase![target.sense.sign(), " ", limit],
            if target.met { "met" } else { "MISSED" },
        ]
    };
    let columns =
        [section::text(""), section::number("found"), section::number("limit"), section::name("")];
    grid(&Table::new("", columns, targets.iter().map(line)), width)
}

/// The checks that hold in one line, those that fail in a row each.
fn checks(checks: &[Check], width: u16) -> String {
    let (held, failed): (Vec<&Check>, Vec<&Check>) = checks.iter().partition(|check| check.ok);
    let names: Vec<String> = held.iter().map(|check| check.name.clone()).collect();
    let held = match names.is_empty() {
        true => String::new(),
        false => {
            wrap(&format!("{} hold: {}.", names.len(), number::some(&names, CHECKS)), width) + "\n"
        }
    };
    let rows = failed.iter().map(|check| row![&check.name, "FAILED", &check.detail]);
    let columns = [section::text("check"), section::name(""), section::text("")];
    held + &grid(&Table::new("", columns, rows), width)
}

fn took<R: Report>(report: &R, width: u16) -> String {
    let took = report.took();
    let Some(((_, _, total), parts)) = took.split_first() else { return String::new() };
    let parts: Vec<String> = parts
        .iter()
        .map(|(name, _, seconds)| format!("{name} {}", number::seconds(*seconds)))
        .collect();
    let colon = if parts.is_empty() { "" } else { ": " };
    wrap(&format!("Took {}{colon}{}.", number::seconds(*total), parts.join(", ")), width)
}

/// Lines of text for what is no report, each broken between words; what goes on is indented.
pub fn lines<T: AsRef<str>>(lines: &[T], width: u16) -> String {
    lines.iter().map(|line| broken(line.as_ref(), width, "  ") + "\n").collect()
}

/// Breaks `text` between words so that no line is wider than `width`, where words allow.
fn wrap(text: &str, width: u16) -> String {
    broken(text, width, "")
}

/// The same with `indent` before all lines but the first.
fn broken(text: &str, width: u16, indent: &str) -> String {
    let width = usize::from(width.max(NARROWEST));
    let (mut broken, mut column) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            broken.push('\n');
            broken.push_str(indent);
            column = indent.len();
        } else if column > 0 {
            broken.push(' ');
            column += 1;
        }
        broken.push_str(word);
        column += length;
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_break_between_words() {
        let shown = |line: &str| lines(&[line], 80);
        assert_eq!(shown("short line"), "short line\n");
        let long = format!("{} {} tail", "a".repeat(50), "b".repeat(40));
        let expected = format!("{}\n  {} tail\n", "a".repeat(50), "b".repeat(40));
        assert_eq!(shown(&long), expected);
        let word = "x".repeat(100);
        assert_eq!(shown(&word), format!("{word}\n"));
        assert_eq!(wrap(&long, 80), expected.replace("\n  ", "\n").trim_end());
        assert_eq!(lines::<&str>(&[], 80), "");
    }
}
