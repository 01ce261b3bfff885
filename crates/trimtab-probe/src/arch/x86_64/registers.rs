//! Which registers a stub may change without keeping what is in them.
//!
//! What the ABI calls scratch is not free for that reason alone: callers in the same file may know
//! which registers a function leaves alone (gcc's `-fipa-ra`). But no compiler counts on a register
//! that the function changes, or that something changes which it calls from elsewhere; and if the
//! function does not read such a register before it writes it, nothing is in it when the function
//! begins. Both are looked up in the code. What cannot be seen counts as in use.

use std::collections::{HashMap, HashSet};

use iced_x86::{
    Code, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
    UsedRegister,
};
use object::elf;

use super::decode::{Insn, branch_target, decode};
use crate::arch::Context;
use crate::elf::{Object, Relocation};
use crate::function::{Function, Place};
use crate::unwind::Unwind;

/// Registers as bits, by their numbers in instructions.
pub(super) type Set = u16;

const ALL: Set = 0xffff;
const RAX: Set = 1 << 0;
const RCX: Set = 1 << 1;
const RDX: Set = 1 << 2;
const R11: Set = 1 << 11;
/// The first argument.
pub(super) const RDI: Set = 1 << 7;
/// The second argument.
pub(super) const RSI: Set = 1 << 6;
/// What a call may hand on: rdi, rsi, rdx, rcx, r8, r9, the number of vectors in rax, and the
/// surrounding function's frame in r10.
const ARGUMENTS: Set = RAX | RCX | RDX | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10;
/// What may be handed back.
const RESULTS: Set = RAX | RCX | RDX | 1 << 8;
/// What is scratch, and never handed back.
const SPARE: [Register; 5] =
    [Register::R11, Register::R10, Register::R9, Register::RSI, Register::RDI];
/// Numbers in DWARF of the registers that the ABI calls scratch.
const SCRATCH: [u16; 9] = [0, 1, 2, 4, 5, 8, 9, 10, 11];

/// Kinds of relocations of addresses and distances of 8 bytes by which code of the large model calls.
const ADDRESSES_8: [u32; 3] = [elf::R_X86_64_64, elf::R_X86_64_GOTOFF64, elf::R_X86_64_PLTOFF64];

/// Instructions that are looked at to see what a function reads first.
const STEPS: usize = 512;
/// Functions that are looked at to see what one and its callees change.
const CALLEES: usize = 64;

/// Functions that keep registers which functions of the ABI need not keep.
const CAREFUL: [&[u8]; 5] =
    [b"__stack_chk_fail", b"__tls_get_addr", b"__rust_probestack", b"__probestack", b"__morestack"];

/// What a stub may change, when its function is entered; r11 also when it is left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Free {
    /// rax.
    pub rax: bool,
    /// rdx.
    pub rdx: bool,
    /// r11.
    pub r11: bool,
    /// When it is left: one to point with.
    pub pointer: Option<Register>,
    /// When it is left: another.
    pub other: Option<Register>,
}

/// What a function does by itself.
#[derive(Debug, Clone, Default)]
struct Effects {
    /// Registers that it writes.
    writes: Set,
    /// Whether it calls something that may change every scratch register.
    calls_out: bool,
    /// Functions of the object that it calls.
    callees: Vec<Place>,
}

/// What is known of the functions of an object. They are looked at when it is asked for.
pub struct Registers {
    /// Index of the function at each place.
    functions: HashMap<Place, usize>,
    known: HashMap<Place, Effects>,
    info: InstructionInfoFactory,
    /// Whether a compiler wrote the code. Assembly by hand has conventions of its own.
    compiled: bool,
}

impl Registers {
    /// Nothing looked at yet.
    pub fn of(object: &Object, functions: &[Function]) -> Self {
        let places = functions.iter().map(|function| (function.section, function.start));
        Self {
            functions: places.enumerate().map(|(index, place)| (place, index)).collect(),
            known: HashMap::new(),
            info: InstructionInfoFactory::new(),
            compiled: object.is_compiled(),
        }
    }

