use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_lab::measure;
use trimtab_lab::probe;
use trimtab_lab::process::Job;
use trimtab_probe::{Hook, Options, Selection};

use super::programs::{Program, Sources};
use crate::probe::instrument_files;
use crate::side_by_side;

const HOOKS: [(&str, &str); 2] = [
    ("hooks.c", include_str!("../../../../../probe/bench/hooks.c")),
    ("hooks.h", include_str!("../../../../../probe/bench/hooks.h")),
];

/// A C and a C++ compiler.
#[derive(Debug, Clone)]
pub struct Compilers {
    /// For C.
    pub c: PathBuf,
    /// For C++.
    pub cxx: PathBuf,
}

/// A way to build a program.
#[derive(Debug)]
pub struct Variant {
    /// Who instruments; `plain` for nobody.
    pub tool: &'static str,
    /// What happens at entries and exits.
    pub hook: &'static str,
    /// Which functions.
    pub functions: &'static str,
    /// Index of the plain one that it is measured against; its own for these.
    pub base: usize,
    /// How it is run.
    pub command: Vec<OsString>,
    /// How valgrind runs it, where it can.
    pub simulated: Option<Vec<OsString>>,
    /// Whether a run takes so long that fewer have to do.
    pub is_slow: bool,
    /// Whether the command prints the seconds that count, in place of taking them itself.
    pub reports: bool,
    /// Those of the functions that the tool cannot instrument.
    pub left_alone: Vec<String>,
}

impl Variant {
    /// Whether another tool made it: what that cannot do is no failure of ours.
    pub fn is_peer(&self) -> bool {
        self.tool != "plain" && !self.tool.starts_with("trimtab")
    }
}

/// A program that was linked.
#[derive(Debug)]
pub struct Linked(pub PathBuf);

/// Where a program's objects and variants are.
pub struct Workshop<'a> {
    pub program: &'a Program,
    pub sources: &'a Sources,
    pub folder: &'a Path,
}

impl Workshop<'_> {
    fn compiler<'a>(&self, compilers: &'a Compilers) -> &'a Path {
        if self.program.is_cxx { &compilers.cxx } else { &compilers.c }
    }

    /// How a linked program is run, with much to do or with less.
    pub fn command(&self, linked: &Linked, arguments: &[&str]) -> Vec<OsString> {
        let mut command = vec![linked.0.clone().into_os_string()];
        command.extend(arguments.iter().map(Into::into));
        command
    }

    /// Compiles all files with these flags, on all cores; gives the objects. Objects of an earlier
    /// time are taken where nothing has changed.
    pub fn compile(
        &self,
        name: &str,
        compilers: &Compilers,
        flags: &[&str],
    ) -> anyhow::Result<Vec<PathBuf>> {
        let place = self.folder.join(name);
        fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
        let compiler = self.compiler(compilers);
        let jobs: Vec<(PathBuf, Job)> = self
            .sources
            .files
            .iter()
            .map(|file| {
                let stem = file.file_stem().unwrap_or_default().display();
                let object = place.join(format!("{stem}.o"));
                let job = Job::new(format!("compiling {}", file.display()), compiler)
                    .package("g++")
                    .dir(self.folder)
                    .args(["-O3", "-g", "-w"])
                    .args(&self.sources.flags)
                    .args(flags)
                    .arg("-c")
                    .arg(file)
                    .arg("-o")
                    .arg(&object);
                (object, job)
            })
            .collect();
        let told: String = jobs.iter().map(|(_, job)| job.command_line() + "\n").collect();
        let objects = jobs.iter().map(|(object, _)| object.clone()).collect();
        let record = place.join("compiled");
        let inputs = self.sources.files.iter().map(PathBuf::as_path).chain([compiler]);
        let is_there = fs::read_to_string(&record).is_ok_and(|text| text == told)
            && modified(&record) > inputs.filter_map(modified).max();
        if is_there {
            return Ok(objects);
        }
        side_by_side::each(&jobs, |_, (_, job)| Ok(job.clone().run()?), |_| ())?;
        fs::write(&record, told).with_context(|| format!("cannot write {}", record.display()))?;
        Ok(objects)
    }

    /// Links.
    pub fn link(
        &self,
        name: &str,
        compilers: &Compilers,
        flags: &[&str],
        objects: &[PathBuf],
    ) -> anyhow::Result<Linked> {
        let program = self.folder.join(format!("{name}.bin"));
        Job::new(format!("linking {name}"), self.compiler(compilers))
            .package("g++")
            .args(flags)
            .args(objects)
            .arg("-o")
            .arg(&program)
            .args(self.sources.libraries)
            .arg("-pthread")
            .run()?;
        Ok(Linked(program))
    }

    /// Instruments objects, and links them with the run time. Says how many functions it were.
    pub fn probe(
        &self,
        name: &str,
        compilers: &Compilers,
        objects: &[PathBuf],
        hook: Hook,
        selection: Selection,
    ) -> anyhow::Result<(Linked, u64)> {
        let options = Options { selection, ..Options::new(hook) };
        let results = instrument_files(objects, &options, |_| ())?;
        let place = self.folder.join(name);
        fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
        let mut probed = vec![probe::build(&compilers.c, &place)?];
        let mut count = 0;
        for one in results {
            count += one.result.instrumented.len() as u64;
            let to = place.join(one.path.file_name().unwrap_or_default());
            fs::write(&to, &one.result.bytes)
                .with_context(|| format!("cannot write {}", to.display()))?;
            probed.push(to);
        }
        Ok((self.link(name, compilers, &[], &probed)?, count))
    }

    /// Runs a program with much to do, and gives all that it prints and writes.
    pub fn observe(
        &self,
        linked: &Linked,
        environment: &[(String, OsString)],
    ) -> anyhow::Result<Vec<u8>> {
        let written = self.program.writes.map(|name| self.folder.join(name));
        let command = self.command(linked, self.program.arguments);
        let mut all = measure::output(&command, self.folder, environment)?;
        if let Some(path) = written {
            let found = fs::read(&path);
            all.extend(found.with_context(|| format!("cannot read {}", path.display()))?);
        }
        Ok(all)
    }

    /// Compiles the hook that others are measured with.
    pub fn hook(
        &self,
        name: &str,
        compilers: &Compilers,
        flags: &[&str],
    ) -> anyhow::Result<PathBuf> {
        let object = self.folder.join(format!("{name}-hooks.o"));
        Job::new("compiling the hook to compare with", &compilers.c)
            .args(["-O2", "-c"])
            .args(flags)
            .arg(self.folder.join("hooks.c"))
            .arg("-o")
            .arg(&object)
            .run()?;
        Ok(object)
    }

    /// Writes the sources of the hook.
    pub fn prepare(&self) -> anyhow::Result<()> {
        for (name, text) in HOOKS {
            super::programs::write_if_new(&self.folder.join(name), text)?;
        }
        Ok(())
    }
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}
