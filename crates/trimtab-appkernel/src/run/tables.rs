//! The thesis's tables: the same programs on Linux without SMP, with SMP, and without SMP beside the module's
//! CPUs. Each CPU of a guest has a clock of its own, so it does not matter how many this machine has.

mod programs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use trimtab_lab::observe::Observe;
use trimtab_lab::tools;
use trimtab_lab::workdir::WorkDir;
use trimtab_link::Feature;
use trimtab_machine::Isa;
use trimtab_machine::boot::{BootRecord, Clock, KeptRequest, limits};
use trimtab_machine::guest;
use trimtab_machine::kernel::{GeneratedFiles, KernelImage};
use trimtab_machine::qemu::parallel;
use trimtab_machine::testbed::Testbed;
use trimtab_stats::median;

use self::programs::{MIX, NOISE, PARALLEL, SINGLE, published};
use crate::guest::{Guest, inputs};
use crate::report::tables::{Noise, ProgramRun, Quanta, Speedup, Times};

/// Which tables, and how.
#[derive(Debug, Clone)]
pub struct TablesRequest {
    /// Numbers of CPUs of the guests, each 2 to 16.
    pub cpus: Vec<u32>,
    /// By how many instructions a CPU may be ahead of the slowest.
    pub quantum: u32,
    /// For how long the thread computes whose CPU is watched, in milliseconds of the guest.
    pub noise_milliseconds: u32,
    /// QEMU's source, a `.dsc` file; apt fetches it otherwise.
    pub qemu_source: Option<PathBuf>,
}

/// What was found.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) programs: Vec<ProgramRun>,
    pub(super) noise: Vec<Noise>,
    pub(super) qemu: String,
}

/// The guest's memory: with less than 512 MiB beside the kernel, Linux has no huge pages unless it is told to.
const MEMORY_MIB: u32 = 1024;
/// A program with threads takes up to a quarter longer in one boot than in the next, by where its memory lies: so many
/// boots, of which the one in the middle counts.
const BOOTS: u32 = 3;
/// Keeps Linux with SMP away from its second CPU.
const ISOLATED: [&str; 3] = ["isolcpus=1", "nohz_full=1", "rcu_nocbs=1"];

/// On what a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum System {
    /// Linux without SMP.
    Up,
    /// The same source with SMP.
    Smp,
    /// Linux without SMP, and the module.
    Ours,
    /// The same, where the module's CPUs answer some system calls themselves.
    Answering,
    /// The same kernel and module, but each thread has a proxy, as in the thesis.
    Proxy,
}

impl System {
    /// Those that each program runs on.
    const ALL: [System; 3] = [Self::Up, Self::Smp, Self::Ours];

    /// Whether the module is there.
    fn has_module(self) -> bool {
        matches!(self, Self::Ours | Self::Answering | Self::Proxy)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Smp => "smp",
            Self::Ours => "ours",
            Self::Answering => "answering",
            Self::Proxy => "proxy",
        }
    }
}

/// Boots guests for all tables.
///
/// # Errors
/// Missing tools, builds that fail, guests that do not come up, and programs that fail.
pub(super) fn run(
    work: &WorkDir,
    guest: &Guest<'_>,
    others: &[&'static Feature],
    request: &TablesRequest,
    observer: &dyn Observe,
) -> Result<Tables> {
    let qemu = parallel::get(work, request.qemu_source.as_deref(), observer)?;
    let (_, build) = inputs(others, &["smp"])?.prepare(work, observer)?;
    let stage = observer.stage("build the kernel with SMP");
    let smp = build.link(&GeneratedFiles::new(), |line| stage.note_make(line))?;
    stage.ended(smp.cached, "");
    let gcc = tools::find("gcc")?;
    let mut files = guest::modules(&guest.modules);
    files.extend(programs::with_threads(work, &gcc)?);
    let testbed = |workloads, files: &BTreeMap<_, _>| {
        let testbed = Testbed::prepare_files(work, Isa::X86_64, None, workloads, files)?;
        anyhow::Ok(testbed.with_parallel_clock(&qemu))
    };
    let workloads = programs::workloads(request.noise_milliseconds);
    let threads = testbed(workloads, &files)?;
    // Not in the guests of the others, which are smaller without them.
    files.extend(programs::of_this_machine(work, &gcc)?);
    let here = testbed(programs::workloads_of_this_machine(), &files)?;
    let bench = |testbed| Bench { testbed, up: &guest.kernel, smp: &smp, request, observer };
    let (threads, here) = (bench(threads), bench(here));
    let first = request.cpus.first().copied().into_iter().collect::<Vec<u32>>();
    let mut programs = here.programs("single", &SINGLE.map(|(name, _)| name), &first)?;
    programs.extend(threads.programs(
        "parallel",
        &PARALLEL.map(|(name, _)| name),
        &request.cpus,
    )?);
    programs.extend(here.programs("multiprogramming", &[MIX], &request.cpus)?);
    Ok(Tables { programs, noise: threads.noise()?, qemu: qemu.version.clone() })
}

struct Bench<'a> {
    testbed: Testbed<'a>,
    up: &'a KernelImage,
    smp: &'a KernelImage,
    request: &'a TablesRequest,
    observer: &'a dyn Observe,
}

