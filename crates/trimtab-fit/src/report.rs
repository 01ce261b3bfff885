//! The reports of fitting and of its single stages: a file each, with the model and with the sections that
//! show it.

mod check;
mod compare;
mod gain;
mod kernel;
mod pages;
mod paper;
mod program;
mod shared;

use trimtab_report::Kind;

pub use check::{Boundary, CheckCounts, CheckReport, OrderNames};
pub use compare::{CompareReport, ComparedTrace, Comparison, Cost, ModelCosts, Paging};
pub use kernel::{
    Artifacts, BlockOrder, Boot, BootFigures, ByteExcess, Curve, Excess, FitKernel, Ftrace,
    Granularity, HeldOut, Image, Invisible, Kernel, PageCounts, Seconds, Section, Split, Text,
};
pub use pages::{Cause, PagesReport, PagesSection, PagesText};
pub use program::{
    Beside, Faults, FitProgram, HeldOutRun, Namesakes, ObjectLayout, ProgramArtifacts, Times,
};

/// The kinds of reports of this capability, for whoever draws one from its JSON.
pub const KINDS: &[Kind] = &[
    Kind::of::<FitKernel>(),
    Kind::of::<FitProgram>(),
    Kind::of::<CompareReport>(),
    Kind::of::<PagesReport>(),
    Kind::of::<CheckReport>(),
];
