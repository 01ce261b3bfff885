//! Orders in the form of each linker, and the check that a linked file follows them.
//!
//! Sans-I/O: [`emit`] turns fragments into the text that a linker reads, [`OrderFile`] reads such a
//! text again, and [`check`] compares it with the linked program. [`kernel`] knows what a Linux
//! kernel pins and where its boundaries are; [`boundaries`] checks that they were kept. A
//! [`ClusterList`] tells clang which blocks of a function belong together. A [`Feature`] is what a kernel
//! can be given; [`LAYOUT`] is the one that lets it take an order.

mod boundaries;
mod check;
mod clusters;
mod emit;
pub mod feature;
pub mod kernel;
mod layout;
mod linker;
mod order_file;
mod together;
mod whole;

pub use boundaries::{Boundary, boundaries};
pub use check::{Check, Line, Outcome, check};
pub use clusters::{ClusterList, SPLIT_FLAGS};
pub use emit::{LinkedOrder, OrderText, follow, is_plain, is_single_object, write};
pub use feature::{Feature, GeneratedFiles};
pub use layout::{BlockList, CAN_SPLIT, KERNEL_ORDER, LAYOUT, Splits};
pub use linker::{Linker, LinkerError, OrderOption, OrderedBy};
pub use order_file::{Entry, OrderFile, OrderFileError, Target};
pub use together::TOGETHER_SCRIPT;
pub use whole::{FILE_ORDER, emit_whole};
