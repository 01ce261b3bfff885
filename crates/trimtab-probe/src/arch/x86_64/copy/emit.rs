//! Writes the copy of a function into its stub.

use std::collections::HashSet;

use super::{Copy, CopyInsn, Distance, JumpTarget, Kind};
use crate::arch::x86_64::alignment;
use crate::arch::x86_64::asm::{Assembler, Label, Return, State};
use crate::arch::x86_64::dwarf::RSP;
use crate::error::ProbeError;
use crate::stub::{BodyCopy, BranchFixup, CopyRange};
use crate::unwind::Row;

/// Bytes between the return address and the function's own part of the stack: a word of the stub's,
/// and one in the place of the return address.
const BETWEEN: i64 = 16;
/// What holds where the function returns.
const AT_RETURN: State = State { depth: 8 + BETWEEN, place: Return::Stack };
/// Where what [`Assembler::return_to`] writes is returned to: behind a call.
const RETURN_TO: usize = 5;
/// What holds when it has returned.
const LEFT: State = State { depth: AT_RETURN.depth - 8, place: Return::Stack };

/// Where the parts of a copy are.
pub struct CopyLayout {
    /// What is to be linked.
    pub inside: BodyCopy,
    /// Where calls return to, and the frame address of the function there: register and offset.
    pub sites: Vec<(usize, (u16, i64))>,
    /// Jump tables, and where they lead, to be written behind the code.
    pub tables: Vec<(Label, Vec<Label>)>,
    /// Jumps within the function: the number of the instruction, where it ends, and where it leads.
    jumps: Vec<(usize, usize, Label)>,
    /// Where there may be padding.
    padded: Vec<usize>,
}

impl CopyLayout {
    /// The jumps that would reach in the short form.
    pub fn short(&self, asm: &Assembler) -> HashSet<usize> {
        let reaches = |&&(_, end, label): &&(usize, usize, Label)| {
            let target = asm.offset(label).unwrap_or(usize::MAX);
            let between = end.min(target)..=end.max(target);
            // Padding is longer where what is in front of it is shorter.
            let padded = self.padded.iter().filter(|at| between.contains(at)).count();
            // One that leads back is shorter itself, and where it ends is nearer.
            target.abs_diff(end) + padded * alignment::LONGEST <= i8::MAX as usize
        };
        self.jumps.iter().filter(reaches).map(|(index, ..)| *index).collect()
    }
}

/// What is known while a copy is written.
struct Emission<'c> {
    layout: CopyLayout,
    /// Of each instruction.
    labels: Vec<Label>,
    /// Jumps that are known to reach in the short form, by the number of the instruction.
    short: &'c HashSet<usize>,
    /// Where the function returns, and what comes behind that.
    returned: Label,
    after_return: Label,
    /// Whether these have been written.
    is_left: bool,
    /// What is behind the rest: tail calls on a condition, and jumps to parts that are elsewhere.
    tail_calls: Vec<(Label, JumpTarget)>,
    cold_parts: Vec<(Label, &'c Row, JumpTarget)>,
    /// The row that was emitted last; none where the stub's own state was.
    last_row: Option<&'c Row>,
}

impl Copy {
    /// Writes the copy. Where the function returns first, `leave` writes what happens at its end,
    /// from where the word in the place of the return address is gone. Jumps that are known to be
    /// `short` have the short form.
    pub fn write<W>(
        &self,
        writer: &mut W,
        short: &HashSet<usize>,
        asm: impl Fn(&mut W) -> &mut Assembler,
        mut leave: impl FnMut(&mut W) -> Result<(), ProbeError>,
    ) -> Result<CopyLayout, ProbeError> {
        let mut emission = Emission::of(self, short, asm(writer));
        for (index, it) in self.instructions.iter().enumerate() {
            let asm_ = asm(writer);
            emission.begin(asm_, index, it);
            if it.kind != Kind::Return {
                emission.instruction(asm_, index, it)?;
                continue;
            }
            emission.last_row = None;
            asm_.resume(AT_RETURN);
            if emission.is_left {
                asm_.jump(emission.returned);
                continue;
            }
            emission.is_left = true;
            asm_.bind(emission.returned);
            asm_.drop(8)?;
            asm_.bind(emission.after_return);
            leave(writer)?;
        }
        emission.conditional_ends(asm(writer))?;
        if !emission.is_left {
            let asm = asm(writer);
            asm.resume(LEFT);
            asm.bind(emission.after_return);
            leave(writer)?;
        }
        Ok(emission.layout)
    }
}

impl<'c> Emission<'c> {
    fn of(copy: &Copy, short: &'c HashSet<usize>, asm: &mut Assembler) -> Self {
        let labels: Vec<Label> = copy.instructions.iter().map(|_| asm.label()).collect();
        let table = |targets: &Vec<usize>| {
            (asm.label(), targets.iter().map(|&target| labels[target]).collect())
        };
        let tables = copy.tables.iter().map(table).collect();
        let inside = BodyCopy { copied: Vec::new(), branches: Vec::new() };
        let layout =
            CopyLayout { inside, sites: Vec::new(), tables, jumps: Vec::new(), padded: Vec::new() };
        Self {
            layout,
            labels,
            short,
            returned: asm.label(),
            after_return: asm.label(),
            is_left: false,
            tail_calls: Vec::new(),
            cold_parts: Vec::new(),
            last_row: None,
        }
    }

