//! What `trimtab rent verify` found: `trimtab.rent.verify/1`.

use serde::{Deserialize, Serialize};
use trimtab_report::common::{Check, Repeat};
use trimtab_report::phrase::count;
use trimtab_report::section::{Head, Section, Table, name, number};
use trimtab_report::{Phrase, Report, Schema, row};

use super::run::Verify;

/// Verified operations in several guests, and in guests whose kernel lacks something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Verified {
    /// Operations on files, in all guests whose kernel lacks nothing.
    pub operations: u64,
    /// Bytes that were not what they should be, and what else was wrong there.
    pub errors: u64,
    /// How many of the kernels that lack something were noticed.
    pub mutants_killed: u64,
    /// The guests.
    pub runs: Vec<OracleRun>,
    /// Those whose kernel lacks something.
    pub mutants: Vec<MutantRun>,
    /// Those whose kernel has a user's patch for guaranteed contiguous allocation instead. Their errors are no errors of
    /// what is verified.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gcma: Vec<OracleRun>,
}

impl Verified {
    /// Counts what is in the guests.
    pub fn sum_up(&mut self) {
        self.operations = self.runs.iter().map(|run| run.found.operations).sum();
        self.errors = self.runs.iter().map(|run| run.found.errors).sum();
        self.mutants_killed = self.mutants.iter().filter(|it| it.killed).count() as u64;
    }
}

/// Operations in one guest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OracleRun {
    /// What the kernel checks of itself: `plain`, `debug`, `kasan`; `mutants` is the one that could leave out
    /// something and does not.
    pub kernel: String,
    /// Of its disk, or what else is special there.
    pub files: String,
    /// How many CPUs.
    pub cpus: u32,
    /// The first error, or the first complaint of the kernel; empty if there is none.
    pub first_error: String,
    /// What the oracle found; a complaint of the kernel is one error.
    #[serde(flatten)]
    pub found: Verify,
}

/// Operations in a guest whose kernel lacks something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MutantRun {
    /// Its name.
    pub name: String,
    /// What it lacks.
    pub removes: String,
    /// Where it ran.
    pub setting: String,
    /// Whether that was noticed.
    pub killed: bool,
    /// The first sign of it.
    pub by: String,
    /// Operations until the guest ended; 0 where it did not say.
    pub operations: u64,
}

/// All of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RentVerify {
    /// Its schema.
    pub schema: Schema<RentVerify>,
    /// The guests' kernel.
    pub kernel: String,
    /// What machine it is for, as its build names it; empty in reports from before this was said.
    pub arch: String,
    /// What was verified.
    pub verify: Verified,
    /// What must hold.
    pub checks: Vec<Check>,
    /// How long it took, in seconds, builds with it.
    pub seconds: f64,
    /// What it takes to get it again.
    pub repeat: Repeat,
}

/// In so many operations something is stored and returned.
const ENOUGH: u64 = 10_000;

impl RentVerify {
    /// Whether what must hold does, of all else in the report.
    pub fn judged(&self) -> Vec<Check> {
        let verify = &self.verify;
        if verify.runs.is_empty() {
            // What a patch of somebody else does is shown, and not judged.
            return Vec::new();
        }
        let wrong =
            verify.runs.iter().find(|run| run.found.errors > 0 || !run.first_error.is_empty());
        let detail = match wrong {
            None => format!("{} operations", verify.operations),
            Some(run) => {
                format!("{}, {}, {} CPUs: {}", run.kernel, run.files, run.cpus, run.first_error)
            }
        };
        let what = "No byte is wrong, and no kernel complains of itself";
        let mut checks = vec![Check::new(what, wrong.is_none(), detail)];
        let idle: Vec<&str> = verify
            .runs
            .iter()
            .filter(|run| {
                run.found.operations >= ENOUGH && (run.found.hits == 0 || run.found.returns == 0)
            })
            .map(|run| run.files.as_str())
            .collect();
        let closed: u64 = verify.runs.iter().map(|run| run.found.open_failures).sum();
        let what = "Devices open whenever they are asked to";
        checks.push(Check::new(what, closed == 0, format!("{closed} did not")));
        let what = "Memory is used and returned in each guest";
        checks.push(Check::new(what, idle.is_empty(), idle.join(", ")));
        if !verify.mutants.is_empty() {
            let survived: Vec<&str> = verify
                .mutants
                .iter()
                .filter(|mutant| !mutant.killed)
                .map(|mutant| mutant.name.as_str())
                .collect();
            checks.push(Check::new(
                "Each kernel that lacks something is noticed",
                survived.is_empty(),
                format!("{} of {}", verify.mutants_killed, verify.mutants.len())
                    + &survived.iter().map(|name| format!(", not {name}")).collect::<String>(),
            ));
        }
        checks
    }

