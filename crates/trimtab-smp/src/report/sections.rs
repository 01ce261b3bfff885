//! How `trimtab smp study` shows what it found.

use std::collections::BTreeSet;

use trimtab_report::common::Repeat;
use trimtab_report::figure::{Figure, Line, Scale};
use trimtab_report::phrase::{code, count, hundredths, share};
use trimtab_report::section::{Block, Head, Section, Table, name, number};
use trimtab_report::{Phrase, Report, phrase, row};

use super::{Part, SmpStudy, TreeStudy};
use crate::kconfig::Relation;
use crate::lock::LockKind;

/// Files that are named of those that could not be understood.
const NAMED: usize = 8;

impl Report for SmpStudy {
    const VERB: &'static str = "smp study";
    const SCHEMA: &'static str = "trimtab.smp.study/1";

    fn title(&self) -> String {
        "What SMP changes in the kernel's source".to_owned()
    }

    fn head(&self) -> Head {
        let missing = self.trees.iter().filter(|tree| !tree.missing.is_empty());
        let reasons: Vec<String> = missing
            .map(|tree| format!("{} has no {}", tree.origin, tree.missing.join(", ")))
            .collect();
        let alarm = (!reasons.is_empty()).then(|| {
            ("not all trees are whole: their numbers stand for what is there".to_owned(), reasons)
        });
        Head {
            facts: self.trees.iter().map(|tree| format!("Linux {}", tree.version)).collect(),
            what: "What SMP changes in the kernel's source".into(),
            summary: self
                .trees
                .iter()
                .enumerate()
                .map(|(place, tree)| in_words(place, tree))
                .collect(),
            alarm,
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections =
            vec![self.lines(), self.locks(), self.complexity(), self.unseen(), self.options()];
        sections.extend(self.directories());
        sections.extend(self.given_up());
        sections
    }

    fn repeat(&self) -> Option<&Repeat> {
        Some(&self.repeat)
    }

    fn took(&self) -> Vec<(&'static str, &'static str, f64)> {
        vec![("total", "seconds", self.seconds)]
    }
}

/// A tree in a sentence.
fn in_words(place: usize, tree: &TreeStudy) -> Phrase {
    let key = |field: &str| format!("trees.{place}.{field}");
    let lines = tree.core.lines;
    phrase![
        format!("Linux {}: ", tree.version),
        count(key("lines.differing"), lines.differing),
        " lines of ",
        count(key("lines.up"), lines.up),
        " differ in the kernel's core (",
        share(format!("{}/{}", key("lines.differing"), key("lines.up")), lines.share()),
        "), and ",
        count(key("whole.lines.differing"), tree.whole.lines.differing),
        " in the whole tree.",
    ]
}

impl SmpStudy {
    /// A part of each tree, with where it is in the JSON and what it is called.
    fn parts(&self) -> impl Iterator<Item = (String, String, &Part)> {
        let cores = self
            .trees
            .iter()
            .enumerate()
            .map(|(place, tree)| (format!("trees.{place}."), tree.version.clone(), &tree.core));
        let whole = self.trees.iter().enumerate().map(|(place, tree)| {
            (format!("trees.{place}.whole."), format!("{}, whole tree", tree.version), &tree.whole)
        });
        cores.chain(whole)
    }

    /// Lines over versions.
    fn curve(&self, what: &str, lines: Vec<Line>, scale: Scale) -> Option<Block> {
        let step = |tree: &TreeStudy| match tree.year() {
            Some(year) => format!("{}, {year}", tree.version),
            None => tree.version.clone(),
        };
        let has_years = self.trees.iter().any(|tree| tree.date.is_some());
        let steps = self.trees.iter().map(step).collect();
        let figure = Figure::Steps {
            what: what.to_owned(),
            along: if has_years { "version and year" } else { "version" }.to_owned(),
            steps,
            lines,
            scale,
        };
        (self.trees.len() > 1).then(|| figure.into())
    }

    fn line(&self, label: &str, class: &'static str, value: impl Fn(&TreeStudy) -> f64) -> Line {
        let values = self.trees.iter().map(value).collect();
        Line { label: label.to_owned(), class, broken: false, values }
    }

