//! The frames of functions without unwind information, found out from their instructions.
//!
//! With `-fno-asynchronous-unwind-tables` compilers of C do not write where the return address and the saved
//! registers are at each instruction. It follows from the instructions: how far the stack pointer is below the
//! frame address is carried along all ways through the function, and so is where rbp is a frame pointer, and
//! what was saved where. In the code of compilers it is the same on each way that leads to an instruction; where
//! it is not, or the stack pointer becomes something that is not known, the function is left alone.

use std::collections::{BTreeMap, HashMap, HashSet};

use iced_x86::{
    Code, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register,
};

use super::decode::{Insn, branch_target, is_near_branch};
use super::dwarf::{RBP, RETURN, RSP};
use super::jump_tables::JumpTables;
use super::registers::{Set, bit, is_written};
use crate::arch::Context;
#[cfg(test)]
use crate::elf::Object;
use crate::function::Function;
use crate::unwind::{Row, Unwind};

/// Numbers in DWARF, by the numbers of registers in instructions: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi; the
/// others have the same in both.
const IN_DWARF: [u16; 8] = [0, 2, 1, 3, 7, 6, 4, 5];
/// Registers that callees keep, in DWARF.
const KEPT: [u16; 6] = [3, 6, 12, 13, 14, 15];
/// As often the ways through a function are followed anew, each time without what follows another call.
const ROUNDS: usize = 32;

/// Functions that never return.
const ENDS: [&[u8]; 14] = [
    b"_Exit",
    b"__assert_fail",
    b"__chk_fail",
    b"__cxa_throw",
    b"__fortify_fail",
    b"__longjmp_chk",
    b"__stack_chk_fail",
    b"_exit",
    b"_longjmp",
    b"abort",
    b"exit",
    b"longjmp",
    b"pthread_exit",
    b"siglongjmp",
];

/// What holds in front of an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    /// Bytes from the stack pointer up to the frame address; none where they depend on a variable.
    depth: Option<i64>,
    /// The same from rbp, where it was set from the stack pointer.
    frame: Option<i64>,
    /// What is saved: register, and offset from the frame address.
    saved: BTreeMap<u16, i64>,
    /// Registers that no longer have what they had at the entry; bits by their numbers in DWARF.
    changed: u32,
}

/// What the ways through a function cannot tell.
enum Failure {
    /// Behind this call something else holds than in front of it: it does not return.
    Call(usize),
    Unknown,
}

/// Finds out the frames of a function, whose instructions are `code`; none where they cannot be known.
pub fn derive(context: &Context<'_>, function: &Function, code: &[Insn]) -> Option<Unwind> {
    if code.last().map(|(instruction, _)| instruction.next_ip()) != Some(function.end()) {
        return None;
    }
    let tables = JumpTables::of(context, function, code);
    let mut ways = Ways {
        context,
        function,
        code,
        targets: tables
            .as_ref()
            .map(|it| it.all().iter().flat_map(|t| t.targets.clone()).collect()),
        indices: code.iter().enumerate().map(|(index, (it, _))| (it.ip(), index)).collect(),
        ends: HashSet::new(),
        popped: popped(code),
        info: InstructionInfoFactory::new(),
    };
    for _ in 0..ROUNDS {
        match ways.follow() {
            Ok(states) => return ways.unwind(&states),
            Err(Failure::Call(index)) if ways.ends.insert(index) => {}
            Err(_) => return None,
        }
    }
    None
}

struct Ways<'a> {
    context: &'a Context<'a>,
    function: &'a Function,
    code: &'a [Insn],
    /// Where jump tables lead; none where they are not understood.
    targets: Option<Vec<u64>>,
    indices: HashMap<u64, usize>,
    /// Calls that are known not to return, by index.
    ends: HashSet<usize>,
    /// Registers that the function pops: it may have pushed them to keep them.
    popped: Set,
    info: InstructionInfoFactory,
}

