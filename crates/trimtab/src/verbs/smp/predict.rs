//! `trimtab smp predict`: what more CPUs would give a recorded workload.

use std::path::PathBuf;

use clap::Args;
use trimtab_smp::run::{PredictRequest, predict};

use crate::arguments::{Arch, Outputs};
use crate::progress::Progress;
use crate::verbs::stored::StoreArguments;
use crate::{destination, output};

/// Predicts from a trace of one CPU how many times as fast a workload would be on more, with one lock
/// around the kernel, with a lock for each subsystem, and with none that is waited for; and which
/// subsystem to split first.
///
/// The trace is what `trace` of tracefs, `trace-cmd report` or `perf script` print of the events
/// raw_syscalls, sched_switch, sched_waking and sched_wakeup_new; with those of irq and page_fault_user it
/// is more exact. It can come from any machine.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: a build on one CPU, on up to 8

    trace-cmd record -e raw_syscalls -e sched_switch -e sched_waking -e sched_wakeup_new \\
        -e irq -e irq_vectors -e page_fault_user \\
        taskset -c 0 make
    trace-cmd report > make.txt
    trimtab smp predict make.txt --only make --html predict.html")]
pub struct Options {
    /// The text of the trace
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// The most CPUs
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u16).range(2..=256))]
    pub cpus: u16,
    /// Only threads of this name, and those that they begin
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// What a page fault takes, in nanoseconds: traces do not say it
    #[arg(long, value_name = "NANOSECONDS")]
    pub fault: Option<u64>,
    /// The machine of the trace, for the numbers of system calls
    #[arg(long, value_name = "ARCH", default_value = "x86_64")]
    pub arch: Arch,
    /// Where it is stored.
    #[command(flatten)]
    pub kept: StoreArguments,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Predicts.
///
/// # Errors
/// A trace that cannot be read or does not say enough, and files that cannot be written.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let request = PredictRequest {
        trace: options.trace.clone(),
        cpus: usize::from(options.cpus),
        only: options.only.clone(),
        fault: options.fault,
        isa: options.arch.isa(),
        command: trimtab_lab::shell::own_words().join(" "),
    };
    let found = predict(&request, &Progress::new())?;
    options.kept.keep(&found)?;
    output::report(&options.outputs, &found)
}
