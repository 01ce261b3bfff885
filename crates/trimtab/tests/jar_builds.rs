//! The examples of C libraries in builds for Java, as `docs/jar-java.md` names them.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Runs a command in a folder, and gives what it wrote.
fn succeeds(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let found = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("TRIMTAB", env!("CARGO_BIN_EXE_trimtab"))
        .output()
        .unwrap();
    let (out, error) =
        (String::from_utf8_lossy(&found.stdout), String::from_utf8_lossy(&found.stderr));
    assert!(found.status.success(), "{program} {arguments:?}: {out}{error}");
    out.into_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        let made = ["target", "build", ".gradle"].iter().any(|made| name == *made);
        if path.is_dir() && !made {
            copy(&path, &to.join(name));
        } else if path.is_file() {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

#[test]
#[ignore = "fetches plugins of Maven, a minute: ./setup && cargo test -p trimtab --test jar_builds -- --ignored"]
fn maven_and_gradle_build_a_java_program_with_a_c_library() {
    let folder = TempDir::new().unwrap();
    let examples = folder.path();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../jar/examples"), examples);
    let expected = "2 words, 3.5\nfour 4\nall 3\n";

    let maven = examples.join("maven");
    let repository = format!("-Dmaven.repo.local={}", examples.join("repository").display());
    succeeds(&maven, "timeout", &["600", "mvn", "-q", "-B", &repository, "package"]);
    let path = "words/target/words.jar:use/target/use-1.jar";
    assert_eq!(succeeds(&maven, "java", &["-cp", path, "Use", "four all"]), expected);

    let gradle = examples.join("gradle");
    succeeds(&gradle, "timeout", &["600", "gradle", "-q", "--offline", "--no-daemon", "build"]);
    let jar = "build/libs/uses-words.jar";
    assert_eq!(succeeds(&gradle, "java", &["-jar", jar, "four all"]), expected);
}
