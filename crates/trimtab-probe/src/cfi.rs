//! Unwind information as `.eh_frame` has it: the instructions of DWARF that stubs need, for any
//! machine.

use gimli::{constants, leb128};

use crate::abi::{FRAME_RETURN, FRAME_SAVED};

/// `DW_CFA_advance_loc` in its shortest form.
pub fn advance(out: &mut Vec<u8>, bytes: u64) {
    match bytes {
        0 => {}
        1..64 => out.push(constants::DW_CFA_advance_loc.0 | bytes as u8),
        64..256 => out.extend([constants::DW_CFA_advance_loc1.0, bytes as u8]),
        256..65536 => {
            out.push(constants::DW_CFA_advance_loc2.0);
            out.extend((bytes as u16).to_le_bytes());
        }
        _ => {
            out.push(constants::DW_CFA_advance_loc4.0);
            out.extend((bytes as u32).to_le_bytes());
        }
    }
}

/// An unsigned number, as DWARF has it.
pub fn number(out: &mut Vec<u8>, value: u64) {
    // Writing to memory does not fail.
    let _ = leb128::write::unsigned(out, value);
}

fn signed_number(out: &mut Vec<u8>, value: i64) {
    let _ = leb128::write::signed(out, value);
}

/// `DW_CFA_def_cfa`.
pub fn define_cfa(out: &mut Vec<u8>, register: u16, offset: u64) {
    out.push(constants::DW_CFA_def_cfa.0);
    number(out, register.into());
    number(out, offset);
}

/// A register is at the frame address less `below` bytes, a multiple of 8.
pub fn saved(out: &mut Vec<u8>, register: u16, below: u64) {
    saved_in_steps(out, register, below / 8);
}

/// A register is so many steps below the frame address.
pub fn saved_in_steps(out: &mut Vec<u8>, register: u16, steps: u64) {
    with_register(out, constants::DW_CFA_offset.0, constants::DW_CFA_offset_extended.0, register);
    number(out, steps);
}

/// `DW_CFA_restore`: as at the entry.
pub fn as_at_entry(out: &mut Vec<u8>, register: u16) {
    with_register(out, constants::DW_CFA_restore.0, constants::DW_CFA_restore_extended.0, register);
}

/// An instruction of DWARF that has room for small numbers of registers, and a longer form.
fn with_register(out: &mut Vec<u8>, short: u8, long: u8, register: u16) {
    if register < 64 {
        out.push(short | register as u8);
    } else {
        out.push(long);
        number(out, register.into());
    }
}

/// `DW_CFA_register`: a register is in another one.
pub fn in_register(out: &mut Vec<u8>, register: u16, other: u16) {
    out.push(constants::DW_CFA_register.0);
    number(out, register.into());
    number(out, other.into());
}

/// `DW_CFA_AARCH64_negate_ra_state`: from here on the return address is signed, or no longer.
pub fn negate_signed(out: &mut Vec<u8>) {
    out.push(constants::DW_CFA_AARCH64_negate_ra_state.0);
}

/// How an expression gives a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// It is saved there: `DW_CFA_expression`.
    Saved = constants::DW_CFA_expression.0 as isize,
    /// It has that value: `DW_CFA_val_expression`.
    Value = constants::DW_CFA_val_expression.0 as isize,
}

/// A rule by which a register is at, or has the value of, another one plus an offset.
pub fn by_register(out: &mut Vec<u8>, rule: Rule, register: u16, base: u16, offset: i64) {
    let mut expression = vec![constants::DW_OP_breg0.0 + base as u8];
    signed_number(&mut expression, offset);
    out.push(rule as u8);
    number(out, register.into());
    number(out, expression.len() as u64);
    out.extend(expression);
}

/// What a stub is known by whose function is under way.
#[derive(Debug, Clone, Copy)]
pub struct StubFrame {
    /// Number of the stack pointer.
    pub stack: u16,
    /// Number of the register that points at the stub's frame.
    pub frame: u16,
    /// Its code where the function returns to: 4 bytes or 8.
    pub mark: &'static [u8],
    /// The instruction that handlers of signals return to, where unwinders know it by itself and
    /// expect what it works on exactly at the frame address.
    pub signal_return: Option<u32>,
}

