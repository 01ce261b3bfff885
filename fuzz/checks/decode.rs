//! Any bytes are decoded to blocks that partition them.

use trimtab_program::{Isa, decode};

/// Whether it was read.
pub fn check(data: &[u8]) -> bool {
    let start = 0x1000;
    for isa in Isa::ALL {
        let blocks = decode::blocks_of(isa, start, data);
        assert_eq!(blocks.is_empty(), data.is_empty());
        assert!(blocks.iter().all(|block| !block.is_empty()));
        assert!(blocks.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(blocks.first().map_or(start, |block| block.start), start);
        assert_eq!(blocks.last().map_or(start, |block| block.end), start + data.len() as u64);
    }
    true
}
