//! A private copy of a kernel's source, with features put into it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trimtab_lab::cache::Key;
use trimtab_lab::process::Job;
use trimtab_link::feature::Feature;

use super::KernelError;
use super::error::file;

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
    pub(super) fn of_makefile(text: &str) -> Option<Release> {
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

/// A private copy of a kernel's source, with features put into it.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Its directory.
    pub path: PathBuf,
    /// Its release.
    pub release: Release,
    /// What it depends on.
    pub key: Key,
    /// What it was unpacked from.
    pub origin: String,
    /// Whether an earlier run had unpacked it.
    pub cached: bool,
}

/// Depends on all that a feature puts into a tree.
pub(super) fn depend(mut key: Key, feature: &Feature) -> Key {
    let name = |what: &str| format!("{} {what}", feature.name);
    for series in feature.series() {
        let patch = feature.patch(series).unwrap_or_default();
        key = key.bytes(&name(&format!("{series}.patch")), patch.as_bytes());
    }
    for (path, content) in feature.files() {
        key = key.bytes(&name(&path), content);
    }
    key
}

/// Applies a patch in `folder`, whose files may be hard links: it writes a changed file anew.
pub(super) fn apply(patch: &Path, folder: &Path, purpose: &str) -> Result<(), KernelError> {
    let patch = std::path::absolute(patch).map_err(file("find", patch))?;
    Job::new(purpose, "patch")
        .args(["--strip=1", "--forward", "--batch", "--input"])
        .arg(patch)
        .dir(folder)
        .limit(Duration::from_secs(60))
        .run()?;
    Ok(())
}

/// Puts a feature into the source of `release` in `folder`, whose files may be hard links.
pub(super) fn put_in(
    feature: &Feature,
    release: &Release,
    folder: &Path,
) -> Result<(), KernelError> {
    if let Some(text) = feature.patch(&release.series) {
        let path = folder.join(format!("trimtab-{}.patch", feature.name));
        fs::write(&path, text).map_err(file("write", &path))?;
        apply(&path, folder, "applying trimtab's patch to the kernel source")?;
    }
    for (name, content) in feature.files() {
        let path = folder.join(name);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above).map_err(file("make", above))?;
        }
        // What is there may be shared with another tree.
        let _ = fs::remove_file(&path);
        fs::write(&path, content).map_err(file("write", &path))?;
        if content.starts_with(b"#!") {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&path, mode).map_err(file("write", &path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_read_from_the_makefile() {
        let text = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 7\nEXTRAVERSION =\nNAME = X\n";
        let release = Release::of_makefile(text).unwrap();
        assert_eq!((release.version.as_str(), release.series.as_str()), ("6.12.7", "6.12"));
        assert_eq!(Release::of_makefile("all:\n"), None);
    }
}
