//! What this capability reports.

pub mod plan;
pub mod prediction;
pub mod run;
pub mod sweep;
pub mod verify;

use trimtab_report::Kind;

/// The kinds of reports of this capability, for whoever draws one from its JSON.
pub const KINDS: &[Kind] = &[
    Kind::of::<plan::RentPlan>(),
    Kind::of::<run::RentRun>(),
    Kind::of::<sweep::RentSweep>(),
    Kind::of::<verify::RentVerify>(),
];

/// A kernel's release and what machine it is for, for people.
fn linux(release: &str, arch: &str) -> String {
    format!("Linux {release} {arch}").trim_end().to_owned()
}
