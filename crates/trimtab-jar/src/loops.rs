//! Loops, and those that count: their ends are written as HotSpot recognises them.
//!
//! HotSpot unrolls a loop, and checks the bounds of its accesses before it, if it ends by comparing
//! a variable that a constant is added to with a limit, as signed numbers. C on MIPS mostly asks
//! instead whether a pointer is equal to the one behind an array, or compares unsigned numbers.
//!
//! - Where a loop goes on while two numbers differ, it goes on if one is less, and only else if they
//!   differ: what is less is different.
//! - Where it goes on while one is less as unsigned numbers, it goes on if it is less than a limit
//!   as signed numbers, and only else if the first holds. The limit is found before the loop: the
//!   same number where no sign is in the way, else one that nothing is less than.
//!
//! The second question is hardly ever answered with yes, so that no compiled code has it.

use std::collections::BTreeMap;

use crate::function::{Block, Function};
use crate::ir::{Bin, Cond, End, Ins, Op, Val};
use crate::vars::{INDEX, LIMIT, Var, Vars};
use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};

/// Added to a block's address: blocks that ask the second question of the loop that it ends, or find
/// the limit of the loop that it begins. No block is looked for by such a key.
const AGAIN: u32 = 3;

/// No address of memory is as large; what is added to it in a loop may be up to a mebibyte.
const FAR: i32 = 0x7ff0_0000;

/// A natural loop: what reaches its end without passing its head.
pub(crate) struct NaturalLoop {
    /// The block that it begins with; each way into the loop leads there.
    pub(crate) head: usize,
    /// Its blocks, the head among them, in no order.
    pub(crate) blocks: Vec<usize>,
    /// Those from which it goes back to its head.
    latches: Vec<usize>,
}

/// Of loops that have others within, those with more blocks are not kept: all together would be too many.
const MOST_OUTER: usize = 64;

/// The loops of a function.
pub(crate) struct Loops {
    /// Those that have no other within, by ascending head; no two share a block.
    pub(crate) innermost: Vec<NaturalLoop>,
    /// Small ones around others, by ascending head.
    outer: Vec<NaturalLoop>,
    /// In how many loops each block is.
    pub(crate) depths: Vec<u32>,
}

/// Finds the loops of a function, by dominators: K. Cooper, T. Harvey and K. Kennedy, *A Simple, Fast Dominance
/// Algorithm* (2001).
pub(crate) fn natural_loops(function: &Function) -> Loops {
    let count = function.blocks.len();
    let mut graph: DiGraph<(), ()> = DiGraph::new();
    for _ in 0..count {
        graph.add_node(());
    }
    let node = |index: usize| NodeIndex::new(index);
    let before = function.predecessors();
    for (index, block) in function.blocks.iter().enumerate() {
        for next in &block.next {
            graph.update_edge(node(index), node(*next), ());
        }
    }
    let dominators = simple_fast(&graph, node(function.entry));
    let back = |head: usize| {
        let from = before[head].iter().copied().filter(|from| {
            dominators.dominators(node(*from)).is_some_and(|mut over| over.any(|d| d == node(head)))
        });
        from.collect::<Vec<usize>>()
    };
    let latches: Vec<Vec<usize>> = (0..count).map(back).collect();
    let mut inside = vec![usize::MAX; count];
    let (mut innermost, mut outer, mut depths) = (Vec::new(), Vec::new(), vec![0; count]);
    for head in (0..count).filter(|head| !latches[*head].is_empty()) {
        inside[head] = head;
        depths[head] += 1;
        let mut blocks = vec![head];
        let mut open = latches[head].clone();
        while let Some(at) = open.pop() {
            if inside[at] != head {
                inside[at] = head;
                depths[at] += 1;
                blocks.push(at);
                open.extend(&before[at]);
            }
        }
        // All of these together have no more blocks than the function.
        let is_innermost = blocks[1..].iter().all(|at| latches[*at].is_empty());
        let is_small = blocks.len() <= MOST_OUTER;
        let found = NaturalLoop { head, blocks, latches: latches[head].clone() };
        if is_innermost {
            innermost.push(found);
        } else if is_small {
            outer.push(found);
        }
    }
    Loops { innermost, outer, depths }
}

