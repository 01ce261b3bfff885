//! How `trimtab smp cost` shows what it found.

use trimtab_report::common::{Check, Repeat};
use trimtab_report::phrase::{bytes, change_by, code, count, difference, or_none};
use trimtab_report::section::{Block, Head, Section, Table, Tile, name, number, text};
use trimtab_report::{Phrase, Report, phrase, row};

use super::{ByBoot, ByKernel, CallCost, Change, SmpCost};

/// Functions that are shown; the JSON names more.
const SHOWN: usize = 25;

impl Report for SmpCost {
    const VERB: &'static str = "smp cost";
    const SCHEMA: &'static str = "trimtab.smp.cost/1";

    fn title(&self) -> String {
        format!("What SMP costs Linux {}, {}", self.kernel.version, self.kernel.configuration)
    }

    fn head(&self) -> Head {
        let calls = self.calls_ratio();
        let mean = |ratio: Option<f64>| or_none(ratio, |ratio| change_by("", ratio - 1.0));
        let one = mean(calls.map(|(one, _)| one));
        let two = mean(calls.map(|(_, two)| two));
        Head {
            facts: vec![
                format!("Linux {}", self.kernel.version),
                self.kernel.configuration.clone(),
                self.kernel.compiler.clone(),
            ],
            what: "What SMP costs this kernel".into(),
            summary: vec![
                phrase![
                    "With SMP the code of Linux ",
                    &self.kernel.version,
                    " (configuration ",
                    code(&self.kernel.configuration),
                    ") is ",
                    bytes("text.smp", self.text.smp),
                    " and not ",
                    bytes("text.up", self.text.up),
                    " (",
                    grown("text", self.text),
                    ").",
                ],
                phrase![
                    "On one CPU it changes the instructions of a system call by ",
                    one.clone(),
                    " and of a boot by ",
                    boot_change("boot", "smp_one", self.boot.up, self.boot.smp_one),
                    "; on two CPUs those of a call by ",
                    two,
                    ".",
                ],
            ],
            tiles: vec![
                Tile::new(grown("text", self.text), "code", "bytes"),
                Tile::new(one, "system calls on one CPU", "instructions, geometric mean"),
                Tile::new(
                    boot_change("boot", "smp_one", self.boot.up, self.boot.smp_one),
                    "boot on one CPU",
                    "instructions",
                ),
                Tile::new(
                    bytes("per_cpu.smp", self.per_cpu.smp),
                    "for each CPU",
                    "data that it has a copy of",
                ),
            ],
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = vec![self.sizes(), self.boots(), self.primitives()];
        // Nobody timed them where the report is an old one.
        sections.extend((!self.locks.is_empty()).then(|| self.locks()));
        sections.extend([self.calls(), self.functions()]);
        sections.extend(self.options());
        sections.push(self.all_sections());
        sections
    }

    fn checks(&self) -> &[Check] {
        &self.checks
    }

    fn repeat(&self) -> Option<&Repeat> {
        Some(&self.repeat)
    }

    fn took(&self) -> Vec<(&'static str, &'static str, f64)> {
        vec![("total", "seconds", self.seconds)]
    }
}

/// The change of what is at `key` from the kernel without SMP to the one with it.
fn grown(key: &str, sides: ByKernel<u64>) -> Phrase {
    boot_change(key, "smp", sides.up, sides.smp)
}

/// The change of what is at `key` from `up` to another side; a dash where there was nothing.
fn boot_change(key: &str, side: &str, up: u64, other: u64) -> Phrase {
    let change = || change_by(format!("{key}.{side}/{key}.up-1"), other as f64 / up as f64 - 1.0);
    or_none((up > 0).then(change), |change| change)
}

/// What three boots have at `key`, with the changes.
fn by_boot(key: &str, cost: ByBoot<u64>) -> Vec<Phrase> {
    vec![
        count(format!("{key}.up"), cost.up).into(),
        count(format!("{key}.smp_one"), cost.smp_one).into(),
        boot_change(key, "smp_one", cost.up, cost.smp_one),
        count(format!("{key}.smp"), cost.smp).into(),
        boot_change(key, "smp", cost.up, cost.smp),
    ]
}

/// Columns of [`by_boot`], behind a first one.
fn boot_columns(first: &str) -> [trimtab_report::section::Column; 6] {
    [
        name(first),
        number("without"),
        number("1 CPU").of("with SMP"),
        number("change").of("with SMP"),
        number("2 CPUs").of("with SMP"),
        number("change").of("with SMP"),
    ]
}

impl SmpCost {
    fn sizes(&self) -> Section {
        let row = |what: &str, key: &str, sides: ByKernel<u64>| {
            row![
                what,
                count(format!("{key}.up"), sides.up),
                count(format!("{key}.smp"), sides.smp),
                difference(format!("{key}.smp-{key}.up"), sides.smp as i64 - sides.up as i64),
                grown(key, sides),
            ]
        };
        let rows = vec![
            row("functions", "text", self.text),
            row("sections of code", "text_sections", self.text_sections),
            row("read-only data", "read_only", self.read_only),
            row("data", "data", self.data),
            row("variables of zeros", "bss", self.bss),
            row("for each CPU", "per_cpu", self.per_cpu),
            row("bootable image", "image", self.image),
        ];
        let columns = [
            text("bytes"),
            number("without SMP"),
            number("with SMP"),
            number("difference"),
            number("change"),
        ];
        let lede = phrase![
            "Bytes of ",
            code("vmlinux"),
            " by kind of section; of code and of zeros those of functions and variables, as a linker script may pad \
             their sections to large pages. What a kernel with SMP has for each CPU is copied at boot, once for \
             each CPU that it could have; without SMP it is part of the other data. Of its memory the machine has ",
            count("memory.up", self.memory.up),
            " KiB left without SMP, ",
            count("memory.smp_one", self.memory.smp_one),
            " with SMP on one CPU, and ",
            count("memory.smp", self.memory.smp),
            " on two.",
        ];
        Section::new("sizes", "Bytes", lede).with(Table::new("Bytes", columns, rows))
    }

