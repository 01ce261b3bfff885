//! Ctrl-C and SIGTERM: a flag that whatever runs looks at, so that it ends in order.

mod leave;

pub use leave::{leave_if_stopping, leave_on_signals, now_resumable, on_stop};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Once};

static REQUESTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(false)));
static INSTALLED: Once = Once::new();

/// From now on, Ctrl-C, SIGTERM and SIGHUP ask for an end instead of ending the program: each
/// running [`Job`](crate::process::Job) kills what it runs and returns
/// [`ProcessError::Interrupted`](crate::process::ProcessError::Interrupted). A second such signal
/// ends the program at once.
///
/// # Errors
/// If the system refuses a signal handler.
pub fn install() -> io::Result<()> {
    let mut result = Ok(());
    INSTALLED.call_once(|| {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The order matters: the first signal finds the flag unset here, then sets it below.
            result = flag::register_conditional_shutdown(signal, 128 + signal, flag())
                .and_then(|_| flag::register(signal, flag()))
                .map(|_| ());
            if result.is_err() {
                return;
            }
        }
    });
    result
}

/// Asks for an end, as a signal would: for programs that handle signals themselves.
pub fn request() {
    REQUESTED.store(true, Ordering::SeqCst);
}

/// Whether the program was asked to end. Look at it between the steps of anything long.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// Raised when the program is asked to end.
pub fn flag() -> Arc<AtomicBool> {
    Arc::clone(&REQUESTED)
}