impl Ways<'_> {
    /// What holds in front of each instruction; none in front of those that are never executed.
    fn follow(&mut self) -> Result<Vec<Option<State>>, Failure> {
        let mut states: Vec<Option<State>> = vec![None; self.code.len()];
        let entry = State { depth: Some(8), frame: None, saved: BTreeMap::new(), changed: 0 };
        let mut open = vec![(0, entry, None)];
        let mut jumps: Vec<State> = Vec::new();
        loop {
            while let Some((index, state, from)) = open.pop() {
                let Some(slot) = states.get_mut(index) else { return Err(self.blame(index, from)) };
                if let Some(known) = slot {
                    let joined = join(known, &state).ok_or(self.blame(index, from))?;
                    if joined == *known {
                        continue;
                    }
                    *known = joined;
                } else {
                    *slot = Some(state);
                }
                let Some(state) = states[index].clone() else { continue };
                self.step(index, state, &mut open, &mut jumps)?;
            }
            // Where jumps lead that no table tells of: to what nothing else leads to.
            let left = (0..self.code.len())
                .find(|&index| states[index].is_none() && !is_filling(&self.code[index].0));
            // Jumps at the entry's depth may be ends.
            let inside = jumps.iter().filter(|state| state.depth != Some(8));
            let from: Vec<&State> =
                if inside.clone().count() > 0 { inside.collect() } else { jumps.iter().collect() };
            match (left, from.as_slice()) {
                (None, _) => return Ok(states),
                (Some(index), [state]) => open.push((index, (*state).clone(), None)),
                _ => return Err(Failure::Unknown),
            }
        }
    }

    /// Whether what is wrong at an instruction is that a call in front of it was taken to return.
    fn blame(&self, index: usize, from: Option<usize>) -> Failure {
        let Some(mut from) = from.filter(|&from| from + 1 == index) else {
            return Failure::Unknown;
        };
        loop {
            let (instruction, _) = &self.code[from];
            let is_call =
                matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
            if is_call {
                return Failure::Call(from);
            }
            if !is_filling(instruction) || from == 0 {
                return Failure::Unknown;
            }
            from -= 1;
        }
    }

    /// What holds behind an instruction, and where.
    fn step(
        &mut self,
        index: usize,
        state: State,
        open: &mut Vec<(usize, State, Option<usize>)>,
        jumps: &mut Vec<State>,
    ) -> Result<(), Failure> {
        let decoded = &self.code[index];
        let (instruction, _) = decoded;
        let next = (index + 1, Some(index));
        match instruction.flow_control() {
            FlowControl::Return => {
                let is_right = state.depth == Some(8) && instruction.op_count() == 0;
                return if is_right { Ok(()) } else { Err(Failure::Unknown) };
            }
            FlowControl::Exception => return Ok(()),
            FlowControl::Call | FlowControl::IndirectCall => {
                let own = branch_target(self.context.object, self.function.section, decoded);
                let is_inside = own.is_some_and(|(section, offset)| {
                    self.function.contains((section, offset)) && offset != self.function.start
                });
                if is_inside || state.depth.is_none() && state.frame.is_none() {
                    return Err(Failure::Unknown);
                }
                if self.ends.contains(&index) || self.never_returns(decoded) {
                    return Ok(());
                }
                open.push((next.0, state, next.1));
                return Ok(());
            }
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                if instruction.flow_control() == FlowControl::ConditionalBranch {
                    open.push((next.0, state.clone(), next.1));
                }
                return self.branch(decoded, state, open);
            }
            FlowControl::IndirectBranch => return self.jump(state, open, jumps),
            FlowControl::Next | FlowControl::Interrupt => {}
            FlowControl::XbeginXabortXend => return Err(Failure::Unknown),
        }
        let state = self.behind(instruction, state).ok_or(Failure::Unknown)?;
        open.push((next.0, state, next.1));
        Ok(())
    }

    fn branch(
        &self,
        decoded: &Insn,
        state: State,
        open: &mut Vec<(usize, State, Option<usize>)>,
    ) -> Result<(), Failure> {
        if !is_near_branch(&decoded.0) {
            return Err(Failure::Unknown);
        }
        match branch_target(self.context.object, self.function.section, decoded) {
            Some(target) if self.function.contains(target) => {
                let index = self.indices.get(&target.1).ok_or(Failure::Unknown)?;
                open.push((*index, state, None));
                Ok(())
            }
            Some(target) if self.context.function_at(target).is_some_and(Function::is_part) => {
                Ok(())
            }
            // Another function, which finds the stack as this one did.
            _ if state.depth == Some(8) => Ok(()),
            _ => Err(Failure::Unknown),
        }
    }

    /// A jump to an address: the end, or by a table.
    fn jump(
        &self,
        state: State,
        open: &mut Vec<(usize, State, Option<usize>)>,
        jumps: &mut Vec<State>,
    ) -> Result<(), Failure> {
        for target in self.targets.iter().flatten() {
            let index = self.indices.get(target).ok_or(Failure::Unknown)?;
            open.push((*index, state.clone(), None));
        }
        if !jumps.contains(&state) {
            jumps.push(state);
        }
        Ok(())
    }

    /// Whether a call is one of a function of [`ENDS`].
    fn never_returns(&self, (call, constants): &Insn) -> bool {
        let field = call.ip() + constants.immediate_offset() as u64;
        let symbol = is_near_branch(call)
            .then(|| self.context.object.relocation_at(self.function.section, field))
            .flatten()
            .and_then(|relocation| self.context.object.symbols.get(relocation.symbol as usize));
        symbol.is_some_and(|symbol| ENDS.binary_search(&symbol.name.as_slice()).is_ok())
    }

    /// What holds behind an instruction that is no branch; none where the stack pointer is not known any more.
    fn behind(&mut self, instruction: &Instruction, mut state: State) -> Option<State> {
        self.note_saved(instruction, &mut state);
        let mut restored = restored(instruction, &state);
        let writes = |register: Register, info: &mut InstructionInfoFactory| {
            let used = info.info(instruction).used_registers();
            used.iter().any(|it| it.register().full_register() == register && is_written(it))
        };
        let to_stack = writes(Register::RSP, &mut self.info);
        let to_frame = writes(Register::RBP, &mut self.info);
        match instruction.code() {
            Code::Mov_r64_rm64 | Code::Mov_rm64_r64
                if instruction.op0_register() == Register::RBP
                    && instruction.op1_register() == Register::RSP =>
            {
                state.frame = state.depth;
            }
            Code::Leaveq => {
                let frame = state.frame.take()?;
                state.depth = Some(frame - 8);
                restored = Some(RBP);
            }
            _ => {
                if to_stack {
                    state.depth = self::depth_behind(instruction, &state)?;
                }
                if to_frame {
                    state.frame = None;
                }
            }
        }
        for used in self.info.info(instruction).used_registers() {
            if let Some(number) = in_dwarf(used.register()).filter(|_| is_written(used)) {
                state.changed |= 1 << number;
            }
        }
        if let Some(register) = restored {
            state.changed &= !(1 << register);
        }
        // What lies below the stack pointer is no longer kept.
        if let Some(depth) = state.depth {
            if depth < 8 {
                return None;
            }
            state.saved.retain(|_, offset| *offset >= -depth);
        } else {
            state.frame?;
        }
        Some(state)
    }

    /// What an instruction saves: a register as it was at the entry.
    fn note_saved(&self, instruction: &Instruction, state: &mut State) {
        let (register, offset) = match instruction.code() {
            Code::Push_r64 => (instruction.op0_register(), state.depth.map(|depth| -(depth + 8))),
            Code::Mov_rm64_r64
                if instruction.op0_kind() == OpKind::Memory
                    && instruction.memory_index() == Register::None =>
            {
                let base = match instruction.memory_base() {
                    Register::RSP => state.depth,
                    Register::RBP => state.frame,
                    _ => None,
                };
                let at = instruction.memory_displacement64() as i64;
                (instruction.op1_register(), base.map(|base| at.wrapping_sub(base)))
            }
            _ => return,
        };
        let (Some(number), Some(offset)) = (in_dwarf(register), offset) else { return };
        let is_kept = KEPT.contains(&number) || self.popped & bit(register) != 0;
        let fits = offset < -8 && offset % 8 == 0;
        if is_kept && fits && state.changed & 1 << number == 0 {
            state.saved.entry(number).or_insert(offset);
        }
    }

    /// The rows that unwind information would have.
    fn unwind(&self, states: &[Option<State>]) -> Option<Unwind> {
        let mut rows: Vec<Row> = Vec::new();
        for ((instruction, _), state) in self.code.iter().zip(states) {
            let Some(state) = state else { continue };
            let is_lost = |number: &u16| {
                state.changed & 1 << number != 0 && !state.saved.contains_key(number)
            };
            if KEPT.iter().any(is_lost) {
                return None;
            }
            let cfa = match (state.frame, state.depth) {
                (Some(frame), _) => (RBP, frame),
                (None, depth) => (RSP, depth?),
            };
            let mut saved: Vec<(u16, i64)> = state.saved.clone().into_iter().collect();
            saved.push((RETURN, -8));
            let offset = instruction.ip() - self.function.start;
            let row = Row { offset, cfa: Some(cfa), saved: Some(saved), signed: false };
            let is_same = |last: &Row| last.cfa == row.cfa && last.saved == row.saved;
            if !rows.last().is_some_and(is_same) {
                rows.push(row);
            }
        }
        Some(Unwind::derived(self.function.size, rows))
    }
}