    fn lines(&self) -> Section {
        let rows = self.parts().map(|(key, name, part)| {
            let key = |field: &str| format!("{key}{field}");
            row![
                name,
                count(key("files"), part.files),
                count(key("changed"), part.changed),
                count(key("lines.up"), part.lines.up),
                count(key("lines.smp"), part.lines.smp),
                count(key("lines.differing"), part.lines.differing),
                share(
                    format!("{}/{}", key("lines.differing"), key("lines.up")),
                    part.lines.share()
                ),
            ]
        });
        let columns = [
            name("version"),
            number("files"),
            number("changed"),
            number("without SMP").of("lines"),
            number("with SMP").of("lines"),
            number("differing").of("lines"),
            number("share"),
        ];
        let title = "Lines that SMP changes";
        let lede = "Each file goes through the preprocessor alone, without what it includes, once with \
                    CONFIG_SMP (and __SMP__) and once without, and is then formatted. Differing lines are \
                    those that only one of both has.";
        let curve = self.curve(
            "differing lines in % of all",
            vec![
                self.line("core", "after", |tree| 100.0 * tree.core.lines.share()),
                self.line("whole tree", "before", |tree| 100.0 * tree.whole.lines.share()),
            ],
            Scale::Linear,
        );
        Section::new("lines", title, lede).with(Table::new(title, columns, rows)).with_all(curve)
    }

    fn locks(&self) -> Section {
        let kinds: Vec<LockKind> = LockKind::ALL.to_vec();
        let versions = self.parts().map(|(_, name, _)| number(name));
        let columns: Vec<_> = [name("kind")].into_iter().chain(versions).collect();
        let rows = kinds.iter().map(|kind| {
            let cells = self.parts().map(|(key, _, part)| {
                Phrase::from(count(format!("{key}locks.{}", kind.name()), part.locks.of(*kind)))
            });
            [Phrase::from(kind.title())].into_iter().chain(cells).collect()
        });
        let title = "Lock operations";
        let lede = "Places where a lock is taken or given back, in all branches of conditionals; a scoped \
                    guard is both. Without the files that implement locks. RCU pointers and what is local \
                    to a processor stand apart from what makes one wait for another.";
        let curve = self.curve(
            "places in the core",
            vec![
                self.line("BKL", "tone-bad", |tree| tree.core.locks.bkl as f64),
                self.line("spin", "after", |tree| tree.core.locks.spin as f64),
                self.line("RCU", "tone-good", |tree| tree.core.locks.rcu() as f64),
                self.line("semaphores", "floor", |tree| tree.core.locks.semaphores() as f64),
                self.line("mutex", "before", |tree| tree.core.locks.mutex as f64),
            ],
            Scale::Linear,
        );
        Section::new("locks", title, lede).with(Table::new(title, columns, rows)).with_all(curve)
    }

    fn complexity(&self) -> Section {
        let rows = self.parts().map(|(key, name, part)| {
            let (key, found) = (|field: &str| format!("{key}complexity.{field}"), &part.complexity);
            let above = found.above_10 as f64 / found.functions.max(1) as f64;
            row![
                name,
                count(key("functions"), found.functions),
                hundredths(key("mean"), found.mean),
                count(key("above_10"), found.above_10),
                share(format!("{}/{}", key("above_10"), key("functions")), above),
                count(key("most"), found.most),
            ]
        });
        let columns = [
            name("version"),
            number("functions"),
            number("mean"),
            number("above 10"),
            number("share"),
            number("most"),
        ];
        let title = "Cyclomatic complexity";
        let lede = "McCabe's number of independent paths through a function; up to 10 a function is regarded as \
                    simple.";
        let steps: Vec<String> = (1..=20).map(|complexity| complexity.to_string()).collect();
        let classes = ["floor", "before", "tone-good", "tone-bad", "after"];
        let lines = self.trees.iter().enumerate().map(|(place, tree)| {
            let found = &tree.core.complexity;
            let value = |index: usize| found.histogram.get(index).copied().unwrap_or(0) as f64;
            let of_all = 100.0 / found.functions.max(1) as f64;
            Line {
                label: tree.version.clone(),
                class: classes[place % classes.len()],
                broken: place >= classes.len(),
                values: (0..steps.len()).map(|index| value(index) * of_all).collect(),
            }
        });
        let figure = Figure::Steps {
            what: "% of the core's functions".to_owned(),
            along: "cyclomatic complexity".to_owned(),
            lines: lines.collect(),
            steps,
            scale: Scale::Linear,
        };
        Section::new("complexity", title, lede).with(Table::new(title, columns, rows)).with(figure)
    }

