//! Which objects of a program got the flags.

use serde::{Deserialize, Serialize};
use trimtab_report::phrase::{change_by, code, detail, mark, or_none, share};
use trimtab_report::section::{Block, Section, Table, name, number, text};
use trimtab_report::{Phrase, phrase, row};

use super::{Line, Take, TuneProgram, for_linker};

/// Which objects of a program got the flags.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HotObjects {
    /// What all objects are built with.
    pub level: String,
    /// Who saw what is executed: `qemu-plugin`, or who recorded the trace.
    pub found_by: String,
    /// The share of what is executed that was asked for, above 0 and up to 1; none where sources were named.
    pub wanted: Option<f64>,
    /// What is executed and gets no flags, whichever sources are hot.
    pub other: OtherCode,
    /// What the program is compiled from, the hottest first.
    pub files: Vec<SourceFile>,
    /// The fewest flags, given to all objects.
    pub all_objects: Option<AllObjects>,
}

/// The flags that were found for hot objects, given to all. Ratios are in times of the program at the level.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AllObjects {
    /// Instructions; none where it does not work.
    pub fitness_ratio: Option<f64>,
    /// Bytes of the program without symbols.
    pub bytes_ratio: Option<f64>,
    /// Why it does not work.
    pub reason: Option<String>,
}

/// Code of a program that was not compiled by a compiler that can be given flags for single objects.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OtherCode {
    /// Share of what was executed of the program's own code.
    pub share: f64,
    /// Its sources, the hottest first, and what has none.
    pub sources: Vec<String>,
}

impl HotObjects {
    /// The share of what was executed of the program's own code that its hot sources have.
    pub fn reached(&self) -> f64 {
        self.files.iter().filter(|file| file.is_hot).map(|file| file.share).sum()
    }

    /// The share that was asked for, where the hot sources have less.
    pub fn missed(&self) -> Option<f64> {
        // Sums of shares are rounded.
        self.wanted.filter(|wanted| self.reached() < wanted - 1e-9)
    }
}

/// A source that a program is compiled from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its path, relative to the folder that is built where it is in it.
    pub source: String,
    /// The objects that are made of it.
    pub objects: Vec<String>,
    /// Share of what was executed of the program's own code: of bytes, each as often as it ran, or as a trace
    /// counts functions.
    pub share: f64,
    /// Whether its objects got the flags.
    pub is_hot: bool,
}

impl SourceFile {
    /// Whether it is C++, by its name.
    fn is_cxx(&self) -> bool {
        let ending = self.source.rsplit('.').next().unwrap_or_default();
        ["cc", "cp", "cpp", "cxx", "c++", "C", "ii", "mm"].contains(&ending)
    }
}

impl Take {
    /// The same flags, with lines that give them to the hot objects alone.
    pub fn only_for(mut self, hot: &HotObjects) -> Self {
        let files = || hot.files.iter().filter(|file| file.is_hot);
        let mut lines = Vec::new();
        for (variable, is_cxx) in [("CFLAGS", false), ("CXXFLAGS", true)] {
            let own = files().filter(|file| file.is_cxx() == is_cxx);
            let objects: Vec<&str> =
                own.flat_map(|file| &file.objects).map(String::as_str).collect();
            if !objects.is_empty() {
                let line = format!("{}: override {variable} += {}", objects.join(" "), self.flags);
                lines.push(("a Makefile", line));
            }
        }
        let quoted = |source: &str| match source.contains(char::is_whitespace) {
            true => format!("\"{source}\""),
            false => source.to_owned(),
        };
        let sources: Vec<String> = files().map(|file| quoted(&file.source)).collect();
        lines.push((
            "CMakeLists.txt",
            format!(
                "set_source_files_properties({} PROPERTIES COMPILE_FLAGS \"{}\")",
                sources.join(" "),
                self.flags
            ),
        ));
        if let Some(line) = for_linker(&self.flags) {
            lines.push(("the linker, in make and shells", line));
        }
        let line = |(what, line): (&str, String)| Line { what: what.to_owned(), line };
        self.lines = lines.into_iter().map(line).collect();
        self
    }
}

/// Most rows.
const ROWS: usize = 40;
/// Most sources of other code that are named.
const NAMED: usize = 3;

impl HotObjects {
    /// What is said of code that gets no flags, and of a share that is not reached.
    fn beyond(&self) -> Vec<Phrase> {
        let mut said = Vec::new();
        if let Some(wanted) = self.missed() {
            said.push(phrase![
                " The hot sources have ",
                share("", self.reached()),
                ", where ",
                share("hot.wanted", wanted),
                " were asked for.",
            ]);
        }
        if self.other.share > 0.0 {
            let named = self.other.sources.iter().take(NAMED).map(|name| name.as_str());
            let more = if self.other.sources.len() > NAMED { ", and others" } else { "" };
            let names = named.collect::<Vec<&str>>().join(", ");
            said.push(phrase![
                " ",
                share("hot.other.share", self.other.share),
                " cannot be given flags, as none of these compilers compiled it: ",
                format!("{names}{more}."),
            ]);
        }
        said
    }
}

