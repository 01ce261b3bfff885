//! What a run costs, which repeats exactly: QEMU runs the program, and a plugin counts instructions, or puts them
//! through the model of a core.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use trimtab_lab::failure::Failure;
use trimtab_lab::process::{Job, JobOutput};
use trimtab_lab::script;
use trimtab_lab::shell::quoted;
use trimtab_lab::tools;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::plugin;

use super::core_model::{self, CYCLES, CoreModel, INSTRUCTIONS};
use super::request::Limits;
use super::subject::{Costs, Fault};

/// What a run cost and gave.
#[derive(Debug, Clone, PartialEq)]
pub struct RunCount {
    /// Instructions of the program, in all its processes; of a core also its cycles, and what they are made of.
    pub costs: Costs,
    /// SHA-256 of what the command printed.
    pub output: String,
}

/// Counts instructions.
#[derive(Debug, Clone)]
pub struct Counter {
    qemu: PathBuf,
    plugin: PathBuf,
    /// The core whose cycles count, if it is not instructions alone.
    core: Option<CoreModel>,
    /// What counts depend on.
    pub version: String,
}

/// Behind the name of the program: where it is while a script stands in its place.
pub const MOVED: &str = ".counted";
/// What the plugin writes, for each process one.
const COUNTS: &str = "trimtab-count";
/// What the program is given as its environment: the loader reads all of it, so that more of it would
/// be more instructions.
const ENVIRONMENT: &str = "env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/ LC_ALL=C";

impl Counter {
    /// Finds QEMU, and builds the plugin where `work` does not have it.
    ///
    /// # Errors
    /// That they are not to be had.
    pub fn prepare(work: &WorkDir, core: Option<&str>) -> Result<Self> {
        let qemu = tools::find("qemu-user")?;
        let kept = plugin::kept(work, &tools::find("gcc")?)?;
        let version = qemu.version_text();
        let core = core.map(|id| CoreModel::prepare(work, id)).transpose()?;
        Ok(Self { qemu: qemu.path, plugin: kept.path, core, version })
    }

    /// What runs are judged by: [`INSTRUCTIONS`], or [`CYCLES`].
    pub fn metric(&self) -> &'static str {
        if self.core.is_some() { CYCLES } else { INSTRUCTIONS }
    }

    /// The core whose cycles count.
    pub fn core(&self) -> Option<&CoreModel> {
        self.core.as_ref()
    }

    /// Runs a command in `folder` that runs the file `program` there, and counts what that executes.
    ///
    /// # Errors
    /// [`Fault::Flags`] where the command fails, takes more than `limits`, or does not run the program.
    pub fn count(
        &self,
        folder: &Path,
        program: &Path,
        command: &str,
        limits: Limits,
    ) -> Result<RunCount, Fault> {
        let captured = match &self.core {
            Some(core) => {
                let more = format!(",{}", core.arguments());
                self.run(folder, program, command, (&core.plugin, &more), limits)
            }
            None => self.run(folder, program, command, (&self.plugin, ""), limits),
        };
        // Removed, whatever came of it.
        let costs = take_costs(folder, self.core.as_ref())?;
        let output = hex::encode(Sha256::digest(&captured?.output));
        match costs {
            Some(costs) => Ok(RunCount { costs, output }),
            None => Err(not_run(program, command).into()),
        }
    }

    /// Runs a command as [`Self::count`] does, and gives the files in `folder` that say what each process
    /// of the program executed.
    ///
    /// # Errors
    /// As [`Self::count`].
    pub fn trace(
        &self,
        folder: &Path,
        program: &Path,
        command: &str,
        limits: Limits,
    ) -> Result<Vec<PathBuf>, Fault> {
        self.run(folder, program, command, (&self.plugin, ""), limits)?;
        let traces = written(folder)?;
        match traces.is_empty() {
            true => Err(not_run(program, command).into()),
            false => Ok(traces),
        }
    }

    fn run(
        &self,
        folder: &Path,
        program: &Path,
        command: &str,
        (plugin, more): (&Path, &str),
        limits: Limits,
    ) -> Result<JobOutput, Fault> {
        let place = folder.join(program);
        let moved = PathBuf::from(format!("{}{MOVED}", place.display()));
        fs::rename(&place, &moved).with_context(|| format!("cannot move {}", place.display()))?;
        // The machine is the same everywhere, with all that QEMU has; the program lies where it is
        // called, so that no path has another length.
        script::write(
            &place,
            &format!(
                "#!/bin/sh\nexec {ENVIRONMENT} {} -cpu max -0 \"$0\" -plugin {},out={}{more} \
                 \"$0{MOVED}\" \"$@\"\n",
                quoted(&self.qemu),
                quoted(plugin),
                quoted(folder.join(COUNTS)),
            ),
        )
        .with_context(|| format!("cannot write {}", place.display()))?;
        let captured = Job::new("the counted run", "/bin/sh")
            .args(["-c", command])
            .dir(folder)
            .limit(limits.run)
            .memory(limits.memory)
            .capture();
        fs::rename(&moved, &place).with_context(|| format!("cannot move {}", place.display()))?;
        captured.map_err(Fault::of_process)
    }
}

fn not_run(program: &Path, command: &str) -> Failure {
    Failure::new(format!(
        "the command {command:?} ended well, and did not run the program {}",
        program.display()
    ))
    .hint("name the file that is built with --program")
}

/// The files that the plugin wrote in a folder, by name.
fn written(folder: &Path) -> Result<Vec<PathBuf>> {
    let cannot = || format!("cannot read {}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if path.file_name().unwrap_or_default().to_string_lossy().starts_with(COUNTS) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Sums what a plugin wrote in a folder, and removes it; none where it wrote nothing.
fn take_costs(folder: &Path, model: Option<&CoreModel>) -> Result<Option<Costs>> {
    let mut sum = None;
    for path in written(folder)? {
        let costs = match model {
            Some(model) => {
                let text = fs::read_to_string(&path);
                let text = text.with_context(|| format!("cannot read {}", path.display()))?;
                model.costs(&core_model::read(&text, &path)?.total)
            }
            None => Costs::from([(INSTRUCTIONS.to_owned(), instructions(&path)? as f64)]),
        };
        let all: &mut Costs = sum.get_or_insert_default();
        for (name, cost) in costs {
            *all.entry(name).or_default() += cost;
        }
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(sum)
}

/// Of what the plugin that traces wrote, how many instructions ran.
fn instructions(path: &Path) -> Result<u64> {
    let file = fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let head = BufReader::new(file).lines().take(8).map_while(Result::ok);
    head.filter_map(|line| line.strip_prefix("instructions ")?.parse::<u64>().ok())
        .next()
        .with_context(|| format!("{} says no instructions", path.display()))
}
