//! Instruments programs: rewrites relocatable objects so that functions call a hook when they are
//! entered and left, and reads what the programs then recorded.
//!
//! Bytes in, bytes out: nothing here reads files or starts processes. [`instrument`] takes an object
//! as `cc -c` wrote it; what it needs at run time is in [`runtime`].

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod asm;
mod elf;
mod error;
mod function;
mod head;
mod hook;
mod layout;
mod reason;
mod rewrite;
pub mod runtime;
mod select;
mod stack;
mod stub;
mod unwind;

pub use error::ProbeError;
pub use hook::Hook;
pub use reason::Reason;
pub use rewrite::{Options, Rewritten, instrument};
pub use select::Selection;
