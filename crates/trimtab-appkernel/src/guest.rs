//! A guest whose kernel knows one CPU, or runs a part of them, with the module and its tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use include_dir::{Dir, File, include_dir};
use trimtab_lab::cache::Key;
use trimtab_lab::observe::Silent;
use trimtab_lab::tools::{self, FoundTool};
use trimtab_lab::workdir::{KeptStep, WorkDir, WorkError};
use trimtab_link::Feature;
use trimtab_machine::Isa;
use trimtab_machine::boot::{Boot, Clock, boot_showing};
use trimtab_machine::guest::compiled::{CompiledProgram, c_sources};
use trimtab_machine::guest::{self, Workload, parallel};
use trimtab_machine::kernel::{BuildInputs, GeneratedFiles, KernelImage, Toolchain};
use trimtab_machine::testbed::Testbed;

/// What the module needs of a kernel.
pub static APPKERNEL: Feature = Feature {
    name: "appkernel",
    over: &[],
    folder: include_dir!("$CARGO_MANIFEST_DIR/../../linux/appkernel"),
    generated: &[],
};

/// The folders of the module's source and of its tests, in the feature's.
const MODULE: &str = "module";
const SUITE: &str = "suite";
/// The folder of what gives programs proxies.
const PROXIED: &str = "proxied";
/// What both include: the module's, which programs need, too.
const SHARED: &str = "proxy.h";

/// A guest, ready to boot.
#[derive(Debug)]
pub struct Guest<'work> {
    testbed: Testbed<'work>,
    pub(crate) kernel: KernelImage,
    pub(crate) modules: Vec<PathBuf>,
    /// The release of its kernel.
    pub version: String,
    /// What it did not take of its configuration.
    pub refused: Vec<String>,
}

/// One boot of it.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    /// What it is called among the boots of its folder: a file's name.
    pub name: &'a str,
    /// CPUs of the machine; Linux without SMP has one of them.
    pub cpus: u32,
    /// How many of them Linux with SMP is started with.
    pub linux_cpus: Option<u32>,
    /// Whether time is what the guest executed; otherwise CPUs really run at the same time.
    pub counted: bool,
    /// The module's parameters, `NAME=VALUE`.
    pub parameters: &'a [&'a str],
    /// Which workload: [`TESTS`], [`COSTS`], [`PROXY_COSTS`], [`STALE`], [`STRESS_SHORT`], one of [`STRESS_FULL`],
    /// [`HOTPLUG`], [`RELOAD`], [`FAILURES`], [`REBOOT`], [`PANIC`].
    pub workload: &'a str,
    /// How long it may take.
    pub limit: Duration,
}

/// All tests of the module.
pub const TESTS: &str = "tests";
/// What a system call and a page fault cost, here and there.
pub const COSTS: &str = "costs";
/// The same with a proxy, as in the thesis.
pub const PROXY_COSTS: &str = "costs-proxy";
/// Pages that are given away while a thread elsewhere writes them.
pub const STALE: &str = "stale";
/// Calls, changes of page tables, signals and ends of processes: ten thousand, a thousand, a thousand and a hundred.
pub const STRESS_SHORT: &str = "stress-short";

/// What is repeated far more often, in a guest of its own.
#[derive(Debug)]
pub struct LongStress {
    /// The workload.
    pub name: &'static str,
    /// What the tests' program is told.
    arguments: &'static str,
    /// Whether CPUs take turns: a thread that goes to another CPU does not wait for one of this machine's then, but
    /// one that waits without sleeping keeps its whole turn.
    pub counted: bool,
}

/// 10^6 changes of page tables, 10^7 calls, 10^5 signals and 10^4 ends, the longest first.
pub const STRESS_FULL: [LongStress; 4] = [
    LongStress { name: "stress-pages", arguments: "--stress 0 1000000 0 0", counted: true },
    LongStress { name: "stress-calls", arguments: "--stress 10000000 0 0 0", counted: true },
    LongStress { name: "stress-signals", arguments: "--stress 0 0 100000 0", counted: false },
    LongStress { name: "stress-ends", arguments: "--stress 0 0 0 10000", counted: false },
];

