//! Placements by their names.

use trimtab_lab::failure::Failure;
use trimtab_layout::paged::{self, packings};

/// The placement of this name.
///
/// # Errors
/// That there is none, and which there are.
pub fn packing(name: &str, frames: usize) -> Result<Box<dyn paged::Packing>, Failure> {
    let all = packings(frames);
    let names: Vec<&str> = all.iter().map(|packing| packing.name()).collect();
    let failure = Failure::usage(format!(
        "there is no placement {name}, expected {}; see --help",
        names.join(", ")
    ));
    all.into_iter().find(|packing| packing.name() == name).ok_or(failure)
}
