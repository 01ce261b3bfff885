//! Coarse locks: the patch, on each change; and what kernels with it do, which takes minutes, so at night.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use trimtab_lab::observe::Lines;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::boot::{Boot, Clock, boot, complaints};
use trimtab_report::Report;
use trimtab_smp::LockMode;
use trimtab_smp::counted::Irq;
use trimtab_smp::feature::GIANT;
use trimtab_smp::report::locks::SmpLocks;
use trimtab_smp::run::{
    Copies, Guest, GuestSetup, LocksRequest, OwnWorkload, ScaleWorkload, locks,
};

/// The kernel's source, as Debian's package installs it.
const SOURCE: &str = "/usr/src/linux-source-6.12.tar.xz";
/// What looks for faults of style needs.
const STYLE: [&str; 3] =
    ["scripts/checkpatch.pl", "scripts/spelling.txt", "scripts/const_structs.checkpatch"];

/// Runs a command in a folder; its output where it succeeds.
fn run(folder: &Path, words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{words:?}: {said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

#[test]
fn the_patch_applies_without_fuzz_and_is_in_the_style_of_the_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let patch = GIANT.patch("6.12").unwrap();
    fs::write(at.join("giant.patch"), patch).unwrap();
    let names = patch.lines().filter_map(|line| line.strip_prefix("--- a/"));
    let names: Vec<String> =
        names.chain(STYLE).map(|name| format!("linux-source-6.12/{name}")).collect();
    let mut words = vec!["tar", "--extract", "--strip-components=1", "--file", SOURCE];
    words.extend(names.iter().map(String::as_str));
    run(at, &words);
    run(at, &["patch", "-p1", "--fuzz=0", "--input", "giant.patch"]);
    let style = ["perl", STYLE[0], "--no-tree", "--no-signoff", "--quiet", "--terse"];
    run(at, &[&style[..], &["giant.patch"]].concat());
    for (path, text) in GIANT.files() {
        assert!(!at.join(&path).exists(), "{path} is new");
        fs::create_dir_all(at.join(&path).parent().unwrap()).unwrap();
        fs::write(at.join(&path), text).unwrap();
        run(at, &[&style[..], &["--file", &path]].concat());
    }
}

/// A run of a workload of ours in the work directory that tests share.
fn request(workload: ScaleWorkload, copies: Copies, cpus: &[u32]) -> LocksRequest {
    let fallback = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../work/test");
    let setup = GuestSetup {
        work: std::env::var_os("TRIMTAB_TEST_WORK").map_or_else(fallback, PathBuf::from),
        workload,
        copies,
        quantum: 1000,
        qemu_source: None,
        kernel_source: None,
        config: "tiny".to_owned(),
        memory_mib: 256,
        repetition: 0,
        command: String::new(),
    };
    let modes = vec![LockMode::Giant, LockMode::Coarse, LockMode::Fine];
    LocksRequest { setup, percent: 36, cpus: cpus.to_vec(), modes, debug_kernel: false }
}

fn own(own: OwnWorkload, cpus: &[u32]) -> LocksRequest {
    request(ScaleWorkload::Own(own), own.copies(), cpus)
}

/// The same with the quantum that `smp locks` has by itself: where CPUs may be further apart, who waits for a lock gets
/// it later, which the model does not know.
fn modelled(workload: OwnWorkload, cpus: &[u32]) -> LocksRequest {
    let mut request = own(workload, cpus);
    request.setup.quantum = 200;
    request
}

fn found(request: &LocksRequest) -> SmpLocks {
    let found = locks(request, &Lines).unwrap();
    println!("{}", found.terminal(120));
    for run in &found.runs {
        assert!((run.counted - 1.0).abs() <= 0.002, "{run:?}");
    }
    found
}

fn speedup(found: &SmpLocks, mode: LockMode, cpus: u32) -> f64 {
    found.run(mode, cpus).unwrap().speedup
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn programs_that_hardly_enter_the_kernel_scale_with_any_locks() {
    let found = found(&own(OwnWorkload::Spin, &[1, 2, 4, 8]));
    for run in &found.runs {
        assert!(run.speedup >= 0.95 * f64::from(run.cpus), "{run:?}");
    }
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn in_step_a_giant_lock_gives_what_amdahl_says() {
    let asked = own(OwnWorkload::Step, &[2]);
    let found = found(&asked);
    assert!((found.in_kernel - 0.36).abs() < 0.01, "{}", found.in_kernel);
    let giant = speedup(&found, LockMode::Giant, 2);
    assert!((giant / 1.47 - 1.0).abs() <= 0.05, "{giant}");
    assert!(speedup(&found, LockMode::Fine, 2) > 1.8);
    // The same boots again give the same bytes.
    let setup = GuestSetup { repetition: 1, ..asked.setup };
    let again = locks(&LocksRequest { setup, ..asked }, &Lines).unwrap();
    assert_eq!(again.without_host(), found.without_host());
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn locks_of_subsystems_are_waited_for_less_than_one_for_all() {
    let found = found(&modelled(OwnWorkload::Mix, &[1, 4]));
    let four = |mode| speedup(&found, mode, 4);
    assert!(four(LockMode::Giant) < 1.3, "{found:?}");
    assert!(four(LockMode::Coarse) > four(LockMode::Giant), "{found:?}");
    assert!(four(LockMode::Fine) > four(LockMode::Coarse), "{found:?}");
    let waited = |mode| found.run(mode, 4).unwrap().waiting.sum();
    assert!(waited(LockMode::Giant) > waited(LockMode::Coarse));
    assert_eq!(waited(LockMode::Fine), 0.0);
    // What one CPU did, in its order, says it all: in any order, coarse locks were a quarter off.
    for error in found.model.iter().filter(|error| error.mode != LockMode::Fine) {
        assert!(error.mean <= 0.05 && error.runs == 1, "{error:?}");
    }
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn the_model_of_fine_locks_goes_by_those_of_the_kernel_s_own() {
    let of = |workload| {
        let mut request = modelled(workload, &[2, 4, 8]);
        request.modes = vec![LockMode::Fine];
        let found = found(&request);
        let error = found.model[0];
        assert!(error.mean <= 0.10 && error.worst <= 0.15, "{error:?}");
        found
    };
    // All copies create and delete in one folder, whose lock bounds them.
    let files = of(OwnWorkload::Files);
    assert!(files.run(LockMode::Fine, 8).unwrap().speedup < 3.0);
    let first = &files.own_locks[0];
    assert!(first.names.iter().any(|name| name == "do_unlinkat"), "{first:?}");
    for workload in [OwnWorkload::Network, OwnWorkload::Processes, OwnWorkload::Mix] {
        of(workload);
    }
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn the_model_of_threads_goes_by_whom_they_wait_for() {
    // Barriers of threads; and processes that begin others and wait for them, what they compile checks itself.
    for (workload, cpus) in [(OwnWorkload::Fft, &[2, 4, 8][..]), (OwnWorkload::Make, &[2])] {
        let found = found(&modelled(workload, cpus));
        assert!(found.by_threads && found.model.len() == 3, "{:?}", found.model);
        for error in &found.model {
            assert!(error.mean <= 0.05 && error.worst <= 0.15, "{error:?}");
        }
    }
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn processes_that_end_soon_are_more_calls_the_finer_the_locks() {
    // Each call checks what it did.
    let found = found(&modelled(OwnWorkload::Traffic, &[1, 4]));
    assert!(found.in_kernel > 0.5, "{}", found.in_kernel);
    let four = |mode| speedup(&found, mode, 4);
    assert!(found.model.len() == 3 && found.model.iter().all(|error| error.mean <= 0.05));
    assert!(four(LockMode::Coarse) > four(LockMode::Giant), "{found:?}");
    assert!(four(LockMode::Fine) > four(LockMode::Coarse), "{found:?}");
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn calls_do_what_they_should_with_any_locks() {
    // An error of a self-check is an error of the run.
    let mut asked = own(OwnWorkload::Suite, &[1, 2, 4, 8]);
    asked.modes = LockMode::ALL.to_vec();
    let found = found(&asked);
    assert_eq!(found.runs.len(), 16);
    assert!(found.calls.len() > 70);
    for call in &found.calls {
        assert!(call.off_change() <= 0.005, "{call:?}");
        assert!(call.fine > call.off, "{call:?}");
    }
}

#[test]
#[ignore = "builds QEMU and a kernel that checks itself, an hour: cargo test -p trimtab-smp --test locks -- --ignored"]
fn a_kernel_that_checks_its_own_locks_has_nothing_to_say_of_these() {
    for (workload, cpus) in [(OwnWorkload::Suite, &[1, 2][..]), (OwnWorkload::Mix, &[4])] {
        let mut asked = own(workload, cpus);
        asked.debug_kernel = true;
        asked.modes = vec![LockMode::GiantIrq, LockMode::Giant, LockMode::Coarse];
        // A complaint is an error of the run.
        found(&asked);
    }
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn interrupts_take_the_lock_that_tasks_have_only_where_they_are_to() {
    // An interrupt takes it where it comes to a program, and programs of `files` are hardly ever out of the kernel.
    let mut asked = own(OwnWorkload::Dial, &[1, 4]);
    asked.modes = vec![LockMode::Giant, LockMode::GiantIrq];
    let found = found(&asked);
    let of = |mode, cpus| found.run(mode, cpus).unwrap();
    for cpus in [1, 4] {
        assert_eq!(of(LockMode::Giant, cpus).irq, Irq::default());
        assert!(of(LockMode::GiantIrq, cpus).irq.taken > 0);
        // How long it waits, nobody models.
        assert_eq!(of(LockMode::GiantIrq, cpus).predicted, None);
    }
    // On one CPU nobody has the lock where an interrupt takes it.
    assert_eq!(of(LockMode::GiantIrq, 1).irq.contended, 0);
    let four = of(LockMode::GiantIrq, 4).irq;
    assert!(four.contended > 0 && four.contended <= four.taken && four.waiting > 0.0, "{four:?}");
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn an_interrupt_that_waits_keeps_nobody_from_going_on() {
    // Who has the lock waits for jiffies, which interrupts count; all others that come wait for the lock.
    let script = "while read up rest; do echo \"trimtab: stuck began ${up%.*}\"; done </proc/uptime; \
                  echo 3 > /counters/giant/stuck || exit 3; \
                  while read up rest; do echo \"trimtab: stuck ended ${up%.*}\"; done </proc/uptime; \
                  while read name value; do echo \"trimtab: now $name $value\"; done \
                  </counters/giant/counters";
    let words = ["/bin/sh", "-c", script].map(str::to_owned);
    let asked = request(ScaleWorkload::Command(words.into()), Copies::Fixed(1), &[2]);
    let work = WorkDir::open(&asked.setup.work).unwrap();
    let boot = Bench::new(&work, &asked).boot(2, "giant-irq", Clock::Real, 600);
    let at = |name: &str| boot.said["stuck"][name].parse::<u64>().unwrap();
    assert!((2..10).contains(&(at("ended") - at("began"))), "{:?}", boot.said["stuck"]);
    let count = |name: &str| {
        let of = |cpu| boot.said["now"][&format!("cpu{cpu}.{name}.interrupt")].parse::<u64>();
        of(0).unwrap() + of(1).unwrap()
    };
    // Some went on without it.
    assert!(count("contended") > 0 && count("taken") > 0, "{:?}", boot.said["now"]);
}

/// A number of the environment, or another one.
fn told(name: &str, otherwise: u32) -> u32 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// Guests that boot one after the other, each anew.
struct Bench<'a> {
    guest: Guest<'a>,
    folder: tempfile::TempDir,
}

impl<'a> Bench<'a> {
    fn new(work: &'a WorkDir, asked: &LocksRequest) -> Self {
        let guest = Guest::build(work, &asked.guest(&asked.setup.workload, &asked.cpus), &Lines);
        Self { guest: guest.unwrap(), folder: tempfile::tempdir().unwrap() }
    }

    /// A boot in a mode, which ends well and without a complaint. With [`Clock::Real`], no two boots are alike;
    /// a CPU waits long for one that this machine does not run, and so a lock may be kept for seconds.
    fn boot(&self, cpus: u32, mode: &str, clock: Clock, seconds: u32) -> Boot {
        let mut request = self.guest.request(256, cpus, clock, &self.folder.path().join("boot"));
        request.arguments = vec![format!("giant={mode}"), "giant_limit=30000".to_owned()];
        request.limit = Duration::from_secs(u64::from(seconds));
        let boot = boot(&request).unwrap();
        let said = String::from_utf8_lossy(&fs::read(&boot.console).unwrap()).into_owned();
        assert_eq!(complaints(&said), [""; 0]);
        assert_eq!(boot.said["scale"]["cpus"], cpus.to_string());
        boot
    }
}

#[test]
#[ignore = "boots 249 times, a quarter of an hour; TRIMTAB_BOOTS is how often each (30): cargo test -p trimtab-smp --test locks -- --ignored boots"]
fn kernels_come_up_and_calls_are_right_in_each_of_thirty_boots() {
    let asked = own(OwnWorkload::Suite, &[1, 2, 4, 8]);
    let work = WorkDir::open(&asked.setup.work).unwrap();
    let bench = Bench::new(&work, &asked);
    let boots = told("TRIMTAB_BOOTS", 30);
    for cpus in asked.cpus {
        for mode in [LockMode::GiantIrq, LockMode::Giant, LockMode::Coarse] {
            let boots = match mode {
                // Each tick of an idle CPU waits in line for CPUs that this machine does not run: with so many, a
                // boot takes longer than it may. With clocks of their own the suite runs on as many, too.
                LockMode::GiantIrq if cpus > 4 => 0,
                LockMode::GiantIrq => boots.div_ceil(10),
                _ => boots,
            };
            if boots == 0 {
                continue;
            }
            let began = Instant::now();
            for _ in 0..boots {
                let said = bench.boot(cpus, mode.name(), Clock::Real, 600).said;
                assert!(!said.contains_key("wrong"), "{:?}", said["wrong"]);
                assert!(said["call"].len() > 70);
            }
            let (name, took) = (mode.name(), began.elapsed());
            println!("{name} on {cpus} CPUs: {boots} of {boots} boots in {took:.0?}");
        }
    }
}

#[test]
#[ignore = "an hour or more; TRIMTAB_STRESS is how many seconds of the guest's (30): cargo test -p trimtab-smp --test locks -- --ignored stress --nocapture"]
fn nothing_gets_stuck_or_wrong_under_stress() {
    let folder = tempfile::tempdir().unwrap();
    let seconds = told("TRIMTAB_STRESS", 30);
    let words = vec![program(folder.path(), "stress"), seconds.to_string(), "1".to_owned()];
    let asked = request(ScaleWorkload::Command(words), Copies::Fixed(1), &[4]);
    let work = WorkDir::open(&asked.setup.work).unwrap();
    // Its time goes on with what it executes: with the clock of a busy machine it has next to none.
    let clock = Clock::Parallel { shift: 0, quantum: 1000 };
    let boot = Bench::new(&work, &asked).boot(4, "giant", clock, seconds * 600 + 600);
    println!("{seconds} s on 4 CPUs in {:.0?}: {:?}", boot.wall, boot.said["stress"]);
    let said = |name: &str| boot.said["stress"][name].parse::<u64>().unwrap();
    assert!(said("calls") > u64::from(seconds) && said("changes") > 0);
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn locks_can_be_turned_on_and_changed_while_the_kernel_runs() {
    let script = "cd /counters/giant && read mode <mode && [ $mode = off ] || exit 3; \
                  for mode in giant giant-irq coarse fine giant; do \
                      echo $mode >mode && read now <mode && [ $now = $mode ] || exit 4; \
                      for time in 1 2 3 4 5 6 7 8; do (exit 7); [ $? = 7 ] || exit 5; done; \
                  done; \
                  echo off >mode 2>/dev/null && exit 6; echo dance >mode 2>/dev/null && exit 8; \
                  while read name holder pid rest; do echo \"trimtab: held $name $pid $rest\"; \
                  done <holders; echo \"trimtab: self pid $$\"; \
                  echo 0 >record 2>/dev/null && exit 9; echo 9 >record || exit 10; \
                  echo 9 >record 2>/dev/null && exit 11; (exit 0); \
                  while read cpu place cycles; do \
                      number=$((number+1)); echo \"trimtab: $cpu $number $place\"; \
                  done <record; \
                  while read name value; do echo \"trimtab: now $name $value\"; done <counters";
    let words = ["/bin/sh", "-c", script].map(str::to_owned);
    let asked = request(ScaleWorkload::Command(words.into()), Copies::Fixed(1), &[4]);
    let work = WorkDir::open(&asked.setup.work).unwrap();
    let boot = Bench::new(&work, &asked).boot(4, "off", Clock::Real, 600);
    // The shell that reads who has the lock has it itself, and no other is ever taken with this mode.
    let held = &boot.said["held"];
    assert_eq!(held.len(), 6, "{held:?}");
    for (name, holder) in held {
        let pid = holder.split_once(' ').unwrap().0;
        let wanted = if name == "giant" { boot.said["self"]["pid"].as_str() } else { "0" };
        assert_eq!(pid, wanted, "{name}: {held:?}");
    }
    // As many stretches of each CPU as were asked for are kept, and the shell makes more.
    let kept = |cpu: &&str| boot.said.get(*cpu);
    let cpus: Vec<_> = ["cpu0", "cpu1", "cpu2", "cpu3"].iter().filter_map(kept).collect();
    assert_eq!(cpus.iter().map(|stretches| stretches.len()).max(), Some(9), "{cpus:?}");
    assert!(cpus.iter().any(|stretches| stretches.values().any(|place| place == "files")));
    let now = &boot.said["now"];
    let sum = |what: &str| -> u64 {
        let these = now.iter().filter(|(name, _)| name.contains(what));
        these.map(|(_, value)| value.parse::<u64>().unwrap()).sum()
    };
    assert!(sum("taken.processes") > 50 && sum("taken.files") > 50, "{now:?}");
    assert!(sum("user") > 0 && sum("idle") > 0, "{now:?}");
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn what_a_program_warns_of_is_no_complaint_of_the_kernel() {
    let words = ["/bin/sh", "-c", "echo WARNING: the table is old; echo BUG: mine"];
    let words = words.map(str::to_owned);
    let mut asked = request(ScaleWorkload::Command(words.into()), Copies::Fixed(1), &[1]);
    asked.modes = vec![LockMode::Fine];
    let found = locks(&asked, &Lines).unwrap();
    assert_eq!(found.runs.len(), 1);
}

/// A program of this test, built to run in a guest.
fn program(folder: &Path, name: &str) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/locks/{name}.c"));
    let made = folder.join(name).display().to_string();
    run(folder, &["gcc", "-O2", "-pthread", "-o", &made, &source.display().to_string()]);
    made
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn counters_that_are_read_while_cpus_go_on_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let words = vec![program(folder.path(), "counters"), "1000".to_owned()];
    let mut asked = request(ScaleWorkload::Command(words), Copies::Each, &[4]);
    asked.modes = vec![LockMode::Fine];
    // What a copy finds wrong is an error of the run.
    found(&asked);
}

#[test]
#[ignore = "builds QEMU and a kernel, minutes: cargo test -p trimtab-smp --test locks -- --ignored"]
fn a_lock_that_is_kept_is_said_with_who_has_it() {
    let words = ["/bin/sh", "-c", "echo 5 > /counters/giant/stuck"].map(str::to_owned);
    let mut asked = request(ScaleWorkload::Command(words.into()), Copies::Each, &[2]);
    asked.modes = vec![LockMode::Giant];
    let error = format!("{:#}", locks(&asked, &Lines).unwrap_err());
    println!("{error}");
    for part in
        ["its tasks wait for a lock", "lock giant: thread ", "in files", "waits for lock giant"]
    {
        assert!(error.contains(part), "{part}: {error}");
    }
    // An interrupt that comes where nothing is to do waits as well.
    asked.setup.copies = Copies::Fixed(1);
    asked.modes = vec![LockMode::GiantIrq];
    let error = format!("{:#}", locks(&asked, &Lines).unwrap_err());
    println!("{error}");
    assert!(error.contains("an interrupt waits for lock giant"), "{error}");
}
