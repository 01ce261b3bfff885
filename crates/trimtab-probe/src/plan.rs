//! Which functions are instrumented, and what has to be known of each.

use crate::arch::{Arch, Context, Entrance};
use crate::function::{Function, is_outlined};
use crate::reason::Reason;
use crate::select::Selection;
use crate::unwind::{Row, Unwind, UnwindTable};

/// A function that will be instrumented.
pub struct Plan<'a, A: Arch> {
    /// The function.
    pub function: &'a Function,
    /// Its unwind information.
    pub unwind: &'a Unwind,
    /// What is decided about its code.
    pub code: A::Plan,
    /// What becomes of the function's unwind information: where, and the new bytes.
    pub changed: Option<(usize, Vec<u8>)>,
}

/// Decides how a function is instrumented.
///
/// # Errors
/// Why it is not.
pub fn plan<'a, A: Arch>(
    context: &Context<'_>,
    table: &'a UnwindTable,
    machine: &mut A,
    function: &'a Function,
    selection: &Selection,
) -> Result<Plan<'a, A>, Reason> {
    selection.check(&function.name, function.size)?;
    if function.is_ifunc_resolver {
        return Err(Reason::IfuncResolver);
    }
    if is_outlined(&function.name) {
        return Err(Reason::Outlined);
    }
    let (section, start) = (function.section, function.start);
    let unwind = table.of(section, start).ok_or_else(|| table.why_none(section, start))?;
    if !unwind.plain {
        return Err(Reason::OddUnwind);
    }
    if !unwind.begins_as_a_call_does(&A::ENTRY) || function.is_part() {
        return Err(Reason::NotCalled);
    }
    let code = machine.plan(context, function, unwind)?;
    let Entrance::PatchSite { prologue, at: jump } = A::entrance(&code) else {
        return Ok(Plan { function, unwind, code, changed: None });
    };
    let in_prologue = unwind.rows.iter().filter(|row| row.offset + function.start <= prologue.end);
    if !in_prologue.into_iter().all(Row::is_plain) {
        return Err(Reason::OddUnwind);
    }
    // Where the jump stands nothing has happened yet: what rows say of the code in front of it happens behind.
    let is_early = |row: &Row| row.offset > 0 && row.offset + function.start <= jump;
    let changed = if unwind.rows.iter().any(is_early) {
        let frames = table.section.map(|section| &*context.object.sections[section].data);
        let changed = unwind.signing_later(frames.unwrap_or_default(), prologue.end - jump);
        Some(changed.ok_or(Reason::OddUnwind)?)
    } else {
        None
    };
    Ok(Plan { function, unwind, code, changed })
}
