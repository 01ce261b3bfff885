//! No file makes the translator panic, and any code in a sound file is translated.

use trimtab_fixture::Elf;

/// `EM_MIPS` and `ET_EXEC`.
const MIPS: u16 = 8;
const EXECUTABLE: u16 = 2;

/// `jal` to itself, a delay slot, `jr ra`, a delay slot: three times.
const CALLS: [u8; 48] = {
    let call = [0x00, 0x04, 0x10, 0x0c, 0, 0, 0, 0, 0x08, 0x00, 0xe0, 0x03, 0, 0, 0, 0];
    let mut code = [0; 48];
    let mut at = 0;
    while at < 48 {
        code[at] = call[at % 16];
        at += 1;
    }
    code
};

/// Whether it was read.
pub fn check(data: &[u8]) -> bool {
    if data.starts_with(b"\x7fELF") {
        return trimtab_jar::translate(data).is_ok();
    }
    let start = 0x40_1000;
    let mut read = false;
    for section in [".eh_frame", ".debug_line"] {
        let place = 0x40_2000;
        let file = Elf::new()
            .class_32()
            .machine(MIPS)
            .kind(EXECUTABLE)
            .entry(start)
            .text(".text", start, CALLS.len() as u64)
            .function("start", start, CALLS.len() as u64)
            .contents(start, &CALLS)
            .data(section, place, data.len() as u64)
            .contents(place, data)
            .loaded()
            .build();
        read |= trimtab_jar::translate(&file).is_ok();
    }
    let code = &data[..data.len() & !3];
    if code.is_empty() {
        return read;
    }
    let size = code.len() as u64;
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
