//! Made-up results of a realistic shape, the same at every run. No number here was measured.

#![allow(dead_code, missing_docs)]

use std::collections::BTreeMap;
use trimtab::verbs::doctor::model::*;
use trimtab_bench::report::*;
use trimtab_fit::report::*;
use trimtab_fixture::Random;
use trimtab_report::Schema;
use trimtab_report::common::*;
use trimtab_stats::Interval;
use trimtab_stats::{measured, paired_ratio};

const PAGE: u32 = 4096;

/// Made-up data.
struct Sample(Random);

impl Sample {
    fn of(seed: u64) -> Self {
        Self(Random::of(seed))
    }

    fn next(&mut self) -> u64 {
        self.0.number()
    }

    /// From 0 up to 1.
    fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0.below(limit as usize) as u64
    }

    /// Roughly normal, mean 0, deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// A map with exactly `touched` pages executed: in runs, as subsystems lie together.
fn scattered(random: &mut Sample, spanned: u32, touched: u32) -> Vec<u32> {
    let mut heat = 0.5;
    let mut scores: Vec<(f64, usize)> = (0..spanned as usize)
        .map(|page| {
            heat = (heat * 0.93 + random.normal() * 0.1).clamp(-0.5, 1.0);
            (heat + random.normal() * 0.16, page)
        })
        .collect();
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut map = vec![0; spanned as usize];
    for (rank, (_, page)) in scores.iter().take(touched as usize).enumerate() {
        let warmth = 1.0 - rank as f64 / f64::from(touched);
        let share = (warmth.powf(1.6) * 0.7 + random.unit() * 0.18).clamp(0.004, 0.98);
        map[*page] = (share * f64::from(PAGE)) as u32;
    }
    map
}

/// A map whose `touched` pages stand at the front, but for some that are pinned elsewhere.
fn compacted(random: &mut Sample, spanned: u32, touched: u32) -> Vec<u32> {
    let pinned = touched / 16;
    let mut map = vec![0; spanned as usize];
    for page in 0..touched - pinned {
        map[page as usize] = ((0.4 + random.unit() * 0.42) * f64::from(PAGE)) as u32;
    }
    for page in 0..pinned {
        let place = spanned - spanned / 9 + page + page / 7;
        map[place as usize] = (random.unit() * 0.6 * f64::from(PAGE)) as u32 + 12;
    }
    map
}

/// A curve of `events` points that ends at `touched` and grows fast at first.
fn curve(random: &mut Sample, events: usize, touched: u32, bend: f64) -> Vec<u32> {
    let mut pages = 0.0_f64;
    (0..events)
        .map(|event| {
            let share = (event + 1) as f64 / events as f64;
            let aim = f64::from(touched) * (1.0 - (-share * bend).exp()) / (1.0 - (-bend).exp());
            pages = pages.max(aim + random.normal() * 2.0).min(f64::from(touched));
            if event + 1 == events { touched } else { (pages as u32).max(1) }
        })
        .collect()
}

fn area(curve: &[u32]) -> f64 {
    curve.iter().map(|pages| f64::from(*pages)).sum()
}

