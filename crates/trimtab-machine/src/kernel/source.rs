//! Kernel sources as they are given, and how they are unpacked.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trimtab_lab::bytes;
use trimtab_lab::cache::Key;
use trimtab_lab::process::Job;
use trimtab_lab::workdir::{KeptStep, WorkDir, WorkError};
use trimtab_link::feature::{Feature, common_series, with_all_below};

use super::KernelError;
use super::error::file;
use super::packages::{self, package};
use super::tree::{Release, Tree, apply, depend, put_in};

mod space;

/// Limit of a copy of a source.
const COPY_LIMIT: Duration = Duration::from_secs(900);
/// Limit of a question to git.
const GIT_LIMIT: Duration = Duration::from_secs(60);

/// A kernel's source as it was given. It is never changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A tarball, such as Debian's source packages install.
    Archive(PathBuf),
    /// A Debian source package, as its `.dsc` file names it; what that names lies beside it. Debian's own
    /// patches are applied.
    Package(PathBuf),
    /// A directory.
    Folder(PathBuf),
    /// What a local git repository has at a revision.
    Revision {
        /// The repository, with or without a work tree.
        repository: PathBuf,
        /// A tag, a branch or a commit.
        revision: String,
    },
    /// One of these with a patch of the user's, for `patch -p1`.
    Patched {
        /// What it is applied to.
        source: Box<Source>,
        /// The patch.
        patch: PathBuf,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Archive(path) | Source::Package(path) | Source::Folder(path) => {
                path.display().fmt(f)
            }
            Source::Revision { repository, revision } => {
                write!(f, "{}@{revision}", repository.display())
            }
            Source::Patched { source, patch } => write!(f, "{source} with {}", patch.display()),
        }
    }
}

impl Source {
    /// The source at `path`: a tarball, a Debian source package (`.dsc`), a directory, or `REPOSITORY@REVISION`. Without a path, the newest
    /// installed source package of a series that all of `features` work with.
    ///
    /// # Errors
    /// [`KernelError::SourceMissing`], [`KernelError::NoSource`].
    pub fn find(path: Option<&Path>, features: &[&Feature]) -> Result<Source, KernelError> {
        match path {
            Some(path) => {
                let source = Self::at(path).ok_or_else(|| KernelError::SourceMissing {
                    path: path.to_owned(),
                    package: package(&common_series(features).unwrap_or_default()),
                })?;
                source.require_archive()?;
                Ok(source)
            }
            None => Self::installed(features, Path::new(packages::FOLDER)),
        }
    }

    fn at(path: &Path) -> Option<Source> {
        if path.is_dir() {
            return Some(Source::Folder(path.to_owned()));
        }
        if path.exists() && path.extension() == Some(OsStr::new("dsc")) {
            return Some(Source::Package(path.to_owned()));
        }
        if path.exists() {
            return Some(Source::Archive(path.to_owned()));
        }
        let (repository, revision) = path.to_str()?.rsplit_once('@')?;
        let is_there = Path::new(repository).is_dir();
        let revision = revision.to_owned();
        is_there.then(|| Source::Revision { repository: repository.into(), revision })
    }

    /// This with a patch of the user's, which is applied when it is unpacked.
    ///
    /// # Errors
    /// [`KernelError::File`]: a patch that cannot be read.
    pub fn with_patch(self, patch: &Path) -> Result<Source, KernelError> {
        bytes::open(patch).map_err(file("read", patch))?;
        Ok(Source::Patched { source: Box::new(self), patch: patch.to_owned() })
    }

    /// Refuses a file that does not begin as archives do, before gigabytes of it are read.
    fn require_archive(&self) -> Result<(), KernelError> {
        let Source::Archive(path) = self else { return Ok(()) };
        let mut start = Vec::new();
        let read = bytes::open(path).and_then(|file| file.take(512).read_to_end(&mut start));
        let found = match read {
            Ok(_) if is_archive(&start) => return Ok(()),
            Ok(_) => {
                "it is not a tar archive, compressed by gzip, bzip2, xz, zstd or not".to_owned()
            }
            Err(error) => error.to_string(),
        };
        Err(KernelError::NotASource { source_given: self.to_string(), found })
    }

