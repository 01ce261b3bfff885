//! What is measured of a kernel in guests: a boot that does nothing, and what calls cost.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;
use trimtab_machine::boot::{BootError, BootRequest, Clock, Instructions, KeptRequest, Tracers};
use trimtab_machine::calls::{self, CallsError, Costs, Said};
use trimtab_machine::kernel::KernelImage;
use trimtab_machine::testbed::Testbed;

/// The workload that measures.
pub(super) const WORKLOAD: &str = "costs";
/// What it says of the machine.
const MACHINE: &str = "machine";

/// The workload's script.
pub(super) fn script() -> String {
    let (rounds, suite, primitives) = (calls::ROUNDS, calls::PROGRAM, calls::PRIMITIVES_PROGRAM);
    format!(
        "/{suite} {rounds} || exit 1\n\
         /{primitives} {rounds} || exit 1\n\
         echo \"trimtab: {MACHINE} cpus $(/bin/busybox grep -c ^processor /proc/cpuinfo)\"\n\
         while read name value rest; do\n\
         \tif [ \"$name\" = MemTotal: ]; then echo \"trimtab: {MACHINE} memory-kib $value\"; fi\n\
         done </proc/meminfo\n"
    )
}

/// What one who configures kernels can do about a guest that says nothing.
const SILENT: &str = "if it only needs longer, give `--limit SECONDS`; if its log is empty, the configuration lacks a \
                      serial console (CONFIG_SERIAL_8250_CONSOLE)";

/// Says which boot failed.
pub(super) fn of_boot(error: anyhow::Error, what: &str) -> anyhow::Error {
    let hangs = matches!(error.downcast_ref(), Some(BootError::Hung { .. }));
    let what = format!("{what} did not come to its end in the guest");
    match hangs {
        true => Failure::new(format!("{what}: {error}")).hint(SILENT).into(),
        false => error.context(what),
    }
}

/// What a kernel on a machine does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Measured {
    /// Instructions of a boot without a workload.
    pub(super) boot: Instructions,
    /// Instructions of each system call.
    pub(super) calls: Costs,
    /// Instructions of what calls are made of.
    pub(super) primitives: Costs,
    /// KiB of memory that the kernel manages.
    pub(super) memory_kib: u64,
    /// What is not the same in another boot.
    pub(super) differs: Option<String>,
}

impl Measured {
    /// Boots a kernel on so many CPUs, twice for costs, or finds it done.
    ///
    /// # Errors
    /// A guest that does not come up, knows other CPUs, or in which a call does something wrong.
    pub(super) fn get(
        testbed: &Testbed<'_>,
        kernel: &KernelImage,
        (what, cpus): (&str, u32),
        limit: Duration,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let stage = observe.stage(&format!("boot {what}"));
        stage.parts(3);
        let request = |workload: Option<&str>, tracers| {
            // The folder is that of the step.
            let mut request = testbed.request(kernel, std::path::Path::new("boot"));
            request.hardware.cpus = cpus;
            // One nanosecond an instruction: what the guest reads of its counter is instructions.
            request.hardware.clock = Clock::Instructions { shift: 0 };
            request.workload = workload.map(str::to_owned);
            request.tracers = tracers;
            request.limit = limit;
            request
        };
        let kept = |request: BootRequest, repetition| {
            let kept = KeptRequest { testbed, kernel, request, repetition, digest: () };
            kept.get().map_err(|error| of_boot(error, what))
        };
        let plugin = Some(testbed.plugin().to_owned());
        let booted = kept(request(None, Tracers { plugin, ..Tracers::default() }), 0)?;
        stage.at(1);
        let first = kept(request(Some(WORKLOAD), Tracers::default()), 0)?;
        stage.at(2);
        let second = kept(request(Some(WORKLOAD), Tracers::default()), 1)?;
        let measured = Self::of(
            booted.record.instructions.unwrap_or_default(),
            &first.record.said,
            &second.record.said,
            cpus,
        );
        let measured = measured.with_context(|| format!("{what} cannot be measured"))?;
        let cached = booted.cached && first.cached && second.cached;
        stage.ended(cached, &format!("{} calls", measured.calls.len()));
        Ok(measured)
    }

    /// Of what guests said in two boots on so many CPUs.
    pub(super) fn of(boot: Instructions, first: &Said, second: &Said, cpus: u32) -> Result<Self> {
        let machine = |name: &str| -> Result<u64> {
            let value = first.get(MACHINE).and_then(|said| said.get(name));
            let number = value.and_then(|value| value.parse().ok());
            number.with_context(|| format!("the guest does not say its {name}: {value:?}"))
        };
        let found = machine("cpus")?;
        if found != u64::from(cpus) {
            bail!("it knows {found} CPUs of a machine that has {cpus}");
        }
        let expected: BTreeSet<String> = calls::PRIMITIVES.map(str::to_owned).into();
        let all = calls::costs(first, Some(&expected))?;
        let again = calls::costs(second, Some(&expected))?;
        let differs = calls::difference(&all, &again);
        let (primitives, calls): (Costs, Costs) =
            all.into_iter().partition(|(name, _)| expected.contains(name));
        if calls.is_empty() {
            return Err(CallsError::Silent.into());
        }
        Ok(Self { boot, calls, primitives, memory_kib: machine("memory-kib")?, differs })
    }
}

#[cfg(test)]
mod tests {
    use trimtab_lab::process::Tail;

    use super::*;

    #[test]
    fn of_a_guest_that_hangs_it_is_said_which_and_what_to_do() {
        let limit = Duration::from_secs(300);
        let hung = BootError::Hung { limit, tail: Tail::default(), argument: "earlyprintk" };
        let error = of_boot(hung.into(), "the kernel without SMP");
        let failure = error.downcast_ref::<Failure>().unwrap();
        assert!(failure.hints()[0].contains("--limit"), "{failure}");
        assert!(error.to_string().starts_with("the kernel without SMP did not come to its end"));
        let missing = BootError::Missing { what: "kernel image", path: "x".into() };
        let error = of_boot(missing.into(), "the kernel with SMP on one CPU");
        assert!(error.downcast_ref::<Failure>().is_none() && error.chain().count() == 2);
    }
}
