//! Pages and files that a trace names, by dense numbers.

use rustc_hash::FxHashMap;

use super::error::PlanError;
use super::event::FileId;

/// Pages that are followed at most: 16 GiB of files, in pages of 4 KiB. They take about 120 bytes each, and 16 for each
/// pool of each policy.
pub const MOST_PAGES: usize = 4 << 20;

/// What is known of a page.
#[derive(Debug, Clone, Copy, Default)]
pub struct Page {
    /// Its file.
    pub file: u32,
    /// How many evictions there were when it was evicted last.
    pub evicted: u64,
    /// How often it was evicted since its file has it, at most 255.
    pub evictions: u8,
    /// Whether it is in the page cache.
    pub is_resident: bool,
    /// Whether it was active since it came, or when it was evicted last.
    pub was_active: bool,
    /// Whether it came, and was not read yet.
    pub is_new: bool,
    /// Whether [`File::evicted`] has it.
    pub is_listed: bool,
}

/// What is known of a file.
#[derive(Debug, Clone, Default)]
pub struct File {
    /// The major number of its device.
    pub major: u32,
    /// Pages that are known to be in the page cache.
    pub resident: u64,
    /// Pages that were evicted since it lost all last; some came back.
    pub evicted: Vec<u32>,
    /// Whether it has more than one page.
    pub is_long: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Pages {
    files: FxHashMap<FileId, u32>,
    numbers: FxHashMap<(u32, u64), u32>,
    /// By number.
    pub pages: Vec<Page>,
    /// By number.
    pub file: Vec<File>,
}

impl Pages {
    /// A file's number.
    pub fn file(&mut self, id: FileId) -> u32 {
        let next = self.file.len() as u32;
        let number = *self.files.entry(id).or_insert(next);
        if number == next {
            self.file.push(File { major: id.major, ..File::default() });
        }
        number
    }

    /// A file's number, if it was seen.
    pub fn known(&self, id: FileId) -> Option<u32> {
        self.files.get(&id).copied()
    }

    /// A page's number, if it was seen.
    pub fn known_page(&self, id: FileId, index: u64) -> Option<u32> {
        self.numbers.get(&(self.known(id)?, index)).copied()
    }

    /// A page's number.
    ///
    /// # Errors
    /// That these are too many.
    pub fn page(&mut self, id: FileId, index: u64) -> Result<u32, PlanError> {
        let file = self.file(id);
        let next = self.pages.len();
        let number = *self.numbers.entry((file, index)).or_insert(next as u32);
        if number as usize == next {
            if next == MOST_PAGES {
                return Err(PlanError::TooManyPages { most: MOST_PAGES });
            }
            self.pages.push(Page { file, ..Page::default() });
            self.file[file as usize].is_long |= index > 0;
        }
        Ok(number)
    }
}
