//! Boots that go wrong, with a stand-in for QEMU. What a real kernel does is in `tests/boot.rs`.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::qemu::Qemu;
use crate::testing;
use trimtab_lab::cache::{Hashes, Key};
use trimtab_program::Isa;

const GOOD: &str = "echo 'trimtab: ready'; echo 'trimtab: uptime 0.5'; \
                    echo 'trimtab: workload boot ok'; echo 'trimtab: finished 1'; \
                    echo 'trimtab: end'";

struct Lab {
    folder: tempfile::TempDir,
    request: BootRequest,
}

/// A request whose QEMU runs `script` instead of a PC.
fn lab(script: &str) -> Lab {
    lab_of(Isa::X86_64, script)
}

fn lab_of(isa: Isa, script: &str) -> Lab {
    lab_with("7.2.0", isa, script)
}

fn lab_with(version: &str, isa: Isa, script: &str) -> Lab {
    lab_of_qemu(version, "", isa, script)
}

/// The same with a QEMU whose help has this line, too.
fn lab_that(helps: &str, script: &str) -> Lab {
    lab_of_qemu("7.2.0", helps, Isa::X86_64, script)
}

fn lab_of_qemu(version: &str, helps: &str, isa: Isa, script: &str) -> Lab {
    let folder = tempfile::tempdir().unwrap();
    let qemu = format!(
        "#!/bin/sh\ncase $1 in\n--version) echo QEMU emulator version {version}; exit;;\n\
         --help) echo '-plugin x'; echo '{helps}'; exit;;\nesac\n{script}\n"
    );
    let qemu = Qemu::probe(&testing::program(folder.path(), "qemu", &qemu), isa).unwrap();
    for name in ["kernel", "root", "plugin"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let at = |name| folder.path().join(name);
    let mut request = BootRequest::new(qemu, at("kernel"), at("root"), at("boot"));
    request.workload = Some("boot".to_owned());
    request.limit = Duration::from_secs(20);
    Lab { folder, request }
}

fn message(script: &str) -> String {
    boot(&lab(script).request).unwrap_err().to_string()
}

#[test]
fn a_good_boot_reports_its_times() {
    let lab = lab(GOOD);
    let boot = boot(&lab.request).unwrap();
    assert_eq!(boot.uptime_ready, Duration::from_millis(500));
    assert_eq!(boot.uptime_finished, Duration::from_secs(1));
    assert!(boot.wall >= boot.wall_ready);
    assert!(boot.command_line.contains("'console=ttyS0 panic=-1 oops=panic nokaslr rdinit=/init"));
    assert!(fs::read_to_string(&boot.console).unwrap().ends_with("trimtab: end\n"));
}

#[test]
fn who_watches_sees_how_far_the_workload_is() {
    let lab = lab(&format!("echo 'trimtab: progress 1 2'; echo 'trimtab: progress 2 2'; {GOOD}"));
    let mut seen = Vec::new();
    boot_showing(&lab.request, &mut |done, total| seen.push((done, total))).unwrap();
    assert_eq!(seen, [(1, 2), (2, 2)]);
}

#[test]
fn linux_does_not_test_the_timer_of_a_machine_in_real_time() {
    for (isa, clock, expected) in [
        (Isa::X86_64, Clock::Real, true),
        (Isa::X86_64, Clock::INSTRUCTIONS, false),
        (Isa::Aarch64, Clock::Real, false),
    ] {
        let mut lab = lab_of(isa, GOOD);
        lab.request.hardware.clock = clock;
        let line = boot(&lab.request).unwrap().command_line;
        assert_eq!(line.contains(" no_timer_check"), expected, "{line}");
    }
}

#[test]
fn an_arm_machine_has_its_own_devices() {
    let mut lab = lab_of(Isa::Aarch64, GOOD);
    let boot = boot(&lab.request).unwrap();
    for words in ["-machine virt ", "-cpu cortex-a57 ", "'console=ttyAMA0 panic=-1 "] {
        assert!(boot.command_line.contains(words), "{words}: {}", boot.command_line);
    }
    assert!(!boot.command_line.contains("virtserialport"), "{}", boot.command_line);

    lab = lab_of(Isa::Aarch64, "sleep 60");
    lab.request.limit = Duration::from_millis(300);
    let text = super::boot(&lab.request).unwrap_err().to_string();
    assert!(text.contains("the kernel argument earlycon to see more"), "{text}");
    if !Isa::Aarch64.is_here() {
        lab.request.hardware.accelerator = Accelerator::Kvm;
        let text = super::boot(&lab.request).unwrap_err().to_string();
        assert!(text.contains("KVM and another architecture than this machine's"), "{text}");
    }
}

/// The beginning of a bzImage as far as the text that its header points to.
fn image(path: &Path, release: &str) {
    let mut image = vec![0; 0x400];
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x20e..0x210].copy_from_slice(&0x200_u16.to_le_bytes());
    image.extend(format!("{release} (builder@host) #1 SMP\0").bytes());
    fs::write(path, image).unwrap();
}

