//! No file makes the translator panic, and any code in a sound file is translated.
#![no_main]

#[path = "../checks/jar.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check::check(data);
});
