//! What several processors cost a kernel, and what each way of locking gives.
//!
//! [`file`] counts in one C file: [`lock`] operations, lines that differ with SMP, the [`complexity`] of
//! functions. [`kbuild`] reads what makefiles compile only with SMP, [`set`] says which files are counted for what. `run` is the engine:
//! it finds trees and reads them, and builds and boots kernels without SMP and with it.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod by_thread;
pub mod c;
pub mod complexity;
pub mod counted;
pub mod extrapolate;
#[cfg(feature = "engine")]
pub mod feature;
pub mod file;
pub mod kbuild;
pub mod kconfig;
pub mod lock;
pub mod lock_trace;
pub mod mode;
mod normal;
pub mod recorded;
pub mod report;
#[cfg(feature = "engine")]
pub mod run;
pub mod set;
pub mod simulate;
pub mod subsystem;
pub mod trace;

pub use mode::LockMode;
pub use report::SmpStudy;
pub use report::cost::SmpCost;
