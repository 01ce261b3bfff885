//! What all ways to pack pieces into pages have in common.

use super::pages::Pages;
use super::problem::PageProblem;
use crate::named::HasName;

/// A way to pack pieces into pages.
pub trait Packing: HasName {
    /// Packs. Every piece that is not resident is in exactly one group, and no group is longer than
    /// a page unless its first piece alone is.
    fn pack(&self, problem: &PageProblem<'_>) -> Pages;
    /// Whether it packs differently for caches of other sizes.
    fn depends_on_frames(&self) -> bool {
        false
    }
}
