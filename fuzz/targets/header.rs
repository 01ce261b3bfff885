//! Any text is read as a C header, and what is made of it for Java and C holds together.
#![no_main]

#[path = "../checks/header.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check::check(data);
});
