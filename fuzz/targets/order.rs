//! Any text is read as an order or refused, and each of its lines is looked up in a program.
#![no_main]

#[path = "../checks/order.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check::check(data);
});
