//! The oracle: a program of ours that does random operations on files, and compares each byte.

use super::guest::Ran;
use crate::report::run::Verify;

/// What it is asked to do.
#[derive(Debug, Clone, Copy)]
pub struct Oracle<'a> {
    /// Operations of each process.
    pub operations: u32,
    /// The first of its random numbers.
    pub seed: u32,
    /// Memory that it leaves when it takes what there is, in MiB.
    pub keep_mib: u32,
    /// More options.
    pub options: &'a str,
}

impl Oracle<'_> {
    /// Its command, which succeeds whatever it finds: that is in what it says. Its files are small enough to be evicted
    /// often, and too many for memory.
    pub fn command(self) -> String {
        let Self { operations, seed, keep_mib, options } = self;
        format!(
            "/bin/verify --directory /disk --operations {operations} --seed {seed} --files 40 --file-kib 512 \
             --pressure-mib 60 --keep-mib {keep_mib} --pressure-every 1500 --drop-caches {options} || true"
        )
    }
}

/// What it found, as far as it came.
pub(super) fn found(ran: &Ran) -> Verify {
    let said = |name| ran.number_or_zero("verify", name);
    let counted = |name| ran.number_or_zero("counters", name);
    Verify {
        operations: said("operations"),
        errors: said("errors"),
        open_failures: said("open-failures"),
        bytes: said("bytes"),
        hits: counted("hits"),
        stores: counted("stored"),
        returns: counted("returns"),
    }
}
