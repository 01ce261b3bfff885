//! Formats of traces that capabilities bring along: whatever reads traces reads these, too.

use trimtab_inputs::Format;

use trimtab_probe::run::Recordings;

/// All of them.
pub const ALL: &[Format] = &[Recordings::trace];
