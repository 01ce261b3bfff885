//! What a function does with the stack: whether it keeps to the part below its return address.
//!
//! A function without arguments on the stack does not notice what lies between its return address
//! and the frame of its caller. Its stub keeps there what it has to keep; that is the fastest
//! place, and what unwinders, longjmp and coroutines keep right by themselves. Only where it can be
//! proven does a stub do so: each access to the stack must be direct, at a known distance from the
//! frame address, and the address of nothing on the stack may be taken.

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::decode::{Decoded, branch_target};
use super::{RBP, RSP};
use crate::elf::Object;
use crate::function::Function;
use crate::reason::Reason;
use crate::stub::StackUse;
use crate::unwind::{Row, Unwind};

/// Looks at each instruction of a function.
///
/// # Errors
/// What is done with the stack makes a stub impossible.
pub fn look(
    object: &Object,
    function: &Function,
    code: &[Decoded],
    unwind: &Unwind,
) -> Result<StackUse, Reason> {
    let mut looker = Looker { own: true, frame_pointer: None };
    for decoded in code {
        let (instruction, _) = decoded;
        let row = unwind.at(instruction.ip() - function.start);
        looker.look(instruction, row)?;
        match instruction.flow_control() {
            FlowControl::IndirectBranch => looker.own = false,
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                // Elsewhere could be a callee that has arguments on the stack: ours.
                let inside = branch_target(object, function.section, decoded).is_some_and(
                    |(section, offset)| {
                        section == function.section
                            && (function.start..function.end()).contains(&offset)
                    },
                );
                looker.own &= inside;
            }
            _ => {}
        }
    }
    Ok(if looker.own { StackUse::Own } else { StackUse::Caller })
}

struct Looker {
    own: bool,
    /// How far below the frame address rbp points, from where it is made a frame pointer.
    frame_pointer: Option<i64>,
}

impl Looker {
    fn look(&mut self, instruction: &Instruction, row: Option<&Row>) -> Result<(), Reason> {
        let cfa = row.and_then(|row| row.cfa);
        let stack = cfa.filter(|(register, _)| *register == RSP).map(|(_, offset)| offset);
        let frame = cfa
            .filter(|(register, _)| *register == RBP)
            .map(|(_, offset)| offset)
            .or(self.frame_pointer);
        if cfa.is_none() {
            self.own = false;
        }
        if touches(instruction, Register::RSP) {
            match instruction.mnemonic() {
                Mnemonic::Sub | Mnemonic::Add
                    if instruction.op0_register() == Register::RSP
                        && is_immediate(instruction.op1_kind()) => {}
                Mnemonic::Mov
                    if instruction.op0_register() == Register::RBP
                        && instruction.op1_register() == Register::RSP =>
                {
                    match (stack, self.frame_pointer) {
                        (Some(offset), None) => self.frame_pointer = Some(offset),
                        (Some(offset), Some(known)) if offset == known => {}
                        _ => self.own = false,
                    }
                }
                Mnemonic::Mov
                    if instruction.op0_register() == Register::RSP
                        && instruction.op1_register() == Register::RBP => {}
                // Another stack. What the compiler computes from its own pointers is not.
                Mnemonic::Mov | Mnemonic::Xchg | Mnemonic::Pop
                    if instruction.op0_register() == Register::RSP
                        && (instruction.mnemonic() != Mnemonic::Mov || is_foreign(instruction)) =>
                {
                    return Err(Reason::Stack);
                }
                _ => self.own = false,
            }
        }
        if touches(instruction, Register::RBP) && frame.is_some() {
            let fine = matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Pop)
                || (instruction.mnemonic() == Mnemonic::Mov
                    && [instruction.op0_register(), instruction.op1_register()]
                        .contains(&Register::RSP));
            self.own &= fine;
        }
        self.look_at_memory(instruction, stack, frame)
    }

    fn look_at_memory(
        &mut self,
        instruction: &Instruction,
        stack: Option<i64>,
        frame: Option<i64>,
    ) -> Result<(), Reason> {
        let has_memory =
            (0..instruction.op_count()).any(|place| instruction.op_kind(place) == OpKind::Memory);
        if !has_memory {
            return Ok(());
        }
        let base = instruction.memory_base().full_register();
        let index = instruction.memory_index().full_register();
        let distance = match base {
            Register::RSP => stack,
            Register::RBP if frame.is_some() => frame,
            _ if index == Register::RSP || (index == Register::RBP && frame.is_some()) => {
                self.own = false;
                return Ok(());
            }
            _ => return Ok(()),
        };
        if instruction.mnemonic() == Mnemonic::Nop {
            return Ok(());
        }
        let displacement = instruction.memory_displacement64() as i64;
        let direct = index == Register::None && instruction.mnemonic() != Mnemonic::Lea;
        let Some(distance) = distance else {
            // A frame pointer, and rsp somewhere below it.
            self.own &= direct && base == Register::RSP && displacement < 0;
            return Ok(());
        };
        let first = displacement.wrapping_sub(distance);
        let size = instruction.memory_size().size().max(1) as i64;
        if direct && first < 0 && first.saturating_add(size) > -8 {
            return Err(Reason::ReturnAddress);
        }
        self.own &= direct && first.saturating_add(size) <= -8;
        Ok(())
    }
}

/// Whether a register is an operand that is written out.
fn touches(instruction: &Instruction, register: Register) -> bool {
    (0..instruction.op_count()).any(|place| {
        instruction.op_kind(place) == OpKind::Register
            && instruction.op_register(place).full_register() == register
    })
}

/// Whether the second operand is memory that is not the function's own. Scopes with arrays of
/// variable length save the stack pointer in the frame.
fn is_foreign(instruction: &Instruction) -> bool {
    instruction.op1_kind() == OpKind::Memory
        && !matches!(instruction.memory_base(), Register::RSP | Register::RBP)
}

fn is_immediate(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Immediate8
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64
            | OpKind::Immediate32
            | OpKind::Immediate8to32
    )
}