#[test]
fn a_cpu_that_is_never_started_keeps_older_kernels_from_hanging() {
    let line = |qemu: &str, isa, release: &str, cpus, clock| {
        let mut lab = lab_with(qemu, isa, GOOD);
        image(&lab.request.kernel, release);
        lab.request.hardware.cpus = cpus;
        lab.request.hardware.clock = clock;
        lab.request.arguments = vec!["own".to_owned()];
        boot(&lab.request).unwrap().command_line
    };
    let (x86, counted) = (Isa::X86_64, Clock::INSTRUCTIONS);
    for release in ["6.1.192", "6.4.0-rc1", "5.10.0-21-amd64"] {
        let line = line("7.2.22", x86, release, 4, counted);
        assert!(line.contains(" -smp 5,sockets=5 "), "{line}");
        assert!(line.contains(" disable_cpu_apicid=1 possible_cpus=4 own'"), "{line}");
    }
    for (qemu, isa, release, cpus, clock) in [
        ("7.2.22", x86, "6.12.48", 4, counted),
        ("7.2.22", x86, "6.5.0", 4, counted),
        ("7.2.22", x86, "no release", 4, counted),
        ("7.2.22", x86, "6.1.192", 1, counted),
        ("7.2.22", x86, "6.1.192", 4, Clock::Real),
        ("8.1.0", x86, "6.1.192", 4, counted),
        ("7.2.22", Isa::Aarch64, "6.1.192", 4, counted),
    ] {
        let line = line(qemu, isa, release, cpus, clock);
        assert!(line.contains(&format!(" -smp {cpus}")), "{line}");
        assert!(!line.contains("disable_cpu_apicid"), "{line}");
    }
}

#[test]
fn a_panic_shows_the_kernels_words() {
    let text = message(
        "echo one; echo 'BUG: kernel NULL pointer'; echo 'RIP: bad'; \
         echo 'Kernel panic - not syncing: Fatal'; exit 0",
    );
    assert!(text.starts_with("the guest's kernel panicked"), "{text}");
    assert!(
        text.ends_with(
            "\n    BUG: kernel NULL pointer\n    RIP: bad\n    Kernel panic - not syncing: Fatal"
        ),
        "{text}"
    );
}

#[test]
fn a_hang_shows_the_last_lines() {
    let mut lab = lab("echo last words; sleep 60");
    lab.request.limit = Duration::from_millis(400);
    let text = boot(&lab.request).unwrap_err().to_string();
    assert!(text.starts_with("the guest hangs: it had not ended after 0 s"), "{text}");
    assert!(text.ends_with("\n    last words"), "{text}");

    let mut lab = self::lab("sleep 60");
    lab.request.limit = Duration::from_millis(300);
    let text = boot(&lab.request).unwrap_err().to_string();
    assert!(text.contains("earlyprintk=serial"), "{text}");
}

