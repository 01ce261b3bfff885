use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::file;
use super::{KernelError, PATCHES, Patch, SWAP, SwapPatch};
use trimtab_lab::cache::Key;
use trimtab_lab::process::Job;
use trimtab_lab::workdir::{Step, WorkDir};

/// Where Debian's source packages install their tarballs.
const PACKAGES: &str = "/usr/src";
/// Space that a kernel, unpacked and built, takes at the most: with a second build by blocks, 3.1 GiB
/// were seen.
const SPACE: u64 = 4 << 30;
/// The same as a multiple of what its archive takes: 22 was seen.
const SPACE_OF_ARCHIVE: u64 = 28;

/// Where a patch is put in a source before it is applied.
const PATCH_FILE: &str = "trimtab-layout.patch";

/// A kernel's release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Version, patch level and sublevel: `6.12.48`.
    pub version: String,
    /// Version and patch level: `6.12`.
    pub series: String,
}

impl Release {
    /// Reads the head of a kernel's top Makefile.
    fn of_makefile(text: &str) -> Option<Release> {
        let value = |name: &str| {
            text.lines()
                .take(20)
                .filter_map(|line| line.split_once('='))
                .find(|(key, _)| key.trim() == name)
                .map(|(_, value)| value.trim().to_owned())
        };
        let series = format!("{}.{}", value("VERSION")?, value("PATCHLEVEL")?);
        let sublevel = value("SUBLEVEL").unwrap_or_default();
        let extra = value("EXTRAVERSION").unwrap_or_default();
        Some(Release { version: format!("{series}.{sublevel}{extra}"), series })
    }
}

/// A kernel source as it was given: a tarball, or a directory. It is never changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    path: PathBuf,
}

/// A private copy of a kernel source with our patch applied.
#[derive(Debug, Clone)]
pub struct Unpacked {
    /// Its directory.
    pub path: PathBuf,
    /// Its release.
    pub release: Release,
    /// What it depends on.
    pub key: Key,
    /// What it was unpacked from.
    pub origin: PathBuf,
    /// Whether an earlier run had unpacked it.
    pub cached: bool,
}

impl Source {
    /// The source at `path`, or the newest installed package that we have a patch for.
    ///
    /// # Errors
    /// [`KernelError::SourceMissing`], [`KernelError::NoSource`].
    pub fn find(path: Option<&Path>) -> Result<Source, KernelError> {
        Self::find_in(path, Path::new(PACKAGES))
    }

