//! A function as several methods, none of them larger than what is compiled.
//!
//! A driver makes a frame for the variables that cross from one method to another, and calls the
//! methods one after another: each gets the block to begin at, takes what is live there, and no more, out of the
//! frame, and at its end puts back what it changed and others read. It returns where to go on: which
//! method, in the upper half of the number, and where in that, in the lower.

use super::dispatch::{copied, is_dispatch, with_copies};
use super::exit_stores::{exit_stores, stored};
use super::explain::explain;
use super::method::{has_second_return, variables};
use super::partition::{PartLimits, crossings, part_of, parts};
use super::plan::Plan;
use super::{Context, Emitter, HUGE, Handover, Home};
use crate::classfile::{Class, Code, Kind, LONGEST, Label, access, op};
use crate::function::Function;
use crate::ir::Op;
use crate::liveness::{Facts, returns_twice};
use crate::report::Part;
use crate::vars::{SP, V0, Vars, kind};
use rustc_hash::FxHashMap;

/// The descriptor of a piece: the state, the frame, where to begin.
const PIECE: &str = "(Ltrimtab/Cpu;Ltrimtab/Cpu;I)I";

/// Bytes of a part, as far as single blocks allow. Far below what HotSpot compiles at all: it spends less time to
/// compile them, and each takes less out of the frame. Of programs with large functions, as Lua and SQLite, the JVM
/// compiles in less time of the processor than with parts near that limit.
const PART: usize = 700;
/// The same of what is hot by a profile, where that has it whole: so large a method is compiled late, and pays only if
/// it is hardly ever left.
const HOT_PART: usize = 7000;
/// How many times fewer crossings it must have than parts of the usual size.
const FEWER: u64 = 4;

/// Parts of a function, at most: their numbers are in the upper half of an integer.
const MOST_PARTS: usize = 1 << 15;

/// Where pieces can be entered.
#[derive(Default)]
pub(super) struct Entries {
    /// Blocks, by their index: where they are entered.
    pub(super) blocks: FxHashMap<usize, i32>,
    /// Returns from calls that return twice, by address.
    returns: Vec<(u32, i32)>,
    /// Blocks that end in a switch whose cases are in several parts, ascending.
    pub(super) dispatches: Vec<usize>,
}

/// What a function was cut into.
pub(crate) struct Cut {
    /// Bytes of the driver.
    pub(crate) driver: usize,
    /// What the methods are that it calls.
    pub(crate) parts: Vec<Part>,
}

/// Adds the methods of a function to a class; nothing where it does not fit.
pub(crate) fn split(
    context: &Context<'_>,
    function: &Function,
    class: &mut Class,
    home: &Home,
) -> Option<Cut> {
    let sizes = block_sizes(context, function, class);
    if sizes.iter().any(|size| *size > LONGEST) {
        return None;
    }
    let counts = context.profile.of(function);
    let copied = copied(function);
    let mut limits = PartLimits { hot: PART, other: PART };
    if let Some(counts) = &counts {
        let crossed = |limits| {
            let parts = parts(function, &sizes, limits, Some(counts), &copied);
            crossings(function, &parts, counts, &copied)
        };
        let large = PartLimits { hot: HOT_PART, ..limits };
        if crossed(large).saturating_mul(FEWER) < crossed(limits) {
            limits = large;
        }
    }
    loop {
        let homes = parts(function, &sizes, limits, counts.as_deref(), &copied);
        let parts = with_copies(function, &homes, &copied);
        let entries = entries(context, function, &homes, &parts);
        let codes: Vec<Code> = (0..parts.len())
            .map(|number| piece(context, function, class, &parts, number, &entries))
            .collect();
        let largest = codes.iter().map(Code::len).max().unwrap_or_default();
        if largest > HUGE
            && let Some(smaller) = limits.smaller()
        {
            limits = smaller;
            continue;
        }
        let driver = driver(context, function, class, home, parts.len(), &entries);
        if !driver.fits() || !codes.iter().all(Code::fits) || parts.len() > MOST_PARTS {
            return None;
        }
        let flags = access::PUBLIC | access::STATIC;
        class.method(flags, &home.name, &home.shape.descriptor(), &driver);
        for (number, code) in codes.iter().enumerate() {
            class.method(flags, &piece_name(home, number), PIECE, code);
        }
        let counts = counts.as_deref();
        let parts = explain(context, function, home, (&homes, &parts), &codes, &entries, counts);
        return Some(Cut { driver: driver.len(), parts });
    }
}

