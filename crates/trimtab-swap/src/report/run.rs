//! What `trimtab swap run` found: `trimtab.swap.run/1`.

use super::sweep::SwapSweep;
use serde::{Deserialize, Serialize};
use trimtab_report::common::{BeforeAfter, Check, Repeat};
use trimtab_report::number::{count, rough};
use trimtab_report::phrase::{change_by, kibibytes, or_none, plain, share, threshold, times};
use trimtab_report::section::{Block, Head, Headline, Section, Table, Tile, name, number, text};
use trimtab_report::{Phrase, Report, Schema, phrase, row};

/// A kernel that ran with its cold code swapped out, beside the same kernel with all of it in memory.
/// `None` is what was not measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SwapRun {
    /// Its schema.
    pub schema: Schema<SwapRun>,
    /// Version of the kernel.
    pub kernel: String,
    /// The configuration that it was built with, less what does not work with swapping.
    pub config: String,
    /// How finely code was taken apart: `function` or `block`.
    pub granularity: String,
    /// Share of all executed instructions that stays in memory, above 0, at most 1.
    pub threshold: f64,
    /// Share of all code that may stay in memory where the threshold leaves room, 0 to 1; 0 where only
    /// the threshold says what stays.
    #[serde(default)]
    pub room: f64,
    /// Page frames of the cache.
    pub frames: u64,
    /// Policy of replacement: `rr`, `random` or `nru`.
    pub policy: String,
    /// Where swapped code is kept: `flash` or `lz4`.
    pub store: String,
    /// Microseconds that reading a page of the store takes at least; charged in the guest's time.
    pub latency_us: u64,
    /// CPUs of the guest.
    pub cpus: u64,
    /// What the kernel calls its plan.
    pub plan: String,
    /// Pages that are swapped.
    pub pages: u64,
    /// The kernel's code, in KiB.
    pub code_kib: SwapCode,
    /// The kernel's data that is not released (initialized, zeroed, read-only), in KiB.
    pub data_kib: f64,
    /// KiB of it that are read-only and are swapped as well.
    #[serde(default)]
    pub data_swappable_kib: f64,
    /// KiB of the store. It is memory where [`store`](Self::store) is `lz4`.
    pub store_kib: f64,
    /// By which share code and data that stay are smaller than code and data were, 0 to 1; a store in
    /// memory is not counted here.
    pub footprint_reduction: f64,
    /// The same with a store in memory counted.
    pub footprint_reduction_with_store: f64,
    /// KiB by which the guest said that it has more memory once its code was swapped out.
    pub released_kib: Option<f64>,
    /// What each workload cost.
    pub workloads: Vec<SwapWorkload>,
    /// All workloads, with everything swapped out again and again.
    pub selftest: Option<SwapSelftest>,
    /// What a page fault takes.
    #[serde(default)]
    pub handler: SwapHandler,
    /// The largest share that misses of the instruction cache add to the system time of a workload, on
    /// any core; negative where they take from all.
    pub cache_penalty: Option<f64>,
    /// The same for misses of address translation.
    pub tlb_penalty: Option<f64>,
    /// Page faults for other thresholds, placements, cache sizes and policies, in replays of what the
    /// workloads ran.
    #[serde(default)]
    pub sweep: Option<SwapSweep>,
    /// What must hold.
    pub checks: Vec<Check>,
    /// What was made.
    pub artifacts: SwapArtifacts,
    /// What it takes to get the same again.
    pub repeat: Repeat,
}

/// Code in KiB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SwapCode {
    /// All that is not released when the kernel is up.
    pub original: f64,
    /// Never absent; the handler is in it.
    pub core: f64,
    /// Stays for speed.
    pub base: f64,
    /// Page frames of the cache.
    pub cache: f64,
    /// Is loaded when called for.
    pub swappable: f64,
    /// Page tables and the driver's tables.
    pub tables: f64,
    /// What stays in memory: core, base, cache and tables.
    pub net_resident: f64,
}