    fn installed(features: &[&Feature], folder: &Path) -> Result<Source, KernelError> {
        let series: Vec<String> = match common_series(features) {
            Some(series) => series.into_iter().map(str::to_owned).collect(),
            None => packages::installed(folder),
        };
        let place = |series: &String| packages::tarball(folder, series);
        if let Some(found) = series.iter().map(place).find(|place| place.is_file()) {
            return Ok(Source::Archive(found));
        }
        let looked_for: Vec<String> = match series.as_slice() {
            [] => vec![packages::tarball(folder, "*").display().to_string()],
            series => series.iter().map(|series| place(series).display().to_string()).collect(),
        };
        Err(KernelError::NoSource { looked_for: looked_for.join(", "), package: package(&series) })
    }

    /// Unpacks or copies it into the work directory and puts `features` into the copy, and all that they
    /// stand on. Without features it is the source as it was given.
    ///
    /// # Errors
    /// If it is no kernel source, or of a release that a feature has no patch for; if there is no space,
    /// or kbuild cannot work at this path; if `tar`, `cp`, `git` or `patch` fail.
    pub fn unpack(&self, work: &WorkDir, features: &[&Feature]) -> Result<Tree, KernelError> {
        if work.path().to_string_lossy().contains(|c: char| c == ':' || c.is_whitespace()) {
            return Err(KernelError::Path { path: work.path().to_owned() });
        }
        let features = with_all_below(features);
        let commit = self.commit()?;
        let found =
            work.get(&Unpack { source: self, commit: &commit, work, features: &features })?;
        let release = self.release_of(&found.folder)?;
        let origin = self.to_string();
        Ok(Tree { path: found.folder, release, key: found.key, origin, cached: found.cached })
    }

    fn copy_to(&self, folder: &Path) -> Result<(), KernelError> {
        match self {
            Source::Folder(path) => copy(path, folder, "--reflink=auto"),
            Source::Archive(path) => extract(path, folder, 1),
            Source::Package(path) => extract_package(path, folder),
            Source::Revision { repository, .. } => {
                let archive = tempfile::Builder::new()
                    .suffix(".tar")
                    .tempfile_in(folder)
                    .map_err(file("write to", folder))?;
                Job::new("exporting the kernel source", "git")
                    .arg("-C")
                    .arg(repository)
                    .args(["archive", "--format=tar", "--output"])
                    .arg(archive.path())
                    .arg(self.commit()?)
                    .limit(COPY_LIMIT)
                    .run()?;
                extract(archive.path(), folder, 0)
            }
            Source::Patched { source, patch } => {
                source.copy_to(folder)?;
                apply(patch, folder, &format!("applying {} to {source}", patch.display()))
            }
        }
    }

    /// The commit of a revision.
    fn commit(&self) -> Result<String, KernelError> {
        let (repository, revision) = match self {
            Source::Revision { repository, revision } => (repository, revision),
            Source::Patched { source, .. } => return source.commit(),
            _ => return Ok(String::new()),
        };
        let said = Job::new("asking git for the kernel's revision", "git")
            .arg("-C")
            .arg(repository)
            .args(["rev-parse", "--verify", "--end-of-options"])
            .arg(format!("{revision}^{{commit}}"))
            .limit(GIT_LIMIT)
            .run_captured()?;
        Ok(said.trim().to_owned())
    }

    /// The day of the commit of a revision, as in `2004-02-08`; none of all else.
    ///
    /// # Errors
    /// A repository or a revision that is not there.
    pub fn date(&self) -> Result<Option<String>, KernelError> {
        let Source::Revision { repository, .. } = self else { return Ok(None) };
        let said = Job::new("asking git for the day of the kernel's revision", "git")
            .arg("-C")
            .arg(repository)
            .args(["show", "--no-patch", "--format=%cs"])
            .arg(self.commit()?)
            .limit(GIT_LIMIT)
            .run_captured()?;
        Ok(Some(said.trim().to_owned()))
    }

    /// The release of a folder, which is read where it is.
    ///
    /// # Errors
    /// [`KernelError::NotASource`], also of what is no folder.
    pub fn release(&self) -> Result<Release, KernelError> {
        match self {
            Source::Folder(path) => self.release_of(path),
            _ => Err(KernelError::NotASource {
                source_given: self.to_string(),
                found: "it is not unpacked".to_owned(),
            }),
        }
    }

    fn release_of(&self, folder: &Path) -> Result<Release, KernelError> {
        let not_a_source =
            |found: String| KernelError::NotASource { source_given: self.to_string(), found };
        let text = fs::read_to_string(folder.join("Makefile"))
            .map_err(|error| not_a_source(format!("it has no readable Makefile ({error})")))?;
        Release::of_makefile(&text)
            .ok_or_else(|| not_a_source("its Makefile gives no version".to_owned()))
    }