/// What a fit of a kernel with `spanned` pages of text, of 200 or more, could look like.
pub fn fit_kernel(spanned: u32) -> FitKernel {
    let mut random = Sample::of(u64::from(spanned));
    let before = spanned * 810 / 2048;
    let function_pages = spanned * 276 / 2048;
    let after = function_pages + function_pages.div_ceil(22);
    let spanned_after = spanned + 3;
    let page_map = BeforeAfter::new(
        scattered(&mut random, spanned, before),
        compacted(&mut random, spanned_after, after),
    );
    let curves = BeforeAfter::new(
        curve(&mut random, 3887, before, 2.6),
        curve(&mut random, 3887, after, 0.25),
    );
    let mut wall = BeforeAfter::new(Vec::new(), Vec::new());
    for _ in 0..30 {
        let load = 1.0 + random.unit().powi(4) * 0.25;
        wall.before.push(2.84 * load * (1.0 + random.normal() * 0.012));
        wall.after.push(2.805 * load * (1.0 + random.normal() * 0.012));
    }
    let held_out = held_out(before, after, function_pages);
    let alignment = i64::from(after - function_pages) / 3;
    let pinned_sections = i64::from(after - function_pages) / 2;
    let sharing = i64::from(after - function_pages) - alignment - pinned_sections;
    let mut fit = FitKernel {
        schema: Schema::default(),
        kernel: Kernel { version: "6.12.38".into(), arch: "x86_64".into() },
        config: "lab".into(),
        granularity: Granularity::Function,
        tracer: "plugin".into(),
        seed: 1,
        page_size: PAGE,
        text: Text {
            pages_spanned: BeforeAfter::new(spanned, spanned_after),
            bytes: BeforeAfter::new(
                u64::from(spanned) * 4096 - 311,
                u64::from(spanned_after) * 4096 - 1870,
            ),
        },
        touched: PageCounts {
            before,
            after,
            shuffled: [1712, 1725, 1698].iter().map(|pages| spanned * pages / 2048).collect(),
        },
        minimum: Minimum { function_pages, executed_pages: spanned * 164 / 2048 },
        held_out,
        functions: Functions { total: 25_945, executed: 3_887 },
        coverage: Coverage { names: 0.9987, bytes: 0.999_96 },
        curve_area: curves.map(|curve| area(curve)),
        image: Image {
            vmlinux_bytes: BeforeAfter::new(31_982_144, 31_995_904),
            compressed_bytes: BeforeAfter::new(3_408_896, 3_379_200),
        },
        boot: Boot {
            instructions: BeforeAfter::new(323_219_113, 322_904_871),
            virtual_seconds: BeforeAfter::new(0.646_438_226, 0.645_809_742),
            wall_ratio: paired_ratio(&wall.before, &wall.after).ok(),
            wall_seconds: measured(&wall.before)
                .ok()
                .zip(measured(&wall.after).ok())
                .map(|(before, after)| BeforeAfter { before, after }),
            booted: BootFigures { attempted: 30, succeeded: 30 },
            failed: None,
        },
        left_out: 0,
        order: OrderCounts { placed: 3_702, unknown: 0, duplicate: 41, discarded: 2, pinned: 142 },
        artifacts: artifacts(),
        excess: Excess { alignment, pinned_sections, sharing, cold_parts: 0, other: 0 },
        split: Split::default(),
        byte_excess: None,
        seconds: Seconds {
            total: 498.2,
            build: 371.9,
            trace: 11.7,
            split: 0.0,
            layout: 0.42,
            relink: 21.3,
        },
        page_map,
        curve: Curve::sampled(&curves.before, &curves.after, 1000),
        sections: sections(spanned, before, after),
        ftrace: Some(Ftrace {
            contained: true,
            functions_ftrace: 3_411,
            functions_plugin: 3_887,
            invisible: Invisible { noinstr: 87, entry: 24, before_start: 301, other: 64 },
        }),
        repeat: repeat(&mut random),
        checks: checks(),
        targets: Vec::new(),
        trials: Vec::new(),
    };
    fit.targets = targets(&fit);
    fit
}

/// Its boots that made no order; the counts are pages.
fn held_out(before: u32, after: u32, function_pages: u32) -> Vec<HeldOut> {
    let all = BootFigures { attempted: 3, succeeded: 3 };
    [("memory 128 MiB", 8, 3, 3), ("2 CPUs", 61, 17, 12), ("init: ext4 workload", 74, 34, 19)]
        .into_iter()
        .map(|(name, more, more_after, more_minimum)| {
            HeldOut::new(
                name,
                BeforeAfter::new(before + more, after + more_after),
                function_pages + more_minimum,
                all,
            )
        })
        .collect()
}

/// What it takes to repeat that fit.
fn repeat(random: &mut Sample) -> Repeat {
    Repeat {
        command: "trimtab fit kernel --source linux-source-6.12 --config lab --boots 30 \
                  --seed 1 --html fit.html"
            .into(),
        tool_versions: map(&[
            ("clang", "Debian clang version 22.1.0"),
            ("ld.lld", "Debian LLD 22.1.0"),
            ("qemu-system-x86_64", "QEMU emulator version 7.2.19 (Debian 1:7.2+dfsg-7)"),
            ("trimtab", "0.1.0"),
        ]),
        inputs: map(&[
            ("linux-source-6.12.tar.xz", &hash(random)),
            ("configuration", &hash(random)),
            ("kernel patch", &hash(random)),
            ("guest", &hash(random)),
            ("vmlinux before", &hash(random)),
            ("vmlinux after", &hash(random)),
        ]),
        seed: 1,
    }
}

