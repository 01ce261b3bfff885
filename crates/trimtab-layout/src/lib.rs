//! Where code should go: pure algorithms that order pieces of code, and the cost models that judge
//! an order. No files, no linkers: sizes and runs in, an [`Order`] out.
//!
//! - [`Movable`] prepares a program and its profiles for it.
//! - [`Problem`] says what there is: the pieces in their present order, and what ran.
//! - An [`Algorithm`] turns it into an [`Order`], a permutation; all are listed in [`algorithms`].
//! - [`split`] says which blocks of a function make a piece of their own.
//! - [`Placement`] gives each piece its address in an order, as a linker would.
//! - [`pages`] counts the pages that a run then touches, and the least that it must; [`curve`]
//!   says when.

mod algorithm;
pub mod curve;
mod excess;
mod first_execution;
mod footprint;
mod movable;
mod order;
mod packed;
pub mod pages;
mod placement;
mod problem;
mod project;
mod shuffled;
mod split;

pub use algorithm::{Algorithm, algorithm_named, algorithms};
pub use excess::{Excess, ExcessOverBytes};
pub use first_execution::FirstExecution;
pub use footprint::{Footprint, functions_run};
pub use movable::Movable;
pub use order::Order;
pub use packed::Packed;
pub use placement::Placement;
pub use problem::{Piece, Problem, Span};
pub use project::Projection;
pub use shuffled::Shuffled;
pub use split::{Split, split};