#[test]
fn a_panic_that_hangs_is_a_panic() {
    let mut lab = lab("echo 'Kernel panic - not syncing: VFS'; sleep 60");
    lab.request.limit = Duration::from_millis(400);
    assert!(matches!(boot(&lab.request), Err(BootError::Panicked { .. })));
}

#[test]
fn a_reset_is_told_from_an_end() {
    let text = message("echo booting; exit 0");
    assert!(text.starts_with("the guest reset the machine before init ran"), "{text}");
    let text = message("echo 'trimtab: ready'; exit 0");
    assert!(text.starts_with("the guest reset the machine while its workload ran"), "{text}");
}

#[test]
fn qemus_own_error_is_shown() {
    let text = message("echo 'qemu: could not load kernel' >&2; exit 1");
    assert!(text.contains("ended with exit status: 1"), "{text}");
    assert!(text.ends_with("\n    qemu: could not load kernel"), "{text}");
}

#[test]
fn a_failed_workload_is_an_error() {
    let text = message(&GOOD.replace("boot ok", "boot failed 3"));
    assert!(text.contains("workload `boot` failed with exit code 3"), "{text}");
    let text = message(&GOOD.replace("trimtab: workload boot ok", ""));
    assert!(text.contains("without saying how its workload ended"), "{text}");
}

#[test]
fn what_is_missing_or_impossible_is_said_before_anything_runs() {
    let lab = lab(GOOD);
    let mut request = lab.request.clone();
    request.kernel = lab.folder.path().join("bzImage");
    let text = boot(&request).unwrap_err().to_string();
    assert!(text.contains("there is no kernel image at ") && text.ends_with("bzImage"), "{text}");

    let mut request = lab.request.clone();
    request.hardware.accelerator = Accelerator::Kvm;
    request.hardware.clock = Clock::INSTRUCTIONS;
    assert!(matches!(boot(&request), Err(BootError::Machine { .. })));
    request.hardware.clock = Clock::Real;
    request.tracers.plugin = Some(lab.folder.path().join("plugin"));
    assert!(matches!(boot(&request), Err(BootError::Machine { .. })));
}

fn parallel(quantum: u32) -> Clock {
    Clock::Parallel { shift: 0, quantum }
}

#[test]
fn a_clock_for_each_cpu_needs_a_quantum_and_our_qemu() {
    let mut lab = lab_that("-icount [shift=N|auto][,sleep=on|off][,quantum=N]", GOOD);
    lab.request.hardware.clock = parallel(1000);
    assert!(!boot(&lab.request).unwrap().command_line.contains("norandmaps"));
    lab.request.same_addresses = true;
    let line = boot(&lab.request).unwrap().command_line;
    assert!(line.contains(" -icount shift=0,sleep=off,quantum=1000 "), "{line}");
    for word in [" tsc=reliable ", " norandmaps ", " -seed 1 "] {
        assert!(line.contains(word), "{line}");
    }
    for quantum in [0, 1_000_000_001] {
        lab.request.hardware.clock = parallel(quantum);
        let text = boot(&lab.request).unwrap_err().to_string();
        assert!(text.ends_with("a quantum that is not from 1 to 10^9 instructions"), "{text}");
    }
    lab.request.hardware.accelerator = Accelerator::Kvm;
    assert!(matches!(boot(&lab.request), Err(BootError::Machine { .. })));
    let mut stock = self::lab(GOOD);
    stock.request.hardware.clock = parallel(1000);
    let text = boot(&stock.request).unwrap_err().to_string();
    assert!(text.contains("has one clock for all CPUs"), "{text}");
    stock.request.hardware.clock = Clock::INSTRUCTIONS;
    let line = boot(&stock.request).unwrap().command_line;
    assert!(!line.contains("quantum") && !line.contains("tsc="), "{line}");
}

