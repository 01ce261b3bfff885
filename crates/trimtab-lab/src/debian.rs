//! Sources of Debian packages, fetched without changing the machine: apt works on lists of its own,
//! made of the system's, and anyone may do it.

use crate::process::{Job, ProcessError};
use std::path::{Path, PathBuf};
use std::{fs, io};
use tempfile::TempDir;
use thiserror::Error;

/// Why a package's source is not to be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// apt or tar failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// Something could not be written.
    #[error("cannot write to {}: {source}", path.display())]
    Write {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// This is no Debian, or its lists are unusual.
    #[error(
        "no list of Debian packages was found in /etc/apt; expected a line `deb ...` or a stanza"
    )]
    NoLists,
    /// apt fetched nothing that can be unpacked.
    #[error("the source package {package} has no .orig.tar file")]
    NoSource {
        /// The package.
        package: String,
    },
}

/// A source package, as it was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePackage {
    /// The archive of the upstream source.
    pub archive: PathBuf,
    /// The file that names all of the package's, which lie beside it.
    pub description: PathBuf,
    /// The package's version, as it is in names of files: without an epoch.
    pub version: String,
}

/// Fetches and unpacks the upstream source of a package into `folder`, where it is found again the
/// next time. Gives the folder of the source and the version of the package. Debian's own patches
/// are not applied.
///
/// # Errors
/// If apt does not have it, or the folder cannot be written.
pub fn source(package: &str, folder: &Path) -> Result<(PathBuf, String), SourceError> {
    let place = folder.join(package);
    if let Some(found) = unpacked(&place) {
        return Ok(found);
    }
    let cannot = |source| SourceError::Write { path: folder.to_owned(), source };
    let scratch = fetched(package, folder)?;
    let fetched = package_in(scratch.path(), package)?;
    let tree = scratch.path().join("tree");
    fs::create_dir(&tree).map_err(cannot)?;
    Job::new(format!("unpacking {package}"), "tar")
        .arg("xf")
        .arg(&fetched.archive)
        .arg("-C")
        .arg(&tree)
        .run()?;
    // Most have one folder with everything in it, some have everything in the open.
    let tops: Vec<PathBuf> =
        fs::read_dir(&tree).map_err(cannot)?.flatten().map(|entry| entry.path()).collect();
    if let [only] = tops.as_slice()
        && only.is_dir()
    {
        let inner = scratch.path().join("inner");
        fs::rename(only, &inner).and_then(|()| fs::remove_dir(&tree)).map_err(cannot)?;
        fs::rename(&inner, &tree).map_err(cannot)?;
    }
    fs::write(scratch.path().join("version"), fetched.version).map_err(cannot)?;
    fs::rename(scratch.keep(), &place).map_err(cannot)?;
    unpacked(&place).ok_or_else(|| SourceError::NoSource { package: package.to_owned() })
}

/// Fetches the files of a source package into `folder`, and nothing else: apt's own lists are removed
/// again.
///
/// # Errors
/// If apt does not have it, or the folder cannot be written.
pub fn source_package(package: &str, folder: &Path) -> Result<SourcePackage, SourceError> {
    let cannot = |source| SourceError::Write { path: folder.to_owned(), source };
    let lists = tempfile::Builder::new().prefix(".apt-").tempdir_in(folder).map_err(cannot)?;
    let scratch = fetched(package, lists.path())?;
    for entry in fs::read_dir(scratch.path()).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        fs::rename(entry.path(), folder.join(entry.file_name())).map_err(cannot)?;
    }
    package_in(folder, package)
}

/// Fetches the files of a source package into a new folder below `folder`. apt's lists are kept there, too.
fn fetched(package: &str, folder: &Path) -> Result<TempDir, SourceError> {
    let cannot = |source| SourceError::Write { path: folder.to_owned(), source };
    let apt = folder.join("apt");
    for part in ["lists/partial", "cache/archives/partial", "parts"] {
        fs::create_dir_all(apt.join(part)).map_err(cannot)?;
    }
    let options = [
        "Dir::Etc::sourcelist=/dev/null".to_owned(),
        format!("Dir::Etc::sourceparts={}", whole(&apt.join("parts"))),
        format!("Dir::State::lists={}", whole(&apt.join("lists"))),
        format!("Dir::Cache={}", whole(&apt.join("cache"))),
        "APT::Sandbox::User=root".to_owned(),
    ];
    let job = |purpose: &str| {
        let job = Job::new(purpose, "apt-get").dir(folder);
        options.iter().fold(job, |job, option| job.args(["-o", option]))
    };
    if !apt.join("updated").exists() {
        write_lists(&apt.join("parts"))
            .map_err(cannot)?
            .then_some(())
            .ok_or(SourceError::NoLists)?;
        job("reading Debian's list of sources").arg("update").run()?;
        fs::write(apt.join("updated"), "").map_err(cannot)?;
    }
    let scratch = tempfile::Builder::new().prefix(".source-").tempdir_in(folder).map_err(cannot)?;
    job(&format!("fetching the source of {package}"))
        .args(["source", "--download-only", package])
        .dir(scratch.path())
        .run()?;
    Ok(scratch)
}

