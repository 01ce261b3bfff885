//! `trimtab smp cost`: what SMP costs a kernel.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use trimtab_lab::shell;
use trimtab_machine::Isa;
use trimtab_machine::boot::limits;
use trimtab_machine::testbed::require_tools;
use trimtab_report::Report;
use trimtab_smp::run::{CostRequest, cost};

use crate::arguments::{self, Outputs};
use crate::progress::Progress;
use crate::verbs::stored;
use crate::{destination, output};

/// Builds a kernel of one configuration without SMP and with it, boots both in QEMU, which counts
/// instructions, and says what SMP costs: bytes of code and data, instructions of a boot, of each system
/// call, of a context switch, a page fault and a lock, on one CPU and on two; and which functions grew.
///
/// Kernels and boots are kept in the work directory.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: the small kernel that trimtab carries

    trimtab smp cost --html cost.html

Example: a product's own configuration, for two CPUs

    trimtab smp cost --config product.config --most-cpus 2 --compiler clang")]
pub struct Options {
    /// The kernel's source: a tarball, .dsc file or folder [default: the newest that is installed]
    #[arg(long, value_name = "PATH")]
    pub source: Option<PathBuf>,
    /// The kernel's configuration: tiny, lab, or a file; what it says of SMP does not matter
    #[arg(long, value_name = "NAME", default_value = "tiny")]
    pub config: String,
    /// CPUs that the kernel with SMP is built for, CONFIG_NR_CPUS [default: what the configuration says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=8192))]
    pub most_cpus: Option<u32>,
    /// A static busybox for the guest [default: the one that is installed]
    #[arg(long, value_name = "FILE")]
    pub busybox: Option<PathBuf>,
    /// The compiler: gcc or clang
    #[arg(long, value_name = "NAME", default_value = "gcc")]
    pub compiler: String,
    /// Seconds that a boot may take
    #[arg(long, value_name = "SECONDS", default_value_t = limits::COMPARED.as_secs())]
    pub limit: u64,
    /// Where to work, and where kernels and boots are kept
    #[arg(long, value_name = "DIR", default_value = arguments::WORK)]
    pub work: PathBuf,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Builds, boots and compares.
///
/// # Errors
/// What is missing, kernels that do not build or boot, and instructions that do not repeat.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let request = CostRequest {
        source: options.source.clone(),
        config: options.config.clone(),
        most_cpus: options.most_cpus,
        busybox: options.busybox.clone(),
        compiler: options.compiler.clone(),
        limit: Duration::from_secs(options.limit),
        work: options.work.clone(),
        command: shell::own_words().join(" "),
    };
    require_tools(Isa::X86_64, options.busybox.as_deref())?;
    let found = cost(&request, &Progress::new())?;
    stored::keep(&options.work, &found)?;
    output::report(&options.outputs, &found)?;
    match found.failures().as_slice() {
        [] => Ok(()),
        broken => bail!("not everything holds: {}", broken.join("; ")),
    }
}
