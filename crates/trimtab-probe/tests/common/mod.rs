//! Compiling, instrumenting, linking and running small programs.

#![allow(dead_code, reason = "each test program uses a part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use tempfile::TempDir;
use trimtab_probe::{Hook, Options, Rewritten, Selection, instrument};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
const RUNTIME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../probe");

/// A compiler for C and the one for C++ that belongs to it.
#[derive(Debug, Clone, Copy)]
pub struct Compiler {
    pub c: &'static str,
    pub cxx: &'static str,
}

pub const GCC: Compiler = Compiler { c: "gcc", cxx: "g++" };

/// gcc, and the newest clang that is there.
pub fn compilers() -> Vec<Compiler> {
    let clang = [
        Compiler { c: "clang", cxx: "clang++" },
        Compiler { c: "clang-22", cxx: "clang++-22" },
        Compiler { c: "clang-19", cxx: "clang++-19" },
        Compiler { c: "clang-16", cxx: "clang++-16" },
        Compiler { c: "clang-15", cxx: "clang++-15" },
    ];
    let works = |compiler: &Compiler| {
        Command::new(compiler.cxx).arg("--version").output().is_ok_and(|out| out.status.success())
    };
    let mut all = vec![GCC];
    match clang.into_iter().find(works) {
        Some(compiler) => all.push(compiler),
        None => println!("there is no clang: only gcc's code is tested"),
    }
    all
}

/// The compiled run time.
pub fn runtime() -> &'static Path {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runtime.o");
        let mut command = Command::new("gcc");
        command.args(["-std=gnu11", "-O2", "-fPIC", "-mgeneral-regs-only", "-fcf-protection"]);
        command.args(["-fno-stack-protector", "-Wall", "-Wextra", "-Werror", "-r", "-nostdlib"]);
        command.args(["runtime.c", "entry.S", "-o"]).arg(&path).current_dir(RUNTIME);
        succeeds(&mut command);
        (folder, path)
    });
    path
}

/// Where one program is made and run.
pub struct Bench {
    folder: TempDir,
    compiler: Compiler,
    flags: Vec<String>,
}

/// How a program ended.
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
        command.args(&self.flags).current_dir(self.folder.path());
        command
    }

    /// Compiles a case; gives the name of the object.
    pub fn compile(&self, case: &str, more: &[&str]) -> String {
        let object = format!("{case}.o");
        let mut command = self.command(case);
        command.arg(if case.ends_with(".cc") { "-std=c++17" } else { "-std=gnu11" });
        command.args(more).arg("-c").arg(Path::new(CASES).join(case)).args(["-o", &object]);
        succeeds(&mut command);
        object
    }

    /// Instruments an object, under a new name.
    pub fn instrument(
        &self,
        object: &str,
        hook: Hook,
        selection: Selection,
    ) -> (String, Rewritten) {
        let data = fs::read(self.file(object)).unwrap();
        let done = instrument(&data, &Options { hook, selection }).unwrap();
        let name = format!("probed-{object}");
        fs::write(self.file(&name), &done.bytes).unwrap();
        (name, done)
    }

    /// Links; `more` may be objects and flags.
    pub fn link(&self, program: &str, objects: &[&str], more: &[&OsStr]) {
        let mut command = self.command(if objects[0].contains(".cc") { "x.cc" } else { "x.c" });
        command.args(["-o", program]).args(objects).args(more).args(["-lm", "-pthread"]);
        succeeds(&mut command);
    }

    pub fn run(&self, program: &str) -> Ran {
        let output = Command::new("timeout")
            .args(["600", &format!("./{program}")])
            .current_dir(self.folder.path())
            .env("TRIMTAB_PROBE_FILE", format!("{program}.out"))
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(error.replace("terminate called", ""), error, "{program}");
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
