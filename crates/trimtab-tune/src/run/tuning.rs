//! All that something is tuned with: the space, what evaluates, and the subject as it is.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::{WorkDir, WorkError};

use super::compiler::{Compiler, Family};
use super::counter::Counter;
use super::evaluator::{Evaluation, Evaluator, WorkingImage};
use super::outside;
use super::program::ProgramSubject;
use super::request::{Programs, Setup};
use super::room;
use super::source::ProgramSource;
use super::subject::{Costs, Fault, Subject, is_limit};
use crate::fitness::Fitness;
use crate::report::FailingFlags;
use crate::search::Outcome;
use crate::space::configuration::has_line;
use crate::space::{Point, Purpose, Space, is_forbidden, is_portable, parse};

/// Everything that is worked with.
pub struct Tuning<'a> {
    /// Whose options the compiler takes.
    pub family: Family,
    /// The space.
    pub space: Space,
    /// Options that the compiler refuses or ignores.
    pub refused: Vec<String>,
    /// Options of the file of flags that are left out.
    pub left_out: Vec<FailingFlags>,
    /// What evaluates.
    pub evaluator: Evaluator<'a>,
    /// What costs are judged by.
    pub fitness: Fitness,
    /// The subject at the level that is tuned on top of.
    pub base: WorkingImage,
}

/// What a program is tuned with, found before anything is built.
pub struct Toolset {
    /// The program.
    pub source: ProgramSource,
    /// The compiler.
    pub compiler: Compiler,
    /// What counts.
    pub counter: Counter,
    /// What is asked for.
    pub setup: Setup,
    /// The work directory.
    root: PathBuf,
    /// Where copies of the program's folder are made.
    rooms: PathBuf,
}

impl Toolset {
    /// The program, built by a compiler.
    pub fn program<'a>(&'a self, compiler: &'a Compiler) -> ProgramSubject<'a> {
        self.program_of(&self.source, compiler)
    }

    /// Another program, built by a compiler.
    pub fn program_of<'a>(
        &'a self,
        source: &'a ProgramSource,
        compiler: &'a Compiler,
    ) -> ProgramSubject<'a> {
        let Toolset { counter, setup, .. } = self;
        ProgramSubject::new(source, compiler, counter, setup.limits, self.rooms.clone())
    }

    /// Where copies of the program's folder are made.
    pub fn rooms(&self) -> &Path {
        &self.rooms
    }

    /// The work directory.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// The folder of the work directory for what is tuned.
pub(super) const TUNE: &str = "tune";
/// The folder in that for copies that are built.
const ROOMS: &str = "rooms";

/// Finds the program, the compiler and what counts. Copies of the program's folder are made in `rooms`, or
/// in the work directory.
///
/// # Errors
/// What is missing.
pub fn prepare(
    program: &Programs,
    setup: &Setup,
    rooms: Option<&Path>,
    observe: &dyn Observe,
) -> Result<Toolset> {
    let find = |root: &Path| {
        let tune = root.join(TUNE);
        let mut left_out = outside::known(&tune, &setup.outside)?;
        left_out.push(root.to_owned());
        ProgramSource::prepare(program, &tune, left_out)
    };
    prepare_found(find, setup, rooms, observe)
}

/// The same of a program that `find` finds, given the work directory.
///
/// # Errors
/// What is missing.
pub fn prepare_found(
    find: impl FnOnce(&Path) -> Result<ProgramSource>,
    setup: &Setup,
    rooms: Option<&Path>,
    observe: &dyn Observe,
) -> Result<Toolset> {
    let compiler = Compiler::find(&setup.compiler)?;
    let stage = observe.stage("find the program and what counts");
    // Only as long as something is made that is kept: others tune in the same directory meanwhile.
    let work = opened(&setup.work)?;
    let root = work.path().to_owned();
    let counter = Counter::prepare(&work, setup.core.as_deref())?;
    let rooms = rooms.map_or_else(|| root.join(TUNE).join(ROOMS), Path::to_owned);
    fs::create_dir_all(&rooms).with_context(|| format!("cannot make {}", rooms.display()))?;
    room::tidy(&rooms, "");
    let source = find(&root)?;
    drop(work);
    stage.done(&source.origin);
    Ok(Toolset { source, compiler, counter, setup: setup.clone(), root, rooms })
}

