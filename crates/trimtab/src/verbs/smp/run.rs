//! `trimtab smp run` and `trimtab smp status`: the application kernel on this machine.

use std::ffi::OsString;

use clap::Args;
use trimtab_appkernel::device;

/// Runs a program on CPUs that Linux does not know; needs the module of the application kernel.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: a program on CPUs of its own

    insmod linux/appkernel/module/appkernel.ko
    trimtab smp run -- ./program its arguments")]
pub struct Options {
    /// Let these CPUs answer getpid, gettid and sched_yield themselves, and waits and wakes at private futexes that
    /// need nobody else; not where seccomp, audit or a tracer of calls is at work
    #[arg(long)]
    pub local_calls: bool,
    /// The program and its arguments
    #[arg(
        value_name = "PROGRAM",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub program: Vec<OsString>,
}

/// Becomes the program.
///
/// # Errors
/// A module that is not loaded, or a program that cannot be started.
pub fn run(options: &Options) -> anyhow::Result<()> {
    device::run(&options.program, options.local_calls)
}

/// Prints what the module says of its CPUs.
///
/// # Errors
/// A module that is not loaded.
pub fn status() -> anyhow::Result<()> {
    print!("{}", device::status()?);
    Ok(())
}