/// A workload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SwapWorkload {
    /// Its name.
    pub name: String,
    /// Whether the plan was made without it.
    #[serde(default)]
    pub held_out: bool,
    /// How often it ran.
    #[serde(default)]
    pub rounds: u64,
    /// System time that it took with all code in memory, in seconds, each instruction as long as the
    /// guest's clock has it.
    #[serde(default)]
    pub system_seconds: f64,
    /// Page faults for what is swapped.
    pub faults: u64,
    /// Of them, those for read-only data.
    #[serde(default)]
    pub data_faults: u64,
    /// Pages evicted.
    pub evictions: u64,
    /// Frames used beyond those that there are.
    pub overflow: u64,
    /// Instructions that the kernel executed from the start of init on, without and with swapping.
    pub system_instructions: BeforeAfter<u64>,
    /// System time with swapping, as a multiple of that without, on the core where it is larger.
    pub system_time_ratio: Option<f64>,
    /// How much of that ratio is waiting for the store.
    pub delay_share: Option<f64>,
    /// How much of it is all else that is executed: handling faults, reading pages, other timing.
    pub handling_share: Option<f64>,
    /// The same on each core.
    pub cores: Vec<SwapCore>,
    /// The longest fault, from fault to resume, in microseconds of the guest's time.
    pub worst_us: Option<f64>,
    /// What that fault interrupted.
    pub worst_context: Option<String>,
    /// The longest that a thread of real-time priority which sleeps a millisecond at a time woke up too
    /// late while the workload ran (cyclictest), in microseconds of the guest's time, without and with
    /// swapping.
    #[serde(default)]
    pub late_us: Option<BeforeAfter<u64>>,
}

/// System time of a workload on a model of a core: an instruction takes a cycle, waiting for the store
/// as long as it took the guest, and code that the core does not have at hand what it costs there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SwapCore {
    /// What core it is.
    pub name: String,
    /// System time with swapping, as a multiple of that without: 1 and the shares that follow.
    pub system_time_ratio: f64,
    /// Waiting for the store.
    pub delay_share: f64,
    /// All else that is executed.
    pub handling_share: f64,
    /// More misses of the instruction cache, or fewer where it is negative.
    pub cache_share: f64,
    /// The same of address translation.
    pub tlb_share: f64,
}

/// The self-test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SwapSelftest {
    /// Milliseconds after which everything is swapped out.
    pub interval_ms: u64,
    /// Page faults.
    pub faults: u64,
    /// Of them, those for read-only data.
    #[serde(default)]
    pub data_faults: u64,
    /// Pages evicted.
    pub evictions: u64,
    /// Times that other CPUs were interrupted.
    pub shootdowns: u64,
    /// Pages that were read at random, each to see that it reads as it did before it was swapped out.
    #[serde(default)]
    pub touches: u64,
    /// Times that everything was compared with the store.
    pub audits: u64,
    /// Frames used beyond those that there are.
    pub overflow: u64,
    /// What was not as it must be.
    pub errors: u64,
}

/// What a page fault takes in the driver, from its hook to where the instruction runs again, on average
/// and without the wait for the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SwapHandler {
    /// Instructions, in the workloads.
    pub instructions: Option<f64>,
    /// Microseconds, in the self-test, which runs in real time on this machine.
    pub microseconds: Option<f64>,
}

/// Files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapArtifacts {
    /// The kernel without swapped code, with symbols.
    pub vmlinux_before: String,
    /// The kernel with swapped code, with symbols.
    pub vmlinux_after: String,
    /// Its bootable image.
    pub image: String,
    /// The plan.
    pub plan: String,
    /// The guest's root.
    pub guest: String,
    /// Command line of a boot with swapped code.
    pub boot: String,
}

impl SwapWorkload {
    /// What renderings call it; a star says that it is held out.
    pub fn title(&self) -> String {
        let star = if self.held_out { "*" } else { "" };
        format!("{}{star}", self.name)
    }
}

impl SwapHandler {
    /// As a sentence; empty where nothing was measured.
    pub fn sentence(&self) -> String {
        let instructions =
            self.instructions.map(|found| format!("{} instructions", count(found.round() as u64)));
        let time = self.microseconds.map(|found| format!("{} µs on this machine", rough(found)));
        let found: Vec<String> = instructions.into_iter().chain(time).collect();
        match found.is_empty() {
            true => String::new(),
            false => format!(
                "Bringing a page takes {}, the wait for the store aside.",
                found.join(" and ")
            ),
        }
    }
}

