//! Fitting a kernel: build, trace, lay out, relink, check, boot again, compare.
//!
//! [`kernel`] goes through the stages; the parts that it is made of:
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
mod result;
