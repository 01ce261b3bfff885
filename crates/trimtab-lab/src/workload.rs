//! The catalogue of workloads: what is run to be traced and measured.
//!
//! Each is a folder `workloads/NAME` of the source tree, with a manifest `workload.toml` that says where
//! the workload runs and what that takes, and the files that the manifest names. Adding one is adding
//! a folder: trimtab carries all of them along.

mod error;
mod inputs;
mod manifest;
pub mod programs;
mod start;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use include_dir::{Dir, include_dir};

pub use error::WorkloadError;
pub use manifest::{
    DiskLoad, Guest, GuestFile, Input, Language, Manifest, Program, Source, Start, Tests,
};
pub use start::prepare;

static CATALOGUE: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../workloads");

/// All of it, read once.
static WORKLOADS: LazyLock<Result<Vec<Workload>, WorkloadError>> =
    LazyLock::new(|| read(&CATALOGUE));

/// The file in each folder that says what the workload is.
const MANIFEST: &str = "workload.toml";

/// A workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Its name, which is that of its folder: ASCII letters, digits, `-` and `_`.
    pub name: String,
    /// What its manifest says.
    pub manifest: Manifest,
    /// The text of each file of its folder that the manifest names, by name.
    pub files: BTreeMap<String, String>,
}

impl Workload {
    /// The text of the script that a guest runs, where guests do.
    pub fn script(&self) -> Option<&str> {
        let guest = self.manifest.guest.as_ref()?;
        self.files.get(&guest.script).map(String::as_str)
    }

    /// The programs of this machine that a guest which runs it needs.
    pub fn programs(&self) -> &[GuestFile] {
        self.manifest.guest.as_ref().map_or(&[], |guest| &guest.programs)
    }
}

/// The workloads that trimtab carries, by rank and name.
///
/// # Errors
/// [`WorkloadError`], where a folder is not as it should be.
pub fn all() -> Result<&'static [Workload], &'static WorkloadError> {
    WORKLOADS.as_ref().map(Vec::as_slice)
}

/// Reads a catalogue.
fn read(catalogue: &Dir<'_>) -> Result<Vec<Workload>, WorkloadError> {
    let mut workloads = Vec::new();
    for folder in catalogue.dirs() {
        let name = folder.path().to_string_lossy().into_owned();
        workloads.push(read_one(&name, |file| {
            folder.get_file(folder.path().join(file)).map(|file| file.contents())
        })?);
    }
    workloads.sort_by(|a, b| (a.manifest.rank, &a.name).cmp(&(b.manifest.rank, &b.name)));
    Ok(workloads)
}

