//! Any bytes are read as a recording or refused, and give a profile in each form.
#![no_main]

#[path = "../checks/recording.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check::check(data);
});
