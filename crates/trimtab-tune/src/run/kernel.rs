//! A kernel as what is tuned: it is compiled in a build directory of its configuration and booted, and a program in the guest
//! counts what its system calls cost.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Context, anyhow};
use trimtab_lab::cache::Key;
use trimtab_lab::process::ProcessError;
use trimtab_machine::boot::{Boot, BootError, Clock, boot};
use trimtab_machine::calls::{self, CallsError};
use trimtab_machine::kernel::KernelError;
use trimtab_machine::testbed::Testbed;

use super::configurations::Configurations;
use super::core_model::{self, CoreModel};
use super::entries::Entries;
use super::request::Limits;
use super::subject::{Built, Costs, Fault, Image, Subject};
use crate::space::configuration::parted;

/// A kernel with a compiler.
pub struct KernelSubject<'a> {
    /// What it is called.
    pub name: String,
    /// All that its compiler says of its version.
    compiler: String,
    configurations: &'a Configurations<'a>,
    testbed: &'a Testbed<'a>,
    /// With a guest that may be in other states.
    varied: &'a Testbed<'a>,
    limits: Limits,
    /// The core whose cycles count; instructions do where there is none.
    core: Option<CoreModel>,
    /// Where it boots.
    folder: PathBuf,
    /// All processors are one kernel's.
    building: Mutex<()>,
    /// The calls that the kernel has without flags.
    expected: OnceLock<BTreeSet<String>>,
    /// Whether two boots of a kernel gave the same.
    repeats: OnceLock<()>,
}

impl<'a> KernelSubject<'a> {
    /// A kernel that boots in `folder`; of the testbeds the second has a guest that may be in other states.
    pub fn new(
        name: String,
        compiler: String,
        configurations: &'a Configurations<'a>,
        (testbed, varied): (&'a Testbed<'a>, &'a Testbed<'a>),
        (limits, core): (Limits, Option<CoreModel>),
        folder: PathBuf,
    ) -> Self {
        let (building, expected, repeats) = Default::default();
        Self {
            name,
            compiler,
            configurations,
            testbed,
            varied,
            limits,
            core,
            folder,
            building,
            expected,
            repeats,
        }
    }

    /// From now on a kernel must have these calls.
    pub fn expect(&self, costs: &Costs) {
        self.expected.get_or_init(|| costs.keys().cloned().collect());
    }

    /// What calls cost, in another state of the guest if there is one.
    fn costs(
        &self,
        image: &Path,
        vmlinux: &Path,
        state: Option<u32>,
    ) -> Result<calls::Costs, Fault> {
        let testbed = if state.is_some() { self.varied } else { self.testbed };
        let mut request = testbed.request_of(image, &self.folder);
        // One nanosecond an instruction: what the guest reads of its counter is instructions.
        request.hardware.clock = Clock::Instructions { shift: 0 };
        match state {
            None => request.workload = Some(calls::WORKLOAD.to_owned()),
            Some(state) => calls::in_state(&mut request, state),
        }
        request.limit = self.limits.run;
        let Some(model) = &self.core else {
            return read(&boot(&request).map_err(of_boot)?, self.expected.get());
        };
        let entries = Entries::of(vmlinux)?;
        request.tracers.core = Some(model.tracer(entries.entry, &entries.addresses));
        // The same checks, but not what the guest counts.
        let said = read(&boot(&request).map_err(of_boot)?, self.expected.get())?;
        let path = request.core_counts();
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut costs = entries.medians(&core_model::read(&text, &path)?.calls, &model.core);
        costs.retain(|name, _| said.contains_key(name));
        match self.expected.get().into_iter().flatten().find(|name| !costs.contains_key(*name)) {
            Some(name) => {
                Err(Fault::Flags(format!("it makes the call {name} by another function")))
            }
            None => Ok(costs),
        }
    }
}

