//! The guest in which a workload runs, on CPUs that have a clock each.

mod lock_functions;
mod workload;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use trimtab_lab::observe::Observe;
use trimtab_lab::tools;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::Isa;
use trimtab_machine::boot::{BootRequest, Clock, KeptRequest, LockTracer, complaints, limits};
use trimtab_machine::calls::Said;
use trimtab_machine::guest::Workload;
use trimtab_machine::kernel::{BuildInputs, Feature, GeneratedFiles, KernelImage, Toolchain};
use trimtab_machine::plugin;
use trimtab_machine::qemu::parallel;
use trimtab_machine::testbed::Testbed;

pub use self::workload::{Copies, OwnWorkload, ScaleWorkload};
use self::workload::{Counts, RUNNER};

/// The most CPUs of a guest.
pub const MOST_CPUS: u32 = 16;
/// What the kernel needs beside its configuration; by the time before its lines they are told from those of programs.
const KERNEL_LINES: &str = "CONFIG_SMP=y\nCONFIG_NR_CPUS=16\nCONFIG_PRINTK_TIME=y\n";

/// What a guest is made of.
#[derive(Debug, Clone)]
pub struct GuestRequest<'a> {
    /// What runs in it.
    pub workload: &'a ScaleWorkload,
    /// How often it runs at the same time.
    pub copies: Copies,
    /// The numbers of CPUs that it will be booted with.
    pub cpus: Vec<u32>,
    /// QEMU's source, a `.dsc` file; apt fetches it otherwise.
    pub qemu_source: Option<&'a Path>,
    /// The kernel's source; the newest package that is installed otherwise.
    pub kernel_source: Option<&'a Path>,
    /// The kernel's configuration: `tiny`, `lab`, or a file.
    pub config: &'a str,
    /// What else its kernel has.
    pub kernel: KernelKind,
}

/// What a kernel has beside its configuration and SMP.
#[derive(Debug, Clone, Default)]
pub struct KernelKind {
    /// What it is given.
    pub features: &'static [&'static Feature],
    /// Lines that win over those of the configuration.
    pub lines: String,
    /// Whether it counts what CPUs do, and the guest is to say so.
    pub counts: bool,
}

/// What runs in guests of `scale` and of `locks`, and on what.
#[derive(Debug, Clone)]
pub struct GuestSetup {
    /// Where to work, and where what was built is kept.
    pub work: PathBuf,
    /// What runs in the guest.
    pub workload: ScaleWorkload,
    /// How often it runs at the same time.
    pub copies: Copies,
    /// By how many instructions a CPU may be ahead of the slowest: at least 2, since it is halved.
    pub quantum: u32,
    /// QEMU's source, a `.dsc` file; apt fetches it otherwise.
    pub qemu_source: Option<PathBuf>,
    /// The kernel's source; the newest package that is installed otherwise.
    pub kernel_source: Option<PathBuf>,
    /// The kernel's configuration: `tiny`, `lab`, or a file.
    pub config: String,
    /// The guest's memory in MiB.
    pub memory_mib: u32,
    /// Tells the same boots done again from the first, 0.
    pub repetition: u32,
    /// The command that repeats this, for the report.
    pub command: String,
}

impl GuestSetup {
    /// The guest that it needs, for these numbers of CPUs, with this kernel; the workload may be more than
    /// was asked for.
    pub(super) fn guest<'a>(
        &'a self,
        workload: &'a ScaleWorkload,
        cpus: Vec<u32>,
        kernel: KernelKind,
    ) -> GuestRequest<'a> {
        GuestRequest {
            workload,
            copies: self.copies,
            cpus,
            qemu_source: self.qemu_source.as_deref(),
            kernel_source: self.kernel_source.as_deref(),
            config: &self.config,
            kernel,
        }
    }

    /// A boot of it.
    pub(super) fn boot_of(&self, cpus: u32, quantum: u32, arguments: Vec<String>) -> BootOf {
        let (memory_mib, repetition) = (self.memory_mib, self.repetition);
        let what = BootKind::Timed;
        BootOf { cpus, quantum, memory_mib, repetition, arguments, what }
    }
}

