//! The values in a block, by numbers: what has one number is the same at any place.

use crate::function::Block;
use crate::ir::{Bin, Ins, Op, Val};
use crate::vars::{HI, LO, Var};
use rustc_hash::FxHashMap;

/// The number of a value.
pub(crate) type Id = usize;

/// The constant 0.
pub(crate) const ZERO: Id = 0;

/// Variables below this one have numbers: the registers for integers.
const TRACKED: Var = LO + 1;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Const(i32),
    Bin(Bin, Id, Id),
    /// The low half of the product that the instruction at this index makes.
    Low(usize),
    /// Its high half.
    High(usize),
    /// From before the block, or from what is not looked into.
    Unknown,
}

/// That a variable holds a value, from one place to another one, both included. Place `n` is before instruction `n`.
#[derive(Debug, Clone, Copy)]
struct Held {
    var: Var,
    from: usize,
    to: usize,
}

/// An address: the sum of two values and a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    base: Id,
    index: Id,
    constant: i32,
}

impl Address {
    pub(crate) fn plus(self, by: i32) -> Address {
        Address { constant: self.constant.wrapping_add(by), ..self }
    }

    /// How far it is from another one, where that is known.
    pub(crate) fn distance(self, from: Address) -> Option<i32> {
        let near = (self.base, self.index) == (from.base, from.index);
        near.then(|| self.constant.wrapping_sub(from.constant))
    }

    /// Whether so many bytes here surely have none in common with so many there.
    pub(crate) fn is_apart(self, bytes: i32, from: Address, others: i32) -> bool {
        self.distance(from).is_some_and(|distance| distance >= others || distance <= -bytes)
    }
}

/// The values of a block.
pub(crate) struct Values {
    /// By value.
    origins: Vec<Origin>,
    /// By value, the first place where it is known.
    places: Vec<usize>,
    /// By value.
    held: Vec<Vec<Held>>,
    /// By instruction, its operands; of what adds to `LO` and `HI`, these are the last two.
    pub(crate) operands: Vec<[Id; 3]>,
    /// By instruction, what it makes; of a product the low half, before the high one.
    pub(crate) made: Vec<Option<Id>>,
    /// What is made by operations.
    found: FxHashMap<(u8, Id, Id), Id>,
    constants: FxHashMap<i32, Id>,
    /// By variable, its value and since when.
    now: [(Id, usize); TRACKED as usize],
}

impl Values {
    pub(crate) fn of(block: &Block) -> Values {
        let mut values = Values {
            origins: Vec::new(),
            places: Vec::new(),
            held: Vec::new(),
            operands: Vec::with_capacity(block.ins.len()),
            made: vec![None; block.ins.len()],
            found: FxHashMap::default(),
            constants: FxHashMap::default(),
            now: [(0, 0); TRACKED as usize],
        };
        values.constant(0);
        // Register 0 has the first value.
        for var in 1..TRACKED {
            values.now[usize::from(var)] = (values.new_value(Origin::Unknown, 0), 0);
        }
        for (at, ins) in block.ins.iter().enumerate() {
            values.step(at, ins);
        }
        for var in 1..TRACKED {
            values.close(var, block.ins.len());
        }
        values
    }

    pub(crate) fn origin(&self, id: Id) -> Origin {
        self.origins[id]
    }

    /// The first place where a value is known.
    pub(crate) fn place(&self, id: Id) -> usize {
        self.places[id]
    }

    /// The first place where both of these are known.
    pub(crate) fn both(&self, a: Id, b: Id) -> usize {
        self.places[a].max(self.places[b])
    }

    /// The value of an operation on others, where the block has it anywhere.
    pub(crate) fn of_operation(&self, bin: Bin, a: Id, b: Id) -> Option<Id> {
        self.found.get(&key(bin, a, b)).copied()
    }

    pub(crate) fn constant(&mut self, value: i32) -> Id {
        if let Some(id) = self.constants.get(&value) {
            return *id;
        }
        let id = self.new_value(Origin::Const(value), 0);
        self.constants.insert(value, id);
        id
    }

    pub(crate) fn as_constant(&self, id: Id) -> Option<i32> {
        match self.origins[id] {
            Origin::Const(value) => Some(value),
            _ => None,
        }
    }

