//! What an image costs in other states of its surroundings than the one by which flags are judged. A count repeats
//! exactly, so that counting again says nothing; this says how far a ratio depends on what should not matter.

use std::time::Instant;

use anyhow::{Result, bail};
use trimtab_lab::interrupt;
use trimtab_lab::store::{Measurement, Outcome};
use trimtab_stats::{Interval, paired_ratio};

use super::evaluator::{Evaluator, WorkingImage, costs};
use super::subject::{Costs, Fault};
use super::table::Offer;

/// What flags cost in each of some states, which are the same for all flags; or why they do not work in one.
pub type InStates = Result<Vec<Costs>, String>;

/// Runs the image of flags in so many states. What is in the table is not run again, and the image is built again only
/// where something is not.
///
/// # Errors
/// What is no fault of the flags, and a build that gives another image now.
pub fn in_states(
    evaluator: &Evaluator<'_>,
    flags: &[String],
    good: &WorkingImage,
    states: u32,
) -> Result<InStates> {
    let subject = evaluator.subject();
    let mut kept = None;
    let mut all = Vec::new();
    for state in 1..=states {
        if interrupt::requested() {
            bail!("interrupted");
        }
        let variant = format!("image {} {}", good.image, subject.state(state));
        let row = match evaluator.table().take(&variant)? {
            Offer::Known(row) => row,
            Offer::OpenTrial(mine) => {
                let start = Instant::now();
                let built = match kept.take() {
                    Some(built) => built,
                    None => match subject.build(flags) {
                        Ok(built) => built,
                        Err(Fault::Flags(reason)) => return Ok(Err(reason)),
                        Err(Fault::Other(error)) => return Err(error),
                    },
                };
                if built.image().image != good.image {
                    bail!(
                        "{} give another image now than before; expected the same",
                        flags.join(" ")
                    );
                }
                let measured = built.measure_in(state);
                kept = Some(built);
                evaluator.took(start.elapsed().as_millis() as u64);
                match measured {
                    Ok(costs) => {
                        let costs =
                            costs.iter().map(|(name, cost)| Measurement::new(name, "1", *cost));
                        mine.end(&Outcome::done().image(&good.image), &costs.collect::<Vec<_>>())?
                    }
                    Err(Fault::Flags(reason)) => {
                        mine.end(&Outcome::failed(reason).image(&good.image), &[])?
                    }
                    Err(Fault::Other(error)) => return Err(error),
                }
            }
        };
        match (row.is_good, row.reason.clone()) {
            (true, _) => all.push(costs(&row)),
            (false, reason) => {
                let reason = reason.unwrap_or_else(|| "it was not measured".to_owned());
                return Ok(Err(format!("{}: {reason}", subject.state(state))));
            }
        }
    }
    Ok(Ok(all))
}

