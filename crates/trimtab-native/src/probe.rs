//! The run time of instrumented programs: its sources, how it is compiled on the machine that uses
//! it, and how a build is run with another linker in front.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};
use trimtab_lab::compile::{CompileError, compile};
use trimtab_lab::process::{Invocation, Job};
use trimtab_lab::script;
use trimtab_lab::shell::quoted;

const SOURCES: [(&str, &str); 15] = [
    ("runtime.c", include_str!("../../../probe/runtime.c")),
    ("recording.h", include_str!("../../../probe/recording.h")),
    ("overhead.h", include_str!("../../../probe/overhead.h")),
    ("events.h", include_str!("../../../probe/events.h")),
    ("threads.h", include_str!("../../../probe/threads.h")),
    ("calls.h", include_str!("../../../probe/calls.h")),
    ("hooks.h", include_str!("../../../probe/hooks.h")),
    ("entry.S", include_str!("../../../probe/entry.S")),
    ("entry_x86_64.S", include_str!("../../../probe/entry_x86_64.S")),
    ("entry_aarch64.S", include_str!("../../../probe/entry_aarch64.S")),
    ("internal.h", include_str!("../../../probe/internal.h")),
    ("machine.h", include_str!("../../../probe/machine.h")),
    ("x86_64.h", include_str!("../../../probe/x86_64.h")),
    ("aarch64.h", include_str!("../../../probe/aarch64.h")),
    ("trimtab_probe.h", HEADER),
];

/// The object with hooks of the user's that instrumented programs are linked with, too.
pub const HOOKS: &str = "trimtab-hooks.o";

/// Hooks of the user's as an object: `file` is one, or a source that `cc` compiles so that hooks
/// can be put into probes: quick, and without vector registers where these are not asked for.
/// Sources find `trimtab_probe.h` as if it were a header of the system.
///
/// # Errors
/// That it cannot be read, or the compiler's error.
pub fn hooks(cc: &Path, file: &Path) -> Result<Vec<u8>, CompileError> {
    let read = |path: &Path| {
        fs::read(path).map_err(|source| CompileError::Read { path: path.to_owned(), source })
    };
    let data = read(file)?;
    if data.starts_with(b"\x7fELF") {
        return Ok(data);
    }
    let cannot = |path: &Path, source| CompileError::Write { path: path.to_owned(), source };
    let folder = tempfile::tempdir().map_err(|source| cannot(Path::new("a folder"), source))?;
    let (header, object) = (folder.path().join("trimtab_probe.h"), folder.path().join(HOOKS));
    fs::write(&header, HEADER).map_err(|source| cannot(&header, source))?;
    Job::new("compiling the hooks", cc)
        .package("gcc libc6-dev")
        .args(["-O2", "-g", "-fno-tree-vectorize", "-fno-stack-protector", "-fno-lto"])
        .arg("-I")
        .arg(folder.path())
        .arg("-c")
        .arg(file)
        .arg("-o")
        .arg(&object)
        .limit(Duration::from_secs(120))
        .run()?;
    read(&object)
}

/// The header for hooks of the user's.
pub const HEADER: &str = include_str!("../../../probe/trimtab_probe.h");

/// The object that instrumented programs are linked with.
pub const OBJECT: &str = "trimtab-probe.o";

