//! What is asked of a run with code swapped out.

use std::path::PathBuf;

use anyhow::Result;
use trimtab_lab::failure::Failure;

use crate::Granularity;

/// What reading a page of the flash of the paper takes, in microseconds.
const FLASH_US: u32 = 442;

/// A kernel to run with its cold code swapped out, and how.
#[derive(Debug, Clone)]
pub struct Request {
    /// Kernel source: a tarball, a Debian source package (`.dsc`), or a directory, which is copied; none for the newest supported one
    /// that is installed.
    pub source: Option<PathBuf>,
    /// Name of a configuration of the lab, or path of a file that holds one.
    pub config: String,
    /// A static busybox for the guest; none for the one that is found.
    pub busybox: Option<PathBuf>,
    /// The work directory.
    pub work: PathBuf,
    /// How finely code is taken apart.
    pub granularity: Granularity,
    /// Share of all executed instructions that stays in memory, above 0, at most 1.
    pub threshold: f64,
    /// Share of all code that may stay in memory with the cache, 0 to 1; 0: only what the threshold
    /// says.
    pub room: f64,
    /// Page frames of the cache, at least 4 for each CPU.
    pub frames: u32,
    /// Which page is evicted when another is needed.
    pub policy: Policy,
    /// Where swapped code is kept.
    pub store: Backing,
    /// Microseconds that reading a page of the store takes at least; none for what the store takes.
    pub latency: Option<u32>,
    /// CPUs of the guest, 1 to 4.
    pub cpus: u32,
    /// Workloads to run; all where none is named.
    pub workload: Vec<String>,
    /// Workloads that are run and that the plan knows nothing of.
    pub held_out: Vec<String>,
    /// Seconds of system time that each workload is run for; 0: once.
    pub seconds: f64,
    /// Milliseconds after which the self-test swaps everything out; 0: no self-test.
    pub selftest: u32,
    /// Page faults that the kernel has to handle in repeated self-tests, with each policy and store in turn;
    /// 0: none.
    pub soak: u64,
    /// Whether the kernel checks its own locks, contexts and lists, and has the driver's tests.
    pub debug: bool,
    /// Whether page faults are counted for other plans, too.
    pub sweep: bool,
    /// The least share of each trace that has to be found in the kernel, 0 to 1.
    pub min_coverage: f64,
}

/// Which page goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Round robin.
    RoundRobin,
    /// Any.
    Random,
    /// One that was not used recently.
    NotRecentlyUsed,
}

impl Policy {
    /// All of them.
    pub const ALL: [Policy; 3] = [Policy::NotRecentlyUsed, Policy::Random, Policy::RoundRobin];

    /// As the kernel calls it.
    pub fn name(self) -> &'static str {
        match self {
            Policy::RoundRobin => "rr",
            Policy::Random => "random",
            Policy::NotRecentlyUsed => "nru",
        }
    }
}

/// Where swapped code is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backing {
    /// Memory-mapped flash: takes no memory, and its time.
    Flash,
    /// In memory, compressed.
    Lz4,
}

impl Backing {
    /// As the kernel calls it.
    pub fn name(self) -> &'static str {
        match self {
            Backing::Flash => "flash",
            Backing::Lz4 => "lz4",
        }
    }

    /// Whether it takes memory.
    pub fn is_memory(self) -> bool {
        self == Backing::Lz4
    }
}

impl Request {
    /// Fails at once where what was asked for cannot be.
    ///
    /// # Errors
    /// A threshold of 0, too few frames for the CPUs, and self-tests that are repeated and turned off.
    pub(super) fn check(&self) -> Result<()> {
        if self.threshold <= 0.0 {
            return Err(Failure::usage(
                "a threshold of 0 keeps nothing in memory for speed, expected more, and at most 1; \
                 see --help",
            )
            .into());
        }
        if self.soak > 0 && self.selftest == 0 {
            return Err(Failure::usage(
                "--soak repeats the self-test, which --selftest 0 turns off; see --help",
            )
            .into());
        }
        let least = 4 * self.cpus;
        if self.frames < least {
            return Err(Failure::usage(format!(
                "{} frames are too few for {} CPUs, expected at least {least}: each may need four \
                 pages at once for a single instruction; see --help",
                self.frames, self.cpus
            ))
            .into());
        }
        Ok(())
    }

    /// Microseconds that reading a page takes at least.
    pub fn latency(&self) -> u32 {
        self.latency.unwrap_or(match self.store {
            Backing::Flash => FLASH_US,
            Backing::Lz4 => 0,
        })
    }
}
