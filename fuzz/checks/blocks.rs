//! Maps of basic blocks: no panic, and each function's blocks are found by its entry.

use trimtab_program::BlockMap;

/// Whether it was read.
pub fn check(data: &[u8]) -> bool {
    let Ok(map) = BlockMap::from_section(data) else { return false };
    let mut blocks = 0;
    for entry in map.entries() {
        let function = map.function(entry).expect("an entry has blocks");
        assert!(!function.is_empty());
        assert!(function.iter().all(|block| block.range.start <= block.range.end));
        blocks += function.len();
    }
    assert_eq!(blocks, map.blocks());
    true
}
