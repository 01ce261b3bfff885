//! The processes under way, so that they can be ended from another thread than the tracer's.

use super::system;
use nix::libc::{self, c_int, pid_t};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is asked of the tracer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// To record.
    Recording,
    /// To record nothing more: the programs have been asked to end.
    Ending,
    /// To kill what there is.
    Killing,
}

/// All processes under way.
#[derive(Debug)]
pub(super) struct Live(Mutex<State>);

#[derive(Debug)]
struct State {
    phase: Phase,
    processes: HashMap<pid_t, OwnedFd>,
}

impl Live {
    pub(super) fn new() -> Self {
        Live(Mutex::new(State { phase: Phase::Recording, processes: HashMap::new() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a process; says how many there are now.
    pub(super) fn add(&self, number: pid_t, handle: OwnedFd) -> usize {
        let mut state = self.state();
        if state.phase == Phase::Killing {
            system::send(&handle, libc::SIGKILL);
        }
        state.processes.insert(number, handle);
        state.processes.len()
    }

    /// Forgets a process that has ended.
    pub(super) fn remove(&self, number: pid_t) {
        self.state().processes.remove(&number);
    }

    /// What is asked of the tracer.
    pub(super) fn phase(&self) -> Phase {
        self.state().phase
    }

    /// Asks all processes to end, or kills them, and those that they start meanwhile. What was once
    /// asked for cannot be taken back.
    pub(super) fn end(&self, phase: Phase) {
        let signal: c_int = match phase {
            Phase::Recording => return,
            Phase::Ending => libc::SIGTERM,
            Phase::Killing => libc::SIGKILL,
        };
        let mut state = self.state();
        state.phase = state.phase.max(phase);
        for handle in state.processes.values() {
            system::send(handle, signal);
        }
    }
}
