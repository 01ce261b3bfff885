//! Files without a page in memory, and the pages that a run brought in.
//!
//! The page cache of the whole machine is left alone: only the pages of the named files are dropped
//! (`posix_fadvise`), which needs no privilege, and it is looked whether they are gone (`mincore`).

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use memmap2::MmapOptions;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::libc;
use trimtab_program::PAGE_SIZE;

use super::ProgramError;
use super::error::io;

/// Drops all pages of a file from memory.
///
/// # Errors
/// [`ProgramError::StaysWarm`] where a process still maps it, [`ProgramError::File`].
pub fn evict(path: &Path) -> Result<(), ProgramError> {
    let file = File::open(path).map_err(io("read", path))?;
    // Pages that are not on the disk yet cannot be dropped.
    file.sync_all().map_err(io("write", path))?;
    let mut left = 0;
    for _ in 0..20 {
        posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)
            .map_err(|errno| io("drop the pages of", path)(errno.into()))?;
        left = resident(path)?.iter().filter(|there| **there).count() as u64;
        if left == 0 {
            return Ok(());
        }
        // The last process that ran it may not be quite gone, or a page is being read.
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(ProgramError::StaysWarm { path: path.to_owned(), pages: left })
}

/// Which pages of a file are in memory, first to last.
///
/// # Errors
/// [`ProgramError::File`].
pub fn resident(path: &Path) -> Result<Vec<bool>, ProgramError> {
    let file = File::open(path).map_err(io("read", path))?;
    let length = file.metadata().map_err(io("read", path))?.len();
    if length == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: no byte of the mapping is read, so it does not matter who changes the file.
    let map = unsafe { MmapOptions::new().map(&file) }.map_err(io("map", path))?;
    let mut pages = vec![0u8; length.div_ceil(PAGE_SIZE) as usize];
    // SAFETY: the mapping is `length` bytes long, and there is a byte for each of its pages.
    let done = unsafe {
        libc::mincore(map.as_ptr().cast_mut().cast(), map.len(), pages.as_mut_ptr().cast())
    };
    if done != 0 {
        return Err(io("look at the pages of", path)(std::io::Error::last_os_error()));
    }
    Ok(pages.into_iter().map(|page| page & 1 != 0).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn count(path: &Path) -> usize {
        resident(path).unwrap().iter().filter(|there| **there).count()
    }

    #[test]
    fn a_file_becomes_cold_and_reading_warms_it() {
        // Not in /tmp, which may have no disk below it.
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![1; 10 * PAGE_SIZE as usize + 1]).unwrap();
        assert_eq!(count(&path), 11);
        evict(&path).unwrap();
        assert_eq!(count(&path), 0);
        std::fs::read(&path).unwrap();
        assert_eq!(count(&path), 11);
        let empty = folder.path().join("empty");
        std::fs::write(&empty, "").unwrap();
        evict(&empty).unwrap();
    }

    #[test]
    fn a_file_that_is_mapped_stays_warm_and_that_is_said() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![1; PAGE_SIZE as usize]).unwrap();
        let file = File::open(&path).unwrap();
        // SAFETY: nobody changes the file.
        let map = unsafe { MmapOptions::new().populate().map(&file) }.unwrap();
        assert_eq!(map[0], 1);
        let error = evict(&path).unwrap_err();
        assert!(matches!(error, ProgramError::StaysWarm { pages: 1, .. }), "{error}");
    }
}