pub(super) fn piece_name(home: &Home, number: usize) -> String {
    format!("{}$part{number}", home.name)
}

/// The bytes that each block takes.
fn block_sizes(context: &Context<'_>, function: &Function, class: &mut Class) -> Vec<usize> {
    let all: Vec<usize> = (0..function.blocks.len()).collect();
    let facts = Facts::of(context.summaries, function);
    let vars = variables(&facts, function, &all, false);
    let (mut emitter, _) = Emitter::new(context, function, class, Vars::NONE, 3, vars, 1);
    all.iter()
        .map(|index| {
            let before = emitter.code.len();
            emitter.block(*index);
            // A switch is aligned.
            emitter.code.len() - before + 4
        })
        .collect()
}

/// Numbers the places at which pieces are entered from others, or first.
fn entries(
    context: &Context<'_>,
    function: &Function,
    homes: &[Vec<usize>],
    parts: &[Vec<usize>],
) -> Entries {
    let part_of = part_of(function, homes);
    let mut entered = vec![false; function.blocks.len()];
    entered[function.entry] = true;
    for label in function.label_blocks() {
        entered[label] = true;
    }
    let mut entries = Entries::default();
    for (index, block) in function.blocks.iter().enumerate().filter(|(_, it)| is_dispatch(it)) {
        if block.next.iter().any(|next| part_of[*next] != part_of[block.next[0]]) {
            block.next.iter().for_each(|next| entered[*next] = true);
            entries.dispatches.push(index);
        }
    }
    for part in parts {
        for next in exits(function, part) {
            entered[next] = true;
        }
    }
    for (number, part) in homes.iter().enumerate() {
        let mut place = (number as i32) << 16;
        for index in part {
            if entered[*index] {
                entries.blocks.insert(*index, place);
                place += 1;
            }
            if function.is_label(*index) {
                entries.returns.push((function.blocks[*index].key, place));
                place += 1;
            }
            for ins in &function.blocks[*index].ins {
                if let Op::Call(callee) = ins.op
                    && returns_twice(context.summaries, callee)
                {
                    entries.returns.push((ins.offset.cast_unsigned(), place));
                    place += 1;
                }
            }
        }
    }
    entries
}

/// What is live where a piece is entered.
pub(super) fn needed(
    context: &Context<'_>,
    function: &Function,
    part: &[usize],
    number: usize,
    entries: &Entries,
) -> Vars {
    let facts = Facts::of(context.summaries, function);
    let mut live = Vars::NONE;
    for index in part {
        let block = &function.blocks[*index];
        if entries.blocks.get(index).is_some_and(|place| (*place >> 16) as usize == number) {
            live = live.or(block.live_in);
        }
        let plan = Plan::new(&facts, function, block);
        for (ins, behind) in block.ins.iter().zip(&plan.behind) {
            if matches!(ins.op, Op::Call(callee) if returns_twice(context.summaries, callee)) {
                live = live.or(*behind);
            }
        }
    }
    live.without(Vars::of(&[0]))
}

/// The blocks of other parts to which one is left, ascending.
pub(super) fn exits(function: &Function, part: &[usize]) -> Vec<usize> {
    exits_from(function, part, part.iter())
}

/// Of these, those to which some of its blocks lead.
pub(super) fn exits_from<'a>(
    function: &Function,
    part: &[usize],
    blocks: impl Iterator<Item = &'a usize>,
) -> Vec<usize> {
    let next = blocks.flat_map(|index| &function.blocks[*index].next).copied();
    let mut exits: Vec<usize> = next.filter(|next| !part.contains(next)).collect();
    exits.sort_unstable();
    exits.dedup();
    exits
}

