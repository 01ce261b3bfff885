//! The busybox that a guest runs: the one installed here, or for another architecture the one in
//! Debian's package for that.

use super::GuestError;
use crate::arch::Platform;
use object::elf::{FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, read};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};
use trimtab_lab::bytes::Bytes;
use trimtab_lab::process::{Job, ProcessError};
use trimtab_lab::tools::{self, FoundTool, ToolError};
use trimtab_program::Isa;

/// The Debian package.
const PACKAGE: &str = "busybox-static";
/// Lists of packages are some tens of megabytes.
const LIMIT: Duration = Duration::from_secs(600);

/// The one that is installed; none where this machine is of another architecture than `arch`, and
/// what it has is for itself.
///
/// # Errors
/// If this machine is of the same architecture and has none, or one that is too old.
pub fn installed(isa: Isa) -> Result<Option<FoundTool>, ToolError> {
    let fits = |path: &Path| Bytes::open(path).is_ok_and(|program| check(&program, isa).is_ok());
    match tools::find("busybox") {
        Ok(found) if isa.is_here() || fits(&found.path) => Ok(Some(found)),
        Err(error) if isa.is_here() => Err(error),
        _ => Ok(None),
    }
}

/// Downloads the package for `arch` with this machine's own package manager, takes the file
/// `busybox` out of it into `folder`, and returns its path and the package's version.
///
/// Nothing outside of `folder` is changed and no privileges are needed: the package manager gets
/// lists and a cache of its own there, so the machine need not know of the other architecture.
///
/// # Errors
/// If there is no `apt-get` or `dpkg-deb`, or its sources have no such package.
pub fn fetch(isa: Isa, folder: &Path) -> Result<(PathBuf, String), GuestError> {
    // Long: the steps of apt and dpkg, each with its own failure.
    let apt = folder.join("apt");
    let file_error = |path: &Path, source| GuestError::File { path: path.to_owned(), source };
    for part in ["lists/partial", "cache/archives/partial", "unpacked"] {
        let path = apt.join(part);
        fs::create_dir_all(&path).map_err(|source| file_error(&path, source))?;
    }
    // Nothing is installed there.
    let status = apt.join("status");
    fs::write(&status, "").map_err(|source| file_error(&status, source))?;

    let failed = |source: ProcessError| GuestError::Package { isa, source };
    let get = |purpose: &str, arguments: &[&str]| {
        let set = |name: &str, path: &Path| format!("{name}={}", path.display());
        let settings = [
            set("Dir::State", &apt),
            set("Dir::State::lists", &apt.join("lists")),
            set("Dir::State::status", &status),
            set("Dir::Cache", &apt.join("cache")),
            format!("APT::Architecture={}", isa.debian()),
            format!("APT::Architectures={}", isa.debian()),
            "Acquire::Languages=none".to_owned(),
            // The user that apt otherwise downloads as may not be let in here.
            "APT::Sandbox::User=root".to_owned(),
        ];
        let mut job = Job::new(purpose, "apt-get").arg("--quiet").dir(&apt);
        for setting in settings {
            job = job.arg("-o").arg(setting);
        }
        job.args(arguments).limit(LIMIT).run().map_err(failed)
    };
    get("listing the packages for the guest", &["update"])?;
    let package = format!("{PACKAGE}:{}", isa.debian());
    get("downloading busybox for the guest", &["download", &package])?;

    let deb = find(&apt, |name| name.ends_with(".deb"))
        .map_err(|source| file_error(&apt, source))?
        .ok_or_else(|| GuestError::EmptyPackage { package: apt.join(PACKAGE) })?;
    let unpacked = apt.join("unpacked");
    let job = |purpose: &str| Job::new(purpose, "dpkg-deb");
    job("unpacking busybox for the guest")
        .arg("--extract")
        .arg(&deb)
        .arg(&unpacked)
        .run()
        .map_err(failed)?;
    let version = job("asking for the version of busybox")
        .arg("--field")
        .arg(&deb)
        .arg("Version")
        .run_captured()
        .map_err(failed)?;

    let taken = folder.join("busybox");
    let places = ["bin/busybox", "usr/bin/busybox"].map(|place| unpacked.join(place));
    match places.iter().find(|place| place.is_file()) {
        Some(place) => fs::rename(place, &taken).map_err(|source| file_error(place, source))?,
        None => return Err(GuestError::EmptyPackage { package: deb }),
    }
    fs::remove_dir_all(&apt).map_err(|source| file_error(&apt, source))?;
    Ok((taken, version.trim().to_owned()))
}

/// The first file by name in a folder that is wanted.
fn find(folder: &Path, wanted: impl Fn(&str) -> bool) -> io::Result<Option<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if wanted(&entry.file_name().to_string_lossy()) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found.into_iter().next())
}

/// Reads the one at `path`, which guests of `isa` are to run.
///
/// # Errors
/// That it cannot be read, or what keeps it from running there.
pub fn read(path: &Path, isa: Isa) -> Result<Bytes, GuestError> {
    let cannot = |source| GuestError::File { path: path.to_owned(), source };
    let program = Bytes::open(path).map_err(cannot)?;
    let refused = |found| GuestError::Busybox { path: path.to_owned(), isa, found };
    check(&program, isa).map_err(refused)?;
    Ok(program)
}

/// Says what keeps this program from running in a guest that has nothing else.
pub(super) fn check(program: &[u8], isa: Isa) -> Result<(), &'static str> {
    const NOT_ELF: &str = "is not a 64-bit ELF program";
    let header = FileHeader64::<Endianness>::parse(program).map_err(|_: read::Error| NOT_ELF)?;
    let endian = header.endian().map_err(|_| NOT_ELF)?;
    if header.e_machine(endian) != isa.elf_machine() {
        return Err("is for another machine");
    }
    let segments = header.program_headers(endian, program).map_err(|_| NOT_ELF)?;
    if segments.iter().any(|segment| segment.p_type(endian) == PT_INTERP) {
        return Err("is dynamically linked");
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fetched_for_another_machine_is_what_the_table_of_tools_names() {
        assert_eq!(tools::packages("busybox"), Some(&[PACKAGE][..]));
    }

    #[test]
    fn one_that_cannot_run_alone_is_refused() {
        let this_test = fs::read(std::env::current_exe().unwrap()).unwrap();
        for isa in Isa::KERNELS {
            let expected =
                if isa.is_here() { "is dynamically linked" } else { "is for another machine" };
            assert_eq!(check(&this_test, isa), Err(expected));
            assert_eq!(check(b"#!/bin/sh", isa), Err("is not a 64-bit ELF program"));
            if isa.is_here() {
                assert_eq!(check(&this_test[..70], isa), Err("is not a 64-bit ELF program"));
            }
        }
    }

    #[test]
    fn the_package_is_the_first_file_of_its_kind() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["status", "b.deb", "a.deb"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let found = |end: &str| find(folder.path(), |name| name.ends_with(end)).unwrap();
        assert_eq!(found(".deb"), Some(folder.path().join("a.deb")));
        assert_eq!(found(".rpm"), None);
        assert!(find(&folder.path().join("none"), |_| true).is_err());
    }
}
