//! Where exceptions go on that leave a call: the run time throws them as `trimtab.Unwinding`.
//!
//! Each call in a region of its function, or in none, is in a table of handlers. What catches there asks the language's
//! personality routine, which says that control goes on at the landing pad of the region, or lets the exception pass.

use super::Emitter;
use crate::classfile::{Kind, Label};
use crate::function::{Block, region};
use crate::ir::End;
use crate::unwind::Region;
use crate::vars::SP;

/// A call that an exception may leave.
pub(crate) struct Guarded {
    /// Where its code begins.
    from: Label,
    /// Where it ends.
    to: Label,
    /// An address that the call, or another one in the same region, returns to.
    address: u32,
    /// The block that takes the exception; none where it cannot go on.
    caught: Option<usize>,
}

impl Emitter<'_> {
    /// Notes a call whose code began at `from` and ends here, if its function looks at exceptions.
    pub(super) fn guard(&mut self, block: &Block, at: usize, from: Label) {
        let Some(regions) = &self.function.regions else { return };
        let address = block.ins[at].offset.cast_unsigned();
        let region = region(regions, address);
        let caught = match (region, &block.end) {
            (None, _) => None,
            (Some(Region { pad: Some(_), .. }), End::Try { .. }) => block.next.get(1).copied(),
            (Some(_), _) => return,
        };
        // Calls of one region are all alike; those in no region, too.
        let address = region.map_or(address, |region| region.start.wrapping_add(1));
        let to = self.code.label();
        self.code.bind(to);
        self.guarded.push(Guarded { from, to, address, caught });
    }

    /// What catches exceptions that leave the calls of this method.
    pub(super) fn landings(&mut self) {
        let mut guarded = std::mem::take(&mut self.guarded);
        let place = |guarded: &Guarded| match guarded.caught {
            Some(block) => (guarded.address, Some(block)),
            // One handler for all that are in no region.
            None => (0, None),
        };
        guarded.sort_by_key(place);
        for alike in guarded.chunk_by(|a, b| place(a) == place(b)) {
            let Guarded { address, caught, .. } = alike[0];
            let stretches: Vec<_> = alike.iter().map(|call| (call.from, call.to)).collect();
            let handler = self.code.label();
            let class = self.class.pool.class("trimtab/Unwinding");
            self.code.bind_catch(&stretches, handler, class);
            self.code.load(Kind::Cpu, 0);
            self.int(address.cast_signed());
            self.get(SP);
            let descriptor = "(Ljava/lang/Throwable;Ltrimtab/Cpu;II)V";
            self.run_time("trimtab/Unwind", "land", descriptor, 4, None);
            match caught {
                Some(block) => {
                    let label = self.labels[block];
                    self.code.jump(crate::classfile::op::GOTO, label, 0);
                }
                None => self.never(),
            }
        }
    }
}