/// Notes where the cases are of the switches of a part.
fn find_cases(emitter: &mut Emitter<'_>, part: &[usize], number: usize, entries: &Entries) {
    for block in part.iter().filter(|block| entries.dispatches.binary_search(*block).is_ok()) {
        let place = |next: &usize| entries.blocks.get(next).copied().unwrap_or(-1);
        let next = &emitter.function.blocks[*block].next;
        let places: Vec<i32> = next.iter().map(place).collect();
        emitter.find_cases(*block, &places, number);
    }
}

fn piece(
    context: &Context<'_>,
    function: &Function,
    class: &mut Class,
    parts: &[Vec<usize>],
    number: usize,
    entries: &Entries,
) -> Code {
    // Long: the way into a part, its blocks and the way out share its labels.
    let part = &parts[number];
    let facts = Facts::of(context.summaries, function);
    let known = exits(function, part);
    let twice = has_second_return(context, function, part);
    let mut vars = variables(&facts, function, part, false);
    if twice {
        vars = vars.or(Vars::of(&[SP, V0]));
    }
    // The frame, and where to begin; where to go on, and the stack's pointer at the start.
    let (mut emitter, ints) = Emitter::piece(context, function, class, vars);
    let [frame, begin, state, low] = ints;
    let live = needed(context, function, part, number, entries).and(vars);
    let is_here = |place: &i32| (*place >> 16) as usize == number;
    let entered: Vec<(usize, i32)> = part
        .iter()
        .filter_map(|index| Some((*index, *entries.blocks.get(index)?)))
        .filter(|(_, place)| is_here(place))
        .collect();
    // What comes back to a call needs all of it.
    let everywhere = match twice {
        true => live,
        false => entered.iter().fold(live, |all, (at, _)| all.and(function.blocks[*at].live_in)),
    };
    emitter.take_out(frame, everywhere);
    let leave = emitter.code.label();
    emitter.handover = Some(Handover { state, leave });
    find_cases(&mut emitter, part, number, entries);
    let start = emitter.code.label();
    if twice {
        emitter.code.load(Kind::Cpu, frame);
        emitter.low();
        emitter.code.store(Kind::Int, low);
    }
    let returns: Vec<(u32, Label, i32)> = entries
        .returns
        .iter()
        .filter(|(_, place)| is_here(place))
        .map(|(pc, place)| (*pc, emitter.code.label(), *place))
        .collect();
    let returned = returns.iter().map(|(_, label, place)| (*place, *label)).collect();
    emitter.enter_piece((frame, begin), live.without(everywhere), &entered, returned);
    if !twice {
        emitter.stored = stored(&facts, function, part, entries);
    }
    emitter.code.bind(start);
    let first = part.first().copied().unwrap_or_default();
    let order = emitter.order(part, first, &[]);
    for (at, index) in order.iter().enumerate() {
        emitter.following = order.get(at + 1).copied();
        emitter.block(*index);
    }
    emitter.landings();
    for index in part.iter().filter(|index| function.is_label(**index)) {
        let label = emitter.labels[*index];
        emitter.returns.push((function.blocks[*index].key, label));
    }
    // Returns into the middle of a block: through a jump to the label behind the call.
    for (pc, label, _) in &returns {
        emitter.code.bind(*label);
        let behind = emitter.returns.iter().find(|(known, _)| known == pc).map(|(_, label)| *label);
        if let Some(behind) = behind {
            emitter.code.jump(op::GOTO, behind, 0);
        } else {
            emitter.never();
        }
    }
    let exit_stores = exit_stores(&mut emitter, part, entries, leave, twice);
    if twice {
        emitter.second_returns(start, low);
    }
    if known.is_empty() {
        // All of it returns from the function.
        return emitter.code;
    }
    exit_stores.emit(&mut emitter, frame);
    emitter.code.load(Kind::Int, state);
    emitter.code.give_back(Some(Kind::Int));
    emitter.code
}

/// What a part sets.
pub(super) fn changed(facts: &Facts<'_>, function: &Function, part: &[usize]) -> Vars {
    let set = part.iter().flat_map(|index| &function.blocks[*index].ins);
    set.fold(Vars::NONE, |all, ins| match ins.op {
        Op::Call(callee) => all.or(facts.sets(callee)),
        _ => all.or(ins.defs()),
    })
}

