//! Pairs of values that are the halves of a 64-bit number, and how that is made from others.
//!
//! The patterns are those of compilers: an addition with its carry, a subtraction with its borrow, shifts that take bits
//! over from the other half, products made of three, and words side by side in memory.

use crate::function::Block;
use crate::ir::{Bin, Ins, Op, Wide, Width};
use crate::values::{Address, Id, Origin, Values, ZERO};
use rustc_hash::FxHashMap;

/// How a 64-bit number is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// From its halves.
    Join,
    /// From its low half.
    Extend { signed: bool },
    /// As the instruction at this index makes it.
    Product { at: usize, signed: bool },
    /// From another one, as the instruction at this index adds a product to it.
    ProductAdd { at: usize, signed: bool, subtract: bool, to: usize },
    /// By the load at this index, whose address is so far above it.
    Load { at: usize, above: i32 },
    /// From two others.
    Two(Wide, usize, usize),
    /// From another one, by this amount.
    Shift(Wide, usize, i32),
}

/// A 64-bit number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number {
    pub(super) made: Made,
    pub(super) low: Id,
    pub(super) high: Id,
    /// The place where it can be made.
    pub(super) place: usize,
}

/// Two stores of the halves of a number. It is stored in the place of the second one, whose address is so far above it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored {
    pub(super) first: usize,
    pub(super) second: usize,
    pub(super) above: i32,
    pub(super) number: usize,
}

/// A way in which a number may be made from two others, each given by its halves.
struct Way {
    wide: Wide,
    low: Id,
    first: (Id, Id),
    second: (Id, Id),
}

/// An access to memory that waits for the one beside it.
struct Open {
    at: usize,
    address: Address,
    value: Id,
    stores: bool,
}

/// What is found in a block.
pub(super) struct Pairs<'a> {
    block: &'a Block,
    pub(super) values: Values,
    /// Each behind those that it is made from.
    pub(super) numbers: Vec<Number>,
    pub(super) stored: Vec<Stored>,
    by_halves: FxHashMap<(Id, Id), usize>,
    by_low: FxHashMap<Id, usize>,
    open: Vec<Open>,
    /// There are carries or products at all.
    carries: bool,
    /// Nothing but what is pure came since memory was fenced: the next store is one that C calls atomic.
    fenced: bool,
}

