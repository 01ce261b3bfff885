//! What a report is made of: a head, and sections of tables, figures and text.

use crate::figure::Figure;
use crate::phrase::Phrase;

/// What stands at the top of a report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Head {
    /// The result in a sentence, which a terminal shows first and in place of the headline.
    pub result: Phrase,
    /// What was looked at, a word or two each.
    pub facts: Vec<String>,
    /// The numbers that count.
    pub headline: Headline,
    /// What they are numbers of.
    pub what: Phrase,
    /// The result in sentences.
    pub summary: Vec<Phrase>,
    /// Why not to believe it, as a sentence, and each reason.
    pub alarm: Option<(String, Vec<String>)>,
    /// Numbers that stand out.
    pub tiles: Vec<Tile>,
}

/// The numbers of a headline.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Headline {
    /// None.
    #[default]
    Words,
    /// One.
    One(Phrase),
    /// Before and after.
    Change(Phrase, Phrase),
    /// A part of a whole.
    Part(Phrase, Phrase),
}

/// A number that stands out.
#[derive(Debug, Clone, PartialEq)]
pub struct Tile {
    /// The number.
    pub value: Phrase,
    /// What it is.
    pub label: String,
    /// A remark.
    pub remark: Phrase,
}

impl Tile {
    /// A number, what it is, and a remark.
    pub fn new(value: impl Into<Phrase>, label: &str, remark: impl Into<Phrase>) -> Self {
        Self { value: value.into(), label: label.to_owned(), remark: remark.into() }
    }
}

/// A part of a report with a heading.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    /// Its name in links, of lower-case letters and `-`.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// How to read it. A terminal shows it where it says a number.
    pub lede: Phrase,
    /// What it shows.
    pub blocks: Vec<Block>,
}

/// What a section shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A heading within the section.
    Heading(String),
    /// Sentences.
    Text(Phrase),
    /// What follows from numbers, as a sentence.
    Verdict(Phrase),
    /// A list of sentences.
    List(Vec<Phrase>),
    /// A table.
    Table(Table),
    /// A figure.
    Figure(Figure),
    /// Names and what they stand for.
    Facts(Vec<(String, String)>),
    /// Commands to copy, each whole on a line of its own.
    Commands(Vec<String>),
    /// Names, as many as there are; a terminal shows the first.
    Names(Vec<String>),
}

impl Section {
    /// A section without anything in it.
    pub fn new(id: impl Into<String>, title: impl Into<String>, lede: impl Into<Phrase>) -> Self {
        Self { id: id.into(), title: title.into(), lede: lede.into(), blocks: Vec::new() }
    }

    /// With a further block; a table without rows is left out.
    #[must_use]
    pub fn with(mut self, block: impl Into<Block>) -> Self {
        let block = block.into();
        if !matches!(&block, Block::Table(table) if table.rows.is_empty()) {
            self.blocks.push(block);
        }
        self
    }

    /// With further blocks.
    #[must_use]
    pub fn with_all(self, blocks: impl IntoIterator<Item = Block>) -> Self {
        blocks.into_iter().fold(self, Self::with)
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

impl From<Figure> for Block {
    fn from(figure: Figure) -> Self {
        Self::Figure(figure)
    }
}

/// A table. The first cell of each row is the row's heading.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// What it is, for who does not see it.
    pub label: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, as many cells each as there are columns.
    pub rows: Vec<Vec<Phrase>>,
}

impl Table {
    /// A table of `rows`.
    pub fn new(
        label: impl Into<String>,
        columns: impl Into<Vec<Column>>,
        rows: impl IntoIterator<Item = Vec<Phrase>>,
    ) -> Self {
        Self { label: label.into(), columns: columns.into(), rows: rows.into_iter().collect() }
    }
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its heading.
    pub heading: String,
    /// What stands above it and its neighbours of the same group; empty for none.
    pub group: String,
    /// How its cells stand.
    pub kind: ColumnKind,
    /// Whether a terminal that is not wide leaves it out.
    pub is_aside: bool,
}

/// How the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// To the left, broken into lines where they have to be.
    Text,
    /// To the left, whole: names and addresses.
    Name,
    /// To the right, whole.
    Number,
}

impl Column {
    /// With a group.
    #[must_use]
    pub fn of(mut self, group: &str) -> Self {
        group.clone_into(&mut self.group);
        self
    }

    /// Left out by a terminal that is not wide.
    #[must_use]
    pub fn aside(mut self) -> Self {
        self.is_aside = true;
        self
    }
}

fn column(heading: impl Into<String>, kind: ColumnKind) -> Column {
    Column { heading: heading.into(), group: String::new(), kind, is_aside: false }
}

/// A column of text.
pub fn text(heading: impl Into<String>) -> Column {
    column(heading, ColumnKind::Text)
}

/// A column of names or addresses.
pub fn name(heading: impl Into<String>) -> Column {
    column(heading, ColumnKind::Name)
}

/// A column of numbers.
pub fn number(heading: impl Into<String>) -> Column {
    column(heading, ColumnKind::Number)
}
