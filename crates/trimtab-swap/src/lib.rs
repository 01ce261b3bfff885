//! Cold code swapping: which code of a kernel has to stay in memory, which may be loaded when it is
//! called for, and what that costs.
//!
//! Sans-I/O but for [`run`]: a linked kernel and streams of what it executed in, a plan and
//! simulations out.
//!
//! 1. [`Code`] is all code of the kernel as basic blocks, with what they call.
//! 2. [`Heat`] says how often each block ran, and which are hot for a threshold.
//! 3. [`Residence`] says which functions must never be absent, and why.
//! 4. [`Units`] are the pieces that a linker can place, each core, base or swappable.
//! 5. [`Replay`] is what a run needs of the swappable units; it counts the faults of a placement.
//! 6. [`Plan`] is the result, for people, the linker and the kernel; [`check`] holds a kernel that was
//!    linked by it against it.
//!
//! Source of the method: D. Chanet, J. Cabezas, E. Morancho, N. Navarro, K. De Bosschere, "Linux
//! Kernel Compaction through Cold Code Swapping", Transactions on HiPEAC II.

mod brought;
pub mod check;
mod code;
mod cores;
mod counted;
mod data;
mod duplication;
mod error;
mod feature;
mod heat;
mod hooks;
mod links;
mod lists;
mod objects;
mod patched;
mod plan;
mod replay;
mod residence;
mod returns;
mod roots;
pub mod run;
mod seen;
mod store;
#[cfg(test)]
mod tests;
mod units;

pub use brought::{Bringing, Brought};
pub use code::{Block, Code};
pub use cores::{CORES, Core, Waits};
pub use counted::{Counted, counted};
pub use data::{PlannedData, cold_data};
pub use duplication::{Duplication, duplication};
pub use error::SwapError;
pub use feature::COLDSWAP;
pub use heat::{Heat, Hot, Run, Threshold};
pub use links::{links, pieces};
pub use lists::{ObjectList, object_lists};
pub use patched::{Patched, Sites};
pub use plan::{Bytes, LinkerScript, Plan, PlanSchema, Planned, PlannedUnit};
pub use replay::Replay;
pub use residence::{End, Residence, Why};
pub use returns::Returns;
pub use roots::Group;
pub use store::{Store, page_images};
pub use units::{Class, Granularity, Part, Unit, Units};
