//! Dispatch in functions of several parts: a switch with many cases, as an interpreter has for its instructions.
//!
//! Its cases are in several parts. A part that goes on at the switch has a copy of it, and of short blocks before
//! it, so that one case follows another with one change of parts at most, and none where both are in the same part.
//! Where a case is, is looked up in an array: a copy is short, however many cases there are.

use super::{Emitter, Handover};
use crate::classfile::{Kind, Label, MOST_IN_TABLE, op};
use crate::function::{Block, Function};
use crate::ir::{End, Op, Others};

/// A switch with fewer cases is one in each part that has it.
const FEWEST: usize = 16;
/// In a copy of a switch with more cases are only those that are in its part.
const LARGE: usize = 128;
/// Instructions of a block that is copied, at most.
const MOST: usize = 24;
/// A block that leads to a switch is copied if at least as many others lead to it; one with fewer only between such
/// a block and the switch.
const SHARED: usize = 4;
/// Blocks before a switch, at most.
pub(super) const CHAIN: usize = 3;

/// Whether a block ends in a switch with many cases.
pub(super) fn is_dispatch(block: &Block) -> bool {
    let cases = FEWEST..=MOST_IN_TABLE;
    matches!(block.end, End::Switch { .. }) && cases.contains(&block.next.len())
}

/// For each block, whether parts that go on there have a copy of it, and no other is entered there.
pub(super) fn copied(function: &Function) -> Vec<bool> {
    let count = function.blocks.len();
    let before = function.predecessors();
    let mut entered = vec![false; count];
    entered[function.entry] = true;
    for block in function.blocks.iter().filter(|block| is_dispatch(block)) {
        block.next.iter().for_each(|case| entered[*case] = true);
    }
    let is_short = |at: usize| {
        let block = &function.blocks[at];
        let calls = block.ins.iter().any(|ins| matches!(ins.op, Op::Call(_) | Op::Syscall));
        !calls && block.ins.len() <= MOST && !function.is_label(at) && !entered[at]
    };
    let is_shared = |at: usize| before[at].len() >= SHARED && is_short(at);
    let mut copied = vec![false; count];
    let dispatch = |at: &usize| is_dispatch(&function.blocks[*at]) && is_short(*at);
    let mut found: Vec<usize> = (0..count).filter(dispatch).collect();
    for _ in 0..=CHAIN {
        found.iter().for_each(|at| copied[*at] = true);
        let mut next = Vec::new();
        for at in found {
            let leads = |from: &&usize| {
                let nears = || !is_shared(at) && before[**from].iter().any(|at| is_shared(*at));
                !copied[**from] && is_short(**from) && (is_shared(**from) || nears())
            };
            next.extend(before[at].iter().filter(leads));
        }
        found = next;
    }
    // A switch that only one block leads to needs none, unless that has copies.
    for at in (0..count).rev().filter(|at| is_dispatch(&function.blocks[*at])) {
        let follows = before[at].iter().any(|from| copied[*from]);
        copied[at] &= before[at].len() >= SHARED || follows;
    }
    copied
}

/// Adds to each part the blocks that it has copies of.
pub(super) fn with_copies(
    function: &Function,
    parts: &[Vec<usize>],
    copied: &[bool],
) -> Vec<Vec<usize>> {
    let mut parts = parts.to_vec();
    for part in &mut parts {
        let mut at = 0;
        while let Some(index) = part.get(at) {
            for next in &function.blocks[*index].next {
                if copied[*next] && !part.contains(next) {
                    part.push(*next);
                }
            }
            at += 1;
        }
        part.sort_unstable();
    }
    parts
}

/// What a part looks cases up in.
#[derive(Clone)]
pub(super) struct Dispatch {
    /// The block's key.
    pub(super) key: u32,
    /// The field with the place of each case.
    pub(super) field: u16,
    /// Of each case, whether it is in this part.
    pub(super) here: Vec<bool>,
}

impl Emitter<'_> {
    /// Notes where the cases of a switch are: of each the part, in the upper half, and the place in that.
    pub(super) fn find_cases(&mut self, block: usize, places: &[i32], part: usize) {
        let field = self.class.table(places);
        let here = places.iter().map(|place| (*place >> 16) as usize == part).collect();
        self.dispatches.push(Dispatch { key: self.function.blocks[block].key, field, here });
    }

    /// Goes on at the case of the number on the stack, in this part or in another; where the number is that of no place of
    /// the function, at `elsewhere`.
    pub(super) fn dispatch(
        &mut self,
        block: &Block,
        known: &Dispatch,
        others: Others,
        elsewhere: Label,
    ) {
        let Some(Handover { state, leave }) = self.handover else { return };
        let away = self.code.label();
        let count = block.next.len() - usize::from(others == Others::Last);
        // The just-in-time compiler takes its time for each case.
        let all = count <= LARGE && known.here.contains(&true);
        let places = block.next.iter().zip(&known.here);
        let labels = places.map(|(next, here)| if *here { self.labels[*next] } else { away });
        let labels: Vec<Label> = labels.collect();
        let cases = (0..).zip(labels.iter().take(count)).zip(&known.here);
        let cases: Vec<(i32, Label)> = cases
            .filter(|(_, here)| all || **here)
            .map(|((case, label), _)| (case, *label))
            .collect();
        let last = labels.get(count).filter(|_| all).copied().unwrap_or(away);
        self.code.store(Kind::Int, state);
        if !cases.is_empty() {
            self.code.load(Kind::Int, state);
            self.code.switch(&cases, last);
        }
        self.code.bind(away);
        match others {
            Others::Never => {}
            Others::Nowhere(_) => {
                self.code.load(Kind::Int, state);
                self.int(count as i32);
                self.code.jump(op::IF_ICMPGE, elsewhere, 2);
            }
            // All other numbers, which may be less than zero, have the last place.
            Others::Last => {
                let is_case = self.code.label();
                self.code.load(Kind::Int, state);
                self.int(i32::MIN);
                self.code.op(op::IADD, -1);
                self.int(i32::MIN + count as i32);
                self.code.jump(op::IF_ICMPLT, is_case, 2);
                self.int(count as i32);
                self.code.store(Kind::Int, state);
                self.code.bind(is_case);
            }
        }
        self.code.op_u16(op::GETSTATIC, known.field, 1);
        self.code.load(Kind::Int, state);
        self.code.op(op::IALOAD, -1);
        self.code.store(Kind::Int, state);
        self.code.jump(op::GOTO, leave, 0);
    }
}
