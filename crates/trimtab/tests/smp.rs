//! `trimtab smp study` on small trees, good and bad.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "kernel_tree/mod.rs"]
mod kernel_tree;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// A folder with the small tree in `tree`.
fn with_tree() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    kernel_tree::write(&folder.path().join("tree"));
    folder
}

/// Runs trimtab in a folder: exit code and both outputs.
fn trimtab(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trimtab"));
    let output = command.current_dir(folder).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The tree's part of the JSON.
fn study(folder: &Path, tree: &str) -> Value {
    let (code, json, error) = trimtab(folder, &["smp", "study", tree, "--json", "-"]);
    assert_eq!(code, 0, "{error}");
    let mut json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["schema"], "trimtab.smp.study/1");
    json["trees"][0].take()
}

#[test]
fn all_is_counted_that_is_in_a_tree() {
    let folder = with_tree();
    let found = study(folder.path(), "tree");
    assert_eq!(found["version"], "6.12.1");
    assert_eq!((&found["files"], &found["changed"]), (&4.into(), &2.into()));
    assert_eq!(found["lines"], serde_json::json!({"up": 25, "smp": 31, "differing": 6}));
    let locks = [("spin", 2), ("mutex", 2), ("rcu_read", 2), ("rcu_pointer", 1), ("semaphore", 0)];
    for (kind, places) in locks {
        assert_eq!(found["locks"][kind], places, "{kind}");
    }
    assert_eq!(found["whole"]["locks"]["semaphore"], 2);
    assert_eq!(found["complexity"]["histogram"], serde_json::json!([2, 1, 2]));
    assert_eq!((&found["conditions"], &found["option_tests"]), (&2.into(), &1.into()));
    assert_eq!(found["only_smp"], serde_json::json!({"files": 1, "lines": 4}));
    let options = serde_json::json!({"selected": 1, "default": 0, "needs": 1, "excludes": 1});
    assert_eq!((&found["options"], &found["whole"]["options"]), (&options, &options));
    let first = serde_json::json!({
        "name": "HOTPLUG_CORE", "path": "arch/x86/Kconfig", "relation": "selected",
    });
    assert_eq!(found["smp_options"][0], first);
    assert_eq!(found["date"], Value::Null);
    let folders: Vec<&str> = found["directories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["path"].as_str().unwrap())
        .collect();
    assert_eq!(folders, ["arch", "drivers", "kernel", "mm"]);
}

#[test]
fn a_revision_of_git_is_the_same_as_its_folder_and_is_drawn_again() {
    let folder = with_tree();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(folder.path().join("tree")).args(["-c", "user.name=a"]);
        let status = command.args(["-c", "user.email=a@b", "-c", "init.defaultBranch=main"]);
        assert!(status.args(arguments).status().unwrap().success(), "{arguments:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message", "all"]);
    git(&["tag", "v1"]);
    let (of_folder, of_tag) = (study(folder.path(), "tree"), study(folder.path(), "tree@v1"));
    assert_eq!(of_folder["lines"], of_tag["lines"]);
    let date = of_tag["date"].as_str().unwrap();
    assert!(date.len() == "2004-02-08".len() && date.starts_with("20"), "{date}");
    assert_eq!((&of_tag["files"], &of_tag["origin"]), (&4.into(), &"tree@v1".into()));
    let again = trimtab(folder.path(), &["report", "latest", "--json", "-"]);
    let again: Value = serde_json::from_str(&again.1).unwrap();
    assert_eq!(again["trees"][0], of_tag);
    let page = trimtab(folder.path(), &["report", "latest", "--html", "page.html"]);
    assert_eq!(page.0, 0, "{}", page.2);
    assert!(fs::read_to_string(folder.path().join("page.html")).unwrap().contains("tree@v1"));
}

#[test]
fn what_is_no_kernel_is_one_message() {
    let folder = with_tree();
    let path = folder.path();
    fs::create_dir(path.join("empty")).unwrap();
    fs::create_dir_all(path.join("other/src")).unwrap();
    fs::write(path.join("other/Makefile"), "VERSION = 1\nPATCHLEVEL = 2\n").unwrap();
    fs::create_dir_all(path.join("hollow/kernel")).unwrap();
    fs::write(path.join("hollow/Makefile"), "VERSION = 1\nPATCHLEVEL = 2\n").unwrap();
    for (tree, said) in [
        ("empty", "has no readable Makefile"),
        ("other", "has none of the folders kernel, mm, fs, arch"),
        ("hollow", "has no C files"),
        ("none", "is not there"),
        ("tree/Makefile", "is not a kernel source"),
        ("tree@v1", "revision"),
    ] {
        let (code, output, error) = trimtab(path, &["smp", "study", tree]);
        assert_eq!((code, output.as_str()), (1, ""), "{tree}: {error}");
        assert!(error.contains(said), "{tree}: {error}");
        let last = error.lines().rfind(|line| line.starts_with("trimtab: ")).unwrap();
        assert!(last.contains(said), "{tree}: {error}");
    }
}

#[test]
fn half_a_tree_says_what_is_missing() {
    let folder = with_tree();
    fs::remove_dir_all(folder.path().join("tree/mm")).unwrap();
    let (code, output, error) = trimtab(folder.path(), &["smp", "study", "tree"]);
    assert_eq!(code, 0, "{error}");
    assert!(output.contains("tree has no mm, fs"), "{output}");
}

#[test]
fn what_cannot_be_read_or_understood_is_named_and_the_rest_is_counted() {
    let folder = with_tree();
    let kernel = folder.path().join("tree/kernel");
    fs::write(kernel.join("latin.c"), b"/* \xe4 */ int a;\n").unwrap();
    fs::write(kernel.join("soup.c"), "int f(void)\n{\n\tSOUP {\n}\nint g(void)\n{\n}\n").unwrap();
    symlink(folder.path(), kernel.join("around")).unwrap();
    let huge = fs::File::create(kernel.join("holes.c")).unwrap();
    huge.set_len(1 << 40).unwrap();
    fs::File::create(kernel.join("long.c")).unwrap().set_len(65 << 20).unwrap();
    let found = study(folder.path(), "tree");
    assert_eq!((&found["not_utf8"], &found["links"]), (&1.into(), &1.into()));
    let named: Vec<&str> = found["given_up"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(named, ["kernel/holes.c", "kernel/long.c", "kernel/soup.c"]);
    assert_eq!(found["complexity"]["functions"], 5 + 2);
    assert_eq!(found["locks"]["spin"], 2);
}

#[test]
fn a_tree_of_1994_is_read() {
    let folder = with_tree();
    let old = folder.path().join("old");
    for name in ["kernel", "mm", "fs", "include/linux"] {
        fs::create_dir_all(old.join(name)).unwrap();
    }
    fs::write(old.join("Makefile"), "VERSION = 1\nPATCHLEVEL = 0\nALPHA =\n\nall:\tzImage\n")
        .unwrap();
    let code = "void f(void)\n{\n\tunsigned long flags;\n\tsave_flags(flags);\n\tcli();\n\trestore_flags(flags);\n}\n";
    fs::write(old.join("kernel/irq.c"), code).unwrap();
    let found = study(folder.path(), "old");
    assert_eq!((&found["version"], &found["locks"]["local"]), (&"1.0".into(), &2.into()));
    assert_eq!((&found["changed"], &found["missing"]), (&0.into(), &serde_json::json!(["arch"])));
}
