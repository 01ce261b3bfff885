//! Boots a real kernel: the small one in the work directory that tests share, which is built there
//! on the first run.
#![allow(clippy::unwrap_used, missing_docs)]

use include_dir::include_dir;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use trimtab_lab::failure::Hint;
use trimtab_lab::observe::Silent;
use trimtab_lab::tools::{self, ToolError};
use trimtab_lab::workdir::WorkDir;
use trimtab_link::LAYOUT;
use trimtab_machine::boot::{
    Accelerator, Boot, BootError, BootRequest, Clock, Device, Disk, Ftrace, NullBlock, Outcome,
    boot,
};
use trimtab_machine::guest::{self, Workload};
use trimtab_machine::kernel::{
    BuildInputs, DISK, Feature, GeneratedFiles, KernelError, NULL_BLOCK, Toolchain,
};
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

/// The work directory that tests share; `make test` says where that is.
fn work() -> WorkDir {
    let fallback = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../work/test");
    let path = std::env::var_os("TRIMTAB_TEST_WORK").map_or_else(fallback, PathBuf::from);
    WorkDir::open(&path).unwrap()
}

/// What a small kernel with these features is built of.
fn inputs(features: &[&'static Feature]) -> BuildInputs {
    let toolchain = Toolchain::Clang(tool(tools::llvm()));
    BuildInputs::find(None, features, ("tiny", Isa::X86_64), 1, toolchain).unwrap()
}

/// The kernel of most tests.
fn kernel() -> PathBuf {
    let work = work();
    let build = inputs(&[&LAYOUT]).prepare(&work, &Silent).unwrap().1;
    build.link(&GeneratedFiles::new(), |_| ()).unwrap().image
}

/// A feature of which only the configuration is used here.
static APPKERNEL: Feature = Feature {
    name: "appkernel",
    over: &[],
    folder: include_dir!("$CARGO_MANIFEST_DIR/../../linux/appkernel"),
    generated: &[],
};

/// A stock kernel with disks and modules, and the module of `linux/test-module`; made once. It is
/// configured as that of the application kernel's tests, so that they share one build.
fn stock() -> &'static (PathBuf, Vec<PathBuf>) {
    static STOCK: OnceLock<(PathBuf, Vec<PathBuf>)> = OnceLock::new();
    STOCK.get_or_init(|| {
        // Another test may have the work directory just now.
        lab();
        let work = work();
        let lines = |name| APPKERNEL.fragment(name).unwrap();
        let inputs = inputs(&[&APPKERNEL, &DISK, &NULL_BLOCK]);
        let inputs = inputs.with_lines(lines("up")).with_lines(lines("tests"));
        let build = inputs.prepare(&work, &Silent).unwrap().1;
        let image = build.link(&GeneratedFiles::new(), |_| ()).unwrap();
        assert!(matches!(image.map(), Err(KernelError::NoMap { .. })));
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../linux/test-module");
        let modules = build.modules(&[&folder]).unwrap();
        assert_eq!(build.modules(&[&folder]).unwrap(), modules);
        assert!(!folder.join("hello.ko").exists(), "the folder is not changed");
        (image.image, modules)
    })
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

/// Gives a workload more than the shell.
const INSTALL: &str = "/bin/busybox --install -s /bin\n";

/// A guest of the stock kernel with a workload of its own and the module.
fn stock_request(name: &str, script: &str) -> BootRequest {
    let (image, modules) = stock();
    let lab = lab();
    let folder = lab.folder.path().join(format!("{name}-root"));
    fs::create_dir(&folder).unwrap();
    let workload = Workload { name: "own".to_owned(), script: format!("{INSTALL}{script}") };
    let (cc, busybox) = (tool(tools::find("gcc")).path, tool(tools::find("busybox")).path);
    let files = guest::modules(modules);
    let root = guest::build(Isa::X86_64, &cc, &busybox, &[workload], &files, &folder).unwrap();
    let mut request = lab.request(name, "own");
    request.kernel = image.clone();
    request.initramfs = root;
    request
}

#[test]
fn an_image_is_a_disk_whose_writes_stay_only_where_they_shall() {
    let script = "read -r first < /dev/vda\necho \"trimtab: disk first $first\"\n\
                  echo \"trimtab: disk sectors $(cat /sys/block/vda/size)\"\n\
                  echo written | dd of=/dev/vda conv=notrunc,fsync 2> /dev/null\n";
    let mut request = stock_request("disk", script);
    let image = lab().folder.path().join("an, image");
    let mut content = b"from outside\n".to_vec();
    content.resize(1 << 20, 0);
    fs::write(&image, &content).unwrap();
    request.disks = vec![Disk::Image { path: image.clone(), keeps: false }];
    let boot = trimtab_machine::boot::boot(&request).unwrap();
    assert_eq!(boot.said["disk"]["first"], "from outside");
    assert_eq!(boot.said["disk"]["sectors"], "2048");
    assert!(fs::read(&image).unwrap() == content);

    request.disks = vec![Disk::Image { path: image.clone(), keeps: true }];
    trimtab_machine::boot::boot(&request).unwrap();
    assert!(fs::read(&image).unwrap().starts_with(b"written\n"));
}

#[test]
fn a_disk_in_the_guests_memory_takes_the_guests_time_and_repeats() {
    let script = "now() { read -r up idle < /proc/uptime; echo $up; }\n\
                  echo \"trimtab: disk before $(now)\"\n\
                  dd if=/dev/nullb0 of=/dev/null bs=4k count=64 iflag=direct 2> /dev/null || exit 1\n\
                  echo \"trimtab: disk after $(now)\"\n";
    let run = |name: &str, latency| {
        let mut request = stock_request(name, script);
        request.hardware.clock = Clock::INSTRUCTIONS;
        request.disks = vec![Disk::Null(NullBlock { gib: 1, latency, mib_per_second: None })];
        let boot = boot(&request).unwrap();
        let at = |name: &str| boot.said["disk"][name].parse::<f64>().unwrap();
        (at("after") - at("before"), boot.uptime_finished)
    };
    let slow = run("slow-disk", Duration::from_millis(20));
    println!("64 reads of 20 ms each: {:.2} s of the guest's time", slow.0);
    assert!((1.28..1.5).contains(&slow.0), "{slow:?}");
    assert_eq!(slow, run("slow-disk-again", Duration::from_millis(20)));
    assert!(run("fast-disk", Duration::from_micros(10)).0 < slow.0 / 4.0);
}

#[test]
fn a_module_is_loaded_with_its_parameters_and_its_tests_are_read() {
    let mut request = stock_request("module", "cat /sys/module/hello/parameters/number\n");
    request.modules = vec!["hello".to_owned()];
    request.arguments = vec!["hello.number=7".to_owned()];
    let boot = trimtab_machine::boot::boot(&request).unwrap();
    assert_eq!(boot.said["module"]["hello"], "ok");
    assert_eq!(boot.said["hello"]["number"], "7");
    let tests: Vec<_> =
        boot.tests.all().iter().map(|test| (test.name.as_str(), test.outcome)).collect();
    assert_eq!(tests, [("hello/loads", Outcome::Pass), ("hello/counts", Outcome::Skip)]);

    request.arguments = vec!["hello.number=-7".to_owned()];
    let error = trimtab_machine::boot::boot(&request).unwrap_err().to_string();
    assert!(error.contains("module `hello`: Invalid argument"), "{error}");
    request.modules = vec!["other".to_owned()];
    let error = trimtab_machine::boot::boot(&request).unwrap_err().to_string();
    assert!(error.contains("module `other`: is not in this guest"), "{error}");
}

#[test]
fn what_is_plugged_in_is_there() {
    let script = "for device in /sys/bus/pci/devices/*; do\n\
                  echo \"trimtab: pci ${device##*/} $(cat $device/vendor):$(cat $device/device)\"\ndone\n";
    let mut request = stock_request("device", script);
    let without = boot(&request).unwrap();
    request.devices =
        vec![Device { arguments: "virtio-rng-pci".to_owned(), reason: "the test looks for it" }];
    let with = boot(&request).unwrap();
    let is_there = |boot: &Boot| boot.said["pci"].values().any(|id| id == "0x1af4:0x1005");
    assert!(is_there(&with) && !is_there(&without), "{:?}", with.said);
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
        request.hardware.cpus = *cpus;
        request.hardware.memory_mib = *memory_mib;
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
            request.hardware.clock = Clock::INSTRUCTIONS;
            request.hardware.cpus = cpus;
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
    request.hardware.cpus = 2;
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
    request.hardware.accelerator = trimtab_machine::boot::accelerator_that_works(&request).unwrap();
    println!("{:?} after {:.1} s", request.hardware.accelerator, start.elapsed().as_secs_f64());
    if request.hardware.accelerator == Accelerator::Kvm {
        print("KVM", &boot(&request).unwrap());
    }
}
