use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_lab::probe;
use trimtab_lab::process::Job;
use trimtab_probe::{Hook, Options, Selection};

use super::programs::{Program, Sources};
use crate::probe::instrument_files;

const HOOKS: &str = include_str!("../../../../../probe/bench/hooks.c");

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
    pub tool: String,
    /// What happens at entries and exits.
    pub hook: &'static str,
    /// Which functions.
    pub functions: &'static str,
    /// Index of the plain one that it is measured against; its own for these.
    pub base: usize,
    /// How it is run.
    pub command: Vec<OsString>,
    /// With what environment.
    pub environment: Vec<(String, OsString)>,
    /// Whether valgrind can run it.
    pub simulated: bool,
}

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

    /// Compiles all files with these flags; gives the objects.
    pub fn compile(
        &self,
        name: &str,
        compilers: &Compilers,
        flags: &[&str],
    ) -> anyhow::Result<Vec<PathBuf>> {
        let place = self.folder.join(name);
        fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
        let mut objects = Vec::new();
        for file in &self.sources.files {
            let stem = file.file_stem().unwrap_or_default().display();
            let object = place.join(format!("{stem}.o"));
            Job::new(format!("compiling {}", file.display()), self.compiler(compilers))
                .package("g++")
                .args(["-O2", "-g", "-w"])
                .args(&self.sources.flags)
                .args(flags)
                .arg("-c")
                .arg(file)
                .arg("-o")
                .arg(&object)
                .run()?;
            objects.push(object);
        }
        Ok(objects)
    }

    /// Links; gives the command that runs the program.
    pub fn link(
        &self,
        name: &str,
        compilers: &Compilers,
        flags: &[&str],
        objects: &[PathBuf],
    ) -> anyhow::Result<Vec<OsString>> {
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
        let program = std::path::absolute(&program).context("cannot tell the current folder")?;
        let mut command = vec![program.into_os_string()];
        command.extend(self.program.arguments.iter().map(Into::into));
        Ok(command)
    }

    /// Instruments objects, and links them with the run time.
    pub fn probe(
        &self,
        name: &str,
        compilers: &Compilers,
        objects: &[PathBuf],
        hook: Hook,
        selection: Selection,
    ) -> anyhow::Result<(Vec<OsString>, u64)> {
        let options = Options { hook, selection };
        let results = instrument_files(objects, &options, || {})?;
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

    /// Compiles the hook that others are measured with.
    pub fn hook(
        &self,
        name: &str,
        compilers: &Compilers,
        flags: &[&str],
    ) -> anyhow::Result<PathBuf> {
        let source = self.folder.join(format!("{name}-hooks.c"));
        let object = self.folder.join(format!("{name}-hooks.o"));
        fs::write(&source, HOOKS).with_context(|| format!("cannot write {}", source.display()))?;
        Job::new("compiling the hook to compare with", &compilers.c)
            .args(["-O2", "-c"])
            .args(flags)
            .arg(&source)
            .arg("-o")
            .arg(&object)
            .run()?;
        Ok(object)
    }
}