/// Has loops that wait for what another thread stores load it each time: where a loop stores nothing,
/// HotSpot loads once what lies at an address that stays the same, also in what it calls.
pub(crate) fn fence_waits(function: &mut Function) {
    let loops = natural_loops(function);
    for found in loops.innermost.iter().chain(&loops.outer) {
        let inside = || found.blocks.iter().flat_map(|index| &function.blocks[*index].ins);
        let set = inside().fold(Vars::NONE, |set, ins| set.or(ins.defs()));
        let stays = |ins: &Ins| {
            [ins.a, ins.c].iter().filter_map(|operand| operand.var()).all(|var| !set.has(var))
        };
        let waits = inside().any(|ins| matches!(ins.op, Op::Call(_)) || ins.loads() && stays(ins));
        if waits && !inside().any(orders_memory) {
            let fence = Ins { op: Op::Fence { full: false }, ..Ins::NOP };
            function.blocks[found.head].ins.insert(0, fence);
        }
    }
}

/// Whether HotSpot moves no load across it.
fn orders_memory(ins: &Ins) -> bool {
    matches!(
        ins.op,
        Op::Store(_)
            | Op::StorePart { .. }
            | Op::LoadLinked
            | Op::StoreConditional
            | Op::Syscall
            | Op::Fence { .. }
    )
}

/// Writes the ends of innermost loops that count as comparisons of signed numbers.
pub(crate) fn count_loops(function: &mut Function) {
    if !function.labels.is_empty() {
        // A loop can be entered anywhere.
        return;
    }
    for found in &natural_loops(function).innermost {
        if let [latch] = found.latches.as_slice() {
            differ(function, found, *latch);
            below(function, found, *latch);
        }
    }
}

/// What a loop adds to a variable, if that is all that it does to it.
fn step(function: &Function, found: &NaturalLoop, var: Var) -> Option<i32> {
    let mut step = None;
    for ins in found.blocks.iter().flat_map(|index| &function.blocks[*index].ins) {
        if matches!(ins.op, Op::Call(_) | Op::Syscall) {
            return None;
        }
        if !ins.defs().has(var) {
            continue;
        }
        match (ins.op, ins.a, ins.b) {
            (Op::Bin(Bin::Add), Val::Var(from), Val::Const(by))
                if from == var && step.is_none() =>
            {
                step = Some(by);
            }
            _ => return None,
        }
    }
    step.filter(|step| *step != 0)
}

/// What a loop adds to what the end of its last block compares.
fn compared_step(function: &Function, found: &NaturalLoop, latch: usize, var: Var) -> Option<i32> {
    let copied = function.blocks[latch].ins.iter().rev().find(|ins| ins.defs().has(var));
    match copied {
        // What a delay slot changes was copied before.
        Some(Ins { op: Op::Copy, a: Val::Var(from), .. }) => step(function, found, *from),
        _ => step(function, found, var),
    }
}

/// The branch at the end of a loop, where it goes on.
struct LoopEnd {
    latch: usize,
    /// The blocks at the loop's head and behind the loop.
    next: (usize, usize),
    /// Their keys.
    keys: (u32, u32),
    a: Val,
    b: Val,
}

impl LoopEnd {
    /// The end of a loop that goes on while `a` and `b` differ.
    fn of(function: &Function, found: &NaturalLoop, latch: usize) -> Option<LoopEnd> {
        let block = &function.blocks[latch];
        let End::Branch { cond, a, b, taken, next } = block.end else { return None };
        let (taken, next) = match block.next.as_slice() {
            [to, other] => ((taken, *to), (next, *other)),
            _ => return None,
        };
        let (on, out) = match cond {
            Cond::Ne => (taken, next),
            Cond::Eq => (next, taken),
            _ => return None,
        };
        let keys = (on.0, out.0);
        let next = (on.1, out.1);
        (next.0 == found.head && next.1 != found.head).then_some(LoopEnd {
            latch,
            next,
            keys,
            a,
            b,
        })
    }

    /// Has the loop go on if `a cond b`, else do `ins` and ask what it asked before.
    fn ask_first(&self, function: &mut Function, cond: Cond, (a, b): (Val, Val), ins: Vec<Ins>) {
        let made = function.blocks.len();
        let block = &mut function.blocks[self.latch];
        let key = block.key | AGAIN;
        block.end = End::Branch { cond, a, b, taken: self.keys.0, next: key };
        block.next = vec![self.next.0, made];
        let (taken, next) = self.keys;
        let end = End::Branch { cond: Cond::Ne, a: self.a, b: self.b, taken, next };
        let next = vec![self.next.0, self.next.1];
        function.blocks.push(Block { key, ins, end, next, live_in: Vars::NONE });
    }
}

