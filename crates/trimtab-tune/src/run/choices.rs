//! Choices of a kernel's configuration that its users make for speed, as arms beside flags.

use anyhow::Result;
use trimtab_lab::observe::Observe;
use trimtab_machine::kernel::Build;

use super::arms::{MeasuredArm, arm_result};
use super::tuning::Tuning;
use crate::space::configuration::{CONFIG_OPTIONS, ConfigOption};

/// The options that a configuration does not have already.
///
/// # Errors
/// That the configuration cannot be read.
pub fn config_options(build: &Build<'_>) -> Result<Vec<ConfigOption>> {
    let mut options = Vec::new();
    for option in CONFIG_OPTIONS {
        if !build.has(option.line)? {
            options.push(option);
        }
    }
    Ok(options)
}

/// Builds and measures the kernel with each of these options, at the level that is tuned on top of.
///
/// # Errors
/// What is no fault of the option.
pub fn measured_choices(
    tuning: &Tuning<'_>,
    options: &[ConfigOption],
    observe: &dyn Observe,
) -> Result<Vec<MeasuredArm>> {
    let mut arms = Vec::new();
    for option in options {
        let point = tuning.space.point(&[&option.option()]);
        let mut flags: Vec<&str> = option.flags.split_whitespace().collect();
        if flags.is_empty() {
            flags.extend(tuning.space.level.split_whitespace());
        }
        let words = flags.iter().copied().chain([option.line]).map(str::to_owned);
        let stage = observe.stage(&format!("build the kernel with {}, and boot it", option.line));
        let found = tuning.evaluator.evaluate(&words.collect::<Vec<_>>())?;
        stage.done(option.name);
        let mut result = arm_result(tuning, option.name, &flags.join(" "), &found);
        result.configuration = Some(option.line.to_owned());
        result.is_in_space = point.is_some();
        arms.push(MeasuredArm { result, point });
    }
    Ok(arms)
}