/// What the files in a folder are of a package.
fn package_in(folder: &Path, package: &str) -> Result<SourcePackage, SourceError> {
    let cannot = |source| SourceError::Write { path: folder.to_owned(), source };
    let files = fs::read_dir(folder).map_err(cannot)?;
    let names: Vec<PathBuf> = files.flatten().map(|entry| entry.path()).collect();
    let is_archive = |path: &&PathBuf| {
        path.to_string_lossy().contains(".orig.tar.") && path.extension() != Some("asc".as_ref())
    };
    let found = || {
        let description = names.iter().find(|path| path.extension() == Some("dsc".as_ref()))?;
        let (_, version) = description.file_stem()?.to_str()?.split_once('_')?;
        Some(SourcePackage {
            archive: names.iter().find(is_archive)?.clone(),
            description: description.clone(),
            version: version.to_owned(),
        })
    };
    found().ok_or_else(|| SourceError::NoSource { package: package.to_owned() })
}

fn unpacked(place: &Path) -> Option<(PathBuf, String)> {
    let version = fs::read_to_string(place.join("version")).ok()?;
    let tree = place.join("tree");
    tree.is_dir().then_some((tree, version))
}

/// apt takes paths as relative to its own folder.
fn whole(path: &Path) -> String {
    std::path::absolute(path).unwrap_or(path.to_owned()).display().to_string()
}

/// Writes the system's lists of Debian's packages as lists of sources. Says whether there are any.
fn write_lists(folder: &Path) -> io::Result<bool> {
    let mut any = false;
    let mut write = |name: &str, text: String| {
        any |= !text.is_empty();
        fs::write(folder.join(name), text)
    };
    let list = fs::read_to_string("/etc/apt/sources.list").unwrap_or_default();
    write("system.list", sources_of_list(&list))?;
    for entry in fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".list") {
            write(&name, sources_of_list(&text))?;
        } else if name.ends_with(".sources") {
            write(&name, sources_of_stanzas(&text))?;
        }
    }
    Ok(any)
}

fn is_distribution(text: &str) -> bool {
    text.contains("/debian") || text.contains("/ubuntu")
}

fn sources_of_list(text: &str) -> String {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("deb "));
    lines.filter(|line| is_distribution(line)).map(|line| format!("deb-src {line}\n")).collect()
}

fn sources_of_stanzas(text: &str) -> String {
    let stanzas = text.split("\n\n").filter(|stanza| is_distribution(stanza));
    let sources = stanzas.map(|stanza| {
        let lines = stanza.lines().map(|line| match line.split_once(':') {
            Some(("Types", _)) => "Types: deb-src\n".to_owned(),
            _ => format!("{line}\n"),
        });
        lines.collect::<String>() + "\n"
    });
    sources.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_source_package_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), "").unwrap();
        write("qemu_7.2+dfsg-7.debian.tar.xz");
        write("qemu_7.2+dfsg.orig.tar.xz.asc");
        write("qemu_7.2+dfsg-7.dsc");
        let error = package_in(folder.path(), "qemu").unwrap_err().to_string();
        assert_eq!(error, "the source package qemu has no .orig.tar file");
        write("qemu_7.2+dfsg.orig.tar.xz");
        let found = package_in(folder.path(), "qemu").unwrap();
        assert_eq!(found.version, "7.2+dfsg-7");
        assert_eq!(found.archive, folder.path().join("qemu_7.2+dfsg.orig.tar.xz"));
        assert_eq!(found.description, folder.path().join("qemu_7.2+dfsg-7.dsc"));
    }

    #[test]
    fn lists_of_packages_become_lists_of_sources() {
        let list = "# deb x\ndeb [arch=amd64] http://a.example/debian stable main\n\
                    deb http://b.example/other stable main\ndeb-src http://a.example/debian x main\n";
        assert_eq!(
            sources_of_list(list),
            "deb-src [arch=amd64] http://a.example/debian stable main\n"
        );
        let stanzas = "Types: deb\nURIs: http://a.example/debian\nSuites: stable\n\n\
                       Types: deb\nURIs: http://b.example/other\n";
        assert_eq!(
            sources_of_stanzas(stanzas),
            "Types: deb-src\nURIs: http://a.example/debian\nSuites: stable\n\n"
        );
    }
}
