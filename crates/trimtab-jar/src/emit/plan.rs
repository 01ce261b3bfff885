//! What of a block is left out, and what is evaluated only where its value is read.

use crate::function::{Block, Function};
use crate::ir::{Bin, Callee, Cond, End, Float, Ins, Op, Others, Val};
use crate::liveness::{Facts, behind, call_floats, is_dead, live_out, other_half_needed};
use crate::vars::{RA, SP, Var, Vars, forms};
use rustc_hash::FxHashMap;

/// Operations that are evaluated in one expression, at most: so deep can the stack become.
const LARGEST: usize = 24;

/// The plan of a block.
pub(crate) struct Plan {
    /// What is live behind each instruction, and last behind all of them.
    pub(crate) behind: Vec<Vars>,
    /// Instructions that need no code of their own.
    pub(crate) silent: Vec<bool>,
    /// Which instruction makes the value that a consumer reads; the end is the last consumer.
    sources: FxHashMap<(usize, Var), usize>,
    /// What is live where the block is left.
    out: Vars,
}

impl Plan {
    /// The instruction that is evaluated where `consumer` reads `var`.
    pub(crate) fn source(&self, consumer: usize, var: Var) -> Option<usize> {
        self.sources.get(&(consumer, var)).copied()
    }

    /// A plan in which every variable is where it belongs.
    pub(crate) fn empty() -> Plan {
        Plan {
            behind: Vec::new(),
            silent: Vec::new(),
            sources: FxHashMap::default(),
            out: Vars::NONE,
        }
    }

    pub(crate) fn new(facts: &Facts<'_>, function: &Function, block: &Block) -> Plan {
        let out = live_out(function, block);
        let behind = behind(facts, block, out);
        let silent = block.ins.iter().zip(&behind).map(|(ins, live)| is_dead(ins, *live)).collect();
        let mut plan = Plan { behind, silent, sources: FxHashMap::default(), out };
        let mut made: Vec<ExpressionInputs> = vec![ExpressionInputs::default(); block.ins.len()];
        for at in 0..block.ins.len() {
            if plan.silent[at] {
                continue;
            }
            made[at] = plan.make(&block.ins[at], at, &made);
            if let Some(consumer) = plan.consumer(facts, function, block, at, &made[at])
                && let Some(d) = block.ins[at].d
            {
                plan.sources.insert((consumer, d), at);
                plan.silent[at] = true;
            }
        }
        plan
    }

    /// What an instruction is evaluated from.
    fn make(&self, ins: &Ins, at: usize, made: &[ExpressionInputs]) -> ExpressionInputs {
        let mut whole = ExpressionInputs { leaves: Vars::NONE, loads: ins.loads(), size: 1 };
        for operand in [ins.a, ins.b, ins.c] {
            let Val::Var(var) = operand else { continue };
            match self.source(at, var) {
                Some(source) => {
                    whole.leaves = whole.leaves.or(made[source].leaves);
                    whole.loads |= made[source].loads;
                    whole.size += made[source].size;
                }
                None => whole.leaves.add(var),
            }
        }
        whole
    }

    /// The one instruction that reads what the one at `at` sets, if it can be evaluated there.
    fn consumer(
        &self,
        facts: &Facts<'_>,
        function: &Function,
        block: &Block,
        at: usize,
        made: &ExpressionInputs,
    ) -> Option<usize> {
        let ins = &block.ins[at];
        let d = ins.d?;
        let derived = forms(d).without(Vars::of(&[d]));
        if !can_wait(function, ins) || made.size > LARGEST || derived.meets(self.behind[at]) {
            return None;
        }
        for next in at + 1..=block.ins.len() {
            if next < block.ins.len() && is_dead(&block.ins[next], self.behind[next]) {
                continue;
            }
            let (reads, otherwise) = reads(facts, block, next, self.behind[next], d);
            if otherwise {
                return None;
            }
            if reads > 0 {
                let other = block.ins.get(next);
                let dies = match other {
                    Some(other) => other.sets().has(d) || !self.behind[next].has(d),
                    None => !self.out.has(d),
                };
                let jumps = matches!(ins.op, Op::FloatCompare { .. });
                let fits = !jumps || fuses(&block.end, other, d);
                let twice = matches!(other.map(|o| o.op), Some(Op::DivWide { .. }));
                return (reads == 1 && dies && fits && !twice).then_some(next);
            }
            let other = block.ins.get(next)?;
            let changed = match other.op {
                Op::Call(callee) => facts.sets(callee).or(Vars::of(&[RA])),
                _ => other.defs(),
            };
            if changed.meets(made.leaves)
                || forms(d).meets(changed)
                || made.loads && !other.is_pure()
            {
                return None;
            }
        }
        None
    }
}

