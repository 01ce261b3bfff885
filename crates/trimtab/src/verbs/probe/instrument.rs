//! `trimtab probe instrument`: objects in, instrumented objects out.

use std::path::PathBuf;

use clap::Args;
use trimtab_probe::run::{InstrumentRequest, instrument};

use super::arguments::ChoiceArguments;
use super::summary;
use crate::progress::Progress;
use crate::{destination, output};

/// Instruments objects and archives. The new ones get the same names in another folder; there, too,
/// is what the program is to be linked with: trimtab-probe.o, and trimtab-hooks.o with --hooks.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: profile the functions of a program

    cc -c main.c work.c
    trimtab probe instrument main.o work.o -o probed
    cc -o app probed/*.o")]
pub struct Options {
    /// Objects as the compiler wrote them, and archives of such
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Where the instrumented ones go; is made if it is not there
    #[arg(long, short, value_name = "DIR")]
    pub output: PathBuf,
    /// Which functions, and what for.
    #[command(flatten)]
    pub choice: ChoiceArguments,
    /// The C compiler that compiles the run time
    #[arg(long, value_name = "CC", default_value = "cc")]
    pub cc: PathBuf,
    /// Also write the result as JSON to FILE; - writes it to standard output, alone
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Instruments.
///
/// # Errors
/// What cannot be read, is no object, or cannot be written. Nothing is written then.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.json.as_deref()])?;
    let request = InstrumentRequest {
        files: options.files.clone(),
        output: options.output.clone(),
        plan: options.choice.choice().plan(&options.cc)?,
        cc: options.cc.clone(),
    };
    let report = instrument(&request, &Progress::new())?;
    if let Some(file) = &options.json {
        output::json(&report, file)?;
        if output::is_standard_output(file) {
            return Ok(());
        }
    }
    output::print(&summary::render(&report))
}
