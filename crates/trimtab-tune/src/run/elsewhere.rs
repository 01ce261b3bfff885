//! A program whose flags workers try: each builds, checks and counts, and says what came of it. The table
//! is written by the process that searches alone, so that it is the same wherever the work was done.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::TempDir;
use trimtab_lab::cache::Key;
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Silent;
use trimtab_lab::workdir::write_at_once;
use trimtab_lab::workers::{Crew, Worker, Workers};

use super::program::ProgramSubject;
use super::request::{Limits, Request, Setup};
use super::room::tidy;
use super::source::ProgramSource;
use super::starter::Starter;
use super::subject::{Built, Costs, Fault, Image, Subject, is_same_cost};
use super::tuning::{Toolset, prepare_found};
use crate::report::WorkerSummary;

/// What workers are to know first.
#[derive(Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// The program, as the machine that searches found it: its folder may change meanwhile, as where a log grows.
    pub source: ProgramSource,
    /// What it is evaluated with.
    pub setup: Setup,
    /// What the program is on the machine that searches.
    pub expected: Fingerprint,
}

impl Assignment {
    /// What the program is tuned with where the same folders are, with copies of it in `rooms`.
    ///
    /// # Errors
    /// What is missing.
    fn tools(&self, rooms: Option<&Path>) -> Result<Toolset> {
        prepare_found(|_| Ok(self.source.clone()), &self.setup, rooms, &Silent)
    }
}

/// What tells whether two machines count the same.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Hash of the subject's key: compiler with its libraries, QEMU, limits, and the source as it is told.
    key: String,
    /// The program at the level that is tuned on top of; none where it does not build.
    image: Option<Image>,
    /// What that costs, by what runs are judged by: the C library's instructions count, too.
    cost: Option<f64>,
    /// The program for the machine's own processor, where such flags are tried.
    native: Option<Image>,
}

impl Fingerprint {
    /// That of a program on this machine.
    ///
    /// # Errors
    /// What is no fault of the flags.
    pub fn of(program: &ProgramSubject<'_>, setup: &Setup) -> Result<Self> {
        let key = program.key().hash();
        let level = [setup.level.clone()];
        let (image, costs) = match working(program.build(&level))? {
            Some(built) => (Some(built.image().clone()), working(built.measure())?),
            None => (None, None),
        };
        let cost = costs.and_then(|costs| costs.get(program.metric()).copied());
        let native = match setup.portable {
            true => None,
            false => working(program.build(&[setup.level.clone(), NATIVE.to_owned()]))?
                .map(|built| built.image().clone()),
        };
        Ok(Self { key, image, cost, native })
    }

    /// Fails where this machine, which is not the one that searches, counts something else.
    ///
    /// # Errors
    /// In what it differs from the `expected`.
    pub fn check(&self, expected: &Self) -> Result<()> {
        let Some(why) = self.difference(expected) else { return Ok(()) };
        Err(Failure::new(format!(
            "this worker would count something else than the machine that searches: it has {why}"
        ))
        .hint("install the same packages on all machines, and where processors differ, give --portable")
        .into())
    }

    /// Why a machine with this one counts something else than one with `other`.
    fn difference(&self, other: &Self) -> Option<&'static str> {
        let is_same_cost = match (self.cost, other.cost) {
            (Some(own), Some(other)) => is_same_cost(own, other),
            (own, other) => own.is_none() && other.is_none(),
        };
        let differences = [
            (self.key != other.key, "another compiler, linker, C library or QEMU"),
            (self.image != other.image, "a compiler or C library that makes another program"),
            (!is_same_cost, "a C library that executes other instructions"),
            (
                self.native != other.native,
                "another processor, for which -march=native is another flag",
            ),
        ];
        differences.into_iter().find(|(differs, _)| *differs).map(|(_, why)| why)
    }
}

/// What depends on the processor of the machine.
const NATIVE: &str = "-march=native";

