//! The ways in which a program is built, and the building and running of one.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_lab::process::Job;
use trimtab_native::measure;
use trimtab_probe::{Hook, Options, Selection, run, runtime};
use trimtab_program::Program as ElfProgram;

use trimtab_lab::failure::Failure;
use trimtab_lab::threads;
use trimtab_lab::workload::programs::{Program, Sources};
use trimtab_probe::run::instrument_files;

const HOOKS: [(&str, &str); 3] = [
    ("hooks.c", include_str!("../../../probe/bench/hooks.c")),
    ("hooks.h", include_str!("../../../probe/bench/hooks.h")),
    ("trimtab_probe.h", runtime::HEADER),
];

/// Where the run time looks for functions, the linker has to find something.
const NO_FUNCTIONS: &str = "__attribute__((section(\"trimtab_probe_functions\"), used, aligned(8)))\n\
                            static char none[8];\n";

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
    /// What it finds in its environment besides.
    pub environment: Vec<(String, OsString)>,
    /// How valgrind runs it, where it can.
    pub simulated: Option<Vec<OsString>>,
    /// Whether a run takes so long that fewer have to do.
    pub is_slow: bool,
    /// Whether the command prints the seconds that count, in place of taking them itself.
    pub reports: bool,
    /// Those of the functions that the tool cannot instrument.
    pub left_alone: Vec<String>,
    /// Calls of instrumented functions in one run, where they were counted in this very way.
    pub events: Option<u64>,
    /// How large it is; none where a tool changes programs in memory.
    pub size: Option<Size>,
    /// Functions with a stub of ours.
    pub stubs: Option<u64>,
}

impl Variant {
    /// Whether another tool made it: what that cannot do is no failure of ours.
    pub fn is_peer(&self) -> bool {
        self.tool != "plain" && !self.tool.starts_with("trimtab")
    }
}

/// Bytes of a program.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Of code.
    pub text: u64,
    /// That are loaded from the file.
    pub loaded: u64,
}

/// A program that was linked.
#[derive(Debug)]
pub struct Executable(pub PathBuf);

impl Executable {
    /// How large it is.
    ///
    /// # Errors
    /// That it cannot be read.
    pub fn size(&self) -> anyhow::Result<Size> {
        let cannot = || format!("cannot read {}", self.0.display());
        let data = fs::read(&self.0).with_context(cannot)?;
        let program = ElfProgram::parse(&data).with_context(cannot)?;
        let sections = program.sections().iter().map(|section| section.range.length());
        let segments = program.segments().iter().map(|segment| segment.file.length());
        Ok(Size { text: sections.sum(), loaded: segments.sum() })
    }
}

/// Where a program's objects and variants are.
pub struct Workshop<'a> {
    pub program: &'a Program,
    pub sources: &'a Sources,
    pub folder: &'a Path,
    /// What compiles the run time, for all: it is gcc that it is written for.
    pub runtime: &'a Path,
}

