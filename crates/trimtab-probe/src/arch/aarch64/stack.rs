//! What a function does with the stack: whether it keeps to the part below the stack pointer that it
//! was entered with, and whether it looks at its return address.
//!
//! As on x86-64, it must be proven: each access to the stack must be direct, at a known distance
//! from the frame address, and the address of nothing on the stack may be taken.

use std::collections::HashSet;

use super::decode::{Access, FP, Flow, Instruction, LINK, SP, target};
use crate::elf::Object;
use crate::function::{Function, Place};
use crate::reason::Reason;
use crate::stub::StackUse;
use crate::unwind::{Row, Unwind};

/// Instructions before a change of stacks in which the new one's origin is looked for.
const LOOK_BACK: usize = 8;

/// Looks at each instruction of a function. `outlined` are functions that work on their callers' stack.
///
/// # Errors
/// What is done with the stack makes a stub impossible.
pub fn analyze(
    object: &Object,
    function: &Function,
    code: &[Instruction],
    unwind: &Unwind,
    outlined: &HashSet<Place>,
) -> Result<StackUse, Reason> {
    let mut analysis = StackAnalysis { local_only: true, frame_pointer: None, link_is_back: true };
    for (index, &instruction) in code.iter().enumerate() {
        let row = unwind.at(instruction.at - function.start);
        analysis.analyze(&code[..index], instruction, row)?;
        let target = |distance| target(object, function.section, instruction, distance);
        let inside = |distance| {
            target(distance).is_some_and(|(section, offset)| {
                section == function.section && (function.start..function.end()).contains(&offset)
            })
        };
        match instruction.flow() {
            // Elsewhere could be a callee that has arguments on the stack: ours.
            Flow::Branch(distance) | Flow::Conditional(distance) => {
                analysis.local_only &= inside(distance);
            }
            // It may use this function's arguments.
            Flow::Call(distance) => {
                analysis.local_only &=
                    !target(distance).is_some_and(|place| outlined.contains(&place));
            }
            Flow::IndirectBranch => analysis.local_only = false,
            _ => {}
        }
    }
    Ok(if analysis.local_only { StackUse::LocalOnly } else { StackUse::IncomingArguments })
}

struct StackAnalysis {
    local_only: bool,
    /// How far below the frame address x29 points, from where it is made a frame pointer.
    frame_pointer: Option<i64>,
    /// Whether x30 has just been loaded from where it was saved.
    link_is_back: bool,
}

impl StackAnalysis {
    fn analyze(
        &mut self,
        before: &[Instruction],
        instruction: Instruction,
        row: Option<&Row>,
    ) -> Result<(), Reason> {
        let cfa = row.and_then(|row| row.cfa);
        let distance = |register| cfa.filter(|cfa| cfa.0 == register).map(|cfa| cfa.1);
        let stack = distance(SP);
        let frame = distance(FP).or(self.frame_pointer);
        self.local_only &= cfa.is_some() && !instruction.is_scalable();
        // A function whose x30 is not saved has its return address there.
        let saved = row.and_then(|row| row.saved.as_deref()).unwrap_or_default();
        let saved_link = saved.iter().find(|(register, _)| *register == LINK).map(|saved| saved.1);
        let has_return = saved_link.is_none() || self.link_is_back;
        if reads_link(instruction) && has_return {
            return Err(Reason::ReturnAddress);
        }
        if let Some(access) = instruction.access() {
            self.analyze_access(access, stack, frame, saved_link, has_return)?;
        } else {
            self.analyze_computation(before, instruction, stack, frame)?;
            // It is used for something else.
            let computes = instruction.computes() || instruction.computes_with_number();
            self.link_is_back &= !(computes && instruction.register(0) == LINK);
        }
        if instruction.flow() != Flow::Next {
            self.link_is_back = false;
        }
        Ok(())
    }

