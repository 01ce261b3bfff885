//! How `trimtab fit kernel` shows what it found: first the result, then why to believe it.

use super::super::gain::{Cost, Verdict, time_tile};
use super::super::paper::BOOST;
use super::super::shared;
use super::{BootFigures, FitKernel, Granularity, HeldOut};
use trimtab_report::common::{BeforeAfter, Check, Repeat, Target, ratio as divided};
use trimtab_report::figure::Figure;
use trimtab_report::phrase::{
    Unit, bytes, change, change_of, compared, count, difference, faint, rough, small, strong, times,
};
use trimtab_report::section::{Block, Head, Headline, Section, Table, Tile, name, number, text};
use trimtab_report::{Phrase, Report, Trial, number as say, phrase, row};
use trimtab_stats::CONFIDENCE_TEXT;

impl Report for FitKernel {
    const VERB: &'static str = "fit kernel";
    const SCHEMA: &'static str = "trimtab.fit.kernel/1";

    fn title(&self) -> String {
        format!("Linux {} fitted to its boot", self.kernel.version)
    }

    fn head(&self) -> Head {
        let mut facts = vec![
            format!("Linux {}", self.kernel.version),
            self.kernel.arch.clone(),
            format!("configuration {}", self.config),
            format!("traced by {}", self.tracer),
        ];
        if self.granularity == Granularity::Block {
            facts.push("split by blocks".to_owned());
        }
        let contradictions = self.contradictions();
        let alarm = "Numbers of this result contradict one another.";
        Head {
            result: self.result(),
            facts,
            headline: Headline::Change(
                count("touched.before", self.touched.before).into(),
                count("touched.after", self.touched.after).into(),
            ),
            what: "pages of code touched while booting".into(),
            summary: vec![shared::touched(&self.touched, self.minimum)],
            alarm: (!contradictions.is_empty()).then(|| (alarm.to_owned(), contradictions)),
            tiles: self.tiles(),
        }
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = vec![
            shared::standing("boot", &self.touched, self.minimum),
            shared::maps(
                "boot",
                self.page_size,
                &self.page_map,
                &self.touched,
                self.text.pages_spanned,
            ),
            shared::curves(&self.curve, self.curve_area, self.minimum),
        ];
        sections.extend(self.others());
        sections.extend([self.cost(), self.beside_paper(), self.causes(), self.lines()]);
        sections.extend(self.regions());
        sections
    }

    fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// Checks, boots that did not come up, and numbers that contradict one another. Targets are not among
    /// it.
    fn failures(&self) -> Vec<String> {
        let mut failures = Check::failures(&self.checks);
        let mut boots = |name: &str, booted: BootFigures, why: &Option<String>| {
            if booted.succeeded != booted.attempted {
                let BootFigures { attempted, succeeded } = booted;
                let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
                failures.push(format!("{succeeded} of {attempted} boots of {name} came up{why}"));
            }
        };
        boots("the kernel laid out", self.boot.booted, &self.boot.failed);
        for held_out in &self.held_out {
            boots(
                &format!("the kernel laid out, {},", held_out.name),
                held_out.booted,
                &held_out.failed,
            );
        }
        let contradictions = self.contradictions();
        failures.extend(contradictions.iter().map(|text| text.trim_end_matches('.').to_owned()));
        failures
    }

    fn targets(&self) -> &[Target] {
        &self.targets
    }

    fn repeat(&self) -> Option<&Repeat> {
        Some(&self.repeat)
    }

    fn trials(&self) -> Vec<Trial> {
        self.trials.clone()
    }

    fn took(&self) -> Vec<(&'static str, &'static str, f64)> {
        shared::took(&self.seconds, self.granularity, "relink")
    }

    fn files(&self) -> Vec<(String, String)> {
        let files = &self.artifacts;
        let all = [
            ("vmlinux before", Some(&files.vmlinux_before)),
            ("vmlinux after", Some(&files.vmlinux_after)),
            ("image before", Some(&files.image_before)),
            ("image after", Some(&files.image_after)),
            ("guest", Some(&files.guest)),
            ("order", Some(&files.order_file)),
            ("trace", Some(&files.trace)),
            ("this page", files.html.as_ref()),
        ];
        all.into_iter().filter_map(|(name, path)| Some((name.to_owned(), path?.clone()))).collect()
    }
}

fn booted(key: &str, booted: BootFigures) -> Phrase {
    phrase![
        count(format!("{key}.succeeded"), booted.succeeded),
        " of ",
        count(format!("{key}.attempted"), booted.attempted),
    ]
}

