//! How `trimtab fit program` shows what it found: first the result, then why to believe it.

use super::super::gain::{Cost, Verdict, arrow, time_tile};
use super::super::kernel::{BlockOrder, Granularity};
use super::super::shared;
use super::{Beside, FitProgram, HeldOutRun, Namesakes, ObjectLayout};
use trimtab_report::common::{BeforeAfter, Check, Repeat};
use trimtab_report::figure::Figure;
use trimtab_report::phrase::{
    Unit, bytes, change, code, compared, count, kibibytes, plain, ratio, share, small, strong,
    times,
};
use trimtab_report::section::{Block, Head, Headline, Section, Table, Tile, number, text};
use trimtab_report::{Phrase, Report, phrase, row};
use trimtab_stats::{Estimate, Interval};

impl Report for FitProgram {
    const VERB: &'static str = "fit program";
    const SCHEMA: &'static str = "trimtab.fit.program/1";

    fn title(&self) -> String {
        format!("{} fitted to its start", self.program)
    }

    fn head(&self) -> Head {
        let (touched, major) = (&self.layout.touched, self.faults.major);
        let what =
            if self.granularity == Granularity::Block { "their blocks" } else { "functions" };
        let failures = self.failures();
        let mut summary = vec![shared::touched(touched, self.layout.minimum)];
        summary.extend(self.runs.first().map(|run| phrase!["Started by ", code(run), "."]));
        let (headline, headline_of) = match self.faults.runs {
            0 => (
                Headline::Change(
                    count("touched.before", touched.before).into(),
                    count("touched.after", touched.after).into(),
                ),
                "pages of code touched while starting",
            ),
            _ => (
                Headline::Change(
                    plain("faults.major.before", major.before).into(),
                    plain("faults.major.after", major.after).into(),
                ),
                "major faults of a cold start",
            ),
        };
        Head {
            result: self.result(),
            facts: vec![
                self.program.clone(),
                self.arch.clone(),
                format!("linked by {}", self.linker),
                format!("{} order of {what}", self.algorithm),
                format!("traced by {}", self.tracer),
            ],
            headline,
            what: headline_of.into(),
            summary,
            alarm: (!failures.is_empty()).then(|| ("Not everything holds.".to_owned(), failures)),
            tiles: self.tiles(),
        }
    }

    fn sections(&self) -> Vec<Section> {
        let object = &self.layout;
        let mut sections = vec![
            shared::standing("start", &object.touched, object.minimum),
            shared::maps(
                "start",
                self.page_size,
                &object.page_map,
                &object.touched,
                object.text.pages_spanned,
            ),
            shared::curves(&object.curve, object.curve_area, object.minimum),
        ];
        let others = [self.cost(), self.versions(), self.others(), self.shared_libraries()];
        sections.extend(others.into_iter().flatten());
        sections.push(self.lines());
        sections
    }

    fn checks(&self) -> &[Check] {
        &self.checks
    }

    fn repeat(&self) -> Option<&Repeat> {
        Some(&self.repeat)
    }

    fn took(&self) -> Vec<(&'static str, &'static str, f64)> {
        shared::took(&self.seconds, self.granularity, "second build")
    }

    fn files(&self) -> Vec<(String, String)> {
        let files = &self.artifacts;
        let mut paths = vec![
            ("before", &files.program_before),
            ("after", &files.program_after),
            ("trace", &files.trace),
        ];
        paths.extend(files.order_files.iter().map(|file| ("order", file)));
        paths.extend(files.html.iter().map(|file| ("this page", file)));
        paths.into_iter().map(|(name, path)| (name.to_owned(), path.clone())).collect()
    }

    fn advice(&self) -> Option<String> {
        Some(format!("To keep it: {}.", self.artifacts.use_it))
    }
}

