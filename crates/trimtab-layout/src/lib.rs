//! Where code should go: pure algorithms that order pieces of code, and the cost models that judge
//! an order. No files, no linkers: sizes and runs in, an [`Order`] out.
//!
//! - [`Movable`] prepares a program and its profiles for it.
//! - [`Problem`] says what there is: the pieces in their present order, and what ran.
//! - An [`Algorithm`] turns it into an [`Order`], a permutation; all are listed in [`algorithms`].
//! - [`split`] says which blocks of a function make a piece of their own.
//! - [`Placement`] gives each piece its address in an order, as a linker would.
//! - [`pages`] counts the pages that a run then touches, and the least that it must; [`curve`]
//!   says when. [`cost`] holds the models that judge an order.
//! - [`paged`] packs pieces into pages that are loaded one by one.
//! - [`ext_tsp`] orders the blocks within a function, [`BlockFlow`] says how control moved in it.

mod algorithm;
mod balanced;
mod block_flow;
mod c3;
mod cdsort;
mod contraction;
pub mod cost;
pub mod curve;
mod excess;
mod ext_tsp;
mod fault_curve;
mod first_execution;
mod flow;
mod footprint;
mod gain;
mod in_place;
mod movable;
mod nearness;
mod order;
mod packed;
pub mod pages;
mod pettis_hansen;
mod placement;
mod problem;
mod project;
mod shuffled;
mod split;
mod temporal;

pub use algorithm::{Algorithm, Needs, algorithm_named, algorithms};
pub use balanced::BalancedPartitioning;
pub use block_flow::BlockFlow;
pub use c3::CallChain;
pub use cdsort::CacheDirected;
pub use excess::{Excess, ExcessOverBytes};
pub use ext_tsp::{BlockNode, ext_tsp, ext_tsp_score};
pub use fault_curve::FaultCurve;
pub use first_execution::FirstExecution;
pub use flow::{Edge, Flow};
pub use footprint::{Footprint, functions_run};
pub use in_place::InPlace;
pub use movable::Movable;
pub use nearness::{CriticalWorkingSet, Nearness};
pub use order::Order;
pub use packed::Packed;
pub use pettis_hansen::PettisHansen;
pub use placement::{Placement, paged};
pub use problem::{Piece, Problem, Span};
pub use project::Projection;
pub use shuffled::Shuffled;
pub use split::{Prices, Split, split, split_by_price};
pub use temporal::TemporalOrdering;
