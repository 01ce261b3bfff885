//! The sections that show what `tune program` found.

use trimtab_report::figure::{Figure, Line, Scale};
use trimtab_report::phrase::{
    change_by, code, count, detail, mark, or_none, ratio, seconds, share, strong,
};
use trimtab_report::section::{Block, Section, Table, name, number, text};
use trimtab_report::{Phrase, phrase, row};
use trimtab_stats::CONFIDENCE_TEXT;

use super::TuneProgram;

/// Most labels below the convergence.
const LABELS: usize = 8;
/// Most rows of a table of flags.
const ROWS: usize = 20;

/// How much less it is, in percent, for a figure whose values grow; 0 where it is more.
fn percent_saved(ratio: f64) -> f64 {
    ((1.0 - ratio) * 100.0).max(0.0)
}

/// A change by a ratio at `key`.
fn gain(key: String, value: f64) -> Phrase {
    change_by(format!("{key}-1"), value - 1.0).into()
}

impl TuneProgram {
    pub(super) fn to_take(&self) -> Option<Section> {
        let lines = self.take.lines.iter().flat_map(|line| {
            [
                Block::Text(format!("For {}:", line.what).into()),
                Block::Commands(line.line.lines().map(str::to_owned).collect()),
            ]
        });
        let mut section =
            Section::new("take", "The flags to take", "Lines to paste.").with_all(lines);
        if self.take.flags.contains("-fprofile-use") {
            section = section.with(Block::Text(
                "-fprofile-use needs a profile: build with -fprofile-generate in its place, run what is \
                 to be fast, and build again in the same folder."
                    .into(),
            ));
        }
        if self.take.flags.contains("-march=native") {
            section = section.with(Block::Text(
                "-march=native is for the processor of the machine that compiles.".into(),
            ));
        }
        Some(section)
    }

    pub(super) fn beside(&self) -> Option<Section> {
        let mut rows = vec![
            row![
                strong("best flags"),
                gain("best.fitness_ratio".into(), self.best.fitness_ratio),
                Phrase::default(),
                detail(&self.best.flags),
            ],
            row![
                strong("fewest flags"),
                gain("minimal.fitness_ratio".into(), self.minimal.fitness_ratio),
                gain("minimal.bytes_ratio".into(), self.minimal.bytes_ratio),
                detail(&self.minimal.flags),
            ],
        ];
        let others = self.kernel.iter().flat_map(|kernel| kernel.beside.iter().enumerate());
        rows.extend(others.map(|(place, found)| {
            let of = |field: &str, value| {
                or_none(value, |value| gain(format!("kernel.beside.{place}.{field}"), value))
            };
            row![
                phrase!["best of ", code(&found.search)],
                of("fitness_ratio", found.fitness_ratio),
                of("bytes_ratio", found.bytes_ratio),
                detail(&found.flags),
            ]
        }));
        rows.extend(self.arms.iter().enumerate().map(|(place, arm)| {
            let of = |field: &str, value| {
                or_none(value, |value| gain(format!("arms.{place}.{field}"), value))
            };
            row![
                &arm.name,
                of("ratio", arm.ratio),
                of("bytes_ratio", arm.bytes_ratio),
                detail(&match (&arm.reason, &arm.configuration) {
                    (Some(reason), _) => reason.lines().next().unwrap_or_default().to_owned(),
                    (None, Some(line)) => format!("{line} {}", arm.flags),
                    (None, None) => arm.flags.clone(),
                }),
            ]
        }));
        let columns = [name("what"), number(self.unit()), number("bytes"), text("flags").aside()];
        let lede = "Beside what users would take instead, as changes of the program at the level that \
                    was tuned on top of.";
        let title = "Beside what users would take";
        Some(Section::new("beside", title, lede).with(Table::new(title, columns, rows)))
    }