/// The checks of that fit, all of which hold.
fn checks() -> Vec<Check> {
    vec![
        Check::new("_stext is where it was", true, "0xffffffff81000000"),
        Check::new("noinstr text is one range", true, "0xffffffff81801000 to 0xffffffff81804a60"),
        Check::new("entry text is one range", true, "0xffffffff81a00000 to 0xffffffff81a018c2"),
        Check::new("return thunks keep their address bits", true, "srso_alias_untrain_ret"),
        Check::new("ftrace's functions are all in the plugin's", true, "3,411 of 3,411"),
        Check::new("every boot came up", true, "39 of 39"),
    ]
}

/// Where its files are.
fn artifacts() -> Artifacts {
    Artifacts {
        vmlinux_before: "lab/before/vmlinux".into(),
        vmlinux_after: "lab/after/vmlinux".into(),
        image_before: "lab/before/bzImage".into(),
        image_after: "lab/after/bzImage".into(),
        guest: "lab/guest.cpio".into(),
        order_file: "lab/order.lld".into(),
        trace: "lab/boot.trace".into(),
        html: Some("lab/fit.html".into()),
    }
}

/// The targets of a fit of a kernel, as far as a sample has them.
fn targets(fit: &FitKernel) -> Vec<Target> {
    vec![
        Target::at_most("pages touched, × function-level minimum", 1.05, fit.ratio_to_minimum()),
        Target::at_most(
            "worst held-out boot, × its minimum",
            1.15,
            fit.worst_held_out().map_or(f64::INFINITY, |boot| boot.ratio),
        ),
        Target::at_least(
            "random orders, × pages touched",
            2.0,
            fit.shuffle_factor().unwrap_or(0.0),
        ),
        Target::at_least("boots that came up", 30.0, 30.0),
        Target::at_most("relink, seconds", 40.0, fit.seconds.relink),
    ]
}

/// The same, as if functions had been split.
pub fn fit_kernel_by_blocks(spanned: u32) -> FitKernel {
    let mut fit = fit_kernel(spanned);
    let over = i64::from(fit.touched.after) - i64::from(fit.minimum.executed_pages);
    fit.granularity = Granularity::Block;
    fit.split = Split { functions: 2_930, cold_bytes: 536_821, objects: 561, ..Split::default() };
    fit.seconds.split = 214.0;
    fit.byte_excess = Some(ByteExcess {
        alignment: 3,
        pinned_sections: 4,
        assembly: 1,
        entry_blocks: 1,
        sharing: over - 12,
        longer_code: 4,
        other: -1,
    });
    fit
}

fn sections(spanned: u32, before: u32, after: u32) -> Vec<Section> {
    let small = [
        (".sched.text", 7, 6, 6, 11_482),
        (".spinlock.text", 2, 1, 1, 1_203),
        (".kprobes.text", 2, 1, 1, 96),
        (".irqentry.text", 2, 2, 2, 2_410),
        (".softirqentry.text", 1, 1, 1, 604),
        (".entry.text", 2, 2, 2, 3_951),
        (".noinstr.text", 4, 3, 3, 6_120),
    ];
    let rest: u32 = small.iter().map(|section| section.1).sum();
    let ran: u32 = small.iter().map(|section| section.2).sum();
    let mut sections = vec![Section {
        name: ".text".into(),
        pages_spanned: BeforeAfter::new(spanned - rest, spanned + 3 - rest),
        touched: BeforeAfter::new(before - ran, after - ran),
        executed_bytes: u64::from(spanned) * 318,
    }];
    sections.extend(small.iter().map(|(name, pages, before, after, executed)| Section {
        name: (*name).into(),
        pages_spanned: BeforeAfter::new(*pages, *pages),
        touched: BeforeAfter::new(*before, *after),
        executed_bytes: *executed,
    }));
    sections
}

fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

fn hash(random: &mut Sample) -> String {
    (0..4).map(|_| format!("{:016x}", random.next())).collect()
}

