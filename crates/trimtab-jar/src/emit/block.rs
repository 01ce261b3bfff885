//! The instructions of a block, and its end.

use super::compare::{compare_opcode, negated, zero_opcode};
use super::plan::{Plan, compares, fuses};
use super::{Emitter, Handover};
use crate::classfile::{Kind, Label, op};
use crate::function::Block;
use crate::ir::{Bin, Cond, End, Float, Ins, Op, Others, Val, Width};
use crate::vars::{DOUBLE, FLAG, HI, LO, SINGLE, V0, Var, Vars, forms, kind, other_half};

impl Emitter<'_> {
    /// The code of a block, with its label.
    pub(super) fn block(&mut self, index: usize) {
        let function = self.function;
        let block = &function.blocks[index];
        let plan = Plan::new(&self.facts, function, block);
        self.code.bind(self.labels[index]);
        if self.context.metered {
            self.meter(block.ins.len() + 1);
        }
        self.count(index);
        for at in 0..block.ins.len() {
            if !plan.silent[at] {
                self.line(block.ins[at].pc);
                self.instruction(block, &plan, at);
            }
        }
        // There, what was put off is evaluated.
        if let Some(last) = block.ins.last() {
            self.line(last.pc);
        }
        self.end(block, &plan);
    }

    fn instruction(&mut self, block: &Block, plan: &Plan, at: usize) {
        // Long: a case for each operation.
        let ins = block.ins[at];
        let live = plan.behind[at];
        match ins.op {
            Op::Nop => {}
            Op::Bin(Bin::Add) if self.increments(&ins, plan, at) => {}
            Op::FloatCompare { .. } => {
                self.flag(block, plan, at);
                self.derive(&ins, live);
            }
            Op::Select { when } => self.select(block, plan, at, when),
            Op::Float(Float::Quiet) if self.handover.is_some() => self.quiet(block, plan, at),
            Op::Store(width) => self.store(block, plan, at, width),
            Op::StorePart { left } => {
                self.operand(block, plan, at, ins.b);
                self.address(block, plan, at);
                let name = if left { "storeLeft" } else { "storeRight" };
                self.run_time("trimtab/Memory", name, "(II)V", 2, None);
            }
            Op::LoadLinked => {
                self.code.load(Kind::Cpu, 0);
                self.address(block, plan, at);
                let descriptor = "(Ltrimtab/Cpu;I)I";
                self.run_time("trimtab/Memory", "loadLinked", descriptor, 2, Some(Kind::Int));
                self.set_if_any(ins.d);
            }
            Op::StoreConditional => {
                self.code.load(Kind::Cpu, 0);
                self.address(block, plan, at);
                self.operand(block, plan, at, ins.b);
                let descriptor = "(Ltrimtab/Cpu;II)I";
                self.run_time("trimtab/Memory", "storeConditional", descriptor, 3, Some(Kind::Int));
                self.set_if_any(ins.d);
            }
            Op::Fence { full } => {
                let name = if full { "fullFence" } else { "acquireFence" };
                self.run_time("java/lang/invoke/VarHandle", name, "()V", 0, None);
            }
            Op::MulWide { signed } => {
                if live.has(HI) {
                    self.product(block, plan, at, signed);
                    self.set_product(true, live.has(LO));
                } else {
                    self.operand(block, plan, at, ins.a);
                    self.operand(block, plan, at, ins.b);
                    self.code.op(op::IMUL, -1);
                    self.set(LO);
                }
            }
            Op::MulAdd { signed, subtract } => {
                self.get(HI);
                self.code.op(op::I2L, 1);
                self.int(32);
                self.code.op(op::LSHL, -1);
                self.get(LO);
                self.widen(false);
                self.code.op(op::LOR, -2);
                self.product(block, plan, at, signed);
                self.code.op(if subtract { op::LSUB } else { op::LADD }, -2);
                self.set_product(live.has(HI), live.has(LO));
            }
            Op::DivWide { signed } => self.divide(&ins, live, signed),
            Op::Trap { cond, signed, code } => {
                self.operand(block, plan, at, ins.a);
                self.operand(block, plan, at, ins.b);
                self.trap(cond, signed, code);
            }
            Op::Break { code } => {
                self.int(i32::from(code));
                self.run_time("trimtab/Fault", "breakpoint", "(I)V", 1, None);
            }
            Op::Unknown => {
                self.int(ins.pc.cast_signed());
                self.int(ins.offset);
                self.run_time("trimtab/Fault", "unknown", "(II)V", 2, None);
            }
            Op::Syscall => self.system_call(live),
            Op::SetControl => {
                self.code.load(Kind::Cpu, 0);
                self.operand(block, plan, at, ins.a);
                let field = self.class.pool.field("trimtab/Cpu", "control", "I");
                self.code.op_u16(op::PUTFIELD, field, -2);
            }
            Op::Call(callee) => {
                let from = self.code.label();
                self.code.bind(from);
                self.call(block, plan, at, callee);
                self.guard(block, at, from);
            }
            _ => {
                self.value(block, plan, at);
                self.set_if_any(ins.d);
                self.derive(&ins, live);
            }
        }
    }

    /// Says which line of source an instruction is of. What was made part of the function from other files has the line
    /// before it.
    pub(super) fn line(&mut self, pc: u32) {
        if self.file.is_some()
            && let Some((file, line)) = self.context.lines.at(pc)
            && self.file == Some(file)
            && let Ok(line @ 1..) = u16::try_from(line)
        {
            self.code.line(line);
        }
    }

    pub(super) fn set_if_any(&mut self, d: Option<Var>) {
        match d {
            Some(d) => self.set(d),
            None => self.drop_top(Kind::Int),
        }
    }

    /// Adds a number to a variable where it is, if that is what the instruction does.
    fn increments(&mut self, ins: &Ins, plan: &Plan, at: usize) -> bool {
        let (Some(d), Val::Var(a), Val::Const(by)) = (ins.d, ins.a, ins.b) else { return false };
        match i16::try_from(by) {
            Ok(by) if a == d && self.has_slot(d) && plan.source(at, a).is_none() => {
                self.code.increment(self.slot(d), by);
                self.store_through(d);
                true
            }
            _ => false,
        }
    }

    /// Gives the other forms of what an instruction set their values, as far as they are live.
    pub(super) fn derive(&mut self, ins: &Ins, live: Vars) {
        if let Some(d) = ins.d {
            self.derive_from(d, live);
        }
    }

    pub(super) fn derive_from(&mut self, d: Var, live: Vars) {
        for form in forms(d).without(Vars::of(&[d])).and(live).iter() {
            match (d, form) {
                (DOUBLE..FLAG, _) => {
                    self.get(d);
                    let bits = "doubleToRawLongBits";
                    self.run_time("java/lang/Double", bits, "(D)J", 2, Some(Kind::Long));
                    if form_is_high(d, form) {
                        self.high_word();
                    } else {
                        self.code.op(op::L2I, -1);
                    }
                    if (SINGLE..DOUBLE).contains(&form) {
                        self.float_of_bits();
                    }
                }
                (_, DOUBLE..FLAG) => {
                    let Some(other) = other_half(d) else { continue };
                    let odd = (other & 1) == 1;
                    // Registers begin at an even number.
                    if odd {
                        self.get(other);
                    }
                    self.bits(d);
                    if !odd {
                        self.get(other);
                    }
                    self.run_time("trimtab/Float", "join", "(II)D", 2, Some(Kind::Double));
                }
                (SINGLE..DOUBLE, _) => self.bits(d),
                _ => {
                    self.get(d);
                    self.float_of_bits();
                }
            }
            self.set(form);
        }
    }

    /// Pushes the bits of a half.
    fn bits(&mut self, var: Var) {
        self.get(var);
        if (SINGLE..DOUBLE).contains(&var) {
            self.run_time("java/lang/Float", "floatToRawIntBits", "(F)I", 1, Some(Kind::Int));
        }
    }

    fn float_of_bits(&mut self) {
        self.run_time("java/lang/Float", "intBitsToFloat", "(I)F", 1, Some(Kind::Float));
    }

    /// Has a variable that is no number be a quiet one. What is cut into parts may be too large for HotSpot to have what
    /// it calls within it, so that it is made here.
    fn quiet(&mut self, block: &Block, plan: &Plan, at: usize) {
        let ins = block.ins[at];
        let Some(d) = ins.d else { return };
        let (number, double) = (self.code.label(), kind(d) == Kind::Double);
        self.operand(block, plan, at, ins.a);
        self.set(d);
        self.get(d);
        self.get(d);
        let (compare, words) = if double { (op::DCMPL, 4) } else { (op::FCMPL, 2) };
        self.code.op(compare, 1 - words);
        self.code.jump(zero_opcode(Cond::Ge), number, 1);
        let none = if double { "NONE" } else { "SMALL_NONE" };
        let field = self.class.pool.field("trimtab/Float", none, kind(d).descriptor());
        self.code.op_u16(op::GETSTATIC, field, words / 2);
        self.set(d);
        self.code.bind(number);
        self.derive(&ins, plan.behind[at]);
    }

    fn store(&mut self, block: &Block, plan: &Plan, at: usize, width: Width) {
        let value = block.ins[at].b;
        if let Some(name) = ordered_store(block, at, width) {
            self.operand(block, plan, at, value);
            self.address(block, plan, at);
            self.run_time("trimtab/Memory", name, "(II)V", 2, None);
            return;
        }
        let handle = match width {
            Width::I8 | Width::U8 => None,
            Width::I16 | Width::U16 => Some("S"),
            Width::I32 => Some("I"),
            Width::I64 => Some("L"),
            Width::F64 => Some("D"),
        };
        self.memory(handle);
        self.address(block, plan, at);
        self.operand(block, plan, at, value);
        match width {
            Width::I8 | Width::U8 => self.code.op(op::BASTORE, -3),
            Width::I16 | Width::U16 => {
                self.code.op(op::I2S, 0);
                self.handle("set", "([BIS)V", 4, 0);
            }
            Width::I32 => self.handle("set", "([BII)V", 4, 0),
            Width::I64 => self.handle("set", "([BIJ)V", 5, 0),
            Width::F64 => self.handle("set", "([BID)V", 5, 0),
        }
    }

    fn divide(&mut self, ins: &Ins, live: Vars, signed: bool) {
        let both = |emitter: &mut Self, opcode: u8, name: &str| {
            for operand in [ins.a, ins.b] {
                match operand {
                    Val::Const(value) => emitter.int(value),
                    Val::Var(var) => emitter.get(var),
                }
            }
            if signed {
                emitter.code.op(opcode, -1);
            } else {
                emitter.run_time("java/lang/Integer", name, "(II)I", 2, Some(Kind::Int));
            }
        };
        if live.has(LO) {
            both(self, op::IDIV, "divideUnsigned");
            self.set(LO);
        }
        if live.has(HI) {
            both(self, op::IREM, "remainderUnsigned");
            self.set(HI);
        }
    }

    /// Pops two numbers; stops the program if they are so related.
    fn trap(&mut self, cond: Cond, signed: bool, code: u16) {
        if !signed {
            self.run_time("java/lang/Integer", "compareUnsigned", "(II)I", 2, Some(Kind::Int));
        }
        let fine = self.code.label();
        let opposite = negated(cond);
        if signed {
            self.code.jump(compare_opcode(opposite), fine, 2);
        } else {
            self.code.jump(zero_opcode(opposite), fine, 1);
        }
        self.int(i32::from(code));
        self.run_time("trimtab/Fault", "trap", "(I)V", 1, None);
        self.code.bind(fine);
    }

    fn system_call(&mut self, live: Vars) {
        self.code.load(Kind::Cpu, 0);
        for var in [2, 4, 5, 6, 7, 29] {
            self.get(var);
        }
        let descriptor = "(Ltrimtab/Cpu;IIIIII)J";
        self.run_time("trimtab/Linux", "call", descriptor, 7, Some(Kind::Long));
        if live.has(7) {
            self.code.op(op::DUP2, 2);
            self.high_word();
            self.set(7);
        }
        self.code.op(op::L2I, -1);
        self.set(V0);
    }

    fn end(&mut self, block: &Block, plan: &Plan) {
        let at = block.ins.len();
        match &block.end {
            End::Jump(_) | End::Try { .. } => self.go(block, 0),
            End::Branch { cond, a, b, .. } => {
                let Some(taken) = block.next.first() else { return };
                let taken = self.labels[*taken];
                let compared = a
                    .var()
                    .filter(|a| fuses(&block.end, None, *a))
                    .and_then(|a| plan.source(at, a))
                    .filter(|source| compares(&block.ins[*source]));
                match (compared, a, b) {
                    (Some(source), _, _) => {
                        self.compare(block, plan, source, *cond == Cond::Ne, taken);
                    }
                    (None, a, Val::Const(0)) => {
                        self.operand(block, plan, at, *a);
                        self.code.jump(zero_opcode(*cond), taken, 1);
                    }
                    (None, a, b) => {
                        self.operand(block, plan, at, *a);
                        self.operand(block, plan, at, *b);
                        self.code.jump(compare_opcode(*cond), taken, 2);
                    }
                }
                self.go(block, 1);
            }
            End::Table { to, targets, is_goto } => {
                self.table(block, plan, *to, targets);
                if *is_goto {
                    self.nowhere(block, plan, *to);
                } else {
                    self.tail(block, plan, crate::ir::Callee::Through(*to));
                }
            }
            End::Switch { index, others, .. } => {
                match (self.switch(block, plan, *index, *others), others) {
                    (_, Others::Nowhere(to)) => self.nowhere(block, plan, *to),
                    (false, Others::Never) => self.never(),
                    _ => {}
                }
            }
            End::Return => self.give_back(block, plan),
            End::Tail(callee) => self.tail(block, plan, *callee),
            End::Away(to) => {
                self.code.load(Kind::Cpu, 0);
                self.operand(block, plan, at, *to);
                self.get(crate::vars::SP);
                self.get(V0);
                let descriptor = "(Ltrimtab/Cpu;III)V";
                self.run_time("trimtab/Jump", "away", descriptor, 4, None);
                self.never();
            }
            End::Stop => self.never(),
        }
    }

    /// Goes on at the block's successor, unless that comes next anyway.
    fn go(&mut self, block: &Block, which: usize) {
        if let Some(next) = block.next.get(which) {
            if self.following == Some(*next) {
                return;
            }
            let label = self.labels[*next];
            self.code.jump(op::GOTO, label, 0);
        } else {
            self.never();
        }
    }

    /// Ends code that control never reaches the end of, as the verifier wants it.
    pub(super) fn never(&mut self) {
        self.code.op(1, 1);
        self.code.op(op::ATHROW, -1);
    }

    fn table(&mut self, block: &Block, plan: &Plan, to: Val, targets: &[u32]) {
        let elsewhere = self.code.label();
        let first = targets.first().copied().unwrap_or_default();
        self.operand(block, plan, block.ins.len(), to);
        self.int(first.cast_signed());
        self.code.op(op::ISUB, -1);
        self.int(2);
        self.run_time("java/lang/Integer", "rotateRight", "(II)I", 2, Some(Kind::Int));
        let cases: Vec<(i32, Label)> = targets
            .iter()
            .zip(&block.next)
            .map(|(target, next)| {
                ((target.wrapping_sub(first) / 4).cast_signed(), self.labels[*next])
            })
            .collect();
        self.code.switch(&cases, elsewhere);
        self.code.bind(elsewhere);
    }

    /// A jump within the function to where no block begins.
    fn nowhere(&mut self, block: &Block, plan: &Plan, to: Val) {
        self.operand(block, plan, block.ins.len(), to);
        self.run_time("trimtab/Memory", "nowhere", "(I)V", 1, None);
        self.never();
    }

    /// A jump by a number; whether it is one of those that [`Emitter::dispatch`] makes.
    fn switch(&mut self, block: &Block, plan: &Plan, index: Val, others: Others) -> bool {
        let elsewhere = self.code.label();
        self.operand(block, plan, block.ins.len(), index);
        let known = self.dispatches.iter().find(|known| known.key == block.key).cloned();
        if let Some(known) = &known {
            self.dispatch(block, known, others, elsewhere);
        } else {
            let mut labels: Vec<Label> = block.next.iter().map(|next| self.labels[*next]).collect();
            let last = if others == Others::Last { labels.pop() } else { None };
            let cases: Vec<(i32, Label)> = (0..).zip(labels).collect();
            self.code.switch(&cases, last.unwrap_or(elsewhere));
        }
        self.code.bind(elsewhere);
        known.is_some()
    }

    /// Leaves for another method of the function: notes where to go on. What that needs is put back from `leave` on.
    pub(super) fn hand_over(&mut self, next: i32, leave: Label) {
        if let Some(Handover { state, .. }) = self.handover {
            self.int(next);
            self.code.store(Kind::Int, state);
            self.code.jump(op::GOTO, leave, 0);
        }
    }
}

fn form_is_high(pair: Var, form: Var) -> bool {
    let even = (pair - DOUBLE) * 2;
    let number = if form < SINGLE { form - crate::vars::BITS } else { form - SINGLE };
    number != even
}

/// The method for a store that C calls atomic: compilers put a `sync` in front of it. Where Java has
/// no conditional stores into arrays of bytes, such ones must not come in between of their emulation.
fn ordered_store(block: &Block, at: usize, width: Width) -> Option<&'static str> {
    let name = match width {
        Width::I8 | Width::U8 => "storeByte",
        Width::I16 | Width::U16 => "storeShort",
        Width::I32 => "storeInt",
        Width::I64 | Width::F64 => return None,
    };
    let mut before = block.ins[..at].iter().rev().filter(|ins| !ins.is_pure());
    matches!(before.next()?.op, Op::Fence { full: true }).then_some(name)
}
