//! Which kernel a guest has.

use std::path::Path;

use trimtab_machine::kernel::Feature;

use crate::feature::{OF_GCMA_GUESTS, OF_GUESTS};

/// Which kernel a guest has.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kernel<'a> {
    /// Ours, with more features.
    Rental(&'a [&'static Feature]),
    /// One with this patch of the user's in place of rental memory, which gives it guaranteed contiguous allocation.
    Gcma(&'a Path),
}

impl Kernel<'_> {
    /// All that it is given.
    pub(super) fn features(self) -> Vec<&'static Feature> {
        match self {
            Kernel::Rental(added) => [OF_GUESTS, added].concat(),
            Kernel::Gcma(_) => OF_GCMA_GUESTS.to_vec(),
        }
    }

    /// The user's patch, if it has one.
    pub(super) fn patch(&self) -> Option<&Path> {
        match self {
            Kernel::Rental(_) => None,
            Kernel::Gcma(patch) => Some(patch),
        }
    }
}
