//! The small program of `testdata/app`, compiled and linked in a folder of its own.

#![allow(dead_code, reason = "each test program uses a part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// Where its sources are.
pub const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/app");

/// Where the program is compiled and linked.
pub struct Bench {
    folder: TempDir,
}

impl Bench {
    /// Copies the sources, and lets `gcc -fuse-ld=lld` and `clang` find whatever LLVM is there.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(SOURCES).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
        let tools = folder.path().join("tools");
        fs::create_dir(&tools).unwrap();
        symlink(newest("ld.lld"), tools.join("ld.lld")).unwrap();
        symlink(newest("clang"), tools.join("clang")).unwrap();
        symlink(env!("CARGO_BIN_EXE_trimtab"), tools.join("trimtab")).unwrap();
        Self { folder }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// A program that is started in the folder, with our tools before all others.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut path = self.file("tools").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        let mut command = Command::new(program);
        command.current_dir(self.path()).env("PATH", path).env("LC_ALL", "C");
        command
    }

    /// Runs it; both outputs and the exit code.
    pub fn run(&self, program: &str, arguments: &[&str]) -> (i32, String, String) {
        let Output { status, stdout, stderr } =
            self.command(program).args(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }

    /// Runs what must succeed, and gives what it printed on standard output.
    pub fn good(&self, program: &str, arguments: &[&str]) -> String {
        let (code, output, error) = self.run(program, arguments);
        assert_eq!(code, 0, "{program} {arguments:?}: {output}{error}");
        output
    }

    /// Runs a shell command that must succeed; both outputs.
    pub fn sh(&self, command: &str) -> (String, String) {
        let (code, output, error) = self.run("sh", &["-c", command]);
        assert_eq!(code, 0, "{command}\n{output}{error}");
        (output, error)
    }

    /// What is in a file of JSON in the folder.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.file(name)).unwrap()).unwrap()
    }

    /// Runs trimtab: exit code and both outputs.
    pub fn trimtab(&self, arguments: &[&str]) -> (i32, String, String) {
        self.run("trimtab", arguments)
    }

    /// Compiles the objects.
    pub fn compile(&self) {
        self.good("gcc", &["-O1", "-ffunction-sections", "-fno-pie", "-c", "main.c", "more.c"]);
    }

    /// Links the objects to a program with a map beside it, by a linker and with further flags.
    pub fn link(&self, linker: &str, program: &str, flags: &[&str]) {
        let chosen = format!("-fuse-ld={linker}");
        let map = format!("-Wl,-Map={program}.map");
        let mut arguments = vec!["-no-pie", "-Btools/", &chosen, &map, "-o", program];
        arguments.extend(["main.o", "more.o"]);
        arguments.extend(flags);
        self.good("gcc", &arguments);
    }
}

/// The newest program of this name that is there.
fn newest(name: &str) -> PathBuf {
    let names = (15..=30).rev().map(|version| format!("{name}-{version}"));
    let names: Vec<String> = names.chain([name.to_owned()]).collect();
    let path = std::env::var_os("PATH").unwrap();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|file| file.exists())
        .expect("LLVM; ./setup --for test installs it")
}
