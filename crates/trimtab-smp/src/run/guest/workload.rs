//! What runs in a guest, and how it gets there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use trimtab_lab::shell;
use trimtab_lab::tools::{self, FoundTool};
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::calls;
use trimtab_machine::guest;
use trimtab_machine::guest::parallel::program as compiled;

pub(super) use trimtab_machine::guest::parallel::RUNNER;

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
    /// Processes that count and read a file, in turn.
    Dial,
    /// The same, and all begin each round together.
    Step,
    /// Calls of one subsystem.
    Files,
    /// Calls of one subsystem.
    Network,
    /// Calls of one subsystem.
    Memory,
    /// Calls of one subsystem.
    Ipc,
    /// Calls of one subsystem.
    Processes,
    /// Calls of all of these, in a random order.
    Mix,
    /// The shortest calls.
    Calls,
    /// Processes that end soon, each for a call of a telephone exchange.
    Traffic,
    /// Debian's PostMark in several processes.
    Postmark,
    /// make of a small program, with as many jobs as there are CPUs.
    Make,
    /// One of most calls that there are, with checks.
    Suite,
}

impl OwnWorkload {
    /// Those that any kernel runs, and whose speed on more CPUs says something of these.
    pub const SCALE: [OwnWorkload; 4] = [Self::Spin, Self::Fft, Self::Lu, Self::Radix];
    /// All of them.
    pub const ALL: [OwnWorkload; 17] = [
        Self::Spin,
        Self::Fft,
        Self::Lu,
        Self::Radix,
        Self::Dial,
        Self::Step,
        Self::Files,
        Self::Network,
        Self::Memory,
        Self::Ipc,
        Self::Processes,
        Self::Mix,
        Self::Calls,
        Self::Traffic,
        Self::Postmark,
        Self::Make,
        Self::Suite,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Fft => "fft",
            Self::Lu => "lu",
            Self::Radix => "radix",
            Self::Dial => "dial",
            Self::Step => "step",
            Self::Files => "files",
            Self::Network => "network",
            Self::Memory => "memory",
            Self::Ipc => "ipc",
            Self::Processes => "processes",
            Self::Mix => "mix",
            Self::Calls => "calls",
            Self::Traffic => "traffic",
            Self::Postmark => "postmark",
            Self::Make => "make",
            Self::Suite => "suite",
        }
    }

    /// Its command line in the guest. The second word of [`Self::has_dial`] is only a first try.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Spin => &["spin", "200"],
            Self::Fft => &["fft", "{}", "16"],
            Self::Lu => &["lu", "{}", "256"],
            Self::Radix => &["radix", "{}", "1048576"],
            Self::Dial => &["dial", "20000", "6000"],
            Self::Step => &["dial", "20000", "2000", "{}"],
            Self::Files => &["subsystem", "files", "4000"],
            Self::Network => &["subsystem", "network", "1500"],
            Self::Memory => &["subsystem", "memory", "1500"],
            Self::Ipc => &["subsystem", "ipc", "4000"],
            Self::Processes => &["subsystem", "processes", "1500"],
            Self::Mix => &["subsystem", "mix", "200"],
            Self::Calls => &["subsystem", "calls", "2000"],
            Self::Traffic => &["traffic", "200", "75000"],
            Self::Postmark => &["postmark", "10000", "1000", "100"],
            Self::Make => &["make", "-s", "-C", "/make", "-j", "{}"],
            Self::Suite => &["suite", "21"],
        }
    }

    /// Whether it takes a number that says how much of its time is in the kernel.
    pub fn has_dial(self) -> bool {
        matches!(self, Self::Dial | Self::Step)
    }

    /// As often as it runs at the same time where nobody says so.
    pub fn copies(self) -> Copies {
        match self {
            Self::Fft | Self::Lu | Self::Radix | Self::Make | Self::Suite => Copies::Fixed(1),
            // As the thesis had them.
            Self::Postmark => Copies::Fixed(8),
            _ => Copies::Each,
        }
    }
}

/// What runs in a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScaleWorkload {
    /// A workload of ours.
    Own(OwnWorkload),
    /// A workload of ours [that counts](OwnWorkload::has_dial) to a number between its calls.
    Counting(OwnWorkload, u64),
    /// A program of this machine and its arguments, in which `{}` stands for the number of CPUs.
    Command(Vec<String>),
}

/// How many copies of a workload run at the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Copies {
    /// As many as there are CPUs, each bound to one.
    #[default]
    Each,
    /// So many on any number of CPUs; Linux decides where.
    Fixed(u32),
}

/// What a guest says of what its kernel counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// Its kernel does not count.
    Nothing,
    /// Its counters.
    Sums,
    /// These, and what its one CPU did in its order.
    Stretches,
    /// Nothing, but copies run one after the other, with marks for [the plugin that watches
    /// locks](trimtab_machine::boot::LockTracer).
    InTurn,
}

