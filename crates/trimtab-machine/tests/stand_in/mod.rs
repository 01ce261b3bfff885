//! A stand-in for QEMU that loads a plugin, compiled for a test.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;
use trimtab_lab::tools::{self, FoundTool};
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::plugin::KeptPlugin;

/// A stand-in, and a plugin that it loads, in a folder of their own.
pub struct StandIn {
    folder: TempDir,
    plugin: PathBuf,
}

impl StandIn {
    /// Compiles the stand-in of this name in `qemu/`, and the plugin.
    pub fn new(
        name: &str,
        plugin: impl Fn(&WorkDir, &FoundTool) -> anyhow::Result<KeptPlugin>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let work = WorkDir::open(&folder.path().join("work")).unwrap();
        let plugin = plugin(&work, &tools::find("gcc").unwrap()).unwrap().path;
        let source = format!("{}/../../qemu/{name}.c", env!("CARGO_MANIFEST_DIR"));
        let status = Command::new("cc")
            .args(["-Wall", "-Wextra", "-Werror", "-rdynamic", &source, "-ldl", "-o"])
            .arg(folder.path().join("host"))
            .status();
        assert!(status.unwrap().success());
        Self { folder, plugin }
    }

    /// The argument that says where the plugin writes.
    pub fn out(&self) -> String {
        format!("out={}", self.folder.path().join("out").display())
    }

    /// What the plugin wrote, if it is there; never what is not complete.
    pub fn written(&self) -> String {
        assert!(!self.folder.path().join("out.tmp").exists());
        fs::read_to_string(self.folder.path().join("out")).unwrap()
    }

    /// Runs it with these arguments of the plugin: whether it did, and what it said.
    pub fn run(&self, arguments: &[&str]) -> (bool, String) {
        let mut command = Command::new(self.folder.path().join("host"));
        let output = command.arg(&self.plugin).args(arguments).output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    }

    /// Each of these arguments is refused, with words that have what is expected.
    pub fn refuses(&self, all: &[(&[&str], &str)]) {
        for (arguments, expected) in all {
            let (succeeded, said) = self.run(arguments);
            assert!(!succeeded && said.contains(expected), "{arguments:?}: {said}");
        }
    }
}
