//! Programs of this machine that a guest gets as well, each with the libraries that it needs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{GuestError, busybox};
use trimtab_lab::bytes::Bytes;
use trimtab_lab::process::Job;
use trimtab_program::Isa;

/// Says what a program is linked with.
const LDD: &str = "ldd";
/// It only maps files, or says a path.
const LIMIT: Duration = Duration::from_secs(20);

/// Where each file of `programs` lies in the guest, without the leading slash, and where it is here. A
/// program goes to `usr/bin`, a library where the program looks for it.
///
/// # Errors
/// If `ldd` fails, or does not find a library.
pub fn files(programs: &[PathBuf]) -> Result<BTreeMap<String, PathBuf>, GuestError> {
    let mut files = BTreeMap::new();
    for program in programs {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.insert(format!("usr/bin/{name}"), program.clone());
        // Of such a program `ldd` says that it is none, as it says of a script.
        if is_static(program)? {
            continue;
        }
        let said = Job::new("asking for a program's libraries", LDD)
            .arg(program)
            .limit(LIMIT)
            .run_captured()
            .map_err(|source| GuestError::Libraries {
                program: program.clone(),
                source: source.into(),
            })?;
        let libraries = libraries(&said).map_err(|library| GuestError::NoLibrary {
            program: program.clone(),
            library: library.to_owned(),
        })?;
        for library in libraries {
            files.insert(library.trim_start_matches('/').to_owned(), PathBuf::from(library));
        }
    }
    Ok(files)
}

/// Where a program is that gcc calls, as `cc1`, `as` or `ld`: in its own folder, or in `PATH`.
///
/// # Errors
/// If gcc fails, or does not find it.
pub fn of_gcc(gcc: &Path, name: &str) -> Result<PathBuf, GuestError> {
    let said = Job::new("asking gcc for a program that it calls", gcc)
        .arg(format!("-print-prog-name={name}"))
        .limit(LIMIT)
        .run_captured()
        .map_err(|source| GuestError::Gcc {
            gcc: gcc.to_owned(),
            name: name.to_owned(),
            source: source.into(),
        })?;
    let given = Path::new(said.trim());
    // Where it only says the name, it looks in PATH.
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join(given));
    places
        .find(|path| path.is_file())
        .ok_or_else(|| GuestError::NotOfGcc { gcc: gcc.to_owned(), name: name.to_owned() })
}

/// Whether a program needs no other file.
fn is_static(program: &Path) -> Result<bool, GuestError> {
    let cannot = |source| GuestError::File { path: program.to_owned(), source };
    let bytes = Bytes::open(program).map_err(cannot)?;
    Ok(Isa::KERNELS.into_iter().any(|isa| isa.is_here() && busybox::check(&bytes, isa).is_ok()))
}

/// The paths in what `ldd` wrote; or the name of a library that it did not find.
fn libraries(said: &str) -> Result<Vec<&str>, &str> {
    let mut paths = Vec::new();
    for line in said.lines().map(str::trim) {
        let (name, found) = line.split_once(" => ").unwrap_or((line, line));
        if found == "not found" {
            return Err(name);
        }
        let path = found.split_once(" (").map_or(found, |(path, _)| path);
        // What the kernel brings along has no file.
        if Path::new(path).is_absolute() {
            paths.push(path);
        }
    }
    Ok(paths)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_is_linked_with_is_read() {
        let said = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibc.so.6 => /lib/x/libc.so.6 (0x00007f1)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f2)\n";
        let expected = vec!["/lib/x/libc.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(libraries(said), Ok(expected));
        assert_eq!(libraries("\tnot a dynamic executable\n"), Ok(vec![]));
        assert_eq!(libraries("\tlibjpeg.so.62 => not found\n"), Err("libjpeg.so.62"));
    }

    #[test]
    fn programs_that_gcc_calls_are_found() {
        for name in ["cc1", "as", "ld"] {
            let path = of_gcc(Path::new("gcc"), name).unwrap();
            assert!(path.is_absolute() && path.is_file(), "{}", path.display());
        }
        let error = of_gcc(Path::new("gcc"), "no-such-program").unwrap_err().to_string();
        assert!(error.starts_with("gcc has no no-such-program"), "{error}");
        assert!(of_gcc(Path::new("/no/gcc"), "cc1").is_err());
    }

    #[test]
    fn a_static_program_comes_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("it.c"), folder.path().join("it"));
        std::fs::write(&source, "int main(void) { return 0; }").unwrap();
        let mut gcc = std::process::Command::new("gcc");
        assert!(gcc.args(["-static", "-o"]).args([&program, &source]).status().unwrap().success());
        let found = files(std::slice::from_ref(&program)).unwrap();
        assert_eq!(found, BTreeMap::from([("usr/bin/it".to_owned(), program)]));
        // A script is no program that runs alone.
        std::fs::write(&source, "#!/bin/sh\n").unwrap();
        assert!(files(&[source]).unwrap_err().to_string().contains("libraries"));
    }

    #[test]
    fn a_program_comes_with_its_loader() {
        let found = files(&[std::env::current_exe().unwrap()]).unwrap();
        assert!(found.keys().any(|path| path.contains("libc.so")), "{found:?}");
        assert!(found.keys().any(|path| path.starts_with("usr/bin/")), "{found:?}");
    }
}
