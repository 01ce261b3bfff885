//! Stack slots that only their function can reach, as variables: what a compiler spilled, and arguments in registers that
//! it put where their caller has room for them.
//!
//! A slot qualifies where each access to it is a word at a known distance from the stack's pointer, none of these reads what
//! the function did not write, and no address may lead there. An object's size is not known from its address, nor is
//! on which side of it a compiler has a pointer start to count: so a function that makes the address of anything in its frame
//! keeps all of that in memory. The caller's room for arguments is another object: addresses that are far enough below do
//! not lead there.

use crate::function::Function;
use crate::ir::{Bin, End, Ins, Op, Val, Width};
use crate::liveness::{Facts, Summaries, flow, returns_twice};
use crate::vars::{SLOT, SLOTS, SP, Var, Vars};
use std::collections::BTreeMap;

/// Bytes of the caller's frame for the arguments in registers, by the convention for calls (System V ABI, MIPS RISC
/// Processor Supplement, chapter 3).
const ARGUMENT_BYTES: i32 = 16;
/// So far below the caller's room for arguments an address may be of what is in it: a pointer that counts may start
/// an element or two below its object.
const BELOW: i32 = 128;
/// Bytes of a slot.
const WORD: i32 = 4;
/// Candidates in a function, at most: a bit for each.
const MOST: usize = 64;

/// Makes variables of slots, in a function of which it is known what is live.
pub(crate) fn slots_as_variables(summaries: &Summaries, function: &mut Function) {
    let Some(distances) = distances(summaries, function) else { return };
    let Some(frame) = Frame::of(function, &distances) else { return };
    let mut candidates = frame.candidates();
    let unset = unset_at_entry(function, &distances, &candidates);
    candidates.retain(|slot| !unset.contains(slot));
    // Those with most accesses, where there are too many; the lower ones first.
    candidates.sort_by_key(|slot| (std::cmp::Reverse(frame.slots[slot].accesses), *slot));
    candidates.truncate(usize::from(SLOTS));
    candidates.sort_unstable();
    if candidates.is_empty() {
        return;
    }
    let var_of = |slot: i32| {
        let index = candidates.binary_search(&slot).ok()?;
        Some(SLOT + index as Var)
    };
    for (block, distance) in function.blocks.iter_mut().zip(distances) {
        let Some(mut distance) = distance else { continue };
        for ins in &mut block.ins {
            let access = Access::of(ins);
            distance += moved(ins).unwrap_or(0);
            let Some(var) = access.and_then(|access| var_of(access.slot(distance))) else {
                continue;
            };
            let (d, from) = match ins.op {
                Op::Load(_) => (ins.d, Val::Var(var)),
                _ => (Some(var), ins.b),
            };
            *ins = Ins { pc: ins.pc, ..Ins::new(Op::Copy, d, from, Val::ZERO) };
        }
        block.ins.retain(|ins| !(ins.op == Op::Copy && ins.d.is_none()));
    }
    function.blocks.iter_mut().for_each(|block| block.live_in = Vars::NONE);
    flow(&Facts::of(summaries, function), function);
}

/// A load or store by the stack's pointer.
#[derive(Debug, Clone, Copy)]
struct Access {
    width: Width,
    loads: bool,
    offset: i32,
}

impl Access {
    fn of(ins: &Ins) -> Option<Access> {
        let (width, loads) = match ins.op {
            Op::Load(width) => (width, true),
            Op::Store(width) if ins.b != Val::Var(SP) => (width, false),
            _ => return None,
        };
        match (ins.a, ins.c) {
            (Val::Var(SP), Val::Const(more)) => {
                Some(Access { width, loads, offset: ins.offset.wrapping_add(more) })
            }
            _ => None,
        }
    }

    /// Where it is, where the stack's pointer is at this distance from what it was at the function's start.
    fn slot(self, distance: i32) -> i32 {
        distance.wrapping_add(self.offset)
    }
}

