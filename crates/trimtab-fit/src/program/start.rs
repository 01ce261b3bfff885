//! Starts of the program, before and after in turn, measured.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use trimtab_native::program::measure::{self, Outcome, RunSetup, Sample};
use trimtab_native::program::{Command, Limits, cold};
use trimtab_program::PAGE_SIZE;

use super::object::{LinkedFile, Object};
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::{Observe, say};

/// What a start costs.
#[derive(Debug, Clone)]
pub(super) struct Start {
    /// With no page of the files in memory, counted: on a disk of our own where that can be had.
    pub counted: Sample,
    /// Bytes of the files that this brought into memory.
    pub resident: u64,
    /// Those of them that are code.
    pub resident_text: u64,
    /// With no page of the files in memory, for time: on the machine's disk.
    pub cold: Sample,
    /// Right after it.
    pub warm: Sample,
}

/// A start of each version, one right behind the other.
#[derive(Debug, Clone)]
pub(super) struct Round {
    pub before: Start,
    pub after: Start,
    /// Of the versions that others made.
    pub beside: Vec<Start>,
}

/// What is started, and how.
pub(super) struct Starts<'a> {
    pub command: &'a Command,
    pub objects: &'a [LinkedFile],
    pub before: &'a [Object<'a>],
    pub after: &'a [Object<'a>],
    /// Versions of the program that others made: name and file.
    pub beside: &'a [(String, PathBuf)],
    pub trimtab: &'a Path,
    pub limits: Limits,
    pub work: &'a Path,
    /// Whether faults can be counted on a disk of our own; found out by the first start.
    pub own_disk: &'a Cell<bool>,
}

impl Starts<'_> {
    /// Does `rounds` rounds.
    pub fn measure(&self, rounds: u32, progress: &dyn Observe) -> Result<Vec<Round>> {
        let stage = progress.stage("start the programs in turn");
        stage.parts(rounds.into());
        let mut sides = vec![("before", self.before), ("after", self.after)];
        // What others made is measured with the libraries as they were.
        sides.extend(self.beside.iter().map(|(name, _)| (name.as_str(), self.before)));
        let mut measured = Vec::new();
        for number in 0..rounds {
            let mut starts: Vec<Option<Start>> = vec![None; sides.len()];
            for turn in 0..sides.len() {
                let at = turn_of(turn, number as usize, sides.len());
                let (side, objects) = sides[at];
                starts[at] = Some(self.start(side, objects)?);
            }
            let mut starts = starts.into_iter().flatten();
            let (Some(before), Some(after)) = (starts.next(), starts.next()) else { continue };
            measured.push(Round { before, after, beside: starts.collect() });
            stage.at(u64::from(number) + 1);
        }
        stage.done(&format!("{rounds} starts of each, cold and warm"));
        Ok(measured)
    }

    fn start(&self, side: &str, objects: &[Object<'_>]) -> Result<Start> {
        // Long: the steps of one start, in the order in which they must be.
        let versions: Vec<PathBuf> = self
            .objects
            .iter()
            .enumerate()
            .map(|(at, built)| match side {
                "before" | "after" => built.version(side),
                _ if at == 0 => built.version(side),
                _ => built.version("before"),
            })
            .collect();
        for (built, version) in self.objects.iter().zip(&versions) {
            built.place.put(version)?;
        }
        let place = |built: &LinkedFile| built.place.path().to_owned();
        let disk = versions.iter().cloned().zip(self.objects.iter().map(place)).collect();
        let own = match self.own_disk.get() {
            true => self.run(RunSetup::with_disk(disk))?,
            false => Outcome::NoDisk(String::new()),
        };
        let (own, resident) = match own {
            Outcome::Ran { sample, resident } => (Some(sample), resident),
            Outcome::NoDisk(why) => {
                if self.own_disk.replace(false) {
                    say(&format!(
                        "trimtab: warning: faults are counted on the machine's disk, which may read \
                         far ahead: a disk of our own cannot be had here ({why})"
                    ));
                }
                (None, Vec::new())
            }
        };
        for version in &versions {
            cold::evict(version)?;
        }
        let cold = self.on_machine()?;
        let resident = match &own {
            Some(_) => resident,
            None => {
                let pages = versions.iter().map(|version| cold::resident(version));
                pages.collect::<Result<Vec<_>, _>>()?
            }
        };
        let (mut bytes, mut text_bytes) = (0, 0);
        for (pages, object) in resident.iter().zip(objects) {
            let text = object.text_in_file();
            for (page, _) in pages.iter().enumerate().filter(|(_, there)| **there) {
                let start = page as u64 * PAGE_SIZE;
                bytes += PAGE_SIZE;
                if start < text.end && text.start < start + PAGE_SIZE {
                    text_bytes += PAGE_SIZE;
                }
            }
        }
        let warm = self.on_machine()?;
        Ok(Start {
            counted: own.unwrap_or_else(|| cold.clone()),
            resident: bytes,
            resident_text: text_bytes,
            cold,
            warm,
        })
    }

    fn on_machine(&self) -> Result<Sample> {
        match self.run(RunSetup::default())? {
            Outcome::Ran { sample, .. } => Ok(sample),
            Outcome::NoDisk(why) => Err(Failure::new(format!(
                "a disk was asked for where none is wanted ({why}): please report it"
            ))
            .into()),
        }
    }

    fn run(&self, setting: RunSetup) -> Result<Outcome> {
        let helper = [self.trimtab.as_os_str().to_owned(), OsString::from("wrapped-run")];
        Ok(measure::run(self.command, self.limits, &helper, setting, self.work)?)
    }
}

/// Which of `count` versions starts at `turn` of a round. Each round begins with another one, and
/// every other round goes backwards: so no version always runs behind the same one.
fn turn_of(turn: usize, round: usize, count: usize) -> usize {
    let forward = (turn + round / 2) % count;
    if round.is_multiple_of(2) { forward } else { count - 1 - forward }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_change_their_turns() {
        for count in [2, 3, 5] {
            for round in 0..20 {
                let mut order: Vec<usize> =
                    (0..count).map(|turn| turn_of(turn, round, count)).collect();
                order.sort_unstable();
                assert_eq!(order, (0..count).collect::<Vec<_>>());
            }
            for version in 0..count {
                let first = (0..2 * count).filter(|round| turn_of(0, *round, count) == version);
                assert_eq!(first.count(), 2, "{version} of {count}");
            }
            // Of two neighbours in a round, the other one comes first in some other round.
            let behind = |a, b| {
                (0..2 * count).any(|round| {
                    (1..count).any(|turn| {
                        turn_of(turn - 1, round, count) == a && turn_of(turn, round, count) == b
                    })
                })
            };
            assert!(behind(0, 1) && behind(1, 0));
        }
    }
}
