//! Boots of kernels that can swap, whose results are kept.

use std::fs;
use std::path::Path;

use crate::{KernelTime, kernel_time};
use anyhow::{Context, Result};
use trimtab_machine::boot::{
    Boot, BootRequest, Clock, Digest, Hardware, KeptBoot, KeptRequest, Tracers, limits,
};
use trimtab_machine::kernel::KernelImage;
use trimtab_machine::testbed::Testbed;

use super::guest;
use crate::run::{Backing, Policy, Request};
use trimtab_inputs::{Elf, Recording};

/// The function with which init begins: what runs from there on is the workload's.
const INIT: &str = "kernel_execve";

/// What the guest calls what its kernel counted.
const TOPIC: &str = "coldswap";
/// What the kernel needs of any machine. Time stamps are nanoseconds where instructions are the
/// clock; there no timer could be trusted to calibrate them.
const ARGUMENTS: &str = "nopti noreplace-smp no-kvmapf nmi_watchdog=0";
const TIME: &str = "tsc=reliable tsc_early_khz=1000000";
/// Memory that stands for flash, in the middle of the guest's: in the upper part lies its root.
const FLASH: &str = "0xc000000";
const FLASH_SIZE: &str = "16M";
/// Pages that each CPU reads at random in each interval of the self-test.
const TOUCH: u32 = 16;
/// MiB of the guest's memory: its programs are large.
const MEMORY: u32 = 1024;

/// What a boot needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Boots<'a> {
    pub bench: &'a Testbed<'a>,
    pub request: &'a Request,
}

/// Which kernel boots.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side<'a> {
    /// The one without a plan.
    Before,
    /// The one linked by the plan of this id.
    After(&'a str),
}

/// What is kept of a boot that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// What was counted.
    Counts,
    /// Also every block that ran: a plan is made of it.
    Stream,
    /// Only what the guest says: nothing is counted.
    Words,
}

/// A boot, with what ran from the start of init on, where it was counted.
pub(super) type SwapBoot = KeptBoot<Option<KernelTime>>;

/// What the guest calls `name` among what its kernel counted, if it said it.
pub(super) fn said<'a>(done: &'a SwapBoot, name: &str) -> Option<&'a str> {
    done.record.said.get(TOPIC)?.get(name).map(String::as_str)
}

/// A counter of the kernel's.
///
/// # Errors
/// That the guest did not say it.
pub(super) fn counter(done: &SwapBoot, name: &str) -> Result<u64> {
    let value = said(done, name).with_context(|| {
        format!(
            "the guest did not say how many `{name}` its kernel counted; expected a line \
             `trimtab: {TOPIC} {name} NUMBER` on its console"
        )
    })?;
    value.parse().with_context(|| format!("the guest's `{name}` is {value}, no number"))
}

/// Counts what the kernel ran.
#[derive(Debug)]
struct Counting<'a> {
    vmlinux: &'a Path,
    keep: Keep,
}

impl Digest for Counting<'_> {
    type Digest = Option<KernelTime>;

    fn name(&self) -> &str {
        match self.keep {
            Keep::Counts => "counts/7",
            Keep::Stream => "stream/7",
            Keep::Words => "words/7",
        }
    }

    fn digest(&self, boot: &Boot) -> Result<Option<KernelTime>> {
        if self.keep == Keep::Words {
            return Ok(None);
        }
        let stream = boot.stream.as_ref().context("the boot has no stream of what ran")?;
        let elf = Elf::open(self.vmlinux)?;
        let recording = Recording::open(stream)?;
        let found = recording
            .stream()?
            .with_context(|| format!("{} is no stream of what ran", stream.display()))?;
        let counted = kernel_time(&elf.program()?, &found, INIT)?;
        if self.keep == Keep::Counts {
            // It is large.
            fs::remove_file(stream)
                .with_context(|| format!("cannot remove {}", stream.display()))?;
        }
        Ok(Some(counted))
    }
}

