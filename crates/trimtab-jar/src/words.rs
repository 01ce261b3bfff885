//! Words at any address: the two instructions that load or store the parts of one become one.
//!
//! MIPS has no access to a word that is not aligned, but one for the bytes above a boundary (`lwl`,
//! `swl`) and one for those below (`lwr`, `swr`). Java has; so a pair of them is one access, in the
//! place of the second, where nothing in between can tell the difference.

use crate::function::{Block, Function};
use crate::ir::{Ins, Op, Val, Width};
use crate::values::{Address, Id, Values};
use crate::vars::Var;

/// The first part of an access.
struct Part {
    at: usize,
    left: bool,
    /// The variable that is loaded, or the value that is stored.
    what: What,
    word: Address,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Load(Var),
    Store(Id),
}

/// Joins what loads and stores the parts of words.
pub(crate) fn join_words(function: &mut Function) {
    for block in &mut function.blocks {
        if block.ins.iter().any(is_part) {
            join(block);
        }
    }
}

fn join(block: &mut Block) {
    let values = Values::of(block);
    let mut open: Vec<Part> = Vec::new();
    for at in 0..block.ins.len() {
        let ins = block.ins[at];
        let found = part(&ins, at, &values);
        let other = found.as_ref().and_then(|part| {
            let fits = |first: &Part| {
                first.left != part.left && first.what == part.what && first.word == part.word
            };
            // What is not loaded has to be what the first part loaded.
            let keeps = matches!(part.what, What::Store(_)) || ins.b.var() == ins.d;
            open.iter().position(fits).filter(|_| keeps)
        });
        match (other, found) {
            (Some(first), Some(part)) => {
                let first = open.swap_remove(first);
                block.ins[first.at] = Ins { pc: ins.pc, ..Ins::NOP };
                let offset = if part.left { ins.offset.wrapping_sub(3) } else { ins.offset };
                block.ins[at] = match part.what {
                    What::Load(_) => Ins { op: Op::Load(Width::I32), b: Val::ZERO, offset, ..ins },
                    What::Store(_) => Ins { op: Op::Store(Width::I32), offset, ..ins },
                };
                let joined = block.ins[at];
                open.retain(|first| !disturbs(&joined, at, &values, first));
            }
            (_, found) => {
                open.retain(|first| !disturbs(&ins, at, &values, first));
                open.extend(found);
            }
        }
    }
    block.ins.retain(|ins| ins.op != Op::Nop);
}

fn is_part(ins: &Ins) -> bool {
    matches!(ins.op, Op::LoadPart { .. } | Op::StorePart { .. })
}

/// The part of a word that an instruction loads or stores.
fn part(ins: &Ins, at: usize, values: &Values) -> Option<Part> {
    let (left, what) = match ins.op {
        Op::LoadPart { left } => (left, What::Load(ins.d?)),
        Op::StorePart { left } => (left, What::Store(values.operands[at][1])),
        _ => return None,
    };
    let address = values.address(at, ins);
    let word = if left { address.plus(-3) } else { address };
    Some(Part { at, left, what, word })
}

