//! `trimtab tune profile`: the system calls of a command.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use trimtab_lab::process::Invocation;
use trimtab_native::native::Request;
use trimtab_tune::run::profile;

use crate::arguments::Outputs;
use crate::verbs::stored::StoreArguments;
use crate::{destination, output};

/// Runs a command and counts its system calls and those of all processes that it starts: how often each
/// is made, how often it fails, and how long it takes. They say what a kernel should be fast at. Each
/// call stops its program twice, so that it runs slower.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: the calls of a build

    trimtab tune profile --html calls.html -- make -j2")]
pub struct Options {
    /// End the command after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub timeout: u32,
    /// Where it is stored.
    #[command(flatten)]
    pub kept: StoreArguments,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Counts.
///
/// # Errors
/// That the command cannot be started or traced.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    // clap asks for one at least.
    let (program, arguments) = options.command.split_first().unzip();
    let program = program.cloned().unwrap_or_default();
    let invocation = Invocation::new(&program).args(arguments.unwrap_or_default());
    // The report has standard output for itself.
    let request = Request::new(invocation)
        .output_to_error()
        .limit(Duration::from_secs(options.timeout.into()));
    let command = trimtab_lab::shell::own_words().join(" ");
    let found = profile(&request, &program.to_string_lossy(), command)?;
    options.kept.keep(&found)?;
    output::report(&options.outputs, &found)
}