/// Compiles the run time with the compiler `cc` (a path or name) as [`OBJECT`] in `folder`, and
/// returns its path. It is for the machine that `cc` compiles for.
///
/// # Errors
/// If there is no such compiler, it fails, or the folder cannot be written.
pub fn build(cc: &Path, folder: &Path) -> Result<PathBuf, CompileError> {
    let object = folder.join(OBJECT);
    let machine = Job::new("asking the compiler for its machine", cc)
        .package("gcc libc6-dev")
        .arg("-dumpmachine")
        .limit(Duration::from_secs(30))
        .run_captured()?;
    let mut flags = vec![
        "-std=gnu11",
        "-O2",
        "-fPIC",
        // Code that runs at each probe must leave the vector registers alone.
        "-mgeneral-regs-only",
        "-fno-stack-protector",
        "-fno-lto",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-r",
        "-nostdlib",
        "entry.S",
    ];
    // The marks of control-flow enforcement are in all objects of a program, or it does without.
    if machine.starts_with("aarch64") || machine.starts_with("arm64") {
        // Not what libgcc has in place of atomic instructions: it is not linked here.
        flags.extend(["-mbranch-protection=standard", "-mno-outline-atomics"]);
    } else {
        flags.push("-fcf-protection");
    }
    compile("building the probes' run time", cc, &SOURCES, &flags, &object)?;
    Ok(object)
}

/// Its sources (file name, text): what a cached build of it depends on.
pub fn sources() -> &'static [(&'static str, &'static str)] {
    &SOURCES
}

/// Names by which compilers are started.
const COMPILERS: [&str; 6] = ["cc", "gcc", "clang", "c++", "g++", "clang++"];
/// Names by which compilers start linkers.
const LINKERS: [&str; 6] = ["ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold", "collect-ld"];

/// In the folder of the stand-ins: where that for the linker of Rust's own is.
const RUST: &str = "rust";

/// Fills `folder` with programs that stand in for the compilers and linkers found in `path`, a list
/// as `PATH` is: compilers are told to look for the linker here, and linkers are
/// `trimtab probe link -- REAL ARGUMENTS...`. rustc brings a linker of its own, which is in no path: it
/// tells the compiler where to look for it.
///
/// # Errors
/// That the folder cannot be written.
pub fn stand_in(folder: &Path, trimtab: &Path, path: &OsString) -> io::Result<()> {
    let here = quoted(folder);
    let mut compilers = Vec::new();
    // By version: that of `ld.lld-22` is how clang finds a newer one than the system's.
    let mut versions = BTreeMap::new();
    for directory in std::env::split_paths(path) {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let Some(Tool { machine, plain, version }) = split(name) else { continue };
            let real = quoted(entry.path());
            if !LINKERS.contains(&plain) {
                compilers.push((name.to_owned(), machine.map(str::to_owned), real));
                continue;
            }
            let text = format!("#!/bin/sh\nexec {} probe link -- {real} \"$@\"\n", quoted(trimtab));
            write_script(&folder.join(name), &text)?;
            if let (None, Some(version)) = (machine, version) {
                versions.entry((version, plain)).or_insert_with(|| text.clone());
            }
            // A compiler for another machine looks for it under the plain name.
            if let Some(machine) = machine {
                fs::create_dir_all(folder.join(machine))?;
                write_script(&folder.join(machine).join(plain), &text)?;
            }
        }
    }
    // Compilers look for it under the plain name.
    for ((_, plain), text) in versions.iter().rev() {
        write_script(&folder.join(plain), text)?;
    }
    let rust = folder.join(RUST);
    fs::create_dir_all(&rust)?;
    let text =
        format!("#!/bin/sh\nexec {} probe link -- \"${RUST_LINKER}\" \"$@\"\n", quoted(trimtab));
    write_script(&rust.join("ld.lld"), &text)?;
    let rust = choose_rusts(&quoted(&rust));
    for (name, machine, real) in compilers {
        let linkers = machine.map(|machine| folder.join(machine)).filter(|folder| folder.is_dir());
        let first = linkers.map(|folder| format!(" -B{}", quoted(&folder))).unwrap_or_default();
        let choice =
            if name.contains("clang") { choose_target(&here, &real) } else { String::new() };
        write_script(
            &folder.join(&name),
            &format!("#!/bin/sh\n{rust}{choice}exec {real} {OF_RUST}{first} -B{here} \"$@\"\n"),
        )?;
    }
    Ok(())
}

/// Names the linker that rustc brings, for its stand-in.
const RUST_LINKER: &str = "TRIMTAB_PROBE_RUST_LINKER";