/// What the pages of a traced program could look like.
pub fn pages(spanned: u32) -> PagesReport {
    let fit = fit_kernel(spanned);
    let mut random = Sample::of(7);
    PagesReport {
        schema: Schema::default(),
        program: Input {
            path: "lab/before/vmlinux".into(),
            kind: "ELF x86-64".into(),
            sha256: hash(&mut random),
        },
        trace: Input {
            path: "lab/boot.trace".into(),
            kind: "trace of the QEMU plugin, 61,204 events".into(),
            sha256: hash(&mut random),
        },
        page_size: PAGE,
        text: PagesText { pages_spanned: spanned, bytes: fit.text.bytes.before },
        touched: fit.touched.before,
        minimum: fit.minimum,
        functions: fit.functions,
        coverage: fit.coverage,
        missing: vec!["old_name".into(), "gone_function.isra.0".into()],
        curve_area: fit.curve_area.before,
        curve: TracedCurve {
            step: fit.curve.step,
            events: fit.curve.events.before,
            pages: fit.curve.before.clone(),
        },
        page_map: fit.page_map.before.clone(),
        sections: fit
            .sections
            .iter()
            .scan(0xffff_ffff_8100_0000_u64, |address, section| {
                let start = *address;
                let bytes = u64::from(section.pages_spanned.before) * 4096 - random.below(2000);
                *address += u64::from(section.pages_spanned.before) * 4096;
                Some(PagesSection {
                    name: section.name.clone(),
                    address: Address(start),
                    bytes,
                    pages_spanned: section.pages_spanned.before,
                    touched: section.touched.before,
                    executed_bytes: section.executed_bytes,
                    minimum: Minimum {
                        function_pages: (section.touched.before * 276).div_ceil(810),
                        executed_pages: (section.executed_bytes as u32).div_ceil(PAGE),
                    },
                })
            })
            .collect(),
        excess: [
            ("function alignment", 31.25),
            ("pinned sections", 12.5),
            ("pages shared with cold code", 540.0),
            ("cold parts on untouched pages", -50.75),
            ("other", 1.0),
        ]
        .map(|(cause, pages)| Cause { cause: cause.into(), pages })
        .into(),
    }
}

/// What a check of a relinked kernel could look like.
pub fn check() -> CheckReport {
    let boundary = |symbol: &str, before: u64, after: u64, ok, detail: &str| Boundary {
        symbol: symbol.into(),
        before: Some(Address(before)),
        after: Some(Address(after)),
        ok,
        detail: detail.into(),
    };
    let mut report = CheckReport::new(
        "lab/after/vmlinux",
        "lab/order.lld",
        3_702,
        OrderNames {
            unknown: vec!["old_name".into()],
            duplicate: (0..41).map(|number| format!("init_once.{number}")).collect(),
            discarded: vec!["unused_hook".into(), "spare_hook".into()],
            pinned: (0..142).map(|number| format!("noinstr_{number}")).collect(),
            misplaced: vec!["stray".into()],
        },
        vec![
            boundary("_stext", 0xffff_ffff_8100_0000, 0xffff_ffff_8100_0000, true, "did not move"),
            boundary(
                "__noinstr_text_start",
                0xffff_ffff_8180_1000,
                0xffff_ffff_8180_4000,
                true,
                "moved with .text, keeps its length",
            ),
            boundary(
                "__entry_text_start",
                0xffff_ffff_81a0_0000,
                0xffff_ffff_81a0_0010,
                false,
                "is not at the start of a 2 MiB page",
            ),
        ],
    );
    report.checks.push(Check::new("functions follow the order", true, "3,702 of 3,702 ascend"));
    report
}

/// What a machine with a tool missing and one too old could look like.
pub fn doctor() -> DoctorReport {
    let tool = |name: &str, found: Option<&str>, version: Option<&str>, wanted: &str, ok| Tool {
        name: name.into(),
        needed_by: vec!["fit kernel".into(), "check".into()],
        found: found.map(Into::into),
        version: version.map(Into::into),
        wanted: wanted.into(),
        ok,
        install: (!ok).then(|| format!("apt-get install {name}")),
        problem: match (ok, version) {
            (true, _) => None,
            (_, None) => Some(format!("{name} is missing")),
            (_, Some(version)) => Some(format!("{name} is {version}, expected {wanted} or newer")),
        },
    };
    DoctorReport {
        schema: Schema::default(),
        ok: false,
        tools: vec![
            tool("clang", Some("/usr/bin/clang"), Some("22.1.0"), "16", true),
            tool("lld", Some("/usr/bin/ld.lld"), Some("11.0.1"), "16", false),
            tool("qemu-system-x86", None, None, "7.2", false),
            tool("make", Some("/usr/bin/make"), None, "", true),
        ],
        machine: Machine {
            cores: Some(4),
            memory_bytes: Some(16 << 30),
            memory_free_bytes: None,
            work: "trimtab-work".to_owned(),
            disk_free_bytes: Some(41 << 30),
            kvm: Kvm::Forbidden,
        },
    }
}