impl TuneProgram {
    pub(super) fn hot_objects(&self) -> Option<Section> {
        let hot = self.hot.as_ref()?;
        let rows = hot.files.iter().enumerate().take(ROWS).map(|(place, file)| {
            row![
                code(&file.source),
                share(format!("hot.files.{place}.share"), file.share),
                mark(file.is_hot, "the flags", &hot.level),
                detail(file.objects.join(" ")),
            ]
        });
        let columns = [
            name("source"),
            number("of what is executed"),
            text("built with"),
            text("objects").aside(),
        ];
        let lede = phrase![
            "Only objects of hot sources get the flags; all others are built with ",
            code(&hot.level),
            ", also for what users would take instead. What is executed is known by: ",
            code(&hot.found_by),
            ".",
            phrase::joined(hot.beyond(), ""),
        ];
        let title = "Hot objects";
        let section = Section::new("hot", title, lede).with(Table::new(title, columns, rows));
        Some(section.with_all(self.hot_beside_all(hot).map(Block::from)))
    }

    /// The fewest flags on hot objects, and on all.
    fn hot_beside_all(&self, hot: &HotObjects) -> Option<Table> {
        let all = hot.all_objects.as_ref()?;
        let change = |key: &str, value: Option<f64>| {
            or_none(value, |value| change_by(format!("{key}-1"), value - 1.0))
        };
        let fewest = &self.minimal;
        let reason = all.reason.as_deref().and_then(|reason| reason.lines().next());
        let rows = [
            row![
                "hot objects",
                change("minimal.fitness_ratio", Some(fewest.fitness_ratio)),
                change("minimal.bytes_ratio", Some(fewest.bytes_ratio)),
                Phrase::default(),
            ],
            row![
                "all objects",
                change("hot.all_objects.fitness_ratio", all.fitness_ratio),
                change("hot.all_objects.bytes_ratio", all.bytes_ratio),
                detail(reason.unwrap_or_default()),
            ],
        ];
        let columns = [name("the fewest flags on"), number(self.unit()), number("bytes"), text("")];
        Some(Table::new("The same flags on all objects", columns, rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_objects_for_make_and_sources_for_cmake() {
        let file = |source: &str, objects: &[&str], is_hot| SourceFile {
            source: source.to_owned(),
            objects: objects.iter().map(|object| (*object).to_owned()).collect(),
            share: 0.5,
            is_hot,
        };
        let hot = HotObjects {
            level: "-O2".to_owned(),
            found_by: "qemu-plugin".to_owned(),
            files: vec![
                file("src/a.c", &["b/a.o", "b/a.pic.o"], true),
                file("a b.cc", &["ab.o"], true),
                file("cold.c", &["cold.o"], false),
            ],
            ..HotObjects::default()
        };
        let take = Take::new("fewest flags", "-O3 -fweb").only_for(&hot);
        let lines: Vec<&str> = take.lines.iter().map(|line| line.line.as_str()).collect();
        let expected = [
            "b/a.o b/a.pic.o: override CFLAGS += -O3 -fweb",
            "ab.o: override CXXFLAGS += -O3 -fweb",
            "set_source_files_properties(src/a.c \"a b.cc\" PROPERTIES COMPILE_FLAGS \"-O3 -fweb\")",
        ];
        assert_eq!(lines, expected);
        let whole = Take::new("fewest flags", "-O3 -flto").only_for(&hot);
        let last = whole.lines.last().map(|line| line.line.as_str());
        assert_eq!(last, Some("LDFLAGS=\"-O3 -flto\""));
    }

    #[test]
    fn what_cannot_be_given_flags_is_said() {
        let file = SourceFile { share: 0.18, is_hot: true, ..SourceFile::default() };
        let sources = ["fast.S", "b.rs", "c.f90", "d.S"].map(str::to_owned).to_vec();
        let other = OtherCode { share: 0.8, sources };
        let hot =
            HotObjects { wanted: Some(0.9), other, files: vec![file], ..HotObjects::default() };
        let report = TuneProgram { hot: Some(hot), ..TuneProgram::default() };
        let text = format!("{:?}", report.hot_objects().unwrap());
        assert!(text.contains("were asked for"), "{text}");
        assert!(text.contains("fast.S, b.rs, c.f90, and others."), "{text}");
    }
}
