//! Fitting: build, trace, lay out, relink, check, run again, compare.
//!
//! [`program`] goes through the stages for a user program, [`kernel`] for a kernel; the parts that
//! the latter is made of:
//! - [`plan`]: which boots are traced, and which are held out;
//! - [`boots`]: boots whose results are kept;
//! - [`blocks`]: which blocks of functions run, where functions are split;
//! - [`linked`]: a linked kernel as the layout sees it;
//! - [`result`]: what was measured, as the report's model.

pub mod blocks;
pub mod boots;
pub mod kernel;
pub mod linked;
pub mod plan;
pub mod program;
mod result;
