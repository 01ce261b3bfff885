//! A small kernel with a page fault handler and code that can be swapped out.

use crate::Elf;

/// Where its text begins.
pub const TEXT: u64 = 0xffff_ffff_8100_0000;
/// Bytes from one function to the next.
pub const STEP: u64 = 0x100;
/// Where its data begins.
pub const DATA: u64 = 0xffff_ffff_8180_0000;

/// Address of the function of this number.
pub fn at(function: u64) -> u64 {
    TEXT + function * STEP
}

/// A call of the function with one number in that with another, at an offset.
pub fn call(from: u64, offset: u64, to: u64) -> (u64, Vec<u8>) {
    let here = at(from) + offset;
    let distance = at(to).wrapping_sub(here + 5) as u32;
    (here, [&[0xe8][..], &distance.to_le_bytes()].concat())
}

/// The functions by number.
pub const NAMES: [&str; 12] = [
    "asm_exc_page_fault",  // 0: calls 1
    "exc_page_fault",      // 1: calls 2, 3 and 4
    "coldswap_fault",      // 2: calls 5; calls through `ops`
    "do_user_addr_fault",  // 3: calls 6: past the hook
    "handler_helper",      // 4
    "LZ4_decompress_safe", // 5
    "slow_mm",             // 6: not core
    "in_ops",              // 7: in `ops`
    "hot_path",            // 8: calls 9
    "seldom",              // 9
    "never",               // 10: a jump label
    "begin_swapping",      // 11
];

/// The kernel's file.
pub fn kernel() -> Vec<u8> {
    kernel_with(&[])
}

/// The kernel's file with other bytes at some addresses.
pub fn kernel_with(contents: &[(u64, &[u8])]) -> Vec<u8> {
    let text = NAMES.len() as u64 * STEP;
    let mut elf = Elf::new()
        .entry(TEXT)
        .text(".text", TEXT, text)
        .label("_stext", TEXT)
        .label("_etext", TEXT + text)
        .label("__sched_text_start", TEXT + text)
        .label("__sched_text_end", TEXT + text);
    for (number, name) in NAMES.into_iter().enumerate() {
        elf = elf.function(name, at(number as u64), STEP - 0x10);
        // ret
        elf = elf.contents(at(number as u64) + STEP - 0x11, &[0xc3]);
    }
    for (address, bytes) in [
        call(0, 0, 1),
        call(1, 0, 2),
        call(1, 5, 3),
        call(1, 10, 4),
        call(2, 0, 5),
        call(3, 0, 6),
        call(8, 0x20, 9),
    ] {
        elf = elf.contents(address, &bytes);
    }
    // call *ops(%rip)
    let here = at(2) + 0x20;
    let distance = DATA.wrapping_sub(here + 6) as u32;
    elf = elf.contents(here, &[&[0xff, 0x15][..], &distance.to_le_bytes()].concat());
    elf = elf
        .data(".data", DATA, 0x100)
        .label("ops", DATA)
        .label("behind_ops", DATA + 8)
        .contents(DATA, &at(7).to_le_bytes())
        .label("__start___jump_table", DATA + 0x40)
        .label("__stop___jump_table", DATA + 0x50);
    let distance = (at(10) + 0x10).wrapping_sub(DATA + 0x40) as u32;
    let entry = [distance.to_le_bytes(), [0; 4], [0; 4], [0; 4]].concat();
    elf = elf.contents(DATA + 0x40, &entry);
    for (address, bytes) in contents {
        elf = elf.contents(*address, bytes);
    }
    elf.loaded().build()
}

/// What runs: blocks (address and length), and the order in which they do, as their indices. Function
/// 6 runs once, then 11, then 8 a thousand times and 9 ten times among them.
pub fn executed() -> (Vec<(u64, u32)>, Vec<u32>) {
    let blocks = [6, 11, 8, 9].map(|function| (at(function), (STEP - 0x10) as u32)).into();
    let mut executions = vec![0, 1];
    for round in 0..1000 {
        executions.push(2);
        if round % 100 == 0 {
            executions.push(3);
        }
    }
    (blocks, executions)
}

/// Where the swappable code of [`linked`] begins, a page of it.
pub const COLD: u64 = 0xffff_ffff_8120_0000;
/// Where its swappable data begins.
pub const COLD_DATA: u64 = 0xffff_ffff_8140_0000;

/// A kernel as it is linked by a plan, without symbols of the bounds of code: these functions lie between them,
/// all others behind.
pub fn linked(inside: &[&'static str]) -> Elf {
    let mut elf = Elf::new().text(".text", COLD, 0x8000);
    for (place, name) in inside.iter().copied().enumerate() {
        elf = elf.function(name, COLD + place as u64 * 0x20, 0x20);
    }
    for (place, name) in NAMES.into_iter().filter(|name| !inside.contains(name)).enumerate() {
        elf = elf.function(name, COLD + 0x2000 + place as u64 * 0x20, 0x20);
    }
    elf.data(".rodata", COLD_DATA, 0x11000)
        .label("__coldswap_data_start", COLD_DATA)
        .label("__coldswap_data_end", COLD_DATA + 0x11000)
}

/// The same with the symbols of the bounds.
pub fn linked_within_bounds(inside: &[&'static str]) -> Elf {
    linked(inside).label("__coldswap_start", COLD).label("__coldswap_end", COLD + 0x1000)
}
