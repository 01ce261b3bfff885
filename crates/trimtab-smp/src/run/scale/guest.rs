//! The guest in which a workload runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use include_dir::{Dir, include_dir};
use trimtab_lab::observe::Observe;
use trimtab_lab::shell;
use trimtab_lab::tools::{self, FoundTool};
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::Isa;
use trimtab_machine::boot::{BootRequest, Clock, KeptRequest};
use trimtab_machine::guest::compiled::CompiledProgram;
use trimtab_machine::guest::{self, Workload};
use trimtab_machine::kernel::{BuildInputs, GeneratedFiles, KernelImage, Toolchain};
use trimtab_machine::qemu::parallel;
use trimtab_machine::testbed::Testbed;

use super::{ScaleRequest, said};
use crate::report::scale::ScaleRun;

/// The most CPUs of a guest.
pub const MOST_CPUS: u32 = 16;
/// What the kernel needs beside its configuration.
const KERNEL_LINES: &str = "CONFIG_SMP=y\nCONFIG_NR_CPUS=16\n";
/// A boot takes so long at most.
const LIMIT: Duration = Duration::from_secs(1800);
/// C programs that run in the guest.
static PROGRAMS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../guest/smp");
/// The program that takes the time.
const RUNNER: &str = "scale";

/// Workloads of ours. Each checks its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnWorkload {
    /// Processes that count; nothing is shared.
    Spin,
    /// Threads that do a Fourier transform of 2^16 numbers.
    Fft,
    /// Threads that factor a matrix of 256 by 256.
    Lu,
    /// Threads that sort 2^20 numbers.
    Radix,
}

impl OwnWorkload {
    /// All of them.
    pub const ALL: [OwnWorkload; 4] = [Self::Spin, Self::Fft, Self::Lu, Self::Radix];

    /// Its name, which is that of its program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Fft => "fft",
            Self::Lu => "lu",
            Self::Radix => "radix",
        }
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Spin => &["spin", "200"],
            Self::Fft => &["fft", "{}", "16"],
            Self::Lu => &["lu", "{}", "256"],
            Self::Radix => &["radix", "{}", "1048576"],
        }
    }

    /// As often as it runs at the same time where nobody says so.
    pub fn copies(self) -> Copies {
        match self {
            Self::Spin => Copies::Each,
            Self::Fft | Self::Lu | Self::Radix => Copies::Fixed(1),
        }
    }
}

/// What runs in a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScaleWorkload {
    /// A workload of ours.
    Own(OwnWorkload),
    /// A program of this machine and its arguments, in which `{}` stands for the number of CPUs.
    Command(Vec<String>),
}

/// How many copies of a workload run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// As many as there are CPUs, each bound to one.
    Each,
    /// So many on any number of CPUs; Linux decides where.
    Fixed(u32),
}

impl Copies {
    fn on(self, cpus: u32) -> u32 {
        match self {
            Self::Each => cpus,
            Self::Fixed(copies) => copies,
        }
    }
}

impl ScaleWorkload {
    /// What it is called.
    pub fn name(&self) -> String {
        match self {
            Self::Own(own) => own.name().to_owned(),
            Self::Command(words) => {
                let program = Path::new(words.first().map_or("", String::as_str));
                program.file_name().unwrap_or_default().to_string_lossy().into_owned()
            }
        }
    }

    /// Its command line, in which `{}` stands for the number of CPUs.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Own(own) => own.words().iter().map(|&word| word.to_owned()).collect(),
            Self::Command(words) => words.clone(),
        }
    }

    /// What a guest with so many CPUs runs, for its shell.
    fn script(&self, copies: Copies, cpus: u32) -> String {
        let folder = match self {
            Self::Own(_) => "/bin",
            Self::Command(_) => "/usr/bin",
        };
        let mut line = vec![format!("/bin/{RUNNER}")];
        if copies == Copies::Each {
            line.push("-p".to_owned());
        }
        line.push(copies.on(cpus).to_string());
        line.push(format!("{folder}/{}", self.name()));
        let number = cpus.to_string();
        line.extend(self.words().iter().skip(1).map(|word| word.replace("{}", &number)));
        format!("exec {}\n", shell::command_line(line))
    }

    /// Its files in the guest.
    fn files(&self, work: &WorkDir, gcc: &FoundTool) -> Result<BTreeMap<String, PathBuf>> {
        match self {
            Self::Own(own) => {
                let program = compiled(own.name(), gcc)?.get(work)?;
                Ok(BTreeMap::from([(format!("bin/{}", own.name()), program)]))
            }
            Self::Command(words) => {
                let given = words.first().context("there is no command; expected a program")?;
                let program = found(given)
                    .with_context(|| format!("there is no program {given} on this machine"))?;
                Ok(guest::programs::files(&[program])?)
            }
        }
    }
}

