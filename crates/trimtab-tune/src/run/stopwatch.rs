//! Where runs are timed: on this machine, or on a board, which is told what to build and to run.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::board::Connection;
use super::elsewhere::Fingerprint;
use super::program::ProgramSubject;
use super::request::Setup;
use super::room::Room;
use super::source::ProgramSource;
use super::starter::Board;
use super::subject::Fault;

/// Seconds that a run takes of processors, and on the clock.
pub type Seconds = (f64, f64);

/// Times what it was made ready for.
pub trait Stopwatch {
    /// Forgets all that was made ready.
    ///
    /// # Errors
    /// What is no fault of the flags.
    fn begin(&mut self) -> Result<()>;

    /// Builds the program with flags: it passes its check, and what is timed prints what the first one printed. What is
    /// made ready has the numbers from 0.
    ///
    /// # Errors
    /// [`Fault`]; then it has no number.
    fn ready(&mut self, flags: &[String]) -> Result<(), Fault>;

    /// Runs what is timed with the flags of this number.
    ///
    /// # Errors
    /// [`Fault`].
    fn time(&mut self, number: usize) -> Result<Seconds, Fault>;
}

/// The machine that this process runs on.
pub struct Here<'s, 'a> {
    program: &'s ProgramSubject<'a>,
    rooms: Vec<Room<'a>>,
    /// SHA-256 of what the first printed.
    expected: Option<String>,
}

impl<'s, 'a> Here<'s, 'a> {
    /// For a program.
    pub fn new(program: &'s ProgramSubject<'a>) -> Self {
        Self { program, rooms: Vec::new(), expected: None }
    }

    /// Does what another machine asks for.
    ///
    /// # Errors
    /// What is no fault of the flags.
    pub fn answer(&mut self, asked: Asked) -> Result<Value> {
        let found: Result<Value, Fault> = match asked {
            Asked::Begin => self.begin().map(|()| Value::Null).map_err(Fault::Other),
            Asked::Ready(flags) => self.ready(&flags).map(|()| Value::Null),
            Asked::Time(number) => self.time(number).map(|took| serde_json::json!(took)),
        };
        let told: Result<Value, String> = match found {
            Ok(value) => Ok(value),
            Err(Fault::Flags(reason)) => Err(reason),
            Err(Fault::Other(error)) => return Err(error),
        };
        Ok(serde_json::to_value(told)?)
    }
}

impl Stopwatch for Here<'_, '_> {
    fn begin(&mut self) -> Result<()> {
        self.rooms.clear();
        self.expected = None;
        Ok(())
    }

    fn ready(&mut self, flags: &[String]) -> Result<(), Fault> {
        let source = self.program.source;
        let room = self.program.built(flags)?;
        room.check()?;
        if source.compares_output {
            let output = room.output(&source.timed)?;
            if *self.expected.get_or_insert_with(|| output.clone()) != output {
                let reason =
                    "it is wrong: what is timed prints something else than without these flags";
                return Err(Fault::Flags(reason.to_owned()));
            }
        }
        self.rooms.push(room);
        Ok(())
    }

    fn time(&mut self, number: usize) -> Result<Seconds, Fault> {
        let room = self.rooms.get(number).context("what is to be timed was not made ready")?;
        room.time(&self.program.source.timed)
    }
}

/// What a board is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// [`Stopwatch::begin`].
    Begin,
    /// [`Stopwatch::ready`].
    Ready(Vec<String>),
    /// [`Stopwatch::time`].
    Time(usize),
}

/// A board, which has a copy of the program.
pub struct OnBoard(Connection);

impl OnBoard {
    /// Copies trimtab and the program there where they are not there yet, and has it build as this machine does.
    ///
    /// # Errors
    /// A board that cannot be reached, and one on which the program, its compiler or QEMU is another.
    pub fn start(
        board: &Board,
        source: &ProgramSource,
        setup: &Setup,
        expected: Fingerprint,
    ) -> Result<Self> {
        Ok(Self(board.connected(source.clone(), setup.clone(), expected)?))
    }

    fn ask(&mut self, asked: &Asked) -> Result<Value, Fault> {
        let told = self.0.ask(&serde_json::to_value(asked)?)?;
        let told: Result<Value, String> = serde_json::from_value(told)?;
        told.map_err(Fault::Flags)
    }
}

impl Stopwatch for OnBoard {
    fn begin(&mut self) -> Result<()> {
        match self.ask(&Asked::Begin) {
            Ok(_) => Ok(()),
            Err(Fault::Flags(reason)) => Err(anyhow::anyhow!(reason)),
            Err(Fault::Other(error)) => Err(error),
        }
    }

    fn ready(&mut self, flags: &[String]) -> Result<(), Fault> {
        self.ask(&Asked::Ready(flags.to_vec())).map(|_| ())
    }

    fn time(&mut self, number: usize) -> Result<Seconds, Fault> {
        Ok(serde_json::from_value(self.ask(&Asked::Time(number))?)?)
    }
}
