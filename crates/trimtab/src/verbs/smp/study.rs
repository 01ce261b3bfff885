//! `trimtab smp study`: what SMP changes in trees of kernel source.

use std::path::PathBuf;

use clap::Args;
use trimtab_smp::run::{StudyRequest, study};

use crate::arguments::{self, Outputs};
use crate::progress::Progress;
use crate::verbs::stored::StoreArguments;
use crate::{destination, output};

/// Counts, in one or more trees of kernel source, the lock operations of each kind, the lines that are
/// not the same with SMP and without, and the cyclomatic complexity of functions: in the kernel's core,
/// as a study of Linux 2.0 to 2.6 did, in the whole tree, and for each folder.
///
/// Nothing is built or run. Files that cannot be understood are counted as far as they go, and named.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: four versions from a git repository with the history of Linux, as a page with curves

    trimtab smp study history@2.0.40 history@2.2.26 history@2.4.30 history@v2.6.11.5 \\
        --html smp.html

Example: the installed source package, with folders told apart one below the top

    trimtab smp study --depth 2")]
pub struct Options {
    /// A tree: a folder, a tarball, a Debian source package (.dsc), or REPOSITORY@REVISION of git
    /// [default: the newest installed source package]
    #[arg(value_name = "TREE")]
    pub trees: Vec<PathBuf>,
    /// How many folders deep they are told apart
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=8))]
    pub depth: u8,
    /// Where it is stored, and where trees are unpacked.
    #[command(flatten)]
    pub kept: StoreArguments,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Counts.
///
/// # Errors
/// Trees that are not there or no kernels, and files that cannot be written.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let request = StudyRequest {
        trees: options.trees.clone(),
        depth: usize::from(options.depth),
        work: options.kept.work.clone().unwrap_or_else(|| arguments::WORK.into()),
        command: trimtab_lab::shell::own_words().join(" "),
    };
    let found = study(&request, &Progress::new())?;
    options.kept.keep(&found)?;
    output::report(&options.outputs, &found)
}
