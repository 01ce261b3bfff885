//! The clock of several CPUs: what it promises, on a kernel and a QEMU that are built for it. Building takes
//! minutes, so it runs at night.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::{Path, PathBuf};

use trimtab_lab::observe::Lines;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::boot::{Boot, Clock, boot};
use trimtab_report::Report;
use trimtab_smp::run::{Guest, GuestSetup, OwnWorkload, ScaleRequest, ScaleWorkload, scale};

/// A run of a workload of ours in the work directory that tests share.
fn request(own: OwnWorkload, cpus: u32) -> ScaleRequest {
    let fallback = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../work/test");
    let setup = GuestSetup {
        work: std::env::var_os("TRIMTAB_TEST_WORK").map_or_else(fallback, PathBuf::from),
        workload: ScaleWorkload::Own(own),
        copies: own.copies(),
        quantum: 1000,
        qemu_source: None,
        kernel_source: None,
        config: "tiny".to_owned(),
        memory_mib: 256,
        repetition: 0,
        command: String::new(),
    };
    ScaleRequest { setup, cpus }
}

#[test]
#[ignore = "builds QEMU, minutes: cargo test -p trimtab-smp --test scale -- --ignored"]
fn processes_that_share_nothing_are_as_many_times_as_fast() {
    let asked = request(OwnWorkload::Spin, 8);
    let found = scale(&asked, &Lines).unwrap();
    println!("{}", found.terminal(100));
    assert_eq!(found.runs.len(), 8);
    for run in &found.runs {
        let wanted = 0.999 * f64::from(run.cpus);
        assert!(run.speedup >= wanted && run.halved.speedup >= wanted, "{run:?}");
        assert!(run.halved.change.abs() <= 0.02, "{run:?}");
    }
    // The same boots again give the same bytes.
    let setup = GuestSetup { repetition: 1, ..asked.setup };
    let again = scale(&ScaleRequest { setup, ..asked }, &Lines).unwrap();
    assert_eq!(again.without_host(), found.without_host());
    assert_eq!(found.runs[0].console.len(), 64);
}

#[test]
#[ignore = "builds QEMU, minutes: cargo test -p trimtab-smp --test scale -- --ignored"]
fn threads_that_share_memory_repeat_and_hardly_move_with_the_quantum() {
    for own in [OwnWorkload::Fft, OwnWorkload::Lu, OwnWorkload::Radix] {
        let asked = request(own, 4);
        let found = scale(&asked, &Lines).unwrap();
        println!("{}", found.terminal(100));
        assert!(found.most_change <= 0.02, "{found:?}");
        assert!(found.runs[3].speedup > 2.0 && found.runs[3].speedup <= 4.0, "{found:?}");
        let setup = GuestSetup { repetition: 1, ..asked.setup };
        let again = scale(&ScaleRequest { setup, ..asked }, &Lines).unwrap();
        assert_eq!(again.without_host(), found.without_host());
    }
}

/// Boots of a workload of ours, each in a folder of its own.
struct Bench<'a> {
    guest: Guest<'a>,
    folder: tempfile::TempDir,
}

impl<'a> Bench<'a> {
    fn new(work: &'a WorkDir, asked: &ScaleRequest) -> Self {
        let guest = Guest::build(work, &asked.guest(), &Lines).unwrap();
        Self { guest, folder: tempfile::tempdir().unwrap() }
    }

    fn boot(&self, name: &str, cpus: u32, clock: Clock, plugin: bool) -> Boot {
        let folder = self.folder.path().join(name);
        let mut request = self.guest.request(256, cpus, clock, &folder);
        request.tracers.plugin = plugin.then(|| self.guest.plugin().to_owned());
        if !matches!(clock, Clock::Parallel { .. }) {
            // The same command line as with a clock for each CPU.
            request.workload = None;
            let workload = format!("trimtab.workload=scale-{cpus}");
            request.arguments = vec!["tsc=reliable".to_owned(), workload];
        }
        boot(&request).unwrap()
    }
}

fn parallel(quantum: u32) -> Clock {
    Clock::Parallel { shift: 0, quantum }
}

fn console(boot: &Boot) -> Vec<u8> {
    std::fs::read(&boot.console).unwrap()
}

#[test]
#[ignore = "builds QEMU, minutes: cargo test -p trimtab-smp --test scale -- --ignored"]
fn without_a_quantum_all_share_one_time() {
    let asked = request(OwnWorkload::Spin, 4);
    let work = WorkDir::open(&asked.setup.work).unwrap();
    let bench = Bench::new(&work, &asked);
    let counted = Clock::Instructions { shift: 0 };
    // One CPU: the same, whether or not there is a quantum.
    let off = bench.boot("off", 1, counted, false);
    let on = bench.boot("on", 1, parallel(1000), false);
    assert_eq!((off.uptime_ready, off.uptime_finished), (on.uptime_ready, on.uptime_finished));
    assert_eq!(off.said, on.said);
    // Four: without a quantum, four times as long.
    let off = bench.boot("off", 4, counted, false);
    let on = bench.boot("on", 4, parallel(1000), false);
    let time = |boot: &Boot| boot.said["scale"]["nanoseconds"].parse::<f64>().unwrap();
    let ratio = time(&off) / time(&on);
    println!("four CPUs: {:?} without a quantum, {:?} with 1000", off.wall, on.wall);
    assert!((3.9..=4.1).contains(&ratio), "{ratio}");
}

#[test]
#[ignore = "builds QEMU, minutes: cargo test -p trimtab-smp --test scale -- --ignored"]
fn plugins_see_sixteen_cpus_and_change_nothing() {
    let asked = request(OwnWorkload::Fft, 16);
    let work = WorkDir::open(&asked.setup.work).unwrap();
    let bench = Bench::new(&work, &asked);
    let run = |name: &str, plugin| bench.boot(name, 16, parallel(1000), plugin);
    let (one, two, alone) = (run("one", true), run("two", true), run("alone", false));
    assert_eq!(one.said["scale"]["cpus"], "16");
    assert!(console(&one) == console(&two) && console(&one) == console(&alone));
    let instructions = |boot: &Boot| boot.blocks.as_ref().unwrap().instructions;
    assert_eq!(instructions(&one), instructions(&two));
    assert!(instructions(&one).user > 50_000_000, "{:?}", instructions(&one));
}
