//! A room in which a program is built and run: a copy of its folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use trimtab_lab::failure::Failure;
use trimtab_lab::interpose::{Compilation, RuledCompilers};
use trimtab_lab::process::Job;
use trimtab_lab::workdir;

use super::compiler::{Compiler, Family};
use super::counter::{Counter, RunCount};
use super::profiles::{self, Profile, Profiles};
use super::request::Limits;
use super::source::ProgramSource;
use super::subject::{Fault, Image};
use crate::space::linker_flags;

/// A copy of a program's folder.
#[derive(Debug)]
pub struct Room<'a> {
    source: &'a ProgramSource,
    compiler: &'a Compiler,
    limits: Limits,
    folder: TempDir,
    /// Where only some objects get flags: the compilers of the build, and their folder.
    compilers: Option<(TempDir, RuledCompilers)>,
}

/// What a run of a program showed that was built to find its hot objects.
#[derive(Debug)]
pub struct TracedRoom {
    /// Files that say what each process executed.
    pub traces: Vec<PathBuf>,
    /// What the build compiled.
    pub compilations: Vec<Compilation>,
}

impl<'a> Room<'a> {
    /// Makes a room in `scratch`.
    ///
    /// # Errors
    /// That it cannot be made.
    pub fn new(
        source: &'a ProgramSource,
        compiler: &'a Compiler,
        limits: Limits,
        scratch: &Path,
    ) -> Result<Self> {
        let cannot = || format!("cannot make a folder in {}", scratch.display());
        let empty = || {
            let prefix = format!("{}-", std::process::id());
            tempfile::Builder::new().prefix(&prefix).tempdir_in(scratch).with_context(cannot)
        };
        let compilers = match source.hot {
            None => None,
            Some(_) => {
                let own = std::env::current_exe().context("cannot find trimtab's own file")?;
                let path = std::env::var_os("PATH").unwrap_or_default();
                let folder = empty()?;
                let made = RuledCompilers::make(folder.path(), &own, &path).with_context(cannot)?;
                Some((folder, made))
            }
        };
        Ok(Self { source, compiler, limits, folder: empty()?, compilers })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Builds the program anew with flags. `-fprofile-use` among them stands for building it so that it
    /// writes a profile, a run, and building it again with that; a profile that is kept is taken.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn build(&self, flags: &[String], profiles: &Profiles) -> Result<Image, Fault> {
        self.clear(|_| false)?;
        if !flags.iter().any(|flag| flag == profiles::USE) {
            self.make(flags)?;
            return self.image();
        }
        let shared = profiles::making_shared(self.compiler.family, flags);
        let own = profiles::making(flags);
        match profiles.get(&shared) {
            Some(profile) => profile.write(self.path())?,
            None => self.profile(&shared, profiles)?,
        }
        match self.make_with_profile(flags) {
            // It may not be the profile of these flags after all.
            Err(Fault::Flags(_)) if shared != own => {
                self.clear(|_| false)?;
                self.profile(&own, profiles)?;
                self.make_with_profile(flags)?;
            }
            made => made?,
        }
        self.image()
    }

