//! What becomes of the blocks within a function: their order, and which of them leave it.

mod ext_tsp;
mod flow;
mod split;

pub use ext_tsp::{BlockNode, ext_tsp, ext_tsp_score};
pub use flow::BlockFlow;
pub use split::{HotColdSplit, Prices, split, split_by_price};
