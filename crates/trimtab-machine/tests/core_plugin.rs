//! The plugin that has the model of a core, in a stand-in for QEMU.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::process::Command;

use trimtab_lab::tools;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::plugin;

const HOST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../qemu/test_core_host.c");
const KERNEL: [&str; 3] =
    ["min=ffffffff80000000", "entry=ffffffff81000000", "calls=ffffffff81000100+ffffffff81000200"];
/// Two sets of two lines.
const CORE: [&str; 3] = ["l1i=4-2-64", "l1d=4-2-64", "history=4"];
const EXPECTED: &str = "trimtab-core 1\n\
    call 0 8 3 1 0\n\
    call 1 24 4 0 3\n\
    call 0 12 2 4 0\n\
    total 48 11 6 3\n";

#[test]
fn calls_are_put_through_the_model_of_a_core() {
    let folder = tempfile::tempdir().unwrap();
    let work = WorkDir::open(&folder.path().join("work")).unwrap();
    let plugin = plugin::kept_core(&work, &tools::find("gcc").unwrap()).unwrap().path;
    let host = folder.path().join("host");
    let status = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-rdynamic", HOST, "-ldl", "-o"])
        .arg(&host)
        .status()
        .unwrap();
    assert!(status.success());
    let out = folder.path().join("core.counts");
    let run = |arguments: &[&str]| {
        let output = Command::new(&host).arg(&plugin).args(arguments).output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let to = format!("out={}", out.display());
    let all = [&[to.as_str()][..], &KERNEL, &CORE].concat();
    assert_eq!(run(&all), (true, String::new()));
    assert_eq!(fs::read_to_string(&out).unwrap(), EXPECTED);
    assert!(!folder.path().join("core.counts.tmp").exists());

    for (arguments, expected) in [
        (&[to.as_str()][..], "of which core"),
        (&CORE, "out=FILE"),
        (&[&to, "l1i=4-3-64"], "cannot take l1i=4-3-64"),
        (&[&to, "l1i=12-2-64"], "cannot take l1i=12-2-64"),
        (&[&to, "l1d=4-2-48"], "cannot take l1d=4-2-48"),
        (&[&to, "l1d=4-0-64"], "cannot take l1d=4-0-64"),
        (&[&to, "l1d=4000000-2-64"], "cannot take l1d"),
        (&[&to, "history=21"], "cannot take history=21"),
        (&[&to, "history=0"], "cannot take history=0"),
        (&[&to, "min=here"], "cannot take min=here"),
        (&[&to, "calls=1+"], "cannot take calls=1+"),
        (&[&to, "else=1"], "cannot take else=1"),
        (&["out=/nowhere/at/all", CORE[0], CORE[1], CORE[2]], "/nowhere/at/all"),
    ] {
        let (succeeded, said) = run(arguments);
        assert!(!succeeded && said.contains(expected), "{arguments:?}: {said}");
    }
}