/// What was made, where the flags work.
fn working<T>(made: Result<T, Fault>) -> Result<Option<T>> {
    match made {
        Ok(made) => Ok(Some(made)),
        Err(Fault::Flags(_)) => Ok(None),
        Err(Fault::Other(error)) => Err(error),
    }
}

/// Flags to try.
#[derive(Debug, Serialize, Deserialize)]
struct Trial {
    flags: Vec<String>,
    /// SHA-256 of what the program must print, where that is compared.
    expected: Option<String>,
}

/// What came of them: what was built, and what it costs; or why not.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Answer {
    built: Result<Image, String>,
    costs: Result<Costs, String>,
}

/// A program that workers build.
pub struct ProgramElsewhere<'a> {
    of: &'a ProgramSubject<'a>,
    starter: Starter,
    workers: Workers,
}

impl<'a> ProgramElsewhere<'a> {
    /// Starts workers; `root` is the work directory.
    ///
    /// # Errors
    /// That they cannot be told what to do. That they do not come up is said by the first build.
    pub fn start(
        of: &'a ProgramSubject<'a>,
        request: &Request,
        starter: &Starter,
        root: &Path,
    ) -> Result<Self> {
        let mut setup = request.setup.clone();
        root.clone_into(&mut setup.work);
        let expected = Fingerprint::of(of, &setup)?;
        let assignment = Assignment { source: of.source.clone(), setup, expected };
        let job = starter.jobs()?;
        let command = move |folder: &Path, slot: usize, name: &str| {
            job(slot, &["worker", &folder.display().to_string(), name])
        };
        let crew = Crew { count: starter.count(), limit: longest(request.setup.limits) };
        let workers = Workers::start(root, &assignment, crew, command)
            .context("cannot give jobs to workers")?;
        Ok(Self { of, starter: starter.clone(), workers })
    }

    /// Who built and counted.
    pub fn summary(&self) -> WorkerSummary {
        WorkerSummary {
            count: self.starter.count() as u64,
            starter: self.starter.name(),
            restarted: self.workers.restarted(),
        }
    }
}

impl Subject for ProgramElsewhere<'_> {
    fn name(&self) -> &str {
        self.of.name()
    }

    fn key(&self) -> Key {
        self.of.key()
    }

    fn trial(&self, flags: &[String]) -> String {
        self.of.trial(flags)
    }

    fn limits(&self) -> Limits {
        self.of.limits()
    }

    fn at_once(&self) -> usize {
        // Each has its next job before it is done with one: none waits until it is told what comes next.
        self.starter.count() * 2
    }

    fn build<'s>(&'s self, flags: &[String]) -> Result<Box<dyn Built + 's>, Fault> {
        let expected = self.of.expected().map(str::to_owned);
        let trial = Trial { flags: flags.to_vec(), expected };
        let answer = self.workers.call(&serde_json::to_value(trial)?)?;
        let answer: Answer = serde_json::from_value(answer)?;
        match answer.built {
            Ok(image) => Ok(Box::new(BuiltElsewhere { image, costs: answer.costs })),
            Err(reason) => Err(Fault::Flags(reason)),
        }
    }
}

/// A worker does not take as long to build and count: four builds and two runs where a profile is made
/// twice, a check, two runs, and what is between them, if no limit of theirs ends them.
fn longest(limits: Limits) -> Duration {
    let between = Duration::from_secs(600);
    limits
        .build
        .saturating_mul(4)
        .saturating_add(limits.run.saturating_mul(5))
        .saturating_add(between)
}

/// What a worker built and counted.
struct BuiltElsewhere {
    image: Image,
    costs: Result<Costs, String>,
}

impl Built for BuiltElsewhere {
    fn image(&self) -> &Image {
        &self.image
    }

    fn measure(&self) -> Result<Costs, Fault> {
        self.costs.clone().map_err(Fault::Flags)
    }
}

/// What the names of folders begin with in which workers build.
const ROOMS: &str = "trimtab-worker-";

