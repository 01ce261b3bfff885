//! What is written to `.eh_frame` of stubs, and of instructions that moved.

use std::ops::Range;

use super::Rewriter;
use crate::arch::Arch;
use crate::cfi;
use crate::elf::Relocation;
use crate::plan::Plan;
use crate::stub::Stub;
use crate::unwind::{Row, Unwind};

impl Rewriter<'_> {
    /// Appends to `.eh_frame`: a length is put in front, and it is filled up.
    fn write_record(&mut self, mut record: Vec<u8>) {
        record.resize(record.len().next_multiple_of(8) + 4, 0);
        let data = &mut self.object.sections[self.frames].data;
        data.extend((record.len() as u32).to_le_bytes());
        data.extend(record);
    }

    /// A relocation for what is next written to `.eh_frame`, so far behind the length.
    fn relocate_record(&mut self, field: u64, symbol: u32, addend: i64) {
        self.relocate_record_by(self.distance, field, symbol, addend);
    }

    fn relocate_record_by(&mut self, kind: u32, field: u64, symbol: u32, addend: i64) {
        let offset = self.object.sections[self.frames].data.len() as u64 + 4 + field;
        self.changes.add(self.frames, Relocation { offset, symbol, kind, addend });
    }

    /// The common part of the stubs' entries. Stubs that see exits have a personality: the run
    /// time learns from it that an exception passes.
    pub(super) fn write_common<A: Arch>(&mut self) -> u64 {
        let exits = self.hook.sees_exits();
        let mut record = 0u32.to_le_bytes().to_vec();
        record.push(1);
        record.extend(if exits { b"zPLR\0".as_slice() } else { b"zR\0" });
        // Code in steps of 1 byte, data in steps of -8, and the return address's number.
        record.extend([1, 0x78, A::RETURN as u8]);
        if exits {
            record.extend([7, 0x1b]);
            self.relocate_record(record.len() as u64, self.personality, 0);
            record.extend([0, 0, 0, 0, 0x1b, 0x1b]);
        } else {
            record.extend([1, 0x1b]);
        }
        let (register, offset) = A::ENTRY.cfa;
        cfi::define_cfa(&mut record, register, offset as u64);
        for &(register, offset) in A::ENTRY.saved {
            cfi::saved(&mut record, register, offset.unsigned_abs());
        }
        let at = self.object.sections[self.frames].data.len() as u64;
        self.write_record(record);
        at
    }

    /// The beginning of an entry: what it covers, in numbers as wide as the common part wants them.
    fn begin_entry(
        &mut self,
        (common, width): (u64, u8),
        section: usize,
        range: &Range<u64>,
    ) -> Vec<u8> {
        let field = self.object.sections[self.frames].data.len() as u64 + 4;
        let mut record = ((field - common) as u32).to_le_bytes().to_vec();
        let symbol = self.section_symbol(section);
        let kind = if width == 8 { self.wide_distance } else { self.distance };
        self.relocate_record_by(kind, 4, symbol, range.start as i64);
        let width = usize::from(width);
        record.extend(vec![0; width]);
        record.extend(&(range.end - range.start).to_le_bytes()[..width]);
        record
    }

    pub(super) fn write_unwind(
        &mut self,
        unwind: &Unwind,
        section: usize,
        range: Range<u64>,
        stub: &Stub,
        (table, entry): (u32, u64),
    ) {
        // A copy of a function that exceptions do not leave: they must not leave the copy.
        let handled = stub.copy.as_ref().and(unwind.table).and(unwind.exceptions);
        let common =
            if handled.is_some() { (unwind.common, unwind.width) } else { (self.common, 4) };
        let mut record = self.begin_entry(common, section, &range);
        if let Some(width) = handled {
            record.push(width);
            let found = self.object.relocation_at(self.frames, unwind.table_field).copied();
            if let Some(Relocation { symbol, kind, addend, .. }) = found {
                let field = self.object.sections[self.frames].data.len() + 4 + record.len();
                let offset = field as u64;
                self.changes.add(self.frames, Relocation { offset, symbol, kind, addend });
            }
            record.extend(vec![0; width.into()]);
        } else if self.hook.sees_exits() {
            record.push(4);
            self.relocate_record(record.len() as u64, table, entry as i64);
            record.extend([0; 4]);
        } else {
            record.push(0);
        }
        record.extend(&stub.unwind);
        self.write_record(record);
    }

    /// The moved instructions are as they were: the same rules hold at each of them.
    pub(super) fn write_body_unwind<A: Arch>(
        &mut self,
        plan: &Plan<'_, A>,
        section: usize,
        range: Range<u64>,
        places: &[(u64, u64)],
    ) {
        let mut record = self.begin_entry((plan.unwind.common, plan.unwind.width), section, &range);
        // Without data for exceptions they go on to the caller.
        let width = plan.unwind.exceptions.unwrap_or(0);
        record.push(width);
        record.extend(vec![0; width.into()]);
        let mut emitted: Vec<(u16, i64)> = A::ENTRY.saved.to_vec();
        let mut signed = false;
        let mut at = 0;
        let mut last: Option<&Row> = plan.unwind.rows.first();
        for &(from, to) in places {
            let row = plan.unwind.at(from - plan.function.start).or(last);
            let Some(row) = row.filter(|row| Some(*row) != last) else { continue };
            last = Some(row);
            let (Some((register, offset)), Some(saved)) = (row.cfa, &row.saved) else { continue };
            cfi::advance(&mut record, (to - at) / plan.unwind.code_step);
            at = to;
            cfi::define_cfa(&mut record, register, offset as u64);
            for &(register, _) in emitted.iter().filter(|rule| !saved.contains(rule)) {
                cfi::as_at_entry(&mut record, register);
            }
            for &(register, offset) in saved.iter().filter(|rule| !emitted.contains(rule)) {
                let steps = offset.unsigned_abs() / plan.unwind.data_step;
                cfi::saved_in_steps(&mut record, register, steps);
            }
            emitted.clone_from(saved);
            if row.signed != signed {
                cfi::negate_signed(&mut record);
                signed = row.signed;
            }
        }
        self.write_record(record);
    }
}