/// As many stretches of time are kept: those of all our workloads that the model is for, some megabytes on the console.
const MOST_STRETCHES: u32 = 200_000;

impl Copies {
    pub(in crate::run) fn on(self, cpus: u32) -> u32 {
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
            Self::Own(own) | Self::Counting(own, _) => own.name().to_owned(),
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
            Self::Counting(own, count) => {
                let mut words: Vec<String> =
                    own.words().iter().map(|&word| word.to_owned()).collect();
                if let Some(word) = words.get_mut(1) {
                    *word = count.to_string();
                }
                words
            }
            Self::Command(words) => words.clone(),
        }
    }

    /// What a guest with so many CPUs runs, for its shell; and what it says of what the kernel's coarse locks
    /// counted.
    pub(super) fn script(&self, copies: Copies, cpus: u32, counts: Counts) -> String {
        let words = self.words();
        let program = match self {
            Self::Own(OwnWorkload::Make) => "/usr/bin/make".to_owned(),
            Self::Own(_) | Self::Counting(..) => {
                format!("/bin/{}", words.first().map_or("", String::as_str))
            }
            Self::Command(_) => format!("/usr/bin/{}", self.name()),
        };
        let mut line = vec![format!("/bin/{RUNNER}")];
        if matches!(counts, Counts::Sums | Counts::Stretches) {
            line.push("-k".to_owned());
        }
        if matches!(counts, Counts::Stretches) {
            line.extend(["-r".to_owned(), MOST_STRETCHES.to_string()]);
        }
        if counts == Counts::InTurn {
            line.push("-t".to_owned());
        } else if copies == Copies::Each {
            line.push("-p".to_owned());
        }
        line.push(copies.on(cpus).to_string());
        line.push(program);
        let number = cpus.to_string();
        line.extend(words.iter().skip(1).map(|word| word.replace("{}", &number)));
        let before = if *self == Self::Own(OwnWorkload::Make) { SMALL_PROGRAM } else { "" };
        format!("{before}exec {}\n", shell::command_line(line))
    }

    /// Its files in the guest, by their paths there.
    pub(super) fn files(
        &self,
        work: &WorkDir,
        gcc: &FoundTool,
    ) -> Result<BTreeMap<String, PathBuf>> {
        let mut files = match self {
            Self::Own(OwnWorkload::Suite) => {
                BTreeMap::from([(calls::PROGRAM.to_owned(), calls::program(gcc).get(work)?)])
            }
            Self::Own(OwnWorkload::Make) => builders(gcc)?,
            Self::Own(own) | Self::Counting(own, _) => {
                let name = own.words().first().context("a workload of ours has no program")?;
                let mut files = match own {
                    OwnWorkload::Postmark => {
                        guest::programs::files(&[tools::find("postmark")?.path])?
                    }
                    _ => BTreeMap::new(),
                };
                files.insert(format!("bin/{name}"), compiled(name, gcc).get(work)?);
                files
            }
            Self::Command(words) => {
                let given = words.first().context("there is no command; expected a program")?;
                let program = found(given)
                    .with_context(|| format!("there is no program {given} on this machine"))?;
                guest::programs::files(&[program])?
            }
        };
        files.insert(format!("bin/{RUNNER}"), compiled(RUNNER, gcc).get(work)?);
        Ok(files)
    }
}

/// Makes the sources that [`OwnWorkload::Make`] compiles.
const SMALL_PROGRAM: &str = include_str!("../../../../../guest/smp/make.sh");