    /// Whether a compiler wrote the code.
    pub fn compiled(&self) -> bool {
        self.compiled
    }

    /// What a stub of a function may change, whose instructions are `code`.
    pub fn free(
        &mut self,
        context: &Context<'_>,
        function: &Function,
        code: &[Insn],
        unwind: &Unwind,
    ) -> Free {
        if !self.compiled || keeps_scratch(unwind) {
            return Free::default();
        }
        let changed = self.changed(context, (function.section, function.start));
        let wanted = changed & (RAX | RDX | R11);
        let free = wanted & !self.read_first(context.object, function, code, wanted);
        let mut spare = SPARE.into_iter().filter(|&register| changed & bit(register) != 0);
        Free {
            rax: free & RAX != 0,
            rdx: free & RDX != 0,
            r11: free & R11 != 0,
            pointer: spare.next(),
            other: spare.next(),
        }
    }

    /// Registers that the function at a place, or what it calls, changes.
    fn changed(&mut self, context: &Context<'_>, place: Place) -> Set {
        let mut seen = HashSet::from([place]);
        let mut open = vec![place];
        let mut changed = 0;
        while let Some(place) = open.pop() {
            let own = self.own(context, place);
            changed |= own.writes;
            if own.calls_out {
                return ALL;
            }
            for callee in own.callees {
                if seen.len() < CALLEES && seen.insert(callee) {
                    open.push(callee);
                }
            }
        }
        changed
    }

    fn own(&mut self, context: &Context<'_>, place: Place) -> Effects {
        if let Some(own) = self.known.get(&place) {
            return own.clone();
        }
        let own = self.analyze(context, place);
        self.known.insert(place, own.clone());
        own
    }

    fn analyze(&mut self, context: &Context<'_>, place: Place) -> Effects {
        let mut own = Effects::default();
        let Some(&index) = self.functions.get(&place) else { return own };
        let (object, function) = (context.object, &context.functions[index]);
        let unwind = context.unwind.of(function.section, function.start);
        if unwind.is_none_or(keeps_scratch) {
            return own;
        }
        let addressed = addressed(object, function);
        own.callees.extend(addressed.iter().flatten());
        let mut popped = 0;
        for decoded in decode(object, function.section, function.start, function.end()) {
            let (instruction, _) = &decoded;
            match instruction.flow_control() {
                FlowControl::Call => match branch_target(object, function.section, &decoded) {
                    Some(callee) => own.callees.push(callee),
                    None => own.calls_out |= is_of_the_abi(object, function.section, instruction),
                },
                FlowControl::IndirectCall if addressed.is_none() => {
                    own.calls_out |= is_of_the_abi(object, function.section, instruction);
                }
                _ => {}
            }
            // Pushed before: what it writes in between does not show.
            if instruction.code() == Code::Pop_r64 {
                popped |= bit(instruction.op0_register());
            }
            for used in self.info.info(instruction).used_registers() {
                if is_written(used) {
                    own.writes |= bit(used.register());
                }
            }
        }
        own.writes &= !popped;
        own
    }

