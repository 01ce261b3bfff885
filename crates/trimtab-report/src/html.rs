//! Reports as self-contained HTML pages: one file, nothing from outside, light and dark, readable
//! without JavaScript, on paper and on a telephone.

mod frame;
mod table;

use crate::common::{Check, Target};
use crate::phrase::{self, Number, Phrase, Piece};
use crate::section::{self, Block, Head, Headline, Section, Table, Tile};
use crate::{Report, row};
use maud::{Markup, html};

/// Renders `report` as a whole page.
pub(crate) fn page<R: Report>(report: &R) -> String {
    let own = report.sections();
    let body = html! {
        main {
            (head(report))
            @for one in &own { (section(one)) }
            @if let Some(last) = checks(report.checks(), report.targets()) { (section(&last)) }
            (repeat(report))
        }
        (frame::foot(R::SCHEMA))
    };
    frame::page(&report.title(), &body, report)
}

/// A number, with its key and its exact value.
pub(crate) fn shown(number: &Number) -> Markup {
    html! {
        @if number.key.is_empty() {
            (number.text())
        } @else {
            data value=(number.value) data-key=(number.key) { (number.text()) }
        }
    }
}

/// Words and numbers.
pub(crate) fn phrase(phrase: &Phrase) -> Markup {
    html! {
        @for piece in &phrase.0 {
            @match piece {
                Piece::Text(text) => (text),
                Piece::Code(text) => code { (text) },
                Piece::Strong(inner) => b { (self::phrase(inner)) },
                Piece::Small(inner) => small { (self::phrase(inner)) },
                Piece::Faint(inner) => span.of { (self::phrase(inner)) },
                Piece::Detail(text) => span.detail { (text) },
                Piece::Mark(good, word) => span class={ "mark " (class(*good)) } {
                    span aria-hidden="true" { (if *good { "✓" } else { "✗" }) } " " (word)
                },
                Piece::Number(number) => (shown(number)),
            }
        }
    }
}

fn class(good: bool) -> &'static str {
    if good { "good" } else { "bad" }
}

fn head<R: Report>(report: &R) -> Markup {
    let Head { result, facts, headline, what, summary, alarm, tiles } = report.head();
    html! {
        header.hero {
            p.eyebrow {
                b { "trimtab " (R::VERB) }
                @for fact in &facts { span { (fact) } }
            }
            h1 {
                (self::headline(&headline))
                span.what { (phrase(&what)) }
            }
            @if !result.is_empty() { p.result { (phrase(&result)) } }
            p.summary {
                @for sentence in &summary { (phrase(sentence)) " " }
                (tally(report.checks(), report.targets()))
            }
            @if let Some((title, sentences)) = &alarm {
                div.alarm role="alert" {
                    p { b { (title) } }
                    ul { @for sentence in sentences { li { (sentence) } } }
                }
            }
            @if !tiles.is_empty() { dl.tiles { @for one in &tiles { (tile(one)) } } }
        }
    }
}

fn headline(headline: &Headline) -> Markup {
    html! {
        @match headline {
            Headline::Words => {},
            Headline::One(number) => span.numbers { span.after { (phrase(number)) } },
            Headline::Change(before, after) => span.numbers {
                span.before { (phrase(before)) }
                span.arrow aria-label="to" { "→" }
                span.after { (phrase(after)) }
            },
            Headline::Part(part, whole) => span.numbers {
                span.before { (phrase(part)) }
                span.arrow { "of" }
                span.rest { (phrase(whole)) }
            },
        }
    }
}

/// How many targets and checks hold, in a sentence with links.
fn tally(checks: &[Check], targets: &[Target]) -> Markup {
    let met = targets.iter().filter(|target| target.met).count();
    let held = checks.iter().filter(|check| check.ok).count();
    html! {
        @if !targets.is_empty() {
            a href="#checks" class=(class(met == targets.len())) {
                (met) " of " (targets.len()) " targets met"
            }
        }
        @if !targets.is_empty() && !checks.is_empty() { ", " }
        @if !checks.is_empty() {
            a href="#checks" class=(class(held == checks.len())) {
                (held) " of " (checks.len()) " checks hold"
            }
        }
        @if !targets.is_empty() || !checks.is_empty() { "." }
    }
}

