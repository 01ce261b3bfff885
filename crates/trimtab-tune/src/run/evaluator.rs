//! What flags make of a program: built, checked and counted, or known.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::Result;
use trimtab_lab::executor::{self, Executor};
use trimtab_lab::store::{Measurement, Outcome as TrialEnd};

use super::compiler::Compiler;
use super::counter::{Counter, RunCount};
use super::profiles::Profiles;
use super::request::Limits;
use super::room::{Fault, Image, Room};
use super::subject::Subject;
use super::table::{Offer, Row, Table};

/// What is stored of a trial.
const INSTRUCTIONS: &str = "instructions";
const BYTES: &str = "bytes";
const BUILD: &str = "build";
const RUN: &str = "run";

/// The first bits of the SHA-256 of what a run printed.
const OUTPUT: &str = "output";

/// What came of the command that judges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldOut {
    /// Instructions.
    pub instructions: f64,
    /// The first bits of the SHA-256 of what it printed.
    output: f64,
}

impl HeldOut {
    fn read(row: &Row) -> Option<Self> {
        let value = |metric| row.value(metric).filter(|_| row.is_good);
        Some(Self { instructions: value(INSTRUCTIONS)?, output: value(OUTPUT)? })
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

/// What came of flags.
#[derive(Debug, Clone, PartialEq)]
pub enum Evaluation {
    /// The program works.
    WorkingImage(WorkingImage),
    /// It does not, and why.
    Failed(String),
}

/// A program that works.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkingImage {
    /// SHA-256 of its image.
    pub image: String,
    /// Instructions of a run.
    pub instructions: f64,
    /// Bytes of the image.
    pub bytes: f64,
}

impl Evaluation {
    /// The program, if it works.
    pub fn good(&self) -> Option<&WorkingImage> {
        match self {
            Evaluation::WorkingImage(good) => Some(good),
            Evaluation::Failed(_) => None,
        }
    }
}

/// How often something was done, and how long it took.
#[derive(Debug, Default)]
pub struct Counts {
    /// Flags that were built.
    pub built: AtomicU64,
    /// Images that were counted.
    pub measured: AtomicU64,
    /// Flags that do not build, run or work; also those of which that was known.
    pub failed: AtomicU64,
    /// Flags whose image was known once they were built.
    pub deduplicated: AtomicU64,
    /// Flags whose trial had ended before: by an earlier run, or another process.
    pub known: AtomicU64,
    /// Milliseconds that builds and runs took, on all processors together.
    pub milliseconds: AtomicU64,
}

/// Evaluates flags for a subject with a compiler.
pub struct Evaluator<'a> {
    subject: &'a Subject,
    compiler: &'a Compiler,
    counter: &'a Counter,
    limits: Limits,
    scratch: PathBuf,
    table: Table,
    /// What the program must print; none where that is not compared, or not known yet.
    expected: Option<String>,
    rooms: Mutex<Vec<Room<'a>>>,
    profiles: Profiles,
    /// What was done.
    pub counts: Counts,
}

impl<'a> Evaluator<'a> {
    /// An evaluator with a table in the work directory `work`, and rooms in `scratch`.
    ///
    /// # Errors
    /// That the table cannot be opened.
    pub fn new(
        subject: &'a Subject,
        compiler: &'a Compiler,
        counter: &'a Counter,
        limits: Limits,
        work: &std::path::Path,
        scratch: PathBuf,
    ) -> Result<Self> {
        let key = subject
            .key
            .clone()
            .field("compiler", compiler.c.display())
            .field("compiler-version", &compiler.version)
            .field("qemu", &counter.version)
            // What fails by a limit does not with another.
            .field("build-milliseconds", limits.build.as_millis())
            .field("run-milliseconds", limits.run.as_millis())
            .field("memory", limits.memory);
        let hash = key.hash();
        let name = format!("{}@{}", subject.name, hash.get(..16).unwrap_or(&hash));
        Ok(Self {
            subject,
            compiler,
            counter,
            limits,
            scratch,
            table: Table::open(work, &name)?,
            expected: None,
            rooms: Mutex::new(Vec::new()),
            profiles: Profiles::default(),
            counts: Counts::default(),
        })
    }