/// What an expression is made from.
#[derive(Clone, Copy, Default)]
struct ExpressionInputs {
    /// Variables that it reads.
    leaves: Vars,
    /// It reads memory.
    loads: bool,
    /// Operations.
    size: usize,
}

fn can_wait(function: &Function, ins: &Ins) -> bool {
    // What rounds stays between the instructions that set how.
    let rounds = matches!(ins.op, Op::Float(_) | Op::FloatMulAdd { .. } | Op::Convert(_));
    if rounds && function.rounds {
        return false;
    }
    // In parts its code has jumps.
    if ins.op == Op::Float(Float::Quiet) {
        return false;
    }
    matches!(
        ins.op,
        Op::Copy
            | Op::Bin(_)
            | Op::Un(_)
            | Op::Wide(_)
            | Op::Extract { .. }
            | Op::Insert { .. }
            | Op::Load(_)
            | Op::LoadPart { .. }
            | Op::Thread
            | Op::Float(_)
            | Op::FloatMulAdd { .. }
            | Op::FloatCompare { .. }
            | Op::Convert(_)
    )
}

/// Whether it compares, as a branch can by itself.
pub(crate) fn compares(ins: &Ins) -> bool {
    matches!(ins.op, Op::Bin(Bin::Slt | Bin::Sltu) | Op::FloatCompare { .. })
}

/// Whether a comparison's result is all that a branch looks at.
pub(crate) fn fuses(end: &End, consumer: Option<&Ins>, d: Var) -> bool {
    consumer.is_none()
        && matches!(end, End::Branch { cond: Cond::Eq | Cond::Ne, a, b: Val::Const(0), .. }
            if *a == Val::Var(d))
}

/// How often an instruction, or the block's end, has `var` as an operand, and whether it reads it in
/// another way.
fn reads(facts: &Facts<'_>, block: &Block, at: usize, live: Vars, var: Var) -> (usize, bool) {
    let count = |operands: &[Val]| operands.iter().filter(|o| **o == Val::Var(var)).count();
    let Some(ins) = block.ins.get(at) else {
        return match &block.end {
            End::Branch { a, b, .. } => (count(&[*a, *b]), false),
            End::Table { to, .. } => (
                count(&[*to]),
                facts.before_end(&block.end, Vars::NONE).has(var) && count(&[*to]) == 0,
            ),
            End::Switch { index, others: Others::Nowhere(to), .. } => {
                (count(&[*index, *to]), false)
            }
            End::Switch { index, .. } => (count(&[*index]), false),
            End::Return => (usize::from(facts.results.has(var)), false),
            End::Tail(_) | End::Away(_) => (0, facts.before_end(&block.end, Vars::NONE).has(var)),
            // The stack's pointer has to be where it belongs.
            End::Try { .. } => (0, var == SP),
            End::Jump(_) | End::Stop => (0, false),
        };
    };
    if let Op::Call(callee) = ins.op {
        let passed = facts.passes(callee, call_floats(ins)).without(Vars::of(&[RA]));
        let target = matches!(callee, Callee::Through(Val::Var(to)) if to == var);
        return (usize::from(passed.has(var)), target);
    }
    let explicit = count(&[ins.a, ins.b, ins.c]);
    let needed = ins.sets().iter().any(|set| other_half_needed(set, live).has(var));
    (explicit, explicit == 0 && ins.uses().has(var) || needed)
}
