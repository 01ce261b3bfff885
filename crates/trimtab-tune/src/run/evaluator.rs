//! What flags make of a subject: built, checked and counted, or known.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Result, bail};
use trimtab_lab::interrupt;
use trimtab_lab::store::{Measurement, Outcome};
use trimtab_lab::threads;

use super::subject::{Built, Costs, Fault, Subject};
use super::table::{Offer, Row, Table};

/// What is stored of a trial beside the costs of its subject.
const BYTES: &str = "bytes";
const BUILD: &str = "build";
const RUN: &str = "run";

/// What came of flags.
#[derive(Debug, Clone, PartialEq)]
pub enum Evaluation {
    /// The subject works.
    WorkingImage(WorkingImage),
    /// It does not, and why.
    Failed(String),
}

/// A subject that works.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkingImage {
    /// SHA-256 of its image.
    pub image: String,
    /// What it costs.
    pub costs: Costs,
    /// Bytes of the image.
    pub bytes: f64,
}

impl Evaluation {
    /// The subject, if it works.
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

impl Counts {
    /// Adds what another evaluator did.
    pub fn add(&self, other: &Counts) {
        for (all, more) in [
            (&self.built, &other.built),
            (&self.measured, &other.measured),
            (&self.failed, &other.failed),
            (&self.deduplicated, &other.deduplicated),
            (&self.known, &other.known),
            (&self.milliseconds, &other.milliseconds),
        ] {
            all.fetch_add(more.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

/// Evaluates flags for a subject.
pub struct Evaluator<'a> {
    subject: &'a dyn Subject,
    table: Table,
    /// What was done.
    pub counts: Counts,
}

impl<'a> Evaluator<'a> {
    /// An evaluator with a table in the work directory `work`.
    ///
    /// # Errors
    /// That the table cannot be opened.
    pub fn new(subject: &'a dyn Subject, work: &Path) -> Result<Self> {
        let hash = subject.key().hash();
        let name = format!("{}@{}", subject.name(), hash.get(..16).unwrap_or(&hash));
        let table = Table::open(work, &name, subject.limits())?;
        Ok(Self { subject, table, counts: Counts::default() })
    }

    /// Where what was tried is kept.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// What is tuned.
    pub fn subject(&self) -> &'a dyn Subject {
        self.subject
    }

    /// Evaluates flags, as many at once as the subject can; what comes of them is in their order.
    ///
    /// # Errors
    /// What is no fault of the flags.
    pub fn evaluate_all(
        &self,
        all: &[Vec<String>],
        done: impl Fn(usize) + Sync,
    ) -> Result<Vec<Evaluation>> {
        let one = |_, flags: &Vec<String>| match interrupt::requested() {
            true => bail!("interrupted"),
            false => self.evaluate(flags),
        };
        threads::each_on(self.subject.at_once(), all, one, done)
    }

    /// Evaluates flags.
    ///
    /// # Errors
    /// What is no fault of the flags.
    pub fn evaluate(&self, flags: &[String]) -> Result<Evaluation> {
        self.evaluated(flags, true)
    }

    /// Evaluates the flags that all others are compared with. Where that fails nothing can be tuned, for now:
    /// the failure is not kept, so that it is tried again.
    ///
    /// # Errors
    /// What is no fault of the flags.
    pub fn evaluate_base(&self, flags: &[String]) -> Result<Evaluation> {
        self.evaluated(flags, false)
    }

    fn evaluated(&self, flags: &[String], keeps_failures: bool) -> Result<Evaluation> {
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        let row = match self.table.take(&self.subject.trial(flags))? {
            Offer::Known(row) => {
                count(&self.counts.known);
                row
            }
            Offer::OpenTrial(mine) => {
                let start = Instant::now();
                let built = self.subject.build(flags);
                let took = start.elapsed();
                self.took(took.as_millis() as u64);
                count(&self.counts.built);
                match built {
                    Err(Fault::Other(error)) => return Err(error),
                    // Dropped, the trial stays open.
                    Err(Fault::Flags(reason)) if !keeps_failures => {
                        return Ok(Evaluation::Failed(reason));
                    }
                    Err(Fault::Flags(reason)) => mine.end(&Outcome::failed(reason), &[])?,
                    Ok(built) => {
                        let (row, is_new) = match self.measured(built.as_ref(), keeps_failures) {
                            Ok(measured) => measured,
                            Err(Fault::Other(error)) => return Err(error),
                            Err(Fault::Flags(reason)) => return Ok(Evaluation::Failed(reason)),
                        };
                        let mut kept: Vec<Measurement> =
                            row.measurements().filter(|one| one.metric != RUN).cloned().collect();
                        kept.push(Measurement::new(BUILD, "s", took.as_secs_f64()));
                        let ended = match (row.is_good, is_new) {
                            (false, _) => Outcome::failed(row.reason.unwrap_or_default()),
                            (true, true) => Outcome::done(),
                            (true, false) => {
                                count(&self.counts.deduplicated);
                                Outcome::skipped(format!("its image is that of trial {}", row.id))
                            }
                        };
                        mine.end(&ended.image(&built.image().image), &kept)?
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
        match self.table.take(&self.subject.trial(flags))? {
            Offer::Known(row) => Ok(read(&row)),
            Offer::OpenTrial(mine) => {
                drop(mine);
                self.evaluate(flags)
            }
        }
    }

    /// What was measured of an image, and whether it was measured now. A failure that is not kept is the
    /// fault.
    fn measured(&self, built: &dyn Built, keeps_failures: bool) -> Result<(Row, bool), Fault> {
        let image = &built.image().image;
        let mine = match self.table.take(&format!("image {image}"))? {
            Offer::Known(row) => return Ok((row, false)),
            Offer::OpenTrial(mine) => mine,
        };
        let start = Instant::now();
        let costs = built.measure();
        let took = start.elapsed();
        self.took(took.as_millis() as u64);
        self.counts.measured.fetch_add(1, Ordering::Relaxed);
        let row = match costs {
            Err(Fault::Other(error)) => return Err(Fault::Other(error)),
            Err(fault) if !keeps_failures => return Err(fault),
            Err(Fault::Flags(reason)) => mine.end(&Outcome::failed(reason).image(image), &[])?,
            Ok(costs) => {
                let costs = costs.iter().map(|(name, cost)| Measurement::new(name, "1", *cost));
                let others = [
                    Measurement::new(BYTES, "1", built.image().bytes as f64),
                    Measurement::new(RUN, "s", took.as_secs_f64()),
                ];
                let all: Vec<Measurement> = costs.chain(others).collect();
                mine.end(&Outcome::done().image(image), &all)?
            }
        };
        Ok((row, true))
    }

    /// Adds what a build or a run took.
    pub(super) fn took(&self, milliseconds: u64) {
        self.counts.milliseconds.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

/// The costs that a trial has.
pub(super) fn costs(row: &Row) -> Costs {
    let is_cost = |metric: &str| ![BYTES, BUILD, RUN].contains(&metric);
    let costs = row.measurements().filter(|one| is_cost(&one.metric) && one.value > 0.0);
    costs.map(|one| (one.metric.clone(), one.value)).collect()
}

fn read(row: &Row) -> Evaluation {
    let good = || {
        Some(WorkingImage {
            image: row.image.clone()?,
            costs: costs(row),
            bytes: row.value(BYTES)?,
        })
        .filter(|good| !good.costs.is_empty())
    };
    match (row.is_good, good()) {
        (true, Some(good)) => Evaluation::WorkingImage(good),
        _ => Evaluation::Failed(row.reason.clone().unwrap_or_else(|| "it was not measured".into())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use std::time::Duration;

    use trimtab_lab::cache::Key;

    use super::super::request::Limits;
    use super::super::subject::Image;
    use super::*;

    /// Builds, or works, once it is asked again.
    struct Fragile {
        image: Image,
        fails_to_build: AtomicBool,
        fails_to_run: AtomicBool,
    }

    fn once(flag: &AtomicBool, reason: &str) -> Result<(), Fault> {
        match flag.swap(false, Ordering::Relaxed) {
            true => Err(Fault::Flags(reason.to_owned())),
            false => Ok(()),
        }
    }

    struct BuiltOnce<'a>(&'a Fragile);

    impl Built for BuiltOnce<'_> {
        fn image(&self) -> &Image {
            &self.0.image
        }

        fn measure(&self) -> Result<Costs, Fault> {
            once(&self.0.fails_to_run, "it hangs")?;
            Ok(Costs::from([("open".to_owned(), 900.0)]))
        }
    }

    impl Subject for Fragile {
        fn name(&self) -> &str {
            "fragile"
        }

        fn key(&self) -> Key {
            Key::new("fragile/1")
        }

        fn limits(&self) -> Limits {
            let limit = Duration::from_secs(1);
            Limits { build: limit, run: limit, memory: 1 << 30 }
        }

        fn at_once(&self) -> usize {
            1
        }

        fn build<'s>(&'s self, _: &[String]) -> Result<Box<dyn Built + 's>, Fault> {
            once(&self.fails_to_build, "it does not build")?;
            Ok(Box::new(BuiltOnce(self)))
        }
    }

    #[test]
    fn a_failure_of_the_base_is_tried_again_and_one_of_others_is_kept() {
        for (build, run, reason) in [(true, false, "it does not build"), (false, true, "it hangs")]
        {
            let fragile = || Fragile {
                image: Image { image: "abc".to_owned(), bytes: 5 },
                fails_to_build: build.into(),
                fails_to_run: run.into(),
            };
            let flags = ["-O2".to_owned()];
            let failed = Evaluation::Failed(reason.to_owned());
            let folder = tempfile::tempdir().unwrap();
            let subject = fragile();
            let first = Evaluator::new(&subject, folder.path()).unwrap();
            assert_eq!(first.evaluate_base(&flags).unwrap(), failed);
            let next = Evaluator::new(&subject, folder.path()).unwrap();
            let found = next.evaluate_base(&flags).unwrap();
            assert_eq!(found.good().map(|good| good.image.as_str()), Some("abc"), "{found:?}");

            let folder = tempfile::tempdir().unwrap();
            let subject = fragile();
            let first = Evaluator::new(&subject, folder.path()).unwrap();
            assert_eq!(first.evaluate(&flags).unwrap(), failed);
            let next = Evaluator::new(&subject, folder.path()).unwrap();
            assert_eq!(next.evaluate(&flags).unwrap(), failed);
        }
    }
}
