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
mod blocks;
pub mod cost;
mod flow;
mod ids;
mod measure;
mod merging;
mod movable;
mod named;
mod order;
pub mod paged;
mod placement;
mod problem;
mod projection;

pub use algorithm::{
    Algorithm, BalancedPartitioning, CacheDirectedSort, CallChain, CriticalWorkingSet,
    DEFAULT_OF_KERNELS, DEFAULT_OF_PROGRAMS, FaultCurve, FirstExecution, InPlace, Nearness, Needs,
    PackedOrder, PettisHansen, Shuffle, TemporalOrdering, algorithms, algorithms_and_shuffled,
};
pub use blocks::{
    BlockFlow, BlockNode, HotColdSplit, Prices, ext_tsp, ext_tsp_score, split, split_by_price,
};
pub use flow::{Edge, Flow};
pub use ids::{BlockIndex, PageIndex, PieceId};
pub use measure::{Excess, ExcessOverBytes, Footprint, curve, functions_run, pages};
pub use movable::Movable;
pub use named::{HasName, UnknownName, named};
pub use order::Order;
pub use placement::Placement;
pub use problem::{Piece, Problem, Span};
pub use projection::Projection;
