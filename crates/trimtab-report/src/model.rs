//! The result models: what each verb found, in the units and under the names that its JSON has.
//!
//! The names of fields are the keys of the JSON and are stable: keys are added, never renamed.
//! Numbers that follow from others are methods, so that they cannot contradict them.

/// Bytes of a page: `trimtab_program::PAGE_SIZE`, of which a report knows nothing else.
pub(crate) const PAGE: u32 = 4096;

mod check;
mod common;
mod compare;
mod doctor;
mod fit_kernel;
mod fit_program;
mod pages;
mod probe_bench;
mod swap_run;
mod swap_sweep;

pub use check::{Boundary, CheckCounts, CheckReport, CheckSchema, OrderNames};
pub use common::{
    Address, BeforeAfter, Check, Coverage, Functions, Minimum, OrderCounts, Repeat, Target,
    TargetSense, ratio, sample_curve,
};
pub use compare::{CompareReport, CompareSchema, Compared, ComparedTrace, Cost, Modelled, Paging};
pub use doctor::{DoctorReport, DoctorSchema, Tool};
pub use fit_kernel::{
    Artifacts, BlockOrder, Boot, Booted, ByteExcess, Curve, Excess, FitKernel, FitKernelSchema,
    Ftrace, Granularity, HeldOut, Image, Invisible, Kernel, Seconds, Section, Split, Text, Touched,
};
pub use fit_program::{
    Beside, Faults, FitProgram, FitProgramSchema, HeldOutRun, ObjectLayout, ProgramArtifacts, Times,
};
pub use pages::{Cause, Input, PagesReport, PagesSchema, PagesSection, PagesText, TracedCurve};
pub use probe_bench::{
    BenchProgram, BenchRewriting, BenchSuite, BenchSummary, BenchTool, ProbeBench, ProbeBenchSchema,
};
pub use swap_run::{
    SwapArtifacts, SwapCode, SwapCore, SwapHandler, SwapRun, SwapRunSchema, SwapSelftest,
    SwapWorkload,
};
pub use swap_sweep::{
    Latency, SwapSweep, SwapSweepSchema, SweptPlacement, SweptPolicy, SweptThreshold, SweptTrace,
};
pub use trimtab_stats::{Interval, Measured};