#[test]
fn a_plugin_that_wrote_nothing_is_noticed() {
    let mut lab = lab(GOOD);
    lab.request.tracers.plugin = Some(lab.folder.path().join("plugin"));
    let text = boot(&lab.request).unwrap_err().to_string();
    assert!(text.contains("the plugin did not write it"), "{text}");
}

#[test]
fn a_stream_is_asked_of_the_plugin_and_counters_of_the_guest_come_back() {
    let trace = "trimtab-trace 1\\ninstructions 4\\ninstructions-kernel 3\\nevents\\n";
    let script = format!(
        "printf '{trace}' > \"$(dirname \"$0\")/boot/plugin.trace\"; \
         echo 'trimtab: counts faults 7'; {GOOD}"
    );
    let mut lab = lab(&script);
    lab.request.tracers.plugin = Some(lab.folder.path().join("plugin"));
    let without = boot(&lab.request).unwrap();
    assert!(!without.command_line.contains("stream="), "{}", without.command_line);
    lab.request.tracers.stream = true;
    let boot = boot(&lab.request).unwrap();
    assert!(boot.command_line.contains("boot/plugin.stream"), "{}", boot.command_line);
    assert_eq!(boot.said["counts"]["faults"], "7");
    assert_eq!(boot.blocks.unwrap().instructions.kernel, 3);
}

fn traced(words: &str, trace: &str) -> Result<Boot, BootError> {
    traced_on(Isa::X86_64, 1, words, trace)
}

fn traced_on(isa: Isa, cpus: u32, words: &str, trace: &str) -> Result<Boot, BootError> {
    let script = format!("trimtab: finished 1'; echo 'trimtab: {words}");
    let good = GOOD.replace("trimtab: finished 1", &script);
    let body = format!("printf '{trace}' > \"$(dirname \"$0\")/boot/ftrace.txt\"; {good}");
    let mut lab = lab_of(isa, &body);
    lab.request.hardware.cpus = cpus;
    lab.request.tracers.ftrace = Some(Ftrace { buffer_mib: 64 });
    boot(&lab.request)
}

#[test]
fn while_linux_changes_its_own_code_one_cpu_runs_at_a_time() {
    let mut lab = lab(GOOD);
    lab.request.hardware.cpus = 2;
    let plain = boot(&lab.request).unwrap().command_line;
    assert!(plain.contains(" -accel tcg -cpu"), "{plain}");
    for (cpus, expected) in [(1, " -accel tcg -cpu"), (2, " -accel tcg,thread=single -cpu")] {
        let traced = traced_on(Isa::X86_64, cpus, "ftrace 10 2 0", "a\\nb\\n").unwrap();
        assert!(traced.command_line.contains(expected), "{}", traced.command_line);
    }
}

#[test]
fn an_ftrace_must_be_whole() {
    let boot = traced("ftrace 10 2 0", "# tracer\\na\\nb\\n").unwrap();
    let calls = boot.calls.unwrap();
    assert_eq!((calls.calls, calls.functions), (10, 2));
    let line = boot.command_line;
    assert!(line.contains("trimtab.ftrace=ttyS1' ") && line.contains("-serial chardev:out"));
    let line = traced_on(Isa::Aarch64, 1, "ftrace 10 2 0", "a\\nb\\n").unwrap().command_line;
    assert!(
        line.contains("trimtab.ftrace=vport0p1' ") && line.contains("virtserialport,chardev=out")
    );
    let text = traced("ftrace 10 3 0", "# tracer\\na\\nb\\n").unwrap_err().to_string();
    assert!(text.contains("it has 2 events, and the guest sent 3"), "{text}");
    let text = traced("ftrace 100 3 100", "").unwrap_err().to_string();
    assert!(text.ends_with("trace with 192 MiB"), "{text}");
    let text = traced("error no tracefs", "").unwrap_err().to_string();
    assert!(text.contains("no tracefs (does this kernel have CONFIG_FUNCTION_TRACER?)"), "{text}");
    let text = traced("ftrace 0 0 0", "").unwrap_err().to_string();
    assert!(text.contains("recorded no call"), "{text}");
}