    /// The place of an instruction, at the alignment that the compiler requested.
    fn begin(&mut self, asm: &mut Assembler, index: usize, it: &CopyInsn) {
        if let Some(alignment) = it.alignment {
            alignment::fill(&mut asm.code, alignment);
            self.layout.padded.push(asm.code.len());
        }
        asm.bind(self.labels[index]);
    }

    /// Anything but a return.
    fn instruction(
        &mut self,
        asm: &mut Assembler,
        index: usize,
        it: &'c CopyInsn,
    ) -> Result<(), ProbeError> {
        match it.kind {
            Kind::Padding | Kind::Return => return Ok(()),
            Kind::TailCall(None, end) => {
                self.last_row = None;
                return self.tail_call(asm, end);
            }
            Kind::IndirectTailCall => {
                self.last_row = None;
                asm.resume(AT_RETURN);
                asm.drop(8)?;
                let to = asm.code.len();
                asm.instruction(&called(&it.bytes));
                self.layout.inside.copied.push(CopyRange { from: it.at.clone(), to });
                self.layout.sites.push((asm.code.len(), (RSP, 0)));
                asm.jump(self.after_return);
                return Ok(());
            }
            Kind::ColdPart(None, end) => {
                self.last_row = None;
                self.jump_to_cold_part(asm, &it.row, end);
                return Ok(());
            }
            _ => {}
        }
        if self.last_row != Some(&it.row) {
            asm.emit_row_of(&it.row, BETWEEN);
            self.last_row = Some(&it.row);
        }
        self.within(asm, index, it);
        if let (Kind::Call | Kind::Near(_), Some(cfa)) = (it.kind, it.row.cfa) {
            self.layout.sites.push((asm.code.len(), cfa));
        }
        Ok(())
    }

    /// An instruction behind which the function goes on, or may.
    fn within(&mut self, asm: &mut Assembler, index: usize, it: &'c CopyInsn) {
        match it.kind {
            Kind::Branch(condition, to) => {
                if self.short.contains(&index) {
                    asm.jump_shortly(condition, self.labels[to]);
                } else {
                    asm.jump_on(condition, self.labels[to]);
                }
                self.layout.jumps.push((index, asm.code.len(), self.labels[to]));
            }
            Kind::TailCall(Some(condition), end) => {
                let label = asm.label();
                asm.jump_on(Some(condition), label);
                self.tail_calls.push((label, end));
            }
            Kind::ColdPart(Some(condition), end) => {
                let label = asm.label();
                asm.jump_on(Some(condition), label);
                self.cold_parts.push((label, &it.row, end));
            }
            Kind::TableAddress(table) => {
                let (label, _) = self.layout.tables[table];
                asm.address_of(&it.bytes, label);
            }
            Kind::Near(to) => {
                let field = asm.call_elsewhere();
                let from = Some(it.at.end - 4);
                self.layout.inside.branches.push(BranchFixup { from, field, to });
            }
            Kind::Relative(Distance { field, to }) => {
                let at = asm.code.len() + (field - it.at.start) as usize;
                asm.code.extend(&it.bytes);
                let from = Some(field);
                self.layout.inside.branches.push(BranchFixup { from, field: at, to });
            }
            _ => {
                let to = asm.code.len();
                asm.code.extend(&it.bytes);
                self.layout.inside.copied.push(CopyRange { from: it.at.clone(), to });
            }
        }
    }

    /// What conditional jumps out of the function lead to.
    fn conditional_ends(&mut self, asm: &mut Assembler) -> Result<(), ProbeError> {
        for (label, end) in std::mem::take(&mut self.tail_calls) {
            asm.bind(label);
            self.tail_call(asm, end)?;
        }
        for (label, row, end) in std::mem::take(&mut self.cold_parts) {
            asm.bind(label);
            self.jump_to_cold_part(asm, row, end);
        }
        Ok(())
    }

    /// A tail call becomes a call.
    fn tail_call(&mut self, asm: &mut Assembler, end: JumpTarget) -> Result<(), ProbeError> {
        asm.resume(AT_RETURN);
        asm.drop(8)?;
        let field = asm.call_elsewhere();
        self.layout.inside.branches.push(BranchFixup { from: end.field, field, to: end.to });
        // The frame address of the function is the stack pointer here.
        self.layout.sites.push((asm.code.len(), (RSP, 0)));
        asm.jump(self.after_return);
        Ok(())
    }

    /// A jump to a part of the function that is elsewhere. From there it goes on in its old place, and
    /// returns to the stub.
    fn jump_to_cold_part(&mut self, asm: &mut Assembler, row: &Row, end: JumpTarget) {
        let returned = asm.code.len() + RETURN_TO;
        asm.return_to(self.after_return, LEFT, row, BETWEEN);
        self.layout.sites.push((returned, (RSP, 0)));
        let field = asm.jump_elsewhere();
        self.layout.inside.branches.push(BranchFixup { from: end.field, field, to: end.to });
    }
}

/// A jump through a register or memory as a call.
fn called(jump: &[u8]) -> Vec<u8> {
    let mut call = jump.to_vec();
    // Behind prefixes, which are less: the number of the operation is in the middle of the byte.
    if let Some(operands) = call.iter().position(|byte| *byte == 0xff).map(|opcode| opcode + 1)
        && let Some(operands) = call.get_mut(operands)
    {
        *operands = *operands & !0x38 | 2 << 3;
    }
    call
}
