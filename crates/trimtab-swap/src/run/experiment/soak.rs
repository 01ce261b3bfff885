//! The self-test, repeated with each policy and store in turn.

use std::fs;

use anyhow::{Context, Result};
use trimtab_lab::observe::Observe;
use trimtab_machine::boot::{self, Outcome};
use trimtab_machine::kernel::KernelImage;
use trimtab_report::common::Check;

use super::boots::{Boots, SwapBoot, counter};
use crate::run::{Backing, Policy};

/// Sums over the boots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Soak {
    pub boots: u64,
    pub faults: u64,
    pub shootdowns: u64,
    pub audits: u64,
    pub errors: u64,
    /// Frames taken beyond those that there are.
    pub overflow: u64,
    /// What was wrong beside, and in which boot.
    pub complaints: Vec<String>,
}

impl Soak {
    /// Boots until there were so many page faults, or a round of all policies and stores brings none.
    ///
    /// # Errors
    /// A guest that does not come to a good end, or does not say what its kernel counted.
    pub fn run(
        boots: &Boots<'_>,
        kernel: &KernelImage,
        plan: &str,
        observe: &dyn Observe,
    ) -> Result<Soak> {
        let wanted = boots.request.soak;
        let stage = observe.stage("repeat the self-test");
        stage.parts(wanted);
        let turns: Vec<(Policy, Backing)> = Policy::ALL
            .into_iter()
            .flat_map(|policy| [(policy, Backing::Lz4), (policy, Backing::Flash)])
            .collect();
        let mut soak = Soak::default();
        let mut cached = true;
        'rounds: for repetition in 0.. {
            let before = soak.faults;
            for &turn in &turns {
                if soak.faults >= wanted {
                    break 'rounds;
                }
                stage.note(&format!("{}, {}", turn.0.name(), turn.1.name()));
                let boot = boots.repeated_selftest(kernel, plan, turn, repetition)?;
                cached &= boot.cached;
                soak.add(&boot, boots.request.frames)?;
                stage.at(soak.faults.min(wanted));
            }
            if soak.faults == before {
                break;
            }
        }
        stage.ended(cached, &format!("{} faults in {} boots", soak.faults, soak.boots));
        Ok(soak)
    }

    fn add(&mut self, boot: &SwapBoot, frames: u32) -> Result<()> {
        self.boots += 1;
        self.faults += counter(boot, "faults")?;
        self.shootdowns += counter(boot, "shootdowns")?;
        self.audits += counter(boot, "audits")?;
        self.errors += counter(boot, "errors")?;
        self.overflow += counter(boot, "resident_peak")?.saturating_sub(frames.into());
        if counter(boot, "active")? != 1 {
            self.complaints.push(format!("boot {}: nothing was swapped out", self.boots));
        }
        let found = complaints(boot)?;
        self.complaints
            .extend(found.into_iter().map(|said| format!("boot {}: {said}", self.boots)));
        Ok(())
    }

    /// Whether all of it went well.
    pub fn check(&self, wanted: u64) -> Check {
        let complaints = match self.complaints.first() {
            None => "no complaint".to_owned(),
            Some(first) => format!("{} complaints, the first: {first}", self.complaints.len()),
        };
        Check::new(
            "repeated self-tests with each policy and store found nothing wrong",
            self.faults >= wanted
                && self.errors == 0
                && self.overflow == 0
                && self.audits > 0
                && self.complaints.is_empty(),
            format!(
                "{} faults and {} shootdowns in {} boots, {} audits, {} errors, overflow {}, {complaints}",
                self.faults, self.shootdowns, self.boots, self.audits, self.errors, self.overflow
            ),
        )
    }
}

/// What a kernel said against itself in a boot, and the tests of its own that failed.
///
/// # Errors
/// If its console cannot be read.
pub(super) fn complaints(of: &SwapBoot) -> Result<Vec<String>> {
    let path = of.folder.join("console.log");
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut found = boot::complaints(&String::from_utf8_lossy(&text));
    let failed = of.record.tests.ended(Outcome::Fail);
    found.extend(failed.map(|test| format!("the test {} failed", test.name)));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_wrong_fails_the_check() {
        let good = Soak { boots: 6, faults: 100, audits: 3, ..Soak::default() };
        assert!(good.check(100).ok);
        assert!(!good.check(101).ok);
        let wrong = [
            Soak { errors: 1, ..good.clone() },
            Soak { overflow: 1, ..good.clone() },
            Soak { audits: 0, ..good.clone() },
            Soak { complaints: vec!["boot 1: BUG: x".to_owned()], ..good.clone() },
        ];
        for soak in wrong {
            assert!(!soak.check(100).ok, "{soak:?}");
        }
    }
}
