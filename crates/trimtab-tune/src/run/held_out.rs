//! The run of a program that judges flags and has no part in finding them.

use anyhow::Result;
use trimtab_lab::observe::Observe;
use trimtab_lab::store::{Measurement, Outcome};

use super::program::ProgramSubject;
use super::subject::{Fault, Subject};
use super::table::{Offer, Row, Table};
use super::tuning::{Tuning, useless};

/// What is stored of it: the first bits of the SHA-256 of what it printed.
const OUTPUT: &str = "output";

/// What came of the command that judges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldOut {
    /// Instructions, or cycles of a core.
    pub cost: f64,
    /// The first bits of the SHA-256 of what it printed.
    output: f64,
}

impl HeldOut {
    fn read(row: &Row, metric: &str) -> Option<Self> {
        let value = |name| row.value(name).filter(|_| row.is_good);
        Some(Self { cost: value(metric)?, output: value(OUTPUT)? })
    }

    /// Whether another run printed the same.
    pub fn prints_as(&self, other: &HeldOut) -> bool {
        self.output == other.output
    }
}

/// As many bits of a hash as a number of the store holds.
fn first_bits(hash: &str) -> f64 {
    let bits = hash.get(..13).and_then(|digits| u64::from_str_radix(digits, 16).ok());
    bits.unwrap_or(0) as f64
}

/// Counts the command that judges a program, with the flags that all others are compared with; none where there is
/// no such command.
///
/// # Errors
/// That it cannot be counted, which is not kept: it is tried again.
pub fn held_out_base(
    tuning: &Tuning<'_>,
    program: &ProgramSubject<'_>,
    observe: &dyn Observe,
) -> Result<Option<HeldOut>> {
    let Some(command) = &program.source.held_out else { return Ok(None) };
    let stage = observe.stage("count the run that is held out");
    let flags = tuning.space.flags(&tuning.space.base());
    let found = counted(tuning.evaluator.table(), program, &flags, command, false)?;
    let found = found.map_err(|reason| {
        let what = "the run that is held out cannot be counted";
        let failure = useless(what, &reason, &flags);
        failure.hint(format!("it is {command:?}, of --held-out or of the catalogue"))
    })?;
    stage.done("");
    Ok(Some(found))
}

/// Counts the command that judges a program, with flags; from the table where it is there. None where
/// the program does not work with them.
///
/// # Errors
/// What is no fault of the flags.
pub fn held_out(
    table: &Table,
    program: &ProgramSubject<'_>,
    flags: &[String],
    command: &str,
) -> Result<Option<HeldOut>> {
    Ok(counted(table, program, flags, command, true)?.ok())
}

/// What it costs, or why that is not known.
fn counted(
    table: &Table,
    program: &ProgramSubject<'_>,
    flags: &[String],
    command: &str,
    keeps_failures: bool,
) -> Result<Result<HeldOut, String>> {
    let metric = program.metric();
    let read = |row: Row| {
        HeldOut::read(&row, metric)
            .ok_or_else(|| row.reason.unwrap_or_else(|| "it was not counted".to_owned()))
    };
    let mine = match table.take(&format!("held out {command}: {}", program.trial(flags)))? {
        Offer::Known(row) => return Ok(read(row)),
        Offer::OpenTrial(mine) => mine,
    };
    let row = match program.count(flags, command) {
        Err(Fault::Other(error)) => return Err(error),
        // Dropped, the trial stays open.
        Err(Fault::Flags(reason)) if !keeps_failures => return Ok(Err(reason)),
        Err(Fault::Flags(reason)) => mine.end(&Outcome::failed(reason), &[])?,
        Ok((built, counted)) => {
            let measurements = [
                Measurement::new(metric, "1", counted.costs.get(metric).copied().unwrap_or(0.0)),
                Measurement::new(OUTPUT, "1", first_bits(&counted.output)),
            ];
            mine.end(&Outcome::done().image(&built.image), &measurements)?
        }
    };
    Ok(read(row))
}