/// Opens a work directory, once another process that prepares in it is done.
///
/// # Errors
/// That it cannot be opened.
pub fn opened(root: &Path) -> Result<WorkDir> {
    let start = Instant::now();
    loop {
        match WorkDir::open(root) {
            Err(WorkError::Busy { .. }) if start.elapsed() < Duration::from_secs(60) => {
                std::thread::sleep(Duration::from_millis(100));
            }
            opened => return Ok(opened?),
        }
    }
}

impl<'a> Tuning<'a> {
    /// Reads the space and builds a program as it is; `subject` is the program as flags are tried on it,
    /// here or elsewhere.
    ///
    /// # Errors
    /// A space that cannot be read, a program that does not build, run or work without any flags.
    pub fn make(
        tools: &'a Toolset,
        program: &ProgramSubject<'_>,
        subject: &'a dyn Subject,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let stage = observe.stage("read what the compiler offers");
        let read = space(&tools.setup, &tools.compiler, Purpose::Program)?;
        stage.done(&read.to_string());
        let stage = observe.stage("build the program as it is, and run it twice");
        let flags = read.space.flags(&read.space.base());
        let counted = program.reference(&flags).map_err(|fault| unusable(fault, &flags))?;
        program.expect(counted.output);
        let metric = program.metric();
        let alone = Fitness::new([(metric.to_owned(), 1.0)]).unwrap_or_default();
        let tuning = Self::with(subject, tools.root(), tools.compiler.family, read, |_| Ok(alone))?;
        let cost = tuning.base.costs.get(metric).copied().unwrap_or(0.0);
        stage.done(&format!("{cost} {metric}"));
        Ok(tuning)
    }

    /// Evaluates a subject as it is; `judge` is given its costs, and says what others are judged by.
    ///
    /// # Errors
    /// A subject that does not work without any flags, and those of `judge`.
    pub fn with(
        subject: &'a dyn Subject,
        root: &Path,
        family: Family,
        ReadSpace { space, refused, left_out }: ReadSpace,
        judge: impl FnOnce(&Costs) -> Result<Fitness>,
    ) -> Result<Self> {
        let evaluator = Evaluator::new(subject, root)?;
        let flags = space.flags(&space.base());
        let base = match evaluator.evaluate_base(&flags)? {
            Evaluation::WorkingImage(good) => good,
            Evaluation::Failed(reason) => return Err(unusable(Fault::Flags(reason), &flags)),
        };
        let fitness = judge(&base.costs)?;
        Ok(Tuning { family, space, refused, left_out, evaluator, fitness, base })
    }

    /// Costs in times of the base's; infinity where some are not known.
    pub fn ratio(&self, good: &WorkingImage) -> f64 {
        self.fitness.ratio(&self.base.costs, &good.costs).unwrap_or(f64::INFINITY)
    }

    fn outcome(&self, evaluated: &Evaluation) -> Outcome {
        match evaluated.good().map(|good| (self.ratio(good), good)) {
            Some((ratio, good)) if ratio.is_finite() => {
                Outcome::Measured { ratio, image: number(&good.image) }
            }
            _ => Outcome::Failed,
        }
    }

    /// Evaluates points, in order.
    ///
    /// # Errors
    /// What is no fault of the flags.
    pub fn outcomes(&self, points: &[Point]) -> Result<Vec<Outcome>> {
        let flags: Vec<Vec<String>> = points.iter().map(|point| self.space.flags(point)).collect();
        let found = self.evaluator.evaluate_all(&flags, |_| ())?;
        Ok(found.iter().map(|evaluated| self.outcome(evaluated)).collect())
    }
}

