//! What the function tracer saw of a boot, beside the plugin.

use std::collections::BTreeSet;

use crate::report::{Ftrace, Invisible};
use trimtab_link::kernel;
use trimtab_profile::Profile;
use trimtab_program::{FunctionId, Program, Range};

use crate::kernel::linked::Kernel;
use crate::kernel::traced::TracerPair;

/// What the function tracer saw of a boot, beside what the plugin saw of the same.
pub(super) fn compare(kernel: &Kernel<'_>, pair: &TracerPair) -> Ftrace {
    let program = &kernel.program;
    let set = |profile: &Profile| -> BTreeSet<FunctionId> {
        profile.functions().iter().map(|executed| executed.function).collect()
    };
    let (seen, called) = (set(&pair.plugin), set(&pair.ftrace));
    let traceable = kernel::traceable(program);
    let mut invisible = Invisible::default();
    for id in seen.difference(&called) {
        let range = program.function(*id).range;
        let count = if kernel::is_traceable(&traceable, range) {
            &mut invisible.before_start
        } else if within(program, range, "__noinstr_text_start", "__noinstr_text_end") {
            &mut invisible.noinstr
        } else if within(program, range, "__entry_text_start", "__entry_text_end") {
            &mut invisible.entry
        } else {
            &mut invisible.other
        };
        *count += 1;
    }
    Ftrace {
        contained: called.is_subset(&seen),
        functions_ftrace: called.len() as u64,
        functions_plugin: seen.len() as u64,
        invisible,
    }
}

fn within(program: &Program<'_>, range: Range, start: &str, end: &str) -> bool {
    match (program.address_of(start), program.address_of(end)) {
        (Some(start), Some(end)) => Range { start, end }.contains(range.start),
        _ => false,
    }
}
