//! Any bytes are instrumented as an object or an archive, or refused; what is instrumented is a
//! whole object again.
#![no_main]

#[path = "../checks/object.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check::check(data);
});
