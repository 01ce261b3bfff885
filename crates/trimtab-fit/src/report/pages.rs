//! What `trimtab pages` found: `trimtab.pages/1`.

use serde::{Deserialize, Serialize};
use trimtab_report::common::{Address, Coverage, Functions, Input, Minimum, TracedCurve, ratio};
use trimtab_report::figure::{Bar, Figure, PageMap, Series};
use trimtab_report::number;
use trimtab_report::phrase::{Number, Unit, bytes, code, count, rough, share, times};
use trimtab_report::section::{
    Block, Head, Headline, Section, Table, Tile, name, number as column, text,
};
use trimtab_report::{Report, Schema, phrase, row};

/// Which pages of a program a trace touches, and how few would do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PagesReport {
    /// Its schema.
    pub schema: Schema<PagesReport>,
    /// The program.
    pub program: Input,
    /// The trace.
    pub trace: Input,
    /// Bytes in a page.
    pub page_size: u32,
    /// The program's text.
    pub text: PagesText,
    /// Text pages that the trace touched.
    pub touched: u32,
    /// Fewest pages that would do.
    pub minimum: Minimum,
    /// Functions of the text.
    pub functions: Functions,
    /// How much of the trace was found in the program.
    pub coverage: Coverage,
    /// First names or addresses of the trace that were not found.
    pub missing: Vec<String>,
    /// Area under the page-fault curve, in pages times events.
    pub curve_area: f64,
    /// The page-fault curve.
    pub curve: TracedCurve,
    /// Executed bytes of each page of the text, by address.
    pub page_map: Vec<u32>,
    /// Sections or input regions of the text, by address.
    pub sections: Vec<PagesSection>,
    /// Where the pages above the function-level minimum come from; they add up to them. Empty
    /// where that is not known.
    #[serde(default)]
    pub excess: Vec<Cause>,
}

/// A cause of pages above the function-level minimum.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// What it is, for people.
    pub cause: String,
    /// Pages; below zero where it saves some.
    pub pages: f64,
}

/// A program's text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PagesText {
    /// Pages from its first to its last byte.
    pub pages_spanned: u32,
    /// Its bytes.
    pub bytes: u64,
}

/// A section or input region of the text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PagesSection {
    /// Its name.
    pub name: String,
    /// Its first byte.
    pub address: Address,
    /// Its bytes.
    pub bytes: u64,
    /// Pages from its first to its last byte.
    pub pages_spanned: u32,
    /// Those that the trace touched.
    pub touched: u32,
    /// Its bytes that ran.
    pub executed_bytes: u64,
    /// Fewest pages that would do for this section alone.
    pub minimum: Minimum,
}

impl PagesReport {
    /// Pages touched as a multiple of the function-level minimum.
    pub fn ratio_to_minimum(&self) -> f64 {
        ratio(self.touched, self.minimum.function_pages)
    }
}

impl Report for PagesReport {
    const VERB: &'static str = "pages";
    const SCHEMA: &'static str = "trimtab.pages/1";

    fn title(&self) -> String {
        format!("Pages of {}", self.program.path)
    }

    fn head(&self) -> Head {
        let minimum = self.minimum;
        Head {
            facts: vec![
                self.program.path.clone(),
                self.program.kind.clone(),
                format!("{}: {}", self.trace.path, self.trace.kind),
            ],
            headline: Headline::Part(
                count("touched", self.touched).into(),
                count("text.pages_spanned", self.text.pages_spanned).into(),
            ),
            what: "text pages touched".into(),
            summary: vec![phrase![
                times("touched/minimum.function_pages", self.ratio_to_minimum()),
                " the fewest that the executed functions fit into.",
            ]],
            tiles: vec![
                Tile::new(
                    count("minimum.function_pages", minimum.function_pages),
                    "pages at function level",
                    "the fewest with whole functions moved",
                ),
                Tile::new(
                    count("minimum.executed_pages", minimum.executed_pages),
                    "pages of executed bytes",
                    "the fewest with single bytes moved",
                ),
                Tile::new(
                    count("functions.executed", self.functions.executed),
                    "functions executed",
                    phrase!["of ", count("functions.total", self.functions.total)],
                ),
                Tile::new(
                    share("coverage.bytes", self.coverage.bytes),
                    "of executed bytes resolved",
                    phrase![share("coverage.names", self.coverage.names), " of function names"],
                ),
            ],
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = vec![self.standing(), self.map(), self.fault_curve()];
        sections.extend([self.regions(), self.causes()].into_iter().flatten());
        sections.push(self.inputs());
        sections
    }
}

impl PagesReport {
    fn standing(&self) -> Section {
        let minimum = self.minimum;
        let lede = "Pages of the text, those that the trace touches, and the two floors below.";
        Section::new("standing", "Where it stands", lede).with(Figure::Bars(vec![
            Bar::new("spanned", "quiet", "text.pages_spanned", self.text.pages_spanned),
            Bar::new("touched", "before", "touched", self.touched),
            Bar::new("function floor", "floor", "minimum.function_pages", minimum.function_pages),
            Bar::new("byte floor", "floor", "minimum.executed_pages", minimum.executed_pages),
        ]))
    }

