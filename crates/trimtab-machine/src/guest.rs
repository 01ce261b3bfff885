//! The guest's root: our init, a static busybox and the workloads, packed as an initramfs.
//!
//! The same inputs give the same bytes.

pub mod busybox;
pub mod compiled;
mod cpio;
pub mod parallel;
pub mod programs;

use crate::arch::Platform;
use cpio::Archive;
use flate2::{Compression, GzBuilder};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};
use thiserror::Error;
use trimtab_lab::bytes::Bytes;
use trimtab_lab::compile::{CompileError, compile};
use trimtab_lab::process::ProcessError;
use trimtab_lab::workload::{self, WorkloadError};
use trimtab_program::Isa;

const INIT: [(&str, &str); 3] = [
    ("init.c", include_str!("../../../guest/init.c")),
    ("ftrace.c", include_str!("../../../guest/ftrace.c")),
    ("init.h", include_str!("../../../guest/init.h")),
];

/// A script that a guest can run: what somebody does with the machine once it is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Its name on the kernel command line: ASCII letters, digits, `-` and `_`.
    pub name: String,
    /// Its text, for busybox's `sh`. A workload succeeds if it exits with 0.
    pub script: String,
}

impl Workload {
    /// The workloads of the catalogue that guests can run without programs of this machine.
    ///
    /// # Errors
    /// [`GuestError::Catalogue`].
    pub fn all() -> Result<Vec<Workload>, GuestError> {
        Self::of_catalogue(|workload| workload.programs().is_empty())
    }

    /// All workloads of the catalogue that guests can run: also those that need [`programs_needed`].
    ///
    /// # Errors
    /// [`GuestError::Catalogue`].
    pub fn with_programs() -> Result<Vec<Workload>, GuestError> {
        Self::of_catalogue(|_| true)
    }

    fn of_catalogue(
        wanted: impl Fn(&workload::Workload) -> bool,
    ) -> Result<Vec<Workload>, GuestError> {
        let all = workload::all().map_err(GuestError::Catalogue)?;
        let workloads = all.iter().filter(|workload| wanted(workload)).filter_map(|workload| {
            let script = workload.script()?.to_owned();
            Some(Workload { name: workload.name.clone(), script })
        });
        Ok(workloads.collect())
    }
}

/// Programs that [`Workload::with_programs`] needs beside busybox, by the names of their
/// [tools](trimtab_lab::tools).
///
/// # Errors
/// [`GuestError::Catalogue`].
pub fn programs_needed() -> Result<Vec<String>, GuestError> {
    let mut names = Vec::new();
    for workload in workload::all().map_err(GuestError::Catalogue)? {
        for name in workload.programs().iter().map(workload::GuestFile::name) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    Ok(names)
}

/// Why the guest's root could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GuestError {
    /// The catalogue of workloads is not as it should be.
    #[error(transparent)]
    Catalogue(&'static WorkloadError),
    /// Our init could not be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A file could not be read or written.
    #[error("the guest's root cannot be made: {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The busybox is not one that can run alone.
    #[error(
        "the guest's busybox {} {found}; expected a statically linked {} program, such as the one \
         in the package `busybox-static`",
        path.display(), isa.kbuild()
    )]
    Busybox {
        /// The file.
        path: PathBuf,
        /// What it has to run on.
        isa: Isa,
        /// What is wrong with it.
        found: &'static str,
    },
    /// A busybox for another architecture could not be had.
    #[error(
        "cannot get a busybox for {}; give a statically linked one with --busybox FILE: {source}",
        isa.kbuild()
    )]
    Package {
        /// What it has to run on.
        isa: Isa,
        /// What went wrong.
        source: ProcessError,
    },
    /// There is no busybox in the package that should have it.
    #[error("the package {} holds no bin/busybox; give one with --busybox FILE", package.display())]
    EmptyPackage {
        /// The package's file.
        package: PathBuf,
    },
    /// It is not known which libraries a program needs.
    #[error("cannot find the libraries of {}, which the guest needs: {source}", program.display())]
    Libraries {
        /// The program.
        program: PathBuf,
        /// What went wrong.
        source: Box<ProcessError>,
    },
    /// A library of a program is not there.
    #[error(
        "the library {library} of {} is not there; install the program's package again",
        program.display()
    )]
    NoLibrary {
        /// The program.
        program: PathBuf,
        /// The library's name.
        library: String,
    },
    /// gcc does not say where a program is that it calls.
    #[error("cannot ask {} for its {name}: {source}", gcc.display())]
    Gcc {
        /// gcc.
        gcc: PathBuf,
        /// The program's name.
        name: String,
        /// What went wrong.
        source: Box<ProcessError>,
    },
    /// A program that gcc calls is not there.
    #[error("{} has no {name}; install its package, or binutils, again", gcc.display())]
    NotOfGcc {
        /// gcc.
        gcc: PathBuf,
        /// The program's name.
        name: String,
    },
    /// A workload's name cannot stand on a kernel command line.
    #[error(
        "a workload cannot have the name {name:?}: expected ASCII letters, digits, `-` and `_`"
    )]
    WorkloadName {
        /// The name.
        name: String,
    },
}

/// Compiles our init with the compiler `cc` (a path or name; it needs a static C library) as the
/// file `init` in `folder`, and returns its path.
///
/// # Errors
/// If there is no such compiler, it fails, or the folder cannot be written.
pub fn build_init(cc: &Path, folder: &Path) -> Result<PathBuf, GuestError> {
    let init = folder.join("init");
    let flags = [
        "-std=gnu11",
        "-static",
        "-Os",
        "-s",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wl,--build-id=none",
    ];
    compile("building the guest's init", cc, &INIT, &flags, &init)?;
    Ok(init)
}