#[test]
fn what_a_workload_sends_is_kept() {
    let mut lab = lab(&format!("printf new > \"$(dirname \"$0\")/boot/outlet\"; {GOOD}"));
    let plain = boot(&lab.request).unwrap().command_line;
    assert!(!plain.contains("chardev:out"), "{plain}");
    lab.request.outlet = true;
    let line = boot(&lab.request).unwrap().command_line;
    assert!(line.contains("boot/outlet") && line.contains("-serial chardev:out"), "{line}");
    assert!(!line.contains("ftrace"), "{line}");
    assert_eq!(fs::read_to_string(lab.request.outlet_file()).unwrap(), "new");
    lab.request.tracers.ftrace = Some(Ftrace::default());
    let text = boot(&lab.request).unwrap_err().to_string();
    assert!(text.contains("both write to the outlet"), "{text}");
}

#[test]
fn the_key_of_a_boot_knows_its_arguments_and_not_where_its_files_are() {
    let work = tempfile::tempdir().unwrap();
    let hashes = Hashes::open(work.path().join("hashes.json"));
    let made = |name: &str| Key::new(name);
    let key = |change: &dyn Fn(&mut BootRequest)| {
        let mut lab = lab(GOOD);
        lab.request.tracers.plugin = Some(lab.folder.path().join("plugin"));
        change(&mut lab.request);
        lab.request.key(&made("kernel"), &made("bench"), &hashes).unwrap().hash()
    };
    let plain = key(&|_| ());
    assert_eq!(plain, key(&|request| request.folder = "elsewhere".into()));
    assert_eq!(plain, key(&|request| request.limit = Duration::from_secs(1)));
    let disk = |content: &'static str| {
        move |request: &mut BootRequest| {
            let path = request.kernel.with_file_name("image");
            fs::write(&path, content).unwrap();
            request.disks = vec![Disk::Image { path, keeps: false }];
        }
    };
    let others = [
        key(&|request| request.hardware.cpus = 2),
        key(&|request| request.hardware.memory_mib = 300),
        key(&|request| request.hardware.clock = Clock::INSTRUCTIONS),
        key(&|request| request.hardware.clock = parallel(1000)),
        key(&|request| request.hardware.clock = parallel(500)),
        key(&|request| request.workload = None),
        key(&|request| request.arguments = vec!["quiet".to_owned()]),
        key(&|request| request.tracers.stream = true),
        key(&|request| request.tracers.plugin = None),
        key(&|request| request.tracers.ftrace = Some(Ftrace::default())),
        key(&|request| request.outlet = true),
        key(&|request| request.modules = vec!["hello".to_owned()]),
        key(&|request| {
            request.devices = vec![Device { arguments: "virtio-rng-pci".to_owned(), reason: "" }];
        }),
        key(&|request| {
            request.disks = vec![Disk::Null(NullBlock {
                gib: 1,
                latency: Duration::ZERO,
                mib_per_second: None,
            })];
        }),
        key(&disk("one")),
        key(&disk("two")),
    ];
    let all: std::collections::BTreeSet<&String> = others.iter().chain([&plain]).collect();
    assert_eq!(all.len(), others.len() + 1);
    assert_eq!(key(&disk("one")), others[others.len() - 2]);
    // A kernel that needs a CPU which is never started is another machine, as its arguments say.
    let old = key(&|request| {
        image(&request.kernel, "6.1.192");
        request.hardware.cpus = 2;
        request.hardware.clock = Clock::INSTRUCTIONS;
    });
    let new = key(&|request| {
        image(&request.kernel, "6.12.48");
        request.hardware.cpus = 2;
        request.hardware.clock = Clock::INSTRUCTIONS;
    });
    assert_ne!(old, new);
}
