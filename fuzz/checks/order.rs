//! Any text is read as an order or refused, and each of its lines is looked up in a program.

use trimtab_link::OrderFile;
use trimtab_program::Program;

static PROGRAM: &[u8] = include_bytes!("../../testdata/programs/lld-x86_64.elf");

/// Whether it was read.
pub fn check(data: &[u8]) -> bool {
    let text = &*String::from_utf8_lossy(data);
    let Ok(order) = OrderFile::parse(text) else { return false };
    assert!(!order.entries.is_empty());
    let lines = text.lines().count();
    let Ok(program) = Program::parse(PROGRAM) else { return false };
    for entry in &order.entries {
        assert!((1..=lines).contains(&entry.line));
        let found = entry.lookup(&program);
        assert!(found.iter().all(|id| program.function_ids().any(|own| own == *id)));
    }
    true
}