    /// Builds the program with nothing but the flags of all objects, and traces its run where something is
    /// there to do so.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn traced(&self, counter: Option<&Counter>) -> Result<TracedRoom, Fault> {
        self.clear(|_| false)?;
        self.make(&[])?;
        let Self { source, limits, .. } = self;
        self.image()?;
        let traces = match counter {
            Some(counter) => counter.trace(self.path(), &source.program, &source.run, *limits)?,
            None => Vec::new(),
        };
        let compilations = match &self.compilers {
            Some((_, compilers)) => compilers.made()?,
            None => Vec::new(),
        };
        Ok(TracedRoom { traces, compilations })
    }

    /// Builds the program so that it writes a profile, runs it, and leaves only that in the room.
    fn profile(&self, flags: &[String], profiles: &Profiles) -> Result<(), Fault> {
        self.make(flags)?;
        self.shell("the run that makes a profile", &self.source.run)?;
        let files = self.keep_profiles()?;
        profiles.keep(flags.to_vec(), Profile::read(self.path(), &files)?);
        Ok(())
    }

    /// Builds the program with the profile that is in the room.
    fn make_with_profile(&self, flags: &[String]) -> Result<(), Fault> {
        let flags = flags.iter().map(|flag| match (flag == profiles::USE, self.compiler.family) {
            (true, Family::Clang) => format!("-fprofile-use={}", self.merged().display()),
            _ => flag.clone(),
        });
        // Not all that is compiled has to run.
        let messages: &[&str] = match self.compiler.family {
            Family::Gcc => &["-Wno-missing-profile", "-Werror=coverage-mismatch"],
            Family::Clang => &["-Wno-profile-instr-unprofiled"],
        };
        let flags: Vec<String> = flags.chain(messages.iter().map(|flag| (*flag).into())).collect();
        self.make(&flags)
    }

    fn merged(&self) -> PathBuf {
        self.path().join("trimtab.profdata")
    }

    /// Leaves of a build that made profiles only these, and gives their files.
    fn keep_profiles(&self) -> Result<Vec<PathBuf>, Fault> {
        if self.compiler.family == Family::Clang {
            let raw = files(self.path(), &everywhere, &|path| has_ending(path, "profraw"))?;
            let merge = self.compiler.profdata.as_deref().unwrap_or(Path::new("llvm-profdata"));
            Job::new("merging profiles", merge)
                .args(["merge", "-o"])
                .arg(self.merged())
                .args(raw)
                .run()
                .map_err(Fault::of_process)?;
        }
        let kept = |path: &Path| has_ending(path, "gcda") || has_ending(path, "profdata");
        let found = files(self.path(), &everywhere, &kept)?;
        if found.is_empty() {
            return Err(Fault::Flags("the run wrote no profile".to_owned()));
        }
        self.clear(kept)?;
        Ok(found)
    }

    /// Runs the build.
    fn make(&self, flags: &[String]) -> Result<(), Fault> {
        let text = flags.join(" ");
        let job = self.job("the build", &self.source.build).limit(self.limits.build);
        let job = job.env("LDFLAGS", linker_flags(&text));
        let Some(((_, compilers), hot)) = self.compilers.as_ref().zip(self.source.hot.as_ref())
        else {
            let job = job.env("CC", &self.compiler.c).env("CXX", &self.compiler.cxx);
            job.env("CFLAGS", &text).env("CXXFLAGS", &text).run().map_err(Fault::of_process)?;
            return Ok(());
        };
        let room = self.path().canonicalize().context("cannot find the folder of the build")?;
        compilers.begin(&hot.rules(&room, flags))?;
        job.envs(compilers.environment())
            .env("CC", compilers.stand_in(&self.compiler.c)?)
            .env("CXX", compilers.stand_in(&self.compiler.cxx)?)
            .env("CFLAGS", hot.level())
            .env("CXXFLAGS", hot.level())
            .run()
            .map_err(Fault::of_process)?;
        match hot.not_made(&room, &compilers.made()?) {
            None => Ok(()),
            Some(object) => Err(Failure::new(format!(
                "the build does not compile {object} this time, so that it gets no flags; expected the \
                 same objects from each build"
            ))
            .into()),
        }
    }

    /// What was built.
    fn image(&self) -> Result<Image, Fault> {
        let path = self.path().join(&self.source.program);
        if !path.is_file() {
            let name = self.source.program.display();
            return Err(Fault::Flags(format!("the build made no file {name}")));
        }
        let bare = self.path().join("trimtab-image");
        Job::new("reading the program", "objcopy")
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
        match &self.source.check {
            Some(check) => self.shell("the check", check),
            None => Ok(()),
        }
    }

    /// Counts the instructions of a command that runs what was built.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn count(&self, counter: &Counter, command: &str) -> Result<RunCount, Fault> {
        counter.count(self.path(), &self.source.program, command, self.limits)
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

    /// Runs a command and gives the SHA-256 of what it prints.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn output(&self, command: &str) -> Result<String, Fault> {
        let job = self.job("a run to compare", command).limit(self.limits.run);
        let captured = job.capture().map_err(Fault::of_process)?;
        Ok(hex::encode(Sha256::digest(&captured.output)))
    }

    fn shell(&self, purpose: &str, command: &str) -> Result<(), Fault> {
        let job = self.job(purpose, command).limit(self.limits.run);
        job.run_silently().map_err(Fault::of_process)?;
        Ok(())
    }

    fn job(&self, purpose: &str, command: &str) -> Job {
        Job::new(purpose, "/bin/sh")
            .args(["-c", command])
            .dir(self.path())
            .memory(self.limits.memory)
    }

    /// Makes the room as it was at first, but for files that are kept.
    fn clear(&self, kept: impl Fn(&Path) -> bool) -> Result<()> {
        let room = self.path();
        remove(room, &kept).with_context(|| format!("cannot empty {}", room.display()))?;
        let left_out = &self.source.left_out;
        let from = &self.source.template;
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
///
/// # Errors
/// What cannot be read or written.
pub fn copy(from: &Path, to: &Path, left_out: &[PathBuf]) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        if left_out.contains(&path) || workdir::is_one(&path) {
            continue;
        }
        let place = to.join(path.file_name().unwrap_or_default());
        if path.is_symlink() {
            let _ = fs::remove_file(&place);
            std::os::unix::fs::symlink(fs::read_link(&path)?, &place)?;
        } else if path.is_dir() {
            copy(&path, &place, left_out)?;
        } else if path.is_file() {
            // Times, too: make goes by them. What is read-only stays so, and its owner may set its time.
            fs::copy(&path, &place)?;
            let changed = fs::metadata(&path)?.modified()?;
            fs::File::open(&place)?.set_modified(changed)?;
        }
    }
    Ok(())
}

