//! The plugin's stream of all executions, recorded in a stand-in for QEMU.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use trimtab_machine::plugin;
use trimtab_profile::{Stream, read};

const HOST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../qemu/test_host.c");

/// What runs: 0 1 2, three hundred times, and 1.
fn expected() -> Vec<u32> {
    (0..900).map(|step| step % 3).chain([1]).collect()
}

struct Host {
    folder: TempDir,
    plugin: PathBuf,
}

impl Host {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plugin = plugin::build(Path::new("cc"), folder.path()).unwrap();
        let status = Command::new("cc")
            .args(["-Wall", "-Wextra", "-Werror", "-rdynamic", HOST, "-ldl", "-o"])
            .arg(folder.path().join("host"))
            .status()
            .unwrap();
        assert!(status.success());
        Self { folder, plugin }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs with these arguments of the plugin: whether it did, and what it said.
    fn run(&self, arguments: &[String]) -> (bool, String) {
        let output =
            Command::new(self.path("host")).arg(&self.plugin).args(arguments).output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    }

    fn arguments(&self) -> Vec<String> {
        [("out", "trace"), ("stream", "stream")]
            .map(|(key, name)| format!("{key}={}", self.path(name).display()))
            .into()
    }
}

#[test]
fn every_execution_is_there_and_agrees_with_the_trace() {
    let host = Host::new();
    assert_eq!(host.run(&host.arguments()), (true, String::new()));
    let bytes = fs::read(host.path("stream")).unwrap();
    let stream = Stream::parse(&bytes).unwrap();
    assert!(stream.is_whole());
    assert_eq!(stream.executions().collect::<Vec<_>>(), expected());
    let trace = read::read(&fs::read_to_string(host.path("trace")).unwrap()).unwrap();
    let of = |trace: &trimtab_profile::Trace| -> Vec<_> {
        trace.events().iter().map(|event| (event.place, event.count)).collect()
    };
    assert_eq!(of(&stream.trace()), of(&trace));
    assert!(bytes.len() < 80, "{} bytes for {} executions", bytes.len(), stream.len());
    assert!(!host.path("stream.tmp").exists());
}

#[test]
fn a_limit_cuts_the_stream_and_not_the_trace() {
    let host = Host::new();
    let mut arguments = host.arguments();
    arguments.push("limit=100".to_owned());
    assert_eq!(host.run(&arguments), (true, String::new()));
    let bytes = fs::read(host.path("stream")).unwrap();
    let stream = Stream::parse(&bytes).unwrap();
    assert!(!stream.is_whole());
    assert_eq!(stream.executions().collect::<Vec<_>>(), expected()[..100]);
    let trace = read::read(&fs::read_to_string(host.path("trace")).unwrap()).unwrap();
    assert_eq!(trace.events().iter().map(|event| event.count).sum::<u64>(), 901);
}

#[test]
fn jumps_are_counted_where_that_is_asked_for() {
    let host = Host::new();
    let jumps = |arguments: &[String]| -> Vec<String> {
        assert_eq!(host.run(arguments), (true, String::new()));
        let text = fs::read_to_string(host.path("trace")).unwrap();
        assert!(read::read(&text).is_ok());
        text.lines().filter(|line| line.starts_with("jump")).map(str::to_owned).collect()
    };
    let mut arguments = host.arguments();
    assert_eq!(jumps(&arguments), [""; 0]);
    arguments.push("jumps=on".to_owned());
    let expected =
        ["jump 100f 1010 300", "jump 1014 900 300", "jump 901 1010 1", "jump 901 1000 299"];
    assert_eq!(jumps(&arguments), expected);
    // The stream is there as well.
    let bytes = fs::read(host.path("stream")).unwrap();
    assert_eq!(Stream::parse(&bytes).unwrap().len(), 901);
    // And without it.
    arguments.retain(|argument| !argument.starts_with("stream="));
    assert_eq!(jumps(&arguments), expected);
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let host = Host::new();
    for (argument, said) in [
        ("limit=0", "limit=0 is not a number above 0"),
        ("jumps=some", "jumps=some is not jumps=on"),
        ("limit=many", "limit=many is not a number above 0"),
        ("stream=/no/such/folder/file", "cannot write /no/such/folder/file"),
        ("streams=x", "expected out=FILE, min=ADDRESS, jumps=on, stream=FILE or limit=N"),
    ] {
        let mut arguments = host.arguments();
        arguments.push(argument.to_owned());
        let (good, error) = host.run(&arguments);
        assert!(!good && error.contains(said), "{argument}: {error}");
    }
}
