//! `trimtab trace`: what ran while a kernel booted, or a program ran.

pub mod kernel;
pub mod program;

use clap::{Args, Subcommand};

/// Records which code ran, in order of first execution: of a kernel that boots in a guest, or of a
/// program on this machine.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Example: trace one boot of a kernel of your own, on a machine with 256 MiB and two CPUs

    trimtab trace --kernel arch/x86/boot/bzImage --vmlinux vmlinux --memory 256 --cpus 2 \\
        -o boot.trace

Example: trace the start of a program

    trimtab trace program -o app.trace -- ./app --version"
)]
pub struct Options {
    /// What is traced, if not a kernel.
    #[command(subcommand)]
    pub what: Option<Verb>,
    /// The kernel.
    #[command(flatten)]
    pub kernel: Option<kernel::Options>,
}

/// What is traced.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a program and record which of its functions run
    Program(program::Options),
}

/// Traces.
///
/// # Errors
/// Whatever made it impossible; see [`kernel::run`] and [`program::run`].
pub fn run(options: &Options) -> anyhow::Result<()> {
    match (&options.what, &options.kernel) {
        (Some(Verb::Program(options)), _) => program::run(options),
        (None, Some(options)) => kernel::run(options),
        // The command line is not understood without one of them.
        (None, None) => Ok(()),
    }
}
