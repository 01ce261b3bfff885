//! Tools as users have them: missing, old, broken, or in several versions at once.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use trimtab_lab::failure::Hint;
use trimtab_lab::script;
use trimtab_lab::tools::{self, ToolError, Toolbox};

/// A machine with nothing but the commands that the test puts there.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("usr/bin")).unwrap();
        Self(root)
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    /// Puts a command there that says `version`.
    fn has(self, path: &str, version: &str) -> Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        script::write(&path, &format!("#!/bin/sh\necho '{version}'\n")).unwrap();
        self
    }

    fn has_llvm(mut self, directory: &str, suffix: &str, version: &str) -> Self {
        for name in
            ["llvm-ar", "llvm-nm", "llvm-objcopy", "llvm-objdump", "llvm-readelf", "llvm-strip"]
        {
            self = self.has(&format!("{directory}/{name}{suffix}"), version);
        }
        self.has(&format!("{directory}/clang{suffix}"), &format!("clang version {version}"))
            .has(&format!("{directory}/ld.lld{suffix}"), &format!("LLD {version}"))
    }

    fn toolbox(&self) -> Toolbox {
        Toolbox::new(vec![self.root().join("usr/bin")], self.root().to_owned())
    }

    fn find(&self, name: &str) -> Result<tools::FoundTool, ToolError> {
        self.toolbox().find(tools::tool(name).unwrap())
    }
}

#[test]
fn a_missing_tool_is_named_with_the_command_that_installs_it() {
    let error = Machine::new().find("qemu").unwrap_err();
    assert_eq!(error.to_string(), "qemu is missing: looked for qemu-system-x86_64");
    assert_eq!(
        error.hint().unwrap(),
        "as root, run: apt-get install --no-install-recommends qemu-system-x86"
    );
}

#[test]
fn the_tools_of_another_architecture_are_in_other_packages() {
    let install = |name: &str| Machine::new().find(name).unwrap_err().install().unwrap();
    assert!(install("qemu-arm64").ends_with(" qemu-system-arm"), "{}", install("qemu-arm64"));
    let both = " gcc-aarch64-linux-gnu libc6-dev-arm64-cross";
    assert!(install("gcc-arm64").ends_with(both), "{}", install("gcc-arm64"));
}

#[test]
fn a_wrong_version_says_what_was_found_and_expected() {
    let machine = Machine::new().has("usr/bin/qemu-system-x86_64", "QEMU emulator version 5.2.0");
    let message = machine.find("qemu").unwrap_err().to_string();
    assert!(message.contains("is version 5.2.0, expected 7.2 or newer"), "{message}");
}

#[test]
fn a_tool_that_says_no_version_does_not_work() {
    let machine = Machine::new().has("usr/bin/bison", "cannot load libfoo.so");
    let message = machine.find("bison").unwrap_err().to_string();
    assert!(message.contains("said \"cannot load libfoo.so\"; expected at least 2.0"), "{message}");
}

#[test]
fn an_old_candidate_is_passed_over_for_a_newer_one() {
    let machine =
        Machine::new().has("usr/bin/make", "GNU Make 3.81").has("usr/bin/gmake", "GNU Make 4.3");
    assert!(machine.find("make").unwrap().path.ends_with("gmake"));
}

#[test]
fn a_file_that_cannot_be_run_is_no_command() {
    let machine = Machine::new();
    fs::write(machine.root().join("usr/bin/bc"), "").unwrap();
    assert!(matches!(machine.find("bc"), Err(ToolError::Missing { .. })));
}

#[test]
fn sources_are_found_as_files() {
    let machine = Machine::new().has("usr/src/linux-source-7.0.tar.xz", "");
    let find = |name: &str| {
        let place = format!("/usr/src/{name}.tar.xz");
        let tool = tools::Tool::of_file(name.to_owned(), place, name.to_owned(), &["tests"]);
        machine.toolbox().find(&tool)
    };
    assert_eq!(find("linux-source-7.0").unwrap().version, None);
    assert!(matches!(find("linux-source-7.1"), Err(ToolError::Missing { .. })));
}