/// By how much an instruction moves the stack's pointer; nothing where it may do so in another way.
fn moved(ins: &Ins) -> Option<i32> {
    match (ins.op, ins.a, ins.b) {
        _ if !ins.sets().has(SP) => Some(0),
        (Op::Bin(Bin::Add), Val::Var(SP), Val::Const(by)) => Some(by),
        (Op::Bin(Bin::Sub), Val::Var(SP), Val::Const(by)) => Some(by.wrapping_neg()),
        _ => None,
    }
}

/// How far the stack's pointer is from where it was at the function's start, before each block that is reached. Nothing where
/// that is not known, or where the function's frame is come back to.
fn distances(summaries: &Summaries, function: &Function) -> Option<Vec<Option<i32>>> {
    let comes_back = |ins: &Ins| match ins.op {
        Op::Call(callee) => returns_twice(summaries, callee),
        Op::Unknown | Op::StandIn(_) => true,
        _ => false,
    };
    let ins = || function.blocks.iter().flat_map(|block| &block.ins);
    let leaves = function.blocks.iter().any(|block| matches!(block.end, End::Away(_)));
    if !function.labels.is_empty() || function.forks || leaves || ins().any(comes_back) {
        return None;
    }
    let mut known: Vec<Option<i32>> = vec![None; function.blocks.len()];
    known[function.entry] = Some(0);
    let mut open = vec![function.entry];
    while let Some(at) = open.pop() {
        let block = &function.blocks[at];
        let mut distance = known[at]?;
        for ins in &block.ins {
            distance = distance.checked_add(moved(ins)?)?;
        }
        for next in &block.next {
            match known[*next] {
                Some(there) if there != distance => return None,
                Some(_) => {}
                None => {
                    known[*next] = Some(distance);
                    open.push(*next);
                }
            }
        }
    }
    Some(known)
}

/// What is known of a slot.
#[derive(Debug, Default)]
struct Slot {
    accesses: usize,
    loads: bool,
    /// Something reads or writes it that is no word there.
    other: bool,
}

/// How a function uses its frame, and its caller's room for arguments.
struct Frame {
    /// By distance from where the stack's pointer was at the function's start.
    slots: BTreeMap<i32, Slot>,
    /// Distances of which it makes addresses.
    addresses: Vec<i32>,
}

impl Frame {
    /// Nothing where it does something else with the stack's pointer.
    fn of(function: &Function, distances: &[Option<i32>]) -> Option<Frame> {
        let mut frame = Frame { slots: BTreeMap::new(), addresses: Vec::new() };
        for (block, distance) in function.blocks.iter().zip(distances) {
            let Some(mut distance) = *distance else { continue };
            for ins in &block.ins {
                frame.add(ins, distance)?;
                distance += moved(ins)?;
            }
            let by_value = match &block.end {
                End::Branch { .. } | End::Table { .. } | End::Switch { .. } => block.end.uses(),
                _ => Vars::NONE,
            };
            if by_value.has(SP) {
                return None;
            }
        }
        Some(frame)
    }

    fn add(&mut self, ins: &Ins, distance: i32) -> Option<()> {
        if let Some(access) = Access::of(ins) {
            let at = access.slot(distance);
            if access.width == Width::I32 && at % WORD == 0 {
                let slot = self.slots.entry(at).or_default();
                slot.accesses += 1;
                slot.loads |= access.loads;
            } else {
                let end = at.checked_add(access.width.bytes())?;
                for part in (at - at.rem_euclid(WORD)..end).step_by(WORD as usize) {
                    self.slots.entry(part).or_default().other = true;
                }
            }
            return Some(());
        }
        let is_passed = matches!(ins.op, Op::Call(_) | Op::Syscall);
        let operands = [ins.a, ins.b, ins.c].contains(&Val::Var(SP));
        if ins.sets().has(SP) || is_passed || !operands {
            return Some(());
        }
        match (ins.op, ins.a, ins.b) {
            (Op::Copy, Val::Var(SP), _) => self.addresses.push(distance),
            (Op::Bin(Bin::Add), Val::Var(SP), Val::Const(by)) => {
                self.addresses.push(distance.checked_add(by)?);
            }
            _ => return None,
        }
        Some(())
    }