/// A loop that goes on while two numbers differ.
fn differ(function: &mut Function, found: &NaturalLoop, latch: usize) -> Option<()> {
    let end = LoopEnd::of(function, found, latch)?;
    // Counting down to zero, it is found anyway.
    if end.a == Val::ZERO || end.b == Val::ZERO {
        return None;
    }
    let by = |value: Val| value.var().and_then(|var| compared_step(function, found, latch, var));
    let (var, limit, step) = match (by(end.a), by(end.b)) {
        (Some(step), None) => (end.a, end.b, step),
        (None, Some(step)) => (end.b, end.a, step),
        _ => return None,
    };
    let cond = if step > 0 { Cond::Lt } else { Cond::Gt };
    let limit = if step > 1 { bounded(function, latch, limit) } else { limit };
    end.ask_first(function, cond, (var, limit), Vec::new());
    Some(())
}

/// A loop that goes on while one number is below another.
fn below(function: &mut Function, found: &NaturalLoop, latch: usize) -> Option<()> {
    let end = LoopEnd::of(function, found, latch)?;
    let (Val::Var(flag), Val::ZERO) = (end.a, end.b) else { return None };
    let block = &function.blocks[latch];
    let at = block.ins.iter().rposition(|ins| ins.defs().has(flag))?;
    let compare = block.ins[at];
    let (Op::Bin(Bin::Sltu), Val::Var(var), limit) = (compare.op, compare.a, compare.b) else {
        return None;
    };
    let by = step(function, found, var)?;
    let later = block.ins[at..].iter().any(|ins| ins.defs().has(var));
    let far = i32::MAX - FAR;
    if !(1..far).contains(&by) || later || changes(function, found, limit) {
        return None;
    }
    if found.head == function.entry || repeats(function, found) {
        return None;
    }
    let (var, most) = (Val::Var(var), Val::Const(FAR));
    // With both in this range, it is left before the sum is negative.
    let tests = [
        (Cond::Lt, limit, Val::ZERO),
        (Cond::Gt, limit, most),
        (Cond::Lt, var, Val::ZERO),
        (Cond::Gt, var, most),
    ];
    limited(function, found, Val::Const(i32::MIN), &tests, limit);
    let limit = bounded(function, latch, Val::Var(LIMIT));
    end.ask_first(function, Cond::Lt, (var, limit), vec![compare]);
    Some(())
}

/// Whether a loop can come by one of its blocks again before it comes to its head: by a cycle with two ways in, which
/// is no natural loop. What it adds once may then be added many times between two tests.
fn repeats(function: &Function, found: &NaturalLoop) -> bool {
    let mut ways: BTreeMap<usize, usize> = found.blocks.iter().map(|at| (*at, 0)).collect();
    let next = |at: usize| function.blocks[at].next.iter().filter(|to| **to != found.head);
    for to in found.blocks.iter().flat_map(|at| next(*at)) {
        if let Some(count) = ways.get_mut(to) {
            *count += 1;
        }
    }
    // Blocks of a cycle are never without a way in that was not gone.
    let (mut open, mut passed) = (vec![found.head], 0);
    while let Some(at) = open.pop() {
        passed += 1;
        for to in next(at) {
            if let Some(count) = ways.get_mut(to) {
                *count -= 1;
                if *count == 0 {
                    open.push(*to);
                }
            }
        }
    }
    passed < found.blocks.len()
}

/// A limit that is not above the farthest address, so that HotSpot sees that no sum beyond it has
/// another sign, also where it compiles the loop while that runs and knows nothing of what was before.
fn bounded(function: &mut Function, latch: usize, limit: Val) -> Val {
    if let Val::Const(_) = limit {
        return limit;
    }
    let block = &mut function.blocks[latch];
    let pc = block.ins.last().map_or(block.key & !3, |ins| ins.pc);
    let least = Ins::new(Op::Bin(Bin::Min), Some(INDEX), limit, Val::Const(FAR));
    block.ins.push(Ins { pc, ..least });
    Val::Var(INDEX)
}

/// Whether a loop changes a value.
fn changes(function: &Function, found: &NaturalLoop, value: Val) -> bool {
    let mut all = found.blocks.iter().flat_map(|index| &function.blocks[*index].ins);
    value.var().is_some_and(|var| all.any(|ins| ins.defs().has(var)))
}

