//! The hardware that a guest gets, and what its time is.

use serde::{Deserialize, Serialize};

/// What runs the guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Accelerator {
    /// QEMU translates them. Works everywhere; plugins need it.
    #[default]
    Tcg,
    /// The processor does. Ask [`accelerator_that_works`](super::accelerator_that_works)
    /// first.
    Kvm,
}

/// What time is to a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// The time of the machine below. No two boots are quite the same.
    #[default]
    Real,
    /// What the guest has executed; waiting is skipped. Slower, and each boot is exactly like the one
    /// before. TCG only.
    Instructions {
        /// An instruction takes 2 to the power of this many nanoseconds; at most 10. Another speed
        /// lets interrupts come at other points.
        shift: u8,
    },
    /// What a guest's CPU has executed, each by a clock of its own, so that they run at the same time as far
    /// as the guest can see; with [`Clock::Instructions`] they take turns in one time. Each boot is exactly
    /// like the one before. Only in a [QEMU of ours](crate::qemu::parallel).
    Parallel {
        /// As that of [`Clock::Instructions`].
        shift: u8,
        /// By how many instructions a CPU may be ahead of the slowest that is not idle: 1 to
        /// [`Clock::MOST_QUANTUM`].
        quantum: u32,
    },
}

impl Clock {
    /// 2 ns an instruction.
    pub const INSTRUCTIONS: Clock = Clock::Instructions { shift: 1 };
    /// The largest quantum, which is QEMU's.
    pub const MOST_QUANTUM: u32 = 1_000_000_000;

    /// Whether QEMU takes its quantum, if it has one.
    pub(super) fn has_sound_quantum(self) -> bool {
        match self {
            Clock::Parallel { quantum, .. } => (1..=Self::MOST_QUANTUM).contains(&quantum),
            Clock::Real | Clock::Instructions { .. } => true,
        }
    }
}

/// The hardware that a guest gets, beside its disks and other devices. Its kind is that of the emulator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hardware {
    /// Memory in MiB; at least 64.
    pub memory_mib: u32,
    /// Number of CPUs; at least 1.
    pub cpus: u32,
    /// What runs it.
    pub accelerator: Accelerator,
    /// QEMU's name of the processor that it imitates, if that is not the architecture's usual one.
    pub processor: Option<&'static str>,
    /// What its time is.
    pub clock: Clock,
    /// Where its random numbers begin, if its time is what it executes.
    pub seed: u32,
}

impl Default for Hardware {
    /// 256 MiB, one CPU, TCG.
    fn default() -> Self {
        Hardware {
            memory_mib: 256,
            cpus: 1,
            accelerator: Accelerator::Tcg,
            processor: None,
            clock: Clock::Real,
            seed: 1,
        }
    }
}