/// A boot to do.
#[derive(Debug, Clone)]
pub(super) struct BootOf {
    /// CPUs.
    pub(super) cpus: u32,
    /// By how many instructions one may be ahead of the slowest.
    pub(super) quantum: u32,
    /// The guest's memory in MiB.
    pub(super) memory_mib: u32,
    /// Tells the same boot done again from the first.
    pub(super) repetition: u32,
    /// Arguments of the kernel.
    pub(super) arguments: Vec<String>,
    /// What it is for.
    pub(super) what: BootKind,
}

/// What a boot is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BootKind {
    /// To see how long copies take that run at the same time.
    Timed,
    /// One CPU, which counts, and says what it did in its order: a copy on it.
    Recorded,
    /// The same, of all that the workload runs on so many CPUs.
    RecordedFor(u32),
    /// To see which locks of the kernel's own copies take that run one after the other.
    Watched,
}

impl BootOf {
    fn name(&self) -> String {
        match self.what {
            BootKind::Timed => workload_name(self.cpus),
            BootKind::Recorded => RECORDING.to_owned(),
            BootKind::RecordedFor(cpus) => recording_name(cpus),
            BootKind::Watched => IN_TURN.to_owned(),
        }
    }
}

/// CPUs of a guest in which copies run one after the other: two, so that it is known what they share.
pub(super) const WATCHED_CPUS: u32 = 2;
/// What a guest runs that says what its CPU did in its order.
const RECORDING: &str = "record";
/// What a guest runs in which copies run one after the other.
const IN_TURN: &str = "in-turn";

/// What a guest with so many CPUs runs.
fn workload_name(cpus: u32) -> String {
    format!("scale-{cpus}")
}

/// What a guest with one CPU runs that says what it did in its order, of what so many CPUs run.
fn recording_name(cpus: u32) -> String {
    format!("{RECORDING}-{cpus}")
}

/// A boot that is over.
#[derive(Debug)]
pub(super) struct Ran {
    /// What the workload took by the guest's clock.
    pub(super) nanoseconds: u64,
    /// SHA-256 of all that the guest wrote on its console, in hexadecimal.
    pub(super) console: String,
    /// How long it took on this machine.
    pub(super) host_seconds: f64,
    /// What the guest said, by topic and name.
    pub(super) said: Said,
    /// Which locks were taken, if that was watched.
    pub(super) locks: PathBuf,
}

/// A guest with the workload, ready to boot.
#[derive(Debug)]
pub struct Guest<'work> {
    testbed: Testbed<'work>,
    kernel: KernelImage,
    /// The release of its kernel.
    pub kernel_version: String,
    /// The Debian package that its QEMU is built from.
    pub qemu_version: String,
    /// Versions of what it was made with.
    pub versions: BTreeMap<String, String>,
}

impl<'work> Guest<'work> {
    /// Builds QEMU, the kernel and the guest's root, or finds what an earlier run built.
    ///
    /// # Errors
    /// Missing tools, a program that is not there, builds that fail.
    pub fn build(
        work: &'work WorkDir,
        request: &GuestRequest<'_>,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let gcc = tools::find("gcc")?;
        // A command that is not there is found out before anything is built.
        let files = request.workload.files(work, &gcc)?;
        let toolchain = Toolchain::Clang(tools::llvm()?);
        let named = (request.config, Isa::X86_64);
        let most = request.cpus.iter().copied().max().unwrap_or(1);
        let kind = &request.kernel;
        let inputs =
            BuildInputs::find(request.kernel_source, kind.features, named, most, toolchain)?;
        let qemu = parallel::get(work, request.qemu_source, observe)?;
        let inputs = inputs.with_lines(KERNEL_LINES).with_lines(&kind.lines);
        let (source, build) = inputs.prepare(work, observe)?;
        let stage = observe.stage("build the kernel");
        let kernel = build.link(&GeneratedFiles::new(), |line| stage.note_make(line))?;
        stage.ended(kernel.cached, "");
        let counts = if kind.counts { Counts::Sums } else { Counts::Nothing };
        let workload = |&cpus: &u32| Workload {
            name: workload_name(cpus),
            script: request.workload.script(request.copies, cpus, counts),
        };
        // Of what runs alone, each copy has a CPU of its own.
        let script = |cpus, counts| request.workload.script(Copies::Each, cpus, counts);
        let mut workloads: Vec<Workload> = request.cpus.iter().map(workload).collect();
        if kind.counts {
            let workload = |name: &str, script| Workload { name: name.to_owned(), script };
            workloads.push(workload(RECORDING, script(1, Counts::Stretches)));
            workloads.push(workload(IN_TURN, script(WATCHED_CPUS, Counts::InTurn)));
            let of_all = |&cpus: &u32| {
                let script = request.workload.script(request.copies, cpus, Counts::Stretches);
                workload(&recording_name(cpus), script)
            };
            if matches!(request.copies, Copies::Fixed(_)) {
                workloads.extend(request.cpus.iter().map(of_all));
            }
        }
        let testbed = Testbed::prepare_files(work, Isa::X86_64, None, workloads, &files)?
            .with_parallel_clock(&qemu);
        Ok(Self {
            versions: testbed.versions().clone(),
            testbed,
            kernel,
            kernel_version: source.release.version.clone(),
            qemu_version: qemu.version,
        })
    }

