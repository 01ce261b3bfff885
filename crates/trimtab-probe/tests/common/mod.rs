//! Compiling, instrumenting, linking and running small programs.

#![allow(dead_code, reason = "each test program uses a part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use tempfile::TempDir;
use trimtab_probe::run::build_runtime;
use trimtab_probe::{Hook, Options, Outcome, Recording, Selection, instrument};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
pub const RUNTIME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../probe");

/// Seconds that a program may take, also on a busy machine. One that takes longer runs in a circle.
const LIMIT: u32 = 100;

/// A compiler for C and the one for C++ that belongs to it.
#[derive(Debug, Clone, Copy)]
pub struct Compiler {
    pub c: &'static str,
    pub cxx: &'static str,
    pub machine: Machine,
}

/// What programs are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    X86_64,
    Aarch64,
}

pub const GCC: Compiler = Compiler { c: "gcc", cxx: "g++", machine: Machine::X86_64 };
pub const GCC_AARCH64: Compiler = Compiler {
    c: "aarch64-linux-gnu-gcc",
    cxx: "aarch64-linux-gnu-g++",
    machine: Machine::Aarch64,
};

impl Machine {
    /// gcc, and the newest clang that is there.
    pub fn compilers(self) -> Vec<Compiler> {
        let clang = [
            ("clang", "clang++"),
            ("clang-22", "clang++-22"),
            ("clang-19", "clang++-19"),
            ("clang-16", "clang++-16"),
            ("clang-15", "clang++-15"),
        ];
        let works = |(_, cxx): &(&str, &str)| {
            Command::new(cxx).arg("--version").output().is_ok_and(|out| out.status.success())
        };
        let mut all = vec![self.gcc()];
        match clang.into_iter().find(works) {
            Some((c, cxx)) => all.push(Compiler { c, cxx, machine: self }),
            None => println!("there is no clang: only gcc's code is tested"),
        }
        all
    }

    pub fn gcc(self) -> Compiler {
        match self {
            Self::X86_64 => GCC,
            Self::Aarch64 => GCC_AARCH64,
        }
    }

    /// The run time, as users get it.
    pub fn runtime(self) -> &'static Path {
        static BUILT: [OnceLock<(TempDir, PathBuf)>; 2] = [OnceLock::new(), OnceLock::new()];
        let (_, path) = BUILT[self as usize].get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let path = build_runtime(Path::new(self.gcc().c), folder.path()).unwrap();
            (folder, path)
        });
        path
    }
}

/// gcc and clang for the machine that the tests run on.
pub fn compilers() -> Vec<Compiler> {
    Machine::X86_64.compilers()
}

/// The compiled run time for the machine that the tests run on.
pub fn runtime() -> &'static Path {
    Machine::X86_64.runtime()
}

/// Where one program is made and run.
pub struct Bench {
    folder: TempDir,
    compiler: Compiler,
    flags: Vec<String>,
}

/// How a program ended: without code where a signal did it.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    pub code: Option<i32>,
    pub output: String,
}

impl Bench {
    pub fn new(compiler: Compiler, flags: &[&str]) -> Self {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        Self { folder: tempfile::tempdir().unwrap(), compiler, flags }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, name: &str) -> Command {
        let is_cxx = name.ends_with(".cc");
        let mut command = Command::new(if is_cxx { self.compiler.cxx } else { self.compiler.c });
        if self.compiler.machine == Machine::Aarch64 && self.compiler.c.starts_with("clang") {
            command.arg("--target=aarch64-linux-gnu");
        }
        command.args(&self.flags).current_dir(self.folder.path());
        command
    }

    /// Compiles a case; gives the name of the object.
    pub fn compile(&self, case: &str, more: &[&str]) -> String {
        let (object, mut command) = self.compiling(case, more);
        succeeds(&mut command);
        object
    }

    /// The same; none where the compiler refuses.
    pub fn try_compile(&self, case: &str) -> Option<String> {
        let (object, mut command) = self.compiling(case, &[]);
        command.output().unwrap().status.success().then_some(object)
    }

    fn compiling(&self, case: &str, more: &[&str]) -> (String, Command) {
        let object = format!("{case}.o");
        let mut command = self.command(case);
        command.arg(if case.ends_with(".cc") { "-std=c++17" } else { "-std=gnu11" });
        command.args(more).arg("-c").arg(Path::new(CASES).join(case)).args(["-o", &object]);
        (object, command)
    }

    /// Instruments an object, under a new name.
    pub fn instrument(&self, object: &str, hook: Hook, selection: Selection) -> (String, Outcome) {
        let data = fs::read(self.file(object)).unwrap();
        let done = instrument(&data, &Options { selection, ..Options::new(hook) }).unwrap();
        let name = format!("probed-{object}");
        fs::write(self.file(&name), &done.bytes).unwrap();
        (name, done)
    }

    /// Links; `more` may be objects and flags.
    pub fn link(&self, program: &str, objects: &[&str], more: &[&OsStr]) {
        succeeds(&mut self.linking(program, objects, more));
    }

    /// The same; says whether the linker did it.
    pub fn try_link(&self, program: &str, objects: &[&str], more: &[&OsStr]) -> bool {
        self.linking(program, objects, more).output().unwrap().status.success()
    }

