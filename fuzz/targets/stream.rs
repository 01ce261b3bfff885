//! Any bytes are read as a stream or refused, and what is read decodes to as many blocks as it says.
#![no_main]

#[path = "../checks/stream.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check::check(data);
});
