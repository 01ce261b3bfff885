//! Any bytes are read as a program or refused, and what is read holds together.
#![no_main]

#[path = "../checks/program.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check::check(data);
});
