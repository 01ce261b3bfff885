//! A function as one method.

use super::call::passed_on;
use super::outline::{LoopMethod, loop_methods};
use super::{Context, Emitter};
use crate::classfile::{Class, Code, Kind, Label, op};
use crate::function::Function;
use crate::ir::{Callee, End, Ins, Op};
use crate::liveness::{Facts, behind, is_dead, live_out, returns_twice};
use crate::vars::{DOUBLE, RA, RESULTS, SP, V0, Vars};

/// A function as one method, and those that are its loops.
pub(crate) struct WholeFunction {
    pub(crate) code: Code,
    pub(crate) loops: Vec<LoopMethod>,
}

/// The code of a function as one method, but for some of its loops.
pub(crate) fn whole(
    context: &Context<'_>,
    function: &Function,
    class: &mut Class,
) -> WholeFunction {
    // Long: the way in, the blocks and the way out share labels and variables.
    let mut all: Vec<usize> = (0..function.blocks.len()).collect();
    let facts = Facts::of(context.summaries, function);
    let twice = has_second_return(context, function, &all);
    // What comes back to such a call finds its variables in one method only.
    let loops = if twice { Vec::new() } else { loop_methods(context, function, class) };
    let within = |at: &usize| loops.iter().find(|found| found.blocks.binary_search(at).is_ok());
    all.retain(|at| within(at).is_none());
    let mut vars = variables(&facts, function, &all, true);
    for found in &loops {
        vars = vars.or(found.passed());
        all.push(found.head);
    }
    if twice {
        vars = vars.or(Vars::of(&[SP, V0]));
    }
    let (mut emitter, ints) =
        Emitter::new(context, function, class, function.arguments, 0, vars, usize::from(twice));
    let start = emitter.code.label();
    if twice {
        emitter.get(SP);
        emitter.code.store(Kind::Int, ints[0]);
    }
    emitter.code.bind(start);
    let order = emitter.order(&all, function.entry, &loops);
    if order.first() != Some(&function.entry) {
        let label = emitter.labels[function.entry];
        emitter.code.jump(op::GOTO, label, 0);
    }
    for (at, index) in order.iter().enumerate() {
        emitter.following = order.get(at + 1).copied();
        match within(index) {
            Some(found) => emitter.call_loop(found),
            None => emitter.block(*index),
        }
    }
    emitter.landings();
    for index in function.label_blocks() {
        let label = emitter.labels[index];
        emitter.returns.push((function.blocks[index].key, label));
    }
    if twice {
        emitter.second_returns(start, ints[0]);
    }
    WholeFunction { code: emitter.code, loops }
}

/// Whether one of these blocks calls a function that can return twice.
pub(super) fn has_second_return(
    context: &Context<'_>,
    function: &Function,
    blocks: &[usize],
) -> bool {
    blocks.iter().any(|index| {
        let calls = |ins: &Ins| match ins.op {
            Op::Call(callee) => returns_twice(context.summaries, callee),
            _ => false,
        };
        function.is_label(*index) || function.blocks[*index].ins.iter().any(calls)
    })
}

/// The variables that the code of these blocks reads or sets, as methods of parts or in one that `is_whole`.
pub(super) fn variables(
    facts: &Facts<'_>,
    function: &Function,
    blocks: &[usize],
    is_whole: bool,
) -> Vars {
    let mut vars = Vars::NONE;
    for index in blocks {
        let block = &function.blocks[*index];
        vars = vars.or(block.live_in);
        let behind = behind(facts, block, live_out(function, block));
        for live in &behind {
            vars = vars.or(*live);
        }
        for (ins, live) in block.ins.iter().zip(&behind) {
            if is_dead(ins, *live) {
                continue;
            }
            let returns_to = matches!(ins.op, Op::Call(_));
            let sets = if returns_to { Vars::NONE } else { ins.sets() };
            vars = vars.or(ins.uses()).or(sets);
            match ins.op {
                // Pairs that other forms are made of.
                Op::Call(Callee::Through(_)) => vars = vars.or(live.and(RESULTS)).or(pairs(*live)),
                Op::Call(callee @ Callee::At(to)) => {
                    let passed = facts.passes(callee, Vars::NONE);
                    // Where it returns to is known.
                    vars = vars.or(passed.without(Vars::of(&[RA])));
                    let results = facts.summaries.get(&to).map_or(RESULTS, |known| known.results);
                    vars = vars.or(pairs(*live).and(results));
                }
                _ => {}
            }
        }
        match block.end {
            End::Tail(callee)
                if is_whole && passed_on(facts.summaries, function, callee).is_some() => {}
            End::Tail(_) | End::Table { is_goto: false, .. } => {
                vars = vars.or(facts.results).or(pairs(facts.results))
            }
            End::Return => vars = vars.or(facts.results),
            End::Away(_) => vars = vars.or(Vars::of(&[SP, V0])),
            End::Try { .. } => vars = vars.or(Vars::of(&[SP])),
            _ => {}
        }
    }
    vars.without(Vars::of(&[0]))
}