/// Does jobs as the worker `name` of the spool in `folder`, until there are no more.
///
/// # Errors
/// A spool that cannot be read, and a machine on which the program, its compiler or QEMU is another.
pub fn work(folder: &Path, name: &str) -> Result<()> {
    let worker = Worker::new(folder, name);
    let assignment: Assignment = worker.setup()?;
    let rooms = own_rooms()?;
    let tools = assignment.tools(Some(rooms.path()))?;
    let program = tools.program(&tools.compiler);
    Fingerprint::of(&program, &assignment.setup)?.check(&assignment.expected)?;
    let mut known = CountedImages::shared(folder);
    worker.work(|input| known.done(&program, input).map_err(|error| to_be_told(&error).into()))
}

/// A folder on this machine's own disk, in which a worker builds copies of the program.
///
/// # Errors
/// That it cannot be made.
pub fn own_rooms() -> Result<TempDir> {
    tidy(&std::env::temp_dir(), ROOMS);
    let prefix = format!("{ROOMS}{}-", std::process::id());
    let rooms = tempfile::Builder::new().prefix(&prefix).tempdir();
    rooms.context("cannot make a folder for builds")
}

/// An error as another machine is told of it, with what to do.
pub(super) fn to_be_told(error: &anyhow::Error) -> Failure {
    Failure::of(error, &[trimtab_lab::hint, trimtab_machine::hint, trimtab_native::hint])
}

/// What workers have counted, by the SHA-256 of the image: it is not run again.
#[derive(Default)]
pub struct CountedImages {
    own: HashMap<String, Result<Costs, String>>,
    /// Where workers say it each other, if they have a folder in common.
    shared: Option<PathBuf>,
}

/// The folder of a spool for that.
const COUNTED: &str = "counted";

impl CountedImages {
    /// Of all workers of a spool.
    fn shared(spool: &Path) -> Self {
        Self { own: HashMap::new(), shared: Some(spool.join(COUNTED)) }
    }

    fn known(&self, image: &str) -> Option<Result<Costs, String>> {
        let others = || {
            let text = fs::read(self.shared.as_ref()?.join(image)).ok()?;
            serde_json::from_slice(&text).ok()
        };
        self.own.get(image).cloned().or_else(others)
    }

    fn keep(&mut self, image: &str, costs: &Result<Costs, String>) {
        self.own.insert(image.to_owned(), costs.clone());
        if let (Some(folder), Ok(text)) = (&self.shared, serde_json::to_vec(costs)) {
            // Where that fails another runs it again.
            let _ = fs::create_dir_all(folder);
            let _ = write_at_once(&folder.join(image), &text);
        }
    }

    /// Does a job.
    ///
    /// # Errors
    /// What is no fault of the flags.
    pub fn done(&mut self, program: &ProgramSubject<'_>, input: Value) -> Result<Value> {
        let trial: Trial = serde_json::from_value(input).context("a job that is none of tuning")?;
        if let Some(expected) = trial.expected {
            program.expect(expected);
        }
        Ok(serde_json::to_value(self.answer(program, &trial.flags)?)?)
    }

    /// Builds, and checks and counts an image that is new.
    fn answer(&mut self, program: &dyn Subject, flags: &[String]) -> Result<Answer> {
        let fault = |fault| match fault {
            Fault::Flags(reason) => Ok(reason),
            Fault::Other(error) => Err(error),
        };
        let built = match program.build(flags) {
            Ok(built) => built,
            Err(why) => {
                let reason = fault(why)?;
                return Ok(Answer { built: Err(reason.clone()), costs: Err(reason) });
            }
        };
        let image = built.image().clone();
        let costs = match self.known(&image.image) {
            Some(known) => known,
            None => {
                let costs = match built.measure() {
                    Ok(costs) => Ok(costs),
                    Err(why) => Err(fault(why)?),
                };
                self.keep(&image.image, &costs);
                costs
            }
        };
        Ok(Answer { built: Ok(image), costs })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Builds the image that the first flag names; `-fbad` does not work. Counts how often it is run.
    #[derive(Default)]
    struct Counted(AtomicU32);

    struct CountedImage<'a>(&'a Counted, Image);