/// Registers that a function pops.
fn popped(code: &[Insn]) -> Set {
    let pops = code.iter().filter(|(it, _)| it.code() == Code::Pop_r64);
    pops.fold(0, |all, (it, _)| all | bit(it.op0_register())) & !bit(Register::RSP)
}

/// What holds where two ways meet; none where they cannot be of one function.
fn join(one: &State, other: &State) -> Option<State> {
    let same = |a: Option<i64>, b: Option<i64>| if a == b { Some(a) } else { None };
    let frame = if one.frame == other.frame { one.frame } else { None };
    let depth = match same(one.depth, other.depth) {
        Some(depth) => depth,
        // A variable is on the stack on one of them.
        None if frame.is_some() => None,
        None => return None,
    };
    if depth.is_none() && frame.is_none() {
        return None;
    }
    let mut saved = one.saved.clone();
    saved.retain(|register, offset| other.saved.get(register) == Some(offset));
    Some(State { depth, frame, saved, changed: one.changed | other.changed })
}

/// Where the stack pointer is behind an instruction that changes it.
fn depth_behind(instruction: &Instruction, state: &State) -> Option<Option<i64>> {
    let is_stack = |operand: Register| operand == Register::RSP;
    let by_constant = |sign: i64| {
        let is_constant =
            matches!(instruction.op1_kind(), OpKind::Immediate8to64 | OpKind::Immediate32to64);
        is_constant.then(|| state.depth.map(|depth| depth + sign * instruction.immediate(1) as i64))
    };
    // By a variable, which only a frame pointer tells.
    let variable = state.frame.map(|_| None);
    match instruction.mnemonic() {
        Mnemonic::Push | Mnemonic::Pop | Mnemonic::Pushfq | Mnemonic::Popfq => {
            let is_own = instruction.mnemonic() == Mnemonic::Pop
                && instruction.op0_kind() == OpKind::Register
                && is_stack(instruction.op0_register());
            let by = i64::from(instruction.stack_pointer_increment());
            (!is_own).then(|| state.depth.map(|depth| depth - by))
        }
        _ if instruction.op0_kind() != OpKind::Register
            || !is_stack(instruction.op0_register()) =>
        {
            None
        }
        Mnemonic::Sub => by_constant(1).or(variable),
        Mnemonic::Add => by_constant(-1),
        Mnemonic::And => variable,
        Mnemonic::Lea if instruction.memory_index() == Register::None => {
            let base = match instruction.memory_base() {
                Register::RSP => state.depth,
                Register::RBP => Some(state.frame?),
                _ => return None,
            };
            Some(base.map(|base| base - instruction.memory_displacement64() as i64))
        }
        Mnemonic::Mov if instruction.op1_kind() == OpKind::Register => {
            match instruction.op1_register() {
                Register::RBP => Some(Some(state.frame?)),
                _ => variable,
            }
        }
        Mnemonic::Mov => variable,
        _ => None,
    }
}