/// The pairs of which one of these is a form, of those that functions give back.
fn pairs(live: Vars) -> Vars {
    let mut vars = Vars::NONE;
    for pair in [DOUBLE, DOUBLE + 1] {
        if crate::vars::forms(pair).meets(live) {
            vars.add(pair);
        }
    }
    vars
}

impl Emitter<'_> {
    /// An order of blocks in which only loops lead back, and the one that comes next is mostly the next one to run: HotSpot
    /// asks at each jump that leads back whether the thread has to stop. It is the reverse of the order in which a
    /// depth-first walk leaves the blocks, from the first one and then from each that was not reached. `loops` are one
    /// block each, their heads.
    pub(super) fn order(&self, blocks: &[usize], first: usize, loops: &[LoopMethod]) -> Vec<usize> {
        let mut open = vec![false; self.function.blocks.len()];
        blocks.iter().for_each(|index| open[*index] = true);
        let next = |at: usize| match loops.iter().find(|found| found.head == at) {
            Some(found) => std::slice::from_ref(&found.exit),
            None => self.function.blocks[at].next.as_slice(),
        };
        let mut order = Vec::with_capacity(blocks.len());
        for root in std::iter::once(&first).chain(blocks) {
            let begin = order.len();
            let mut path: Vec<(usize, usize)> = Vec::new();
            if std::mem::replace(&mut open[*root], false) {
                path.push((*root, 0));
            }
            while let Some((at, visited)) = path.last_mut() {
                if let Some(to) = next(*at).get(*visited) {
                    *visited += 1;
                    if std::mem::replace(&mut open[*to], false) {
                        path.push((*to, 0));
                    }
                } else {
                    order.push(*at);
                    path.pop();
                }
            }
            order[begin..].reverse();
        }
        order
    }

    /// Catches what comes back to calls that return twice. `low` is the slot that holds the stack's
    /// pointer at the function's start.
    pub(super) fn second_returns(&mut self, start: Label, low: u16) {
        let (end, handler) = (self.code.label(), self.code.label());
        self.code.bind(end);
        self.code.bind_handler(start, end, handler);
        self.code.load(Kind::Cpu, 0);
        self.get(SP);
        self.code.load(Kind::Int, low);
        let descriptor = "(Ljava/lang/Throwable;Ltrimtab/Cpu;II)I";
        self.run_time("trimtab/Jump", "land", descriptor, 4, Some(Kind::Int));
        for var in [SP, V0] {
            if self.has_slot(var) {
                self.get_field(var);
                self.set(var);
            }
        }
        let mut cases: Vec<(i32, Label)> =
            self.returns.iter().map(|(pc, label)| (pc.cast_signed(), *label)).collect();
        cases.sort_unstable_by_key(|(pc, _)| *pc);
        cases.dedup_by_key(|(pc, _)| *pc);
        let lost = self.code.label();
        self.code.switch(&cases, lost);
        self.code.bind(lost);
        self.code.load(Kind::Cpu, 0);
        self.run_time("trimtab/Jump", "again", "(Ltrimtab/Cpu;)V", 1, None);
        self.never();
    }
}