/// Whether it makes a difference that the access that begins with `first` happens behind this
/// instruction, as a whole.
fn disturbs(ins: &Ins, at: usize, values: &Values, first: &Part) -> bool {
    if let What::Load(d) = first.what
        && (ins.uses().has(d) || ins.defs().has(d))
    {
        return true;
    }
    let loads = matches!(first.what, What::Load(_));
    let bytes = match ins.op {
        Op::Load(_) | Op::LoadPart { .. } if loads => return false,
        // It may be up to three bytes further down, or up.
        Op::LoadPart { left } | Op::StorePart { left } => {
            let address = values.address(at, ins);
            let lowest = if left { address.plus(-3) } else { address };
            return !lowest.is_apart(4, first.word, 4);
        }
        Op::Load(width) | Op::Store(width) => width.bytes(),
        _ => return !ins.is_pure(),
    };
    !values.address(at, ins).is_apart(bytes, first.word, 4)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::ir::{Bin, End};
    use crate::vars::Vars;

    const A: Val = Val::Var(4);
    const B: Val = Val::Var(5);

    fn load(left: bool, d: Var, base: Val, offset: i32) -> Ins {
        Ins { offset, ..Ins::new(Op::LoadPart { left }, Some(d), base, Val::Var(d)) }
    }

    fn store(left: bool, value: Val, base: Val, offset: i32) -> Ins {
        Ins { offset, ..Ins::new(Op::StorePart { left }, None, base, value) }
    }

    fn joined(ins: Vec<Ins>) -> Vec<Ins> {
        let mut block = Block { key: 0, ins, end: End::Return, next: vec![], live_in: Vars::NONE };
        join(&mut block);
        block.ins
    }

    fn add(d: Var, a: Val, by: i32) -> Ins {
        Ins::new(Op::Bin(Bin::Add), Some(d), a, Val::Const(by))
    }

    #[test]
    fn parts_of_a_word_become_one_access() {
        let ins = joined(vec![
            load(true, 2, A, 3),
            load(true, 3, A, 7),
            load(false, 2, A, 0),
            load(false, 3, A, 4),
            store(true, Val::Var(2), B, 3),
            store(false, Val::Var(2), B, 0),
            store(false, Val::ZERO, B, 8),
            store(true, Val::ZERO, B, 11),
        ]);
        let found: Vec<_> = ins.iter().map(|ins| (ins.op, ins.d, ins.b, ins.offset)).collect();
        let (load, store) = (Op::Load(Width::I32), Op::Store(Width::I32));
        assert_eq!(
            found,
            [
                (load, Some(2), Val::ZERO, 0),
                (load, Some(3), Val::ZERO, 4),
                (store, None, Val::Var(2), 0),
                (store, None, Val::ZERO, 8),
            ]
        );
    }

    #[test]
    fn the_base_may_be_another_register_with_the_same_address() {
        let parts = vec![
            add(6, A, 8),
            store(true, Val::Var(2), Val::Var(6), 3),
            store(false, Val::Var(2), A, 8),
        ];
        let ins = joined(parts.clone());
        assert_eq!(
            (ins.len(), ins[1].op, ins[1].a, ins[1].offset),
            (2, Op::Store(Width::I32), A, 8)
        );
        // Not so if it is another address by then.
        let changed = vec![parts[0], parts[1], add(4, A, 1), parts[2]];
        assert_eq!(joined(changed.clone()), changed);
    }

    #[test]
    fn parts_stay_where_something_in_between_could_tell() {
        let whole =
            |between: Ins, first: Ins, second: Ins| joined(vec![first, between, second]).len() == 2;
        let (l, r) = (load(true, 2, A, 3), load(false, 2, A, 0));
        let (sl, sr) = (store(true, Val::Var(2), A, 3), store(false, Val::Var(2), A, 0));
        let word = |op, offset| Ins { offset, ..Ins::new(op, None, A, Val::Var(7)) };
        let write = |offset| word(Op::Store(Width::I32), offset);
        assert!(whole(write(4), l, r) && whole(write(-4), l, r));
        assert!(!whole(write(1), l, r) && !whole(write(-3), l, r));
        assert!(!whole(Ins { a: B, ..write(8) }, l, r), "that may be the same place");
        assert!(!whole(add(3, Val::Var(2), 1), l, r), "it reads half of it");
        assert!(!whole(add(2, Val::Var(3), 1), l, r), "it sets it");
        assert!(!whole(Ins { op: Op::Syscall, ..Ins::NOP }, l, r));
        let read = |offset| Ins { d: Some(7), b: Val::ZERO, ..word(Op::Load(Width::I32), offset) };
        assert!(whole(read(4), sl, sr) && !whole(read(2), sl, sr));
        assert!(whole(read(2), l, r), "loads do not matter to loads");
        assert!(!whole(add(2, Val::Var(2), 1), sl, sr), "it is another value by then");
        assert!(!whole(add(4, A, 1), l, r), "it is another address by then");
        assert!(!whole(add(3, Val::Var(3), 1), l, Ins { d: Some(3), b: Val::Var(3), ..r }));
    }
}
