//! Choices of a kernel's configuration that its users make for speed, as arms beside flags.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::kernel::{Build, BuildInputs};

use super::arms::{MeasuredArm, arm_result};
use super::evaluator::{Evaluation, Evaluator};
use super::kernel::KernelSubject;
use super::tuning::Tuning;

/// A choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// What it is called.
    pub name: &'static str,
    /// Its line of the configuration: one of a Kconfig `choice`, so that it turns the others off.
    pub line: &'static str,
    /// Flags that go with it: the last level of optimisation wins over the configuration's.
    pub flags: &'static [&'static str],
}

/// The choices: how often the timer interrupts, where the kernel is preempted, what it is compiled for.
pub const CHOICES: [Choice; 7] = [
    Choice { name: "100 Hz", line: "CONFIG_HZ_100=y", flags: &[] },
    Choice { name: "250 Hz", line: "CONFIG_HZ_250=y", flags: &[] },
    Choice { name: "1000 Hz", line: "CONFIG_HZ_1000=y", flags: &[] },
    Choice { name: "no preemption", line: "CONFIG_PREEMPT_NONE=y", flags: &[] },
    Choice { name: "voluntary preemption", line: "CONFIG_PREEMPT_VOLUNTARY=y", flags: &[] },
    Choice { name: "full preemption", line: "CONFIG_PREEMPT=y", flags: &[] },
    Choice { name: "for size", line: "CONFIG_CC_OPTIMIZE_FOR_SIZE=y", flags: &["-Os"] },
];

/// Builds and measures the kernel with each choice that its configuration does not make already, at the
/// level that is tuned on top of.
///
/// # Errors
/// What is no fault of the choice.
pub fn measured_choices(
    tuning: &Tuning<'_>,
    (work, inputs, build): (&WorkDir, &BuildInputs, &Build<'_>),
    subject: &KernelSubject<'_>,
    observe: &dyn Observe,
) -> Result<Vec<MeasuredArm>> {
    let mut arms = Vec::new();
    for choice in CHOICES {
        if build.has(choice.line)? {
            continue;
        }
        let (_, chosen) = inputs.clone().with_lines(choice.line).prepare(work, observe)?;
        let is_taken = chosen.has(choice.line)?;
        if is_taken && same_configuration(build.directory(), chosen.directory())? {
            continue;
        }
        let mut flags = tuning.space.flags(&tuning.space.base());
        flags.extend(choice.flags.iter().map(|flag| (*flag).to_owned()));
        let found = if is_taken {
            let stage =
                observe.stage(&format!("build the kernel with {}, and boot it", choice.line));
            let other = subject.configured(&chosen);
            let evaluator = Evaluator::new(&other, work.path())?;
            let found = evaluator.evaluate(&flags)?;
            tuning.evaluator.counts.add(&evaluator.counts);
            stage.done(choice.name);
            found
        } else {
            Evaluation::Failed(
                "this kernel does not have the option, or another one excludes it".into(),
            )
        };
        let mut result = arm_result(tuning, choice.name, &flags.join(" "), &found);
        result.configuration = Some(choice.line.to_owned());
        arms.push(MeasuredArm { result, point: None });
    }
    Ok(arms)
}

/// Whether two build directories are configured the same.
fn same_configuration(one: &Path, other: &Path) -> Result<bool> {
    let read = |folder: &Path| {
        let path = folder.join(".config");
        fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    Ok(read(one)? == read(other)?)
}
