//! A room in which a program is built and run: a copy of its folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use trimtab_lab::process::{Job, ProcessError};

use super::compiler::{Compiler, Family};
use super::counter::{Counter, RunCount};
use super::request::Limits;
use super::subject::Subject;

/// What was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// SHA-256 of the program, without symbols and what debuggers need.
    pub image: String,
    /// Its bytes.
    pub bytes: u64,
}

/// Why something could not be had: a fault of the flags, with its reason, or of anything else, which
/// ends the job.
#[derive(Debug)]
pub enum Fault {
    /// It does not build, run or work with these flags.
    Flags(String),
    /// Something else.
    Other(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        Fault::Other(error.into())
    }
}

impl Fault {
    /// Sorts a failure of a process.
    pub fn of_process(error: ProcessError) -> Self {
        match error {
            // A shell passes a signal on as 128 and more.
            ProcessError::Failed { status, .. } if status.code() == Some(ILLEGAL) => {
                let why = "it has an instruction that QEMU or this processor does not have";
                Fault::Flags(short(&format!("{why}: {error}")))
            }
            ProcessError::Failed { .. } | ProcessError::TimeLimit { .. } => {
                Fault::Flags(short(&error.to_string()))
            }
            error => Fault::Other(error.into()),
        }
    }
}

/// What a shell ends with where a program was killed by SIGILL.
const ILLEGAL: i32 = 128 + 4;
/// Most letters of a reason.
const REASON: usize = 600;

fn short(text: &str) -> String {
    text.chars().take(REASON).collect()
}

/// A copy of a subject's folder.
#[derive(Debug)]
pub struct Room<'a> {
    subject: &'a Subject,
    compiler: &'a Compiler,
    limits: Limits,
    folder: TempDir,
}

impl<'a> Room<'a> {
    /// Makes a room in `scratch`.
    ///
    /// # Errors
    /// That it cannot be made.
    pub fn new(
        subject: &'a Subject,
        compiler: &'a Compiler,
        limits: Limits,
        scratch: &Path,
    ) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix(&format!("{}-", std::process::id()))
            .tempdir_in(scratch)
            .with_context(|| format!("cannot make a folder in {}", scratch.display()))?;
        Ok(Self { subject, compiler, limits, folder })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Builds the program anew with flags. `-fprofile-use` among them stands for building it so that it
    /// writes a profile, a run, and building it again with that.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn build(&self, flags: &[String]) -> Result<Image, Fault> {
        let is_use = |flag: &String| flag == "-fprofile-use";
        self.clear(|_| false)?;
        if flags.iter().any(is_use) {
            let mut making: Vec<String> =
                flags.iter().filter(|flag| !is_use(flag)).cloned().collect();
            making.push("-fprofile-generate".to_owned());
            self.make(&making)?;
            self.shell("the run that makes a profile", &self.subject.run)?;
            self.keep_profiles()?;
            let flags = flags.iter().map(|flag| match (is_use(flag), self.compiler.family) {
                (true, Family::Clang) => format!("-fprofile-use={}", self.merged().display()),
                _ => flag.clone(),
            });
            let mut flags: Vec<String> = flags.collect();
            // Not all that is compiled has to run.
            flags.push(match self.compiler.family {
                Family::Gcc => "-Wno-missing-profile".to_owned(),
                Family::Clang => "-Wno-profile-instr-unprofiled".to_owned(),
            });
            self.make(&flags)?;
        } else {
            self.make(flags)?;
        }
        self.image()
    }

    fn merged(&self) -> PathBuf {
        self.path().join("trimtab.profdata")
    }

    /// Leaves of a build that made profiles only these.
    fn keep_profiles(&self) -> Result<(), Fault> {
        if self.compiler.family == Family::Clang {
            let raw = files(self.path(), &|path| has_ending(path, "profraw"))?;
            let merge = self.compiler.profdata.as_deref().unwrap_or(Path::new("llvm-profdata"));
            Job::new("merging profiles", merge)
                .args(["merge", "-o"])
                .arg(self.merged())
                .args(raw)
                .run()
                .map_err(Fault::of_process)?;
        }
        let kept = |path: &Path| has_ending(path, "gcda") || has_ending(path, "profdata");
        if files(self.path(), &kept)?.is_empty() {
            return Err(Fault::Flags("the run wrote no profile".to_owned()));
        }
        Ok(self.clear(kept)?)
    }

    /// Runs the build.
    fn make(&self, flags: &[String]) -> Result<(), Fault> {
        let text = flags.join(" ");
        let whole = |flag: &&String| flag.starts_with("-flto") || flag.starts_with("-fprofile");
        // What concerns the whole program the linker must be told as well.
        let link = if flags.iter().any(|flag| whole(&flag)) { text.clone() } else { String::new() };
        self.job("the build", &self.subject.build)
            .env("CC", &self.compiler.c)
            .env("CXX", &self.compiler.cxx)
            .env("CFLAGS", &text)
            .env("CXXFLAGS", &text)
            .env("LDFLAGS", link)
            .limit(self.limits.build)
            .run()
            .map_err(Fault::of_process)?;
        Ok(())
    }

    /// What was built.
    fn image(&self) -> Result<Image, Fault> {
        let path = self.path().join(&self.subject.program);
        if !path.is_file() {
            let name = self.subject.program.display();
            return Err(Fault::Flags(format!("the build made no file {name}")));
        }
        let bare = self.path().join("trimtab-image");
        Job::new("reading the program", "objcopy")
            .package("binutils")
            .arg("--strip-all")
            .args([&path, &bare])
            .run()
            .map_err(Fault::of_process)?;
        let bytes = fs::read(&bare).with_context(|| format!("cannot read {}", bare.display()))?;
        fs::remove_file(&bare).with_context(|| format!("cannot remove {}", bare.display()))?;
        Ok(Image { image: hex::encode(Sha256::digest(&bytes)), bytes: bytes.len() as u64 })
    }

    /// Runs what was built against its own check, where there is one.
    ///
    /// # Errors
    /// [`Fault::Flags`] where it does not work.
    pub fn check(&self) -> Result<(), Fault> {
        match &self.subject.check {
            Some(check) => self.shell("the check", check),
            None => Ok(()),
        }
    }

    /// Counts the instructions of a command that runs what was built.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn count(&self, counter: &Counter, command: &str) -> Result<RunCount, Fault> {
        let limit = self.limits.run;
        counter.count(self.path(), &self.subject.program, command, limit)
    }

    /// Runs a command and gives the seconds that it and what it started took of processors, and those
    /// on the clock.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn time(&self, command: &str) -> Result<(f64, f64), Fault> {
        let job = self.job("a timed run", command).limit(self.limits.run);
        let finished = job.run_silently().map_err(Fault::of_process)?;
        Ok((finished.processor.as_secs_f64(), finished.wall.as_secs_f64()))
    }

    fn shell(&self, purpose: &str, command: &str) -> Result<(), Fault> {
        let job = self.job(purpose, command).limit(self.limits.run);
        job.run_silently().map_err(Fault::of_process)?;
        Ok(())
    }

    fn job(&self, purpose: &str, command: &str) -> Job {
        Job::new(purpose, "/bin/sh").args(["-c", command]).dir(self.path())
    }

    /// Makes the room as it was at first, but for files that are kept.
    fn clear(&self, kept: impl Fn(&Path) -> bool) -> Result<()> {
        let room = self.path();
        remove(room, &kept).with_context(|| format!("cannot empty {}", room.display()))?;
        let left_out = &self.subject.left_out;
        let from = &self.subject.template;
        copy(from, room, left_out).with_context(|| format!("cannot copy {}", from.display()))
    }
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found == ending)
}

