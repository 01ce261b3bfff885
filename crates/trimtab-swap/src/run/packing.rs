//! Placements by their names.

use trimtab_lab::failure::Failure;
use trimtab_layout::named;
use trimtab_layout::paged::{self, packings};

/// The placement of this name.
///
/// # Errors
/// That there is none, and which there are.
pub fn packing(name: &str, frames: usize) -> Result<Box<dyn paged::Packing>, Failure> {
    named(packings(frames), name).map_err(|unknown| {
        Failure::usage(format!(
            "there is no placement {name}, expected {}; see --help",
            unknown.known.join(", ")
        ))
    })
}
