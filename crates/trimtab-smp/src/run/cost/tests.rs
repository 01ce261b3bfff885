//! Two kernels of a few functions, and what their guests said.

use object::elf::STT_OBJECT;
use trimtab_fixture::Elf;
use trimtab_machine::boot::Instructions;
use trimtab_machine::calls::Said;
use trimtab_report::Report;

use super::*;

fn files(elf: &Elf, image: u64, configuration: &str) -> Files {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vmlinux");
    std::fs::write(&path, elf.build()).unwrap();
    let vmlinux = trimtab_lab::bytes::Bytes::open(&path).unwrap();
    Files { vmlinux, image, configuration: configuration.to_owned() }
}

fn up() -> Files {
    let elf = Elf::new()
        .text(".text", 0x1000, 0x1000)
        .function("schedule", 0x1000, 0x100)
        .function("gone_up", 0x1100, 0x30)
        .function("same", 0x1200, 0x40)
        .local("work.isra.0", 0x1300, 0x20)
        .data(".rodata", 0x4000, 0x500)
        .writable(".data", 0x5000, 0x700)
        .zeros(".bss", 0x8000, 0x1000)
        .symbol("jiffies", 0x8000, 0x80, STT_OBJECT, 1)
        .symbol("jiffies_64", 0x8000, 8, STT_OBJECT, 1);
    files(&elf, 900, "CONFIG_TINY_RCU=y\n")
}

fn smp() -> Files {
    let elf = Elf::new()
        .text(".text", 0x1000, 0x1800)
        .function("schedule", 0x1000, 0x180)
        .function("same", 0x1200, 0x40)
        .local("work.constprop.0", 0x1300, 0x10)
        .local("work.cold", 0x1320, 0x8)
        .function("native_smp_send", 0x1400, 0x90)
        .data(".rodata", 0x4000, 0x580)
        .writable(".data", 0x5000, 0x600)
        .writable(".data..percpu", 0x6000, 0x240)
        .zeros(".bss", 0x8000, 0x200000)
        .symbol("jiffies", 0x8000, 0x80, STT_OBJECT, 1)
        .symbol("lock", 0x8080, 8, STT_OBJECT, 0);
    files(&elf, 1000, "CONFIG_SMP=y\nCONFIG_TREE_RCU=y\n")
}

/// What a guest says: a call and all primitives cost so much, and it has so many CPUs.
fn said(cost: u64, cpus: u32) -> Said {
    let text = |(name, value): (&str, u64)| (name.to_owned(), value.to_string());
    let calls = calls::PRIMITIVES.into_iter().chain(["open"]).map(|name| text((name, cost)));
    let machine = [("cpus", u64::from(cpus)), ("memory-kib", 250_000 - cost)];
    let missing = BTreeMap::from([("socket".to_owned(), "38".to_owned())]);
    Said::from([
        ("call".to_owned(), calls.collect()),
        ("machine".to_owned(), machine.map(text).into()),
        ("missing".to_owned(), missing),
    ])
}

fn measured(cost: u64, cpus: u32) -> Measured {
    let boot =
        Instructions { total: cost * 1000, early: cost, kernel: cost * 900, user: cost * 99 };
    Measured::of(boot, &said(cost, cpus), &said(cost, cpus), cpus).unwrap()
}

fn report() -> SmpCost {
    let boots = ByBoot { up: measured(400, 1), smp_one: measured(440, 1), smp: measured(500, 2) };
    let kernel = KernelFacts { version: "6.12.1".into(), ..KernelFacts::default() };
    let lock = |spin: u64| Costs::from([("spin".to_owned(), spin), ("mutex".to_owned(), 14)]);
    let locks = rows(&ByBoot { up: lock(0), smp_one: lock(13), smp: lock(13) });
    SmpCost { kernel, locks, ..compared(&up(), &smp(), &boots).unwrap() }
}

