//! Maps of basic blocks: no panic, and each function's blocks are found by its entry.
#![no_main]

#[path = "../checks/blocks.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check::check(data);
});
