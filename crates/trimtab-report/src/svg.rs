//! How figures are drawn.
//!
//! Only shapes are SVG. Words beside them are HTML, because text inside a picture that scales with
//! the window is too small to read on a telephone.

pub mod boxes;
pub mod curve;
pub mod page_map;
pub mod steps;