/// Has the compiler look there first then.
const OF_RUST: &str = "${rust:+-B\"$rust\"}";

/// Finds out whether rustc tells the compiler where its own lld is.
fn choose_rusts(stand_in: &str) -> String {
    format!(
        "rust=
for word; do
    case $word in
    -B*/gcc-ld)
        if [ -x \"${{word#-B}}/ld.lld\" ]; then
            rust={stand_in}
            export {RUST_LINKER}=\"${{word#-B}}/ld.lld\"
        fi
        ;;
    esac
done
"
    )
}

/// Has clang, which compiles for any machine, take the linker of the one it is told.
fn choose_target(here: &str, real: &str) -> String {
    format!(
        "last=
for word; do
    case $last in -target | --target) machine=$word ;; esac
    case $word in --target=*) machine=${{word#*=}} ;; esac
    last=$word
done
if [ -n \"$machine\" ] && [ -d {here}/\"$machine\" ]; then
    exec {real} {OF_RUST} -B{here}/\"$machine\" -B{here} \"$@\"
fi
"
    )
}

/// A compiler or a linker, by its name: `aarch64-linux-gnu`, `gcc` and 12 of
/// `aarch64-linux-gnu-gcc-12`.
struct Tool<'a> {
    machine: Option<&'a str>,
    plain: &'static str,
    version: Option<u32>,
}

fn split(name: &str) -> Option<Tool<'_>> {
    let parsed = name.rsplit_once('-').and_then(|(rest, last)| Some((rest, last.parse().ok()?)));
    let (name, version) = parsed.map_or((name, None), |(rest, version)| (rest, Some(version)));
    let known = LINKERS.iter().chain(&COMPILERS);
    let exact = known.clone().find(|tool| **tool == name);
    let tool = |machine, plain: &&'static str| Tool { machine, plain, version };
    exact.map(|plain| tool(None, plain)).or_else(|| {
        known.into_iter().find_map(|plain| {
            let machine = name.strip_suffix(plain)?.strip_suffix('-')?;
            Some(tool(Some(machine), plain))
        })
    })
}

/// The first in the path counts, and a script that is there is not written again.
fn write_script(path: &Path, text: &str) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    script::write(path, text)
}