    pub(super) fn times(&self) -> Option<Section> {
        let rows = self.timed.iter().enumerate().map(|(place, timed)| {
            let key = |field: &str| format!("timed.{place}.{field}");
            row![
                &timed.name,
                or_none(timed.fitness_ratio, |value| gain(key("fitness_ratio"), value)),
                ratio(key("time_ratio.mean"), timed.time_ratio.mean),
                phrase![
                    ratio(key("time_ratio.low"), timed.time_ratio.low),
                    " to ",
                    ratio(key("time_ratio.high"), timed.time_ratio.high),
                ],
                count(key("rounds"), timed.rounds),
                mark(timed.is_left, "to the end", "left"),
            ]
        });
        let columns = [
            name("what"),
            number(self.unit()),
            number("time"),
            number(CONFIDENCE_TEXT),
            number("rounds"),
            name("race").aside(),
        ];
        let mut lede = phrase![
            "Processor time in times of the base's, from runs in turn; what is clearly slower than the \
             fastest leaves the race."
        ];
        if let Some(board) = &self.timed_on {
            lede.push(phrase![" All on the board ", code(board), "."]);
        }
        if let Some(found) = self.screen_rank_correlation {
            lede.push(phrase![
                " ",
                self.unit_first(),
                " rank what was timed as time does with a correlation of ",
            ]);
            lede.push(ratio("screen_rank_correlation", found));
            lede.push(" (1: the same order).");
        }
        let not_timed = self.not_timed.iter().map(|left| {
            let reason = left.reason.lines().next().unwrap_or_default();
            Block::Text(format!("Not timed: {}: {reason}", left.flags).into())
        });
        let table = (!self.timed.is_empty()).then(|| Table::new("Time", columns, rows));
        let blocks: Vec<Block> = table.map(Block::from).into_iter().chain(not_timed).collect();
        (!blocks.is_empty()).then(|| Section::new("time", "Time", lede).with_all(blocks))
    }

    pub(super) fn flag_effects(&self) -> Option<Section> {
        let rows = self.effects.iter().enumerate().map(|(place, effect)| {
            let key = |field: &str| format!("effects.{place}.{field}");
            let of = |field: &str, value| or_none(value, |value| gain(key(field), value));
            let interval = match (effect.low, effect.high) {
                (Some(low), Some(high)) => {
                    phrase![ratio(key("low"), low), " to ", ratio(key("high"), high)]
                }
                _ => or_none(None::<f64>, |value| ratio("", value)),
            };
            row![
                code(&effect.flag),
                of("fitness_ratio", effect.fitness_ratio),
                or_none(effect.time_ratio, |value| ratio(key("time_ratio"), value)),
                interval,
            ]
        });
        let columns =
            [name("without"), number(self.unit()), number("time"), number(CONFIDENCE_TEXT)];
        let lede = phrase![
            "Each of the fewest flags left out by itself, beside all of them. ",
            self.unit_first(),
            " repeat exactly; of time there is an interval.",
        ];
        (!self.effects.is_empty()).then(|| {
            let title = "What each flag does";
            Section::new("effects", title, lede).with(Table::new(title, columns, rows))
        })
    }

    pub(super) fn convergence(&self) -> Option<Section> {
        let values: Vec<f64> =
            self.history.iter().map(|found| found.map_or(0.0, percent_saved)).collect();
        let every = values.len().div_ceil(LABELS).max(1);
        let label = |place: usize| match place % every {
            0 => (place + 1).to_string(),
            _ => String::new(),
        };
        let steps = (0..values.len()).map(label).collect();
        let line = Line { label: "best so far".to_owned(), class: "after", broken: false, values };
        let figure = Figure::Steps {
            what: format!("{} saved, in %", self.unit()),
            along: "sets of flags tried".to_owned(),
            steps,
            lines: vec![line],
            scale: Scale::Linear,
        };
        let unit = self.unit();
        let lede = phrase!["The least number of ", unit, " after each set of flags."];
        (self.history.len() > 1)
            .then(|| Section::new("convergence", "Convergence", lede).with(figure))
    }

