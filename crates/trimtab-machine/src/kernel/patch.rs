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

/// Cold code swapping: a patch over [`PATCHES`], and the files that it takes beside it.
#[derive(Debug, Clone, Copy)]
pub struct SwapPatch {
    /// The patch, over that of its series.
    pub patch: Patch,
    /// Files to add to a kernel source, by their path there, and whether they are programs.
    pub files: [(&'static str, &'static str, bool); 4],
}

/// The kernel that cold code swapping is for.
pub const SWAP: SwapPatch = SwapPatch {
    patch: Patch { series: "6.12", text: include_str!("../../../../linux/coldswap/6.12.patch") },
    files: [
        ("include/linux/coldswap.h", include_str!("../../../../linux/coldswap/coldswap.h"), false),
        ("mm/coldswap.c", include_str!("../../../../linux/coldswap/coldswap.c"), false),
        ("mm/coldswap_test.c", include_str!("../../../../linux/coldswap/coldswap_test.c"), false),
        ("scripts/coldswap-check", include_str!("../../../../linux/coldswap/coldswap-check"), true),
    ],
};