impl SwapRun {
    /// What a thread with real-time priority notices, as a sentence; empty where it was not measured.
    pub fn late_sentence(&self) -> String {
        let late = |found: &SwapWorkload| Some((found.late_us?, found.title()));
        let all = || self.workloads.iter().filter_map(late);
        let before = all().max_by_key(|(late, _)| late.before);
        let after = all().max_by_key(|(late, _)| late.after);
        let (Some((before, _)), Some((after, name))) = (before, after) else {
            return String::new();
        };
        format!(
            "A thread with real-time priority that sleeps a millisecond at a time woke up at most {} µs \
             too late ({name}), and {} µs with all code in memory.",
            count(after.after),
            count(before.before)
        )
    }

    /// Share of the code that stays in memory, 0 to 1; more where swapping takes more than it saves.
    pub fn resident_share(&self) -> f64 {
        match self.code_kib.original {
            0.0 => 0.0,
            original => self.code_kib.net_resident / original,
        }
    }
}

impl Report for SwapRun {
    const VERB: &'static str = "swap run";
    const SCHEMA: &'static str = "trimtab.swap.run/1";

    fn title(&self) -> String {
        format!("Linux {} with its cold code swapped out", self.kernel)
    }

    fn head(&self) -> Head {
        let code = self.code_kib;
        let store = match self.latency_us {
            0 => self.store.clone(),
            latency => format!("{}, {latency} µs a page", self.store),
        };
        let less = phrase![
            share("footprint_reduction_with_store", self.footprint_reduction_with_store),
            " less with the store",
        ];
        Head {
            facts: vec![
                format!("Linux {}", self.kernel),
                self.config.clone(),
                format!("by {}", self.granularity),
                format!("plan {}", self.plan),
                format!("{} CPU{}", self.cpus, if self.cpus == 1 { "" } else { "s" }),
            ],
            headline: Headline::One(share("", self.resident_share()).into()),
            what: phrase![
                "of the kernel's code stays in memory at T = ",
                threshold("threshold", self.threshold),
                format!(" with {} page frames, {}, from {store}", self.frames, self.policy),
            ],
            tiles: vec![
                Tile::new(kibibytes("code_kib.core", code.core), "core", "must never be absent"),
                Tile::new(kibibytes("code_kib.base", code.base), "base", "runs too often"),
                Tile::new(
                    kibibytes("code_kib.swappable", code.swappable),
                    "swappable",
                    phrase!["on ", phrase::count("pages", self.pages), " pages"],
                ),
                Tile::new(
                    share("footprint_reduction", self.footprint_reduction),
                    "less code and data",
                    less,
                ),
            ],
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = vec![self.memory(), self.costs(), self.causes()];
        sections.extend(self.tested());
        sections.extend(self.sweep.iter().flat_map(SwapSweep::figures));
        sections
    }

    fn checks(&self) -> &[Check] {
        &self.checks
    }

    fn repeat(&self) -> Option<&Repeat> {
        Some(&self.repeat)
    }

    fn files(&self) -> Vec<(String, String)> {
        let files = &self.artifacts;
        [
            ("vmlinux before", &files.vmlinux_before),
            ("vmlinux after", &files.vmlinux_after),
            ("image", &files.image),
            ("plan", &files.plan),
            ("guest", &files.guest),
            ("a boot of it", &files.boot),
        ]
        .map(|(name, path)| (name.to_owned(), path.clone()))
        .to_vec()
    }
}

/// Microseconds.
fn micros(key: String, value: f64) -> Phrase {
    phrase![plain(key, value), " µs"]
}

impl SwapRun {
    fn memory(&self) -> Section {
        let code = self.code_kib;
        let of = |key: &str, part: f64| match code.original {
            0.0 => trimtab_report::number::NONE.into(),
            original => Phrase::from(share(format!("{key}/code_kib.original"), part / original)),
        };
        let part =
            |(name, key, kib): (&str, &str, f64)| row![name, kibibytes(key, kib), of(key, kib)];
        let mut rows: Vec<Vec<Phrase>> = [
            ("core", "code_kib.core", code.core),
            ("base", "code_kib.base", code.base),
            ("cache", "code_kib.cache", code.cache),
            ("tables", "code_kib.tables", code.tables),
            ("what stays of the code", "code_kib.net_resident", code.net_resident),
            ("swappable", "code_kib.swappable", code.swappable),
            ("all code", "code_kib.original", code.original),
        ]
        .into_iter()
        .map(part)
        .collect();
        let other = |name: &str, key: &str, kib: f64| row![name, kibibytes(key, kib), ""];
        rows.extend([
            other("data", "data_kib", self.data_kib),
            other("swappable data", "data_swappable_kib", self.data_swappable_kib),
            other("store", "store_kib", self.store_kib),
            row![
                "more for the guest, as it says",
                or_none(self.released_kib, |kib| kibibytes("released_kib", kib)),
                "",
            ],
        ]);
        let columns = [text(""), number("memory"), number("of all code")];
        let lede = "What is released when the kernel is up is not counted.";
        Section::new("memory", "Memory", lede).with(Table::new("Memory", columns, rows))
    }

