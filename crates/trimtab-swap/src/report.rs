//! The reports of swapping: a file each, with the model and with the sections that show it.

mod run;
mod sweep;

use trimtab_report::Kind;

pub use run::{
    SwapArtifacts, SwapCode, SwapCore, SwapHandler, SwapRun, SwapSelftest, SwapWorkload,
};
pub use sweep::{Latency, SwapSweep, SweptPlacement, SweptPolicy, SweptThreshold, SweptTrace};

/// The kinds of reports of this capability, for whoever draws one from its JSON.
pub const KINDS: &[Kind] = &[Kind::of::<SwapRun>(), Kind::of::<SwapSweep>()];