    fn map(&self) -> Section {
        let row = u64::from(self.page_size) * Figure::map_columns(self.page_map.len()) as u64;
        let lede = phrase![
            "Each cell is a page of ",
            Number::new("page_size", self.page_size, Unit::WholeBytes),
            ", each row ",
            number::whole_bytes(row),
            " of text, first page at the top left. Colour is the share of the page that was \
             executed.",
        ];
        let map = PageMap {
            name: "The text".to_owned(),
            key: "page_map".to_owned(),
            executed: self.page_map.clone(),
            caption: phrase![],
        };
        Section::new("map", "The text, page by page", lede)
            .with(Figure::PageMaps { page_size: self.page_size, maps: vec![map] })
    }

    fn fault_curve(&self) -> Section {
        let lede = phrase![
            "The page-fault curve: distinct pages touched against events. The area under it is ",
            rough("curve_area", self.curve_area),
            " page events.",
        ];
        let series = Series {
            label: "touched".to_owned(),
            class: "before",
            points: self.curve.pages.clone(),
            events: self.curve.events,
        };
        Section::new("curve", "When pages are first touched", lede).with(Figure::Curve {
            series: vec![series],
            step: self.curve.step,
            minimum: self.minimum.function_pages,
        })
    }

    fn regions(&self) -> Option<Section> {
        let rows = self.sections.iter().enumerate().map(|(place, section)| {
            let key = |name: &str| format!("sections.{place}.{name}");
            let minimum = section.minimum;
            row![
                code(&section.name),
                code(section.address.to_string()),
                bytes(key("bytes"), section.bytes),
                bytes(key("executed_bytes"), section.executed_bytes),
                count(key("pages_spanned"), section.pages_spanned),
                count(key("touched"), section.touched),
                count(key("minimum.function_pages"), minimum.function_pages),
                count(key("minimum.executed_pages"), minimum.executed_pages),
            ]
        });
        let columns = [
            name("section"),
            name("address"),
            column("all").of("size"),
            column("executed").of("size"),
            column("spanned").of("pages"),
            column("touched").of("pages"),
            column("functions").of("minimum"),
            column("bytes").of("minimum"),
        ];
        let lede = "By address. A page on the border of two sections counts for both.";
        (!self.sections.is_empty()).then(|| {
            Section::new("sections", "Section by section", lede)
                .with(Table::new("Sections", columns, rows))
        })
    }

    fn causes(&self) -> Option<Section> {
        let rows = self.excess.iter().enumerate().map(|(place, cause)| {
            let key = format!("excess.{place}.pages");
            row![&cause.cause, Number::new(key, cause.pages, Unit::Tenths)]
        });
        let lede = "Where the pages above the function-level minimum come from.";
        (!self.excess.is_empty()).then(|| {
            Section::new("excess", "Above the minimum", lede).with(Table::new(
                "Causes",
                [text("cause"), column("pages")],
                rows,
            ))
        })
    }

    fn inputs(&self) -> Section {
        let read = [&self.program, &self.trace];
        let facts = read.map(|input| (input.path.clone(), input.sha256.clone())).to_vec();
        let lede = format!("{}: {}.", self.trace.path, self.trace.kind);
        let section = Section::new("inputs", "What was read", lede).with(Block::Facts(facts));
        match self.missing.is_empty() {
            true => section,
            false => section
                .with(Block::Heading("Not found in the program".to_owned()))
                .with(Block::Names(self.missing.clone())),
        }
    }
}
