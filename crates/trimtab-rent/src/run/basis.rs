//! What each experiment in guests is told, whatever it does there.

use std::collections::BTreeMap;
use std::path::PathBuf;

use trimtab_machine::Isa;
use trimtab_report::common::Repeat;

use super::guest::Guest;

/// Where to work, and what to work with.
#[derive(Debug, Clone)]
pub struct Basis {
    /// Where to work, and where what was built is kept.
    pub work: PathBuf,
    /// The kernel's source; the newest package that is installed otherwise.
    pub kernel_source: Option<PathBuf>,
    /// The kernel's configuration: `tiny`, `lab`, or a file.
    pub config: String,
    /// The guests' instruction set.
    pub isa: Isa,
    /// A patch that gives the same source guaranteed contiguous allocation (GCMA): kernels that have it instead are
    /// compared.
    pub gcma: Option<PathBuf>,
    /// The first of the random numbers.
    pub seed: u32,
    /// The command that repeats this, for the report.
    pub command: String,
}

impl Basis {
    /// The usual configuration, machine and seed.
    pub fn new(work: PathBuf) -> Self {
        Self {
            work,
            kernel_source: None,
            config: "tiny".to_owned(),
            isa: Isa::X86_64,
            gcma: None,
            seed: 1,
            command: String::new(),
        }
    }

    /// What it takes to get a report again, of which these are the inputs' hashes, by their names.
    pub(super) fn repeat(&self, guest: &Guest<'_>, inputs: BTreeMap<String, String>) -> Repeat {
        Repeat {
            command: self.command.clone(),
            tool_versions: guest.versions().clone(),
            inputs,
            seed: u64::from(self.seed),
        }
    }
}
