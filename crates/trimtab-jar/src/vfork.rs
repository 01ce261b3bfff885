//! `vfork`: a system call that returns in the new process, and in the one that called it once the new one executes a
//! program or ends. The run time makes one thread of both, so that the caller is returned to twice, as by `setjmp`.

use crate::function::Function;
use crate::ir::{Ins, Op, Val};
use crate::vars::{A1, A3, RA, SP, V0, Var};

/// The number of `clone`. A test compares it with that in `CallNumbers.java`.
pub(crate) const CLONE: i32 = 4120;
/// The number by which the run time knows it; `a3` is where the function returns to. See `Processes.java`.
pub(crate) const VFORK: i32 = 1 << 20;

/// Finds system calls that start a process on the stack of its caller, and has them say where the function returns to.
/// Constants must be known.
pub(crate) fn find_vfork(function: &mut Function) {
    for block in &mut function.blocks {
        let is_vfork = |at: &usize| {
            let before = &block.ins[..*at];
            matches!(block.ins[*at].op, Op::Syscall)
                && source(before, V0) == Some(Val::Const(CLONE))
                && source(before, A1) == Some(Val::Var(SP))
        };
        let found: Vec<usize> = (0..block.ins.len()).filter(is_vfork).collect();
        for at in found.into_iter().rev() {
            let pc = block.ins[at].pc;
            let set = |var, to| Ins { pc, ..Ins::new(Op::Copy, Some(var), to, Val::ZERO) };
            let given = [set(V0, Val::Const(VFORK)), set(A3, Val::Var(RA))];
            block.ins.splice(at..at, given);
            function.forks = true;
        }
    }
}

/// What a register was set to last, if that still is where it was taken from.
fn source(before: &[Ins], var: Var) -> Option<Val> {
    let at = before.iter().rposition(|ins| ins.sets().has(var))?;
    let Ins { op: Op::Copy, a, .. } = before[at] else { return None };
    let changed = |ins: &Ins| matches!(a, Val::Var(from) if ins.sets().has(from));
    (!before[at + 1..].iter().any(changed)).then_some(a)
}