/// The register that an instruction gives back what it had at the entry.
fn restored(instruction: &Instruction, state: &State) -> Option<u16> {
    let number = in_dwarf(instruction.op0_register())?;
    let from = match instruction.code() {
        Code::Pop_r64 => -state.depth?,
        Code::Mov_r64_rm64 if instruction.memory_index() == Register::None => {
            let base = match instruction.memory_base() {
                Register::RSP => state.depth?,
                Register::RBP => state.frame?,
                _ => return None,
            };
            (instruction.memory_displacement64() as i64).wrapping_sub(base)
        }
        _ => return None,
    };
    (state.saved.get(&number) == Some(&from)).then_some(number)
}

fn in_dwarf(register: Register) -> Option<u16> {
    let register = register.full_register();
    let number = register.is_gpr64().then(|| register.number())?;
    Some(IN_DWARF.get(number).copied().unwrap_or(number as u16))
}

/// Whether an instruction stands where nothing comes, or does nothing.
fn is_filling(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3 | Mnemonic::Ud2)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::arch::{Arch, x86_64::X86_64};
    use crate::function::functions;
    use crate::prototypes::Prototypes;
    use crate::references::CodeMap;
    use crate::unwind::UnwindTable;

    const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/");
    const RUNTIME: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../probe");

    /// Compares what is found out with what the compiler wrote: functions, and those that are unknown.
    fn compare(compiler: &str, case: &str, level: &str) -> (usize, usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("case.o");
        let mut command = Command::new(compiler);
        command.args([level, RUNTIME, "-w", "-c", "-std=gnu11", "-o"]).arg(&path);
        assert!(command.arg(format!("{CASES}{case}")).status().unwrap().success());
        let object = Object::parse(&std::fs::read(path).unwrap()).unwrap();
        let functions = functions(&object);
        let written = UnwindTable::read(&object, X86_64::VENDOR).unwrap();
        let map = CodeMap::of::<X86_64>(&object, &functions);
        let (unwind, prototypes) = (&UnwindTable::default(), &Prototypes::of(&object));
        let context =
            Context { object: &object, unwind, functions: &functions, map: &map, prototypes };
        let (mut all, mut unknown) = (0, 0);
        for function in functions.iter().filter(|function| !function.is_part()) {
            all += 1;
            let Some(found) = X86_64::derive(&context, function) else {
                unknown += 1;
                continue;
            };
            let written = written.of(function.section, function.start).unwrap();
            let code = super::super::decode::decode(
                &object,
                function.section,
                function.start,
                function.end(),
            );
            for (instruction, _) in code.iter().filter(|(it, _)| !is_filling(it)) {
                let offset = instruction.ip() - function.start;
                let (found, written) = (found.at(offset).unwrap(), written.at(offset).unwrap());
                let label = format!("{compiler} {level} {case} {} + {offset:#x}", function.name);
                let (Some(cfa), Some(other)) = (found.cfa, written.cfa) else { continue };
                assert!(cfa.0 != other.0 || cfa == other, "{label}: {found:?} {written:?}");
                let other = written.saved.as_ref().unwrap();
                for &(register, place) in found.saved.as_ref().unwrap() {
                    let known = other.iter().find(|(saved, _)| *saved == register);
                    assert!(known.is_none_or(|it| it.1 == place), "{label}: {found:?} {written:?}");
                }
            }
        }
        (all, unknown)
    }

    #[test]
    fn what_is_found_out_is_what_compilers_write() {
        let (mut all, mut unknown) = (0, 0);
        for compiler in ["gcc", "clang-22"] {
            if Command::new(compiler).arg("--version").output().is_err() {
                println!("there is no {compiler}");
                continue;
            }
            for case in ["calls.c", "world.c", "copies.c", "stacked.c", "events.c", "arguments.c"] {
                for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
                    let (functions, left) = compare(compiler, case, level);
                    (all, unknown) = (all + functions, unknown + left);
                }
            }
        }
        assert!(all > 300 && unknown * 20 < all, "{unknown} of {all}");
    }
}