    /// A boot with so many CPUs, for the workload, in a folder of its own.
    pub fn request(&self, memory_mib: u32, cpus: u32, clock: Clock, folder: &Path) -> BootRequest {
        let mut request = self.testbed.request(&self.kernel, folder);
        request.hardware.cpus = cpus;
        request.hardware.memory_mib = memory_mib;
        request.hardware.clock = clock;
        // A fork, and what the child does, would take two faults more in some boots.
        request.same_addresses = matches!(clock, Clock::Parallel { .. });
        request.workload = Some(workload_name(cpus));
        request.limit = limits::SEVERAL_CPUS;
        request
    }

    /// The tracing plugin.
    pub fn plugin(&self) -> &Path {
        self.testbed.plugin()
    }

    /// The kernel, with its symbols.
    pub(super) fn vmlinux(&self) -> &Path {
        &self.kernel.vmlinux
    }

    fn lock_tracer(&self) -> Result<LockTracer> {
        let plugin = plugin::kept_locks(self.testbed.work(), &tools::find("gcc")?)?;
        let functions = lock_functions::of_kernel(self.vmlinux())?;
        Ok(LockTracer { plugin: plugin.path, key: plugin.key, functions })
    }

    /// Boots it, or finds it done: the time that the workload took, and all else that the guest said.
    pub(super) fn run(&self, asked: &BootOf, observe: &dyn Observe) -> Result<Ran> {
        let (cpus, quantum) = (asked.cpus, asked.quantum);
        let with = asked.arguments.join(" ");
        let stage =
            observe.stage(format!("boot with {cpus} CPUs, quantum {quantum} {with}").trim_end());
        // One nanosecond an instruction, so that the guest's clock counts them.
        let clock = Clock::Parallel { shift: 0, quantum };
        let mut request = self.request(asked.memory_mib, cpus, clock, Path::new(""));
        request.arguments.clone_from(&asked.arguments);
        request.workload = Some(asked.name());
        if asked.what == BootKind::Watched {
            request.tracers.locks = Some(self.lock_tracer()?);
        }
        let kept = KeptRequest {
            testbed: &self.testbed,
            kernel: &self.kernel,
            request,
            repetition: asked.repetition,
            digest: (),
        };
        let boot = kept.get()?;
        let found = said(&boot.record.said, "cpus")?;
        if found != u64::from(cpus) {
            bail!("the guest's kernel started {found} of {cpus} CPUs; was it built with SMP?");
        }
        let nanoseconds = said(&boot.record.said, "nanoseconds")?;
        ensure!(nanoseconds > 0, "the workload took no time");
        let console = boot.folder.join("console.log");
        let text =
            fs::read(&console).with_context(|| format!("cannot read {}", console.display()))?;
        if let Some(first) = complaints(&String::from_utf8_lossy(&text)).first() {
            bail!("the guest's kernel complains of itself, see {}: {first}", console.display());
        }
        let console = self.testbed.work().hashes().of(&console)?;
        stage.ended(boot.cached, &format!("{nanoseconds} ns"));
        let host_seconds = boot.record.wall;
        let locks = boot.locks();
        Ok(Ran { nanoseconds, console, host_seconds, said: boot.record.said, locks })
    }
}

/// A number that the guest said of its run.
fn said(said: &Said, name: &str) -> Result<u64> {
    let value = said.get(RUNNER).and_then(|topic| topic.get(name));
    value
        .and_then(|value| value.parse().ok())
        .with_context(|| format!("the guest did not say how many {name} it counted"))
}