/// What compiles and links in a guest: programs of this machine.
fn builders(gcc: &FoundTool) -> Result<BTreeMap<String, PathBuf>> {
    let of_gcc = ["cc1", "as", "ld"].map(|name| guest::programs::of_gcc(&gcc.path, name));
    let mut programs = vec![tools::find("make")?.path];
    for program in of_gcc {
        programs.push(program?);
    }
    Ok(guest::programs::files(&programs)?)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Where programs of ours run on this machine.
    struct Host(tempfile::TempDir);

    impl Host {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        /// How a program ends, and what it prints.
        fn run(&self, name: &str, arguments: &[&str]) -> (Option<i32>, String) {
            let work = WorkDir::open(self.0.path()).unwrap();
            let gcc = tools::find("gcc").unwrap();
            let program = compiled(name, &gcc).get(&work).unwrap();
            let output = std::process::Command::new(program).args(arguments).output().unwrap();
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        }
    }

    #[test]
    fn a_command_is_told_the_number_of_cpus_and_bound_where_each_has_one() {
        let words = ["./a/prog", "--threads={}", "two words"].map(str::to_owned);
        let command = ScaleWorkload::Command(words.into());
        assert_eq!(command.name(), "prog");
        let script = command.script(Copies::Fixed(3), 4, Counts::Nothing);
        assert_eq!(script, "exec /bin/scale 3 /usr/bin/prog --threads=4 'two words'\n");
        let own = ScaleWorkload::Own(OwnWorkload::Spin).script(Copies::Each, 4, Counts::Nothing);
        assert_eq!(own, "exec /bin/scale -p 4 /bin/spin 200\n");
        let dial =
            ScaleWorkload::Counting(OwnWorkload::Step, 7).script(Copies::Each, 2, Counts::Sums);
        assert_eq!(dial, "exec /bin/scale -k -p 2 /bin/dial 7 2000 2\n");
        let spin = ScaleWorkload::Own(OwnWorkload::Spin);
        let kept = spin.script(Copies::Each, 1, Counts::Stretches);
        assert_eq!(kept, format!("exec /bin/scale -k -r {MOST_STRETCHES} -p 1 /bin/spin 200\n"));
        let turns = spin.script(Copies::Each, 2, Counts::InTurn);
        assert_eq!(turns, "exec /bin/scale -t 2 /bin/spin 200\n");
    }

    #[test]
    fn workloads_of_ours_are_right_with_any_number_of_threads() {
        let host = Host::new();
        let run = |name, arguments: &[&str]| host.run(name, arguments);
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
    fn the_small_program_is_built_and_checks_itself() {
        let host = Host::new();
        let folder = host.0.path();
        let programs = folder.join("programs");
        std::fs::create_dir(&programs).unwrap();
        let gcc = tools::find("gcc").unwrap();
        for (path, program) in builders(&gcc).unwrap() {
            if let Some(name) = path.strip_prefix("usr/bin/") {
                std::os::unix::fs::symlink(program, programs.join(name)).unwrap();
            }
        }
        // A guest has busybox for these.
        let script = SMALL_PROGRAM
            .replace("busybox ", "")
            .replace("PATH=/bin", &format!("PATH={}:/bin", programs.display()))
            .replace("/make", &folder.join("make").display().to_string());
        let run = |then: &str| {
            let mut shell = std::process::Command::new("sh");
            let output = shell.arg("-c").arg(format!("{script}{then}")).output().unwrap();
            (output.status.code(), String::from_utf8(output.stderr).unwrap())
        };
        let make = format!("make -s -C {} -j 3\n", folder.join("make").display());
        assert_eq!(run(&make), (Some(0), String::new()));
        let wrong =
            format!("cd {}; sed -i 's/i + 7/i + 8/' part7.c\n", folder.join("make").display());
        assert_eq!(run(&format!("{wrong}{make}")).0, Some(2));
    }

    #[test]
    fn the_time_is_that_of_the_last_copy() {
        let host = Host::new();
        let run = |arguments: &[&str]| host.run(RUNNER, arguments);
        let (code, said) = run(&["2", "/bin/echo", "hello"]);
        assert_eq!((code, said.matches("hello\n").count()), (Some(0), 2), "{said}");
        assert!(said.contains("trimtab: scale cpus ") && said.contains("scale nanoseconds "));
        assert_eq!(run(&["2", "/bin/false"]).0, Some(1));
        assert_eq!(run(&["1", "/no/program"]).0, Some(1));
        assert_eq!(run(&["0", "/bin/true"]).0, Some(2));
        // In turn, each does it twice.
        let (code, said) = run(&["-t", "1", "/bin/echo", "hello"]);
        assert_eq!((code, said.matches("hello\n").count()), (Some(0), 2), "{said}");
        assert_eq!(run(&["-t", "1", "/bin/false"]).0, Some(1));
        assert_eq!(run(&["-t", "-p", "1", "/bin/true"]).0, Some(2));
    }

    #[test]
    fn each_workload_of_ours_has_a_program() {
        let gcc = FoundTool { path: "gcc".into(), version: None };
        let others = [OwnWorkload::Suite, OwnWorkload::Make];
        for own in OwnWorkload::ALL.into_iter().filter(|own| !others.contains(own)) {
            let name = own.words()[0];
            let sources = compiled(name, &gcc).sources;
            assert!(sources.iter().any(|(file, _)| *file == format!("{name}.c")), "{name}");
        }
    }

    #[test]
    fn calls_that_a_program_cannot_make_are_errors() {
        let host = Host::new();
        let run = |name, arguments: &[&str]| host.run(name, arguments);
        for (name, words) in [
            ("traffic", &["0", "10"][..]),
            ("traffic", &["10"]),
            ("postmark", &["10", "10"]),
            ("postmark", &["x", "10", "100"]),
        ] {
            let (code, said) = run(name, words);
            assert!(code == Some(2) && said.contains("expected"), "{name}: {said}");
        }
    }

    #[test]
    fn calls_of_a_subsystem_do_what_they_should_on_any_kernel() {
        let host = Host::new();
        let run = |arguments: &[&str]| host.run("subsystem", arguments);
        for name in ["network", "memory", "ipc", "processes", "calls"] {
            assert_eq!(run(&[name, "3"]), (Some(0), String::new()), "{name}");
        }
        assert_eq!(run(&["files", "0"]).0, Some(2));
        assert_eq!(run(&["none", "3"]).0, Some(2));
    }
}