/// Where a program is: a path, or a name to look for in `PATH`.
fn found(program: &str) -> Option<PathBuf> {
    let given = Path::new(program);
    if program.contains('/') {
        return given.is_file().then(|| given.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(given)).find(|path| path.is_file())
}

/// One of our programs for guests.
fn compiled<'a>(name: &'static str, gcc: &'a FoundTool) -> Result<CompiledProgram<'a>> {
    let mut sources = Vec::new();
    for file in PROGRAMS.files() {
        let file_name = file.path().to_str().unwrap_or_default();
        let is_its = file_name.strip_suffix(".c") == Some(name) || file_name.ends_with(".h");
        if let (true, Some(text)) = (is_its, file.contents_utf8()) {
            sources.push((file_name, text));
        }
    }
    Ok(CompiledProgram {
        purpose: "building a workload",
        gcc,
        sources,
        flags: &["-pthread", "-fno-math-errno"],
    })
}

/// A guest with the workload, ready to boot.
#[derive(Debug)]
pub struct Guest<'work> {
    testbed: Testbed<'work>,
    kernel: KernelImage,
    /// The release of its kernel.
    pub kernel_version: String,
    /// The Debian package that its QEMU is built from.
    pub qemu_version: String,
    /// Versions of what it was made with.
    pub versions: BTreeMap<String, String>,
}

impl<'work> Guest<'work> {
    /// Builds QEMU, the kernel and the guest's root, or finds what an earlier run built.
    ///
    /// # Errors
    /// Missing tools, a program that is not there, builds that fail.
    pub fn build(
        work: &'work WorkDir,
        request: &ScaleRequest,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let gcc = tools::find("gcc")?;
        // A command that is not there is found out before anything is built.
        let mut files = request.workload.files(work, &gcc)?;
        files.insert(format!("bin/{RUNNER}"), compiled(RUNNER, &gcc)?.get(work)?);
        let toolchain = Toolchain::Clang(tools::llvm()?);
        let named = (request.config.as_str(), Isa::X86_64);
        let source = request.kernel_source.as_deref();
        let inputs = BuildInputs::find(source, &[], named, request.cpus, toolchain)?;
        let qemu = parallel::get(work, request.qemu_source.as_deref(), observe)?;
        let (source, build) = inputs.with_lines(KERNEL_LINES).prepare(work, observe)?;
        let stage = observe.stage("build the kernel");
        let kernel = build.link(&GeneratedFiles::new(), |line| stage.note_make(line))?;
        stage.ended(kernel.cached, "");
        let workload = |cpus| Workload {
            name: format!("scale-{cpus}"),
            script: request.workload.script(request.copies, cpus),
        };
        let workloads = (1..=request.cpus).map(workload).collect();
        let testbed = Testbed::prepare_files(work, Isa::X86_64, None, workloads, &files)?
            .with_parallel_clock(&qemu);
        Ok(Self {
            versions: testbed.versions().clone(),
            testbed,
            kernel,
            kernel_version: source.release.version.clone(),
            qemu_version: qemu.version,
        })
    }

    /// A boot with so many CPUs, for the workload, in a folder of its own.
    pub fn request(&self, memory_mib: u32, cpus: u32, clock: Clock, folder: &Path) -> BootRequest {
        let mut request = self.testbed.request(&self.kernel, folder);
        request.hardware.cpus = cpus;
        request.hardware.memory_mib = memory_mib;
        request.hardware.clock = clock;
        request.workload = Some(format!("scale-{cpus}"));
        request.limit = LIMIT;
        request
    }

    /// The tracing plugin.
    pub fn plugin(&self) -> &Path {
        self.testbed.plugin()
    }