fn tile(tile: &Tile) -> Markup {
    html! {
        div.tile {
            dt { (tile.label) }
            dd { span.value { (phrase(&tile.value)) } span.remark { (phrase(&tile.remark)) } }
        }
    }
}

fn section(section: &Section) -> Markup {
    html! {
        section id=(section.id) aria-labelledby={ (section.id) "-title" } {
            header {
                h2 id={ (section.id) "-title" } { (section.title) }
                @if !section.lede.is_empty() { p.lede { (phrase(&section.lede)) } }
            }
            @for one in &section.blocks { (block(one)) }
        }
    }
}

fn block(block: &Block) -> Markup {
    html! {
        @match block {
            Block::Heading(text) => h3 { (text) },
            Block::Text(text) => p { (phrase(text)) },
            Block::Verdict(text) => p.verdict { (phrase(text)) },
            Block::List(items) => ul.plain { @for item in items { li { (phrase(item)) } } },
            Block::Table(table) => (table::table(table)),
            Block::Figure(figure) => (figure.draw()),
            Block::Facts(facts) => (list(facts.iter().map(|(a, b)| (a.as_str(), b.as_str())))),
            Block::Commands(commands) => @for command in commands { pre { code { (command) } } },
            Block::Names(names) => p.names { @for name in names { code { (name) } " " } },
        }
    }
}

/// Targets and checks.
fn checks(checks: &[Check], targets: &[Target]) -> Option<Section> {
    if checks.is_empty() && targets.is_empty() {
        return None;
    }
    let target = |(place, target): (usize, &Target)| {
        let [found, limit] = target.numbers(place);
        row![
            &target.name,
            found,
            crate::phrase![target.sense.sign(), " ", limit],
            phrase::mark(target.met, "met", "missed"),
        ]
    };
    let check = |check: &Check| {
        let found = phrase::detail(&check.detail);
        row![&check.name, found, phrase::mark(check.ok, "holds", "fails")]
    };
    let title = match (checks.is_empty(), targets.is_empty()) {
        (false, false) => "Targets and checks",
        (true, _) => "Targets",
        (_, true) => "Checks",
    };
    use section::{number, text};
    let target_columns = [text("target"), number("found"), number("limit"), text("")];
    let targets = Table::new("Targets", target_columns, targets.iter().enumerate().map(target));
    let check_columns = [text("check"), text("found"), text("")];
    let all = Table::new("Checks", check_columns, checks.iter().map(check));
    let lede = "Numbers to reach, and what must hold.";
    Some(Section::new("checks", title, lede).with(targets).with(all))
}

/// Everything that it takes to get the report again.
fn repeat<R: Report>(report: &R) -> Markup {
    let Some(repeat) = report.repeat() else { return html! {} };
    let (took, files) = (report.took(), report.files());
    let lede = html! {
        "Seed " (shown(&phrase::count("repeat.seed", repeat.seed))) "."
        @for (place, (name, key, seconds)) in took.iter().enumerate() {
            @match place {
                0 => " This run took ",
                1 => { ": " (name) " " }
                _ => { ", " (name) " " }
            }
            (shown(&phrase::seconds(*key, *seconds)))
        }
        @if !took.is_empty() { "." }
    };
    let pairs = |map: &std::collections::BTreeMap<String, String>| {
        map.iter().map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>()
    };
    let facts = [
        ("Tools", false, pairs(&repeat.tool_versions)),
        ("Files", false, files),
        ("SHA-256", true, pairs(&repeat.inputs)),
    ];
    html! {
        section id="repeat" aria-labelledby="repeat-title" {
            header {
                h2 id="repeat-title" { "How to repeat it" }
                p.lede { (lede) }
            }
            pre { code { (repeat.command) } }
            @if let Some(advice) = report.advice() { p { (advice) } }
            div.facts {
                @for (title, is_wide, entries) in &facts {
                    @if !entries.is_empty() {
                        div.wide[*is_wide] {
                            h3 { (title) }
                            (list(entries.iter().map(|(a, b)| (a.as_str(), b.as_str()))))
                        }
                    }
                }
            }
        }
    }
}

/// Names and what they stand for.
fn list<'a>(entries: impl Iterator<Item = (&'a str, &'a str)>) -> Markup {
    html! {
        dl.list { @for (name, value) in entries { div { dt { (name) } dd { code { (value) } } } } }
    }
}