impl Boots<'_> {
    /// Boots with instructions for a clock, runs a workload so often, and counts the instructions of
    /// the kernel.
    pub fn counted(
        &self,
        kernel: &KernelImage,
        workload: &str,
        rounds: u32,
        side: Side<'_>,
        keep: Keep,
    ) -> Result<SwapBoot> {
        let mut arguments = vec![ARGUMENTS.to_owned(), TIME.to_owned(), self.flash()];
        arguments.push(guest::rounds(rounds));
        arguments.extend(self.planned(side));
        let workload = guest::counted(workload);
        self.boot(kernel, &workload, Clock::INSTRUCTIONS, &arguments, side, keep)
    }

    /// Boots with instructions for a clock, and runs all workloads beside a thread that wants to be
    /// woken in time.
    pub fn latency(&self, kernel: &KernelImage, side: Side<'_>) -> Result<SwapBoot> {
        let mut arguments = vec![ARGUMENTS.to_owned(), TIME.to_owned(), self.flash()];
        arguments.extend(self.planned(side));
        let keep = Keep::Words;
        self.boot(kernel, &guest::latency(), Clock::INSTRUCTIONS, &arguments, side, keep)
    }

    /// Boots in real time, runs all workloads, and has everything swapped out again and again.
    pub fn selftest(&self, kernel: &KernelImage, plan: &str) -> Result<SwapBoot> {
        self.repeated_selftest(kernel, plan, (self.request.policy, self.request.store), 0)
    }

    /// The same with another policy and store. `repetition` tells the same boot done again from the first.
    pub fn repeated_selftest(
        &self,
        kernel: &KernelImage,
        plan: &str,
        (policy, store): (Policy, Backing),
        repetition: u32,
    ) -> Result<SwapBoot> {
        let mut arguments = vec![ARGUMENTS.to_owned(), flash(store)];
        arguments.extend(self.swapping(plan, policy, store));
        arguments.push(format!("coldswap.selftest={}", self.request.selftest));
        arguments.push(format!("coldswap.touch={TOUCH}"));
        let request = self.of(kernel, &guest::all(), Clock::Real, &arguments, Keep::Words);
        self.get(kernel, request, repetition, Keep::Words)
            .context("the kernel with code swapped out did not come through its self-test")
    }

    fn flash(&self) -> String {
        flash(self.request.store)
    }

    /// What tells a kernel to swap as fast as the store is.
    fn planned(&self, side: Side<'_>) -> Vec<String> {
        let Side::After(plan) = side else { return Vec::new() };
        let mut arguments = self.swapping(plan, self.request.policy, self.request.store);
        arguments.push(format!("coldswap.latency_us={}", self.request.latency()));
        arguments
    }

    fn swapping(&self, plan: &str, policy: Policy, store: Backing) -> Vec<String> {
        let store = match store {
            Backing::Flash => format!("flash@{FLASH}"),
            Backing::Lz4 => "lz4".to_owned(),
        };
        vec![
            format!("coldswap.frames={}", self.request.frames),
            format!("coldswap.policy={}", policy.name()),
            format!("coldswap.store={store}"),
            format!("coldswap.plan={plan}"),
        ]
    }

    fn boot(
        &self,
        kernel: &KernelImage,
        workload: &str,
        clock: Clock,
        arguments: &[String],
        side: Side<'_>,
        keep: Keep,
    ) -> Result<SwapBoot> {
        let request = self.of(kernel, workload, clock, arguments, keep);
        self.get(kernel, request, 0, keep).with_context(|| match side {
            Side::Before => format!("the kernel with all code in memory did not run {workload}"),
            Side::After(_) => format!("the kernel with code swapped out did not run {workload}"),
        })
    }

    /// What is asked for.
    fn of(
        &self,
        kernel: &KernelImage,
        workload: &str,
        clock: Clock,
        arguments: &[String],
        keep: Keep,
    ) -> BootRequest {
        let traced = keep != Keep::Words;
        let mut request = self.bench.request(kernel, Path::new(""));
        request.hardware =
            Hardware { cpus: self.request.cpus, memory_mib: MEMORY, clock, ..Hardware::default() };
        request.workload = Some(workload.to_owned());
        request.arguments =
            arguments.iter().filter(|argument| !argument.is_empty()).cloned().collect();
        request.limit = limits::EVERY_BLOCK;
        request.tracers = Tracers {
            plugin: traced.then(|| self.bench.plugin().to_owned()),
            stream: traced,
            ..Tracers::default()
        };
        request
    }

    fn get(
        &self,
        kernel: &KernelImage,
        request: BootRequest,
        repetition: u32,
        keep: Keep,
    ) -> Result<SwapBoot> {
        let digest = Counting { vmlinux: &kernel.vmlinux, keep };
        KeptRequest { testbed: self.bench, kernel, request, repetition, digest }.get()
    }
}

/// The argument that reserves memory that stands for flash.
fn flash(store: Backing) -> String {
    match store {
        Backing::Flash => format!("memmap={FLASH_SIZE}${FLASH}"),
        Backing::Lz4 => String::new(),
    }
}