    /// From now on the program must print what has this SHA-256.
    pub fn expect(&mut self, output: String) {
        self.expected = self.subject.compares_output.then_some(output);
    }

    /// The SHA-256 of what the program must print; none where that is not compared.
    pub fn expected(&self) -> Option<String> {
        self.expected.clone()
    }

    /// What is tuned.
    pub fn subject(&self) -> &'a Subject {
        self.subject
    }

    /// Builds the program with flags and counts a command twice, which must give the same.
    ///
    /// # Errors
    /// What keeps it from being built or run, or that it differs from run to run.
    pub fn reference(&self, flags: &[String]) -> Result<RunCount, Fault> {
        let room = self.room()?;
        room.build(flags, &self.profiles)?;
        room.check()?;
        let first = room.count(self.counter, &self.subject.run)?;
        let second = room.count(self.counter, &self.subject.run)?;
        if first.output != second.output && self.subject.compares_output {
            return Err(Fault::Flags(
                "what it prints differs from run to run, so that nothing says whether it works; \
                 give a command that says so with --check"
                    .to_owned(),
            ));
        }
        if first.instructions.abs_diff(second.instructions) > first.instructions / 1000 {
            return Err(Fault::Flags(format!(
                "it executes {} instructions in one run and {} in the next; expected the same",
                first.instructions, second.instructions
            )));
        }
        self.give_back(room);
        Ok(first)
    }

    /// Evaluates flags, as many side by side as the executor does; in order.
    ///
    /// # Errors
    /// What is no fault of the flags.
    pub fn evaluate_all(
        &self,
        executor: &dyn Executor,
        all: &[Vec<String>],
        done: impl Fn(usize) + Sync,
    ) -> Result<Vec<Evaluation>> {
        executor::each(executor, all, |_, flags| self.evaluate(flags), done)
    }

    /// Evaluates flags.
    ///
    /// # Errors
    /// What is no fault of the flags.
    pub fn evaluate(&self, flags: &[String]) -> Result<Evaluation> {
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        let row = match self.table.take(&flags.join(" "))? {
            Offer::Known(row) => {
                count(&self.counts.known);
                row
            }
            Offer::OpenTrial(mine) => {
                let room = self.room()?;
                let start = Instant::now();
                let built = room.build(flags, &self.profiles);
                let took = start.elapsed();
                self.took(took.as_millis() as u64);
                count(&self.counts.built);
                match built {
                    Err(Fault::Other(error)) => return Err(error),
                    Err(Fault::Flags(reason)) => mine.end(&TrialEnd::failed(reason), &[])?,
                    Ok(built) => {
                        let (row, is_new) = self.measured(&room, &built)?;
                        let known = [INSTRUCTIONS, BYTES].map(|metric| (metric, row.value(metric)));
                        let mut kept: Vec<Measurement> = known
                            .into_iter()
                            .filter_map(|(metric, value)| {
                                Some(Measurement::new(metric, "1", value?))
                            })
                            .collect();
                        kept.push(Measurement::new(BUILD, "s", took.as_secs_f64()));
                        let ended = match (row.is_good, is_new) {
                            (false, _) => TrialEnd::failed(row.reason.unwrap_or_default()),
                            (true, true) => TrialEnd::done(),
                            (true, false) => {
                                count(&self.counts.deduplicated);
                                TrialEnd::skipped(format!("its image is that of trial {}", row.id))
                            }
                        };
                        let row = mine.end(&ended.image(&built.image), &kept)?;
                        self.give_back(room);
                        row
                    }
                }
            }
        };
        let evaluated = read(&row);
        if evaluated.good().is_none() {
            count(&self.counts.failed);
        }
        Ok(evaluated)
    }

    /// What is known of flags that were evaluated before: nothing is counted.
    ///
    /// # Errors
    /// As [`Self::evaluate`], where they were not.
    pub fn peek(&self, flags: &[String]) -> Result<Evaluation> {
        match self.table.take(&flags.join(" "))? {
            Offer::Known(row) => Ok(read(&row)),
            Offer::OpenTrial(mine) => {
                drop(mine);
                self.evaluate(flags)
            }
        }
    }

    /// What was measured of an image, and whether it was measured now.
    fn measured(&self, room: &Room<'_>, built: &Image) -> Result<(Row, bool)> {
        let mine = match self.table.take(&format!("image {}", built.image))? {
            Offer::Known(row) => return Ok((row, false)),
            Offer::OpenTrial(mine) => mine,
        };
        let start = Instant::now();
        let counted = room.check().and_then(|()| room.count(self.counter, &self.subject.run));
        let took = start.elapsed();
        self.took(took.as_millis() as u64);
        self.counts.measured.fetch_add(1, Ordering::Relaxed);
        let row = match counted {
            Err(Fault::Other(error)) => return Err(error),
            Err(Fault::Flags(reason)) => {
                mine.end(&TrialEnd::failed(reason).image(&built.image), &[])?
            }
            Ok(counted)
                if self.expected.as_ref().is_some_and(|wanted| *wanted != counted.output) =>
            {
                let reason = "it is wrong: it prints something else than without these flags";
                mine.end(&TrialEnd::failed(reason).image(&built.image), &[])?
            }
            Ok(counted) => {
                let measurements = [
                    Measurement::new(INSTRUCTIONS, "1", counted.instructions as f64),
                    Measurement::new(BYTES, "1", built.bytes as f64),
                    Measurement::new(RUN, "s", took.as_secs_f64()),
                ];
                mine.end(&TrialEnd::done().image(&built.image), &measurements)?
            }
        };
        Ok((row, true))
    }

    /// Counts the command that judges, with flags; from the table where it is there. None where the
    /// program does not work with them.
    ///
    /// # Errors
    /// What is no fault of the flags.
    pub fn held_out(&self, flags: &[String], command: &str) -> Result<Option<HeldOut>> {
        let mine = match self.table.take(&format!("held out {command}: {}", flags.join(" ")))? {
            Offer::Known(row) => return Ok(HeldOut::read(&row)),
            Offer::OpenTrial(mine) => mine,
        };
        let room = self.room()?;
        let counted = room
            .build(flags, &self.profiles)
            .and_then(|built| room.count(self.counter, command).map(|counted| (built, counted)));
        let row = match counted {
            Err(Fault::Other(error)) => return Err(error),
            Err(Fault::Flags(reason)) => mine.end(&TrialEnd::failed(reason), &[])?,
            Ok((built, counted)) => {
                let measurements = [
                    Measurement::new(INSTRUCTIONS, "1", counted.instructions as f64),
                    Measurement::new(OUTPUT, "1", first_bits(&counted.output)),
                ];
                mine.end(&TrialEnd::done().image(&built.image), &measurements)?
            }
        };
        self.give_back(room);
        Ok(HeldOut::read(&row))
    }

    /// A room with the program built in it.
    ///
    /// # Errors
    /// What keeps it from being built.
    pub fn built(&self, flags: &[String]) -> Result<Room<'a>, Fault> {
        let room = self.room()?;
        room.build(flags, &self.profiles)?;
        Ok(room)
    }

    fn took(&self, milliseconds: u64) {
        self.counts.milliseconds.fetch_add(milliseconds, Ordering::Relaxed);
    }

    fn room(&self) -> Result<Room<'a>> {
        let free = self.rooms.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match free {
            Some(room) => Ok(room),
            None => Room::new(self.subject, self.compiler, self.limits, &self.scratch),
        }
    }

    fn give_back(&self, room: Room<'a>) {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner).push(room);
    }
}

fn read(row: &Row) -> Evaluation {
    let good = || {
        Some(WorkingImage {
            image: row.image.clone()?,
            instructions: row.value(INSTRUCTIONS).filter(|count| *count > 0.0)?,
            bytes: row.value(BYTES)?,
        })
    };
    match (row.is_good, good()) {
        (true, Some(good)) => Evaluation::WorkingImage(good),
        _ => Evaluation::Failed(row.reason.clone().unwrap_or_else(|| "it was not measured".into())),
    }
}