/// Sets the limit before a loop: to `otherwise` if one of the tests holds, else to `limit`.
///
/// With branches, not by computing it: HotSpot sees of what range it is.
fn limited(
    function: &mut Function,
    found: &NaturalLoop,
    otherwise: Val,
    tests: &[(Cond, Val, Val)],
    limit: Val,
) {
    let first = function.blocks.len();
    for index in 0..first {
        if !found.blocks.contains(&index) {
            for next in &mut function.blocks[index].next {
                if *next == found.head {
                    *next = first;
                }
            }
        }
    }
    let head = function.blocks[found.head].key;
    let key = head | AGAIN;
    let set = |value| Ins { pc: head & !3, ..Ins::new(Op::Copy, Some(LIMIT), value, Val::ZERO) };
    for (number, (cond, a, b)) in tests.iter().enumerate() {
        let ins = if number == 0 { vec![set(otherwise)] } else { Vec::new() };
        let end = End::Branch { cond: *cond, a: *a, b: *b, taken: head, next: key };
        let next = vec![found.head, first + number + 1];
        function.blocks.push(Block { key, ins, end, next, live_in: Vars::NONE });
    }
    let (ins, end, next) = (vec![set(limit)], End::Jump(head), vec![found.head]);
    function.blocks.push(Block { key, ins, end, next, live_in: Vars::NONE });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Callee, Width};

    const STEP: Ins = Ins {
        op: Op::Bin(Bin::Add),
        d: Some(4),
        a: Val::Var(4),
        b: Val::Const(8),
        c: Val::ZERO,
        offset: 0,
        pc: 0,
    };

    /// A block before a loop, the loop of one block, and one behind it.
    fn function(ins: Vec<Ins>, cond: Cond, a: Val, b: Val) -> Function {
        let block = |key, ins, end, next| Block { key, ins, end, next, live_in: Vars::NONE };
        let branch = End::Branch { cond, a, b, taken: 4, next: 8 };
        let blocks = vec![
            block(0, Vec::new(), End::Jump(4), vec![1]),
            block(4, ins, branch, vec![1, 2]),
            block(8, Vec::new(), End::Return, Vec::new()),
        ];
        Function { reached: true, ..crate::function::new_function(0, "looping", blocks, 0) }
    }

    #[test]
    fn a_loop_up_to_a_pointer_first_asks_whether_it_is_below() {
        let mut function = function(vec![STEP], Cond::Ne, Val::Var(4), Val::Var(5));
        count_loops(&mut function);
        let blocks = &function.blocks;
        assert_eq!(blocks.len(), 4);
        assert!(matches!(
            blocks[1].end,
            End::Branch { cond: Cond::Lt, a: Val::Var(4), b: Val::Var(INDEX), .. }
        ));
        assert_eq!(blocks[1].next, [1, 3]);
        // Only what is not below is asked what the program asks.
        assert!(matches!(
            blocks[3].end,
            End::Branch { cond: Cond::Ne, a: Val::Var(4), b: Val::Var(5), .. }
        ));
        assert_eq!(blocks[3].next, [1, 2]);
    }

    #[test]
    fn an_unsigned_comparison_gets_a_limit_before_the_loop() {
        let below = Ins::new(Op::Bin(Bin::Sltu), Some(2), Val::Var(4), Val::Var(5));
        let mut function = function(vec![STEP, below], Cond::Ne, Val::Var(2), Val::ZERO);
        count_loops(&mut function);
        let blocks = &function.blocks;
        assert_eq!(blocks[0].next, [3], "the limit is found first");
        assert_eq!(blocks[3].ins[0].d, Some(LIMIT));
        assert_eq!(blocks[3].ins[0].a, Val::Const(i32::MIN), "nothing is less");
        assert_eq!((blocks[7].ins[0].a, &blocks[7].next[..]), (Val::Var(5), &[1][..]));
        assert_eq!(blocks[1].next, [1, 8]);
        assert_eq!((&blocks[8].ins[..], &blocks[8].next[..]), (&[below][..], &[1, 2][..]));
    }

    #[test]
    fn a_sum_that_is_made_again_before_the_test_gets_no_limit() {
        let below = Ins::new(Op::Bin(Bin::Sltu), Some(2), Val::Var(4), Val::Var(5));
        let block = |key, ins, end, next| Block { key, ins, end, next, live_in: Vars::NONE };
        let to =
            |cond, taken, next| End::Branch { cond, a: Val::Var(6), b: Val::ZERO, taken, next };
        // The head goes to the sum or behind it, and from there it goes to the sum again.
        let made = |again: usize| {
            let mut function = function(vec![STEP, below], Cond::Ne, Val::Var(2), Val::ZERO);
            let end = function.blocks[1].end.clone();
            function.blocks[1] = block(4, Vec::new(), to(Cond::Eq, 16, 12), vec![4, 3]);
            function.blocks.push(block(12, vec![STEP], End::Jump(16), vec![4]));
            function.blocks.push(block(16, Vec::new(), to(Cond::Ne, 12, 20), vec![again, 5]));
            function.blocks.push(block(20, vec![below], end, vec![1, 2]));
            count_loops(&mut function);
            function.blocks.len()
        };
        assert_eq!(made(3), 6, "it stays as it is");
        assert!(made(2) > 6, "without the cycle it gets a limit");
    }

    #[test]
    fn a_loop_that_only_waits_loads_each_time() {
        let load = |address| Ins::new(Op::Load(Width::I32), Some(2), Val::Var(address), Val::ZERO);
        let store = Ins::new(Op::Store(Width::I32), None, Val::Var(6), Val::Var(2));
        let fenced = |ins: Vec<Ins>| {
            let mut function = function(ins, Cond::Ne, Val::Var(2), Val::ZERO);
            fence_waits(&mut function);
            function.blocks[1].ins.first().map(|ins| ins.op) == Some(Op::Fence { full: false })
        };
        assert!(fenced(vec![load(5)]));
        assert!(!fenced(vec![load(4), STEP]), "the address is another each time");
        assert!(!fenced(vec![load(5), store]), "it may have stored there");
        assert!(!fenced(vec![STEP]));
        let trap = Ins::new(
            Op::Trap { cond: Cond::Eq, signed: true, code: 7 },
            None,
            Val::Var(6),
            Val::ZERO,
        );
        assert!(fenced(vec![load(5), trap]), "a trap stores nothing");
        let call = Ins::new(Op::Call(Callee::At(64)), None, Val::ZERO, Val::ZERO);
        assert!(fenced(vec![call]), "what is called may load");
    }

    #[test]
    fn only_innermost_loops_are_kept_and_all_count() {
        // Two loops of a block each within one, which is within another.
        let block = |key, next: Vec<usize>| {
            let (a, b) = (Val::Var(4), Val::ZERO);
            let end = match next.as_slice() {
                [_, _] => End::Branch { cond: Cond::Ne, a, b, taken: 0, next: 0 },
                _ => End::Jump(0),
            };
            Block { key, ins: Vec::new(), end, next, live_in: Vars::NONE }
        };
        let mut function = function(Vec::new(), Cond::Ne, Val::Var(4), Val::ZERO);
        let next = [vec![1], vec![2], vec![2, 3], vec![3, 4], vec![1, 5], vec![0, 6], vec![]];
        function.blocks =
            next.into_iter().enumerate().map(|(at, next)| block(8 * at as u32, next)).collect();
        let loops = natural_loops(&function);
        let heads: Vec<usize> = loops.innermost.iter().map(|found| found.head).collect();
        assert_eq!((heads, loops.depths), (vec![2, 3], vec![1, 2, 3, 3, 2, 1, 0]));
    }

    #[test]
    fn a_loop_that_does_not_count_stays_as_it_is() {
        let load = Ins::new(Op::Load(crate::ir::Width::I32), Some(4), Val::Var(4), Val::ZERO);
        for ins in [load, Ins { op: Op::Call(crate::ir::Callee::At(0)), ..Ins::NOP }] {
            let mut function = function(vec![STEP, ins], Cond::Ne, Val::Var(4), Val::Var(5));
            count_loops(&mut function);
            assert_eq!(function.blocks.len(), 3);
        }
        // A limit that the loop changes says nothing about later turns.
        let below = Ins::new(Op::Bin(Bin::Sltu), Some(2), Val::Var(4), Val::Var(5));
        let change = Ins { d: Some(5), a: Val::Var(5), ..STEP };
        let mut function = function(vec![STEP, below, change], Cond::Ne, Val::Var(2), Val::ZERO);
        count_loops(&mut function);
        assert_eq!(function.blocks.len(), 3);
    }
}
