//! Counting instructions, so that they can be limited and the program be stopped anywhere.

use super::Emitter;
use crate::classfile::{Kind, op};

impl Emitter<'_> {
    /// Takes the instructions of a block from what the thread may still run.
    pub(super) fn meter(&mut self, instructions: usize) {
        let fuel = self.class.pool.field("trimtab/Cpu", "fuel", "I");
        self.code.load(Kind::Cpu, 0);
        self.code.load(Kind::Cpu, 0);
        self.code.op_u16(op::GETFIELD, fuel, 0);
        self.int(instructions as i32);
        self.code.op(op::ISUB, -1);
        self.code.op_u16(op::PUTFIELD, fuel, -2);
        self.code.load(Kind::Cpu, 0);
        self.code.op_u16(op::GETFIELD, fuel, 0);
        let enough = self.code.label();
        // `ifge`.
        self.code.jump(op::IFEQ + 3, enough, 1);
        self.code.load(Kind::Cpu, 0);
        self.run_time("trimtab/Fuel", "spent", "(Ltrimtab/Cpu;)V", 1, None);
        self.code.bind(enough);
    }
}