impl FitProgram {
    /// What a start costs before and after, and whether that is a gain.
    fn result(&self) -> Phrase {
        if self.faults.runs == 0 {
            let costs = [Cost::touched(self.layout.touched.before, self.layout.touched.after)];
            let said = match Verdict::of(&costs) {
                Verdict::Gain => Cost::all("A start", &costs),
                other => phrase![other.lead(), Cost::all("a start", &costs)],
            };
            return phrase![said, "; starts were not measured (--runs 0)."];
        }
        let mut cold = vec![
            Cost::major_faults("faults.major", self.faults.major),
            Cost::memory("resident_file_kib", self.resident_file_kib),
        ];
        let mut warm = vec![Cost::minor_faults("warm_minor_faults", self.warm_minor_faults)];
        if let Some(times) = &self.time {
            let time = |key: &str, sides, ratio: &Option<Interval>| {
                ratio.as_ref().map(|ratio| Cost::time(&format!("time.{key}"), sides, ratio))
            };
            cold.extend(time("cold", &times.cold, &self.time_ratio));
            warm.extend(time("warm", &times.warm, &self.warm_time_ratio));
        }
        phrase![
            Verdict::of(cold.iter().chain(&warm)).lead(),
            Cost::all("a cold start", &cold),
            "; ",
            Cost::all("a warm start", &warm),
            ".",
        ]
    }

    fn tiles(&self) -> Vec<Tile> {
        let mut tiles = Vec::new();
        if self.faults.runs > 0 {
            tiles.extend([
                Tile::new(
                    change("faults.major", self.faults.major),
                    "major faults of a cold start",
                    arrow("faults.major", self.faults.major),
                ),
                Tile::new(
                    change("resident_file_kib", self.resident_file_kib),
                    "of the file in memory",
                    phrase![arrow("resident_file_kib", self.resident_file_kib), " KiB"],
                ),
                Tile::new(
                    change("warm_minor_faults", self.warm_minor_faults),
                    "faults of a warm start",
                    arrow("warm_minor_faults", self.warm_minor_faults),
                ),
            ]);
        }
        if let (Some(times), Some(ratio)) = (&self.time, &self.time_ratio) {
            tiles.push(time_tile("time of a cold start", "time.cold", &times.cold, ratio));
        }
        tiles.extend(shared::shuffled(&self.layout.touched, "shuffles, as placed"));
        let size = self.layout.file_bytes;
        tiles.push(Tile::new(
            change("file_bytes", size.map(|bytes| *bytes as f64)),
            "size of the file",
            phrase![
                bytes("file_bytes.before", size.before),
                " → ",
                bytes("file_bytes.after", size.after),
            ],
        ));
        tiles.push(shared::coverage(self.layout.coverage));
        tiles
    }

    fn cost(&self) -> Option<Section> {
        // Long: a row for each cost of a start.
        let named = |name: &str, how: &str| phrase![name, " ", small(how)];
        let kib = |name: &str, key: &str, sides: BeforeAfter<f64>| {
            let before = kibibytes(&format!("{key}.before"), sides.before);
            let after = kibibytes(&format!("{key}.after"), sides.after);
            row![named(name, "cold"), before, after, change(key, sides)]
        };
        let faults = |name: &str, how: &str, key: &str, sides: BeforeAfter<f64>| {
            compared(named(name, how), key, sides, Unit::Plain)
        };
        let mut rows = Vec::new();
        if self.faults.runs > 0 {
            rows.extend([
                faults("major faults", "cold", "faults.major", self.faults.major),
                faults("minor faults", "cold", "faults.minor", self.faults.minor),
                kib("file in memory", "resident_file_kib", self.resident_file_kib),
                kib("code in memory", "resident_text_kib", self.resident_text_kib),
                faults("minor faults", "warm", "warm_minor_faults", self.warm_minor_faults),
            ]);
        }
        rows.extend(
            self.instructions
                .map(|sides| compared("instructions", "instructions", sides, Unit::Count)),
        );
        rows.extend(
            self.jumps_taken
                .map(|sides| compared("jumps taken", "jumps_taken", sides, Unit::Count)),
        );
        let time = |name: &str, how: &str, key: &str, sides: &BeforeAfter<Estimate>| {
            shared::timed(named(name, how), &format!("time.{key}"), sides)
        };
        if let Some(times) = &self.time {
            rows.push(time("time", "cold", "cold", &times.cold));
            let first = &times.first_output;
            rows.extend(
                first
                    .iter()
                    .map(|first| time("to the first output", "cold", "first_output", first)),
            );
            rows.push(time("time", "warm", "warm", &times.warm));
        }
        if rows.is_empty() {
            return None;
        }
        let columns =
            [text("cost of a start"), number("before"), number("after"), number("change")];
        let disk = match self.faults.read_ahead_kib {
            Some(kib) => phrase![
                "faults and pages are counted on a disk that reads ahead by ",
                count("faults.read_ahead_kib", kib),
                " KiB, times are taken on the machine's. ",
            ],
            None => "faults and pages are counted on the machine's disk. ".into(),
        };
        let lede = phrase![
            "Means of ",
            count("faults.runs", self.faults.runs),
            " starts of each side, in turn. Cold: no page of the files that were laid out is in \
             memory, all others may be; ",
            disk,
            "Linux maps pages around a fault and reads ahead, so faults alone mislead: see what came \
             into memory, too.",
        ];
        let section = Section::new("cost", "What a start costs", lede).with(Table::new(
            "Cost of a start",
            columns,
            rows,
        ));
        Some(section.with_all(self.runs_of_each()))
    }