    /// Boots it with so many CPUs and this quantum. What is known of one CPU is left for the caller.
    pub(super) fn boot(
        &self,
        asked: &ScaleRequest,
        cpus: u32,
        quantum: u32,
        observe: &dyn Observe,
    ) -> Result<ScaleRun> {
        let stage = observe.stage(&format!("boot with {cpus} CPUs, quantum {quantum}"));
        // One nanosecond an instruction, so that the guest's clock counts them.
        let clock = Clock::Parallel { shift: 0, quantum };
        let kept = KeptRequest {
            testbed: &self.testbed,
            kernel: &self.kernel,
            request: self.request(asked.memory_mib, cpus, clock, Path::new("")),
            repetition: asked.repetition,
            digest: (),
        };
        let boot = kept.get()?;
        let found = said(&boot.record.said, "cpus")?;
        if found != u64::from(cpus) {
            bail!("the guest's kernel started {found} of {cpus} CPUs; was it built with SMP?");
        }
        let nanoseconds = said(&boot.record.said, "nanoseconds")?;
        ensure!(nanoseconds > 0, "the workload took no time");
        let console = boot.folder.join("console.log");
        let hash = self.testbed.work().hashes().of(&console)?;
        stage.ended(boot.cached, &format!("{nanoseconds} ns"));
        Ok(ScaleRun {
            cpus,
            copies: asked.copies.on(cpus),
            nanoseconds,
            console: hash,
            host_seconds: boot.record.wall,
            ..ScaleRun::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_told_the_number_of_cpus_and_bound_where_each_has_one() {
        let words = ["./a/prog", "--threads={}", "two words"].map(str::to_owned);
        let command = ScaleWorkload::Command(words.into());
        assert_eq!(command.name(), "prog");
        let script = command.script(Copies::Fixed(3), 4);
        assert_eq!(script, "exec /bin/scale 3 /usr/bin/prog --threads=4 'two words'\n");
        let own = ScaleWorkload::Own(OwnWorkload::Spin).script(Copies::Each, 4);
        assert_eq!(own, "exec /bin/scale -p 4 /bin/spin 200\n");
    }

    #[test]
    fn workloads_of_ours_are_right_with_any_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        let work = WorkDir::open(folder.path()).unwrap();
        let gcc = tools::find("gcc").unwrap();
        let run = |name, arguments: &[&str]| {
            let program = compiled(name, &gcc).unwrap().get(&work).unwrap();
            let output = std::process::Command::new(program).args(arguments).output().unwrap();
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        };
        for threads in ["1", "3", "8"] {
            for (name, size) in [("fft", "10"), ("lu", "80"), ("radix", "10000")] {
                assert_eq!(
                    run(name, &[threads, size]),
                    (Some(0), String::new()),
                    "{name} {threads}"
                );
            }
        }
        assert_eq!(run("spin", &["1"]).0, Some(0));
        assert_eq!(run("fft", &["2", "11"]).0, Some(1));
        for (name, words) in [("spin", &[][..]), ("lu", &["0", "80"]), ("radix", &["2", "x"])] {
            let (code, said) = run(name, words);
            assert!(code == Some(2) && said.contains("expected"), "{name}: {said}");
        }
    }

    #[test]
    fn the_time_is_that_of_the_last_copy() {
        let folder = tempfile::tempdir().unwrap();
        let work = WorkDir::open(folder.path()).unwrap();
        let gcc = tools::find("gcc").unwrap();
        let runner = compiled(RUNNER, &gcc).unwrap().get(&work).unwrap();
        let run = |arguments: &[&str]| {
            let output = std::process::Command::new(&runner).args(arguments).output().unwrap();
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        };
        let (code, said) = run(&["2", "/bin/echo", "hello"]);
        assert_eq!((code, said.matches("hello\n").count()), (Some(0), 2), "{said}");
        assert!(said.contains("trimtab: scale cpus ") && said.contains("scale nanoseconds "));
        assert_eq!(run(&["2", "/bin/false"]).0, Some(1));
        assert_eq!(run(&["1", "/no/program"]).0, Some(1));
        assert_eq!(run(&["0", "/bin/true"]).0, Some(2));
    }

    #[test]
    fn each_workload_of_ours_has_a_program() {
        let gcc = FoundTool { path: "gcc".into(), version: None };
        for name in OwnWorkload::ALL.map(OwnWorkload::name).into_iter().chain([RUNNER]) {
            let sources = compiled(name, &gcc).unwrap().sources;
            assert!(sources.iter().any(|(file, _)| *file == format!("{name}.c")), "{name}");
        }
    }
}
