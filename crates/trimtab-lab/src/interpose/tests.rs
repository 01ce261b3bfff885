//! Stand-ins for made-up tools, that are started.

use std::process::Command;

use tempfile::TempDir;

use super::*;

/// Links by `/trimtab link REAL`, compiles by the compiler itself.
struct Example;

impl Interposition for Example {
    fn linker(&self, real: &str) -> String {
        format!("/bin/echo link {real}")
    }

    fn compiler(&self, compiler: &Tool) -> String {
        quoted(&compiler.path)
    }

    fn wants(&self, compiler: &ToolName<'_>) -> bool {
        compiler.plain != "c++"
    }

    fn linkers(&self) -> Vec<&'static str> {
        vec!["ld.gold"]
    }
}

/// Tools that print their arguments, and the stand-ins for them.
struct Build {
    real: TempDir,
    _folder: TempDir,
    interposer: Interposer,
}

impl Build {
    fn new(names: &[&str]) -> Self {
        let (real, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let text = format!("#!/bin/sh\necho \"${RUST_LINKER}\" \"$@\"\n");
        for name in names {
            script::write(&real.path().join(name), &text).unwrap();
        }
        let path = real.path().as_os_str();
        let interposer = Interposer::make(&folder.path().join("it's"), path, &Example).unwrap();
        Build { real, _folder: folder, interposer }
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.interposer.folder()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// What is printed where a build starts `name`; folders are named REAL and HERE.
    fn run(&self, name: &str, arguments: &[&str]) -> String {
        let output =
            Command::new(self.interposer.folder().join(name)).args(arguments).output().unwrap();
        String::from_utf8(output.stdout)
            .unwrap()
            .trim()
            .replace(&self.real.path().display().to_string(), "REAL")
            .replace(&self.interposer.folder().display().to_string(), "HERE")
    }
}

#[test]
fn compilers_and_linkers_get_a_stand_in_and_others_do_not() {
    let build =
        Build::new(&["gcc", "c++", "x86_64-linux-gnu-g++-12", "ld", "ld.mold", "as", "gcc-ar"]);
    let expected = ["gcc", "ld", "ld.gold", "ld.mold", "rust", "x86_64-linux-gnu-g++-12"];
    assert_eq!(build.names(), expected);
    assert_eq!(build.run("ld", &["a b"]), "link REAL/ld a b");
    assert_eq!(build.run("ld.gold", &["x"]), "link ld.gold x", "there is none");
    assert_eq!(build.run("gcc", &["x"]), "-BHERE x");
    let names = build.interposer.environment().map(|(name, value)| {
        assert!(value.to_str().unwrap().starts_with(build.interposer.folder().to_str().unwrap()));
        name
    });
    assert_eq!(names, ["PATH", "COMPILER_PATH"]);
}

#[test]
fn compilers_for_another_machine_find_its_linker() {
    let build = Build::new(&["gcc", "ld", "aarch64-linux-gnu-gcc-12", "aarch64-linux-gnu-ld"]);
    assert_eq!(build.run("aarch64-linux-gnu-gcc-12", &["x"]), "-BHERE/aarch64-linux-gnu -BHERE x");
    assert_eq!(build.run("gcc", &["x"]), "-BHERE x");
    assert_eq!(build.run("aarch64-linux-gnu/ld", &["x"]), "link REAL/aarch64-linux-gnu-ld x");
}

#[test]
fn clang_finds_the_linker_of_its_target_and_that_of_its_version() {
    let build = Build::new(&["clang-22", "ld", "ld.lld-19", "ld.lld-22", "aarch64-linux-gnu-ld"]);
    assert_eq!(build.run("ld.lld", &["x"]), "link REAL/ld.lld-22 x");
    for target in [&["--target=aarch64-linux-gnu"][..], &["-target", "aarch64-linux-gnu"]] {
        let expected = format!("-BHERE/aarch64-linux-gnu -BHERE -c {}", target.join(" "));
        assert_eq!(build.run("clang-22", &[&["-c"], target].concat()), expected);
    }
    assert_eq!(build.run("clang-22", &["--target=other", "x.c"]), "-BHERE --target=other x.c");
}

#[test]
fn clang_finds_the_linker_that_lies_beside_it() {
    let llvm = tempfile::tempdir().unwrap();
    for name in ["clang", "ld.lld"] {
        script::write(&llvm.path().join(name), "#!/bin/sh\necho \"$@\"\n").unwrap();
    }
    let build = Build::new(&["ld", "ld.lld", "aarch64-linux-gnu-ld"]);
    let named = build.real.path().join("clang-22");
    std::os::unix::fs::symlink(llvm.path().join("clang"), &named).unwrap();
    let tool = Tool { name: "clang-22".to_owned(), path: named };
    build.interposer.put_compiler(&tool, &Example).unwrap();
    assert_eq!(build.run("clang-22", &["x"]), "-BHERE/beside-clang-22 -BHERE x");
    let target = "--target=aarch64-linux-gnu";
    let expected = format!("-BHERE/beside-clang-22 -BHERE/aarch64-linux-gnu -BHERE {target}");
    assert_eq!(build.run("clang-22", &[target]), expected);
    let lld = llvm.path().join("ld.lld").canonicalize().unwrap();
    let said = build.run("beside-clang-22/ld.lld", &["x"]);
    assert_eq!(said, format!("link {} x", lld.display()), "and not that of PATH");
}

#[test]
fn what_rustc_starts_finds_the_linker_that_rustc_brings() {
    let build = Build::new(&["cc", "clang"]);
    let own = build.real.path().join("rust lib/gcc-ld");
    fs::create_dir_all(&own).unwrap();
    let told = format!("-B{}", own.display());
    for name in ["cc", "clang"] {
        let expected = "-BHERE -BREAL/rust lib/gcc-ld x";
        assert_eq!(build.run(name, &[&told, "x"]), expected, "there is no linker");
    }
    script::write(&own.join("ld.lld"), "#!/bin/sh\n").unwrap();
    for name in ["cc", "clang"] {
        assert_eq!(
            build.run(name, &[&told, "x"]),
            "REAL/rust lib/gcc-ld/ld.lld -BHERE/rust -BHERE -BREAL/rust lib/gcc-ld x"
        );
    }
    let output = Command::new(build.interposer.folder().join("rust/ld.lld"))
        .env(RUST_LINKER, "/a b/ld.lld")
        .arg("x")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "link /a b/ld.lld x\n");
}

#[test]
fn a_compiler_of_any_name_can_be_put_in_and_making_it_anew_forgets_it() {
    let build = Build::new(&["cc"]);
    let path = build.real.path().join("cc");
    let own = Tool { name: "own".to_owned(), path: path.clone() };
    let stand_in = build.interposer.put_compiler(&own, &Example).unwrap();
    assert_eq!(stand_in, build.interposer.folder().join("own"));
    assert_eq!(build.run("own", &["x"]), "-BHERE x");
    let folder = build.interposer.folder();
    Interposer::make(folder, build.real.path().as_os_str(), &Example).unwrap();
    assert!(!folder.join("own").exists() && folder.join("cc").exists());
}