/// All folders are looked into.
fn everywhere(_: &Path) -> bool {
    true
}

/// Files in a folder of which `wanted` says yes, by name; folders of which `entered` says no are not
/// looked into.
fn files(
    folder: &Path,
    entered: &impl Fn(&Path) -> bool,
    wanted: &impl Fn(&Path) -> bool,
) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            if entered(&path) {
                found.extend(files(&path, entered, wanted)?);
            }
        } else if wanted(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Files in a folder whose names have this ending, by name.
///
/// # Errors
/// That it cannot be read.
pub fn with_ending(folder: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    files(folder, &everywhere, &|path| has_ending(path, ending))
}

/// SHA-256 of all that is in a folder, but for what is left out, and work directories: others make and
/// remove files there meanwhile.
///
/// # Errors
/// That it cannot be read.
pub fn digest(folder: &Path, left_out: &[PathBuf]) -> Result<String> {
    let inside = |path: &Path| !left_out.iter().any(|place| path == place);
    let mut hasher = Sha256::new();
    let entered = |path: &Path| inside(path) && !workdir::is_one(path);
    let found = files(folder, &entered, &|path| inside(path) && path.is_file());
    for path in found.with_context(|| format!("cannot read {}", folder.display()))? {
        let content = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.strip_prefix(folder).map_err(|error| anyhow!(error))?;
        hasher.update(name.as_os_str().as_encoded_bytes());
        hasher.update([0]);
        hasher.update(Sha256::digest(&content));
    }
    Ok(hex::encode(hasher.finalize()))
}

/// Removes folders in `scratch` whose names are `prefix`, the number of a process that has ended, and more.
pub fn tidy(scratch: &Path, prefix: &str) {
    let entries = fs::read_dir(scratch).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let number = name.strip_prefix(prefix).and_then(|rest| rest.split('-').next());
        let process = number.and_then(|number| number.parse::<u32>().ok());
        if process.is_some_and(|number| !Path::new(&format!("/proc/{number}")).exists()) {
            // What cannot be removed takes room, and does no harm.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a read-only file, a folder that is left out, and a work directory.
    fn folder() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        for (name, text) in [("a.c", "int a;"), ("out/b", "left out"), ("sub/c", "c")] {
            fs::create_dir_all(path.join(name).parent().unwrap()).unwrap();
            fs::write(path.join(name), text).unwrap();
        }
        let mut only = fs::metadata(path.join("a.c")).unwrap().permissions();
        only.set_readonly(true);
        fs::set_permissions(path.join("a.c"), only).unwrap();
        drop(workdir::WorkDir::open(&path.join("sub/work")).unwrap());
        folder
    }

    #[test]
    fn read_only_files_are_copied_with_their_times_and_work_directories_are_not() {
        let (from, to) = (folder(), tempfile::tempdir().unwrap());
        let left_out = [from.path().join("out")];
        for _ in 0..2 {
            remove(to.path(), &|_| false).unwrap();
            copy(from.path(), to.path(), &left_out).unwrap();
        }
        let read = |folder: &TempDir| fs::metadata(folder.path().join("a.c")).unwrap();
        assert!(read(&to).permissions().readonly());
        assert_eq!(read(&to).modified().unwrap(), read(&from).modified().unwrap());
        assert!(to.path().join("sub/c").exists());
        assert!(!to.path().join("out").exists() && !to.path().join("sub/work").exists());
    }

    #[test]
    fn what_is_left_out_and_what_others_build_is_no_part_of_the_digest() {
        let folder = folder();
        let left_out = [folder.path().join("out")];
        let before = digest(folder.path(), &left_out).unwrap();
        fs::write(folder.path().join("out/b"), "other").unwrap();
        fs::write(folder.path().join("sub/work/room"), "built").unwrap();
        assert_eq!(digest(folder.path(), &left_out).unwrap(), before);
        fs::write(folder.path().join("sub/c"), "other").unwrap();
        assert_ne!(digest(folder.path(), &left_out).unwrap(), before);
    }
}
