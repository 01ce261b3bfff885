//! `trimtab tune program`: flags for a program.

use std::path::PathBuf;

use anyhow::Context;
use clap::{ArgGroup, Args};
use trimtab_inputs::Recording;
use trimtab_lab::failure::Failure;
use trimtab_lab::shell;
use trimtab_tune::run::{Board, Hot, Programs, Request, Setup, Starter, tune};

use crate::arguments::{self, Outputs};
use crate::progress::Progress;
use crate::verbs::stored;
use crate::verbs::tune::{LimitOptions, SearchOptions, flags_of, verdict};
use crate::{destination, formats, output};

/// Tries compiler flags on a program, beside -O3, -march=native, profiles and link-time optimisation,
/// and finds those that make it execute the fewest instructions, the fewest flags that keep that gain,
/// and, by runs in turn, which are fastest.
///
/// Each set of flags is built in a copy of the program's folder, its run is checked, and its
/// instructions are counted in QEMU, which repeats exactly. What was tried is kept in the work
/// directory: the same command goes on where it was stopped.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("hosts").args(["ssh", "time_on"]).multiple(true)), after_help = "\
Example: a program of the catalogue

    trimtab tune program bzip2 --budget 100 --html bzip2.html

Example: a program of your own, in this folder

    trimtab tune program --build 'make CFLAGS=\"$CFLAGS\"' --run './app small.txt' \\
        --held-out './app large.txt' --check './app --self-test'")]
pub struct Options {
    /// A program of the catalogue, such as bzip2 or zlib
    #[arg(value_name = "NAME", required_unless_present = "build", conflicts_with = "build")]
    pub name: Option<String>,
    /// The command that builds the program in this folder, with $CC, $CXX, $CFLAGS, $CXXFLAGS, $LDFLAGS
    #[arg(long, value_name = "CMD", requires = "run")]
    pub build: Option<String>,
    /// The command that is made faster; it must print the same each time, or have a --check
    #[arg(long, value_name = "CMD", requires = "build")]
    pub run: Option<String>,
    /// A command that judges the flags and does not take part in finding them
    #[arg(long, value_name = "CMD", requires = "build")]
    pub held_out: Option<String>,
    /// A command that fails where the program does not work, in the place of comparing what it prints
    #[arg(long, value_name = "CMD", requires = "build")]
    pub check: Option<String>,
    /// The file that is built [default: what --run begins with]
    #[arg(long, value_name = "PATH", requires = "build")]
    pub program: Option<PathBuf>,
    /// Give the flags only to the hot objects: the fewest with this share of what is executed, as 90%,
    /// or those of the sources named, as a.c,b.c; all others are built at --level
    #[arg(long, value_name = "SHARE|FILES", value_parser = hot)]
    pub hot: Option<Hot>,
    /// Find the hot objects by this trace of another run, in any form that trimtab reads [default: --run is
    /// counted]
    #[arg(long, value_name = "FILE", requires = "hot")]
    pub hot_trace: Option<PathBuf>,
    /// The compiler: gcc, clang, another name, or a path
    #[arg(long, value_name = "NAME", default_value = "gcc")]
    pub compiler: String,
    /// Leave out flags for newer processors than the compiler's default
    #[arg(long)]
    pub portable: bool,
    /// What is chosen among, and how.
    #[command(flatten)]
    pub search: SearchOptions,
    /// Sets of flags that the search tries
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..))]
    pub budget: u32,
    /// Most rounds of runs in turn that decide what is fastest; 0 times nothing
    #[arg(long, value_name = "N", default_value = "15")]
    pub rounds: u32,
    /// What builds and runs may take.
    #[command(flatten)]
    pub limits: LimitOptions,
    /// Have N workers build and count, each started by srun as a job of Slurm; they need trimtab, this
    /// folder and that of --work at the same paths
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub slurm: Option<u32>,
    /// An option for the srun of each worker, as --srun=--partition=night
    #[arg(long, value_name = "OPTION", requires = "slurm", allow_hyphen_values = true)]
    pub srun: Vec<String>,
    /// Have workers build and count on these hosts, as many on one as it is named, started by ssh; without
    /// --ssh-copy they need trimtab, this folder and that of --work at the same paths
    #[arg(long, value_name = "HOST,...", value_delimiter = ',', conflicts_with = "slurm", value_parser = host)]
    pub ssh: Vec<String>,
    /// An option for ssh, as --ssh-option=-p2222
    #[arg(long, value_name = "OPTION", requires = "hosts", allow_hyphen_values = true)]
    pub ssh_option: Vec<String>,
    /// The hosts share no folder with this machine: copy trimtab and the program there, below ~/.cache/trimtab
    #[arg(long, requires = "ssh")]
    pub ssh_copy: bool,
    /// Time the best on this host, and not here; trimtab and the program are copied there, below
    /// ~/.cache/trimtab
    #[arg(long, value_name = "HOST", value_parser = host)]
    pub time_on: Option<String>,
    /// Sets of flags that the search names before it is told what came of any of them [default: 2, or four for
    /// each worker]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub at_once: Option<u32>,
    /// Where to work, and where what was tried is kept
    #[arg(long, value_name = "DIR", default_value = arguments::WORK)]
    pub work: PathBuf,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Sets of flags that are named at once for each worker: with one, all would wait for the slowest each time.
