//! Any bytes are read as a trace of a page cache, and what follows from it does not contradict itself.
#![no_main]

#[path = "../checks/page_cache.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check::check(data);
});
