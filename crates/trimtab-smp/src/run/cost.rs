//! Builds a kernel without SMP and with it, boots both, and compares them.

mod functions;
mod kernels;
mod locks;
mod measured;
mod options;
mod sizes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use trimtab_lab::observe::Observe;
use trimtab_lab::tools;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::Isa;
use trimtab_machine::calls::{self, Costs};
use trimtab_machine::guest::Workload;
use trimtab_machine::testbed::Testbed;
use trimtab_report::Schema;
use trimtab_report::common::{Check, Repeat};

use crate::report::cost::{
    BootParts, ByBoot, ByKernel, CallCost, KernelFacts, SectionSize, SmpCost,
};
use kernels::{Built, toolchain};
use locks::LockCosts;
use measured::{Measured, WORKLOAD};

/// What to do.
#[derive(Debug, Clone)]
pub struct CostRequest {
    /// The kernel's source; none for the newest that is installed.
    pub source: Option<PathBuf>,
    /// The kernel's configuration: a name or a file. What it says of SMP does not matter.
    pub config: String,
    /// CPUs that the kernel with SMP is built for (`CONFIG_NR_CPUS`); none for what the configuration says.
    pub most_cpus: Option<u32>,
    /// A static busybox for the guest; none for the one that is installed.
    pub busybox: Option<PathBuf>,
    /// The compiler: `gcc` or `clang`.
    pub compiler: String,
    /// How long a boot may take.
    pub limit: Duration,
    /// Where to work, and where kernels and boots are kept.
    pub work: PathBuf,
    /// The command that repeats this, for the report.
    pub command: String,
}

/// Finds out what SMP costs a kernel.
///
/// # Errors
/// What is missing, a configuration that cannot do without SMP or with it, kernels that do not build, and
/// guests that do not come up or in which a call does something wrong.
pub fn cost(request: &CostRequest, observe: &dyn Observe) -> Result<SmpCost> {
    let start = Instant::now();
    let toolchain = toolchain(&request.compiler)?;
    let without = kernels::inputs(request, &toolchain, false)?;
    let with = kernels::inputs(request, &toolchain, true)?;
    let work = WorkDir::open(&request.work)?;
    let up = Built::get(&work, &request.config, &without, false, observe)?;
    let smp = Built::get(&work, &request.config, &with, true, observe)?;
    let stage = observe.stage("prepare emulator and guest");
    let testbed = testbed(&work, request)?;
    stage.ended(testbed.cached(), "");
    let limit = request.limit;
    let boot = |kernel: &Built<'_>, what: &str, cpus| {
        Measured::get(&testbed, &kernel.image, (what, cpus), limit, observe)
    };
    let boots = ByBoot {
        up: boot(&up, "the kernel without SMP", 1)?,
        smp_one: boot(&smp, "the kernel with SMP on one CPU", 1)?,
        smp: boot(&smp, "the kernel with SMP on two CPUs", 2)?,
    };
    let locks =
        LockCosts::get(&work, request, &toolchain, ByKernel { up: &up, smp: &smp }, observe)?;
    let mut tool_versions = testbed.versions().clone();
    tool_versions.extend(toolchain.versions());
    let compiler = toolchain.versions().into_iter().next();
    let repeat = Repeat {
        command: request.command.clone(),
        tool_versions,
        inputs: BTreeMap::from([
            ("kernel without SMP".to_owned(), up.image.key.hash()),
            ("kernel with SMP".to_owned(), smp.image.key.hash()),
        ]),
        seed: 0,
    };
    let kernel = KernelFacts {
        version: up.version.clone(),
        origin: up.origin.clone(),
        configuration: request.config.clone(),
        compiler: compiler.map_or_else(String::new, |(name, version)| format!("{name} {version}")),
    };
    let mut report = compared(&up.read()?, &smp.read()?, &boots)?;
    report.locks = rows(&locks.costs);
    report.checks.push(locks.repeats());
    report.kernel = kernel;
    report.repeat = repeat;
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

