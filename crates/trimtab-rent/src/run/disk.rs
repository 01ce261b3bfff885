//! Disks of the guest, which are memory whose requests timers complete.

use std::time::Duration;

/// A disk: how long it takes for a request, and for how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskProfile {
    /// Its name.
    pub name: &'static str,
    /// From when a request begins until it is done.
    pub latency: Duration,
    /// What it reads or writes in a second, in MiB, however large requests are.
    pub mib_per_second: Option<u32>,
}

impl DiskProfile {
    /// All of them, the slowest first: a memory card as the paper's, eMMC, UFS.
    pub const ALL: [DiskProfile; 3] = [
        DiskProfile::new("t-flash", 1_500, 10),
        DiskProfile::new("emmc", 300, 80),
        DiskProfile::UFS,
    ];

    /// The fastest.
    pub const UFS: DiskProfile = DiskProfile::new("ufs", 100, 300);

    const fn new(name: &'static str, latency_us: u64, mib_per_second: u32) -> Self {
        let latency = Duration::from_micros(latency_us);
        Self { name, latency, mib_per_second: Some(mib_per_second) }
    }

    /// By its name.
    pub fn named(name: &str) -> Option<DiskProfile> {
        Self::ALL.into_iter().find(|profile| profile.name == name)
    }
}