    pub(super) fn speed_and_size(&self) -> Option<Section> {
        let rows = self.front.iter().enumerate().take(ROWS).map(|(place, point)| {
            let key = |field: &str| format!("front.{place}.{field}");
            row![
                gain(key("fitness_ratio"), point.fitness_ratio),
                gain(key("bytes_ratio"), point.bytes_ratio),
                detail(&point.flags),
            ]
        });
        let line = |label: &str, class, of: fn(&super::FrontPoint) -> f64| Line {
            label: label.to_owned(),
            class,
            broken: false,
            values: self.front.iter().map(|point| of(point) * 100.0).collect(),
        };
        let figure = Figure::Steps {
            what: "in % of the base".to_owned(),
            along: "flags of the front, from fast to small".to_owned(),
            steps: (1..=self.front.len()).map(|place| place.to_string()).collect(),
            lines: vec![
                line(self.unit(), "after", |point| point.fitness_ratio),
                line("bytes", "before", |point| point.bytes_ratio),
            ],
            scale: Scale::Linear,
        };
        let unit = self.unit();
        let lede = phrase![
            "Of all that was tried, the flags that no others beat in both ",
            unit,
            " and bytes."
        ];
        let columns = [number(self.unit()), number("bytes"), text("flags")];
        let title = "Speed and size";
        let section = Section::new("front", title, lede).with(Table::new(title, columns, rows));
        match self.front.len() {
            0 => None,
            1 => Some(section),
            _ => Some(section.with(figure)),
        }
    }

    pub(super) fn what_fails(&self) -> Option<Section> {
        let rows = self.failing.iter().map(|failing| {
            row![code(&failing.flags), detail(failing.reason.lines().next().unwrap_or_default())]
        });
        let refused = (!self.space.refused.is_empty()).then(|| {
            vec![
                Block::Heading("Refused or ignored by the compiler".to_owned()),
                Block::Names(self.space.refused.clone()),
            ]
        });
        let left_out = (!self.space.left_out.is_empty()).then(|| {
            let rows = self.space.left_out.iter();
            let rows = rows.map(|left| row![code(&left.flags), detail(&left.reason)]);
            let title = "Left out of the file of flags";
            Block::from(Table::new(title, [name("flags"), text("why")], rows))
        });
        let lede = "What makes the program fail, alone or together: it is not tried again.";
        let title = "Flags that do not go";
        let table = Table::new(title, [name("flags"), text("what came of them")], rows);
        let others: Vec<Block> = refused.into_iter().flatten().chain(left_out).collect();
        (!self.failing.is_empty() || !others.is_empty())
            .then(|| Section::new("failing", title, lede).with(table).with_all(others))
    }

    pub(super) fn what_was_done(&self) -> Option<Section> {
        let done = self.evaluations;
        let rows = [
            ("named by the search", "proposed", done.proposed),
            ("built", "built", done.built),
            ("run and counted", "measured", done.measured),
            ("images known once built", "deduplicated", done.deduplicated),
            ("known from before", "known", done.known),
            ("failed", "failed", done.failed),
        ];
        let rows = rows
            .map(|(what, field, value)| row![what, count(format!("evaluations.{field}"), value)]);
        let mut deciding = phrase![
            "Deciding what to try took ",
            seconds("seconds.deciding", self.seconds.deciding),
            " of ",
            seconds("seconds.search", self.seconds.search),
            "; ",
            share("", self.saved()),
            " of the sets of flags took no build or no run.",
        ];
        for (place, known) in self.known_by_hundred.iter().enumerate() {
            deciding
                .push(format!(" Of the search's hundred {} it had seen the images of ", place + 1));
            deciding.push(share(format!("known_by_hundred.{place}"), *known));
            deciding.push(".");
        }
        if let Some(workers) = &self.workers {
            deciding.push(" Workers built and counted: ");
            deciding.push(count("workers.count", workers.count));
            deciding.push(", of which ");
            deciding.push(count("workers.restarted", workers.restarted));
            deciding.push(" times one had ended and was started again.");
        }
        let table = Table::new("Evaluations", [name("sets of flags"), number("how many")], rows);
        Some(Section::new("evaluations", "What was done", deciding).with(table))
    }
}
