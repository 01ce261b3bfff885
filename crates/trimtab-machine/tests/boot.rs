//! Boots a real kernel: the small one in the work directory that tests share, which is built there
//! on the first run.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use trimtab_lab::failure::Hint;
use trimtab_lab::tools::{self, ToolError};
use trimtab_lab::workdir::WorkDir;
use trimtab_link::LAYOUT;
use trimtab_machine::boot::{Accelerator, Boot, BootError, BootRequest, Clock, Ftrace, boot};
use trimtab_machine::guest::{self, Workload};
use trimtab_machine::kernel::{Build, Configuration, Generated, Source, Toolchain};
use trimtab_machine::qemu::Qemu;
use trimtab_machine::{Isa, plugin};
use trimtab_profile::Place;

/// What all boots share; made once.
struct Lab {
    folder: tempfile::TempDir,
    kernel: PathBuf,
    initramfs: PathBuf,
    plugin: PathBuf,
    qemu: Qemu,
}

/// The image of the kernel that tests share; `make test` says where that is.
fn kernel() -> PathBuf {
    let fallback = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../work/test");
    let path = std::env::var_os("TRIMTAB_TEST_WORK").map_or_else(fallback, PathBuf::from);
    let work = WorkDir::open(&path).unwrap();
    let source = Source::find(None, &[&LAYOUT]).unwrap().unpack(&work, &[&LAYOUT]).unwrap();
    let configuration = Configuration::named("tiny", Isa::X86_64).unwrap().with(&LAYOUT, 1);
    let toolchain = Toolchain::Clang(tool(tools::llvm()));
    let build = Build::configure(&work, &source, &configuration, &toolchain).unwrap();
    build.link(&Generated::new(), |_| ()).unwrap().image
}

/// Fails with what to install.
fn tool<T>(found: Result<T, ToolError>) -> T {
    found.unwrap_or_else(|error| panic!("{error}; {}", error.hint().unwrap_or_default()))
}

fn lab() -> &'static Lab {
    static LAB: OnceLock<Lab> = OnceLock::new();
    LAB.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let mut workloads = Workload::all().unwrap();
        for (name, script) in [
            ("hang", "while :; do :; done\n"),
            ("reset", "/bin/busybox reboot -f\n"),
            ("fails", "exit 3\n"),
            ("killed", "kill -9 $$\n"),
            ("background", "/bin/busybox sleep 1000 &\nexit 0\n"),
        ] {
            workloads.push(Workload { name: name.to_owned(), script: script.to_owned() });
        }
        let cc = tool(tools::find("gcc")).path;
        let busybox = tool(tools::find("busybox")).path;
        Lab {
            kernel: kernel(),
            initramfs: guest::build(
                Isa::X86_64,
                &cc,
                &busybox,
                &workloads,
                &Default::default(),
                folder.path(),
            )
            .unwrap(),
            plugin: plugin::build(&cc, folder.path()).unwrap(),
            qemu: Qemu::probe(&tool(tools::find("qemu")).path, Isa::X86_64).unwrap(),
            folder,
        }
    })
}

impl Lab {
    fn request(&self, name: &str, workload: &str) -> BootRequest {
        let folder = self.folder.path().join(name);
        let mut request =
            BootRequest::new(self.qemu.clone(), &self.kernel, &self.initramfs, folder);
        request.workload = Some(workload.to_owned());
        request
    }

    fn fails(&self, name: &str, workload: &str, change: impl Fn(&mut BootRequest)) -> BootError {
        let mut request = self.request(name, workload);
        change(&mut request);
        boot(&request).unwrap_err()
    }
}

fn print(what: &str, boot: &Boot) {
    println!(
        "{what}: up after {:.2} s, over after {:.2} s; by its own clock {:.6} s and {:.6} s; {:?} {:?}",
        boot.wall_ready.as_secs_f64(),
        boot.wall.as_secs_f64(),
        boot.uptime_ready.as_secs_f64(),
        boot.uptime_finished.as_secs_f64(),
        boot.blocks.as_ref().map(|blocks| blocks.instructions),
        boot.calls.as_ref().map(|calls| (calls.calls, calls.functions)),
    );
}