/// CPUs of Linux's come and go, on a machine with three, of which it starts with one.
pub const HOTPLUG: &str = "hotplug";
/// The module is loaded and unloaded, on a machine with two CPUs that Linux does not run.
pub const RELOAD: &str = "reload";
/// Each allocation fails, if Linux has `CONFIG_FAULT_INJECTION`.
pub const FAILURES: &str = "failures";
/// The machine is started anew while threads compute elsewhere: it does not end as guests do.
pub const REBOOT: &str = "reboot";
/// And Linux panics, if it has `CONFIG_MAGIC_SYSRQ`.
pub const PANIC: &str = "panic";

impl<'work> Guest<'work> {
    /// Builds kernel, module and tests, or finds what an earlier run built. The kernel has the lines of `kinds`,
    /// each the name of a file of [`APPKERNEL`] without `.config`: `up` or `smp`, and what it checks itself by.
    /// It is given `others`, too.
    ///
    /// # Errors
    /// Missing tools, and builds that fail.
    pub fn build(
        work: &'work WorkDir,
        kinds: &[&str],
        others: &[&'static Feature],
    ) -> Result<Self> {
        let (source, build) = inputs(others, kinds)?.prepare(work, &Silent)?;
        let image = build.link(&GeneratedFiles::new(), |_| ())?;
        let gcc = tools::find("gcc")?;
        let modules = build.modules(&[&work.get(&ModuleSource)?.folder])?;
        let mut files = guest::modules(&modules);
        files.insert("bin/suite".to_owned(), suite(&gcc).get(work)?);
        let testbed = Testbed::prepare_files(work, Isa::X86_64, None, workloads(), &files)?;
        let (version, refused) = (source.release.version.clone(), build.refused().to_vec());
        Ok(Self { testbed, kernel: image, modules, version, refused })
    }

    /// An object that its module was linked of, as `cpu.o`.
    pub fn object(&self, name: &str) -> Option<PathBuf> {
        self.modules.first().map(|module| module.with_file_name(name))
    }

    /// Boots it, in a folder below `folder`.
    ///
    /// # Errors
    /// A guest that does not come up, or in which something fails.
    pub fn boot(&self, setup: &Setup<'_>, folder: &Path) -> Result<Boot> {
        self.boot_showing(setup, folder, &mut |_, _| {})
    }

    /// The same; `progress` is told how many of how many parts of its workload are done.
    ///
    /// # Errors
    /// Those of [`boot`](Self::boot).
    pub fn boot_showing(
        &self,
        setup: &Setup<'_>,
        folder: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Boot> {
        let mut request = self.testbed.request(&self.kernel, &folder.join(setup.name));
        request.hardware.cpus = setup.cpus;
        if setup.counted {
            // One nanosecond an instruction, so that the guest's clock counts them.
            request.hardware.clock = Clock::Instructions { shift: 0 };
        }
        request.modules = vec!["appkernel".to_owned()];
        request.workload = Some(setup.workload.to_owned());
        request.limit = setup.limit;
        let parameter = |parameter: &&str| format!("appkernel.{parameter}");
        request.arguments = setup.parameters.iter().map(parameter).collect();
        request.arguments.extend(setup.linux_cpus.map(|cpus| format!("maxcpus={cpus}")));
        boot_showing(&request, progress)
            .with_context(|| format!("the guest of {} failed", setup.name))
    }
}

/// The kernel for the module, with lines of these kinds.
///
/// # Errors
/// A compiler or a source that is not there.
pub(crate) fn inputs(others: &[&'static Feature], kinds: &[&str]) -> Result<BuildInputs> {
    let features = [&[&APPKERNEL], others].concat();
    let toolchain = Toolchain::Clang(tools::llvm()?);
    let lines = |name| APPKERNEL.fragment(name).unwrap_or_default();
    let inputs = BuildInputs::find(None, &features, ("tiny", Isa::X86_64), 1, toolchain)?;
    let kinds = kinds.iter().chain(&["tests"]);
    Ok(kinds.fold(inputs, |inputs, kind| inputs.with_lines(lines(kind))))
}

/// The module's source: names of files, and what is in them.
pub fn module_source() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    files(MODULE)
}

/// The module's source, as files.
struct ModuleSource;

impl KeptStep for ModuleSource {
    const KIND: &'static str = "appkernel-module";
    const VERSION: u32 = 1;
    type Record = ();
    type Error = anyhow::Error;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        Ok(module_source().fold(key, |key, (name, content)| key.bytes(name, content)))
    }

    fn make(&self, at: &Path) -> Result<()> {
        for (name, content) in module_source() {
            let path = at.join(name);
            fs::write(&path, content)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

/// A program of which each thread has a proxy.
pub(crate) fn proxied<'a>(name: &str, gcc: &'a FoundTool) -> CompiledProgram<'a> {
    let mut program = parallel::program(name, gcc);
    program.sources.extend(proxy(true));
    program.flags.push("-Wl,--wrap=pthread_create");
    program
}

/// What gives a program a proxy that is loaded with it.
pub(crate) fn proxy_library(gcc: &FoundTool) -> CompiledProgram<'_> {
    CompiledProgram {
        purpose: "building what gives a program a proxy",
        gcc,
        sources: proxy(false),
        flags: vec!["-shared", "-fPIC", "-nostdlib"],
    }
}

/// The sources of a proxy, for a program whose threads have some or for one that has none.
fn proxy(has_threads: bool) -> Vec<(&'static str, &'static str)> {
    let shared = |&(name, _): &(&str, &str)| ["proxy.c", "suite.h"].contains(&name);
    let wanted = |&(name, _): &(&str, &str)| has_threads || name != "threads.c";
    let of = |folder| APPKERNEL.folder.get_dir(folder).map(c_sources).unwrap_or_default();
    let suite = of(SUITE).into_iter().filter(shared);
    let header = of(MODULE).into_iter().filter(|(name, _)| *name == SHARED);
    suite.chain(header).chain(of(PROXIED).into_iter().filter(wanted)).collect()
}

/// The module's tests, compiled.
fn suite(gcc: &FoundTool) -> CompiledProgram<'_> {
    let of = |folder| APPKERNEL.folder.get_dir(folder).map(c_sources).unwrap_or_default();
    let shared = of(MODULE).into_iter().filter(|(name, _)| *name == SHARED);
    CompiledProgram {
        purpose: "building the module's tests",
        gcc,
        sources: of(SUITE).into_iter().chain(shared).collect(),
        flags: vec!["-pthread", "-Wno-array-bounds"],
    }
}