    /// Slots that no address leads to, ascending.
    fn candidates(&self) -> Vec<i32> {
        let own = self.addresses.is_empty();
        let room = self.addresses.iter().all(|address| *address < -BELOW);
        let free = |at: i32| if at < 0 { own } else { room && at < ARGUMENT_BYTES };
        self.slots
            .iter()
            .filter(|(at, slot)| slot.loads && !slot.other && free(**at))
            .map(|(at, _)| *at)
            .take(MOST)
            .collect()
    }
}

/// Which slots are read somewhere before the function has written them.
fn unset_at_entry(function: &Function, distances: &[Option<i32>], candidates: &[i32]) -> Vec<i32> {
    // Of each block: what it reads before it writes it, and what it writes.
    let masks: Vec<(u64, u64)> = function
        .blocks
        .iter()
        .zip(distances)
        .map(|(block, distance)| {
            let (mut reads, mut writes) = (0_u64, 0_u64);
            let Some(mut distance) = *distance else { return (0, 0) };
            for ins in &block.ins {
                if let Some(access) = Access::of(ins)
                    && let Ok(index) = candidates.binary_search(&access.slot(distance))
                {
                    let bit = 1 << index;
                    if access.loads {
                        reads |= bit & !writes;
                    } else {
                        writes |= bit;
                    }
                }
                distance += moved(ins).unwrap_or(0);
            }
            (reads, writes)
        })
        .collect();
    let mut live: Vec<u64> = masks.iter().map(|(reads, _)| *reads).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..live.len()).rev() {
            let out = function.blocks[at].next.iter().fold(0, |all, next| all | live[*next]);
            let (reads, writes) = masks[at];
            let before = reads | out & !writes;
            changed |= before != live[at];
            live[at] = before;
        }
    }
    let at_entry = live[function.entry];
    let is_live = |index: &usize| at_entry >> index & 1 != 0;
    (0..candidates.len()).filter(is_live).map(|index| candidates[index]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::{new_block, new_function};
    use crate::ir::{Callee, Cond};
    use crate::vars::{A0, A1, V0};

    fn move_stack(by: i32) -> Ins {
        Ins::new(Op::Bin(Bin::Add), Some(SP), Val::Var(SP), Val::Const(by))
    }

    fn access(op: Op, d: Option<Var>, b: Val, offset: i32) -> Ins {
        Ins { offset, ..Ins::new(op, d, Val::Var(SP), b) }
    }

    fn store(var: Var, offset: i32) -> Ins {
        access(Op::Store(Width::I32), None, Val::Var(var), offset)
    }

    fn load(var: Var, offset: i32) -> Ins {
        access(Op::Load(Width::I32), Some(var), Val::ZERO, offset)
    }

    fn address(var: Var, offset: i32) -> Ins {
        Ins::new(Op::Bin(Bin::Add), Some(var), Val::Var(SP), Val::Const(offset))
    }

    const CALL: Ins = Ins { op: Op::Call(Callee::At(0x400)), ..Ins::NOP };

    /// A function of one block with a frame of 272 bytes, after the pass.
    fn passed(within: &[Ins]) -> Function {
        let ins = [&[move_stack(-272)], within, &[move_stack(272)]].concat();
        let mut function = new_function(0, "f", vec![new_block(0, ins, End::Return)], 0);
        function.results = Vars::of(&[V0]);
        slots_as_variables(&Summaries::default(), &mut function);
        function
    }

    /// How many loads and stores are left.
    fn left(function: &Function) -> usize {
        let ins = function.blocks.iter().flat_map(|block| &block.ins);
        ins.filter(|ins| matches!(ins.op, Op::Load(_) | Op::Store(_))).count()
    }

    #[test]
    fn a_spilled_word_and_an_argument_in_its_callers_frame_are_variables() {
        let function = passed(&[store(A1, 40), store(A0, 272), CALL, load(V0, 272), load(A0, 40)]);
        let copies: Vec<(Option<Var>, Val)> = function.blocks[0]
            .ins
            .iter()
            .filter(|ins| ins.op == Op::Copy)
            .map(|ins| (ins.d, ins.a))
            .collect();
        let (low, high) = (SLOT, SLOT + 1);
        let expected = [
            (Some(low), Val::Var(A1)),
            (Some(high), Val::Var(A0)),
            (Some(V0), Val::Var(high)),
            (Some(A0), Val::Var(low)),
        ];
        assert_eq!(copies, expected);
        assert_eq!(left(&function), 0);
    }

    #[test]
    fn what_an_address_may_lead_to_stays() {
        let spill = [store(A1, 40), store(A0, 272), load(V0, 272), load(A1, 40)];
        let with = |more: Ins| left(&passed(&[&[more], spill.as_slice()].concat()));
        assert_eq!(with(CALL), 0);
        assert_eq!(with(address(A1, 24)), 2, "only the caller's room is another object");
        assert_eq!(with(address(A1, 200)), 4, "so near that it may count from there");
        assert_eq!(with(address(A1, 276)), 4, "as for arguments without number");
        let copied = Ins::new(Op::Copy, Some(A1), Val::Var(SP), Val::ZERO);
        assert_eq!(with(copied), 2);
        let stored = access(Op::Store(Width::I32), None, Val::Var(SP), 60);
        assert_eq!(with(stored), 5, "where it may be read from");
        let computed = Ins::new(Op::Bin(Bin::Sub), Some(A1), Val::Var(SP), Val::Var(A0));
        assert_eq!(with(computed), 4);
    }

    #[test]
    fn what_is_no_word_of_its_own_stays() {
        assert_eq!(left(&passed(&[load(V0, 40)])), 1, "nobody has written it");
        assert_eq!(left(&passed(&[store(A0, 16), CALL])), 1, "an argument of the callee");
        let byte = access(Op::Load(Width::U8), Some(A1), Val::ZERO, 42);
        assert_eq!(left(&passed(&[store(A0, 40), byte, load(V0, 40)])), 3);
        let double = access(Op::Load(Width::F64), Some(A1), Val::ZERO, 36);
        assert_eq!(left(&passed(&[store(A0, 40), double, load(V0, 40)])), 3, "overlapping");
        assert_eq!(left(&passed(&[store(A0, 300), load(V0, 300)])), 2, "further arguments");
    }

    #[test]
    fn a_word_that_one_way_leaves_unset_stays() {
        let branch =
            End::Branch { cond: Cond::Eq, a: Val::Var(A0), b: Val::ZERO, taken: 8, next: 4 };
        let blocks = |on_the_way: Ins| {
            let begin = vec![store(A1, 4)];
            let mut blocks = vec![
                new_block(0, begin, branch.clone()),
                new_block(4, vec![on_the_way, store(A0, 8)], End::Jump(8)),
                new_block(8, vec![load(V0, 4), load(A1, 8)], End::Return),
            ];
            blocks[0].next = vec![2, 1];
            blocks[1].next = vec![2];
            let mut function = new_function(0, "f", blocks, 0);
            function.results = Vars::of(&[V0]);
            slots_as_variables(&Summaries::default(), &mut function);
            function
        };
        let function = blocks(CALL);
        assert_eq!(left(&function), 2);
        assert!(function.blocks[2].live_in.has(SLOT) && function.blocks[1].live_in.has(SLOT));
        assert!(!function.blocks[0].live_in.has(SLOT));
        assert_eq!(left(&blocks(move_stack(-8))), 4, "the stack's pointer is not known");
    }

    #[test]
    fn a_function_that_is_come_back_to_keeps_its_frame() {
        let spill = [store(A0, 40), CALL, load(V0, 40)];
        let mut function = new_function(0, "f", vec![new_block(0, spill.to_vec(), End::Return)], 0);
        let returns_twice = crate::liveness::Summary {
            arguments: Vars::NONE,
            writes: Vars::NONE,
            results: Vars::NONE,
            returns_twice: true,
        };
        let summaries = Summaries::from_iter([(0x400, returns_twice)]);
        slots_as_variables(&summaries, &mut function);
        assert_eq!(left(&function), 2);
    }
}
