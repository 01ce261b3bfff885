//! Any text is read as events of a kernel, and what its threads did takes as long on any CPUs.
#![no_main]

#[path = "../checks/events.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check::check(data);
});
