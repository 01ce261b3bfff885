//! Leaving the program on Ctrl-C: clean up, say that nothing is lost, exit with 130.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{request, requested};
use crate::observe::say;
use crate::process;

/// How long jobs may take to end in order; none of them takes more than a few seconds.
const GRACE: Duration = Duration::from_secs(20);

type Cleanup = Box<dyn FnOnce() + Send>;

static CLEANUPS: Mutex<Vec<Cleanup>> = Mutex::new(Vec::new());
static RESUMABLE: AtomicBool = AtomicBool::new(false);

/// Ends the program in order on Ctrl-C and SIGTERM from now on. Call once, in a program that has
/// not called [`install`](super::install). A second Ctrl-C, while cleaning up takes its time, ends
/// the process at once.
///
/// # Errors
/// That the system refuses to have its signals handled.
pub fn leave_on_signals() -> std::io::Result<()> {
    let again = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag down and raises it.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, again.clone())?;
        signal_hook::flag::register(signal, again.clone())?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    // The thread ends with the process.
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            stop(signal);
        }
    });
    Ok(())
}

fn stop(signal: i32) {
    // Jobs are ended in order, so that make and the like can remove what they have half made.
    request();
    process::wait_until_idle(GRACE);
    let cleanups = std::mem::take(&mut *CLEANUPS.lock().unwrap_or_else(PoisonError::into_inner));
    for cleanup in cleanups.into_iter().rev() {
        cleanup();
    }
    say(match RESUMABLE.load(Ordering::Relaxed) {
        true => "trimtab: stopped; the same command goes on where this one was",
        false => "trimtab: stopped",
    });
    // 130 for Ctrl-C, as shells have it. What is half done in a work directory is removed by the
    // next run, so there is nothing to unwind.
    std::process::exit(128 + signal);
}

/// Where the program has been asked to end, waits for that end: whatever fails from then on does so
/// because of it, and is not worth a message. Returns at once otherwise.
pub fn leave_if_stopping() {
    while requested() {
        std::thread::park();
    }
}

/// Has `cleanup` done on Ctrl-C, before anything that was asked for earlier: processes are ended
/// here, and the terminal is put in order. It runs on a thread of its own.
pub fn on_stop(cleanup: impl FnOnce() + Send + 'static) {
    CLEANUPS.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(cleanup));
}

/// From now on, what is stopped can be resumed by the same command; the message says so.
pub fn now_resumable() {
    RESUMABLE.store(true, Ordering::Relaxed);
}