    /// Which of these registers may be read before they are written, by the function or behind it.
    fn read_first(
        &mut self,
        object: &Object,
        function: &Function,
        code: &[Insn],
        wanted: Set,
    ) -> Set {
        let index_of = |decoded: &Insn| {
            let (section, offset) = branch_target(object, function.section, decoded)?;
            let index = code.binary_search_by_key(&offset, |(other, _)| other.ip()).ok()?;
            (section == function.section).then_some(index)
        };
        let mut read = 0;
        let mut steps = 0;
        let mut open = vec![(0, 0)];
        let mut seen = HashSet::new();
        while let Some((mut index, mut written)) = open.pop() {
            // What is needed where this way ends.
            let end = loop {
                if wanted & !written & !read == 0 || !seen.insert((index, wanted & written)) {
                    break 0;
                }
                let Some(decoded) = code.get(index) else { break ALL };
                let (instruction, _) = decoded;
                steps += 1;
                if steps > STEPS {
                    return ALL;
                }
                let (reads, writes) = uses(&mut self.info, instruction);
                read |= reads & !written;
                written |= writes;
                index = match instruction.flow_control() {
                    FlowControl::Next => index + 1,
                    FlowControl::ConditionalBranch => {
                        match index_of(decoded) {
                            Some(target) => open.push((target, written)),
                            None => break ALL,
                        }
                        index + 1
                    }
                    FlowControl::UnconditionalBranch => match index_of(decoded) {
                        Some(target) => target,
                        None => break ALL,
                    },
                    FlowControl::Call | FlowControl::IndirectCall => break ARGUMENTS,
                    FlowControl::Return => break RESULTS,
                    _ => break ALL,
                };
            };
            read |= end & !written;
        }
        read
    }
}

/// Functions of the object that a function may call by an address of 8 bytes, as in the large code model: there
/// compilers know what an indirect call leads to. None where it has no such addresses of anything.
fn addressed(object: &Object, function: &Function) -> Option<Vec<Place>> {
    let relocations = &object.relocations[function.section];
    let first = relocations.partition_point(|relocation| relocation.offset < function.start);
    let inside = relocations[first..].iter().take_while(|it| it.offset < function.end());
    let mut wide = inside.filter(|it| ADDRESSES_8.contains(&it.kind)).peekable();
    wide.peek()?;
    let place = |relocation: &Relocation| {
        let (section, offset) = object.target(relocation)?;
        let is_code = object.sections[section].is_text();
        Some((section, u64::try_from(offset).ok()?)).filter(|_| is_code)
    };
    Some(wide.filter_map(place).collect())
}

/// Whether a call out of the object is one after which compilers expect nothing in the scratch
/// registers.
fn is_of_the_abi(object: &Object, section: usize, call: &Instruction) -> bool {
    let relocations = &object.relocations[section];
    let first = relocations.partition_point(|relocation| relocation.offset < call.ip());
    relocations[first..].iter().take_while(|relocation| relocation.offset < call.next_ip()).all(
        |relocation| {
            let name = object.symbols.get(relocation.symbol as usize);
            relocation.kind != elf::R_X86_64_TLSDESC_CALL
                && name.is_some_and(|symbol| !CAREFUL.contains(&symbol.name.as_slice()))
        },
    )
}

/// What an instruction reads, and what it writes as a whole.
pub(super) fn uses(info: &mut InstructionInfoFactory, instruction: &Instruction) -> (Set, Set) {
    let (mut reads, mut writes) = (0, 0);
    for used in info.info(instruction).used_registers() {
        let bit = bit(used.register());
        match used.access() {
            // Writing a lower half clears the upper one; smaller parts leave the rest.
            OpAccess::Write if used.register().size() >= 4 => writes |= bit,
            OpAccess::Write => {}
            OpAccess::None | OpAccess::NoMemAccess => {}
            _ => reads |= bit,
        }
    }
    // Only functions with a variable number of arguments get something in rax, and they do not push
    // it. It is pushed to make room.
    let makes_room = instruction.mnemonic() == Mnemonic::Push
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register() == Register::RAX;
    (if makes_room { reads & !RAX } else { reads }, writes)
}

/// Whether an instruction writes a register, or may write it.
pub(super) fn is_written(used: &UsedRegister) -> bool {
    matches!(
        used.access(),
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

/// None for registers that are no general ones.
pub(super) fn bit(register: Register) -> Set {
    let register = register.full_register();
    if register.is_gpr64() { 1 << register.number() } else { 0 }
}

/// Whether a function keeps registers that it need not keep: its callers expect so then.
fn keeps_scratch(unwind: &Unwind) -> bool {
    let saved = unwind.rows.iter().filter_map(|row| row.saved.as_ref()).flatten();
    saved.into_iter().any(|(register, _)| SCRATCH.contains(register))
}
