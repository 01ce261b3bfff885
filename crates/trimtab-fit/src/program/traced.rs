//! What runs of the program execute, and what they do where they do not run in the emulator.

use anyhow::{Context, Result};
use trimtab_lab::observe::{Observe, say};
use trimtab_native::program::ProgramError;
use trimtab_native::program::trace::Tracer;

use super::object::{LinkedFile, Object};
use super::request::{self, ProgramRequest};
use super::traces::{Run, Traces};
use super::workshop::Workshop;

/// Records runs.
pub(super) struct Recorder<'a> {
    workshop: &'a Workshop<'a>,
    tracer: Tracer,
    /// Whether it counts how control moves between blocks, which orders them.
    transitions: bool,
}

impl<'a> Recorder<'a> {
    /// Records with `tracer`; with `transitions` of all but split functions, whose blocks are in
    /// order.
    pub fn new(workshop: &'a Workshop<'a>, tracer: Tracer, transitions: bool) -> Self {
        Recorder { workshop, tracer, transitions }
    }

    /// What records.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// Runs the program as it was built. Where it does not run in the emulator and breakpoints will
    /// do, they record this and all further runs.
    ///
    /// # Errors
    /// A program that cannot be traced or does not end well, a trace that does not fit.
    pub fn record_first(
        &mut self,
        objects: &[Object<'_>],
        linked: &[LinkedFile],
        observe: &dyn Observe,
    ) -> Result<Vec<Run>> {
        let request = self.workshop.request;
        let mut runs = self.record("before", objects, linked, observe);
        if let Err(error) = &runs
            && !self.transitions
            && may_go_on_with_breakpoints(request, &self.tracer, error)
        {
            let native = Recorder { tracer: Tracer::Native, ..*self };
            if let Ok(found) = native.record("before", objects, linked, observe) {
                say(&format!(
                    "trimtab: warning: the program does not run in QEMU, so breakpoints trace it: \
                     {error}"
                ));
                self.tracer = Tracer::Native;
                runs = Ok(found);
            }
        }
        let runs = runs?;
        for run in &runs[..self.workshop.trained()] {
            for (object, profile) in objects.iter().zip(&run.profiles) {
                profile
                    .coverage()
                    .check(request.min_coverage)
                    .with_context(|| object.path.display().to_string())?;
            }
        }
        Ok(runs)
    }

    /// Runs all commands with the versions of `side`: `before`, `split` or `after`.
    ///
    /// # Errors
    /// A program that cannot be traced or does not end well.
    pub fn record(
        &self,
        side: &str,
        objects: &[Object<'_>],
        linked: &[LinkedFile],
        observe: &dyn Observe,
    ) -> Result<Vec<Run>> {
        let stage = observe.stage(match side {
            "before" => "trace the program",
            "split" => "trace the program with functions split",
            _ => "trace the program laid out",
        });
        let tracer = match self.transitions && side != "split" {
            true => self.tracer.with_transitions(),
            false => self.tracer.clone(),
        };
        let Workshop { commands, limits, work, .. } = self.workshop;
        let (limits, work) = (*limits, work.path());
        let traces = Traces { tracer: &tracer, commands, built: linked, limits, work };
        let runs = traces.record(side, objects, &stage)?;
        stage.done(&format!("{} runs", runs.len()));
        Ok(runs)
    }
}

/// Whether a failed trace may be due to the emulator, and breakpoints may do.
fn may_go_on_with_breakpoints(
    asked: &ProgramRequest,
    tracer: &Tracer,
    error: &anyhow::Error,
) -> bool {
    let ended = || matches!(error.downcast_ref(), Some(ProgramError::Ended { .. }));
    asked.tracer == request::Tracer::Auto && *tracer != Tracer::Native && ended()
}
