//! What `trimtab smp cost` found: `trimtab.smp.cost/1`.

mod sections;

use serde::{Deserialize, Serialize};
use trimtab_report::Schema;
use trimtab_report::common::{Check, Repeat};
use trimtab_stats::geometric_mean;

/// What a kernel pays for knowing several CPUs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SmpCost {
    /// Its schema.
    pub schema: Schema<SmpCost>,
    /// The kernel.
    pub kernel: KernelFacts,
    /// Bytes of code: of all functions, without padding.
    pub text: ByKernel<u64>,
    /// Bytes of the sections of code, which a linker script may pad to large pages.
    pub text_sections: ByKernel<u64>,
    /// Bytes of data that is never written.
    pub read_only: ByKernel<u64>,
    /// Bytes of data with a value at first, without what each CPU has.
    pub data: ByKernel<u64>,
    /// Bytes of variables that are zero at first, without what pads their sections.
    pub bss: ByKernel<u64>,
    /// Bytes of the data that each CPU has a copy of; without SMP they are part of the other data.
    pub per_cpu: ByKernel<u64>,
    /// Bytes of the bootable image, compressed as the configuration says.
    pub image: ByKernel<u64>,
    /// All sections that are loaded, by name; 0 where one of both does not have it.
    pub sections: Vec<SectionSize>,
    /// KiB of memory that the kernel leaves to the machine (`MemTotal`).
    pub memory: ByBoot<u64>,
    /// Instructions of a boot, from the reset to the end that a guest's init makes of it when it is up.
    pub boot: ByBoot<u64>,
    /// Which of them ran where.
    pub boot_parts: BootParts,
    /// Instructions of each system call, by name.
    pub calls: Vec<CallCost>,
    /// Instructions of what calls are made of: a context switch, a wake-up, a page fault, a lock.
    pub primitives: Vec<CallCost>,
    /// Instructions of taking and giving back a lock that nobody else wants, by its kind.
    #[serde(default)]
    pub locks: Vec<CallCost>,
    /// Calls that this kernel does not have.
    pub missing: Vec<String>,
    /// How often each call was made in a boot; the median counts.
    pub rounds: u64,
    /// Functions, by their names without what compilers put behind them.
    pub functions: Functions,
    /// Lines of the configuration that only one of both has.
    pub options: ByKernel<Vec<String>>,
    /// What must hold.
    pub checks: Vec<Check>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What it takes to get it again.
    pub repeat: Repeat,
}

/// A kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFacts {
    /// Its version.
    pub version: String,
    /// The source as it was given.
    pub origin: String,
    /// The configuration: a name or a file.
    pub configuration: String,
    /// The compiler with its version.
    pub compiler: String,
}

/// The same of both kernels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByKernel<T> {
    /// Built without SMP.
    pub up: T,
    /// Built with SMP.
    pub smp: T,
}

impl<T> ByKernel<T> {
    /// Of both kernels the same thing.
    pub fn map<U>(&self, of: impl Fn(&T) -> U) -> ByKernel<U> {
        ByKernel { up: of(&self.up), smp: of(&self.smp) }
    }
}

/// The same of three boots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByBoot<T> {
    /// Of the kernel without SMP, which knows one CPU.
    pub up: T,
    /// Of the kernel with SMP on two CPUs: what both execute.
    pub smp: T,
    /// Of the kernel with SMP on one CPU, for which it patches its locks.
    pub smp_one: T,
}

impl<T> ByBoot<T> {
    /// Of all three boots the same thing.
    pub fn map<U>(&self, of: impl Fn(&T) -> U) -> ByBoot<U> {
        ByBoot { up: of(&self.up), smp: of(&self.smp), smp_one: of(&self.smp_one) }
    }
}

/// A section.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionSize {
    /// Its name.
    pub name: String,
    /// Its bytes.
    #[serde(flatten)]
    pub bytes: ByKernel<u64>,
}

/// Instructions of a boot by where they ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootParts {
    /// Firmware and decompressor, and the kernel before it runs at its own addresses.
    pub early: ByBoot<u64>,
    /// The kernel.
    pub kernel: ByBoot<u64>,
    /// The guest's init.
    pub user: ByBoot<u64>,
}

/// A call, or something that calls are made of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCost {
    /// Its name.
    pub name: String,
    /// Its instructions.
    #[serde(flatten)]
    pub cost: ByBoot<u64>,
}

/// Functions of both kernels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Functions {
    /// As many are as long with SMP as without.
    pub same: u64,
    /// Those that are longer with SMP.
    pub grown: Change,
    /// Those that are shorter.
    pub shrunk: Change,
    /// Those that only a kernel with SMP has.
    pub new: Change,
    /// Those that only a kernel without SMP has: inlined, or empty with SMP, too.
    pub gone: Change,
    /// Those that changed, the largest changes first; at most [`Functions::MOST`] of them.
    pub changed: Vec<FunctionSize>,
}

impl Functions {
    /// Functions that are named.
    pub const MOST: usize = 1000;
}

/// What some functions are together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// How many.
    pub functions: u64,
    /// Bytes with SMP less bytes without.
    pub bytes: i64,
}

/// A function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionSize {
    /// Its name without what compilers put behind it. Its parts and namesakes in other files count together.
    pub name: String,
    /// Its bytes; 0 where a kernel does not have it.
    #[serde(flatten)]
    pub bytes: ByKernel<u64>,
}

impl FunctionSize {
    /// Bytes with SMP less bytes without.
    pub fn change(&self) -> i64 {
        self.bytes.smp as i64 - self.bytes.up as i64
    }
}

impl SmpCost {
    /// What a system call costs in times of that without SMP, the geometric mean of all: on one CPU, and on
    /// two. None where there are no calls.
    pub fn calls_ratio(&self) -> Option<(f64, f64)> {
        let of = |cost: fn(&ByBoot<u64>) -> u64| {
            let ratios: Vec<f64> = self
                .calls
                .iter()
                .map(|call| cost(&call.cost) as f64 / call.cost.up as f64)
                .collect();
            geometric_mean(&ratios)
        };
        Some((of(|cost| cost.smp_one)?, of(|cost| cost.smp)?))
    }
}