    fn analyze_access(
        &mut self,
        access: Access,
        stack: Option<i64>,
        frame: Option<i64>,
        saved_link: Option<i64>,
        has_return: bool,
    ) -> Result<(), Reason> {
        let names = |register| access.registers.contains(&Some(register));
        // A pointer to the stack goes to memory, or what it was comes from elsewhere.
        if names(FP) && self.frame_pointer.is_some() && (access.stores || access.base != SP) {
            self.local_only = false;
        }
        let is_stack = access.base == SP || (access.base == FP && frame.is_some());
        if !is_stack {
            // The return address goes somewhere.
            return if access.stores && names(LINK) && has_return {
                Err(Reason::ReturnAddress)
            } else {
                Ok(())
            };
        }
        if access.base == FP && access.writes_back {
            self.local_only = false;
        }
        let below = if access.base == SP { stack } else { frame };
        let (Some(offset), Some(below)) = (access.offset, below) else {
            self.local_only = false;
            return Ok(());
        };
        let first = offset.wrapping_sub(below);
        let end = first.saturating_add(access.size);
        self.local_only &= end <= 0;
        if let Some(slot) = saved_link {
            let has_slot = first <= slot && slot < end;
            let is_restored = !access.stores && names(LINK);
            if has_slot && !is_restored {
                return Err(Reason::ReturnAddress);
            }
            if !access.stores && names(LINK) {
                self.link_is_back = has_slot;
            }
        }
        Ok(())
    }

    fn analyze_computation(
        &mut self,
        before: &[Instruction],
        instruction: Instruction,
        stack: Option<i64>,
        frame: Option<i64>,
    ) -> Result<(), Reason> {
        let (to, from) = (instruction.register(0), instruction.register(5));
        if let Some(sum) = instruction.sum() {
            let to_stack = to == SP && !instruction.sets_flags();
            let from_frame = from == FP && frame.is_some();
            match (to_stack, to == FP, from == SP, from_frame) {
                // Room is made or given back.
                (true, _, true, _) | (true, _, _, true) => {}
                (false, true, true, _) => match (stack, self.frame_pointer) {
                    (Some(offset), None) => self.frame_pointer = Some(offset.wrapping_sub(sum)),
                    (Some(offset), Some(known)) if offset.wrapping_sub(sum) == known => {}
                    _ => self.local_only = false,
                },
                (true, ..) => {
                    self.local_only = false;
                    if sum == 0 && comes_from_memory(before, from) {
                        return Err(Reason::Stack);
                    }
                }
                (false, is_frame, from_stack, from_frame) => {
                    let loses_frame = is_frame && self.frame_pointer.is_some();
                    self.local_only &= !(from_stack || from_frame || loses_frame);
                }
            }
            return Ok(());
        }
        if instruction.may_compute_with_stack() {
            self.local_only &= to != SP && from != SP;
        }
        if frame.is_some() {
            let other = instruction.register(16);
            let reads = (instruction.computes() && (from == FP || other == FP))
                || (instruction.computes_with_number() && from == FP);
            let writes = (instruction.computes() || instruction.computes_with_number()) && to == FP;
            self.local_only &= !(reads || writes);
        }
        Ok(())
    }
}

/// Whether an instruction uses x30 other than to return, or to keep it.
fn reads_link(instruction: Instruction) -> bool {
    if instruction.access().is_some_and(|access| access.base == LINK) {
        return true;
    }
    let (first, second) = (instruction.register(5), instruction.register(16));
    (instruction.computes() && (first == LINK || second == LINK))
        || (instruction.sum().is_some() && first == LINK)
}

/// Whether a register was last loaded from memory that is not the function's own. Scopes with arrays
/// of variable length save the stack pointer in the frame.
fn comes_from_memory(before: &[Instruction], register: u16) -> bool {
    let recent = before.iter().rev().take(LOOK_BACK);
    for instruction in recent {
        match instruction.access() {
            Some(access) if !access.stores && access.registers.contains(&Some(register)) => {
                return !matches!(access.base, SP | FP);
            }
            None if instruction.register(0) == register => return false,
            _ => {}
        }
    }
    false
}