/// Names of files in a folder of the feature's, and what is in them.
fn files(folder: &str) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    let files = APPKERNEL.folder.get_dir(folder).into_iter().flat_map(Dir::files);
    let name = |path: &'static Path| path.file_name().and_then(|name| name.to_str());
    files.filter_map(move |file| Some((name(file.path())?, file.contents())))
}

/// What the guest can be asked for: the tests' program, with its arguments.
fn workloads() -> Vec<Workload> {
    // On a machine as small as this, Linux has huge pages only if it is told to.
    let mount = "/bin/busybox mount -t debugfs debugfs /sys/kernel/debug || exit 1\n\
                 echo always > /sys/kernel/mm/transparent_hugepage/enabled || exit 1\n";
    let workload = |name: &str, arguments: &str| Workload {
        name: name.to_owned(),
        script: format!("{mount}/bin/suite {arguments}\n"),
    };
    let script = |name: &str, script: &str| Workload {
        name: name.to_owned(),
        script: format!("{mount}{script}\n"),
    };
    let text = |name: &str| {
        let file = APPKERNEL.folder.get_file(format!("{SUITE}/{name}.sh"));
        file.and_then(File::contents_utf8).unwrap_or_default()
    };
    let checks = |name: &str| script(name, &[text("checks"), text(name)].concat());
    let spins =
        "/bin/suite --spin & /bin/suite --spin & /bin/suite --spin & /bin/busybox sleep 1\n";
    [
        checks(HOTPLUG),
        checks(RELOAD),
        script(FAILURES, text("failures")),
        script(REBOOT, &format!("{spins}/bin/busybox reboot -f")),
        script(PANIC, &format!("{spins}echo c > /proc/sysrq-trigger")),
        workload(TESTS, ""),
        workload(COSTS, "--costs"),
        workload(PROXY_COSTS, "--costs proxy"),
        workload(STALE, "--stale"),
        workload(STRESS_SHORT, "--stress 10000 1000 1000 100"),
    ]
    .into_iter()
    .chain(STRESS_FULL.map(|long| workload(long.name, long.arguments)))
    .collect()
}