/// A ratio of what costs say, over the states of both, in pairs; none where one of them has no such ratio, or there are
/// fewer than two.
pub fn over_states(
    base: &[Costs],
    costs: &[Costs],
    ratio: impl Fn(&Costs, &Costs) -> Option<f64>,
) -> Option<Interval> {
    if base.len() != costs.len() {
        return None;
    }
    let ratios = base.iter().zip(costs).map(|(base, costs)| ratio(base, costs));
    let ratios = ratios.collect::<Option<Vec<f64>>>()?;
    paired_ratio(&vec![1.0; ratios.len()], &ratios).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use trimtab_lab::cache::Key;

    use super::super::request::Limits;
    use super::super::subject::{Built, Image, Subject};
    use super::*;

    /// Costs another number in each state, and does not work in one, if there is such a state.
    #[derive(Default)]
    struct Varied {
        image: String,
        wrong_in: Option<u32>,
        built: AtomicU32,
        run: AtomicU32,
    }

    struct BuiltVaried<'a>(&'a Varied, Image);

    impl Built for BuiltVaried<'_> {
        fn image(&self) -> &Image {
            &self.1
        }

        fn measure(&self) -> Result<Costs, Fault> {
            unreachable!("it is run in states alone")
        }

        fn measure_in(&self, state: u32) -> Result<Costs, Fault> {
            self.0.run.fetch_add(1, Ordering::Relaxed);
            match self.0.wrong_in == Some(state) {
                true => Err(Fault::Flags("it is wrong".to_owned())),
                false => Ok(Costs::from([("fork".to_owned(), f64::from(100 + state))])),
            }
        }
    }

    impl Subject for Varied {
        fn name(&self) -> &str {
            "varied"
        }

        fn key(&self) -> Key {
            Key::new("varied/1")
        }

        fn limits(&self) -> Limits {
            Limits { build: Duration::ZERO, run: Duration::ZERO, memory: 0 }
        }

        fn at_once(&self) -> usize {
            1
        }

        fn build<'s>(&'s self, _: &[String]) -> Result<Box<dyn Built + 's>, Fault> {
            self.built.fetch_add(1, Ordering::Relaxed);
            Ok(Box::new(BuiltVaried(self, Image { image: self.image.clone(), bytes: 1 })))
        }
    }

    fn good() -> WorkingImage {
        WorkingImage { image: "abc".to_owned(), costs: Costs::new(), bytes: 1.0 }
    }

    fn run(subject: &Varied, work: &std::path::Path, states: u32) -> Result<InStates> {
        let evaluator = Evaluator::new(subject, work).unwrap();
        in_states(&evaluator, &["-O2".to_owned()], &good(), states)
    }

    #[test]
    fn an_image_is_built_once_for_all_states_that_are_not_known() {
        let work = tempfile::tempdir().unwrap();
        let subject = Varied { image: "abc".to_owned(), ..Varied::default() };
        let forks = |states| -> Vec<f64> {
            let found = run(&subject, work.path(), states).unwrap().unwrap();
            found.iter().map(|costs| costs["fork"]).collect()
        };
        assert_eq!(forks(0), [0.0; 0]);
        assert_eq!(forks(2), [101.0, 102.0]);
        assert_eq!(forks(4), [101.0, 102.0, 103.0, 104.0]);
        assert_eq!(forks(4).len(), 4);
        let counted = [&subject.built, &subject.run].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(counted, [2, 4]);
    }

    #[test]
    fn a_state_in_which_it_does_not_work_is_told_and_kept() {
        let work = tempfile::tempdir().unwrap();
        let subject = Varied { image: "abc".to_owned(), wrong_in: Some(2), ..Varied::default() };
        for _ in 0..2 {
            assert_eq!(
                run(&subject, work.path(), 3).unwrap().unwrap_err(),
                "in state 2: it is wrong"
            );
        }
        assert_eq!(subject.run.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn another_image_of_the_same_flags_is_not_taken_for_it() {
        let work = tempfile::tempdir().unwrap();
        let subject = Varied { image: "abd".to_owned(), ..Varied::default() };
        let error = run(&subject, work.path(), 1).unwrap_err().to_string();
        assert!(error.contains("-O2 give another image now"), "{error}");
    }

    #[test]
    fn ratios_are_of_the_same_state() {
        let costs = |all: &[f64]| -> Vec<Costs> {
            all.iter().map(|cost| Costs::from([("fork".to_owned(), *cost)])).collect()
        };
        let fork = |base: &Costs, costs: &Costs| Some(costs.get("fork")? / base.get("fork")?);
        // Twice as much in one state as in another, and always a tenth less with the flags.
        let found = over_states(&costs(&[100.0, 200.0]), &costs(&[90.0, 180.0]), fork).unwrap();
        let Interval { mean, low, high } = found;
        assert!([mean, low, high].iter().all(|found| (found - 0.9).abs() < 1e-9), "{found:?}");
        let found = over_states(&costs(&[100.0; 3]), &costs(&[90.0, 95.0, 91.0]), fork).unwrap();
        assert!(found.low < 0.9 && found.high > 0.95 && found.contains(0.92), "{found:?}");
        assert_eq!(over_states(&costs(&[100.0]), &costs(&[90.0]), fork), None);
        assert_eq!(over_states(&costs(&[100.0; 2]), &costs(&[90.0; 3]), fork), None);
        assert_eq!(over_states(&costs(&[100.0; 2]), &[Costs::new(), Costs::new()], fork), None);
    }
}
