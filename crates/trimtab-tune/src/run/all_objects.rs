//! The flags that were found for hot objects, given to all objects.

use anyhow::Result;

use super::evaluator::{Evaluation, Evaluator};
use super::program::ProgramSubject;
use super::source::ProgramSource;
use super::tuning::{Toolset, Tuning};
use crate::report::AllObjects;

/// What `flags` do where all objects get them; `whole` is the program of which only hot objects got them.
///
/// # Errors
/// What is no fault of the flags.
pub fn on_all_objects(
    tuning: &Tuning<'_>,
    tools: &Toolset,
    (program, whole): (&ProgramSubject<'_>, &ProgramSource),
    flags: &str,
) -> Result<AllObjects> {
    let whole = tools.program_of(whole, &tools.compiler);
    if let Some(output) = program.expected() {
        whole.expect(output.to_owned());
    }
    let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
    let evaluator = Evaluator::new(&whole, tools.root())?;
    let found = evaluator.evaluate(&flags)?;
    tuning.evaluator.counts.add(&evaluator.counts);
    Ok(match found {
        Evaluation::WorkingImage(good) => AllObjects {
            fitness_ratio: Some(tuning.ratio(&good)),
            bytes_ratio: Some(good.bytes / tuning.base.bytes),
            reason: None,
        },
        Evaluation::Failed(reason) => AllObjects { reason: Some(reason), ..AllObjects::default() },
    })
}
