//! The published result that ours stands beside.

/// What a publication reports of laying out a kernel for its boot.
pub struct PaperFigures {
    /// Who, what and when.
    pub source: &'static str,
    /// What it ran on.
    pub machine: &'static str,
    /// Pages that `.text` spans, before and after.
    pub pages_spanned: (u64, u64),
    /// Pages touched while booting, before and after.
    pub touched: (u64, u64),
    /// Fewest pages that the executed functions fit into.
    pub minimum: u64,
    /// Size of vmlinux in MB, before and after.
    pub vmlinux: (u64, u64),
    /// Size of the boot image in MB, before and after.
    pub image: (u64, u64),
    /// Change of the kernel's boot time, as they give it.
    pub boot_time: &'static str,
    /// Boots that the time is the mean of.
    pub boots: u32,
}

/// The boot-layout poster that trimtab starts from: table 1, figures 1 and 3.
pub const BOOST: PaperFigures = PaperFigures {
    source: "BOOST, “Reducing WebOS Boot Latency through Build and Boot-Time Optimization”, \
             Yonsei University, 2025",
    machine: "webOS on an ARM64 board",
    pages_spanned: (5375, 5359),
    touched: (964, 322),
    minimum: 301,
    vmlinux: (36, 34),
    image: (28, 24),
    boot_time: "−0.76 %",
    boots: 30,
};

impl PaperFigures {
    /// Pages touched after, as a multiple of the minimum.
    pub fn ratio(&self) -> f64 {
        self.touched.1 as f64 / self.minimum as f64
    }
}