impl Workshop<'_> {
    /// The compiler for the program's language.
    pub fn compiler<'a>(&self, compilers: &'a Compilers) -> &'a Path {
        if self.program.is_cxx { &compilers.cxx } else { &compilers.c }
    }

    /// How a linked program is run, with much to do or with less.
    pub fn command(&self, linked: &Executable, arguments: &[String]) -> Vec<OsString> {
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
        let place = self.place(name)?;
        let compiler = self.compiler(compilers);
        let jobs: Vec<(PathBuf, Job)> = self
            .sources
            .files
            .iter()
            .map(|file| {
                let stem = file.file_stem().unwrap_or_default().display();
                let object = place.join(format!("{stem}.o"));
                let job = Job::new(format!("compiling {}", file.display()), compiler)
                    .tool("g++")
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
        threads::each(&jobs, |_, (_, job)| Ok(job.clone().run()?), |_| ())?;
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
    ) -> anyhow::Result<Executable> {
        let program = self.folder.join(format!("{name}.bin"));
        Job::new(format!("linking {name}"), self.compiler(compilers))
            .tool("g++")
            .args(flags)
            .args(objects)
            .arg("-o")
            .arg(&program)
            .args(self.sources.libraries)
            .arg("-pthread")
            .run()?;
        Ok(Executable(program))
    }

    /// Instruments objects, and links them with the run time. Gives the names of the functions.
    pub fn probe(
        &self,
        name: &str,
        compilers: &Compilers,
        objects: &[PathBuf],
        hook: Hook,
        selection: Selection,
    ) -> anyhow::Result<(Executable, Vec<String>)> {
        self.probe_as(name, compilers, objects, &Options { selection, ..Options::new(hook) })
    }

    /// The same, with more that can be chosen. Hooks of the user's are linked, too.
    pub fn probe_as(
        &self,
        name: &str,
        compilers: &Compilers,
        objects: &[PathBuf],
        options: &Options,
    ) -> anyhow::Result<(Executable, Vec<String>)> {
        let results = instrument_files(objects, options, |_| ())?;
        let place = self.place(name)?;
        let mut probed = vec![run::build_runtime(self.runtime, &place)?];
        if let Some(hooks) = &options.hooks {
            let to = place.join(runtime::HOOKS_OBJECT);
            fs::write(&to, &hooks.bytes)
                .with_context(|| format!("cannot write {}", to.display()))?;
            probed.push(to);
        }
        let mut functions = Vec::new();
        for one in results {
            functions.extend(one.result.instrumented);
            let to = place.join(one.path.file_name().unwrap_or_default());
            fs::write(&to, &one.result.bytes)
                .with_context(|| format!("cannot write {}", to.display()))?;
            probed.push(to);
        }
        Ok((self.link(name, compilers, &[], &probed)?, functions))
    }

    /// Links objects as they are with the run time. Gives the bytes of code that it has.
    pub fn runtime_text(
        &self,
        compilers: &Compilers,
        objects: &[PathBuf],
        plain: &Executable,
    ) -> anyhow::Result<u64> {
        let place = self.place("runtime")?;
        let (source, object) = (place.join("none.c"), place.join("none.o"));
        trimtab_lab::workload::programs::write_if_new(&source, NO_FUNCTIONS)?;
        Job::new("compiling a list of no functions", &compilers.c)
            .arg("-c")
            .arg(&source)
            .arg("-o")
            .arg(&object)
            .run()?;
        let mut all = vec![run::build_runtime(self.runtime, &place)?, object];
        all.extend(objects.iter().cloned());
        let linked = self.link("runtime", compilers, &[], &all)?;
        Ok(linked.size()?.text.saturating_sub(plain.size()?.text))
    }

    /// A folder of this name.
    pub fn place(&self, name: &str) -> anyhow::Result<PathBuf> {
        let place = self.folder.join(name);
        fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
        Ok(place)
    }

    /// Runs a program with much to do, and gives all that it prints and writes.
    pub fn observe(
        &self,
        linked: &Executable,
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

    /// Runs a program whose hook counts, and gives how often it was entered.
    pub fn entries(&self, counting: &Executable) -> anyhow::Result<u64> {
        let file = self.folder.join("hooks.count");
        fs::write(&file, "").with_context(|| format!("cannot write {}", file.display()))?;
        let environment = [("HOOKS_FILE".to_owned(), file.clone().into_os_string())];
        let command = self.command(counting, self.program.arguments);
        measure::processor_seconds(&command, self.folder, &environment)?;
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let entered = text.split_whitespace().next().and_then(|word| word.parse().ok());
        entered.ok_or_else(|| {
            Failure::new(format!(
                "{} wrote {text:?}, where the number of entries was expected",
                counting.0.display()
            ))
            .into()
        })
    }

    /// Writes the sources of the hook.
    pub fn prepare(&self) -> anyhow::Result<()> {
        for (name, text) in HOOKS {
            trimtab_lab::workload::programs::write_if_new(&self.folder.join(name), text)?;
        }
        Ok(())
    }
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}
