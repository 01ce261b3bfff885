//! The verbs that build kernels with patches, and so need a source of a series that has them.

use trimtab_link::feature::common_series;
use trimtab_link::{Feature, LAYOUT};
use trimtab_program::any_of;
use trimtab_rent::feature::OF_GUESTS;
use trimtab_smp::feature::WITH_LOCKS;
use trimtab_swap::COLDSWAP;

/// A verb that builds kernels.
#[derive(Debug, Clone, Copy)]
pub struct KernelVerb {
    /// Its name.
    pub verb: &'static str,
    /// For what `./setup --for` installs what it needs.
    pub purpose: &'static str,
    /// What its kernels are given.
    pub features: &'static [&'static Feature],
}

/// All of them. `setup` has the folders of these features beside each purpose.
pub const ALL: &[KernelVerb] = &[
    KernelVerb { verb: "fit kernel", purpose: "demo", features: &[&LAYOUT] },
    KernelVerb { verb: "swap run", purpose: "swap", features: SWAP },
    KernelVerb { verb: "rent run", purpose: "rent", features: OF_GUESTS },
    KernelVerb { verb: "smp locks", purpose: "clock", features: WITH_LOCKS },
];

/// What kernels are given that swap.
pub const SWAP: &[&Feature] = &[&COLDSWAP];

/// The series of kernels that can be given these features, as help names them: "6.12 or 6.1".
pub fn series(features: &[&'static Feature]) -> String {
    any_of(common_series(features).unwrap_or_default())
}