#[test]
fn kernels_are_compared_by_section_and_function() {
    let report = report();
    assert_eq!(report.text, ByKernel { up: 0x190, smp: 0x268 });
    assert_eq!(report.text_sections, ByKernel { up: 0x1000, smp: 0x1800 });
    assert_eq!(report.bss, ByKernel { up: 0x80, smp: 0x88 });
    assert_eq!(report.read_only, ByKernel { up: 0x500, smp: 0x580 });
    assert_eq!(report.data, ByKernel { up: 0x700, smp: 0x600 });
    assert_eq!(report.per_cpu, ByKernel { up: 0, smp: 0x240 });
    assert_eq!(report.image, ByKernel { up: 900, smp: 1000 });
    let functions = &report.functions;
    let changed: Vec<(&str, i64)> =
        functions.changed.iter().map(|f| (f.name.as_str(), f.change())).collect();
    assert_eq!(
        changed,
        [("native_smp_send", 0x90), ("schedule", 0x80), ("gone_up", -0x30), ("work", -8)]
    );
    assert_eq!(functions.same, 1);
    assert_eq!((functions.grown.functions, functions.grown.bytes), (1, 0x80));
    assert_eq!((functions.shrunk.functions, functions.shrunk.bytes), (1, -8));
    assert_eq!((functions.new.functions, functions.gone.bytes), (1, -0x30));
    assert_eq!(report.options.smp, ["CONFIG_SMP=y", "CONFIG_TREE_RCU=y"]);
    let names: Vec<&str> = report.sections.iter().map(|section| section.name.as_str()).collect();
    assert_eq!(names, [".bss", ".data", ".data..percpu", ".rodata", ".text"]);
}

#[test]
fn boots_are_compared_call_by_call() {
    let report = report();
    assert_eq!(report.boot, ByBoot { up: 400_000, smp: 500_000, smp_one: 440_000 });
    assert_eq!(report.memory, ByBoot { up: 249_600, smp: 249_500, smp_one: 249_560 });
    let cost = ByBoot { up: 400, smp: 500, smp_one: 440 };
    assert_eq!(report.calls, [CallCost { name: "open".into(), cost }]);
    assert_eq!(report.primitives.len(), calls::PRIMITIVES.len());
    assert!(report.missing.iter().any(|name| name == "socket"));
    let (one, two) = report.calls_ratio().unwrap();
    assert!((one - 1.1).abs() < 1e-9 && (two - 1.25).abs() < 1e-9);
    assert_eq!(report.failures(), [""; 0]);
}

#[test]
fn it_reads_back_and_the_keys_are_those_that_were_promised() {
    let report = report();
    assert_eq!(SmpCost::from_json(&report.to_json()).unwrap(), report);
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(json["schema"], "trimtab.smp.cost/1");
    assert_eq!(json["text"], serde_json::json!({"up": 0x190, "smp": 0x268}));
    let boot = serde_json::json!({"up": 400_000, "smp": 500_000, "smp_one": 440_000});
    assert_eq!(json["boot"], boot);
    let call = serde_json::json!({"name": "open", "up": 400, "smp": 500, "smp_one": 440});
    assert_eq!(json["calls"][0], call);
    let lock = serde_json::json!({"name": "spin", "up": 0, "smp": 13, "smp_one": 13});
    assert_eq!(json["locks"][1], lock);
    let text = report.terminal(100);
    for shown in
        ["spin lock", "native_smp_send", "+54.0 %", "+10.0 %", "+25.0 %", "fault on a fresh page"]
    {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert!(report.page().contains("CONFIG_TREE_RCU=y"));
}

#[test]
fn what_does_not_repeat_fails_the_check() {
    let other = Measured::of(Instructions::default(), &said(400, 1), &said(404, 1), 1).unwrap();
    let boots = ByBoot { up: other, smp_one: measured(440, 1), smp: measured(500, 2) };
    let report = compared(&up(), &smp(), &boots).unwrap();
    let [failure] = &report.failures()[..] else { panic!("{report:?}") };
    assert!(failure.contains("without SMP: the call context-switch costs 400"), "{failure}");
}

#[test]
fn a_guest_with_other_cpus_or_a_wrong_call_is_an_error() {
    let why = |said: &Said, cpus| {
        Measured::of(Instructions::default(), said, said, cpus).unwrap_err().to_string()
    };
    assert_eq!(why(&said(400, 1), 2), "it knows 1 CPUs of a machine that has 2");
    let mut wrong = said(400, 1);
    wrong.insert("wrong".into(), BTreeMap::from([("fork".to_owned(), "31".to_owned())]));
    assert_eq!(why(&wrong, 1), "the self-check of fork failed in line 31");
    let mut without = said(400, 1);
    without.get_mut("call").unwrap().remove("page-fault");
    assert!(why(&without, 1).contains("does not have the call page-fault"));
    let mut only = said(400, 1);
    only.get_mut("call").unwrap().remove("open");
    assert!(why(&only, 1).contains("says of no call"));
    assert!(why(&Said::new(), 1).contains("does not say its cpus"));
}

#[test]
fn a_file_that_is_no_kernel_is_an_error() {
    assert!(sizes::of(b"no ELF file").unwrap_err().to_string().contains("vmlinux"));
}
