//! The store: the swappable pages as they are kept, compressed.

use crate::units::{Class, Units};
use trimtab_layout::paged::Places;
use trimtab_program::{PAGE_SIZE, Program};

/// The swappable pages, each compressed alone with LZ4; one that does not get shorter is kept as it
/// is.
#[derive(Debug, Clone, Default)]
pub struct Store {
    pages: Vec<Vec<u8>>,
}

impl Store {
    /// Compresses pages of [`PAGE_SIZE`] bytes.
    pub fn of(pages: &[Vec<u8>]) -> Self {
        let packed = |page: &Vec<u8>| {
            let packed = lz4_flex::block::compress(page);
            if packed.len() < page.len() { packed } else { page.clone() }
        };
        Store { pages: pages.iter().map(packed).collect() }
    }

    /// Bytes of all pages as they are kept.
    pub fn bytes(&self) -> u64 {
        self.pages.iter().map(|page| page.len() as u64).sum()
    }

    /// How many pages it has.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether it has no page.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Loads a page into a frame. Says whether there is such a page and it fits.
    pub fn load(&self, page: usize, frame: &mut [u8]) -> bool {
        match self.pages.get(page) {
            Some(kept) if kept.len() == frame.len() => {
                frame.copy_from_slice(kept);
                true
            }
            Some(packed) => lz4_flex::block::decompress_into(packed, frame)
                .is_ok_and(|length| length == frame.len()),
            None => false,
        }
    }
}

/// The swappable pages of a placement as they would be linked, but for the distances in calls and
/// jumps, which change when code is moved. What is left of a page is filled with `int3`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_comes_back_as_it_was() {
        let noise = (0u32..4096).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let pages = [vec![0x90; 4096], noise];
        let store = Store::of(&pages);
        assert_eq!(store.len(), 2);
        assert!(store.bytes() < 4096 + 200);
        let mut frame = vec![0; 4096];
        for (index, page) in pages.iter().enumerate() {
            assert!(store.load(index, &mut frame));
            assert_eq!(&frame, page);
        }
        assert!(!store.load(2, &mut frame));
        assert!(!store.load(0, &mut frame[..100]));
    }
}
