//! The ways in which a kernel with coarse locks runs.

use serde::{Deserialize, Serialize};

use crate::simulate::Locks;

/// Which locks tasks hold while they are in the kernel.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum LockMode {
    /// One for all of the kernel, which interrupts take, too.
    #[serde(rename = "giant-irq")]
    GiantIrq,
    /// One for all of the kernel.
    Giant,
    /// One for each subsystem.
    Coarse,
    /// None but the kernel's own.
    #[default]
    Fine,
}

impl LockMode {
    /// All of them, the coarsest first.
    pub const ALL: [LockMode; 4] = [Self::GiantIrq, Self::Giant, Self::Coarse, Self::Fine];

    /// Its name, which the kernel knows it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::GiantIrq => "giant-irq",
            Self::Giant => "giant",
            Self::Coarse => "coarse",
            Self::Fine => "fine",
        }
    }

    /// Whether the model has it: interrupts take no lock there.
    pub fn is_modelled(self) -> bool {
        self != Self::GiantIrq
    }

    /// What the model has for it, or what comes next to it.
    pub fn locks(self) -> Locks {
        match self {
            Self::GiantIrq | Self::Giant => Locks::GIANT,
            Self::Coarse => Locks::COARSE,
            Self::Fine => Locks::FINE,
        }
    }
}
