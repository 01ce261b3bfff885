//! Any bytes are read as a file of C and of assembly, and what is counted in them adds up.
#![no_main]

#[path = "../checks/source.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check::check(data);
});
