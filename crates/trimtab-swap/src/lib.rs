//! Cold code swapping: which code of a kernel has to stay in memory, which may be loaded when it is
//! needed, and what that costs.
//!
//! Sans-I/O but for [`run`]: a linked kernel and streams of what it executed in, a plan and
//! simulations out.
//!
//! 1. [`Code`] is all code of the kernel as basic blocks, with what they call.
//! 2. [`Heat`] says how often each block ran, and which are hot for a threshold.
//! 3. [`Residence`] says which functions must never be absent, and why.
//! 4. [`Units`] are the pieces that a linker can place, each core, base or swappable.
//! 5. [`Replay`] is what a run needs of the swappable units; it counts the faults of a placement.
//! 6. [`Plan`] is the result, for people, the linker and the kernel; [`check`] compares a kernel that was
//!    linked by a plan with that plan.
//!
//! Source of the method: D. Chanet, J. Cabezas, E. Morancho, N. Navarro, K. De Bosschere, "Linux
//! Kernel Compaction through Cold Code Swapping", Transactions on HiPEAC II.

pub mod check;
mod code;
mod error;
mod feature;
mod heat;
mod kernel_profile;
mod links;
mod objects;
mod partition;
mod plan;
mod replay;
pub mod report;
mod residence;
mod returns;
pub mod run;
mod store;
#[cfg(test)]
mod tests;
mod time;
mod units;

pub use code::{BlockId, BlockIds, Code, CodeBlock};
pub use error::SwapError;
pub use feature::COLDSWAP;
pub use heat::{Heat, HotBlocks, Run, Threshold};
pub use kernel_profile::{KernelProfile, ResidentBudget};
pub use links::{links, pieces};
pub use partition::{CompilerLists, Partition};
pub use plan::{
    Bytes, ColdData, Duplication, LinkerScript, ObjectList, Plan, PlanInputs, PlanSchema, PlanUnit,
    cold_data, duplication, object_lists,
};
pub use replay::Replay;
pub use residence::{CoreCause, CoreCauses, End, Group, PatchKind, PatchSites, Residence, Why};
pub use returns::Returns;
pub use store::{Store, page_images};
pub use time::{KernelTime, Waits, kernel_time};
pub use units::{Class, Granularity, Part, Unit, Units};