impl Bench<'_> {
    /// A boot, done now or by an earlier run.
    fn boot(
        &self,
        system: System,
        cpus: u32,
        workload: String,
        arguments: &[&str],
        number: u32,
    ) -> Result<BootRecord> {
        let kernel = if system == System::Smp { self.smp } else { self.up };
        let mut request = self.testbed.request(kernel, Path::new(""));
        request.hardware.cpus = cpus;
        request.hardware.memory_mib = MEMORY_MIB;
        request.hardware.seed = number + 1;
        request.hardware.clock = Clock::Parallel { shift: 0, quantum: self.request.quantum };
        request.limit = limits::VIRTUAL_SECONDS;
        request.arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        if system.has_module() {
            request.modules = vec!["appkernel".to_owned()];
        }
        let stage = self.observer.stage(&format!("boot: {workload} with {cpus} CPUs"));
        request.workload = Some(workload);
        let kept =
            KeptRequest { testbed: &self.testbed, kernel, request, repetition: 0, digest: () };
        let boot = kept.get()?;
        stage.ended(boot.cached, "");
        Ok(boot.record)
    }

    /// How long a program takes, in the middle of so many boots.
    fn time(&self, system: System, cpus: u32, program: &str, boots: u32) -> Result<u64> {
        let mut times = Vec::new();
        for number in 0..boots {
            let workload = format!("{}-{program}", system.name());
            let record = self.boot(system, cpus, workload, &[], number)?;
            let found = said(&record, "scale", "cpus")?;
            let expected = if system == System::Smp { cpus } else { 1 };
            ensure!(found == u64::from(expected), "Linux has {found} CPUs, and not {expected}");
            times.push(said(&record, "scale", "nanoseconds")? as f64);
        }
        Ok(median(&times).unwrap_or_default() as u64)
    }

    fn programs(&self, kind: &str, names: &[&str], cpus: &[u32]) -> Result<Vec<ProgramRun>> {
        let mut runs = Vec::new();
        let has_threads = kind == "parallel";
        let boots = if has_threads { BOOTS } else { 1 };
        for &program in names {
            let up = self.time(System::Up, 1, program, boots)?;
            for &cpus in cpus {
                let time = |system| self.time(system, cpus, program, boots);
                let (smp, ours) = (time(System::Smp)?, time(System::Ours)?);
                let answering = has_threads.then(|| time(System::Answering)).transpose()?;
                // Other programs than the one that began have none.
                let has_proxies = kind != "multiprogramming";
                let proxy = has_proxies.then(|| time(System::Proxy)).transpose()?;
                runs.push(ProgramRun {
                    name: program.to_owned(),
                    kind: kind.to_owned(),
                    cpus,
                    boots,
                    speedup: Speedup {
                        smp: up as f64 / smp as f64,
                        paper: published(program, cpus),
                        ours: up as f64 / ours as f64,
                        answering: answering.map(|time| up as f64 / time as f64),
                        proxy: proxy.map(|time| up as f64 / time as f64),
                    },
                    nanoseconds: Times { up, smp, ours, answering, proxy },
                });
            }
        }
        Ok(runs)
    }

    fn noise(&self) -> Result<Vec<Noise>> {
        let setups: [(&str, System, &[&str]); 3] = [
            ("smp", System::Smp, &[]),
            ("smp, isolated", System::Smp, &ISOLATED),
            ("ours", System::Ours, &[]),
        ];
        let mut found = Vec::new();
        for (setup, system, arguments) in setups {
            let workload = format!("{}-{NOISE}", system.name());
            let record = self.boot(system, 2, workload, arguments, 0)?;
            let said = |name| said(&record, NOISE, name);
            found.push(Noise {
                setup: setup.to_owned(),
                milliseconds: self.request.noise_milliseconds,
                instructions: said("instructions")?,
                kicks: if system.has_module() { Some(said("kicks")?) } else { None },
                quanta: Quanta {
                    count: said("quanta")?,
                    min: said("least")?,
                    max: said("most")?,
                    p9999: said("p9999")?,
                },
            });
        }
        Ok(found)
    }
}

/// A number that the guest said.
fn said(record: &BootRecord, topic: &str, name: &str) -> Result<u64> {
    let value = record.said.get(topic).and_then(|topic| topic.get(name));
    value
        .and_then(|value| value.parse().ok())
        .with_context(|| format!("the guest did not say how many {name} of {topic} there were"))
}