    /// Each run of both sides, and what follows from them.
    fn runs_of_each(&self) -> Vec<Block> {
        let Some(times) = &self.time else { return Vec::new() };
        let shown = [
            ("Time of a cold start", "time_ratio", Some(&times.cold), &self.time_ratio),
            (
                "Time to the first output",
                "first_output_ratio",
                times.first_output.as_ref(),
                &self.first_output_ratio,
            ),
            ("Time of a warm start", "warm_time_ratio", Some(&times.warm), &self.warm_time_ratio),
        ];
        let blocks = |(name, key, sides, ratio): (
            &str,
            &str,
            Option<&BeforeAfter<Estimate>>,
            &Option<Interval>,
        )| {
            let (sides, ratio) = (sides?, ratio.as_ref()?);
            Some([
                Block::Figure(Figure::Runs(sides.clone())),
                Block::Verdict(shared::verdict(name, key, ratio, "it")),
            ])
        };
        shown.into_iter().filter_map(blocks).flatten().collect()
    }

    /// Ours in one table with what others made.
    fn versions(&self) -> Option<Section> {
        let time = |key: &str, interval: &Option<Interval>| match interval {
            Some(found) => phrase![
                ratio(format!("{key}.mean"), found.mean),
                " ",
                small(phrase![
                    ratio(format!("{key}.low"), found.low),
                    " to ",
                    ratio(format!("{key}.high"), found.high),
                ]),
            ],
            None => phrase![],
        };
        let ours = |name: &str, side: &str, of: fn(&BeforeAfter<f64>) -> f64, time: Phrase| {
            row![
                name,
                plain(format!("faults.major.{side}"), of(&self.faults.major)),
                kibibytes(&format!("resident_file_kib.{side}"), of(&self.resident_file_kib)),
                plain(format!("warm_minor_faults.{side}"), of(&self.warm_minor_faults)),
                time,
            ]
        };
        let first = time("first_output_ratio", &self.first_output_ratio);
        let mut rows = vec![
            ours("as built", "before", |sides| sides.before, first),
            ours("trimtab", "after", |sides| sides.after, phrase![]),
        ];
        rows.extend(self.beside.iter().enumerate().map(|(place, other): (usize, &Beside)| {
            let key = |name: &str| format!("beside.{place}.{name}");
            row![
                &other.name,
                plain(key("major_faults"), other.major_faults),
                kibibytes(&key("resident_file_kib"), other.resident_file_kib),
                plain(key("warm_minor_faults"), other.warm_minor_faults),
                time(&key("first_output_ratio"), &other.first_output_ratio),
            ]
        }));
        let columns = [
            text("version"),
            number("major faults"),
            number("in memory"),
            number("warm faults"),
            number("our first output / its"),
        ];
        let lede = "Versions of the same program that other tools made, started in turn with ours. \
                    Major faults and memory are of cold starts.";
        (!self.beside.is_empty()).then(|| {
            Section::new("beside", "Beside it", lede).with(Table::new("Versions", columns, rows))
        })
    }