/// Where modules lie in a guest's root for its init to load: files to [build] it with.
pub fn modules(modules: &[PathBuf]) -> BTreeMap<String, PathBuf> {
    let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let at = |path: &PathBuf| Some((format!("lib/modules/{}", name(path)?), path.clone()));
    modules.iter().filter_map(at).collect()
}

/// Sources of our init (file name, text): what a cached build of it depends on.
pub fn init_sources() -> &'static [(&'static str, &'static str)] {
    &INIT
}

/// Builds our init for `arch` with the compiler `cc` of its programs, packs it with the program
/// `busybox`, the `workloads` and other `files` (by their paths in the guest, as
/// [`programs::files`] gives them) as `guest.cpio.gz` in `folder`, and returns its path.
///
/// # Errors
/// As [`build_init`] and [`pack`], and if a file cannot be read or written.
pub fn build(
    isa: Isa,
    cc: &Path,
    busybox: &Path,
    workloads: &[Workload],
    files: &BTreeMap<String, PathBuf>,
    folder: &Path,
) -> Result<PathBuf, GuestError> {
    let file_error = |path: &Path, source| GuestError::File { path: path.to_owned(), source };
    let init = build_init(cc, folder)?;
    let init = fs::read(&init).map_err(|source| file_error(&init, source))?;
    let program = busybox::read(busybox, isa)?;
    let read = |(name, path): (&String, &PathBuf)| match Bytes::open(path) {
        Ok(content) => Ok((name.clone(), content.to_vec())),
        Err(source) => Err(file_error(path, source)),
    };
    let files: BTreeMap<String, Vec<u8>> = files.iter().map(read).collect::<Result<_, _>>()?;
    let image = pack(&init, &program, workloads, &files)?;

    let path = folder.join("guest.cpio.gz");
    let write = || -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&image)?;
        file.persist(&path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|source| file_error(&path, source))?;
    Ok(path)
}

/// Packs an init, a busybox, workloads and other programs and libraries as an initramfs in the format of
/// gzip.
///
/// # Errors
/// If a workload's name cannot stand on a kernel command line.
pub fn pack(
    init: &[u8],
    busybox: &[u8],
    workloads: &[Workload],
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<Vec<u8>, GuestError> {
    let mut archive = Archive::new();
    for folder in ["bin", "dev", "etc", "etc/trimtab", "proc", "root", "run", "sys", "tmp"] {
        archive.folder(folder);
    }
    // The kernel opens it before init can mount anything.
    archive.character_device("dev/console", 0o600, 5, 1);
    archive.file("bin/busybox", 0o755, busybox);
    archive.link("bin/sh", "busybox");
    for workload in workloads {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if workload.name.is_empty() || !workload.name.chars().all(plain) {
            return Err(GuestError::WorkloadName { name: workload.name.clone() });
        }
        let path = format!("etc/trimtab/{}.sh", workload.name);
        archive.file(&path, 0o644, workload.script.as_bytes());
    }
    // A folder before what is in it: that is the order of their names.
    let above = |path: &str| {
        let folders =
            Path::new(path).ancestors().skip(1).map(|folder| folder.display().to_string());
        folders.filter(|folder| !folder.is_empty()).collect::<Vec<String>>()
    };
    let folders: BTreeSet<String> = files.keys().flat_map(|path| above(path)).collect();
    for folder in &folders {
        archive.folder(folder);
    }
    for (path, content) in files {
        archive.file(path, 0o755, content);
    }
    archive.file("init", 0o755, init);

    // Programs come with hundreds of megabytes of libraries. Unpacking those would be most of what a
    // guest does before init.
    let level = if files.is_empty() { Compression::new(6) } else { Compression::none() };
    // 255: unknown system. Neither it nor the time may depend on where this runs.
    let mut gzip = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), level);
    let compressed = gzip.write_all(&archive.finish()).and_then(|()| gzip.finish());
    compressed.map_err(|source| GuestError::File { path: "guest.cpio.gz".into(), source })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_image_is_the_same_each_time() {
        let first = pack(b"init", b"busybox", &Workload::all().unwrap(), &BTreeMap::new()).unwrap();
        assert_eq!(
            first,
            pack(b"init", b"busybox", &Workload::all().unwrap(), &BTreeMap::new()).unwrap()
        );
        assert_eq!(first[4..8], [0; 4], "no time in the gzip header");
    }

    #[test]
    fn our_init_compiles_without_warnings_and_the_same_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = fs::read(build_init(Path::new("cc"), folder.path()).unwrap()).unwrap();
        let second = build_init(Path::new("cc"), &folder.path().join("deeper")).unwrap();
        assert_eq!(first, fs::read(second).unwrap());
        assert_eq!(busybox::check(&first, Isa::X86_64), Ok(()), "it is static");
    }

    #[test]
    fn a_busybox_that_cannot_run_in_the_guest_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("busybox");
        let fails = || {
            build(Isa::X86_64, Path::new("cc"), &path, &[], &BTreeMap::new(), folder.path())
                .unwrap_err()
                .to_string()
        };
        assert!(fails().contains(&path.display().to_string()));
        fs::write(&path, "#!/bin/sh").unwrap();
        assert!(fails().contains("expected a statically linked x86_64 program"), "{}", fails());
    }

    #[test]
    fn a_workload_cannot_have_a_path_for_a_name() {
        let workload = Workload { name: "../init".into(), script: String::new() };
        let error = pack(b"", b"", &[workload], &BTreeMap::new()).unwrap_err().to_string();
        assert!(error.contains("\"../init\""), "{error}");
    }
}