    /// The variables that hold a value at a place.
    pub(crate) fn holders(&self, id: Id, place: usize) -> impl Iterator<Item = Var> {
        let there = move |held: &&Held| (held.from..=held.to).contains(&place);
        self.held[id].iter().filter(there).map(|held| held.var)
    }

    /// An operand that has a value at a place.
    pub(crate) fn operand(&self, id: Id, place: usize) -> Option<Val> {
        match self.origins[id] {
            Origin::Const(value) => Some(Val::Const(value)),
            _ => self.holders(id, place).next().map(Val::Var),
        }
    }

    /// The address of a load or store.
    pub(crate) fn address(&self, at: usize, ins: &Ins) -> Address {
        let [base, _, index] = self.operands[at];
        let ((base, first), (index, second)) = (self.sum(base), self.sum(index));
        let constant = ins.offset.wrapping_add(first).wrapping_add(second);
        Address { base, index, constant }
    }

    /// A value as the sum of another one, which is no constant but 0, and a constant.
    fn sum(&self, mut id: Id) -> (Id, i32) {
        let mut constant = 0i32;
        while let Origin::Bin(Bin::Add, a, b) = self.origins[id] {
            let (by, rest) = match (self.as_constant(a), self.as_constant(b)) {
                (_, Some(by)) => (by, a),
                (Some(by), None) => (by, b),
                (None, None) => break,
            };
            constant = constant.wrapping_add(by);
            id = rest;
        }
        match self.as_constant(id) {
            Some(by) => (ZERO, constant.wrapping_add(by)),
            None => (id, constant),
        }
    }

    fn new_value(&mut self, origin: Origin, place: usize) -> Id {
        self.origins.push(origin);
        self.places.push(place);
        self.held.push(Vec::new());
        self.origins.len() - 1
    }

    fn read(&mut self, value: Val) -> Id {
        match value {
            Val::Const(value) => self.constant(value),
            Val::Var(var) if var < TRACKED => self.now[usize::from(var)].0,
            Val::Var(_) => self.new_value(Origin::Unknown, 0),
        }
    }

    /// Ends what a variable held with a place.
    fn close(&mut self, var: Var, to: usize) {
        let (id, from) = self.now[usize::from(var)];
        self.held[id].push(Held { var, from, to });
    }

    fn set(&mut self, var: Var, id: Id, at: usize) {
        if var < TRACKED {
            self.close(var, at);
            self.now[usize::from(var)] = (id, at + 1);
        }
    }

    fn step(&mut self, at: usize, ins: &Ins) {
        let mut ids = [ins.a, ins.b, ins.c].map(|operand| self.read(operand));
        if matches!(ins.op, Op::MulAdd { .. }) {
            ids = [ids[0], self.now[usize::from(LO)].0, self.now[usize::from(HI)].0];
        }
        self.operands.push(ids);
        if matches!(ins.op, Op::Call(_) | Op::Syscall) {
            // It may set anything.
            for var in 1..TRACKED {
                let id = self.new_value(Origin::Unknown, at + 1);
                self.set(var, id, at);
            }
            return;
        }
        let origin = match ins.op {
            Op::Copy => {
                if let Some(d) = ins.d {
                    self.set(d, ids[0], at);
                }
                return;
            }
            Op::Bin(bin) => Origin::Bin(bin, ids[0], ids[1]),
            Op::MulWide { .. } | Op::MulAdd { .. } => {
                let low = self.new_value(Origin::Low(at), at + 1);
                let high = self.new_value(Origin::High(at), at + 1);
                self.set(LO, low, at);
                self.set(HI, high, at);
                self.made[at] = Some(low);
                return;
            }
            _ => Origin::Unknown,
        };
        let known = match origin {
            Origin::Bin(bin, a, b) => self.of_operation(bin, a, b),
            _ => None,
        };
        for var in ins.sets().iter() {
            let id = known.unwrap_or_else(|| self.new_value(origin, at + 1));
            self.set(var, id, at);
            self.made[at] = Some(id);
            if let Origin::Bin(bin, a, b) = origin {
                self.found.insert(key(bin, a, b), id);
            }
        }
    }
}

fn key(bin: Bin, a: Id, b: Id) -> (u8, Id, Id) {
    let commutes = matches!(bin, Bin::Add | Bin::And | Bin::Or | Bin::Xor | Bin::Mul);
    if commutes && b < a { (bin as u8, b, a) } else { (bin as u8, a, b) }
}