    fn find_in(path: Option<&Path>, packages: &Path) -> Result<Source, KernelError> {
        if let Some(path) = path {
            if !path.exists() {
                return Err(KernelError::SourceMissing { path: path.to_owned() });
            }
            return Ok(Source { path: path.to_owned() });
        }
        let places: Vec<PathBuf> = PATCHES
            .iter()
            .map(|patch| packages.join(format!("linux-source-{}.tar.xz", patch.series)))
            .collect();
        match places.iter().find(|place| place.is_file()) {
            Some(path) => Ok(Source { path: path.clone() }),
            None => Err(KernelError::NoSource {
                looked_for: places
                    .iter()
                    .map(|place| place.display().to_string())
                    .collect::<Vec<_>>()
                    .join(", "),
            }),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Unpacks or copies it into the work directory and applies our patch.
    ///
    /// # Errors
    /// If it is no kernel source, or of a release that we have no patch for; if there is no space,
    /// or kbuild cannot work at this path; if `tar`, `cp` or `patch` fail.
    pub fn unpack(&self, work: &WorkDir) -> Result<Unpacked, KernelError> {
        if work.path().to_string_lossy().contains(|c: char| c == ':' || c.is_whitespace()) {
            return Err(KernelError::Path { path: work.path().to_owned() });
        }
        let mut key = Key::new("kernel-source/1");
        for patch in PATCHES {
            key = key.bytes(&format!("patch {}", patch.series), patch.text.as_bytes());
        }
        let key = match self.path.is_dir() {
            true => key.tree("source", &self.path)?,
            false => key.file("source", &self.path, work.hashes())?,
        };
        let (path, cached) = match work.step("kernel-source", &key)? {
            Step::Done(path) => (path, true),
            Step::Todo(building) => {
                if self.path.is_dir() {
                    // Before it is copied, which takes its time.
                    self.patch_for(&self.release_of(&self.path)?)?;
                }
                work.require_space(self.space()?, "unpack and build a kernel")?;
                self.copy_to(building.path())?;
                let release = self.release_of(building.path())?;
                self.patch_for(&release)?.apply(building.path())?;
                (building.finish()?, false)
            }
        };
        let release = self.release_of(&path)?;
        Ok(Unpacked { path, release, key, origin: self.path.clone(), cached })
    }

    /// Bytes that it takes when it is unpacked and built.
    fn space(&self) -> Result<u64, KernelError> {
        if self.path.is_dir() {
            return Ok(SPACE);
        }
        let archive = fs::metadata(&self.path).map_err(file("read", &self.path))?;
        Ok(archive.len().saturating_mul(SPACE_OF_ARCHIVE).min(SPACE))
    }

    fn copy_to(&self, folder: &Path) -> Result<(), KernelError> {
        let job = if self.path.is_dir() {
            Job::new("copying the kernel source", "cp")
                .args(["-a", "--reflink=auto", "--no-target-directory"])
                .arg(&self.path)
                .arg(folder)
        } else {
            Job::new("unpacking the kernel source", "tar")
                .package("tar")
                // An archive that was packed in blocks is unpacked by all processors.
                .env("XZ_DEFAULTS", "--threads=0")
                .args(["--extract", "--strip-components=1", "--no-same-owner", "--file"])
                .arg(&self.path)
                .arg("--directory")
                .arg(folder)
        };
        job.limit(Duration::from_secs(900)).run()?;
        Ok(())
    }

    fn release_of(&self, folder: &Path) -> Result<Release, KernelError> {
        let not_a_source =
            |found: String| KernelError::NotASource { path: self.path.clone(), found };
        let text = fs::read_to_string(folder.join("Makefile"))
            .map_err(|error| not_a_source(format!("it has no readable Makefile ({error})")))?;
        Release::of_makefile(&text)
            .ok_or_else(|| not_a_source("its Makefile gives no version".to_owned()))
    }

    fn patch_for(&self, release: &Release) -> Result<Patch, KernelError> {
        Patch::for_series(&release.series).ok_or_else(|| KernelError::Release {
            path: self.path.clone(),
            found: release.version.clone(),
            supported: PATCHES.map(|patch| patch.series).join(" and "),
        })
    }
}

impl Unpacked {
    /// The same source with [cold code swapping](super::SWAP) beside our order of functions. What
    /// does not change is shared with this one, so that it takes little space.
    ///
    /// # Errors
    /// If it is of another release than cold code swapping is for; if `cp` or `patch` fail.
    pub fn with_swapping(&self, work: &WorkDir) -> Result<Unpacked, KernelError> {
        let SwapPatch { patch, files } = SWAP;
        if self.release.series != patch.series {
            return Err(KernelError::Release {
                path: self.origin.clone(),
                found: self.release.version.clone(),
                supported: format!("{} where it is to swap cold code", patch.series),
            });
        }
        let mut key =
            Key::new("kernel-source-swap/1").after(&self.key).bytes("patch", patch.text.as_bytes());
        for (name, text, _) in files {
            key = key.bytes(name, text.as_bytes());
        }
        let (path, cached) = match work.step("kernel-source-swap", &key)? {
            Step::Done(path) => (path, true),
            Step::Todo(building) => {
                let folder = building.path();
                // Hard links: patch writes a changed file anew, and builds are out of tree.
                Job::new("copying the kernel source", "cp")
                    .args(["-a", "--link", "--no-target-directory"])
                    .arg(&self.path)
                    .arg(folder)
                    .limit(Duration::from_secs(900))
                    .run()?;
                // What would be written in place, and so in the other source as well.
                let written = folder.join(PATCH_FILE);
                fs::remove_file(&written).map_err(file("remove", &written))?;
                patch.apply(folder)?;
                for (name, text, program) in files {
                    let path = folder.join(name);
                    fs::write(&path, text).map_err(file("write", &path))?;
                    if program {
                        let mode = fs::Permissions::from_mode(0o755);
                        fs::set_permissions(&path, mode).map_err(file("write", &path))?;
                    }
                }
                (building.finish()?, false)
            }
        };
        Ok(Unpacked { path, key, cached, ..self.clone() })
    }
}

impl Patch {
    /// Applies the patch to the kernel source in `folder`.
    fn apply(self, folder: &Path) -> Result<(), KernelError> {
        let path = folder.join(PATCH_FILE);
        fs::write(&path, self.text).map_err(file("write", &path))?;
        Job::new("applying trimtab's patch to the kernel source", "patch")
            .package("patch")
            .args(["--strip=1", "--forward", "--batch", "--input"])
            .arg(&path)
            .dir(folder)
            .limit(Duration::from_secs(60))
            .run()?;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_read_from_the_makefile() {
        let text = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 7\nEXTRAVERSION =\nNAME = X\n";
        let release = Release::of_makefile(text).unwrap();
        assert_eq!((release.version.as_str(), release.series.as_str()), ("6.12.7", "6.12"));
        assert_eq!(Release::of_makefile("all:\n"), None);
    }

    #[test]
    fn a_missing_source_is_named_with_its_package() {
        let folder = tempfile::tempdir().unwrap();
        let error = Source::find_in(None, folder.path()).unwrap_err().to_string();
        assert!(error.contains("linux-source-6.12.tar.xz"), "{error}");
        assert!(error.contains("apt-get install linux-source-6.12"), "{error}");
        let error = Source::find(Some(&folder.path().join("none"))).unwrap_err().to_string();
        assert!(error.contains("is not there"), "{error}");
    }

    #[test]
    fn what_is_no_kernel_is_refused_and_nothing_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let work = WorkDir::open(&folder.path().join("work")).unwrap();
        let fake = folder.path().join("fake");
        fs::create_dir(&fake).unwrap();
        let unpack = || Source::find(Some(&fake)).unwrap().unpack(&work).unwrap_err().to_string();
        assert!(unpack().contains("is not a kernel source: it has no readable Makefile"));
        fs::write(fake.join("Makefile"), "VERSION = 5\nPATCHLEVEL = 4\nSUBLEVEL = 1\n").unwrap();
        assert!(unpack().contains("is release 5.4.1; trimtab has patches for 6.12 and 6.1"));
        let broken = folder.path().join("broken.tar.xz");
        fs::write(&broken, "not a tarball").unwrap();
        let error = Source::find(Some(&broken)).unwrap().unpack(&work).unwrap_err().to_string();
        assert!(error.contains("unpacking the kernel source failed"), "{error}");
        assert_eq!(fs::read_dir(work.path().join("steps")).unwrap().count(), 0);
    }
}
