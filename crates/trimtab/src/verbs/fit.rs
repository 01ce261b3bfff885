//! `trimtab fit`: the whole job, from source to proof.

pub mod kernel;
pub mod program;

use clap::Subcommand;

/// What to fit.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// A kernel to its boot
    Kernel(kernel::Options),
    /// A program to its start-up
    Program(program::Options),
}