    fn boots(&self) -> Section {
        let parts = &self.boot_parts;
        let rows = [
            ("early", "boot_parts.early", parts.early),
            ("kernel", "boot_parts.kernel", parts.kernel),
            ("init", "boot_parts.user", parts.user),
            ("all", "boot", self.boot),
        ];
        let rows = rows.map(|(what, key, cost)| {
            [Phrase::from(what)].into_iter().chain(by_boot(key, cost)).collect()
        });
        let lede = "Instructions from the reset until the guest's init is up, and ends the machine. What is early \
                    runs before the kernel's own addresses: firmware, and decompressing the image. Loops that wait \
                    for a time count as what they execute.";
        Section::new("boot", "Boot", lede).with(Table::new("Boot", boot_columns("part"), rows))
    }

    fn primitives(&self) -> Section {
        let what = |name: &str| match name {
            "context-switch" => "context switch",
            "pipe-round-trip" => "byte there and back",
            "page-fault" => "fault on a fresh page",
            "spin-lock" => "futex with a lock",
            _ => "",
        };
        let rows = self.primitives.iter().enumerate().map(|(place, primitive)| {
            let first = match what(&primitive.name) {
                "" => primitive.name.as_str(),
                words => words,
            };
            let costs = by_boot(&format!("primitives.{place}"), primitive.cost);
            [Phrase::from(first)].into_iter().chain(costs).collect()
        });
        let lede = "Instructions of what calls are made of, all on the first CPU. A switch has the call of \
                    sched_yield in it; a byte to a process and back is two switches, two wake-ups and four calls; \
                    the futex takes and gives back one spin lock.";
        let title = "Switches, faults and locks";
        Section::new("primitives", title, lede).with(Table::new(title, boot_columns("what"), rows))
    }

    fn locks(&self) -> Section {
        let rows = self.locks.iter().enumerate().map(|(place, lock)| {
            let first = match lock.name.as_str() {
                "spin" => "spin lock",
                "rwsem_read" => "rwsem, by a reader",
                other => other,
            };
            let costs = by_boot(&format!("locks.{place}"), lock.cost);
            [Phrase::from(first)].into_iter().chain(costs).collect()
        });
        let lede = "Instructions of taking a lock that nobody else has or wants and giving it back, timed in the \
                    kernel by a module.";
        let title = "Locks";
        Section::new("locks", title, lede).with(Table::new(title, boot_columns("lock"), rows))
    }