#[test]
fn the_newest_complete_llvm_is_taken() {
    let machine = Machine::new()
        .has_llvm("usr/bin", "-19", "19.1.7")
        .has_llvm("usr/bin", "-15", "15.0.6")
        .has("usr/bin/clang-22", "clang version 22.1.8");
    let set = machine.toolbox().llvm().unwrap();
    assert_eq!((set.version.to_string().as_str(), set.kbuild_value().as_str()), ("19.1.7", "-19"));
    assert!(set.lld().ends_with("usr/bin/ld.lld-19"));
}

#[test]
fn llvm_in_a_directory_of_its_own_is_found() {
    let machine = Machine::new().has_llvm("usr/lib/llvm-20/bin", "", "20.1.0");
    let set = machine.toolbox().llvm().unwrap();
    assert!(set.kbuild_value().ends_with("/usr/lib/llvm-20/bin/"), "{}", set.kbuild_value());
    assert!(set.clang().is_file());
}

#[test]
fn llvm_without_a_version_in_its_names_is_found() {
    let machine = Machine::new().has_llvm("usr/bin", "", "23.0.0");
    assert_eq!(machine.toolbox().llvm().unwrap().kbuild_value(), "1");
}

#[test]
fn another_llvm_than_the_newest_can_be_chosen_as_for_the_kernels_own_build() {
    let machine = Machine::new()
        .has_llvm("usr/bin", "-22", "22.1.8")
        .has_llvm("usr/bin", "-19", "19.1.7")
        .has_llvm("usr/bin", "", "17.0.6")
        .has_llvm("opt/llvm/bin", "", "20.1.0")
        .has("usr/bin/clang-21", "clang version 21.1.0");
    let chosen = |value: &str| machine.toolbox().with_llvm(value).llvm();
    for (value, version) in
        [("", "22.1.8"), ("-19", "19.1.7"), ("/opt/llvm/bin/", "20.1.0"), ("1", "17.0.6")]
    {
        assert_eq!(chosen(value).unwrap().version.to_string(), version, "LLVM={value}");
    }
    assert!(chosen("-19").unwrap().maps_blocks() && !chosen("1").unwrap().maps_blocks());
    assert_eq!(chosen("-19").unwrap().kbuild_value(), "-19");
    assert_eq!(chosen("1").unwrap().kbuild_value(), "1");

    // What was chosen and is not there is not replaced by another.
    let problem = |value: &str| chosen(value).unwrap_err().to_string();
    assert!(problem("-21").ends_with("ld.lld-21 is not (LLVM=-21 is set)"), "{}", problem("-21"));
    assert!(problem("-20").ends_with("found no clang-20 (LLVM=-20 is set)"), "{}", problem("-20"));
    assert!(problem("/opt/").contains("LLVM=/opt/ is set"), "{}", problem("/opt/"));
    assert!(chosen("-20").unwrap_err().install().unwrap().ends_with(" clang-20 lld-20 llvm-20"));
}

#[test]
fn an_incomplete_or_mixed_llvm_is_refused_and_says_why() {
    let machine = Machine::new().has("usr/bin/clang-22", "clang version 22.1.8");
    let error = machine.toolbox().llvm().unwrap_err();
    assert!(error.to_string().ends_with("ld.lld-22 is not"), "{error}");
    assert!(error.install().unwrap().ends_with(" clang-22 lld-22 llvm-22"));

    let machine =
        Machine::new().has_llvm("usr/bin", "", "19.1.7").has("usr/bin/ld.lld", "LLD 14.0.6");
    let error = machine.toolbox().llvm().unwrap_err();
    assert!(error.to_string().contains("ld.lld is version 14.0.6 but "), "{error}");

    let machine = Machine::new().has_llvm("usr/bin", "", "14.0.6");
    let error = machine.toolbox().llvm().unwrap_err();
    assert!(error.to_string().contains("is version 14.0.6, expected 15 or newer"), "{error}");

    let error = Machine::new().toolbox().llvm().unwrap_err();
    assert!(error.to_string().contains("found neither clang-22 to clang-15 nor clang"), "{error}");
}

#[test]
fn a_name_that_is_not_in_the_table_is_an_error() {
    assert!(matches!(tools::find("emacs"), Err(ToolError::Unknown { .. })));
}
