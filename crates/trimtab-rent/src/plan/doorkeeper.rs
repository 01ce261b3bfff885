//! What the kernel remembers of evictions for the policy that stores no page the first time.

use super::event::FileId;

/// A bit for each hash of a page; all are cleared when half of them would be set. Einziger, Friedman and Manes,
/// "TinyLFU: a highly efficient cache admission policy", 2017. The kernel's is `rental_first_time()`.
#[derive(Debug)]
pub struct Doorkeeper {
    seen: Vec<bool>,
    count: usize,
}

/// Bits of a hash.
const BITS: u32 = 18;
/// What the kernel's `hash_64()` multiplies with.
const GOLDEN_RATIO: u64 = 0x61c8_8646_80b5_83eb;

impl Doorkeeper {
    /// One that has seen nothing.
    pub fn new() -> Self {
        Self { seen: vec![false; 1 << BITS], count: 0 }
    }

    /// Whether a page is seen for the first time, as far as it is known.
    pub fn is_first(&mut self, file: FileId, index: u64) -> bool {
        let device = u64::from(file.major) << 20 | u64::from(file.minor);
        let page = (file.inode << 32 | index & u64::from(u32::MAX)) ^ device << 16;
        let hash = page.wrapping_mul(GOLDEN_RATIO) >> (64 - BITS);
        if std::mem::replace(&mut self.seen[hash as usize], true) {
            return false;
        }
        self.count += 1;
        if self.count > self.seen.len() / 2 {
            self.seen.fill(false);
            self.count = 0;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_that_of_the_kernel() {
        let kernel = include_str!("../../../../linux/rental/files/mm/rental.c");
        let flat: String = kernel.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in [
            &format!("#define SEEN_BITS {BITS}"),
            "((u64)owner->ino << 32 | owner->index) ^ (u64)owner->device << 16",
            "__test_and_set_bit(hash_64(page, SEEN_BITS), seen)",
            "if (++nr_seen > 1 << (SEEN_BITS - 1)) { bitmap_zero(seen, 1 << SEEN_BITS); nr_seen = 0; }",
        ] {
            assert!(flat.contains(said), "{said}");
        }
    }

    #[test]
    fn it_forgets_when_it_is_half_full() {
        let file = FileId { major: 254, minor: 0, inode: 12 };
        let mut seen = Doorkeeper::new();
        assert!(seen.is_first(file, 1) && !seen.is_first(file, 1));
        let (mut firsts, mut index) = (1, 1);
        while firsts <= 1 << 17 {
            index += 1;
            firsts += u32::from(seen.is_first(file, index));
        }
        assert!(seen.is_first(file, 1));
    }
}
