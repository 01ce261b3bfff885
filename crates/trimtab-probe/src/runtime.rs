//! The run time that instrumented programs are linked with: its sources, and how to compile them.

/// Sources by file name; headers among them. `trimtab_probe.h` is for hooks of the user's.
pub const SOURCES: [(&str, &str); 4] = [
    ("runtime.c", include_str!("../../../probe/runtime.c")),
    ("entry.S", include_str!("../../../probe/entry.S")),
    ("internal.h", include_str!("../../../probe/internal.h")),
    ("trimtab_probe.h", include_str!("../../../probe/trimtab_probe.h")),
];

/// What a C compiler has to be told for each of them, beside `-c`.
///
/// Code that runs at each probe must leave the vector registers alone. The marks of control-flow
/// enforcement are in all objects of a program or it does without.
pub const FLAGS: [&str; 9] = [
    "-std=gnu11",
    "-O2",
    "-g",
    "-fPIC",
    "-mgeneral-regs-only",
    "-fcf-protection",
    "-fno-stack-protector",
    "-Wall",
    "-Wextra",
];

/// The name of the library.
pub const LIBRARY: &str = "libtrimtab-probe.a";
