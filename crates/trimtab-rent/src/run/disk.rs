//! Disks of the guest, which are memory whose requests a timer completes.

use std::time::Duration;

/// A disk: how long it takes for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskProfile {
    /// Its name.
    pub name: &'static str,
    /// From when a request begins until it is done.
    pub latency: Duration,
}

impl DiskProfile {
    /// All of them, the slowest first: a memory card as the paper's, eMMC, UFS.
    pub const ALL: [DiskProfile; 3] = [
        DiskProfile { name: "t-flash", latency: Duration::from_micros(1_500) },
        DiskProfile { name: "emmc", latency: Duration::from_micros(300) },
        DiskProfile { name: "ufs", latency: Duration::from_micros(100) },
    ];

    /// By its name.
    pub fn named(name: &str) -> Option<DiskProfile> {
        Self::ALL.into_iter().find(|profile| profile.name == name)
    }
}