    fn summary(&self) -> Vec<Phrase> {
        let verify = &self.verify;
        let mut said: Vec<Phrase> = Vec::new();
        if !verify.runs.is_empty() {
            said.push(
                format!("{} operations on files gave {} errors.", verify.operations, verify.errors)
                    .into(),
            );
        }
        if !verify.mutants.is_empty() {
            said.push(
                format!(
                    "{} of {} kernels that lack a hook or a check were noticed.",
                    verify.mutants_killed,
                    verify.mutants.len()
                )
                .into(),
            );
        }
        if !verify.gcma.is_empty() {
            let sum = |of: fn(&Verify) -> u64| -> u64 {
                verify.gcma.iter().map(|run| of(&run.found)).sum()
            };
            let (operations, errors) = (sum(|found| found.operations), sum(|found| found.errors));
            said.push(
                format!("With GCMA {operations} operations on files gave {errors} errors.").into(),
            );
        }
        said
    }

    fn runs(&self) -> Section {
        let columns = [
            name("kernel"),
            name("guest"),
            number("CPUs"),
            number("operations"),
            number("MiB compared").aside(),
            number("hits"),
            number("stores").aside(),
            number("returns"),
            number("errors"),
        ];
        let rows = self.verify.runs.iter().enumerate().map(|(at, run)| {
            let key = |field: &str| format!("verify.runs.{at}.{field}");
            row![
                run.kernel.clone(),
                run.files.clone(),
                count(key("cpus"), u64::from(run.cpus)),
                count(key("operations"), run.found.operations),
                format!("{}", run.found.bytes >> 20),
                count(key("hits"), run.found.hits),
                count(key("stores"), run.found.stores),
                count(key("returns"), run.found.returns),
                count(key("errors"), run.found.errors),
            ]
        });
        let lede =
            "Random operations on files, each byte compared, while devices are opened and closed."
                .to_owned();
        let title = "Verified operations";
        Section::new("runs", title, lede).with(Table::new(title, columns, rows))
    }

    /// What the same operations find in somebody else's kernel.
    fn gcma(&self) -> Option<Section> {
        if self.verify.gcma.is_empty() {
            return None;
        }
        let columns = [
            name("guest"),
            number("CPUs"),
            number("operations"),
            number("opens failed"),
            number("errors"),
            name("the first of them"),
        ];
        let rows = self.verify.gcma.iter().enumerate().map(|(at, run)| {
            let key = |field: &str| format!("verify.gcma.{at}.{field}");
            row![
                run.files.clone(),
                count(key("cpus"), u64::from(run.cpus)),
                count(key("operations"), run.found.operations),
                count(key("open_failures"), run.found.open_failures),
                count(key("errors"), run.found.errors),
                match run.first_error.as_str() {
                    "" => "–".to_owned(),
                    error => error.to_owned(),
                },
            ]
        });
        let lede = "The same operations in a kernel that has guaranteed contiguous allocation from the patch that was \
                    given, in place of rental memory. A process ends at its tenth error."
            .to_owned();
        let title = "A kernel with GCMA";
        Some(Section::new("gcma", title, lede).with(Table::new(title, columns, rows)))
    }

    fn mutants(&self) -> Option<Section> {
        if self.verify.mutants.is_empty() {
            return None;
        }
        let columns = [name("mutant"), name("what it lacks"), name("guest"), name("noticed by")];
        let rows = self.verify.mutants.iter().map(|mutant| {
            row![
                mutant.name.clone(),
                mutant.removes.clone(),
                mutant.setting.clone(),
                match mutant.by.as_str() {
                    "" => "nothing".to_owned(),
                    by => by.to_owned(),
                },
            ]
        });
        let lede = "Operations like these in kernels that lack one hook or check each; each guest is told which.".to_owned();
        let title = "Kernels that lack something";
        Some(Section::new("mutants", title, lede).with(Table::new(title, columns, rows)))
    }
}

