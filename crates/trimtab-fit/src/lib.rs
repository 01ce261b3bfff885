//! Fitting: build, trace, lay out, relink, check, run again, compare. [`kernel`] does it for a kernel
//! and its boot, [`program`] for a user program and its start. Its single
//! stages, for people with their own builds and boards: [`mod@pages`] counts, [`mod@order`] orders, [`mod@check`]
//! checks, [`mod@compare`] says what orders would cost.

mod cause;
pub mod check;
pub mod compare;
pub mod kernel;
pub mod order;
pub mod pages;
pub mod program;
pub mod report;
mod shuffled;

pub use check::CheckRequest;
pub use compare::CompareRequest;
pub use kernel::KernelRequest;
pub use order::OrderRequest;
pub use pages::PagesRequest;
pub use program::ProgramRequest;
