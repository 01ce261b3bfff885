//! Operands, and instructions that have a value.

use super::plan::Plan;
use super::{BASE, Emitter};
use crate::classfile::{Kind, op};
use crate::function::Block;
use crate::ir::{Bin, Convert, Float, Op, Round, StandIn, Un, Val, Wide, Width};
use crate::vars::{HI, LO, Var};

impl Emitter<'_> {
    /// Pushes an operand of the instruction at `at`.
    pub(super) fn operand(&mut self, block: &Block, plan: &Plan, at: usize, value: Val) {
        match value {
            Val::Const(value) => self.int(value),
            Val::Var(var) => self.variable(block, plan, at, var),
        }
    }

    /// Pushes a variable, which may be made only here.
    pub(super) fn variable(&mut self, block: &Block, plan: &Plan, at: usize, var: Var) {
        match plan.source(at, var) {
            Some(source) => self.value(block, plan, source),
            None => self.get(var),
        }
    }

    /// Pushes an address as an index into memory.
    pub(super) fn address(&mut self, block: &Block, plan: &Plan, at: usize) {
        let ins = &block.ins[at];
        let offset = ins.offset.wrapping_sub(BASE);
        let (index, sum) = match (ins.a, ins.c) {
            (Val::Const(a), Val::Const(c)) => (None, a.wrapping_add(c)),
            (Val::Const(a), other) | (other, Val::Const(a)) => (Some(other), a),
            (a, c) => {
                self.operand(block, plan, at, a);
                self.operand(block, plan, at, c);
                self.code.op(op::IADD, -1);
                self.add(offset);
                return;
            }
        };
        let sum = sum.wrapping_add(offset);
        match index {
            None => self.int(sum),
            Some(index) => {
                self.operand(block, plan, at, index);
                self.add(sum);
            }
        }
    }

    /// Adds a constant to what is on the stack.
    fn add(&mut self, value: i32) {
        if value != 0 {
            self.int(value);
            self.code.op(op::IADD, -1);
        }
    }

    /// Pushes a handle for memory, and memory.
    pub(super) fn memory(&mut self, handle: Option<&str>) {
        if let Some(handle) = handle {
            let descriptor = "Ljava/lang/invoke/VarHandle;";
            let field = self.class.pool.field("trimtab/Memory", handle, descriptor);
            self.code.op_u16(op::GETSTATIC, field, 1);
        }
        let field = self.class.pool.field("trimtab/Memory", "M", "[B");
        self.code.op_u16(op::GETSTATIC, field, 1);
    }

    /// Reads or writes through a handle; `words` are what it takes off the stack.
    pub(super) fn handle(&mut self, name: &str, descriptor: &str, words: i32, result: i32) {
        let method = self.class.pool.method("java/lang/invoke/VarHandle", name, descriptor);
        self.code.op_u16(op::INVOKEVIRTUAL, method, result - words);
    }

    /// Pushes the value of an instruction that has one.
    pub(super) fn value(&mut self, block: &Block, plan: &Plan, at: usize) {
        // Long: a case for each operation.
        let ins = block.ins[at];
        match ins.op {
            Op::Copy => self.operand(block, plan, at, ins.a),
            Op::Bin(bin) if self.swaps_bytes(block, plan, at, bin) => {}
            Op::Bin(bin) => self.binary(block, plan, at, bin),
            Op::Un(un) => {
                self.operand(block, plan, at, ins.a);
                self.unary(un);
            }
            Op::Wide(wide) => self.wide(block, plan, at, wide),
            Op::Extract { low, size } => {
                self.operand(block, plan, at, ins.a);
                if low > 0 {
                    self.int(i32::from(low));
                    self.code.op(op::IUSHR, -1);
                }
                if low + size < 32 {
                    self.int(mask(size));
                    self.code.op(op::IAND, -1);
                }
            }
            Op::Insert { low, size } => {
                self.operand(block, plan, at, ins.b);
                self.int(!(mask(size) << low));
                self.code.op(op::IAND, -1);
                self.operand(block, plan, at, ins.a);
                self.int(mask(size));
                self.code.op(op::IAND, -1);
                self.int(i32::from(low));
                self.code.op(op::ISHL, -1);
                self.code.op(op::IOR, -1);
            }
            Op::Load(width) => {
                self.line(ins.pc);
                self.load(block, plan, at, width);
            }
            Op::LoadPart { left } => {
                self.operand(block, plan, at, ins.b);
                self.address(block, plan, at);
                let name = if left { "loadLeft" } else { "loadRight" };
                self.run_time("trimtab/Memory", name, "(II)I", 2, Some(Kind::Int));
            }
            Op::Thread => {
                self.code.load(Kind::Cpu, 0);
                let field = self.class.pool.field("trimtab/Cpu", "thread", "I");
                self.code.op_u16(op::GETFIELD, field, 0);
            }
            Op::Float(float) => self.float(block, plan, at, float),
            Op::FloatMulAdd { subtract, negate } if self.function.rounds => {
                let double = ins.is_double();
                for operand in [ins.a, ins.b] {
                    self.operand(block, plan, at, operand);
                }
                self.rounded("mul", double);
                self.operand(block, plan, at, ins.c);
                self.rounded(if subtract { "sub" } else { "add" }, double);
                if negate {
                    self.code.op(op::FNEG + u8::from(double), 0);
                }
            }
            Op::FloatMulAdd { subtract, negate } => {
                let double = ins.is_double();
                let wide = u8::from(double);
                let words = -(1 + i32::from(wide));
                self.operand(block, plan, at, ins.a);
                self.operand(block, plan, at, ins.b);
                self.code.op(op::FMUL + wide, words);
                self.operand(block, plan, at, ins.c);
                self.code.op(if subtract { op::FADD + 4 } else { op::FADD } + wide, words);
                if negate {
                    self.code.op(op::FNEG + wide, 0);
                }
            }
            Op::Convert(convert) => {
                self.operand(block, plan, at, ins.a);
                self.convert(convert);
            }
            Op::GetControl => {
                self.code.load(Kind::Cpu, 0);
                let field = self.class.pool.field("trimtab/Cpu", "control", "I");
                self.code.op_u16(op::GETFIELD, field, 0);
            }
            Op::Caught | Op::Result => self.get_field(ins.d.unwrap_or_default()),
            Op::StandIn(stand_in) => {
                self.code.load(Kind::Cpu, 0);
                for operand in [ins.a, ins.b, ins.c] {
                    self.operand(block, plan, at, operand);
                }
                let descriptor = "(Ltrimtab/Cpu;III)I";
                let StandIn { class, method, .. } = stand_in;
                self.run_time(class, method, descriptor, 4, Some(Kind::Int));
            }
            _ => self.int(0),
        }
    }

    /// `wsbh` and `rotr` by 16 swap the bytes of a word, and what `wsbh` leaves in its low half are those of half a word:
    /// processors have an instruction for the first.
    fn swaps_bytes(&mut self, block: &Block, plan: &Plan, at: usize, bin: Bin) -> bool {
        let ins = &block.ins[at];
        let is_whole = match (bin, ins.b) {
            (Bin::Rotr, Val::Const(16)) => true,
            (Bin::And, Val::Const(0xffff)) => false,
            _ => return false,
        };
        let Some(source) = ins.a.var().and_then(|a| plan.source(at, a)) else { return false };
        if block.ins[source].op != Op::Un(Un::SwapBytesOfHalves) {
            return false;
        }
        self.operand(block, plan, source, block.ins[source].a);
        self.run_time("java/lang/Integer", "reverseBytes", "(I)I", 1, Some(Kind::Int));
        if !is_whole {
            self.int(16);
            self.code.op(op::IUSHR, -1);
        }
        true
    }

    fn binary(&mut self, block: &Block, plan: &Plan, at: usize, bin: Bin) {
        let ins = block.ins[at];
        if let (Bin::Sub, Val::Const(0)) = (bin, ins.a) {
            self.operand(block, plan, at, ins.b);
            self.code.op(op::INEG, 0);
            return;
        }
        if let Bin::Slt | Bin::Sltu = bin {
            return self.less(block, plan, at, bin == Bin::Slt);
        }
        self.operand(block, plan, at, ins.a);
        if let (Bin::Nor, Val::Const(0)) = (bin, ins.b) {
            self.int(-1);
            self.code.op(op::IXOR, -1);
            return;
        }
        self.operand(block, plan, at, ins.b);
        let opcode = match bin {
            Bin::Add => op::IADD,
            Bin::Sub => op::ISUB,
            Bin::And => op::IAND,
            Bin::Or | Bin::Nor => op::IOR,
            Bin::Xor => op::IXOR,
            Bin::Shl => op::ISHL,
            Bin::Shr => op::IUSHR,
            Bin::Sar => op::ISHR,
            Bin::Mul => op::IMUL,
            Bin::Rotr => {
                self.run_time("java/lang/Integer", "rotateRight", "(II)I", 2, Some(Kind::Int));
                return;
            }
            Bin::Min => {
                self.run_time("java/lang/Math", "min", "(II)I", 2, Some(Kind::Int));
                return;
            }
            Bin::Slt | Bin::Sltu => return,
        };
        self.code.op(opcode, -1);
        if bin == Bin::Nor {
            self.int(-1);
            self.code.op(op::IXOR, -1);
        }
    }

    /// Pushes whether one integer is less than another one: the sign of their difference, as 64-bit numbers. What has no
    /// jumps HotSpot computes only where it is needed.
    fn less(&mut self, block: &Block, plan: &Plan, at: usize, signed: bool) {
        for operand in [block.ins[at].a, block.ins[at].b] {
            match operand {
                Val::Const(value) => {
                    let value =
                        if signed { i64::from(value) } else { i64::from(value.cast_unsigned()) };
                    self.code.long(&mut self.class.pool, value);
                }
                Val::Var(_) => {
                    self.operand(block, plan, at, operand);
                    self.widen(signed);
                }
            }
        }
        self.code.op(op::LSUB, -2);
        self.int(63);
        self.code.op(op::LUSHR, -1);
        self.code.op(op::L2I, -1);
    }

    fn wide(&mut self, block: &Block, plan: &Plan, at: usize, wide: Wide) {
        let ins = block.ins[at];
        match wide {
            Wide::Product { signed } => return self.product(block, plan, at, signed),
            Wide::ProductAdd { signed, subtract } => {
                self.operand(block, plan, at, ins.c);
                self.product(block, plan, at, signed);
                return self.code.op(if subtract { op::LSUB } else { op::LADD }, -2);
            }
            Wide::Join => {
                self.operand(block, plan, at, ins.b);
                self.code.op(op::I2L, 1);
                self.int(32);
                self.code.op(op::LSHL, -1);
                self.operand(block, plan, at, ins.a);
                self.widen(false);
                return self.code.op(op::LOR, -2);
            }
            _ => self.operand(block, plan, at, ins.a),
        }
        let (opcode, words) = match wide {
            Wide::Low => return self.code.op(op::L2I, -1),
            Wide::High => return self.high_word(),
            Wide::Extend { signed } => return self.widen(signed),
            Wide::Shl => (op::LSHL, -1),
            Wide::Shr => (op::LUSHR, -1),
            Wide::Sar => (op::LSHR, -1),
            Wide::Add => (op::LADD, -2),
            Wide::Sub => (op::LSUB, -2),
            Wide::Mul => (op::LMUL, -2),
            Wide::Div { .. } => (op::LDIV, -2),
            Wide::Rem { .. } => (op::LREM, -2),
            Wide::And => (op::LAND, -2),
            Wide::Or => (op::LOR, -2),
            _ => (op::LXOR, -2),
        };
        self.operand(block, plan, at, ins.b);
        let (name, descriptor, taken) = match wide {
            Wide::Rotl => ("rotateLeft", "(JI)J", 3),
            Wide::Div { signed: false } => ("divideUnsigned", "(JJ)J", 4),
            Wide::Rem { signed: false } => ("remainderUnsigned", "(JJ)J", 4),
            _ => return self.code.op(opcode, words),
        };
        self.run_time("java/lang/Long", name, descriptor, taken, Some(Kind::Long));
    }

    fn unary(&mut self, un: Un) {
        match un {
            Un::LeadingZeros | Un::LeadingOnes => {
                if un == Un::LeadingOnes {
                    self.int(-1);
                    self.code.op(op::IXOR, -1);
                }
                self.run_time(
                    "java/lang/Integer",
                    "numberOfLeadingZeros",
                    "(I)I",
                    1,
                    Some(Kind::Int),
                );
            }
            Un::SignByte => self.code.op(op::I2B, 0),
            Un::SignHalf => self.code.op(op::I2S, 0),
            Un::SwapBytesOfHalves => {
                self.run_time("trimtab/Memory", "swapHalves", "(I)I", 1, Some(Kind::Int));
            }
        }
    }

    fn load(&mut self, block: &Block, plan: &Plan, at: usize, width: Width) {
        match width {
            Width::I8 | Width::U8 => {
                self.memory(None);
                self.address(block, plan, at);
                self.code.op(op::BALOAD, -1);
                if width == Width::U8 {
                    self.int(255);
                    self.code.op(op::IAND, -1);
                }
            }
            Width::I16 | Width::U16 => {
                self.memory(Some("S"));
                self.address(block, plan, at);
                self.handle("get", "([BI)S", 3, 1);
                if width == Width::U16 {
                    self.code.op(op::I2C, 0);
                }
            }
            Width::I32 => {
                self.memory(Some("I"));
                self.address(block, plan, at);
                self.handle("get", "([BI)I", 3, 1);
            }
            Width::I64 => {
                self.memory(Some("L"));
                self.address(block, plan, at);
                self.handle("get", "([BI)J", 3, 2);
            }
            Width::F64 => {
                self.memory(Some("D"));
                self.address(block, plan, at);
                self.handle("get", "([BI)D", 3, 2);
            }
        }
    }

    fn float(&mut self, block: &Block, plan: &Plan, at: usize, float: Float) {
        let ins = block.ins[at];
        let double = ins.is_double();
        let (wide, kind) = if double { (1, Kind::Double) } else { (0, Kind::Float) };
        let words = i32::from(kind.slots());
        if matches!(float, Float::Reciprocal | Float::ReciprocalSqrt) {
            // `fconst_1` and `dconst_1`.
            self.code.op(if double { 0x0f } else { 0x0c }, words);
        }
        self.operand(block, plan, at, ins.a);
        let math = |name: &str, emitter: &mut Self| {
            let descriptor = if double { "(D)D" } else { "(F)F" };
            emitter.run_time("java/lang/Math", name, descriptor, words, Some(kind));
        };
        match float {
            Float::Add | Float::Sub | Float::Mul | Float::Div => {
                self.operand(block, plan, at, ins.b);
                if self.function.rounds {
                    let name = match float {
                        Float::Add => "add",
                        Float::Sub => "sub",
                        Float::Mul => "mul",
                        _ => "div",
                    };
                    return self.rounded(name, double);
                }
                let step = match float {
                    Float::Add => 0,
                    Float::Sub => 4,
                    Float::Mul => 8,
                    _ => 12,
                };
                self.code.op(op::FADD + wide + step, -words);
            }
            Float::Move => {}
            Float::Abs => math("abs", self),
            Float::Neg => self.code.op(op::FNEG + wide, 0),
            Float::Quiet => {
                let descriptor = if double { "(D)D" } else { "(F)F" };
                self.run_time("trimtab/Float", "quiet", descriptor, words, Some(kind));
            }
            Float::Sqrt => self.square_root(double),
            Float::Reciprocal => self.divide_floats(double),
            Float::ReciprocalSqrt => {
                self.square_root(double);
                self.divide_floats(double);
            }
        }
    }

    fn divide_floats(&mut self, double: bool) {
        if self.function.rounds {
            self.rounded("div", double);
        } else if double {
            self.code.op(op::FADD + 13, -2);
        } else {
            self.code.op(op::FADD + 12, -1);
        }
    }

    /// Arithmetic of two numbers on the stack, rounded as the control register says.
    fn rounded(&mut self, name: &str, double: bool) {
        self.code.load(Kind::Cpu, 0);
        let (descriptor, words, kind) = if double {
            ("(DDLtrimtab/Cpu;)D", 5, Kind::Double)
        } else {
            ("(FFLtrimtab/Cpu;)F", 3, Kind::Float)
        };
        self.run_time("trimtab/Rounding", name, descriptor, words, Some(kind));
    }

    /// Makes a `float` of the `double` on the stack, rounded as the control register says.
    fn rounded_to_single(&mut self) {
        self.code.load(Kind::Cpu, 0);
        let descriptor = "(DLtrimtab/Cpu;)F";
        self.run_time("trimtab/Rounding", "single", descriptor, 3, Some(Kind::Float));
    }

    fn square_root(&mut self, double: bool) {
        if self.function.rounds {
            self.code.load(Kind::Cpu, 0);
            let (descriptor, words, kind) = if double {
                ("(DLtrimtab/Cpu;)D", 3, Kind::Double)
            } else {
                ("(FLtrimtab/Cpu;)F", 2, Kind::Float)
            };
            self.run_time("trimtab/Rounding", "sqrt", descriptor, words, Some(kind));
            return;
        }
        // The root of a `float`, rounded from that as a `double`, is the right one.
        if !double {
            self.code.op(op::F2D, 1);
        }
        self.run_time("java/lang/Math", "sqrt", "(D)D", 2, Some(Kind::Double));
        if !double {
            self.code.op(op::D2F, -1);
        }
    }

    fn convert(&mut self, convert: Convert) {
        match convert {
            Convert::DoubleToSingle if self.function.rounds => self.rounded_to_single(),
            Convert::IntToSingle if self.function.rounds => {
                self.code.op(op::I2D, 1);
                self.rounded_to_single();
            }
            Convert::DoubleToSingle => self.code.op(op::D2F, -1),
            Convert::SingleToDouble => self.code.op(op::F2D, 1),
            Convert::IntToDouble => self.code.op(op::I2D, 1),
            Convert::IntToSingle => self.code.op(op::I2F, 0),
            Convert::LongToDouble { signed: true } => self.code.op(op::L2D, 0),
            Convert::LongToDouble { signed: false } => {
                self.run_time("trimtab/Float", "unsigned", "(J)D", 2, Some(Kind::Double));
            }
            Convert::LongToSingle => self.code.op(op::L2F, -1),
            Convert::DoubleToInt(round) => self.round(round),
            Convert::SingleToInt(round) => {
                self.code.op(op::F2D, 1);
                self.round(round);
            }
        }
    }

    fn round(&mut self, round: Round) {
        let name = match round {
            Round::Nearest => "nearest",
            Round::Zero => "towardsZero",
            Round::Up => "up",
            Round::Down => "down",
            Round::Current => {
                self.code.load(Kind::Cpu, 0);
                let descriptor = "(DLtrimtab/Cpu;)I";
                self.run_time("trimtab/Float", "current", descriptor, 3, Some(Kind::Int));
                return;
            }
        };
        self.run_time("trimtab/Float", name, "(D)I", 2, Some(Kind::Int));
    }

    /// Pushes both operands as 64-bit numbers and multiplies them.
    pub(super) fn product(&mut self, block: &Block, plan: &Plan, at: usize, signed: bool) {
        let ins = block.ins[at];
        for operand in [ins.a, ins.b] {
            self.operand(block, plan, at, operand);
            self.widen(signed);
        }
        self.code.op(op::LMUL, -2);
    }

    pub(super) fn widen(&mut self, signed: bool) {
        self.code.op(op::I2L, 1);
        if !signed {
            self.code.long(&mut self.class.pool, 0xffff_ffff);
            self.code.op(op::LAND, -2);
        }
    }

    /// Pops a 64-bit number into `HI` and `LO`, as far as they are live.
    pub(super) fn set_product(&mut self, high: bool, low: bool) {
        match (high, low) {
            (true, true) => {
                self.code.op(op::DUP2, 2);
                self.code.op(op::L2I, -1);
                self.set(LO);
                self.high_word();
                self.set(HI);
            }
            (true, false) => {
                self.high_word();
                self.set(HI);
            }
            (false, true) => {
                self.code.op(op::L2I, -1);
                self.set(LO);
            }
            (false, false) => self.code.op(op::POP2, -2),
        }
    }

    /// Makes the high half of a 64-bit number of it.
    pub(super) fn high_word(&mut self) {
        self.int(32);
        self.code.op(op::LUSHR, -1);
        self.code.op(op::L2I, -1);
    }
}

fn mask(size: u8) -> i32 {
    u32::MAX.checked_shr(32 - u32::from(size)).unwrap_or_default().cast_signed()
}