    fn costs(&self) -> Section {
        let rows = self.workloads.iter().enumerate().map(|(place, found)| {
            let key = |name: &str| format!("workloads.{place}.{name}");
            let whole = |name: &str, value: u64| phrase::count(key(name), value);
            row![
                found.title(),
                whole("rounds", found.rounds),
                phrase![plain(key("system_seconds"), found.system_seconds), " s"],
                whole("faults", found.faults),
                whole("evictions", found.evictions),
                whole("overflow", found.overflow),
                or_none(found.system_time_ratio, |ratio| times(key("system_time_ratio"), ratio)),
                or_none(found.worst_us, |us| micros(key("worst_us"), us)),
                found.worst_context.as_deref().unwrap_or(trimtab_report::number::NONE),
                or_none(found.late_us, |late| {
                    phrase![
                        whole("late_us.before", late.before),
                        " µs → ",
                        whole("late_us.after", late.after),
                        " µs",
                    ]
                }),
            ]
        });
        let columns = [
            text("workload"),
            number("rounds"),
            number("without swapping"),
            number("faults"),
            number("evictions"),
            number("overflow"),
            number("system time"),
            number("worst fault"),
            text("in"),
            number("late"),
        ];
        let mut lede = phrase![
            "System time is that of the kernel from the start of init on, as a multiple of that of the \
             kernel with all code in memory, on the core where it is larger. Waiting ",
            phrase::count("latency_us", self.latency_us),
            " µs for a page of the store is part of it. The system time without swapping is given in \
             seconds. Late is how much too late a thread of real-time priority that sleeps a \
             millisecond at a time woke up at worst, without and with swapping.",
        ];
        if self.workloads.iter().any(|found| found.held_out) {
            lede.push(" * held out: the plan was made without it.");
        }
        Section::new("workloads", "Workloads", lede).with(Table::new("Workloads", columns, rows))
    }

    fn causes(&self) -> Section {
        let rows = self.workloads.iter().enumerate().flat_map(|(place, found)| {
            found.cores.iter().enumerate().map(move |(at, core)| {
                let key = |name: &str| format!("workloads.{place}.cores.{at}.{name}");
                row![
                    found.title(),
                    &core.name,
                    change_by(key("delay_share"), core.delay_share),
                    change_by(key("handling_share"), core.handling_share),
                    change_by(key("cache_share"), core.cache_share),
                    change_by(key("tlb_share"), core.tlb_share),
                    times(key("system_time_ratio"), core.system_time_ratio),
                ]
            })
        });
        let columns = [
            text("workload"),
            name("core"),
            number("waiting"),
            number("handling"),
            number("cache"),
            number("TLB"),
            number("together"),
        ];
        let lede = "What of the system time without swapping each cause adds: waiting for the store, \
                    all else that is executed, and code that the core does not have at hand, by a \
                    simulation of its instruction cache and its address translation.";
        let title = "System time by its causes";
        Section::new("cores", title, lede).with(Table::new(title, columns, rows))
    }