    impl Built for CountedImage<'_> {
        fn image(&self) -> &Image {
            &self.1
        }

        fn measure(&self) -> Result<Costs, Fault> {
            self.0.0.fetch_add(1, Ordering::Relaxed);
            match self.1.image.as_str() {
                "-fbad" => Err(Fault::Flags("it hangs".to_owned())),
                image => Ok(Costs::from([(image.to_owned(), 5.0)])),
            }
        }
    }

    impl Subject for Counted {
        fn name(&self) -> &str {
            "counted"
        }

        fn key(&self) -> Key {
            Key::new("counted/1")
        }

        fn limits(&self) -> Limits {
            Limits { build: Duration::ZERO, run: Duration::ZERO, memory: 0 }
        }

        fn at_once(&self) -> usize {
            1
        }

        fn build<'s>(&'s self, flags: &[String]) -> Result<Box<dyn Built + 's>, Fault> {
            Ok(Box::new(CountedImage(self, Image { image: flags[0].clone(), bytes: 1 })))
        }
    }

    /// Runs what two workers are given one after the other; gives how often an image was run.
    fn answered_by_two(one: &mut CountedImages, other: &mut CountedImages) -> u32 {
        let subject = Counted::default();
        let flags = |all: [&str; 2]| all.map(str::to_owned);
        let first = one.answer(&subject, &flags(["-O2", "-g"])).unwrap();
        assert_eq!(one.answer(&subject, &flags(["-O2", "-fweb"])).unwrap(), first);
        let bad = one.answer(&subject, &flags(["-fbad", "-g"])).unwrap();
        assert_eq!(bad.costs, Err("it hangs".to_owned()));
        assert_eq!(one.answer(&subject, &flags(["-fbad", "-fweb"])).unwrap(), bad);
        assert_eq!(other.answer(&subject, &flags(["-O2", "-fgcse"])).unwrap(), first);
        assert_eq!(other.answer(&subject, &flags(["-fbad", "-fgcse"])).unwrap(), bad);
        subject.0.into_inner()
    }

    #[test]
    fn a_worker_runs_each_image_once_and_those_with_a_folder_in_common_none_again() {
        let of_one = || CountedImages::default();
        assert_eq!(answered_by_two(&mut of_one(), &mut of_one()), 4);
        let spool = tempfile::tempdir().unwrap();
        let of_all = || CountedImages::shared(spool.path());
        assert_eq!(answered_by_two(&mut of_all(), &mut of_all()), 2);
        // What cannot be said is run again.
        let gone = || CountedImages::shared(Path::new("/dev/null"));
        assert_eq!(answered_by_two(&mut gone(), &mut gone()), 4);
    }

    #[test]
    fn a_worker_says_in_what_its_machine_differs() {
        let image = |name: &str| Some(Image { image: name.to_owned(), bytes: 5 });
        let own = || Fingerprint {
            key: "k".to_owned(),
            image: image("a"),
            cost: Some(100_000.0),
            native: image("n"),
        };
        assert_eq!(own().difference(&own()), None);
        let nearly = Fingerprint { cost: Some(100_050.0), ..own() };
        assert_eq!(own().difference(&nearly), None, "as two runs on one machine may differ");
        for (other, expected) in [
            (
                Fingerprint { key: "l".to_owned(), ..own() },
                "another compiler, linker, C library or QEMU",
            ),
            (Fingerprint { image: image("b"), ..own() }, "makes another program"),
            (Fingerprint { cost: None, ..own() }, "executes other instructions"),
            (Fingerprint { cost: Some(100_200.0), ..own() }, "executes other instructions"),
            (Fingerprint { native: image("o"), ..own() }, "another processor"),
        ] {
            let why = own().difference(&other).unwrap();
            assert!(why.contains(expected), "{why}");
        }
    }
}