#[test]
fn each_workload_runs_on_each_machine() {
    let lab = lab();
    let machines = [(1, 256), (2, 512)];
    for (workload, (cpus, memory_mib)) in
        Workload::all().unwrap().iter().zip(machines.iter().cycle())
    {
        let mut request = lab.request(&workload.name, &workload.name);
        request.machine.cpus = *cpus;
        request.machine.memory_mib = *memory_mib;
        let boot = boot(&request).unwrap();
        print(&format!("{} with {cpus} CPUs", workload.name), &boot);
    }
}

#[test]
fn what_a_workload_leaves_behind_does_not_matter() {
    let lab = lab();
    boot(&lab.request("background", "background")).unwrap();
}

/// The blocks of a plugin's trace, in its order.
fn ranges(path: &Path) -> Vec<Range<u64>> {
    let trace = trimtab_profile::read::read(&fs::read_to_string(path).unwrap()).unwrap();
    let range = |place| match place {
        Place::Block { start, length } => start..start + u64::from(length),
        _ => panic!("the plugin gives blocks"),
    };
    trace.events().iter().map(|event| range(event.place)).collect()
}

/// Addresses of the called functions in a function tracer's trace, in its order.
fn callees(path: &Path) -> Vec<u64> {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with('#'))
        // <...>-PID ... NAME <ADDRESS> <-NAME <ADDRESS>
        .map(|line| u64::from_str_radix(line.split(['<', '>']).nth(3).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn the_plugin_traces_the_boot_and_leaves_out_user_programs() {
    let lab = lab();
    let plain = boot(&lab.request("plain", "boot")).unwrap();
    print("plain", &plain);
    let mut request = lab.request("traced, with a comma", "boot");
    request.tracers.plugin = Some(lab.plugin.clone());
    let traced = boot(&request).unwrap();
    print("plugin", &traced);
    println!("plugin: {:.2} times the time", traced.wall.as_secs_f64() / plain.wall.as_secs_f64());

    let blocks = traced.blocks.unwrap();
    let counted = blocks.instructions;
    assert_eq!(counted.total, counted.early + counted.kernel + counted.user);
    assert!(counted.user > 0 && counted.kernel > counted.user, "{counted:?}");

    let half = 0xffff_8000_0000_0000;
    let starts: Vec<u64> = ranges(&blocks.path).into_iter().map(|range| range.start).collect();
    let first_high = starts.iter().position(|&start| start >= half).unwrap();
    assert!(first_high > 0, "firmware and the first steps come first");
    assert!(starts[first_high..].iter().all(|&start| start >= half), "no user program after them");
    assert!(starts.len() > 10_000, "{} blocks", starts.len());
}

#[test]
fn with_icount_boots_repeat_exactly() {
    let lab = lab();
    for (workload, cpus) in [("boot", 1), ("network", 2)] {
        let run = |number: u32| {
            let mut request = lab.request(&format!("icount-{workload}-{number}"), workload);
            request.machine.clock = Clock::INSTRUCTIONS;
            request.machine.cpus = cpus;
            request.tracers.plugin = Some(lab.plugin.clone());
            let boot = boot(&request).unwrap();
            print(&format!("{workload} with icount, {cpus} CPUs"), &boot);
            let blocks = boot.blocks.unwrap();
            let trace = fs::read(blocks.path).unwrap();
            (blocks.instructions, boot.uptime_ready, boot.uptime_finished, trace)
        };
        let (first, second) = (run(1), run(2));
        assert_eq!((first.0, first.1, first.2), (second.0, second.1, second.2));
        assert!(first.3 == second.3, "the traces differ");
    }
}

#[test]
fn the_function_tracer_sends_the_first_call_of_each_function() {
    let lab = lab();
    let mut request = lab.request("ftrace", "boot");
    // One CPU is traced with both tracers below.
    request.machine.cpus = 2;
    request.tracers.ftrace = Some(Ftrace::default());
    let boot = boot(&request).unwrap();
    print("ftrace with 2 CPUs", &boot);
    let calls = boot.calls.unwrap();
    assert!(calls.functions > 1000 && calls.calls > 100 * calls.functions, "{calls:?}");
    let mut callees = callees(&calls.path);
    assert_eq!(callees.len() as u64, calls.functions);
    callees.sort_unstable();
    callees.dedup();
    assert_eq!(callees.len() as u64, calls.functions, "each function is there once");
}

#[test]
fn the_plugin_sees_all_that_the_function_tracer_sees() {
    let lab = lab();
    let mut request = lab.request("both", "boot");
    request.tracers.plugin = Some(lab.plugin.clone());
    request.tracers.ftrace = Some(Ftrace::default());
    let boot = boot(&request).unwrap();
    print("both tracers", &boot);
    let mut blocks = ranges(&boot.blocks.unwrap().path);
    blocks.sort_unstable_by_key(|block| block.start);
    let unseen: Vec<u64> = callees(&boot.calls.unwrap().path)
        .into_iter()
        .filter(|callee| {
            // Blocks overlap; none is longer than a page.
            let after = blocks.partition_point(|block| block.start <= *callee);
            let near = blocks[..after].iter().rev();
            !near.take_while(|b| b.start + 4096 > *callee).any(|b| b.contains(callee))
        })
        .collect();
    assert!(unseen.is_empty(), "{unseen:x?}");
}

#[test]
fn a_buffer_that_is_too_small_is_an_error() {
    let lab = lab();
    let error = lab.fails("small", "boot", |request| {
        request.tracers.ftrace = Some(Ftrace { buffer_mib: 1 });
    });
    println!("{error}");
    assert!(matches!(error, BootError::CallsLost { .. }), "{error}");
}

#[test]
fn a_guest_that_panics() {
    let lab = lab();
    let error = lab.fails("panic", "boot", |request| {
        request.arguments =
            vec!["rdinit=/none".into(), "init=/none".into(), "root=/dev/none".into()];
    });
    println!("{error}");
    assert!(matches!(error, BootError::Panicked { .. }), "{error}");
}

#[test]
fn a_guest_that_hangs() {
    let lab = lab();
    let error = lab.fails("hang", "hang", |request| request.limit = Duration::from_secs(8));
    println!("{error}");
    assert!(matches!(error, BootError::Hung { .. }), "{error}");
}

#[test]
fn a_guest_that_resets_itself() {
    let lab = lab();
    for method in ["reboot=t", "reboot=k"] {
        let error = lab.fails("reset", "reset", |request| request.arguments = vec![method.into()]);
        println!("{error}");
        assert!(matches!(error, BootError::Rebooted { was_ready: true, .. }), "{error}");
    }
}

#[test]
fn a_kernel_that_is_none() {
    let lab = lab();
    let error = lab.fails("no-kernel", "boot", |request| {
        let path = lab.folder.path().join("bzImage");
        fs::write(&path, "not a kernel").unwrap();
        request.kernel = path;
    });
    println!("{error}");
    assert!(matches!(error, BootError::Process(_)), "{error}");
}

#[test]
fn a_workload_that_fails() {
    let lab = lab();
    for (name, expected) in [("fails", 3), ("killed", 137), ("unheard-of", 127)] {
        match lab.fails(name, name, |_| ()) {
            BootError::Workload { code, .. } => assert_eq!(code, expected),
            error => panic!("{error}"),
        }
    }
}

#[test]
fn an_accelerator_is_found() {
    let lab = lab();
    let mut request = lab.request("accelerator", "boot");
    let start = Instant::now();
    request.machine.accelerator = trimtab_machine::boot::accelerator_that_works(&request).unwrap();
    println!("{:?} after {:.1} s", request.machine.accelerator, start.elapsed().as_secs_f64());
    if request.machine.accelerator == Accelerator::Kvm {
        print("KVM", &boot(&request).unwrap());
    }
}
