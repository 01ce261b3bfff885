//! All that a program is tuned with: the space, what evaluates, and the program as it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use trimtab_lab::executor::Local;
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::{WorkDir, WorkError};

use super::compiler::Compiler;
use super::counter::Counter;
use super::evaluator::{Evaluation, Evaluator, WorkingImage};
use super::request::Request;
use super::room::{self, Fault};
use super::subject::Subject;
use crate::search::Outcome;
use crate::space::{Point, Purpose, Space, is_forbidden, parse};

/// Everything that is worked with.
pub struct Bench<'a> {
    /// What is asked.
    pub request: &'a Request,
    /// The space.
    pub space: Space,
    /// Options that the compiler refuses or ignores.
    pub refused: Vec<String>,
    /// What evaluates.
    pub evaluator: Evaluator<'a>,
    /// The program at the level that is tuned on top of.
    pub base: WorkingImage,
}

/// What is found before a bench can be made.
pub struct Setup {
    /// The program.
    pub subject: Subject,
    /// The compiler.
    pub compiler: Compiler,
    /// What counts.
    pub counter: Counter,
    /// The work directory, for what is tuned.
    pub work: PathBuf,
}

/// Finds the program, the compiler and what counts.
///
/// # Errors
/// What is missing.
pub fn prepare(request: &Request, observe: &dyn Observe) -> Result<Setup> {
    let compiler = Compiler::find(&request.compiler)?;
    let stage = observe.stage("find the program and what counts");
    fs::create_dir_all(&request.work)
        .with_context(|| format!("cannot make {}", request.work.display()))?;
    let root = request.work.canonicalize().context("cannot find the work directory")?;
    // Only as long as something is made that is kept: others tune in the same directory meanwhile.
    let counter = Counter::prepare(&opened(&root)?)?;
    let work = root.join("tune");
    fs::create_dir_all(work.join("rooms"))
        .with_context(|| format!("cannot make {}", work.display()))?;
    room::tidy(&work.join("rooms"));
    let mut left_out = vec![root];
    for file in &request.written {
        left_out.push(std::path::absolute(file).context("cannot find the current folder")?);
    }
    let subject = Subject::prepare(&request.program, &work, left_out)?;
    stage.done(&subject.origin);
    Ok(Setup { subject, compiler, counter, work })
}

/// Opens a work directory, once another process that prepares in it is done.
fn opened(root: &Path) -> Result<WorkDir> {
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

impl<'a> Bench<'a> {
    /// Reads the space and builds the program as it is.
    ///
    /// # Errors
    /// A space that cannot be read, a program that does not build, run or work without any flags.
    pub fn make(request: &'a Request, prepared: &'a Setup, observe: &dyn Observe) -> Result<Self> {
        let stage = observe.stage("read what the compiler offers");
        let (space, refused) = space(request, &prepared.compiler)?;
        stage.done(&space.to_string());
        if space.is_empty() {
            return Err(Failure::usage("there is nothing to choose: the space has no flags").into());
        }
        let stage = observe.stage("build the program as it is, and run it twice");
        let evaluator = evaluator(request, prepared, &prepared.compiler)?;
        let mut bench = Bench {
            request,
            space,
            refused,
            evaluator,
            base: WorkingImage { image: String::new(), instructions: 1.0, bytes: 1.0 },
        };
        let flags = bench.space.flags(&bench.space.base());
        let counted = bench.evaluator.reference(&flags).map_err(|fault| unusable(fault, &flags))?;
        bench.evaluator.expect(counted.output);
        bench.base = match bench.evaluator.evaluate(&flags)? {
            Evaluation::WorkingImage(good) => good,
            Evaluation::Failed(reason) => return Err(unusable(Fault::Flags(reason), &flags)),
        };
        stage.done(&format!("{} instructions", counted.instructions));
        Ok(bench)
    }

    /// Instructions in times of the base's.
    pub fn ratio(&self, good: &WorkingImage) -> f64 {
        good.instructions / self.base.instructions
    }

    fn outcome(&self, evaluated: &Evaluation) -> Outcome {
        match evaluated.good() {
            Some(good) => Outcome::Measured { ratio: self.ratio(good), image: number(&good.image) },
            None => Outcome::Failed,
        }
    }

    /// Evaluates points, in order.
    ///
    /// # Errors
    /// What is no fault of the flags.
    pub fn outcomes(&self, points: &[Point]) -> Result<Vec<Outcome>> {
        let flags: Vec<Vec<String>> = points.iter().map(|point| self.space.flags(point)).collect();
        let found = self.evaluator.evaluate_all(&Local, &flags, |_| ())?;
        Ok(found.iter().map(|evaluated| self.outcome(evaluated)).collect())
    }
}

/// An image as a number: images are told apart by far fewer digits than they have.
fn number(image: &str) -> u64 {
    image.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

/// An evaluator with another compiler.
///
/// # Errors
/// That the table cannot be opened.
pub fn evaluator<'a>(
    request: &Request,
    prepared: &'a Setup,
    compiler: &'a Compiler,
) -> Result<Evaluator<'a>> {
    let Setup { subject, counter, work, .. } = prepared;
    let root = work.parent().unwrap_or(work);
    Evaluator::new(subject, compiler, counter, request.limits, root, work.join("rooms"))
}

fn unusable(fault: Fault, flags: &[String]) -> anyhow::Error {
    match fault {
        Fault::Other(error) => error,
        Fault::Flags(reason) => Failure::new(format!(
            "the program cannot be tuned: with {} alone, {reason}",
            flags.join(" ")
        ))
        .into(),
    }
}

/// The space that is asked for.
///
/// # Errors
/// A file that cannot be read, or a compiler that does not say.
pub fn space(request: &Request, compiler: &Compiler) -> Result<(Space, Vec<String>)> {
    let (space, refused) = match &request.flags {
        Some((file, text)) => {
            let space = parse(text, &request.level)
                .map_err(|error| Failure::usage(format!("{file}: {error}")))?;
            let allowed = space.only_options(|option| !is_forbidden(option, Purpose::Program));
            compiler.accepted(allowed)?
        }
        None => compiler.space(&request.level, Purpose::Program)?,
    };
    Ok(match request.portable {
        true => (space.only(|choice| choice.name != "-march"), refused),
        false => (space, refused),
    })
}
