//! Keeps the tracer and what it traces on one processor.
//!
//! At each stop either waits for the other. Where the scheduler finds an idle processor for the one
//! that is woken, both wake up from idle at each stop, and that takes several times as long as the
//! switch from one to the other on a processor that is awake: in virtual machines tens of
//! microseconds. The kernel offers tracers nothing against it.
//!
//! So the tracer stays on a processor, and a task that is alone in stopping is bound to it. The
//! program does not see it: what it starts is bound to nothing, and where it asks for its
//! processors, or sets them, it is freed first (`filter`). What does not stop for a while, as it has
//! long work to do, is freed as well.

use nix::libc::pid_t;
use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::unistd::Pid;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Who is bound to the tracer's processor.
#[derive(Debug, Default)]
pub(super) struct Near(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Where the tracer stays; nothing where the system does not let it.
    stay: Option<Stay>,
    /// The task that is bound, and where it could run before.
    bound: Option<(Pid, CpuSet)>,
    /// The task that went on last.
    last: Option<Pid>,
    /// Whether any has gone on since this was last asked.
    stirred: bool,
}

#[derive(Debug, Clone, Copy)]
struct Stay {
    processor: usize,
    /// It alone.
    only: CpuSet,
    /// Where the tracer can run otherwise.
    all: CpuSet,
}

impl Stay {
    fn new() -> nix::Result<Self> {
        let all = sched_getaffinity(Pid::from_raw(0))?;
        let processor = sched_getcpu()?;
        let mut only = CpuSet::new();
        only.set(processor)?;
        sched_setaffinity(Pid::from_raw(0), &only)?;
        Ok(Stay { processor, only, all })
    }
}

impl Near {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calling thread, the tracer, stays on the processor that it is on. Threads and programs
    /// that it starts from now on do as well.
    pub(super) fn stay(&self) {
        self.state().stay = Stay::new().ok();
    }

    /// The calling thread, the tracer, does some work that is for several processors.
    pub(super) fn apart<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut state = self.state();
        let Some(Stay { all, .. }) = state.stay else { return work() };
        state.free();
        // Fails only where these processors are gone.
        let _ = sched_setaffinity(Pid::from_raw(0), &all);
        let done = work();
        state.stay = Stay::new().ok();
        done
    }

    /// A stopped task is about to go on. It is bound if no other has gone on since it did: tasks
    /// that take turns are on different processors for good reason.
    pub(super) fn goes_on(&self, task: pid_t) {
        let task = Pid::from_raw(task);
        let mut state = self.state();
        state.stirred = true;
        if state.last.replace(task) == Some(task) {
            state.bind(task);
        } else {
            state.free();
        }
    }

    /// A stopped task is about to ask where it can run, or to change it.
    pub(super) fn asks(&self) {
        let mut state = self.state();
        state.last = None;
        state.free();
    }

    /// A task has been started, and has inherited where it can run.
    pub(super) fn started(&self, task: pid_t, parent: pid_t) {
        let mut state = self.state();
        state.free();
        let Some(Stay { only, all, .. }) = state.stay else { return };
        let [task, parent] = [task, parent].map(Pid::from_raw);
        if sched_getaffinity(task) == Ok(only) {
            let _ = sched_setaffinity(task, &sched_getaffinity(parent).unwrap_or(all));
        }
    }

    /// A task has become another program: a thread that does takes the number of its process.
    pub(super) fn executed(&self, task: pid_t, former: pid_t) {
        let mut state = self.state();
        let [task, former] = [task, former].map(Pid::from_raw);
        if let Some((bound, _)) = &mut state.bound
            && *bound == former
        {
            *bound = task;
        }
        state.free();
    }

    /// Frees what is bound if it has not stopped since the last call.
    pub(super) fn look(&self) {
        let mut state = self.state();
        if !std::mem::take(&mut state.stirred) {
            state.free();
        }
    }
}

impl State {
    fn bind(&mut self, task: Pid) {
        let (Some(stay), None) = (self.stay, self.bound) else { return };
        let Ok(former) = sched_getaffinity(task) else { return };
        let may = former != stay.only && former.is_set(stay.processor).unwrap_or(false);
        if may && sched_setaffinity(task, &stay.only).is_ok() {
            self.bound = Some((task, former));
        }
    }

    fn free(&mut self) {
        if let Some((task, former)) = self.bound.take() {
            // Fails only for a task that has ended.
            let _ = sched_setaffinity(task, &former);
        }
    }
}
