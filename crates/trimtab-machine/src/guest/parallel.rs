//! Programs of ours that run on several CPUs of a guest, and what takes their time. Their sources are in
//! `guest/smp`.

use include_dir::{Dir, include_dir};
use trimtab_lab::tools::FoundTool;

use super::compiled::CompiledProgram;

/// The program that takes the time of others.
pub const RUNNER: &str = "scale";

static PROGRAMS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../guest/smp");

/// One of them, by its name: that of its source without the ending.
pub fn program<'a>(name: &str, gcc: &'a FoundTool) -> CompiledProgram<'a> {
    let flags = &["-pthread", "-fno-math-errno"];
    CompiledProgram::of_folder(&PROGRAMS, name, "building a workload", gcc, flags)
}