impl FitKernel {
    /// What a boot costs before and after, and whether that is a gain. Time decides where it was
    /// measured: code of a kernel is not read from a disk page by page.
    fn result(&self) -> Phrase {
        let touched = Cost::touched(self.touched.before, self.touched.after);
        let (Some(wall), Some(ratio)) = (&self.boot.wall_seconds, &self.boot.wall_ratio) else {
            let said = Cost::all("A boot", &[touched]);
            return phrase![said, "; its time was not measured."];
        };
        let time = Cost::time("boot.wall_seconds", wall, ratio);
        let lead = match Verdict::of([&time]) {
            Verdict::Same => "No gain in time to expect: ",
            other => other.lead(),
        };
        phrase![lead, Cost::all("a boot", &[touched, time]), "."]
    }

    fn tiles(&self) -> Vec<Tile> {
        let (minimum, image) = (self.minimum.function_pages, self.image.compressed_bytes);
        let before =
            times("touched.before/minimum.function_pages", divided(self.touched.before, minimum));
        let mut tiles = vec![Tile::new(
            times("touched.after/minimum.function_pages", self.ratio_to_minimum()),
            "the function-level minimum",
            phrase![count("minimum.function_pages", minimum), " pages would do; before: ", before],
        )];
        let worst = self.held_out.iter().enumerate().max_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio));
        tiles.extend(worst.map(|(place, boot)| {
            Tile::new(
                times(format!("held_out.{place}.ratio"), boot.ratio),
                "in the worst held-out boot",
                format!("{}; did not make the order", boot.name),
            )
        }));
        tiles.extend(shared::shuffled(&self.touched, "shuffles"));
        tiles.push(Tile::new(
            phrase![
                count("boot.booted.succeeded", self.boot.booted.succeeded),
                faint(phrase![" of ", count("boot.booted.attempted", self.boot.booted.attempted)]),
            ],
            "boots came up",
            "of the kernel laid out",
        ));
        if let (Some(wall), Some(ratio)) = (&self.boot.wall_seconds, &self.boot.wall_ratio) {
            tiles.push(time_tile("wall time of a boot", "boot.wall_seconds", wall, ratio));
        }
        tiles.extend([
            Tile::new(
                change("curve_area", self.curve_area),
                "area under the fault curve",
                phrase![
                    rough("curve_area.before", self.curve_area.before),
                    " → ",
                    rough("curve_area.after", self.curve_area.after),
                    " page events",
                ],
            ),
            Tile::new(
                change("image.compressed_bytes", image.map(|bytes| *bytes as f64)),
                "compressed image",
                phrase![
                    bytes("image.compressed_bytes.before", image.before),
                    " → ",
                    bytes("image.compressed_bytes.after", image.after),
                ],
            ),
            shared::coverage(self.coverage),
        ]);
        tiles
    }

    /// The boots that did not make the order.
    fn others(&self) -> Option<Section> {
        let row = |(place, boot): (usize, &HeldOut)| {
            let key = |name: &str| format!("held_out.{place}.{name}");
            let sides =
                BeforeAfter::new(f64::from(boot.touched_before), f64::from(boot.touched_after));
            let by = format!("{}/{}-1", key("touched_after"), key("touched_before"));
            row![
                &boot.name,
                count(key("touched_before"), boot.touched_before),
                count(key("touched_after"), boot.touched_after),
                change_of(by, sides),
                count(key("minimum_function_pages"), boot.minimum_function_pages),
                strong(times(key("ratio"), boot.ratio)),
                booted(&key("booted"), boot.booted),
            ]
        };
        let columns = [
            text("boot"),
            number("before"),
            number("after"),
            number("change"),
            number("its minimum"),
            number("after / minimum"),
            number("came up"),
        ];
        let lede = "A layout that fits only the boot it was made from proves nothing. These ran the \
                    same two kernels in other circumstances, each held against its own minimum.";
        let rows = self.held_out.iter().enumerate().map(row);
        (!self.held_out.is_empty()).then(|| {
            Section::new("held-out", "Boots that did not make the order", lede).with(Table::new(
                "Held-out boots",
                columns,
                rows,
            ))
        })
    }

    /// Instructions, virtual time, wall time.
    fn cost(&self) -> Section {
        let boot = &self.boot;
        let exact = |name: &str| phrase![name, " ", small("exact")];
        let mut rows = vec![
            compared(exact("instructions"), "boot.instructions", boot.instructions, Unit::Count),
            compared(
                exact("virtual time"),
                "boot.virtual_seconds",
                boot.virtual_seconds,
                Unit::Seconds,
            ),
        ];
        if let Some(wall) = &boot.wall_seconds {
            let runs = count("boot.wall_seconds.after.runs", wall.after.runs);
            let name = phrase!["wall time ", small(phrase!["mean of ", runs])];
            rows.push(shared::timed(name, "boot.wall_seconds", wall));
        }
        let columns = [text("cost of a boot"), number("before"), number("after"), number("change")];
        let lede = format!(
            "Instructions and virtual time come from the emulator's instruction count and repeat exactly. \
             Wall time is noisy: the two kernels booted in turn, intervals are of {CONFIDENCE_TEXT} \
             confidence."
        );
        let mut section = Section::new("cost", "What a boot costs", lede).with(Table::new(
            "Cost of a boot",
            columns,
            rows,
        ));
        if let Some(wall) = &boot.wall_seconds {
            section = section.with(Figure::Runs(wall.clone()));
        }
        match &boot.wall_ratio {
            Some(interval) => section.with(Block::Verdict(shared::verdict(
                "Wall time",
                "boot.wall_ratio",
                interval,
                "the boot",
            ))),
            None => section,
        }
    }

    /// The published numbers beside ours.
    fn beside_paper(&self) -> Section {
        // Long: a row for each number of the paper's table.
        let counts = |(before, after): (u64, u64)| {
            let change = say::change(before as f64, after as f64);
            [say::count(before), say::count(after), change]
        };
        let megabytes = |(before, after): (u64, u64)| {
            let change = say::change(before as f64, after as f64);
            [format!("{before} MB"), format!("{after} MB"), change]
        };
        let none = || [String::new(), String::new(), String::new()];
        let after = |text: String| [String::new(), text, String::new()];
        let row = |theirs: [String; 3], mut ours: Vec<Phrase>| {
            ours.splice(1..1, theirs.map(Phrase::from));
            ours
        };
        let minimum = self.minimum;
        let least = BeforeAfter::new(
            divided(self.touched.before, minimum.function_pages),
            self.ratio_to_minimum(),
        );
        let bytes = BeforeAfter::new(
            divided(self.touched.before, minimum.executed_pages),
            self.ratio_to_executed(),
        );
        let over = |name: &str, key: &str, sides: BeforeAfter<f64>| {
            let before = times(format!("touched.before/{key}"), sides.before);
            row![name, before, times(format!("touched.after/{key}"), sides.after), ""]
        };
        let touched = BeforeAfter::new(self.touched.before, self.touched.after);
        let published = say::times(BOOST.touched.0 as f64 / BOOST.minimum as f64);
        let ratios = [published, say::times(BOOST.ratio()), String::new()];
        let mut rows = vec![
            row(
                counts(BOOST.pages_spanned),
                compared("text pages", "text.pages_spanned", self.text.pages_spanned, Unit::Count),
            ),
            row(counts(BOOST.touched), compared("pages touched", "touched", touched, Unit::Count)),
            row(
                after(say::count(BOOST.minimum)),
                row![
                    "function-level minimum",
                    "",
                    count("minimum.function_pages", minimum.function_pages),
                    "",
                ],
            ),
            row(ratios, over("touched / minimum", "minimum.function_pages", least)),
            row(none(), over("touched / executed bytes", "minimum.executed_pages", bytes)),
            row(
                megabytes(BOOST.vmlinux),
                compared("vmlinux", "image.vmlinux_bytes", self.image.vmlinux_bytes, Unit::Bytes),
            ),
            row(
                megabytes(BOOST.image),
                compared(
                    "boot image",
                    "image.compressed_bytes",
                    self.image.compressed_bytes,
                    Unit::Bytes,
                ),
            ),
        ];
        let time = match &self.boot.wall_seconds {
            None => row!["kernel boot time", "", "", ""],
            Some(wall) => shared::means("kernel boot time", "boot.wall_seconds", wall),
        };
        rows.push(row([String::new(), String::new(), BOOST.boot_time.to_owned()], time));
        let columns = [
            text(""),
            number("before").of("paper"),
            number("after").of("paper"),
            number("change").of("paper"),
            number("before").of("this run"),
            number("after").of("this run"),
            number("change").of("this run"),
        ];
        let lede = format!(
            "{}: {}, mean of {} boots. Another kernel on another machine: compare the shape, not the \
             counts.",
            BOOST.source, BOOST.machine, BOOST.boots
        );
        let title = "The paper beside ours";
        Section::new("paper", title, "")
            .with(Table::new(title, columns, rows))
            .with(Block::Verdict(lede.into()))
    }

    /// Every page above the minimum, by cause.
    fn causes(&self) -> Section {
        let total = difference("touched.after-minimum.function_pages", self.excess.total());
        let lede = phrase![total, " pages over the function-level minimum, each with its cause."];
        let section =
            Section::new("excess", "Pages above the minimum", lede).with(Figure::Causes {
                key: "excess".to_owned(),
                causes: self.excess.causes().to_vec(),
            });
        let Some(parts) = &self.byte_excess else { return section };
        let total = difference("touched.after-minimum.executed_pages", parts.total());
        let text = phrase![
            total,
            " pages: ",
            count("split.functions", self.split.functions),
            " functions were split, and of what ran only this is left.",
        ];
        section
            .with(Block::Heading("Above the minimum of executed bytes".to_owned()))
            .with(Block::Text(text))
            .with(Figure::Causes { key: "byte_excess".to_owned(), causes: parts.causes().to_vec() })
    }

    /// What became of the order's lines and of the trace's functions.
    fn lines(&self) -> Section {
        let order = self.order;
        let fates = [
            ("placed", order.placed, "stands where the order says"),
            ("pinned", order.pinned, "kept by the kernel in a section of its own"),
            ("duplicate", order.duplicate, "a name that occurs more than once"),
            ("discarded", order.discarded, "thrown away by the linker"),
            ("unknown", order.unknown, "no such name in the kernel"),
        ];
        let rows = fates.map(|(name, lines, meaning)| {
            row![name, count(format!("order.{name}"), lines), meaning]
        });
        let lede = phrase![
            count("", order.total()),
            " lines, from ",
            count("functions.executed", self.functions.executed),
            " executed functions of ",
            count("functions.total", self.functions.total),
            ".",
        ];
        let columns = [text("fate"), number("lines"), text("meaning")];
        let mut section = Section::new("order", "Every line of the order", lede).with(Table::new(
            "Lines of the order",
            columns,
            rows,
        ));
        section.blocks.extend(shared::left_out(self.left_out, "the linker").map(Block::Text));
        section.blocks.extend(shared::split(&self.split, self.granularity).map(Block::Text));
        match self.hidden() {
            Some(text) => section
                .with(Block::Heading("What ftrace cannot see".to_owned()))
                .with(Block::Text(text)),
            None => section,
        }
    }

    fn hidden(&self) -> Option<Phrase> {
        let seen = self.ftrace.as_ref()?;
        let hidden = seen.invisible;
        Some(phrase![
            "Of the same boot, ftrace saw ",
            count("ftrace.functions_ftrace", seen.functions_ftrace),
            " functions, the plugin ",
            count("ftrace.functions_plugin", seen.functions_plugin),
            match seen.contained {
                true => Phrase::from(", and all of ftrace's are among them. "),
                false => phrase![". ", strong("Some of ftrace's are NOT among them. ")],
            },
            "Invisible to ftrace: ",
            count("ftrace.invisible.before_start", hidden.before_start),
            " ran before it started, ",
            count("ftrace.invisible.noinstr", hidden.noinstr),
            " are noinstr, ",
            count("ftrace.invisible.entry", hidden.entry),
            " entry code, ",
            count("ftrace.invisible.other", hidden.other),
            " others.",
        ])
    }

    /// The input regions of the text.
    fn regions(&self) -> Option<Section> {
        let rows = self.sections.iter().enumerate().map(|(place, region)| {
            let key = |name: &str| format!("sections.{place}.{name}");
            row![
                trimtab_report::phrase::code(&region.name),
                count(key("pages_spanned.before"), region.pages_spanned.before),
                count(key("pages_spanned.after"), region.pages_spanned.after),
                count(key("touched.before"), region.touched.before),
                count(key("touched.after"), region.touched.after),
                bytes(key("executed_bytes"), region.executed_bytes),
            ]
        });
        let columns = [
            name("section"),
            number("before").of("pages spanned"),
            number("after").of("pages spanned"),
            number("before").of("pages touched"),
            number("after").of("pages touched"),
            number("bytes").of("executed"),
        ];
        let lede =
            "Input regions of the text, by address. A page on the border of two counts for both.";
        (!self.sections.is_empty()).then(|| {
            Section::new("sections", "Section by section", lede)
                .with(Table::new("Sections", columns, rows))
        })
    }
}
