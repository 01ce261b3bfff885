//! The boots of a fit, one by one, as they are stored.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use trimtab_report::{Trial, Value};

use super::kept_boot::KeptBoot;
use super::measured::Evidence;
use super::plan::{self, Scenario};
use super::proved::Timed;

/// What both kernels are called.
const SIDES: [&str; 2] = ["as built", "laid out"];

/// The traced boots of both kernels, by what is special about the machine, and those that nobody
/// watched, which are named so.
///
/// # Errors
/// That an image cannot be read.
pub(super) fn trials(m: &Evidence<'_>) -> Result<Vec<Trial>> {
    let [as_built, laid_out] = SIDES;
    let images = [image(&m.before.image.image)?, image(&m.after.image.image)?];
    let [first_image, fitted_image] = &images;
    let made = plan::traced(m.first_boots.traced().len());
    let orders = made.iter().zip(m.first_boots.traced()).zip(0..);
    let mut trials: Vec<Trial> = orders
        .map(|((scene, boot), place)| {
            traced(scene, as_built, boot).round(place).image(first_image.as_str())
        })
        .collect();
    let kept = plan::held_out();
    let first = kept.iter().zip(m.first_boots.held_out());
    trials.extend(
        first.map(|(scene, boot)| traced(scene, as_built, boot).image(first_image.as_str())),
    );
    let boots = &m.proof.boots;
    let reference = plan::reference();
    let fitted = std::iter::once((&reference, boots.reference()));
    let fitted = fitted.chain(kept.iter().zip(boots.held_out()));
    trials.extend(
        fitted.map(|(scene, boot)| traced(scene, laid_out, boot).image(fitted_image.as_str())),
    );
    for held_out in &m.proof.held_out {
        let boots = held_out.again.iter().zip(0..);
        trials.extend(boots.map(|(boot, round)| {
            timed(&held_out.scene, laid_out, boot).round(round).image(fitted_image.as_str())
        }));
    }
    for ((before, after), round) in m.proof.wall.pairs.iter().zip(0..) {
        for ((side, boot), image) in SIDES.iter().zip([before, after]).zip(&images) {
            trials.push(timed(&reference, side, boot).round(round).image(image.as_str()));
        }
    }
    Ok(trials)
}

/// A boot that the plugin watched.
fn traced(scene: &Scenario, side: &str, boot: &KeptBoot) -> Trial {
    let mut values = vec![
        Value::seconds("wall time", boot.record.wall),
        Value::seconds("virtual time", boot.record.uptime),
    ];
    values.extend(boot.record.instructions.map(|all| Value::count("instructions", all.kernel)));
    Trial::new(&scene.name, side, Ok(values))
}

/// A boot in real time that nobody watched.
fn timed(scene: &Scenario, side: &str, boot: &Timed) -> Trial {
    let subject = format!("{}, not traced", scene.name);
    Trial::new(subject, side, boot.clone().map(|wall| vec![Value::seconds("wall time", wall)]))
}

/// SHA-256 of what boots.
fn image(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(trimtab_inputs::sha256([bytes.as_slice()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_trials_have_the_same_name() {
        // Those that make the order are told apart by their place, all others by what is special.
        let mut names: Vec<String> = plan::held_out().into_iter().map(|scene| scene.name).collect();
        names.push(plan::reference().name);
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        let made = plan::traced(plan::MOST as usize);
        assert!(plan::held_out().iter().all(|held| made.iter().all(|s| s.name != held.name)));
    }

    #[test]
    fn a_guest_that_does_not_come_up_is_a_trial_with_the_reason() {
        let trial = timed(&plan::reference(), "laid out", &Err("it hung".to_owned()));
        assert_eq!(trial.outcome, Err("it hung".to_owned()));
        assert_eq!(trial.subject, "1 CPU, 256 MiB, boot, not traced");
    }
}
