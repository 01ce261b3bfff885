//! Counting how often each block runs.

use super::Emitter;
use crate::classfile::op;

impl Emitter<'_> {
    /// Counts a block, by its index, if the program is translated with counters.
    pub(super) fn count(&mut self, index: usize) {
        let Some(first) = self.context.counters.and_then(|all| all.get(&self.function.start))
        else {
            return;
        };
        let number = first + index as u32;
        let counts = self.class.pool.field("trimtab/Counts", "COUNTS", "[J");
        self.code.op_u16(op::GETSTATIC, counts, 1);
        self.int(number.cast_signed());
        self.code.op(op::DUP2, 2);
        // An element and 1 are as large as both that they take the place of.
        self.code.op(op::LALOAD, 0);
        self.code.op(op::LCONST_1, 2);
        self.code.op(op::LADD, -2);
        self.code.op(op::LASTORE, -4);
    }
}