    fn unseen(&self) -> Section {
        let rows = self.parts().map(|(key, name, part)| {
            row![
                name,
                count(format!("{key}conditions"), part.conditions),
                count(format!("{key}option_tests"), part.option_tests),
                count(format!("{key}only_smp.files"), part.only_smp.files),
                count(format!("{key}only_smp.lines"), part.only_smp.lines),
            ]
        });
        let columns = [
            name("version"),
            number("conditions"),
            number("IS_ENABLED"),
            number("files").of("only with SMP"),
            number("lines").of("only with SMP"),
        ];
        let title = "Where the source asks for SMP";
        let lede = phrase![
            "Conditions of the preprocessor that name it, and places that ask ",
            code("IS_ENABLED(CONFIG_SMP)"),
            ", which the count of lines cannot see: the compiler drops one side. Nor does it see that makefiles \
             name files only for SMP.",
        ];
        Section::new("unseen", title, lede).with(Table::new(title, columns, rows))
    }

    fn options(&self) -> Section {
        let rows = self.parts().map(|(key, name, part)| {
            let (options, key) = (part.options, |field: &str| format!("{key}options.{field}"));
            row![
                name,
                count(key("needs"), options.needs),
                count(key("excludes"), options.excludes),
                count(key("default"), options.default),
                count(key("selected"), options.selected),
            ]
        });
        let columns = [
            name("version"),
            number("only with SMP"),
            number("only without"),
            number("by default"),
            number("selected"),
        ];
        let title = "Options that have to do with SMP";
        let lede = "As Kconfig files say: options that cannot be on without SMP, or with it; that are on by default \
                    only with SMP; that SMP turns on, or another option does where there is SMP. One counts in each \
                    file that says so. Kernels before 2.5.45 have no such files.";
        let lists =
            self.trees.iter().filter(|tree| !tree.smp_options.is_empty()).flat_map(|tree| {
                let names = |relation| -> Vec<String> {
                    let of = tree.smp_options.iter().filter(|option| option.relation == relation);
                    of.map(|option| option.name.clone())
                        .collect::<BTreeSet<_>>()
                        .into_iter()
                        .collect()
                };
                let heading =
                    |what: &str| Block::Heading(format!("Linux {}: {what}", tree.version));
                [
                    ("selected with SMP", Relation::Selected),
                    ("only without SMP", Relation::Excludes),
                ]
                .into_iter()
                .filter_map(move |(what, relation)| {
                    let names = names(relation);
                    (!names.is_empty()).then(|| [heading(what), Block::Names(names)])
                })
                .flatten()
                .collect::<Vec<_>>()
            });
        Section::new("options", title, lede).with(Table::new(title, columns, rows)).with_all(lists)
    }

    fn directories(&self) -> impl Iterator<Item = Section> {
        self.trees.iter().enumerate().map(|(tree_place, tree)| {
            let rows = tree.directories.iter().enumerate().map(|(place, directory)| {
                let part = &directory.part;
                let key = |field: &str| format!("trees.{tree_place}.directories.{place}.{field}");
                row![
                    &directory.path,
                    count(key("files"), part.files),
                    count(key("changed"), part.changed),
                    count(key("lines.up"), part.lines.up),
                    count(key("lines.differing"), part.lines.differing),
                    count("", part.locks.between_processors()),
                    count("", part.options.all()),
                    hundredths(key("complexity.mean"), part.complexity.mean),
                ]
            });
            let columns = [
                name("folder"),
                number("files"),
                number("changed"),
                number("lines without SMP"),
                number("differing"),
                number("locks"),
                number("options").aside(),
                number("complexity"),
            ];
            let title = format!("Folders of Linux {}", tree.version);
            let lede =
                "Locks are all operations but RCU pointers and what is local to a processor.";
            Section::new(format!("folders-{tree_place}"), title.clone(), lede)
                .with(Table::new(title, columns, rows))
        })
    }

    fn given_up(&self) -> Option<Section> {
        let mut list = Vec::new();
        for (place, tree) in self.trees.iter().enumerate() {
            if tree.given_up.is_empty() && tree.not_utf8 == 0 {
                continue;
            }
            let all = tree.given_up.len() as u64;
            list.push(phrase![
                format!("Linux {}: ", tree.version),
                count("", all),
                " files were not understood in full, ",
                count(format!("trees.{place}.not_utf8"), tree.not_utf8),
                " are not UTF-8",
            ]);
            let named = tree.given_up.iter().take(NAMED);
            list.extend(named.map(|file| phrase![code(&file.path), ": ", &file.why]));
        }
        let lede = "What could be counted of them was counted. The JSON names all of them.";
        let section = Section::new("given-up", "Files that were not understood", lede);
        (!list.is_empty()).then(|| section.with(Block::List(list)))
    }
}
