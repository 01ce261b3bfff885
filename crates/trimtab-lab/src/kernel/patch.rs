/// Our patch for one kernel series.
#[derive(Debug, Clone, Copy)]
pub struct Patch {
    /// The series, `6.12`.
    pub series: &'static str,
    /// The patch, for `patch -p1`.
    pub text: &'static str,
}

/// The patches that let a kernel link its functions in a given order, newest series first.
pub const PATCHES: [Patch; 2] = [
    Patch { series: "6.12", text: include_str!("../../../../linux/layout/6.12.patch") },
    Patch { series: "6.1", text: include_str!("../../../../linux/layout/6.1.patch") },
];

impl Patch {
    /// The patch for a series, where there is one.
    pub fn for_series(series: &str) -> Option<Patch> {
        PATCHES.into_iter().find(|patch| patch.series == series)
    }
}
