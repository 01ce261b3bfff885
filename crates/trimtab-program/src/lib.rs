//! What the code of a linked program is: its sections, functions and fragments.
//!
//! This crate is *sans-I/O*: it is given the bytes of an ELF file (usually memory-mapped) and the
//! text of a linker's map file, and borrows from them. It runs nothing and knows nothing of traces.
//!
//! Two views of the same code live side by side:
//! - a [`Program`] is what the ELF file says: sections and [`Function`]s by address;
//! - [`Fragments`] are what a layout may move: the input sections from which the linker built it.
//!   A linker map gives them exactly; without one they are derived from the symbols.
//!
//! A [`BlockMap`] adds the basic blocks of each function, where the compiler wrote them down.

mod blocks;
pub mod decode;
mod elf;
mod error;
mod fragment;
mod isa;
mod link_map;
pub mod linked;
pub mod objects;
mod program;
mod ranges;
pub mod references;
mod sentence;
mod suffix;
mod units;

pub use blocks::{Block, BlockMap, BlockMapError};
pub use error::ReadError;
pub use fragment::{Fragment, FragmentId, Fragments, Origin};
pub use isa::{Isa, Mapped};
pub use link_map::{InputSection, LinkMap, LinkMapError};
pub use program::{Function, FunctionId, Kind, Marker, Program, Section, SectionId, Segment};
pub use ranges::{Range, RangeSet};
pub use sentence::any_of;
pub use suffix::without_suffix;
pub use units::{CompileUnit, UnitsError, compile_units};

/// Bytes in a page, the unit in which all results are counted.
pub const PAGE_SIZE: u64 = 4096;
