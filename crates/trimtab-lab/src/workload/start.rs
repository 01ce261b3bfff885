//! A workload's source on this machine: fetched, with the workload's own files in it, and ready for
//! the build.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Source, Start, Workload, WorkloadError};
use crate::debian;
use crate::process::Job;
use crate::workdir::write_whole;

/// What preparing a source may take: some generate files with compilers of their own.
const LIMIT: Duration = Duration::from_secs(1800);

/// In the folder of a workload: that all of it has been done.
const READY: &str = "ready";

/// Fetches the source of a workload into `folder`, where it is found again the next time, writes the
/// files that its start takes, and runs the command that prepares it. Gives the folder where it is
/// built and run.
///
/// # Errors
/// [`WorkloadError::NoStart`] where the manifest says nothing of a start, and what cannot be fetched,
/// written or prepared.
pub fn prepare<'a>(
    workload: &'a Workload,
    folder: &Path,
) -> Result<(PathBuf, &'a Start), WorkloadError> {
    let manifest = &workload.manifest;
    let (Some(start), Some(source)) = (&manifest.start, &manifest.source) else {
        return Err(WorkloadError::NoStart { name: workload.name.clone() });
    };
    let cannot = |path: &Path| {
        let path = path.to_owned();
        move |source| WorkloadError::Write { path, source }
    };
    fs::create_dir_all(folder).map_err(cannot(folder))?;
    let folder = folder.canonicalize().map_err(cannot(folder))?;
    let place = fetch(source, &folder)?.join(&start.folder);
    for name in &start.own {
        let path = place.join(name);
        let text = workload.files.get(name).map_or("", String::as_str);
        if fs::read(&path).ok().as_deref() != Some(text.as_bytes()) {
            fs::write(&path, text).map_err(cannot(&path))?;
        }
    }
    let ready = folder.join(READY);
    let wanted = start.prepare.as_deref().unwrap_or_default();
    if !wanted.is_empty() && fs::read(&ready).ok().as_deref() != Some(wanted.as_bytes()) {
        Job::new(format!("preparing {}", workload.name), "/bin/sh")
            .args(["-c", wanted])
            .dir(&place)
            .log(folder.join("prepare.log"))
            .limit(LIMIT)
            .run()?;
        write_whole(&ready, wanted.as_bytes())
            .map_err(|error| cannot(&ready)(io::Error::other(error)))?;
    }
    Ok((place, start))
}

/// Fetches a source into `folder`, and gives where it is.
fn fetch(source: &Source, folder: &Path) -> Result<PathBuf, WorkloadError> {
    match (&source.debian, &source.crate_name) {
        (Some(package), _) => Ok(debian::source(package, folder)?.0),
        (None, Some(name)) => vendored(name, source.version.as_deref().unwrap_or_default(), folder),
        // A manifest has one of them.
        (None, None) => Ok(folder.to_owned()),
    }
}

/// Unpacks a crate with what it bundles. cargo fetches it, as it does what a crate depends on.
fn vendored(name: &str, version: &str, folder: &Path) -> Result<PathBuf, WorkloadError> {
    let place = folder.join(format!("{name}-{version}"));
    if place.is_dir() {
        return Ok(place);
    }
    let cannot = |source| WorkloadError::Write { path: folder.to_owned(), source };
    let scratch = tempfile::Builder::new().prefix(".crate-").tempdir_in(folder).map_err(cannot)?;
    let manifest = format!(
        "[package]\nname = \"fetching\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         {name} = \"={version}\"\n\n[workspace]\n"
    );
    fs::create_dir(scratch.path().join("src")).map_err(cannot)?;
    fs::write(scratch.path().join("src/lib.rs"), "").map_err(cannot)?;
    fs::write(scratch.path().join("Cargo.toml"), manifest).map_err(cannot)?;
    Job::new(format!("fetching the crate {name}"), "cargo")
        .args(["vendor", "--quiet", "vendor"])
        .dir(scratch.path())
        .run()?;
    fs::rename(scratch.path().join("vendor").join(name), &place).map_err(cannot)?;
    Ok(place)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::workload::Manifest;

    fn workload(start: &str) -> Workload {
        let text = format!("summary = \"x\"\n[source]\ndebian = \"hello\"\n{start}");
        Workload {
            name: "hello".to_owned(),
            manifest: Manifest::parse("hello", &text).unwrap(),
            files: BTreeMap::from([("start.txt".to_owned(), "words".to_owned())]),
        }
    }

    /// As [`debian::source`] leaves it: so nothing is fetched.
    fn fetched(folder: &Path) -> PathBuf {
        let tree = folder.join("hello/tree");
        fs::create_dir_all(&tree).unwrap();
        fs::write(folder.join("hello/version"), "2.10").unwrap();
        tree
    }

    const START: &str = "[start]\nown = [\"start.txt\"]\nprepare = \"cat start.txt >> made; test ! -e no\"\n\
        build = \"make\"\nprogram = \"hello\"\nrun = \"./hello\"\nheld_out = \"./hello -t\"\n";

    #[test]
    fn a_source_is_prepared_once_and_again_after_it_failed() {
        let folder = tempfile::tempdir().unwrap();
        let tree = fetched(folder.path());
        let workload = workload(START);
        fs::write(tree.join("no"), "").unwrap();
        let error = prepare(&workload, folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("preparing hello failed"), "{error}");
        fs::remove_file(tree.join("no")).unwrap();
        for _ in 0..2 {
            let (place, start) = prepare(&workload, folder.path()).unwrap();
            assert_eq!(place, tree.canonicalize().unwrap());
            assert_eq!(start.build, "make");
        }
        assert_eq!(fs::read_to_string(tree.join("made")).unwrap(), "wordswords", "failed and done");
    }

    #[test]
    fn what_has_no_start_is_not_prepared() {
        let folder = tempfile::tempdir().unwrap();
        let workload = workload("[tests]\nbuild = \"make\"\nrun = \"make check\"\n");
        let error = prepare(&workload, folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("the workload hello has no start"), "{error}");
    }
}