/// One way to instrument a made-up program.
fn way(tool: &str, hook: &str, functions: &str, time: f64) -> BenchTool {
    let is_ours = tool.starts_with("trimtab");
    let (is_traced, is_stub) = (hook == "trace", tool == "trimtab");
    let simulated = |ratio: f64| (!is_traced && tool != "frida").then_some(ratio);
    let in_file = |value: u64| (tool != "frida").then_some(value);
    let text: u64 = if is_ours { 261_120 } else { 212_992 };
    BenchTool {
        tool: tool.to_owned(),
        hook: hook.to_owned(),
        functions: functions.to_owned(),
        runs: if is_traced { 2 } else { 6 },
        seconds: 0.25 * time,
        time_ratio: Interval { mean: time, low: time * 0.97, high: time * 1.035 },
        instruction_ratio: simulated(time * 1.0625),
        events: Some(if functions == "hot" { 6_227_366 } else { 19_562_040 }),
        ns_per_event: Some((time - 1.0) * 12.5),
        branch_miss_ratio: simulated(1.015625),
        l1i_miss_ratio: simulated(1.75),
        l1d_miss_ratio: simulated(1.125),
        text_bytes: in_file(text),
        text_ratio: in_file(text).map(|bytes| bytes as f64 / 204_800.0),
        loaded_bytes: in_file(2 * text),
        loaded_ratio: in_file(text).map(|bytes| bytes as f64 / 204_800.0),
        stubs: is_stub.then_some(if functions == "hot" { 20 } else { 412 }),
        bytes_per_stub: is_stub.then_some(108.5),
    }
}

/// What instrumentation costs two made-up programs.
pub fn probe_bench() -> ProbeBench {
    let program = |name: &str, package: &str, tools: Vec<BenchTool>| BenchProgram {
        name: name.to_owned(),
        package: package.to_owned(),
        functions: 412,
        hot: 20,
        seconds: 0.25,
        text_bytes: 204_800,
        loaded_bytes: 409_600,
        tools,
    };
    let fib = vec![
        way("trimtab", "count", "all", 1.5),
        way("trimtab off", "count", "all", 1.0625),
        way("uftrace -pg", "trace", "all", 21.0),
    ];
    let real = vec![
        way("trimtab", "value", "hot", 1.0625),
        way("-finstrument-functions", "value", "all", 2.5),
        way("inline (clang)", "value", "hot", 1.03125),
        way("frida", "value", "hot", 35.0),
    ];
    let of_all = |tool: &str, functions: &str, time: f64| BenchSummary {
        tool: tool.to_owned(),
        hook: "value".to_owned(),
        functions: functions.to_owned(),
        programs: if tool == "frida" { 1 } else { 2 },
        time_ratio: time,
        instruction_ratio: (tool != "frida").then_some(1.125),
        text_ratio: (tool != "frida").then_some(1.275),
        bytes_per_stub: (tool == "trimtab").then_some(108.5),
    };
    ProbeBench {
        schema: Schema::default(),
        rounds: 6,
        counter_ns: Some(9.75),
        programs: vec![
            program("fib", "", fib),
            program("lua", "lua5.4 5.4.4-3", real.clone()),
            program("mujs", "mujs 1.3.2-1", real[..3].to_vec()),
        ],
        summary: vec![
            of_all("trimtab", "hot", 1.0625),
            of_all("-finstrument-functions", "all", 2.5),
            of_all("frida", "hot", 35.0),
        ],
        rewriting: Some(BenchRewrite {
            bytes: 100_663_296,
            written: 167_772_160,
            functions: 38_146,
            seconds: 1.5,
            cores: 2,
        }),
        suites: vec![BenchSuite {
            name: "zlib".to_owned(),
            package: "zlib 1:1.2.13.dfsg-1".to_owned(),
            seen: 151,
            instrumented: 150,
            recordings: 6,
            plain_passed: true,
            instrumented_passed: true,
        }],
        targets: vec![
            Target::at_most("fib with counters: ns a call, in all", 6.0, 3.25),
            Target::at_most(
                "value, hot functions: time in times of the best binary-level tool's, at worst; \
                 compared on 1 of 2 programs: not with uftrace patchable, with frida on 1, not with \
                 dyninst",
                1.0,
                0.03125,
            ),
        ],
        left_out: vec![
            "mujs: frida: python3 failed with exit status: 1, where it was expected to succeed"
                .to_owned(),
            "lua: dyninst cannot instrument 1 of 20 functions (hot): luaV_execute".to_owned(),
        ],
        repeat: Repeat { command: "trimtab probe bench".to_owned(), ..Repeat::default() },
        trials: Vec::new(),
    }
}