    fn calls(&self) -> Section {
        let mut calls: Vec<(usize, &CallCost)> = self.calls.iter().enumerate().collect();
        let ratio = |call: &CallCost| call.cost.smp_one as f64 / call.cost.up.max(1) as f64;
        calls.sort_by(|(_, a), (_, b)| ratio(b).total_cmp(&ratio(a)).then(a.name.cmp(&b.name)));
        let rows = calls.into_iter().map(|(place, call)| {
            let costs = by_boot(&format!("calls.{place}"), call.cost);
            [code(&call.name)].into_iter().chain(costs).collect()
        });
        let lede = phrase![
            "Instructions of a call, its median over ",
            count("rounds", self.rounds),
            " rounds in a guest; those that SMP makes dearest on one CPU first. On two CPUs what both execute \
             counts.",
        ];
        let table = Table::new("System calls", boot_columns("call"), rows);
        let section = Section::new("calls", "System calls", lede).with(table);
        match self.missing.is_empty() {
            true => section,
            false => section.with_all([
                Block::Heading("Not in this kernel".to_owned()),
                Block::Names(self.missing.clone()),
            ]),
        }
    }

    fn functions(&self) -> Section {
        let functions = &self.functions;
        let class = |what: &str, key: &str, change: Change| {
            row![
                what,
                count(format!("functions.{key}.functions"), change.functions),
                difference(format!("functions.{key}.bytes"), change.bytes),
            ]
        };
        let classes = vec![
            class("longer with SMP", "grown", functions.grown),
            class("only with SMP", "new", functions.new),
            class("shorter with SMP", "shrunk", functions.shrunk),
            class("only without SMP", "gone", functions.gone),
        ];
        let rows = functions.changed.iter().enumerate().take(SHOWN).map(|(place, function)| {
            let key = format!("functions.changed.{place}");
            row![
                code(&function.name),
                count(format!("{key}.up"), function.bytes.up),
                count(format!("{key}.smp"), function.bytes.smp),
                difference(format!("{key}.smp-{key}.up"), function.change()),
            ]
        });
        let lede = phrase![
            "Functions by name, without what compilers put behind it, and without padding; ",
            count("functions.same", functions.same),
            " are as long as before.",
        ];
        let columns = [text("functions"), number("how many"), number("bytes")];
        let of_one =
            [name("function"), number("without SMP"), number("with SMP"), number("difference")];
        Section::new("functions", "Functions", lede)
            .with(Table::new("Functions", columns, classes))
            .with(Block::Heading("The largest changes".to_owned()))
            .with(Table::new("The largest changes", of_one, rows))
    }

    fn options(&self) -> Option<Section> {
        let lists = [("Only with SMP", &self.options.smp), ("Only without SMP", &self.options.up)];
        let lists: Vec<_> = lists.into_iter().filter(|(_, lines)| !lines.is_empty()).collect();
        let lede =
            "Lines of the configuration that only one of both kernels has: what SMP brings along.";
        (!lists.is_empty()).then(|| {
            Section::new("options", "Options", lede).with_all(lists.into_iter().flat_map(
                |(heading, lines)| {
                    [Block::Heading(heading.to_owned()), Block::Names(lines.clone())]
                },
            ))
        })
    }

    fn all_sections(&self) -> Section {
        let differing = self.sections.iter().enumerate();
        let differing = differing.filter(|(_, section)| section.bytes.up != section.bytes.smp);
        let rows = differing.map(|(place, section)| {
            let key = format!("sections.{place}");
            row![
                code(&section.name),
                count(format!("{key}.up"), section.bytes.up),
                count(format!("{key}.smp"), section.bytes.smp),
                difference(
                    format!("{key}.smp-{key}.up"),
                    section.bytes.smp as i64 - section.bytes.up as i64
                ),
            ]
        });
        let columns =
            [name("section"), number("without SMP"), number("with SMP"), number("difference")];
        let lede = "Sections that are not as long in both kernels, in bytes.";
        Section::new("sections", "Sections", lede).with(Table::new("Sections", columns, rows))
    }
}
