//! The run time in `probe/` that instrumented programs are linked with: its sources, and the flags that
//! it is compiled with. Programs of users and of the tests have the same.

use crate::target::{TARGETS, Target};

/// The object that instrumented programs are linked with.
pub const OBJECT: &str = "trimtab-probe.o";
/// The object with hooks of the user's that instrumented programs are linked with, too.
pub const HOOKS_OBJECT: &str = "trimtab-hooks.o";
/// Name of the header for hooks of the user's.
pub const HEADER_NAME: &str = "trimtab_probe.h";
/// The header for hooks of the user's.
pub const HEADER: &str = include_str!("../../../probe/trimtab_probe.h");

/// What is compiled on any machine: name, and text.
const SOURCES: [(&str, &str); 14] = [
    ("runtime.c", include_str!("../../../probe/runtime.c")),
    ("recording.h", include_str!("../../../probe/recording.h")),
    ("overhead.h", include_str!("../../../probe/overhead.h")),
    ("events.h", include_str!("../../../probe/events.h")),
    ("threads.h", include_str!("../../../probe/threads.h")),
    ("calls.h", include_str!("../../../probe/calls.h")),
    ("stubs.h", include_str!("../../../probe/stubs.h")),
    ("ends.h", include_str!("../../../probe/ends.h")),
    ("stacks.h", include_str!("../../../probe/stacks.h")),
    ("hooks.h", include_str!("../../../probe/hooks.h")),
    ("entry.S", include_str!("../../../probe/entry.S")),
    ("internal.h", include_str!("../../../probe/internal.h")),
    ("abi.h", include_str!("../../../probe/abi.h")),
    ("machine.h", include_str!("../../../probe/machine.h")),
];

/// Flags of the run time on any machine.
const FLAGS: [&str; 12] = [
    "-std=gnu11",
    "-O2",
    "-fPIC",
    // Code that runs at each probe must leave the vector registers alone.
    "-mgeneral-regs-only",
    "-fno-stack-protector",
    "-fno-lto",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-r",
    "-nostdlib",
    // The C sources are named by who compiles them.
    "entry.S",
];

/// Flags of hooks of the user's: so that they can be put into probes, quick, and without vector
/// registers where these are not asked for.
pub const HOOK_FLAGS: [&str; 5] =
    ["-O2", "-g", "-fno-tree-vectorize", "-fno-stack-protector", "-fno-lto"];

/// The sources for all machines: file name, and text. What a cached build of the run time depends on.
pub fn sources() -> Vec<(&'static str, &'static str)> {
    let own = TARGETS.iter().flat_map(|target| target.sources);
    SOURCES.iter().chain(own).copied().chain([(HEADER_NAME, HEADER)]).collect()
}

/// The flags that make [`OBJECT`] of the sources, for a target.
pub fn flags(target: &Target) -> Vec<&'static str> {
    FLAGS.iter().chain(target.flags).copied().collect()
}