/// The emulator, and a guest with the programs that measure.
fn testbed<'w>(work: &'w WorkDir, request: &CostRequest) -> Result<Testbed<'w>> {
    let gcc = tools::find("gcc")?;
    let files = BTreeMap::from([
        (calls::PROGRAM.to_owned(), calls::program(&gcc).get(work)?),
        (calls::PRIMITIVES_PROGRAM.to_owned(), calls::primitives(&gcc).get(work)?),
    ]);
    let workload = Workload { name: WORKLOAD.to_owned(), script: measured::script() };
    let busybox = request.busybox.as_deref();
    Testbed::prepare_files(work, Isa::X86_64, busybox, vec![workload], &files)
}

/// The files of a kernel that are compared.
struct Files {
    vmlinux: trimtab_lab::bytes::Bytes,
    /// Bytes of the bootable image.
    image: u64,
    /// The whole `.config`.
    configuration: String,
}

/// Both kernels and their boots, side by side.
fn compared(up: &Files, smp: &Files, boots: &ByBoot<Measured>) -> Result<SmpCost> {
    let sizes = ByKernel { up: sizes::of(&up.vmlinux)?, smp: sizes::of(&smp.vmlinux)? };
    let (functions, text) = functions::compared(&up.vmlinux, &smp.vmlinux)?;
    let names: BTreeSet<&String> =
        sizes.up.sections.keys().chain(sizes.smp.sections.keys()).collect();
    let size = |of: &sizes::Sizes, name: &String| of.sections.get(name).copied().unwrap_or(0);
    let sections = names
        .into_iter()
        .map(|name| SectionSize { name: name.clone(), bytes: sizes.map(|of| size(of, name)) });
    Ok(SmpCost {
        schema: Schema::default(),
        text,
        text_sections: sizes.map(|of| of.text),
        read_only: sizes.map(|of| of.read_only),
        data: sizes.map(|of| of.data),
        bss: sizes.map(|of| of.bss),
        per_cpu: sizes.map(|of| of.per_cpu),
        image: ByKernel { up: up.image, smp: smp.image },
        sections: sections.collect(),
        memory: boots.map(|boot| boot.memory_kib),
        boot: boots.map(|boot| boot.boot.total),
        boot_parts: BootParts {
            early: boots.map(|boot| boot.boot.early),
            kernel: boots.map(|boot| boot.boot.kernel),
            user: boots.map(|boot| boot.boot.user),
        },
        calls: rows(&boots.map(|boot| boot.calls.clone())),
        primitives: rows(&boots.map(|boot| boot.primitives.clone())),
        missing: calls::names()
            .into_iter()
            .filter(|name| !boots.up.calls.contains_key(*name))
            .map(str::to_owned)
            .collect(),
        rounds: u64::from(calls::ROUNDS),
        functions,
        options: options::compared(&up.configuration, &smp.configuration),
        checks: vec![repeats(boots)],
        ..SmpCost::default()
    })
}

/// The costs that all three boots have.
fn rows(boots: &ByBoot<Costs>) -> Vec<CallCost> {
    let row = |(name, up): (&String, &u64)| {
        let (smp, smp_one) = (*boots.smp.get(name)?, *boots.smp_one.get(name)?);
        Some(CallCost { name: name.clone(), cost: ByBoot { up: *up, smp, smp_one } })
    };
    boots.up.iter().filter_map(row).collect()
}

/// Whether instructions were the same in a second boot of each kernel.
fn repeats(boots: &ByBoot<Measured>) -> Check {
    let named = [
        ("without SMP", &boots.up),
        ("with SMP on one CPU", &boots.smp_one),
        ("with SMP on two CPUs", &boots.smp),
    ];
    let differing = named.into_iter().find_map(|(name, boot)| {
        boot.differs.as_ref().map(|differs| format!("{name}: {differs} in another boot"))
    });
    let all = boots.up.calls.len() + boots.up.primitives.len();
    let found = differing.clone().unwrap_or_else(|| format!("{all} costs of each of three boots"));
    Check::new("Instructions are the same in a second boot", differing.is_none(), found)
}

#[cfg(test)]
mod tests;