    fn tested(&self) -> Option<Section> {
        let test = self.selftest.as_ref()?;
        let rows = [
            ("page faults", "faults", test.faults),
            ("of them for data", "data_faults", test.data_faults),
            ("evictions", "evictions", test.evictions),
            ("shootdowns", "shootdowns", test.shootdowns),
            ("pages read at random", "touches", test.touches),
            ("audits", "audits", test.audits),
            ("overflow", "overflow", test.overflow),
            ("errors", "errors", test.errors),
        ]
        .map(|(name, key, value)| row![name, phrase::count(format!("selftest.{key}"), value)]);
        let lede = phrase![
            "All workloads, with everything swapped out every ",
            phrase::count("selftest.interval_ms", test.interval_ms),
            " ms, free frames filled with INT3, and all that is mapped compared with the store.",
        ];
        let said = [self.handler.sentence(), self.late_sentence()];
        let said = said.into_iter().filter(|sentence| !sentence.is_empty());
        Some(
            Section::new("selftest", "Self-test", lede)
                .with(Table::new("Self-test", [text("counted"), number("times")], rows))
                .with_all(said.map(|sentence| Block::Text(sentence.into()))),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> SwapRun {
        SwapRun {
            kernel: "6.12.1".to_owned(),
            config: "tiny".to_owned(),
            policy: "nru".to_owned(),
            store: "flash".to_owned(),
            latency_us: 442,
            threshold: 0.999,
            frames: 16,
            code_kib: SwapCode { original: 1000.0, net_resident: 200.0, ..SwapCode::default() },
            workloads: vec![
                SwapWorkload {
                    name: "<boot>".to_owned(),
                    faults: 1234,
                    system_instructions: BeforeAfter::new(1000, 1100),
                    system_time_ratio: Some(1.1),
                    worst_us: Some(450.5),
                    late_us: Some(BeforeAfter::new(21, 1337)),
                    ..SwapWorkload::default()
                },
                SwapWorkload {
                    name: "files".to_owned(),
                    held_out: true,
                    ..SwapWorkload::default()
                },
            ],
            selftest: Some(SwapSelftest { faults: 98_765, errors: 0, ..SwapSelftest::default() }),
            handler: SwapHandler { instructions: Some(5432.0), microseconds: Some(18.2) },
            checks: vec![Check::new("the kernel is linked by the plan", true, "all pages")],
            ..SwapRun::default()
        }
    }

    #[test]
    fn it_reads_back_and_all_renderings_show_the_same() {
        let run = sample();
        assert_eq!(SwapRun::from_json(&run.to_json()).unwrap(), run);
        assert_eq!(run.resident_share(), 0.2);
        let text = run.terminal(80);
        for shown in ["20.0 %", "99.9 %", "1,234", "1.10 ×", "98,765", "442 µs", "files*", "* held"]
        {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let page = run.page();
        assert!(page.contains("files*") && page.contains("* held out"));
        assert!(page.contains("&lt;boot&gt;") && !page.contains("<boot>"));
        assert!(page.contains(SwapRun::SCHEMA));
        let handler = "5,432 instructions and 18 µs on this machine";
        assert!(text.replace('\n', " ").contains(handler), "{text}");
        assert!(page.contains(handler));
        let late = "1,337 µs too late (<boot>), and 21 µs";
        assert!(text.replace('\n', " ").contains(late), "{text}");
        assert!(text.contains("21 µs → 1,337 µs"), "{text}");
        assert!(page.contains("data-key=\"workloads.0.late_us.after\">1,337</data> µs"));
    }

    #[test]
    fn what_does_not_hold_is_a_failure_and_what_was_not_measured_is_null() {
        let mut run = sample();
        assert_eq!(run.failures(), [""; 0]);
        run.checks.push(Check::new("no frame overflows", false, "3"));
        assert_eq!(run.failures(), ["not so: no frame overflows (3)"]);
        assert!(run.to_json().contains("\"cache_penalty\": null"));
    }
}