/// Removes all in a folder but files that are kept, and folders that these are in.
fn remove(folder: &Path, kept: &impl Fn(&Path) -> bool) -> io::Result<bool> {
    let mut is_empty = true;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            match remove(&path, kept)? {
                true => fs::remove_dir(&path)?,
                false => is_empty = false,
            }
        } else if kept(&path) {
            is_empty = false;
        } else {
            fs::remove_file(&path)?;
        }
    }
    Ok(is_empty)
}

/// Copies what is in a folder, without some of it.
fn copy(from: &Path, to: &Path, left_out: &[PathBuf]) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        if left_out.contains(&path) {
            continue;
        }
        let place = to.join(path.file_name().unwrap_or_default());
        if path.is_symlink() {
            let _ = fs::remove_file(&place);
            std::os::unix::fs::symlink(fs::read_link(&path)?, &place)?;
        } else if path.is_dir() {
            copy(&path, &place, left_out)?;
        } else if path.is_file() {
            // Times, too: make goes by them.
            fs::copy(&path, &place)?;
            let changed = fs::metadata(&path)?.modified()?;
            fs::File::options().append(true).open(&place)?.set_modified(changed)?;
        }
    }
    Ok(())
}

/// Files in a folder of which `wanted` says yes, by name.
fn files(folder: &Path, wanted: &impl Fn(&Path) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files(&path, wanted)?);
        } else if wanted(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// SHA-256 of all that is in a folder, but for what is left out.
///
/// # Errors
/// That it cannot be read.
pub fn digest(folder: &Path, left_out: &[PathBuf]) -> Result<String> {
    let inside = |path: &Path| !left_out.iter().any(|place| path.starts_with(place));
    let mut hasher = Sha256::new();
    let found = files(folder, &|path| inside(path) && path.is_file());
    for path in found.with_context(|| format!("cannot read {}", folder.display()))? {
        let content = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.strip_prefix(folder).map_err(|error| anyhow!(error))?;
        hasher.update(name.as_os_str().as_encoded_bytes());
        hasher.update([0]);
        hasher.update(Sha256::digest(&content));
    }
    Ok(hex::encode(hasher.finalize()))
}

/// Removes rooms in `scratch` whose process has ended.
pub fn tidy(scratch: &Path) {
    let entries = fs::read_dir(scratch).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let process = name.split('-').next().and_then(|number| number.parse::<u32>().ok());
        if process.is_some_and(|number| !Path::new(&format!("/proc/{number}")).exists()) {
            // What cannot be removed takes room, and does no harm.
            let _ = fs::remove_dir_all(&path);
        }
    }
}