impl<'a> Pairs<'a> {
    pub(super) fn of(block: &'a Block) -> Pairs<'a> {
        let mut pairs = Pairs {
            block,
            values: Values::of(block),
            numbers: Vec::new(),
            stored: Vec::new(),
            by_halves: FxHashMap::default(),
            by_low: FxHashMap::default(),
            open: Vec::new(),
            carries: block.ins.iter().any(|ins| {
                matches!(ins.op, Op::Bin(Bin::Sltu) | Op::MulWide { .. } | Op::MulAdd { .. })
            }),
            fenced: false,
        };
        for at in 0..block.ins.len() {
            pairs.look(at);
        }
        pairs
    }

    fn look(&mut self, at: usize) {
        let ins = self.block.ins[at];
        self.memory(at, &ins);
        let Some(id) = self.values.made[at] else { return };
        match (ins.op, self.values.origin(id)) {
            (Op::MulWide { signed }, _) => self.add(Made::Product { at, signed }, id, id + 1),
            (Op::MulAdd { signed, subtract }, _) => {
                let [_, low, high] = self.values.operands[at];
                let to = self.number(low, high);
                self.add(Made::ProductAdd { at, signed, subtract, to }, id, id + 1);
            }
            (Op::Bin(_), Origin::Bin(Bin::Add | Bin::Sub, ..)) if self.carries => self.sum(id),
            (Op::Bin(_), Origin::Bin(Bin::Or, a, b)) => {
                self.shift(id, a, b);
                self.shift(id, b, a);
                self.logic(id, Bin::Or, a, b);
            }
            (Op::Bin(_), Origin::Bin(bin @ (Bin::And | Bin::Xor), a, b)) => {
                self.logic(id, bin, a, b);
            }
            (Op::Bin(_), Origin::Bin(Bin::Sltu, sum, part)) => {
                // The carry alone: the sum of two integers.
                if let Some((u, v)) = self.carry(sum, part) {
                    let (a, b) = (self.number(u, ZERO), self.number(v, ZERO));
                    self.add(Made::Two(Wide::Add, a, b), sum, id);
                }
            }
            _ => {}
        }
    }

    /// Notes a number that is made by an operation.
    fn add(&mut self, made: Made, low: Id, high: Id) {
        if self.by_halves.contains_key(&(low, high)) {
            return;
        }
        let place = match made {
            Made::Product { at, .. } | Made::ProductAdd { at, .. } | Made::Load { at, .. } => at,
            _ => self.values.both(low, high),
        };
        self.by_halves.insert((low, high), self.numbers.len());
        self.by_low.insert(low, self.numbers.len());
        self.numbers.push(Number { made, low, high, place });
    }

    /// The number with these halves.
    fn number(&mut self, low: Id, high: Id) -> usize {
        if let Some(number) = self.by_halves.get(&(low, high)) {
            return *number;
        }
        let made = self.extended(low, high).unwrap_or(Made::Join);
        let place = match made {
            Made::Extend { .. } => self.values.place(low),
            _ => self.values.both(low, high),
        };
        self.by_halves.insert((low, high), self.numbers.len());
        self.numbers.push(Number { made, low, high, place });
        self.numbers.len() - 1
    }

    /// Whether a number need not be put together from its halves.
    fn is_known(&self, low: Id, high: Id) -> bool {
        match self.by_halves.get(&(low, high)) {
            Some(number) => self.numbers[*number].made != Made::Join,
            None => self.extended(low, high).is_some(),
        }
    }

    /// Whether the high half is the sign of the low one, or nothing.
    fn extended(&self, low: Id, high: Id) -> Option<Made> {
        let signed = match self.values.origin(high) {
            Origin::Const(0) => false,
            Origin::Bin(Bin::Sar, of, by) if self.values.as_constant(by) == Some(31) => {
                // What is shifted with its sign has the same.
                let shifted =
                    matches!(self.values.origin(low), Origin::Bin(Bin::Sar, from, _) if from == of);
                if of != low && !shifted {
                    return None;
                }
                true
            }
            _ => return None,
        };
        Some(Made::Extend { signed })
    }

    /// The two that a comparison says the carry of the sum of.
    fn carry(&self, sum: Id, part: Id) -> Option<(Id, Id)> {
        match self.values.origin(sum) {
            Origin::Bin(Bin::Add, u, v) if part == u || part == v => Some((u, v)),
            _ => None,
        }
    }

    /// A value as sums of two or three others, some of them negative.
    fn terms(&self, id: Id) -> Vec<Vec<(bool, Id)>> {
        let parts = |negative: bool, id: Id| match self.values.origin(id) {
            Origin::Bin(Bin::Add, a, b) => Some([(negative, a), (negative, b)]),
            Origin::Bin(Bin::Sub, a, b) => Some([(negative, a), (!negative, b)]),
            _ => None,
        };
        let Some([first, second]) = parts(false, id) else { return Vec::new() };
        let mut all = vec![vec![first, second]];
        for ((negative, id), other) in [(first, second), (second, first)] {
            if let Some(two) = parts(negative, id) {
                all.push([&[other], two.as_slice()].concat());
            }
        }
        all
    }

    /// The high half of a sum, of a difference, or of a product of 64-bit numbers: of the ways in which it may be one, that where
    /// most of what it is made from is a number already.
    fn sum(&mut self, high: Id) {
        let mut ways = Vec::new();
        for terms in self.terms(high) {
            for which in 0..terms.len() {
                let (negative, term) = terms[which];
                let mut rest = terms.clone();
                rest.remove(which);
                match (negative, self.values.origin(term)) {
                    (false, Origin::Bin(Bin::Sltu, sum, part)) => {
                        if let Some(parts) = self.carry(sum, part) {
                            ways.extend(self.carried(sum, parts, &rest));
                        }
                    }
                    (true, Origin::Bin(Bin::Sltu, from, other)) => {
                        ways.extend(self.borrowed(from, other, &rest));
                    }
                    (false, Origin::High(at)) => ways.extend(self.crossed(at, term, &rest)),
                    _ => {}
                }
            }
        }
        let known = |way: &Way| {
            let Way { first: (a, b), second: (c, d), .. } = *way;
            usize::from(self.is_known(a, b)) + usize::from(self.is_known(c, d))
        };
        if let Some(Way { wide, low, first: (a, b), second: (c, d) }) =
            ways.into_iter().max_by_key(known)
        {
            let (a, b) = (self.number(a, b), self.number(c, d));
            self.add(Made::Two(wide, a, b), low, high);
        }
    }

    /// `high = rest + carry of (low = u + v)`.
    fn carried(&self, low: Id, (u, v): (Id, Id), rest: &[(bool, Id)]) -> Vec<Way> {
        let (one, other) = match *rest {
            [(false, one)] => (one, ZERO),
            [(false, one), (false, other)] => (one, other),
            _ => return Vec::new(),
        };
        let wide = Wide::Add;
        vec![
            Way { wide, low, first: (u, other), second: (v, one) },
            Way { wide, low, first: (u, one), second: (v, other) },
        ]
    }

    /// `high = rest - borrow of (low = from - by)`, where the borrow is `from < other`.
    fn borrowed(&self, from: Id, other: Id, rest: &[(bool, Id)]) -> Option<Way> {
        let (low, by) = match self.values.origin(other) {
            Origin::Bin(Bin::Sub, a, b) if a == from => (other, b),
            _ => (self.values.of_operation(Bin::Sub, from, other)?, other),
        };
        let (a, b) = match *rest {
            [(false, a)] => (a, ZERO),
            [(false, a), (true, b)] | [(true, b), (false, a)] => (a, b),
            [(true, b)] => (ZERO, b),
            _ => return None,
        };
        Some(Way { wide: Wide::Sub, low, first: (from, a), second: (by, b) })
    }

    /// `high = high half of an unsigned product + rest`, where these are the products with the other halves.
    fn crossed(&self, at: usize, term: Id, rest: &[(bool, Id)]) -> Option<Way> {
        let Op::MulWide { signed: false } = self.block.ins[at].op else { return None };
        let [a, b, _] = self.values.operands[at];
        let (first, second) = match *rest {
            [(false, one)] => match self.other_factor(one, b) {
                Some(high) => (high, ZERO),
                None => (ZERO, self.other_factor(one, a)?),
            },
            [(false, one), (false, other)] => {
                match (self.other_factor(one, b), self.other_factor(other, a)) {
                    (Some(first), Some(second)) => (first, second),
                    _ => (self.other_factor(other, b)?, self.other_factor(one, a)?),
                }
            }
            _ => return None,
        };
        // The low half has the number before.
        let low = term - 1;
        Some(Way { wide: Wide::Mul, low, first: (a, first), second: (b, second) })
    }

    /// What `id` is the product of with `by`.
    fn other_factor(&self, id: Id, by: Id) -> Option<Id> {
        let (a, b) = match self.values.origin(id) {
            Origin::Bin(Bin::Mul, a, b) => (a, b),
            Origin::Low(at) if self.is_product(at) => {
                (self.values.operands[at][0], self.values.operands[at][1])
            }
            _ => return None,
        };
        match by {
            _ if a == by => Some(b),
            _ if b == by => Some(a),
            _ => None,
        }
    }

    fn is_product(&self, at: usize) -> bool {
        matches!(self.block.ins[at].op, Op::MulWide { .. })
    }

    /// `id = a | b` as a half of a number that is shifted or rotated, `a` being shifted to the left.
    fn shift(&mut self, id: Id, a: Id, b: Id) {
        let (Origin::Bin(Bin::Shl, a, left), Origin::Bin(Bin::Shr, b, right)) =
            (self.values.origin(a), self.values.origin(b))
        else {
            return;
        };
        let (Some(by), Some(back)) =
            (self.values.as_constant(left), self.values.as_constant(right))
        else {
            return;
        };
        if !(1..32).contains(&by) || by + back != 32 {
            return;
        }
        // The high half, and the low one is shifted without taking anything over.
        if let Some(low) = self.values.of_operation(Bin::Shl, b, left) {
            let number = self.number(b, a);
            self.add(Made::Shift(Wide::Shl, number, by), low, id);
        }
        for (bin, wide) in [(Bin::Sar, Wide::Sar), (Bin::Shr, Wide::Shr)] {
            if let Some(high) = self.values.of_operation(bin, a, right) {
                let number = self.number(b, a);
                self.add(Made::Shift(wide, number, back), id, high);
            }
        }
        // Both take over what the other loses.
        let (shl, shr) = (
            self.values.of_operation(Bin::Shl, b, left),
            self.values.of_operation(Bin::Shr, a, right),
        );
        if let Some(low) =
            shl.zip(shr).and_then(|(shl, shr)| self.values.of_operation(Bin::Or, shl, shr))
        {
            let number = self.number(b, a);
            self.add(Made::Shift(Wide::Rotl, number, by), low, id);
        }
    }

    /// `low = a op b`, where both are low halves.
    fn logic(&mut self, low: Id, bin: Bin, a: Id, b: Id) {
        let (Some(first), Some(second)) =
            (self.by_low.get(&a).copied(), self.by_low.get(&b).copied())
        else {
            return;
        };
        let (one, other) = (self.numbers[first].high, self.numbers[second].high);
        if let Some(high) = self.values.of_operation(bin, one, other) {
            let wide = match bin {
                Bin::And => Wide::And,
                Bin::Or => Wide::Or,
                _ => Wide::Xor,
            };
            self.add(Made::Two(wide, first, second), low, high);
        }
    }

    fn memory(&mut self, at: usize, ins: &Ins) {
        let (width, stores) = match ins.op {
            Op::Load(width) => (width, false),
            Op::Store(width) => (width, true),
            _ => {
                if !ins.is_pure() || ins.loads() {
                    self.open.clear();
                    self.fenced = matches!(ins.op, Op::Fence { .. });
                }
                return;
            }
        };
        let address = self.values.address(at, ins);
        let fenced = self.fenced && stores;
        self.fenced &= !stores;
        let value = if stores { Some(self.values.operands[at][1]) } else { self.values.made[at] };
        let other = value.filter(|_| width == Width::I32).and_then(|value| {
            let beside = |open: &Open| {
                let near = address.distance(open.address).is_some_and(|by| by.abs() == 4);
                let fits = !stores || self.halves(open, value, address).is_some();
                open.stores == stores && near && fits
            };
            self.open.iter().rposition(beside).zip(Some(value))
        });
        match other {
            Some((which, value)) if stores => {
                let open = self.open.remove(which);
                if let Some((number, above)) = self.halves(&open, value, address) {
                    self.stored.push(Stored { first: open.at, second: at, above, number });
                }
            }
            Some((which, value)) => {
                let open = &self.open[which];
                let above = address.distance(open.address).unwrap_or_default().max(0);
                let (low, high) = if above > 0 { (open.value, value) } else { (value, open.value) };
                self.add(Made::Load { at, above }, low, high);
            }
            None => {}
        }
        // What must not wait until behind this access does not wait any longer.
        self.open.retain(|open| {
            let both_load = !open.stores && !stores;
            !fenced && (both_load || address.is_apart(width.bytes(), open.address, 4))
        });
        let waits = width == Width::I32 && !fenced && !(stores && other.is_some());
        if let Some(value) = value.filter(|_| waits) {
            self.open.push(Open { at, address, value, stores });
        }
    }

    /// The number of which an open store and another one store the halves, and how far the other one is above it.
    fn halves(&self, open: &Open, value: Id, address: Address) -> Option<(usize, i32)> {
        let above = address.distance(open.address)?.max(0);
        let halves = if above > 0 { (open.value, value) } else { (value, open.value) };
        let number = *self.by_halves.get(&halves)?;
        (self.numbers[number].made != Made::Join).then_some((number, above))
    }
}
