//! No file makes the translator panic, and any code in a sound file is translated.

use trimtab_fixture::Elf;

/// `EM_MIPS` and `ET_EXEC`.
const MIPS: u16 = 8;
const EXECUTABLE: u16 = 2;

/// Whether it was read.
pub fn check(data: &[u8]) -> bool {
    if data.starts_with(b"\x7fELF") {
        return trimtab_jar::translate(data).is_ok();
    }
    let code = &data[..data.len() & !3];
    if code.is_empty() {
        return false;
    }
    let (start, size) = (0x40_1000, code.len() as u64);
    let file = Elf::new()
        .class_32()
        .machine(MIPS)
        .kind(EXECUTABLE)
        .entry(start)
        .text(".text", start, size)
        .function("start", start, size)
        .contents(start, code)
        .loaded()
        .build();
    trimtab_jar::translate(&file).unwrap();
    true
}
