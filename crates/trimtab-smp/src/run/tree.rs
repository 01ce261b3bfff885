//! Trees as they are given: a folder is read where it is, all else is unpacked first.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::kernel::{Release, Source};

/// Folders that each kernel has, of those that are counted.
const NEEDED: [&str; 4] = ["kernel", "mm", "fs", "arch"];

/// A tree that can be read.
#[derive(Debug)]
pub(super) struct Tree {
    /// Where it is.
    pub(super) folder: PathBuf,
    /// Its version.
    pub(super) version: String,
    /// The day of its commit, `2004-02-08`; none of what is no revision of a repository.
    pub(super) date: Option<String>,
    /// What was given.
    pub(super) origin: String,
    /// SHA-256 of what it was unpacked from; none of a folder.
    pub(super) hash: Option<String>,
    /// What it does not have of what each kernel has.
    pub(super) missing: Vec<String>,
}

impl Tree {
    /// The tree that was given; none for the newest installed source package. `work` is opened when
    /// something has to be unpacked.
    ///
    /// # Errors
    /// That it is not there, or no kernel.
    pub(super) fn find(
        given: Option<&Path>,
        work: &mut Option<WorkDir>,
        at: &Path,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let source = Source::find(given, &[])?;
        let (origin, date) = (source.to_string(), source.date()?);
        let (folder, release, hash) = match &source {
            Source::Folder(folder) => (folder.clone(), source.release()?, None),
            _ => {
                let work = match work {
                    Some(work) => work,
                    None => work.insert(WorkDir::open(at)?),
                };
                let stage = observe.stage(&format!("unpack {origin}"));
                let tree = source.unpack(work, &[])?;
                stage.ended(tree.cached, &format!("Linux {}", tree.release.version));
                (tree.path, tree.release, Some(tree.key.hash()))
            }
        };
        let missing: Vec<String> = NEEDED
            .into_iter()
            .filter(|name| !folder.join(name).is_dir())
            .map(str::to_owned)
            .collect();
        if missing.len() == NEEDED.len() {
            bail!("{origin} is no kernel: it has none of the folders {}", NEEDED.join(", "));
        }
        Ok(Self { folder, version: version(&release), date, origin, hash, missing })
    }
}

/// A version as people write it: kernels before 1.0 have no third number.
fn version(release: &Release) -> String {
    release.version.trim_end_matches('.').to_owned()
}
