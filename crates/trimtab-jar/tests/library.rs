//! C functions that Java calls, Java functions that C calls, and programs within a Java program.
#![allow(clippy::unwrap_used)]

mod common;

use common::output;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use trimtab_jar::run::{Exports, Imports, Request, Summary, run, write_stubs};

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library").join(name)
}

fn succeeds(command: &mut Command) -> String {
    let found = output(command);
    let error = String::from_utf8_lossy(&found.stderr);
    assert!(found.status.success(), "{command:?}: {error}");
    String::from_utf8_lossy(&found.stdout).into_owned()
}

/// The program of `lib.c`, and its jar; as a library where it is asked for.
fn build(folder: &Path, level: &str, library: bool, metered: bool) -> (PathBuf, Summary) {
    let stubs = folder.join("stubs.c");
    write_stubs(&source("host.h"), &stubs).unwrap();
    let program = folder.join("lib");
    succeeds(
        Command::new("mipsel-linux-gnu-gcc")
            .args([level, "-static", "-I"])
            .arg(folder)
            .arg("-I")
            .arg(source(""))
            .arg("-o")
            .arg(&program)
            .args([source("lib.c"), stubs]),
    );
    let jar = folder.join("lib.jar");
    let exports = Exports {
        names: Vec::new(),
        header: Some(source("lib.h")),
        class: "org.example.Lib".to_owned(),
    };
    let imports = Imports { header: source("host.h"), interface: "org.example.Host".to_owned() };
    let request = Request {
        program,
        output: jar.clone(),
        exports: library.then_some(exports),
        imports: Some(imports),
        metered,
        ..Request::default()
    };
    (jar, run(&request).unwrap())
}

/// Compiles a Java program against a jar, and runs it.
fn java(folder: &Path, jar: &Path, name: &str, arguments: &[&str]) -> String {
    let classes = folder.join("classes");
    succeeds(
        Command::new("javac")
            .args(["--release", "17", "-Xlint:all", "-Werror", "-cp"])
            .arg(jar)
            .arg("-sourcepath")
            .arg(source(""))
            .arg("-d")
            .arg(&classes)
            .arg(source(&format!("{name}.java"))),
    );
    let path = format!("{}:{}", jar.display(), classes.display());
    succeeds(
        Command::new("java").args(["-Xmx600m", "-Xverify:all", "-cp", &path, name]).args(arguments),
    )
}

#[test]
fn functions_call_each_other_both_ways() {
    for level in ["-O0", "-O2"] {
        let folder = TempDir::new().unwrap();
        let (jar, summary) = build(folder.path(), level, true, false);
        assert_eq!(summary.exports.len(), 22, "{:?}", summary.exports);
        assert_eq!(summary.imports.len(), 8);
        let skipped: Vec<_> =
            summary.skipped.iter().map(|f| (f.name.as_str(), f.why.as_str())).collect();
        assert_eq!(
            skipped,
            [("printf_like", "it takes any number of arguments")],
            "and nothing else is left out"
        );
        assert_eq!(java(folder.path(), &jar, "Use", &[]), "all is well\n");
    }
}

#[test]
fn functions_without_a_header_have_words() {
    let folder = TempDir::new().unwrap();
    let program = build(folder.path(), "-O1", false, false).0.with_extension("");
    let request = |name: &str, class: &str| Request {
        program: program.clone(),
        output: folder.path().join("words.jar"),
        exports: Some(Exports {
            names: vec![name.to_owned()],
            header: None,
            class: class.to_owned(),
        }),
        ..Request::default()
    };
    run(&request("many", "org.example.Words")).unwrap();
    let text = java(folder.path(), &folder.path().join("words.jar"), "Untyped", &[]);
    assert_eq!(text, "123456\n");
    let message = |name, class| run(&request(name, class)).unwrap_err().to_string();
    let found = message("absent", "org.example.Words");
    assert!(found.contains("the program has no function absent"), "{found}");
    for class in ["Words", "org.", "trimtab.Words", "org.a-b"] {
        assert!(message("many", class).contains("is no name for a class"), "{class}");
    }
}

#[test]
fn a_jar_can_be_a_module() {
    let folder = TempDir::new().unwrap();
    let program = build(folder.path(), "-O1", false, false).0.with_extension("");
    let request = |name: &str| Request {
        program: program.clone(),
        output: folder.path().join("words.jar"),
        exports: Some(Exports {
            names: vec!["many".to_owned()],
            header: None,
            class: "org.example.Words".to_owned(),
        }),
        module: Some(name.to_owned()),
        ..Request::default()
    };
    let found = run(&request("org.a-b")).unwrap_err().to_string();
    assert!(found.starts_with("org.a-b is no name for a module"), "{found}");
    run(&request("org.example.words")).unwrap();
    let (jar, classes) = (folder.path().join("words.jar"), folder.path().join("classes"));
    let info = folder.path().join("module-info.java");
    fs::write(&info, "module use { requires org.example.words; }").unwrap();
    let main = folder.path().join("Main.java");
    let text = fs::read_to_string(source("Untyped.java")).unwrap();
    fs::write(&main, format!("package use;\n{}", text.replace("Untyped", "Main"))).unwrap();
    succeeds(
        Command::new("javac")
            .args(["--release", "17", "-Xlint:all", "-Werror", "-p"])
            .arg(&jar)
            .arg("-d")
            .arg(&classes)
            .args([&info, &main]),
    );
    let path = format!("{}:{}", jar.display(), classes.display());
    let text =
        succeeds(Command::new("java").args(["-Xverify:all", "-p", &path, "-m", "use/use.Main"]));
    assert_eq!(text, "123456\n");
}

#[test]
fn exceptions_of_cplusplus_end_at_java() {
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("parse");
    let mut compiler = Command::new("mipsel-linux-gnu-g++");
    succeeds(compiler.args(["-O2", "-static", "-o"]).arg(&program).arg(source("cplusplus.cpp")));
    let jar = folder.path().join("parse.jar");
    let exports = Exports {
        names: Vec::new(),
        header: Some(source("cplusplus.h")),
        class: "org.example.Parse".to_owned(),
    };
    let output = jar.clone();
    let exports = Some(exports);
    run(&Request { program, output, exports, ..Request::default() }).unwrap();
    assert_eq!(
        java(folder.path(), &jar, "Parses", &[]),
        "12 3\nsignal 6: an exception of the C++ type St16invalid_argument\n13 4\n"
    );
}

#[test]
fn a_program_is_run_many_times_within_limits() {
    let folder = TempDir::new().unwrap();
    let plain = build(folder.path(), "-O2", false, false).0;
    fs::rename(&plain, folder.path().join("plain.jar")).unwrap();
    let metered = build(folder.path(), "-O2", false, true).0;
    let plain = folder.path().join("plain.jar");
    let paths = [plain.to_str().unwrap(), metered.to_str().unwrap()];
    let text = java(folder.path(), &metered, "Embed", &paths);
    assert_eq!(text, "all is well\n");
}