const FOR_EACH_WORKER: usize = 4;

impl Options {
    fn request(&self) -> anyhow::Result<Request> {
        let program = match (&self.name, &self.build, &self.run) {
            (Some(name), _, _) => Programs::Catalogue(name.clone()),
            (None, Some(build), Some(run)) => Programs::Own {
                folder: std::env::current_dir().context("cannot find the current folder")?,
                build: build.clone(),
                run: run.clone(),
                held_out: self.held_out.clone(),
                check: self.check.clone(),
                program: self.program.clone(),
            },
            _ => {
                let why = "name a program of the catalogue, or give --build and --run; see --help";
                return Err(Failure::usage(why).into());
            }
        };
        let Outputs { json, html } = &self.outputs;
        let outside = [json, html, &self.search.flags, &self.hot_trace];
        let setup = Setup {
            compiler: self.compiler.clone(),
            level: self.search.level.clone(),
            flags: flags_of(self.search.flags.as_deref())?,
            portable: self.portable,
            core: self.search.core.clone(),
            limits: self.limits.limits(),
            work: self.work.clone(),
            outside: outside.into_iter().flatten().cloned().collect(),
            command: shell::own_words().join(" "),
        };
        let workers = self.workers();
        let mut plan = self.search.plan(self.budget, None);
        let for_workers = workers.as_ref().map_or(0, |workers| workers.count() * FOR_EACH_WORKER);
        plan.batch = match self.at_once {
            Some(asked) => asked as usize,
            None => plan.batch.max(for_workers),
        };
        let hot = self.hot.clone();
        let hot_trace = match &self.hot_trace {
            Some(file) => Some(Recording::open(file)?.trace(formats::ALL)?),
            None => None,
        };
        let time_on =
            self.time_on.clone().map(|host| Board { host, options: self.ssh_option.clone() });
        let rounds = self.rounds;
        Ok(Request { program, hot, hot_trace, setup, plan, rounds, time_on, workers })
    }

    fn workers(&self) -> Option<Starter> {
        match self.slurm {
            Some(count) => {
                let options = self.srun.clone();
                Some(Starter::Slurm { count: count as usize, options })
            }
            None if self.ssh.is_empty() => None,
            None => {
                let options = self.ssh_option.clone();
                Some(Starter::Ssh { hosts: self.ssh.clone(), options, copies: self.ssh_copy })
            }
        }
    }
}

/// Reads the name of a host.
fn host(name: &str) -> Result<String, String> {
    match name.is_empty() || name.starts_with('-') {
        true => Err("expected the name of a host".to_owned()),
        false => Ok(name.to_owned()),
    }
}

/// Reads which objects get the flags.
fn hot(text: &str) -> Result<Hot, String> {
    let Some(percent) = text.strip_suffix('%') else {
        let sources: Vec<PathBuf> =
            text.split(',').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
        return match sources.is_empty() {
            true => Err("expected a share, as 90%, or names of sources, as a.c,b.c".to_owned()),
            false => Ok(Hot::Sources(sources)),
        };
    };
    match percent.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(Hot::Share(percent / 100.0)),
        _ => Err(format!("expected a share above 0 % and up to 100 %, not {text}")),
    }
}

/// Tunes.
///
/// # Errors
/// What is missing, a program that cannot be tuned, and a result of which something does not hold.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let found = tune(&options.request()?, &Progress::new())?;
    stored::keep(&options.work, &found)?;
    output::report(&options.outputs, &found)?;
    verdict(&found)
}
