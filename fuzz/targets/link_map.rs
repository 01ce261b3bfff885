//! Any text is read as a linker's map or refused, and its fragments fit the program.
#![no_main]

#[path = "../checks/link_map.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check::check(data);
});
