//! The engine: a program in a file becomes a jar in a file. All else of this crate reads and starts
//! nothing.

use crate::error::JarError;
use crate::report::Report;
use crate::translate::{Entry, translate};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use thiserror::Error;
use trimtab_lab::bytes::Bytes;
use trimtab_lab::failure::Hint;
use trimtab_lab::process::{Job, ProcessError};

/// The sources of the run time: their paths and texts.
const SOURCES: [(&str, &str); 18] = [
    ("program/Calls.java", include_str!("../../../jar/stub/program/Calls.java")),
    ("trimtab/Atomic.java", include_str!("../../../jar/src/trimtab/Atomic.java")),
    ("trimtab/Cpu.java", include_str!("../../../jar/src/trimtab/Cpu.java")),
    ("trimtab/Errors.java", include_str!("../../../jar/src/trimtab/Errors.java")),
    ("trimtab/Exit.java", include_str!("../../../jar/src/trimtab/Exit.java")),
    ("trimtab/Fault.java", include_str!("../../../jar/src/trimtab/Fault.java")),
    ("trimtab/Files.java", include_str!("../../../jar/src/trimtab/Files.java")),
    ("trimtab/Float.java", include_str!("../../../jar/src/trimtab/Float.java")),
    ("trimtab/Jump.java", include_str!("../../../jar/src/trimtab/Jump.java")),
    ("trimtab/Limits.java", include_str!("../../../jar/src/trimtab/Limits.java")),
    ("trimtab/Linux.java", include_str!("../../../jar/src/trimtab/Linux.java")),
    ("trimtab/Maps.java", include_str!("../../../jar/src/trimtab/Maps.java")),
    ("trimtab/Memory.java", include_str!("../../../jar/src/trimtab/Memory.java")),
    ("trimtab/Pipe.java", include_str!("../../../jar/src/trimtab/Pipe.java")),
    ("trimtab/Signals.java", include_str!("../../../jar/src/trimtab/Signals.java")),
    ("trimtab/Status.java", include_str!("../../../jar/src/trimtab/Status.java")),
    ("trimtab/Threads.java", include_str!("../../../jar/src/trimtab/Threads.java")),
    ("trimtab/Waits.java", include_str!("../../../jar/src/trimtab/Waits.java")),
];

/// The classes of the run time that a user calls.
const ENTRANCES: [(&str, &str); 2] = [
    ("trimtab/Main.java", include_str!("../../../jar/src/trimtab/Main.java")),
    ("trimtab/Program.java", include_str!("../../../jar/src/trimtab/Program.java")),
];

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
            RunError::Compiler(error) => trimtab_lab::failure::hint(error),
            _ => None,
        }
    }
}

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Request {
    /// The statically linked program.
    pub program: PathBuf,
    /// The jar to write.
    pub output: PathBuf,
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
    /// Functions with instructions that are not known.
    pub unknown: Vec<String>,
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
}

/// Sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// The program.
    pub elf: usize,
    /// The jar.
    pub jar: usize,
}

/// A function that was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SplitFunction {
    /// Its name.
    pub name: String,
    /// Bytes of Java code that one method would have had.
    pub bytes: usize,
    /// Bytes of each method: first the one that calls the others.
    pub methods: Vec<usize>,
}

/// Translates a program and writes the jar.
///
/// # Errors
/// [`RunError`] says what went wrong.
pub fn run(request: &Request) -> Result<Summary, RunError> {
    let path = &request.program;
    let elf = Bytes::open(path).map_err(|source| RunError::File {
        verb: "read",
        path: path.clone(),
        source,
    })?;
    let start = Instant::now();
    let translation =
        translate(&elf).map_err(|source| RunError::Translate { program: path.clone(), source })?;
    let seconds = start.elapsed().as_secs_f64();
    let mut entries = translation.entries;
    entries.extend(run_time()?);
    let jar = crate::archive("trimtab.Main", &entries)?;
    let path = &request.output;
    fs::write(path, &jar).map_err(|source| RunError::File {
        verb: "write",
        path: path.clone(),
        source,
    })?;
    Ok(summary(request, translation.report, jar.len(), seconds))
}

fn summary(request: &Request, report: Report, jar: usize, seconds: f64) -> Summary {
    let split: Vec<SplitFunction> = report
        .split
        .into_iter()
        .map(|split| SplitFunction { name: split.name, bytes: split.bytes, methods: split.methods })
        .collect();
    Summary {
        schema: "trimtab.jar/1",
        program: request.program.display().to_string(),
        output: request.output.display().to_string(),
        functions: Functions {
            total: report.functions,
            translated: report.functions - report.unknown.len(),
            split: split.len(),
            incomplete: report.unknown.len(),
        },
        instructions: report.instructions,
        classes: report.classes,
        bytes: Sizes { elf: report.elf_bytes, jar },
        seconds,
        split,
        unknown: report.unknown,
    }
}

/// The classes of the run time, compiled from the sources that this program holds.
///
/// # Errors
/// Where there is no Java compiler of release 17 or later.
pub fn run_time() -> Result<Vec<Entry>, RunError> {
    let file = |verb, path: &Path, source| RunError::File { verb, path: path.to_owned(), source };
    let folder =
        tempfile::tempdir().map_err(|source| file("write", &std::env::temp_dir(), source))?;
    let classes = folder.path().join("classes");
    let mut job = Job::new("compiling the run time of jars", "javac")
        .package("default-jdk-headless")
        .args(["--release", "17", "-g:source,lines", "-encoding", "UTF-8", "-d"])
        .arg(&classes);
    for (name, text) in SOURCES.iter().chain(&ENTRANCES) {
        let path = folder.path().join(name);
        let parent = path.parent().unwrap_or(folder.path());
        fs::create_dir_all(parent).map_err(|source| file("write", parent, source))?;
        fs::write(&path, text).map_err(|source| file("write", &path, source))?;
        job = job.arg(&path);
    }
    job.run()?;
    let package = classes.join("trimtab");
    let mut entries = Vec::new();
    let listing = fs::read_dir(&package).map_err(|source| file("read", &package, source))?;
    for found in listing {
        let path = found.map_err(|source| file("read", &package, source))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = fs::read(&path).map_err(|source| file("read", &path, source))?;
        entries.push(Entry { path: format!("trimtab/{name}"), bytes });
    }
    entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}