/// An image as a number: images are told apart by far fewer digits than they have.
fn number(image: &str) -> u64 {
    image.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

/// Why something cannot be tuned at all.
pub fn unusable(fault: Fault, flags: &[String]) -> anyhow::Error {
    match fault {
        Fault::Other(error) => error,
        Fault::Flags(reason) => useless("it cannot be tuned", &reason, flags).into(),
    }
}

/// That there is nothing to compare with, as the flags that all others are compared with fail.
pub fn useless(what: &str, reason: &str, flags: &[String]) -> Failure {
    let failure = Failure::new(format!("{what}: with {} alone, {reason}", flags.join(" ")));
    match is_limit(reason) {
        true => failure.hint(LONGER),
        false => failure,
    }
}

/// What to do where a limit of time is too short.
const LONGER: &str = "a build may take longer with --build-limit, a run or a boot with --limit";

/// A space, and what is not in it.
pub struct ReadSpace {
    /// The space.
    pub space: Space,
    /// Options that the compiler refuses or ignores.
    pub refused: Vec<String>,
    /// Options of the file of flags that are left out, with the reason.
    pub left_out: Vec<FailingFlags>,
}

impl fmt::Display for ReadSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.space)?;
        let names: Vec<&str> = self.left_out.iter().map(|left| left.flags.as_str()).collect();
        match names.len() {
            0 => Ok(()),
            _ => write!(f, "; left out: {}", names.join(", ")),
        }
    }
}

/// Why an option is left out, if it is.
fn why_left_out(option: &str, purpose: Purpose, is_portable_only: bool) -> Option<&'static str> {
    if is_forbidden(option, purpose) {
        return Some(match purpose {
            Purpose::Program => "it changes what a program means or what it is protected by",
            Purpose::Kernel => "it changes what a kernel means, or kernels must not be given it",
        });
    }
    let needs_newer = is_portable_only && !is_portable(option);
    needs_newer.then_some(match purpose {
        Purpose::Program => {
            "with --portable: it needs a newer processor, or the machine that compiles"
        }
        Purpose::Kernel => "it needs a newer processor, or the machine that compiles",
    })
}

/// The space that is asked for.
///
/// # Errors
/// A file that cannot be read, or a compiler that does not say.
pub fn space(setup: &Setup, compiler: &Compiler, purpose: Purpose) -> Result<ReadSpace> {
    let mut left_out = Vec::new();
    let why = |option: &str| why_left_out(option, purpose, setup.portable);
    let (space, refused) = match &setup.flags {
        Some((file, text)) => {
            let space = parse(text, &setup.level)
                .map_err(|error| Failure::usage(format!("{file}: {error}")))?;
            let options = || space.choices.iter().flat_map(|choice| &choice.options);
            if let Some(line) = options().find(|option| has_line(option))
                && purpose == Purpose::Program
            {
                return Err(Failure::usage(format!(
                    "{file} has {line}; expected flags alone, as a program has no configuration"
                ))
                .into());
            }
            let rows = options().filter_map(|option| {
                Some(FailingFlags { flags: option.clone(), reason: why(option)?.to_owned() })
            });
            left_out.extend(rows);
            compiler.accepted(space.only_options(|option| why(option).is_none()))?
        }
        None => {
            let (space, refused) = compiler.space(&setup.level, purpose)?;
            (space.only_options(|option| why(option).is_none()), refused)
        }
    };
    if space.is_empty() {
        let failure = Failure::usage("there is nothing to choose: the space has no flags");
        let said = left_out.iter().map(|left| format!("{}: {}", left.flags, left.reason));
        return Err(said.fold(failure, Failure::hint).into());
    }
    Ok(ReadSpace { space, refused, left_out })
}
