//! What indexes what: an id is the place of a thing in the one list that it belongs to.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u32);

        impl $name {
            /// The id of what is at `index`; lists are never longer than `u32` counts.
            pub const fn at(index: usize) -> Self {
                $name(index as u32)
            }

            /// The index as a `usize`.
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The ids of a list of this length, ascending.
            pub fn all(length: usize) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
                (0..length as u32).map($name)
            }
        }

        impl From<u32> for $name {
            fn from(index: u32) -> Self {
                $name(index)
            }
        }

        /// So that tests can compare lists of ids with lists of numbers.
        #[cfg(test)]
        impl PartialEq<u32> for $name {
            fn eq(&self, index: &u32) -> bool {
                self.0 == *index
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    };
}

id! {
    /// Index of a piece in [`Problem::pieces`](crate::Problem::pieces), or in
    /// [`PageProblem::pieces`](crate::paged::PageProblem::pieces).
    PieceId
}

id! {
    /// Index of a page in [`Pages::groups`](crate::paged::Pages::groups), or of a page of code in any
    /// other numbering from 0 without large gaps.
    PageIndex
}

id! {
    /// Index of a block among those of its function, which are in memory's order: not the number by
    /// which the compiler knows it, [`Block::id`](trimtab_program::Block::id).
    BlockIndex
}

id! {
    /// Index of a run in [`Execution::spots`](crate::cost::Execution::spots).
    SpotId
}

/// Ids by their numbers, for tests.
#[cfg(test)]
pub(crate) fn ids<Id: From<u32>>(numbers: impl IntoIterator<Item = u32>) -> Vec<Id> {
    numbers.into_iter().map(Id::from).collect()
}
