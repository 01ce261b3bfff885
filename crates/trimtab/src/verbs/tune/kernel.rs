//! `trimtab tune kernel`: flags for a kernel.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use trimtab_lab::failure::Failure;
use trimtab_lab::shell;
use trimtab_machine::Isa;
use trimtab_machine::boot::limits;
use trimtab_machine::testbed::require_tools;
use trimtab_report::Report;
use trimtab_tune::report::TuneProfile;
use trimtab_tune::run::{Calls, Choices, KernelRequest, Limits, PAPER, Setup, tune_kernel};
use trimtab_tune::search::Method;

use crate::arguments::{self, Outputs};
use crate::progress::Progress;
use crate::verbs::stored;
use crate::verbs::tune::{SearchOptions, flags_of, text_of, verdict};
use crate::{destination, output};

/// Tries compiler flags on a kernel, beside -O2, which distributions take, -O3 and -Os, and finds those
/// with which its system calls execute the fewest instructions, and the fewest flags that keep that gain.
///
/// Each set of flags is given to the kernel's build as KCFLAGS. The kernel is booted in QEMU, which counts
/// instructions, and a program in the guest makes each call many times and checks what it did. What was
/// tried is kept in the work directory: the same command goes on where it was stopped.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: the experiment of Kukunas, Cupper and Kapfhammer (GECCO 2010), a population of 10 for 5
generations, which name at most 22 sets of flags, and the search of trimtab with as many; some hours

    trimtab tune kernel --budget 22 --beside paper-ga --html kernel.html

Example: for the system calls of a build

    trimtab tune profile --json calls.json -- make -j2
    trimtab tune kernel --profile calls.json

Example: flags, and the timer's frequency, preemption and CONFIG_CC_OPTIMIZE_FOR_SIZE

    trimtab tune kernel --tune-choices --budget 100")]
pub struct Options {
    /// System calls that flags are found by, all the same; the others judge
    #[arg(long, value_name = "CALL,...", value_delimiter = ',', default_values = PAPER, conflicts_with = "profile")]
    pub calls: Vec<String>,
    /// Find flags by the calls of FILE, the JSON of tune profile, by how often they are made there
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// The kernel's source: a tarball, .dsc file or folder [default: the newest that is installed]
    #[arg(long, value_name = "PATH")]
    pub source: Option<PathBuf>,
    /// The kernel's configuration: tiny, lab, or a file
    #[arg(long, value_name = "NAME", default_value = "tiny")]
    pub config: String,
    /// A static busybox for the guest [default: the one that is installed]
    #[arg(long, value_name = "FILE")]
    pub busybox: Option<PathBuf>,
    /// The compiler: gcc or clang
    #[arg(long, value_name = "NAME", default_value = "gcc")]
    pub compiler: String,
    /// What is chosen among, and how.
    #[command(flatten)]
    pub search: SearchOptions,
    /// Have other searches try as many sets of flags, and say what they found
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub beside: Vec<Method>,
    /// Sets of flags that the search tries
    #[arg(long, value_name = "N", default_value = "50", value_parser = clap::value_parser!(u32).range(1..))]
    pub budget: u32,
    /// Most sets of flags that are tried to leave flags out; where that takes more, the last whole round counts
    #[arg(long, value_name = "N", default_value = "12")]
    pub ablation: u32,
    /// Boots of each kernel of the report with guests in other states, by which its intervals are; 0 for none
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(0..=40))]
    pub boots: u32,
    /// Leave out kernels with another timer frequency, preemption or CONFIG_CC_OPTIMIZE_FOR_SIZE, which are built
    /// beside those with flags
    #[arg(long)]
    pub no_choices: bool,
    /// Have the search choose these, too, beside flags; each is another kernel in a build directory of its own
    #[arg(long, conflicts_with = "no_choices")]
    pub tune_choices: bool,
    /// Seconds that a build may take
    #[arg(long, value_name = "SECONDS", default_value = "3600")]
    pub build_limit: u64,
    /// Seconds that a boot may take
    #[arg(long, value_name = "SECONDS", default_value_t = limits::COMPARED.as_secs())]
    pub limit: u64,
    /// MiB of data that a process of a build may have
    #[arg(long, value_name = "MIB", default_value = "4096", value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub memory_limit: u64,
    /// Where to work, and where what was tried is kept
    #[arg(long, value_name = "DIR", default_value = arguments::WORK)]
    pub work: PathBuf,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

impl Options {
    fn request(&self) -> anyhow::Result<KernelRequest> {
        let limits = Limits {
            build: Duration::from_secs(self.build_limit),
            run: Duration::from_secs(self.limit),
            memory: self.memory_limit << 20,
        };
        let setup = Setup {
            compiler: self.compiler.clone(),
            level: self.search.level.clone(),
            flags: flags_of(self.search.flags.as_deref())?,
            portable: true,
            core: self.search.core.clone(),
            limits,
            work: self.work.clone(),
            outside: Vec::new(),
            command: shell::own_words().join(" "),
        };
        let calls = match &self.profile {
            None => Calls::Equal(self.calls.clone()),
            Some(file) => Calls::Profile(profile(file)?),
        };
        Ok(KernelRequest {
            setup,
            plan: self.search.plan(self.budget, Some(self.ablation)),
            beside: self
                .beside
                .iter()
                .copied()
                .filter(|other| *other != self.search.search)
                .collect(),
            source: self.source.clone(),
            config: self.config.clone(),
            busybox: self.busybox.clone(),
            calls,
            boots: self.boots,
            choices: match (self.tune_choices, self.no_choices) {
                (true, _) => Choices::Searched,
                (false, true) => Choices::Fixed,
                (false, false) => Choices::Measured,
            },
        })
    }
}

/// Reads what `tune profile` wrote.
fn profile(file: &Path) -> anyhow::Result<TuneProfile> {
    let text = text_of(file)?;
    TuneProfile::from_json(&text).map_err(|error| {
        let why = format!("{} is no profile of system calls: {error}", file.display());
        let hint = "make one by `trimtab tune profile --json FILE -- COMMAND`";
        Failure::usage(why).hint(hint).into()
    })
}

/// Tunes.
///
/// # Errors
/// What is missing, a kernel that cannot be tuned, and a result of which something does not hold.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let request = options.request()?;
    require_tools(Isa::X86_64, options.busybox.as_deref())?;
    let found = tune_kernel(&request, &Progress::new())?;
    stored::keep(&options.work, &found)?;
    output::report(&options.outputs, &found)?;
    verdict(&found)
}
