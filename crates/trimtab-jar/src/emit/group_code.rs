//! What is known of the functions of one method while it is made.

use crate::classfile::{Kind, Label};
use crate::function::Function;
use crate::vars::COUNT;
use std::collections::BTreeSet;

/// A function of the method that is made.
pub(super) struct MemberCode<'a> {
    pub(super) function: &'a Function,
    /// The members to which its calls are jumps.
    pub(super) jumps_to: BTreeSet<usize>,
    pub(super) is_entered: bool,
    pub(super) slots: [u16; COUNT],
    pub(super) labels: Vec<Label>,
    /// Where it goes when its results are in its variables.
    pub(super) exit: Label,
    /// The slot of the number of the place to return to; 0 is outside.
    pub(super) back: u16,
    /// These places, from number 1 on; and how many of them calls have been made for.
    pub(super) places: Vec<Label>,
    pub(super) made: usize,
}

/// The functions of the method that is made.
pub(super) struct GroupCode<'a> {
    pub(super) all: Vec<MemberCode<'a>>,
    /// The one that is made.
    pub(super) at: usize,
    pub(super) returns: Option<Kind>,
}
