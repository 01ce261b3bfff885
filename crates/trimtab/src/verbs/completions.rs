//! `trimtab completions`: what a shell needs to complete command lines.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::output;

/// Prints the completions of all verbs and options for a shell.
///
/// `make install` puts them where bash, zsh and fish look for them.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: complete in this shell

    source <(trimtab completions bash)")]
pub struct Options {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Prints them.
///
/// # Errors
/// That standard output cannot be written to.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "trimtab", &mut text);
    output::print(&String::from_utf8_lossy(&text))
}