impl Subject for KernelSubject<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn key(&self) -> Key {
        let key = Key::new("tune-kernel/2")
            .after(self.configurations.base().key())
            .field("compiler-version", &self.compiler)
            // Instructions are counted without the plugin that traces.
            .after(self.testbed.guest_key())
            .field("rounds", calls::ROUNDS)
            // What fails for want of memory does not with more.
            .field("memory", self.limits.memory);
        match &self.core {
            Some(core) => key.after(&core.key),
            None => key,
        }
    }

    fn state(&self, state: u32) -> String {
        // The guest of the key is another one.
        let guest = self.varied.guest_key().hash();
        format!("in state {state} of {}", guest.get(..16).unwrap_or(&guest))
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn at_once(&self) -> usize {
        1
    }

    fn build<'s>(&'s self, flags: &[String]) -> Result<Box<dyn Built + 's>, Fault> {
        let _one = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let Limits { build: limit, memory, .. } = self.limits;
        let (flags, lines) = parted(flags);
        let build = self.configurations.with(&lines)?;
        let kernel = build.compile(&flags, limit, memory, |_| ()).map_err(of_build)?;
        let image = Image { image: kernel.digest, bytes: kernel.bytes };
        let (bootable, vmlinux) = (kernel.image, kernel.vmlinux);
        Ok(Box::new(BuiltKernel { of: self, image, bootable, vmlinux }))
    }
}

/// A kernel that was compiled.
struct BuiltKernel<'s, 'a> {
    of: &'s KernelSubject<'a>,
    image: Image,
    bootable: PathBuf,
    vmlinux: PathBuf,
}

impl Built for BuiltKernel<'_, '_> {
    fn image(&self) -> &Image {
        &self.image
    }

    fn measure(&self) -> Result<Costs, Fault> {
        let costs = self.of.costs(&self.bootable, &self.vmlinux, None)?;
        if self.of.repeats.get().is_none() {
            let again = self.of.costs(&self.bootable, &self.vmlinux, None)?;
            if let Some(differs) = calls::difference(&costs, &again) {
                return Err(Fault::Other(anyhow!(
                    "{differs} in another boot of the same kernel; expected the same, as QEMU counts \
                     instructions"
                )));
            }
            self.of.repeats.get_or_init(|| ());
        }
        Ok(numbers(costs))
    }

    fn measure_in(&self, state: u32) -> Result<Costs, Fault> {
        Ok(numbers(self.of.costs(&self.bootable, &self.vmlinux, Some(state))?))
    }
}

fn numbers(costs: calls::Costs) -> Costs {
    costs.into_iter().map(|(name, cost)| (name, cost as f64)).collect()
}

/// What the program in the guest said of each call.
fn read(boot: &Boot, expected: Option<&BTreeSet<String>>) -> Result<calls::Costs, Fault> {
    calls::costs(&boot.said, expected).map_err(of_calls)
}

/// Sorts what is wrong with calls.
fn of_calls(error: CallsError) -> Fault {
    match error {
        CallsError::Wrong { .. } | CallsError::Missing { .. } => {
            Fault::Flags(format!("it is wrong: {error}"))
        }
        CallsError::Silent => Fault::Flags(error.to_string()),
        error => Fault::Other(error.into()),
    }
}

/// Sorts a failure of a build: of what make said, the first error.
fn of_build(error: KernelError) -> Fault {
    match error {
        // No flags make make end by a signal.
        KernelError::Process(error @ ProcessError::Failed { status, .. })
            if status.code().is_none() =>
        {
            Fault::killed(&error)
        }
        KernelError::Process(error) => {
            let line = first_error(&error);
            match (Fault::of_process(error), line) {
                (Fault::Flags(_), Some(line)) => {
                    Fault::Flags(format!("the kernel does not build: {line}"))
                }
                (fault, _) => fault,
            }
        }
        KernelError::Incomplete { what, .. } => Fault::Flags(format!("the kernel's build {what}")),
        error => Fault::Other(error.into()),
    }
}

