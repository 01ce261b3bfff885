//! The engine: a program in a file becomes a jar in a file. All else of this crate reads and starts
//! nothing.

mod java;
mod library;

pub use java::run_time;
pub use library::{Exports, Imports, write_stubs};

use crate::error::JarError;
use crate::profile::Profile;
use crate::report::{CoLocatedFunctions, Report, SplitFunction};
use crate::translate::{Options, exported, translate_with};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;
use thiserror::Error;
use trimtab_lab::bytes::Bytes;
use trimtab_lab::failure::Hint;
use trimtab_lab::process::ProcessError;

/// Why no jar was made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The program cannot be translated.
    #[error("{}: {source}", program.display())]
    Translate {
        /// The program's file.
        program: PathBuf,
        /// Why not.
        source: JarError,
    },
    /// A file cannot be read or written.
    #[error("cannot {verb} {}: {source}", path.display())]
    File {
        /// "read" or "write".
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The run time cannot be compiled.
    #[error(transparent)]
    Compiler(#[from] ProcessError),
    /// The jar cannot be put together.
    #[error(transparent)]
    Archive(#[from] JarError),
}

impl Hint for RunError {
    fn hint(&self) -> Option<String> {
        match self {
            RunError::Compiler(error) => trimtab_lab::hint(error),
            _ => None,
        }
    }
}

/// What is to be done.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The statically linked program.
    pub program: PathBuf,
    /// The jar to write.
    pub output: PathBuf,
    /// Functions that Java calls, if any.
    pub exports: Option<Exports>,
    /// Functions of Java's that the program calls, if any.
    pub imports: Option<Imports>,
    /// The name of the Java module that the jar becomes, if it is to be one.
    pub module: Option<String>,
    /// Count instructions, so that they can be limited and the program be stopped anywhere.
    pub metered: bool,
    /// Count how often each block runs, for a profile.
    pub profile_generate: bool,
    /// Profiles of earlier runs, which add up.
    pub profile_use: Vec<PathBuf>,
    /// Functions that share a method, by names or addresses: so each group of these.
    pub co_locate: Vec<Vec<String>>,
}

/// What was done; as JSON of the schema `trimtab.jar/1`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// `trimtab.jar/1`.
    pub schema: &'static str,
    /// The program's file.
    pub program: String,
    /// The jar.
    pub output: String,
    /// How many functions there are, of which sort.
    pub functions: Functions,
    /// Instructions in the program.
    pub instructions: usize,
    /// Classes, without those of the run time.
    pub classes: usize,
    /// Sizes of the files in bytes.
    pub bytes: Sizes,
    /// What the translation took, without compiling the run time.
    pub seconds: f64,
    /// Functions that were cut into several methods.
    pub split: Vec<SplitFunction>,
    /// Functions that share methods.
    pub co_located: Vec<CoLocatedFunctions>,
    /// Names of all functions that something reaches.
    #[serde(skip)]
    pub names: BTreeSet<String>,
    /// Functions with instructions that are not known.
    pub unknown: Vec<String>,
    /// Functions that do not fit into methods and classes of Java's: they are interpreted.
    pub too_large: Vec<String>,
    /// Names of functions that can return once more, as `setjmp` does.
    pub returning_twice: Vec<String>,
    /// It catches exceptions of C++, which do not work as it has no symbols.
    pub loses_exceptions: bool,
    /// Functions that Java calls.
    pub exports: Vec<String>,
    /// Functions of Java's that the program calls.
    pub imports: Vec<String>,
    /// Functions of the headers that are left out.
    pub skipped: Vec<SkippedFunction>,
}

/// A function of a header that is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedFunction {
    /// Its name.
    pub name: String,
    /// Why it is left out.
    pub why: String,
}

/// How many functions there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Functions {
    /// Those that something reaches; others are left out.
    pub total: usize,
    /// Those that were translated.
    pub translated: usize,
    /// Those that were cut into several methods.
    pub split: usize,
    /// Those with instructions that are not known, which stop the program.
    pub incomplete: usize,
    /// Those that nothing is seen to reach: they have no Java code, and are interpreted if something reaches them after all.
    pub interpreted: usize,
}

/// Sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// The program.
    pub elf: usize,
    /// The jar.
    pub jar: usize,
}

/// Translates a program and writes the jar.
///
/// # Errors
/// [`RunError`] says what went wrong.
pub fn run(request: &Request) -> Result<Summary, RunError> {
    let path = &request.program;
    let elf = read(path)?;
    let mut library = library::Library::read(request, &elf)?;
    let options = Options {
        exports: library.exported(),
        metered: request.metered,
        counted: request.profile_generate,
        profile: profile(&request.profile_use, &elf)?,
        co_located: request.co_locate.clone(),
    };
    let wrong = |source| RunError::Translate { program: path.clone(), source };
    let addresses = exported(&elf, &options.exports).map_err(wrong)?;
    let sources = library.sources(request, &addresses);
    // The compiler of the run time has a core of its own.
    let (classes, translation, seconds) = thread::scope(|scope| {
        let compiler = scope.spawn(|| java::compile(&sources));
        let start = Instant::now();
        let translation = translate_with(&elf, &options);
        let seconds = start.elapsed().as_secs_f64();
        (compiler.join().unwrap_or_else(|panic| resume_unwind(panic)), translation, seconds)
    });
    let translation = translation.map_err(wrong)?;
    let mut entries = translation.entries;
    entries.extend(classes?);
    if let Some(exports) = &request.exports {
        entries = library::hide(entries, &exports.class);
    }
    let main = request.exports.is_none().then_some("trimtab.Main");
    let jar = crate::archive(main, &entries)?;
    let path = &request.output;
    fs::write(path, &jar).map_err(|source| RunError::File {
        verb: "write",
        path: path.clone(),
        source,
    })?;
    let mut summary = summary(request, translation.report, jar.len(), seconds);
    summary.exports = options.exports.into_iter().collect();
    summary.imports = library.imports.iter().map(|function| function.name.clone()).collect();
    summary.skipped = std::mem::take(&mut library.skipped);
    Ok(summary)
}

fn read(path: &Path) -> Result<Bytes, RunError> {
    let wrong = |source| RunError::File { verb: "read", path: path.to_owned(), source };
    Bytes::open(path).map_err(wrong)
}

/// The profiles of earlier runs, all together.
fn profile(files: &[PathBuf], elf: &[u8]) -> Result<Profile, RunError> {
    let mut profile = Profile::default();
    for path in files {
        let text = read(path)?;
        profile.add(&path.display().to_string(), &String::from_utf8_lossy(&text), elf)?;
    }
    Ok(profile)
}

fn summary(request: &Request, report: Report, jar: usize, seconds: f64) -> Summary {
    let split = report.split;
    Summary {
        schema: "trimtab.jar/1",
        program: request.program.display().to_string(),
        output: request.output.display().to_string(),
        functions: Functions {
            total: report.functions,
            translated: report.functions - report.unknown.len(),
            split: split.len(),
            incomplete: report.unknown.len(),
            interpreted: report.others,
        },
        instructions: report.instructions,
        classes: report.classes,
        bytes: Sizes { elf: report.elf_bytes, jar },
        seconds,
        split,
        co_located: report.co_located,
        names: report.names,
        unknown: report.unknown,
        too_large: report.too_large,
        returning_twice: report.returning_twice,
        loses_exceptions: report.loses_exceptions,
        exports: Vec::new(),
        imports: Vec::new(),
        skipped: Vec::new(),
    }
}
