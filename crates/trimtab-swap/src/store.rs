//! The store: the swappable pages as they are kept, compressed.

use crate::units::{Class, Units};
use trimtab_layout::paged::Places;
use trimtab_program::{PAGE_SIZE, Program};

/// What the swappable pages take when each is compressed alone with LZ4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Store {
    /// Pages.
    pub pages: u64,
    /// Bytes of all pages, compressed; a page that does not get shorter is kept as it is.
    pub compressed: u64,
}

impl Store {
    /// Compresses pages.
    pub fn of(pages: &[Vec<u8>]) -> Self {
        let compressed = pages
            .iter()
            .map(|page| lz4_flex::block::compress(page).len().min(page.len()) as u64)
            .sum();
        Store { pages: pages.len() as u64, compressed }
    }
}

/// The swappable pages of a placement as they would be linked, but for the distances in calls and
/// jumps, which change when code is moved. Room that is left is filled with `int3`.
pub fn page_images(program: &Program<'_>, units: &Units, places: &Places) -> Vec<Vec<u8>> {
    let page = PAGE_SIZE as usize;
    let mut image = vec![0xcc; places.pages as usize * page];
    for (unit, offset) in units.as_slice().iter().zip(&places.offsets) {
        let Some(offset) = offset.filter(|_| unit.class == Class::Swappable) else { continue };
        let mut at = offset as usize;
        for range in &unit.ranges {
            let bytes = program.bytes(*range).unwrap_or_default();
            if let Some(target) = image.get_mut(at..at + bytes.len()) {
                target.copy_from_slice(bytes);
            }
            at += bytes.len();
        }
    }
    image.chunks(page).map(<[u8]>::to_vec).collect()
}