/// Of what make said at last the first error, or the last line.
fn first_error(error: &ProcessError) -> Option<String> {
    let ProcessError::Failed { tail, .. } = error else { return None };
    let is_error = |line: &&String| line.contains("rror:") || line.contains("undefined");
    tail.lines.iter().find(is_error).or(tail.lines.last()).cloned()
}

/// Sorts a failure of a boot.
fn of_boot(error: BootError) -> Fault {
    match error {
        BootError::Panicked { lines, .. } => {
            let line = lines.first().map_or("", String::as_str);
            Fault::Flags(format!("the guest's kernel panicked: {line}"))
        }
        error @ (BootError::Hung { .. }
        | BootError::Rebooted { .. }
        | BootError::Workload { .. }
        | BootError::SaidTooMuch { .. }
        | BootError::Silent { .. }) => {
            let text = error.to_string();
            Fault::Flags(text.lines().next().unwrap_or_default().to_owned())
        }
        error => Fault::Other(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;
    use std::time::Duration;

    use trimtab_lab::failure::Failure;
    use trimtab_lab::process::Tail;

    use super::super::tuning::unusable;
    use super::*;

    #[test]
    fn calls_that_are_wrong_are_a_fault_of_the_flags() {
        let (name, line) = ("fork".to_owned(), "31".to_owned());
        let Fault::Flags(reason) = of_calls(CallsError::Wrong { name, line }) else {
            panic!("it is the kernel that is wrong")
        };
        assert_eq!(reason, "it is wrong: the self-check of fork failed in line 31");
        assert!(matches!(of_calls(CallsError::Silent), Fault::Flags(_)));
        let (name, found) = ("open".to_owned(), "0".to_owned());
        assert!(matches!(of_calls(CallsError::Unreadable { name, found }), Fault::Other(_)));
    }

    fn hint(error: &anyhow::Error) -> String {
        error
            .downcast_ref::<Failure>()
            .map_or_else(String::new, |failure| failure.hints().join(" "))
    }

    fn failed(status: i32, lines: &[&str]) -> KernelError {
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        ProcessError::Failed {
            purpose: "building the kernel".to_owned(),
            tool: "make".to_owned(),
            status: ExitStatus::from_raw(status),
            tail: Tail { lines, log: None },
        }
        .into()
    }

    #[test]
    fn a_build_that_is_killed_is_no_fault_of_the_flags() {
        let exit = 2 << 8;
        let killed = "gcc: fatal error: Killed signal terminated program cc1";
        for error in [failed(exit, &[killed, "make: *** Error 1"]), failed(9, &[])] {
            let Fault::Other(error) = of_build(error) else { panic!("it was killed") };
            assert!(hint(&error).contains("memory"), "{error}");
        }
        let fault = of_build(failed(exit, &["a.c:1: error: no", "make: *** Error 1"]));
        let Fault::Flags(reason) = fault else { panic!("{fault:?}") };
        assert_eq!(reason, "the kernel does not build: a.c:1: error: no");
    }

    #[test]
    fn of_a_limit_of_time_it_is_said_what_makes_it_longer() {
        let limit = Duration::from_secs(300);
        let (tail, purpose) = (Tail::default(), "building the kernel".to_owned());
        let slow = ProcessError::TimeLimit { purpose, tool: "make".to_owned(), limit, tail };
        let hung = BootError::Hung { limit, tail: Tail::default(), argument: "earlyprintk" };
        let flags = ["-O2".to_owned()];
        for fault in [of_build(slow.into()), of_boot(hung)] {
            let error = unusable(fault, &flags);
            assert!(hint(&error).contains("--limit"), "{error}");
        }
        let error = unusable(of_build(failed(2 << 8, &["a.c:1: error: no"])), &flags);
        assert_eq!(hint(&error), "");
    }
}
