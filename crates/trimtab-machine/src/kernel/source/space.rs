//! Space on the disk that a kernel will take.

use std::fs;
use std::path::Path;

use trimtab_lab::bytes::Bytes;
use trimtab_lab::process::Job;

use super::super::KernelError;
use super::super::error::file;
use super::{COPY_LIMIT, GIT_LIMIT, Source};

/// Space that a kernel, unpacked and built, takes at the most: with a second build by blocks, 3.1 GiB
/// were seen.
const MOST: u64 = 4 << 30;
/// The same as a multiple of what its archive takes: 22 was seen.
const OF_ARCHIVE: u64 = 28;
/// The same as a multiple of what its tree takes: 2 was seen.
const OF_TREE: u64 = 3;
/// What a file takes of a disk is a multiple of this.
const BLOCK: u64 = 4096;

impl Source {
    /// Bytes that it takes when it is unpacked and built.
    pub(super) fn space(&self) -> Result<u64, KernelError> {
        let takes = match self {
            Source::Patched { source, .. } => return source.space(),
            Source::Archive(path) => {
                fs::metadata(path).map_err(file("read", path))?.len().saturating_mul(OF_ARCHIVE)
            }
            Source::Package(path) => of_package(path)?.saturating_mul(OF_ARCHIVE),
            Source::Folder(path) => of_folder(path)?.saturating_mul(OF_TREE),
            Source::Revision { repository, .. } => {
                of_commit(repository, &self.commit()?)?.saturating_mul(OF_TREE)
            }
        };
        Ok(takes.min(MOST))
    }
}

/// What the archives of a Debian source package take, as its `.dsc` file says.
fn of_package(dsc: &Path) -> Result<u64, KernelError> {
    let bytes = Bytes::open(dsc).map_err(file("read", dsc))?;
    let text = bytes.to_text().map_err(file("read", dsc))?;
    let checksums = text.lines().skip_while(|line| !line.starts_with("Checksums-Sha256:")).skip(1);
    let sizes = checksums
        .take_while(|line| line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    Ok(sizes.fold(0, u64::saturating_add))
}

fn of_folder(folder: &Path) -> Result<u64, KernelError> {
    let said = Job::new("asking how much the kernel source takes", "du")
        .args(["--summarize", "--block-size=1", "--"])
        .arg(folder)
        .limit(COPY_LIMIT)
        .run_captured()?;
    Ok(said.split_whitespace().next().and_then(|size| size.parse().ok()).unwrap_or(MOST))
}

fn of_commit(repository: &Path, commit: &str) -> Result<u64, KernelError> {
    let said = Job::new("asking git how much the kernel source takes", "git")
        .arg("-C")
        .arg(repository)
        .args(["ls-tree", "-r", "-l", "--full-tree", commit])
        .limit(GIT_LIMIT)
        .run_captured()?;
    // MODE TYPE OBJECT SIZE<tab>PATH
    let sizes = said.lines().filter_map(|line| {
        let size = line.split_whitespace().nth(3)?.parse::<u64>().ok()?;
        Some(size.next_multiple_of(BLOCK))
    });
    Ok(sizes.fold(0, u64::saturating_add))
}
