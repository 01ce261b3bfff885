//! Comparisons, and what they choose.

use super::Emitter;
use super::plan::{Plan, compares};
use crate::classfile::{Kind, Label, op};
use crate::function::Block;
use crate::ir::{Bin, Cond, Op, Val};

impl Emitter<'_> {
    /// Sets a variable to whether a comparison holds.
    pub(super) fn flag(&mut self, block: &Block, plan: &Plan, at: usize) {
        let d = block.ins[at].d;
        let (yes, done) = (self.code.label(), self.code.label());
        self.compare(block, plan, at, true, yes);
        self.int(0);
        self.set_if_any(d);
        self.code.jump(op::GOTO, done, 0);
        self.code.bind(yes);
        self.int(1);
        self.set_if_any(d);
        self.code.bind(done);
    }

    /// Jumps if the comparison of an instruction holds, or if it does not.
    pub(super) fn compare(&mut self, block: &Block, plan: &Plan, at: usize, when: bool, to: Label) {
        // Long: a case for each kind of comparison.
        let ins = block.ins[at];
        match ins.op {
            Op::Bin(bin) => {
                self.operand(block, plan, at, ins.a);
                if bin == Bin::Sltu {
                    self.flip_sign();
                }
                match ins.b {
                    Val::Const(value) if bin == Bin::Sltu => self.int(value ^ i32::MIN),
                    other => {
                        self.operand(block, plan, at, other);
                        if bin == Bin::Sltu {
                            self.flip_sign();
                        }
                    }
                }
                let cond = if when { Cond::Lt } else { Cond::Ge };
                self.code.jump(compare_opcode(cond), to, 2);
            }
            Op::FloatCompare { bits } => {
                let double = ins.is_double();
                let words = if double { 2 } else { 1 };
                // The fourth bit only says what raises an exception.
                let bits = bits & 7;
                match bits {
                    0 => self.int(0),
                    _ => {
                        self.operand(block, plan, at, ins.a);
                        self.operand(block, plan, at, ins.b);
                    }
                }
                // `fcmpl` and `dcmpl` give -1 for numbers that have no order, the others 1.
                let (lower, upper) =
                    if double { (op::DCMPL, op::DCMPG) } else { (op::FCMPL, op::FCMPG) };
                let (opcode, cond) = match bits {
                    0 => (0, Cond::Ne),
                    1 | 3 => {
                        let name = if bits == 1 { "unordered" } else { "unorderedOrEqual" };
                        let descriptor = if double { "(DD)I" } else { "(FF)I" };
                        self.run_time(
                            "trimtab/Float",
                            name,
                            descriptor,
                            2 * words,
                            Some(Kind::Int),
                        );
                        (0, Cond::Ne)
                    }
                    2 => (lower, Cond::Eq),
                    4 => (upper, Cond::Lt),
                    5 => (lower, Cond::Lt),
                    6 => (upper, Cond::Le),
                    _ => (lower, Cond::Le),
                };
                if opcode != 0 {
                    self.code.op(opcode, 1 - 2 * words);
                }
                let cond = if when { cond } else { negated(cond) };
                self.code.jump(zero_opcode(cond), to, 1);
            }
            _ => {}
        }
    }

    /// For a comparison of unsigned numbers. HotSpot makes one of the processor's of two sums with the least number, and
    /// does not of what is flipped by `ixor`.
    fn flip_sign(&mut self) {
        self.int(i32::MIN);
        self.code.op(op::IADD, -1);
    }

    pub(super) fn select(&mut self, block: &Block, plan: &Plan, at: usize, when: bool) {
        let ins = block.ins[at];
        let Some(d) = ins.d else { return };
        let live = plan.behind[at];
        let (skip, done) = (self.code.label(), self.code.label());
        // What is evaluated here may read what `d` held before: it is set last on each way.
        let compared = ins.c.var().and_then(|c| plan.source(at, c));
        match compared.filter(|source| compares(&block.ins[*source])) {
            Some(source) => self.compare(block, plan, source, !when, skip),
            None => {
                self.operand(block, plan, at, ins.c);
                self.code.jump(if when { op::IFEQ } else { op::IFNE }, skip, 1);
            }
        }
        self.operand(block, plan, at, ins.a);
        self.set(d);
        // Mostly `b` is what `d` holds already.
        let holds = ins.b == Val::Var(d) && plan.source(at, d).is_none();
        if holds {
            self.code.bind(skip);
        } else {
            self.code.jump(op::GOTO, done, 0);
            self.code.bind(skip);
            self.operand(block, plan, at, ins.b);
            self.set(d);
            self.code.bind(done);
        }
        self.derive_from(d, live);
    }
}

pub(super) fn negated(cond: Cond) -> Cond {
    match cond {
        Cond::Eq => Cond::Ne,
        Cond::Ne => Cond::Eq,
        Cond::Lt => Cond::Ge,
        Cond::Ge => Cond::Lt,
        Cond::Gt => Cond::Le,
        Cond::Le => Cond::Gt,
    }
}

fn order(cond: Cond) -> u8 {
    match cond {
        Cond::Eq => 0,
        Cond::Ne => 1,
        Cond::Lt => 2,
        Cond::Ge => 3,
        Cond::Gt => 4,
        Cond::Le => 5,
    }
}

pub(super) fn zero_opcode(cond: Cond) -> u8 {
    op::IFEQ + order(cond)
}

pub(super) fn compare_opcode(cond: Cond) -> u8 {
    op::IF_ICMPEQ + order(cond)
}