    fn require(&self, release: &Release, features: &[&Feature]) -> Result<(), KernelError> {
        match features.iter().find(|feature| !feature.supports(&release.series)) {
            None => Ok(()),
            Some(feature) => Err(KernelError::Release {
                source_given: self.to_string(),
                found: release.version.clone(),
                feature: feature.name,
                supported: feature.series().join(" and "),
            }),
        }
    }
}

/// A source with features put into it.
struct Unpack<'a> {
    source: &'a Source,
    /// Of a revision: which commit it is.
    commit: &'a str,
    work: &'a WorkDir,
    features: &'a [&'a Feature],
}

impl KeptStep for Unpack<'_> {
    const KIND: &'static str = "kernel-source";
    const VERSION: u32 = 2;
    type Record = ();
    type Error = KernelError;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        let key = match self.source {
            // That of a package has the checksums of all that belongs to it.
            Source::Archive(path) | Source::Package(path) => {
                key.file("source", path, self.work.hashes())?
            }
            Source::Folder(path) => key.tree("source", path)?,
            Source::Revision { .. } => key.field("commit", self.commit),
            Source::Patched { source, patch } => {
                let key = Unpack { source, features: &[], ..*self }.key(key)?;
                key.file("the user's patch", patch, self.work.hashes())?
            }
        };
        Ok(self.features.iter().fold(key, |key, feature| depend(key, feature)))
    }

    /// Where a tree of the first of the features is there, what does not change is shared with it, so that
    /// it takes little space.
    fn make(&self, at: &Path) -> Result<(), KernelError> {
        let source = self.source;
        if let Source::Folder(path) = source {
            // Before it is copied, which takes its time.
            source.require(&source.release_of(path)?, self.features)?;
        }
        let mut present = 0;
        let mut below = None;
        for number in (0..self.features.len()).rev() {
            below = self.work.find(&Unpack { features: &self.features[..number], ..*self })?;
            if below.is_some() {
                present = number;
                break;
            }
        }
        match below {
            // Hard links: whoever changes a file writes it anew, and builds are out of tree.
            Some(below) => copy(&below, at, "--link")?,
            None => {
                self.work.require_space(source.space()?, "unpack and build a kernel")?;
                source.copy_to(at)?;
            }
        }
        let release = source.release_of(at)?;
        source.require(&release, self.features)?;
        for feature in self.features.iter().skip(present) {
            put_in(feature, &release, at)?;
        }
        Ok(())
    }
}

/// Whether a file that begins so is a tar archive, or compressed as one is.
fn is_archive(start: &[u8]) -> bool {
    let compressed: [&[u8]; 6] =
        [b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"LZIP", b"\x5d\0\0"];
    compressed.iter().any(|magic| start.starts_with(magic)) || start.get(257..262) == Some(b"ustar")
}

fn copy(from: &Path, to: &Path, how: &str) -> Result<(), KernelError> {
    Job::new("copying the kernel source", "cp")
        .args(["-a", how, "--no-target-directory"])
        .arg(from)
        .arg(to)
        .limit(COPY_LIMIT)
        .run()?;
    Ok(())
}

/// Unpacks an archive, less so many folders of its paths.
fn extract(archive: &Path, folder: &Path, strip: u32) -> Result<(), KernelError> {
    Job::new("unpacking the kernel source", "tar")
        // An archive that was packed in blocks is unpacked by all processors.
        .env("XZ_DEFAULTS", "--threads=0")
        .args(["--extract", "--no-same-owner"])
        .arg(format!("--strip-components={strip}"))
        .arg("--file")
        .arg(archive)
        .arg("--directory")
        .arg(folder)
        .limit(COPY_LIMIT)
        .run()?;
    Ok(())
}

/// Unpacks a Debian source package, once its checksums hold, and applies Debian's patches.
fn extract_package(package: &Path, folder: &Path) -> Result<(), KernelError> {
    // It unpacks into a folder that is not there yet.
    let scratch = tempfile::tempdir_in(folder).map_err(file("write to", folder))?;
    let tree = scratch.path().join("tree");
    Job::new("unpacking the Debian source package of the kernel", "dpkg-source")
        .env("XZ_DEFAULTS", "--threads=0")
        .args(["--no-copy", "--extract"])
        .arg(package)
        .arg(&tree)
        .limit(COPY_LIMIT)
        .run()?;
    for entry in fs::read_dir(&tree).map_err(file("read", &tree))? {
        let entry = entry.map_err(file("read", &tree))?;
        let to = folder.join(entry.file_name());
        fs::rename(entry.path(), &to).map_err(file("write", &to))?;
    }
    scratch.close().map_err(file("remove what is left in", folder))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
