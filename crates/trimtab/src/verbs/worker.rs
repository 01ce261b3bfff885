//! `trimtab worker`: does jobs for another trimtab, which starts it. Nobody types this.

use std::io;
use std::path::PathBuf;

use clap::Args;
use trimtab_tune::run::{Board, serve, work, work_on_board};

/// Whose jobs.
#[derive(Debug, Args)]
pub struct Options {
    /// The spool's folder.
    #[arg(required_unless_present = "served")]
    folder: Option<PathBuf>,
    /// The worker's name.
    #[arg(required_unless_present = "served")]
    name: Option<String>,
    /// Have this host do them, which sees no folder of this machine.
    #[arg(long)]
    board: Option<String>,
    /// An option for ssh.
    #[arg(long, allow_hyphen_values = true)]
    ssh_option: Vec<String>,
    /// Do jobs that are lines of the standard input, on such a host.
    #[arg(long, exclusive = true)]
    served: bool,
}

/// Works.
///
/// # Errors
/// What keeps it from working at all; what keeps it from a job is said to whoever gave the job.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let (Some(folder), Some(name)) = (&options.folder, &options.name) else {
        return serve(io::stdin().lock(), io::stdout());
    };
    match &options.board {
        None => work(folder, name),
        Some(host) => {
            let board = Board { host: host.clone(), options: options.ssh_option.clone() };
            work_on_board(folder, name, &board)
        }
    }
}