    fn linking(&self, program: &str, objects: &[&str], more: &[&OsStr]) -> Command {
        let mut command = self.command(if objects[0].contains(".cc") { "x.cc" } else { "x.c" });
        command.args(["-o", program]).args(objects).args(more).args(["-lm", "-pthread"]);
        command
    }

    pub fn run(&self, program: &str) -> Ran {
        self.run_with(program, &[])
    }

    /// Runs a program with more in its environment.
    pub fn run_with(&self, program: &str, environment: &[(&str, &str)]) -> Ran {
        self.run_in(program, &[], environment)
    }

    /// The same in another program.
    pub fn run_in(&self, program: &str, outer: &[&str], environment: &[(&str, &str)]) -> Ran {
        let ran = self.run_anyhow(program, outer, environment);
        assert!(!ran.output.contains("terminate called"), "{program}: {}", ran.output);
        ran
    }

    /// The same of a program that may end itself: some compilers' own options do that to plain ones.
    pub fn run_anyhow(&self, program: &str, outer: &[&str], environment: &[(&str, &str)]) -> Ran {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", &LIMIT.to_string()]);
        if self.compiler.machine == Machine::Aarch64 {
            command.args(["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]);
        }
        let output = command
            .args(outer)
            .arg(format!("./{program}"))
            .current_dir(self.folder.path())
            .env("TRIMTAB_PROBE_FILE", format!("{program}.out"))
            // Each machine has this one.
            .env("TRIMTAB_PROBE_EVENT", "page-faults")
            .envs(environment.iter().copied())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        // 124 is what `timeout` says; where it has to kill, it ends like what it kills.
        let is_late = output.status.code() == Some(124) || output.status.signal() == Some(9);
        assert!(!is_late, "{program} has not ended within {LIMIT} s: {error}");
        Ran {
            code: output.status.code(),
            output: String::from_utf8(output.stdout).unwrap() + &error,
        }
    }

    /// What a program recorded.
    pub fn recording(&self, program: &str) -> Vec<u8> {
        fs::read(self.file(&format!("{program}.out"))).unwrap()
    }
}

pub fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{error}");
    output
}

/// Each combination, numbered.
pub fn combinations(machine: Machine) -> Vec<(Compiler, Vec<&'static str>)> {
    let mut all = Vec::new();
    let mut levels = vec!["-O0", "-O1", "-O2", "-O3", "-Os"];
    if machine == Machine::Aarch64 {
        levels.push("-Oz");
    }
    for compiler in machine.compilers() {
        for &level in &levels {
            for link in [&["-fPIE", "-pie"][..], &["-fno-pie", "-no-pie", "-static"]] {
                for frame in ["-fomit-frame-pointer", "-fno-omit-frame-pointer"] {
                    let mut flags = vec!["-g", level, frame];
                    flags.extend(link);
                    all.push((compiler, flags));
                }
            }
        }
    }
    all
}

/// Compiles a case, runs it plain and instrumented, and compares.
pub fn same(case: &str, plain: &[&str], compiler: Compiler, flags: &[&str], hook: Hook) {
    let bench = Bench::new(compiler, flags);
    let object = bench.compile(case, &[]);
    let others: Vec<String> =
        plain.iter().map(|case| bench.compile(case, &["-fexceptions"])).collect();
    let (probed, done) = bench.instrument(&object, hook, Selection::default());
    let with_others = |first: &str| -> Vec<String> {
        [first.to_owned()].into_iter().chain(others.iter().cloned()).collect()
    };
    let link = |program: &str, first: &str, more: &[&std::ffi::OsStr]| {
        let objects = with_others(first);
        bench.link(program, &objects.iter().map(String::as_str).collect::<Vec<_>>(), more);
    };
    link("plain", &object, &[]);
    let mut more = vec![compiler.machine.runtime().as_os_str()];
    let hooks = bench.file("user.c.o");
    if hook == Hook::User {
        bench.compile("user.c", &[]);
        more.push(hooks.as_os_str());
    }
    link("probed", &probed, &more);
    let label = format!("{case} by {} {flags:?} with {}", compiler.c, hook.name());
    assert!(done.instrumented.len() >= 8, "{label}: {:?}", done.left);
    let plain = bench.run("plain");
    assert!(plain.code.is_some(), "{label}: a signal ended the plain program: {plain:?}");
    assert_eq!(bench.run("probed"), plain, "{label}");

    let data = bench.recording("probed");
    let recording = Recording::parse(&data).unwrap();
    assert_eq!(recording.hook, hook, "{label}");
    assert_eq!(recording.lost, 0, "{label}");
    assert!(recording.functions.iter().any(|function| function.name == "main"), "{label}");
    if matches!(
        hook,
        Hook::Count
            | Hook::Cycles
            | Hook::Value
            | Hook::Time
            | Hook::Order
            | Hook::Edges
            | Hook::Event
    ) {
        assert!(recording.functions.iter().any(|function| function.calls > 1000), "{label}");
    }
}

/// Hooks in turn, so that each meets many combinations.
pub fn hook(number: usize) -> Hook {
    // Also where combinations come in as many as there are hooks.
    Hook::ALL[(number + number / Hook::ALL.len()) % Hook::ALL.len()]
}
