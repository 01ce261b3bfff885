//! Any bytes are read as a stream or refused, and what is read decodes to as many blocks as it says.

use trimtab_profile::Stream;

/// Whether it was read.
pub fn check(tokens: &[u8]) -> bool {
    let _ = Stream::parse(tokens);
    let bytes = [b"trimtab-stream 1\nsource qemu-plugin\nstream\n", tokens].concat();
    let Ok(stream) = Stream::parse(&bytes) else { return false };
    assert!(!stream.is_empty());
    let blocks = stream.blocks();
    assert_eq!(blocks.iter().map(|block| block.count).sum::<u64>(), stream.len());
    // A few bytes can stand for many blocks.
    for block in stream.executions().take(100_000) {
        assert!((block as usize) < blocks.len());
    }
    let trace = stream.trace();
    assert!(trace.events().len() <= blocks.len());
    true
}