/// What some of these blocks read.
pub(super) fn read(function: &Function, blocks: &[usize]) -> Vars {
    blocks.iter().fold(Vars::NONE, |all, block| all.or(function.blocks[*block].live_in))
}

fn driver(
    context: &Context<'_>,
    function: &Function,
    class: &mut Class,
    home: &Home,
    count: usize,
    entries: &Entries,
) -> Code {
    let twice = !entries.returns.is_empty();
    let (mut emitter, [frame, state]) = Emitter::driver(context, function, class);
    emitter.run_time("trimtab/Cpu", "frame", "()Ltrimtab/Cpu;", 0, Some(Kind::Cpu));
    emitter.code.store(Kind::Cpu, frame);
    for var in function.arguments.iter() {
        emitter.code.load(Kind::Cpu, frame);
        emitter.get(var);
        emitter.put_field(var);
    }
    if twice {
        emitter.code.load(Kind::Cpu, frame);
        emitter.get(SP);
        let field = emitter.class.pool.field("trimtab/Cpu", "low", "I");
        emitter.code.op_u16(op::PUTFIELD, field, -2);
    }
    let first = entries.blocks.get(&function.entry).copied().unwrap_or_default();
    emitter.int(first);
    emitter.code.store(Kind::Int, state);
    let (top, done) = (emitter.code.label(), emitter.code.label());
    emitter.code.bind(top);
    emitter.code.load(Kind::Int, state);
    emitter.int(16);
    emitter.code.op(op::ISHR, -1);
    let cases: Vec<(i32, Label)> =
        (0..count as i32).map(|number| (number, emitter.code.label())).collect();
    emitter.code.switch(&cases, done);
    for (number, label) in &cases {
        emitter.code.bind(*label);
        emitter.code.load(Kind::Cpu, 0);
        emitter.code.load(Kind::Cpu, frame);
        emitter.code.load(Kind::Int, state);
        let name = piece_name(home, *number as usize);
        let method = emitter.class.pool.method(&home.class, &name, PIECE);
        emitter.code.call(method, 3, Some(Kind::Int));
        emitter.code.store(Kind::Int, state);
        emitter.code.jump(op::GOTO, top, 0);
    }
    emitter.code.bind(done);
    emitter.give_back_state();
    if twice {
        emitter.driver_returns(top, frame, state, &entries.returns);
    }
    emitter.code
}

impl<'a> Emitter<'a> {
    /// A piece: its slots for the frame, where to begin, where to go on, and the stack's pointer.
    fn piece(
        context: &'a Context<'a>,
        function: &'a Function,
        class: &'a mut Class,
        vars: Vars,
    ) -> (Emitter<'a>, [u16; 4]) {
        let (mut emitter, ints) = Emitter::new(context, function, class, Vars::NONE, 2, vars, 2);
        emitter.code.set_local(1, Kind::Cpu);
        let slots = [0, 1, 2, 3].map(|at| ints.get(at).copied().unwrap_or_default());
        (emitter, slots)
    }

    /// A driver: its slots for the frame and for where to go on.
    fn driver(
        context: &'a Context<'a>,
        function: &'a Function,
        class: &'a mut Class,
    ) -> (Emitter<'a>, [u16; 2]) {
        let arguments = function.arguments;
        let (mut emitter, ints) =
            Emitter::new(context, function, class, arguments, 0, Vars::NONE, 2);
        let slots = [0, 1].map(|at| ints.get(at).copied().unwrap_or_default());
        // The first of both is set to the frame before any label.
        emitter.code.set_local(1 + arguments.iter().count(), Kind::Cpu);
        (emitter, slots)
    }

    /// Takes variables out of the frame.
    fn take_out(&mut self, frame: u16, vars: Vars) {
        for var in vars.iter() {
            self.code.load(Kind::Cpu, frame);
            self.get_from(var);
            self.set(var);
        }
    }