/// Reads the workload of a folder, whose files `file` gives by their names.
fn read_one<'a>(
    name: &str,
    file: impl Fn(&Path) -> Option<&'a [u8]>,
) -> Result<Workload, WorkloadError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(plain) {
        return Err(WorkloadError::Name { name: name.to_owned() });
    }
    let text = |wanted: &str| {
        let missing = || WorkloadError::Missing { name: name.to_owned(), file: wanted.to_owned() };
        let bytes = file(Path::new(wanted)).ok_or_else(missing)?;
        String::from_utf8(bytes.to_vec())
            .map_err(|_| WorkloadError::NoText { name: name.to_owned(), file: wanted.to_owned() })
    };
    let manifest = Manifest::parse(name, &text(MANIFEST)?)?;
    let files = manifest.files().map(|name| Ok((name.to_owned(), text(name)?)));
    let files = files.collect::<Result<_, WorkloadError>>()?;
    Ok(Workload { name: name.to_owned(), manifest, files })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, files: &[(&str, &'static [u8])]) -> Result<Workload, WorkloadError> {
        read_one(name, |wanted| {
            files.iter().find(|(name, _)| Path::new(name) == wanted).map(|(_, text)| *text)
        })
    }

    #[test]
    fn the_catalogue_is_whole_and_in_order() {
        let workloads = all().unwrap();
        let names: Vec<&str> = workloads.iter().map(|workload| workload.name.as_str()).collect();
        assert!(names.starts_with(&["boot", "files", "tools", "network"]), "{names:?}");
        for workload in workloads {
            assert!(!workload.manifest.summary.is_empty(), "{}", workload.name);
            assert_eq!(workload.script().is_some(), workload.manifest.guest.is_some());
        }
    }

    #[test]
    fn a_folder_is_read() {
        let manifest = b"summary = \"Pictures\"\n[guest]\nscript = \"run.sh\"\n\
            programs = [{ path = \"/usr/bin/cjpeg\", package = \"tools\" }]\n";
        let workload = one("media-2", &[(MANIFEST, manifest), ("run.sh", b"cjpeg\n")]).unwrap();
        assert_eq!((workload.manifest.rank, workload.script()), (1000, Some("cjpeg\n")));
        assert_eq!(workload.manifest.guest.unwrap().programs[0].name(), "cjpeg");
    }

    #[test]
    fn what_is_wrong_with_a_folder_is_said() {
        let good: &[u8] = b"summary = \"x\"\n[guest]\nscript = \"run.sh\"\n";
        let script: (&str, &[u8]) = ("run.sh", b"true\n");
        for (name, files, expected) in [
            ("a b", &[(MANIFEST, good), script][..], "the workload \"a b\" has a name"),
            ("a", &[script], "the workload a has no file workload.toml"),
            ("a", &[(MANIFEST, good)], "the workload a has no file run.sh"),
            ("a", &[(MANIFEST, b"\xff"), script], "workload.toml of the workload a is no text"),
            (
                "a",
                &[(MANIFEST, b"summary = \"x\"\n[guest]\nscrpt = \"run.sh\"\n"), script],
                "unknown field `scrpt`",
            ),
            ("a", &[(MANIFEST, b"rank = 1\n"), script], "missing field `summary`"),
            ("a", &[(MANIFEST, b"summary = \"x\"\n"), script], "says nowhere how it is run"),
            (
                "a",
                &[
                    (
                        MANIFEST,
                        b"summary = \"x\"\n[guest]\nscript = \"run.sh\"\nprograms = [\n\
                          { path = \"cjpeg\", package = \"x\" }]\n",
                    ),
                    script,
                ],
                "cjpeg is no absolute path",
            ),
            (
                "a",
                &[
                    (
                        MANIFEST,
                        b"summary = \"x\"\n[load]\nscript = \"run.sh\"\nmib = 8\nfiles = [\n\
                          { path = \"share\", package = \"x\" }]\n",
                    ),
                    script,
                ],
                "share is no absolute path",
            ),
            (
                "a",
                &[(
                    MANIFEST,
                    b"summary = \"x\"\n[program]\nfiles = [\"*.c\"]\nrun = []\nsmall = []\n",
                )],
                "names files of a source and no source",
            ),
            (
                "a",
                &[(MANIFEST, b"summary = \"x\"\n[program]\nrun = []\nsmall = []\n")],
                "names nothing to compile",
            ),
            (
                "a",
                &[(MANIFEST, b"summary = \"x\"\n[source]\ncrate = \"x\"\n[tests]\nbuild = \"\"\nrun = \"\"\n")],
                "does not say where its source is from; expected debian, or crate and version",
            ),
            (
                "a",
                &[(MANIFEST, b"summary = \"x\"\n[starts]\nruns = [[], []]\n")],
                "says nowhere what starts; expected starts.program, or a table start",
            ),
            (
                "a",
                &[(MANIFEST, b"summary = \"x\"\n[starts]\nprogram = \"sh\"\nruns = [[\"-c\"]]\n")],
                "has too few starts.runs; expected two or more",
            ),
            (
                "a",
                &[(MANIFEST, b"summary = \"x\"\n[starts]\nprogram = \"sh\"\nown = [\"x\"]\nruns = [[], []]\n")],
                "the workload a has no file x",
            ),
            (
                "a",
                &[(
                    MANIFEST,
                    b"summary = \"x\"\n[program]\nown = [\"../x.c\"]\nrun = []\nsmall = []\n",
                )],
                "names \"../x.c\"; expected the name of a file in its folder",
            ),
            (
                "a",
                &[(
                    MANIFEST,
                    b"summary = \"x\"\n[program]\nown = [\"x.c\"]\nlanguage = \"D\"\nrun = []\n\
                      small = []\n",
                )],
                "unknown variant `D`",
            ),
        ] {
            let error = one(name, files).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
