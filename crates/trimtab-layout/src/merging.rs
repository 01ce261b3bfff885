//! Merging clusters two at a time, the pair that gains most first: what most algorithms have in common.

mod contraction;
mod queue;

pub(crate) use contraction::Contraction;
pub(crate) use queue::MergeQueue;
