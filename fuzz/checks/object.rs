//! Any bytes are instrumented as an object or an archive, or refused; what is instrumented is a
//! whole object again.

use trimtab_probe::{Hook, Hooks, Options, ProbeError, instrument, instrument_archive};

/// Whether it was read.
pub fn check(data: &[u8]) -> bool {
    if let Ok(hooks) = Hooks::read(data) {
        assert_eq!(Hooks::read(&hooks.bytes).unwrap().bytes, hooks.bytes);
    }
    for hook in [Hook::Time, Hook::Order, Hook::Value] {
        let options = Options::new(hook);
        let _ = instrument_archive(data, &options);
        let Ok(done) = instrument(data, &options) else { return false };
        let instrumented = done.instrumented.len();
        assert!(done.copied <= instrumented && done.with_frame <= instrumented, "{done:?}");
        // A symbol of a file takes at least 16 bytes of it.
        assert!((instrumented + done.left.len()) * 16 <= data.len(), "more functions than symbols");
        if done.instrumented.is_empty() {
            // What is wrong in the compiler's unwind information is corrected all the same.
            assert_eq!(done.bytes == data, done.mended == 0);
            continue;
        }
        // It is read again: to be refused, because it is done.
        assert!(matches!(instrument(&done.bytes, &options), Err(ProbeError::Already)));
        let again = instrument(data, &options).unwrap();
        assert_eq!(again.bytes, done.bytes);
    }
    true
}