/// `DW_CFA_def_cfa_expression` for a stub whose function is under way, and has its return address in
/// the frame that a register points at.
///
/// The stub itself has nothing on the stack: its frame address would be that of the function behind
/// it. But unwinders tell frames apart by their address. So it is said to be a little higher: at an
/// odd place above the function's. Functions that were reached by jumps, each behind the end of the
/// one before, all have their stubs there; each is put 2 bytes below the one before. How many there
/// are the expression finds out itself: the return address of one is in the stub of the other then,
/// where the mark is found, and the register was the other's frame.
///
/// With X for the stack pointer after the return, and n for the number of stubs below, the address
/// is X + 9 - 2n. It is unique among the frames further down, which is all that is compared. Where no
/// handler of signals has to be told apart, n is at most [`COUNTED`].
pub fn define_cfa_of_stub(out: &mut Vec<u8>, stub: &StubFrame) {
    let expression = match stub.signal_return {
        Some(signal_return) => by_loop(stub, signal_return),
        None => without_branches(stub),
    };
    out.push(constants::DW_CFA_def_cfa_expression.0);
    number(out, expression.len() as u64);
    out.extend(expression);
}

/// So many stubs below one are told apart where the expression has no branches; each makes it four times
/// as long.
const COUNTED: usize = 2;

/// The expression in the operations that valgrind knows: it ends with an error where it finds another one
/// (3.19: also a copy of the uppermost number), and goes by the register of no stub anyway.
///
/// With F for a frame, and c for whether it returns to a stub, the frame of that is F + c (saved - F). Its
/// own c is 0 if that of the one before is.
fn without_branches(stub: &StubFrame) -> Vec<u8> {
    use constants::*;
    let breg = |register: u16| DW_OP_breg0.0 + register as u8;
    // The upper half of the mark is enough: no compiler writes it.
    let (_, mark) = stub.mark.split_at(stub.mark.len() / 2);
    let mut expression = vec![breg(stub.stack), 9];
    let mut frame = vec![breg(stub.frame), 0];
    for counted in 0..COUNTED {
        let mut chained = frame.clone();
        chained.extend([DW_OP_plus_uconst.0, FRAME_RETURN as u8, DW_OP_deref.0, DW_OP_deref.0]);
        chained.extend([DW_OP_const1u.0, 32, DW_OP_shr.0, DW_OP_const4u.0]);
        chained.extend(mark);
        chained.push(DW_OP_eq.0);
        expression.extend(&chained);
        expression.extend([DW_OP_lit1, DW_OP_shl, DW_OP_minus].map(|operation| operation.0));
        if counted + 1 < COUNTED {
            let mut next = frame.clone();
            next.extend([DW_OP_plus_uconst.0, FRAME_SAVED as u8, DW_OP_deref.0]);
            next.extend(&frame);
            next.push(DW_OP_minus.0);
            next.extend(chained);
            next.push(DW_OP_mul.0);
            next.extend(&frame);
            next.push(DW_OP_plus.0);
            frame = next;
        }
    }
    expression
}

/// The expression with a loop; where the last of the frames returns to a handler of signals, the address is
/// not higher.
fn by_loop(stub: &StubFrame, signal_return: u32) -> Vec<u8> {
    use constants::*;
    let breg = |register: u16| DW_OP_breg0.0 + register as u8;
    let mut expression = vec![breg(stub.stack), 0, breg(stub.frame), 0];
    let start = expression.len() as i16;
    let plus = DW_OP_plus_uconst.0;
    let dereference = DW_OP_deref.0;
    expression.extend([DW_OP_dup.0, plus, FRAME_RETURN as u8, dereference]);
    expression.extend([DW_OP_deref_size.0, 4, DW_OP_const4u.0]);
    expression.extend(stub.mark);
    expression.extend([DW_OP_ne.0, DW_OP_bra.0]);
    let step = [plus, FRAME_SAVED as u8, dereference].into_iter().chain(
        [DW_OP_swap, DW_OP_lit2, DW_OP_minus, DW_OP_swap, DW_OP_skip].map(|operation| operation.0),
    );
    let step: Vec<u8> = step.collect();
    expression.extend((step.len() as i16 + 2).to_le_bytes());
    expression.extend(step);
    expression.extend((start - (expression.len() as i16 + 2)).to_le_bytes());
    expression.extend([plus, FRAME_RETURN as u8, dereference, DW_OP_deref_size.0, 4]);
    expression.push(DW_OP_const4u.0);
    expression.extend(signal_return.to_le_bytes());
    expression.extend([DW_OP_ne, DW_OP_lit9, DW_OP_mul, DW_OP_plus].map(|operation| operation.0));
    expression
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_dwarf() {
        let encoded = |value| {
            let mut out = Vec::new();
            number(&mut out, value);
            out
        };
        assert_eq!(encoded(0), [0]);
        assert_eq!(encoded(127), [127]);
        assert_eq!(encoded(624_485), [0xe5, 0x8e, 0x26]);
        let mut out = Vec::new();
        signed_number(&mut out, -123_456);
        assert_eq!(out, [0xc0, 0xbb, 0x78]);
    }
}
