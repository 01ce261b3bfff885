//! The plugin that watches locks, in a stand-in for QEMU.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::process::Command;

use trimtab_lab::tools;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::plugin;

const HOST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../qemu/test_locks_host.c");
const FUNCTIONS: &str = "functions=ffffffff81000100-ffffffff81000105-x+ffffffff81000200-ffffffff81000205-s+\
                         ffffffff81000300-ffffffff81000305-r+ffffffff81000400-ffffffff81000405-t";
/// A block is two instructions, and the event is behind the last but one of them.
const EXPECTED: &str = "mark 6 2\n\
    0 8 r a0\n\
    0 12 x b0 ffffffff81000000\n\
    0 22 s c0 ffffffff81000000\n\
    0 28 r c0\n\
    0 30 r b0\n\
    0 32 t d0 ffffffff81000000\n\
    0 34 r d0\n\
    1 4 i\n\
    mark 38 4\n\
    end\n";

#[test]
fn locks_that_are_taken_and_given_back_between_marks_are_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let work = WorkDir::open(&folder.path().join("work")).unwrap();
    let plugin = plugin::kept_locks(&work, &tools::find("gcc").unwrap()).unwrap().path;
    let host = folder.path().join("host");
    let status = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-rdynamic", HOST, "-ldl", "-o"])
        .arg(&host)
        .status()
        .unwrap();
    assert!(status.success());
    let out = folder.path().join("locks.trace");
    let run = |arguments: &[&str]| {
        let output = Command::new(&host).arg(&plugin).args(arguments).output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let to = format!("out={}", out.display());
    assert_eq!(run(&[&to, FUNCTIONS]), (true, String::new()));
    assert_eq!(fs::read_to_string(&out).unwrap(), EXPECTED);
    assert!(!folder.path().join("locks.trace.tmp").exists());

    for (arguments, expected) in [
        (&[to.as_str()][..], "functions=LIST"),
        (&[FUNCTIONS], "out=FILE"),
        (&[&to, "functions=1-2"], "no list"),
        (&[&to, "functions=1-2-q"], "no list"),
        (&[&to, "functions=1-2-x,"], "no list"),
        (&["out=/nowhere/at/all", FUNCTIONS], "/nowhere/at/all"),
        (&[&to, FUNCTIONS, "else=1"], "else=1"),
    ] {
        let (succeeded, said) = run(arguments);
        assert!(!succeeded && said.contains(expected), "{arguments:?}: {said}");
    }
}