impl Report for RentVerify {
    const VERB: &'static str = "rent verify";
    const SCHEMA: &'static str = "trimtab.rent.verify/1";

    fn title(&self) -> String {
        "Whether lent memory keeps each byte right".to_owned()
    }

    fn head(&self) -> Head {
        Head {
            facts: vec![super::linux(&self.kernel, &self.arch)],
            what: self.title().into(),
            summary: self.summary(),
            ..Head::default()
        }
    }

    fn sections(&self) -> Vec<Section> {
        let runs = (!self.verify.runs.is_empty()).then(|| self.runs());
        runs.into_iter().chain(self.mutants()).chain(self.gcma()).collect()
    }

    fn checks(&self) -> &[Check] {
        &self.checks
    }

    fn repeat(&self) -> Option<&Repeat> {
        Some(&self.repeat)
    }

    fn took(&self) -> Vec<(&'static str, &'static str, f64)> {
        vec![("total", "seconds", self.seconds)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> RentVerify {
        let run = OracleRun {
            kernel: "debug".to_owned(),
            files: "ext4-1k".to_owned(),
            cpus: 2,
            found: Verify { operations: 40_000, hits: 9_000, returns: 30, ..Verify::default() },
            ..OracleRun::default()
        };
        let mutant = MutantRun {
            name: "generation".to_owned(),
            removes: "it compares generations".to_owned(),
            setting: "plain".to_owned(),
            killed: true,
            by: "another file's bytes".to_owned(),
            operations: 400,
        };
        let verify = Verified {
            operations: 40_000,
            mutants_killed: 1,
            runs: vec![run],
            mutants: vec![mutant],
            ..Verified::default()
        };
        RentVerify {
            kernel: "6.12.1".to_owned(),
            arch: "x86_64".to_owned(),
            verify,
            ..RentVerify::default()
        }
    }

    #[test]
    fn it_reads_back_and_shows_what_noticed_a_mutant() {
        let found = sample();
        assert_eq!(RentVerify::from_json(&found.to_json()).unwrap(), found);
        let text = found.terminal(120);
        for shown in ["40,000", "9,000", "generation", "another file's bytes", "1 of 1 kernels"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
    }

    #[test]
    fn each_kind_of_error_is_found() {
        assert!(sample().judged().iter().all(|check| check.ok));
        let broken = |change: &dyn Fn(&mut RentVerify)| {
            let mut found = sample();
            change(&mut found);
            found.judged().iter().filter(|check| !check.ok).count()
        };
        assert_eq!(broken(&|found| found.verify.runs[0].found.errors = 1), 1);
        assert_eq!(broken(&|found| found.verify.runs[0].found.open_failures = 1), 1);
        assert_eq!(broken(&|found| found.verify.runs[0].first_error = "BUG: x".to_owned()), 1);
        assert_eq!(broken(&|found| found.verify.runs[0].found.returns = 0), 1);
        assert_eq!(broken(&|found| found.verify.mutants[0].killed = false), 1);
    }

    #[test]
    fn errors_of_somebody_elses_kernel_are_shown_and_no_failure() {
        let mut found = sample();
        let wrong = Verify { operations: 9_999, errors: 3, open_failures: 7, ..Verify::default() };
        let run = OracleRun {
            kernel: "gcma".to_owned(),
            files: "vfat".to_owned(),
            first_error: "stale bytes in f5".to_owned(),
            found: wrong,
            ..OracleRun::default()
        };
        found.verify.gcma = vec![run];
        assert!(found.judged().iter().all(|check| check.ok));
        assert_eq!(RentVerify::from_json(&found.to_json()).unwrap(), found);
        let text = found.terminal(120).replace('\n', " ");
        for shown in ["9999 operations on files gave 3 errors", "stale bytes in f5", "40,000"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        found.verify.runs.clear();
        found.verify.mutants.clear();
        assert_eq!(found.judged(), []);
        assert!(!found.terminal(120).contains("Verified operations"));
    }
}
