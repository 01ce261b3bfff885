//! `trimtab fit`: the whole job, from source to proof.

pub mod kernel;
pub mod program;

use clap::Subcommand;

/// What to fit.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Fit a kernel to its boot: build, trace, lay out, link again, compare
    Kernel(kernel::Options),
    /// Fit a program to its start: build, trace, lay out, link again, compare
    Program(program::Options),
}
