//! C as far as counting needs it: tokens, macros, and the conditionals of the preprocessor.

pub mod condition;
pub mod conditional;
pub mod macros;
pub mod token;
