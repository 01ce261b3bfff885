//! The run of a program that judges flags and has no part in finding them.

use anyhow::Result;
use trimtab_lab::store::{Measurement, Outcome as TrialEnd};

use super::program::ProgramSubject;
use super::subject::Fault;
use super::table::{Offer, Row, Table};

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
    let metric = program.metric();
    let mine = match table.take(&format!("held out {command}: {}", flags.join(" ")))? {
        Offer::Known(row) => return Ok(HeldOut::read(&row, metric)),
        Offer::OpenTrial(mine) => mine,
    };
    let row = match program.count(flags, command) {
        Err(Fault::Other(error)) => return Err(error),
        Err(Fault::Flags(reason)) => mine.end(&TrialEnd::failed(reason), &[])?,
        Ok((built, counted)) => {
            let measurements = [
                Measurement::new(metric, "1", counted.costs.get(metric).copied().unwrap_or(0.0)),
                Measurement::new(OUTPUT, "1", first_bits(&counted.output)),
            ];
            mine.end(&TrialEnd::done().image(&built.image), &measurements)?
        }
    };
    Ok(HeldOut::read(&row, metric))
}
