//! `trimtab check`: did the linker do what the order says?

use std::path::PathBuf;

use clap::Args;
use trimtab_fit::CheckRequest;
use trimtab_fit::check::{broken, check};
use trimtab_lab::failure::Failure;

use crate::arguments::{self, Outputs};
use crate::verbs::stored::StoreArguments;
use crate::{destination, output};

/// Accounts for every line of an order: placed, misplaced, unknown, duplicate name, discarded, or
/// pinned by the kernel; and checks the boundary symbols of a kernel.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: after relinking with the order, see what became of it

    trimtab check vmlinux --order boot.order --before vmlinux.before")]
pub struct Options {
    /// The program as it was linked with the order; for a kernel: vmlinux
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,
    /// The order that the linker was given
    #[arg(long, value_name = "FILE")]
    pub order: PathBuf,
    /// The program as it was linked without the order, to compare boundary symbols and sizes, and
    /// to tell what was discarded from what never was
    #[arg(long, value_name = "PROGRAM")]
    pub before: Option<PathBuf>,
    /// The linker's map of the program: tells input sections apart that share a name
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// The largest share of lines that may name nothing in the program, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = arguments::share)]
    pub max_unknown: f64,
    /// Where it is stored.
    #[command(flatten)]
    pub kept: StoreArguments,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Checks.
///
/// # Errors
/// Files that cannot be read, and an order that was not honoured.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let report = check(&request(options))?;
    options.kept.keep(&report)?;
    output::report(&options.outputs, &report)?;
    match broken(&report) {
        None => Ok(()),
        Some(why) => Err(Failure::new(why).into()),
    }
}

fn request(options: &Options) -> CheckRequest {
    CheckRequest {
        program: options.program.clone(),
        order: options.order.clone(),
        before: options.before.clone(),
        map: options.map.clone(),
        max_unknown: options.max_unknown,
    }
}