    fn others(&self) -> Option<Section> {
        let row = |(place, run): (usize, &HeldOutRun)| {
            let key = |name: &str| format!("held_out.{place}.{name}");
            row![
                code(&run.name),
                count(key("touched_before"), run.touched_before),
                count(key("touched_after"), run.touched_after),
                count(key("minimum_function_pages"), run.minimum_function_pages),
                strong(times(key("ratio"), run.ratio)),
            ]
        };
        let columns = [
            text("run"),
            number("before"),
            number("after"),
            number("its minimum"),
            number("after / minimum"),
        ];
        let lede = "A layout that fits only the run it was made from proves nothing. Each is held \
                    against its own minimum.";
        let rows = self.held_out.iter().enumerate().map(row);
        (!self.held_out.is_empty()).then(|| {
            Section::new("held-out", "Runs that did not make the order", lede).with(Table::new(
                "Held-out runs",
                columns,
                rows,
            ))
        })
    }

    fn shared_libraries(&self) -> Option<Section> {
        let row = |(place, object): (usize, &ObjectLayout)| {
            let key = |name: &str| format!("libraries.{place}.{name}");
            row![
                code(&object.file),
                count(key("text.pages_spanned.before"), object.text.pages_spanned.before),
                count(key("touched.before"), object.touched.before),
                count(key("touched.after"), object.touched.after),
                count(key("minimum.function_pages"), object.minimum.function_pages),
                count(key("order.placed"), object.order.placed),
                count(key("misplaced"), object.misplaced),
                share(key("coverage.names"), object.coverage.names),
            ]
        };
        let columns = [
            text("library"),
            number("text pages"),
            number("touched before"),
            number("touched after"),
            number("minimum"),
            number("placed"),
            number("misplaced"),
            number("coverage"),
        ];
        let rows = self.libraries.iter().enumerate().map(row);
        let lede = "Laid out as well, each in an order of its own.";
        (!self.libraries.is_empty()).then(|| {
            Section::new("libraries", "Shared libraries", lede).with(Table::new(
                "Shared libraries",
                columns,
                rows,
            ))
        })
    }

    fn lines(&self) -> Section {
        let (order, object) = (self.layout.order, &self.layout);
        let fates = [
            ("order.placed", "placed", order.placed, "stands where the order says"),
            ("misplaced", "misplaced", object.misplaced, "is in the text, but not there"),
            ("order.duplicate", "duplicate", order.duplicate, "a name that occurs more than once"),
            ("order.discarded", "discarded", order.discarded, "thrown away by the linker"),
            ("order.unknown", "unknown", order.unknown, "no such name in the program"),
        ];
        let rows = fates.map(|(key, name, lines, meaning)| row![name, count(key, lines), meaning]);
        let lede = phrase![
            count("", order.total() + object.misplaced),
            " lines, from ",
            count("functions.executed", object.functions.executed),
            " executed functions of ",
            count("functions.total", object.functions.total),
            "; ",
            share("separate", object.separate),
            " of the text is in sections of single functions.",
        ];
        let columns = [text("fate"), number("lines"), text("meaning")];
        let mut section = Section::new("order", "Every line of the order", lede).with(Table::new(
            "Lines of the order",
            columns,
            rows,
        ));
        section.blocks.extend(shared::left_out(object.left_out, &self.linker).map(Block::Text));
        let Namesakes { functions, bytes: size } = object.namesakes;
        if functions > 0 {
            section.blocks.push(Block::Text(phrase![
                count("namesakes.functions", functions),
                " functions that did not run (",
                bytes("namesakes.bytes", size),
                format!(
                    ") come along: {} knows them by the names of others that did.",
                    self.linker
                ),
            ]));
        }
        section.blocks.extend(shared::split(&self.split, self.granularity).map(Block::Text));
        if self.granularity == Granularity::Block && self.split.block_order == BlockOrder::ExtTsp {
            let text = "What stays in a function is ordered by how it ran (ext-tsp).";
            section.blocks.push(Block::Text(text.into()));
        }
        if self.together {
            let text = "What a start needs beside the text lies right before it in the file.";
            section.blocks.push(Block::Text(text.into()));
        }
        section
    }
}
