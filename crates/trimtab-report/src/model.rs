//! The reports of the verbs: a file each, with the model and with the sections that show it.

mod check;
mod compare;
mod doctor;
mod fit_kernel;
mod fit_program;
mod pages;
mod paper;
mod probe_bench;
mod shared;
mod swap_run;
mod swap_sweep;

pub use crate::common::{
    Address, BeforeAfter, Check, Coverage, Functions, Input, Minimum, OrderCounts, Repeat, Target,
    TargetSense, TracedCurve, ratio, sample_curve,
};
pub use check::{Boundary, CheckCounts, CheckReport, OrderNames};
pub use compare::{CompareReport, Compared, ComparedTrace, Cost, Modelled, Paging};
pub use doctor::{DoctorReport, Kvm, Machine, Tool};
pub use fit_kernel::{
    Artifacts, BlockOrder, Boot, Booted, ByteExcess, Curve, Excess, FitKernel, Ftrace, Granularity,
    HeldOut, Image, Invisible, Kernel, Seconds, Section, Split, Text, Touched,
};
pub use fit_program::{
    Beside, Faults, FitProgram, HeldOutRun, ObjectLayout, ProgramArtifacts, Times,
};
pub use pages::{Cause, PagesReport, PagesSection, PagesText};
pub use probe_bench::{
    BenchProgram, BenchRewriting, BenchSuite, BenchSummary, BenchTool, ProbeBench,
};
pub use swap_run::{
    SwapArtifacts, SwapCode, SwapCore, SwapHandler, SwapRun, SwapSelftest, SwapWorkload,
};
pub use swap_sweep::{Latency, SwapSweep, SweptPlacement, SweptPolicy, SweptThreshold, SweptTrace};
pub use trimtab_stats::{Interval, Measured};