    /// Goes on at the place of a piece whose number is in the slot `begin`: at `entered`, blocks by their places, or at one of
    /// `cases`. Blocks that need some of `more`, which not all do, take it first.
    fn enter_piece(
        &mut self,
        (frame, begin): (u16, u16),
        more: Vars,
        entered: &[(usize, i32)],
        mut cases: Vec<(i32, Label)>,
    ) {
        let mut takes = Vec::new();
        for (index, place) in entered {
            let some = self.function.blocks[*index].live_in.and(more);
            let block = self.labels[*index];
            let label = if some == Vars::NONE { block } else { self.code.label() };
            if some != Vars::NONE {
                takes.push((label, some, block));
            }
            cases.push((*place, label));
        }
        cases.sort_unstable_by_key(|(place, _)| *place);
        self.code.load(Kind::Int, begin);
        let lost = self.code.label();
        self.code.switch(&cases, lost);
        self.code.bind(lost);
        self.run_time("trimtab/Jump", "lost", "()V", 0, None);
        self.never();
        for (label, some, block) in takes {
            self.code.bind(label);
            self.take_out(frame, some);
            self.code.jump(op::GOTO, block, 0);
        }
    }

    /// Replaces the state on the stack by what it keeps in the place of a variable.
    fn get_from(&mut self, var: crate::vars::Var) {
        let kind = kind(var);
        let field = self.class.pool.field("trimtab/Cpu", &format!("v{var}"), kind.descriptor());
        self.code.op_u16(op::GETFIELD, field, i32::from(kind.slots()) - 1);
    }

    /// Replaces the frame on the stack by the stack's pointer at the function's start.
    fn low(&mut self) {
        let field = self.class.pool.field("trimtab/Cpu", "low", "I");
        self.code.op_u16(op::GETFIELD, field, 0);
    }

    /// Returns the results that a piece left in the state.
    fn give_back_state(&mut self) {
        let shape = self.context.homes.get(&self.function.start).map(|home| home.shape);
        let Some(shape) = shape else { return self.never() };
        match shape.returns {
            Some((_, Kind::Long)) => {
                self.get_field(crate::vars::V1);
                self.code.op(op::I2L, 1);
                self.int(32);
                self.code.op(op::LSHL, -1);
                self.get_field(V0);
                self.widen(false);
                self.code.op(op::LOR, -2);
            }
            Some((var, _)) => self.get_field(var),
            None => {}
        }
        self.code.give_back(shape.returns.map(|(_, kind)| kind));
    }

    /// Catches what comes back to a call in a piece that has been left.
    fn driver_returns(&mut self, start: Label, frame: u16, state: u16, returns: &[(u32, i32)]) {
        let (end, handler) = (self.code.label(), self.code.label());
        self.code.bind(end);
        self.code.bind_handler(start, end, handler);
        self.code.load(Kind::Cpu, 0);
        self.code.load(Kind::Cpu, frame);
        self.get_from(SP);
        self.code.load(Kind::Cpu, frame);
        self.low();
        let descriptor = "(Ljava/lang/Throwable;Ltrimtab/Cpu;II)I";
        self.run_time("trimtab/Jump", "land", descriptor, 4, Some(Kind::Int));
        for var in [SP, V0] {
            self.code.load(Kind::Cpu, frame);
            self.get_field(var);
            self.put_field(var);
        }
        // A call can return to a label, which is one place.
        let mut returns = returns.to_vec();
        returns.sort_unstable();
        returns.dedup_by_key(|(pc, _)| *pc);
        let mut cases: Vec<(i32, Label)> =
            returns.iter().map(|(pc, _)| (pc.cast_signed(), self.code.label())).collect();
        let labelled: Vec<(Label, i32)> =
            cases.iter().zip(&returns).map(|((_, label), (_, place))| (*label, *place)).collect();
        cases.sort_unstable_by_key(|(pc, _)| *pc);
        let lost = self.code.label();
        self.code.switch(&cases, lost);
        for (label, place) in labelled {
            self.code.bind(label);
            self.int(place);
            self.code.store(Kind::Int, state);
            self.code.jump(op::GOTO, start, 0);
        }
        self.code.bind(lost);
        self.code.load(Kind::Cpu, 0);
        self.run_time("trimtab/Jump", "again", "(Ltrimtab/Cpu;)V", 1, None);
        self.never();
    }
}