/// Runs a command of the user's: on the same terminal, with the same input, and no time limit.
/// Gives its exit code, 128 and the signal where one killed it.
///
/// # Errors
/// That it cannot be started.
pub fn run(command: &[OsString], environment: &[(&str, OsString)]) -> io::Result<i32> {
    let invocation = Invocation::of_words(command).ok_or(io::ErrorKind::InvalidInput)?;
    let variables = environment.iter().map(|(name, value)| (name, value));
    let status = invocation.envs(variables).run_in_foreground()?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

/// Becomes another program. Only returns where it cannot be started.
pub fn become_program(command: &[OsString]) -> io::Error {
    match Invocation::of_words(command) {
        Some(invocation) => invocation.exec(),
        None => io::ErrorKind::InvalidInput.into(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_run_time_builds_without_warnings_and_the_same_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = fs::read(build(Path::new("cc"), folder.path()).unwrap()).unwrap();
        let second = build(Path::new("cc"), &folder.path().join("deeper")).unwrap();
        assert_eq!(first, fs::read(second).unwrap());
    }

    #[test]
    fn compilers_and_linkers_get_a_stand_in_and_others_do_not() {
        let (real, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["gcc", "x86_64-linux-gnu-g++-12", "ld", "ld.lld", "as", "gcc-ar", "objdump"] {
            fs::write(real.path().join(name), "").unwrap();
        }
        let path = real.path().as_os_str().to_owned();
        stand_in(folder.path(), Path::new("/opt/it's/trimtab"), &path).unwrap();
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["gcc", "ld", "ld.lld", "rust", "x86_64-linux-gnu-g++-12"]);
        let text = fs::read_to_string(folder.path().join("ld")).unwrap();
        assert!(text.contains("exec \"/opt/it's/trimtab\" probe link -- /"), "{text}");
    }

    #[test]
    fn compilers_for_another_machine_find_its_linker() {
        let (real, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["gcc", "ld", "aarch64-linux-gnu-gcc-12", "aarch64-linux-gnu-ld"] {
            fs::write(real.path().join(name), "").unwrap();
        }
        let path = real.path().as_os_str().to_owned();
        stand_in(folder.path(), Path::new("/trimtab"), &path).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let linkers = folder.path().join("aarch64-linux-gnu");
        let wanted = format!(" -B{} -B{} ", linkers.display(), folder.path().display());
        assert!(read("aarch64-linux-gnu-gcc-12").contains(&wanted));
        assert!(!read("gcc").contains("aarch64"));
        assert!(read("aarch64-linux-gnu/ld").contains("/aarch64-linux-gnu-ld \"$@\""));
    }

    #[test]
    fn what_rustc_starts_finds_the_linker_that_rustc_brings() {
        let (real, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let own = real.path().join("it's rust/gcc-ld");
        fs::create_dir_all(&own).unwrap();
        for name in ["cc", "clang", "ld.lld"] {
            let text = "#!/bin/sh\nprintf '%s\\n' \"$TRIMTAB_PROBE_RUST_LINKER\" \"$@\"\n";
            write_script(&real.path().join(name), text).unwrap();
        }
        let path = real.path().as_os_str().to_owned();
        stand_in(folder.path(), Path::new("/bin/echo"), &path).unwrap();
        let here = folder.path().display();
        let told = format!("-B{}", own.display());
        let run = |name: &str| {
            let output = Command::new(folder.path().join(name)).args([&told, "x"]).output();
            String::from_utf8(output.unwrap().stdout).unwrap()
        };
        for name in ["cc", "clang"] {
            // There is no linker.
            assert_eq!(run(name), format!("\n-B{here}\n{told}\nx\n"));
        }
        write_script(&own.join("ld.lld"), "").unwrap();
        let linker = own.join("ld.lld").display().to_string();
        for name in ["cc", "clang"] {
            assert_eq!(run(name), format!("{linker}\n-B{here}/rust\n-B{here}\n{told}\nx\n"));
        }
        let mut stand_in = Command::new(folder.path().join("rust/ld.lld"));
        let output = stand_in.env(RUST_LINKER, &linker).arg("x").output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said, format!("probe link -- {linker} x\n"));
    }

    #[test]
    fn clang_finds_the_linker_of_its_target_and_that_of_its_version() {
        let (real, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["clang-22", "ld", "ld.lld-19", "ld.lld-22", "aarch64-linux-gnu-ld"] {
            write_script(&real.path().join(name), "#!/bin/sh\necho \"$@\"\n").unwrap();
        }
        let path = real.path().as_os_str().to_owned();
        stand_in(folder.path(), Path::new("/trimtab"), &path).unwrap();
        let text = fs::read_to_string(folder.path().join("ld.lld")).unwrap();
        assert!(text.contains("/ld.lld-22 \"$@\""), "{text}");
        let told = |arguments: &[&str]| {
            let clang = Command::new(folder.path().join("clang-22")).args(arguments).output();
            String::from_utf8(clang.unwrap().stdout).unwrap()
        };
        let here = folder.path().display();
        for target in [&["--target=aarch64-linux-gnu"][..], &["-target", "aarch64-linux-gnu"]] {
            let wanted = format!("-B{here}/aarch64-linux-gnu -B{here} -c {}\n", target.join(" "));
            assert_eq!(told(&[&["-c"], target].concat()), wanted);
        }
        assert_eq!(told(&["--target=other", "x.c"]), format!("-B{here} --target=other x.c\n"));
        assert_eq!(told(&["x.c"]), format!("-B{here} x.c\n"));
    }
}
