//! Functions as blocks of instructions.

use crate::by_pointer::POINTER_FLOATS;
use crate::image::Image;
use crate::ir::{Callee, Cond, End, Ins, Op, Val, Width};
use crate::mips::{Control, Where, control, decode};
use crate::unwind::Region;
use crate::vars::{A0, A1, FP, RA, SAVED, SAVED2, SP, T9, Vars};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Instructions after which a block is cut, so that any block fits into a method.
const LONGEST: usize = 120;
/// Computed jumps of a function times the places where they lead, at most: what is worked out of a function takes time by
/// these.
const MOST_EDGES: usize = 1 << 20;

/// Added to an address: the block is the delay slot of a branch that is taken.
const SLOT: u32 = 1;
/// Added to an address: the block leaves the function for that address.
const OUT: u32 = 2;
/// Added to the address of a landing pad: the block takes there what an exception brings.
const CAUGHT: u32 = 3;

/// Instructions that run one after another.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Address of the first instruction, with what tells blocks at one address apart.
    pub(crate) key: u32,
    pub(crate) ins: Vec<Ins>,
    pub(crate) end: End,
    /// Where each edge leads: indices into the function's blocks, as [`End::targets`] has them.
    pub(crate) next: Vec<usize>,
    /// What is live at its start.
    pub(crate) live_in: Vars,
}

/// A function.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub(crate) start: u32,
    pub(crate) name: String,
    /// By ascending key; the first is where it begins, unless [`Function::entry`] says otherwise.
    pub(crate) blocks: Vec<Block>,
    pub(crate) entry: usize,
    /// Its address is known elsewhere than in calls.
    pub(crate) taken: bool,
    /// Something that is reached calls it, or its address is known.
    pub(crate) reached: bool,
    /// Regions of its calls, if it looks at exceptions.
    pub(crate) regions: Option<Vec<Region>>,
    /// Keys of blocks at labels that code makes the addresses of, as for `__builtin_setjmp`, or in a function within this one
    /// that jumps there; ascending.
    pub(crate) labels: Vec<u32>,
    /// What is live at any of these.
    pub(crate) live_at_labels: Vars,
    /// What it is given.
    pub(crate) arguments: Vars,
    /// What its callers read of what it gives back.
    pub(crate) results: Vars,
    /// What it, or what it calls, may set of what functions give back; all forms of it.
    pub(crate) writes: Vars,
    /// Where it ends with a call through a pointer, the floating-point numbers that may be given.
    pub(crate) tail_floats: Vars,
    /// Its arithmetic rounds as the control register says.
    pub(crate) rounds: bool,
    /// It is `vfork`: it returns once more, as `setjmp` does.
    pub(crate) forks: bool,
    /// Addresses of instructions that compute what it gives back in `v0`, ascending.
    pub(crate) computed: Vec<u32>,
}

impl Function {
    /// Whether a method of the run time's stands for it.
    pub(crate) fn is_stand_in(&self) -> bool {
        let ins = self.blocks.iter().flat_map(|block| &block.ins);
        ins.into_iter().any(|ins| matches!(ins.op, Op::StandIn(_)))
    }

    /// The functions that it calls or leaves for, by address.
    pub(crate) fn callees(&self) -> BTreeSet<u32> {
        self.calls().into_iter().collect()
    }

    /// Where each call that it makes or ends with leads, as far as that is known.
    pub(crate) fn calls(&self) -> Vec<u32> {
        let mut found = Vec::new();
        for block in &self.blocks {
            for ins in &block.ins {
                if let Op::Call(Callee::At(to)) = ins.op {
                    found.push(to);
                }
            }
            if let End::Tail(Callee::At(to)) = block.end {
                found.push(to);
            }
        }
        found
    }

    /// Whether it can return.
    pub(crate) fn gives_back(&self) -> bool {
        let is_end = |end: &End| {
            matches!(end, End::Return | End::Tail(_) | End::Table { is_goto: false, .. })
        };
        self.blocks.iter().any(|block| is_end(&block.end))
    }

    /// Whether code makes the address of this block.
    pub(crate) fn is_label(&self, block: usize) -> bool {
        self.labels.binary_search(&self.blocks[block].key).is_ok()
    }

    /// The blocks that code makes the addresses of.
    pub(crate) fn label_blocks(&self) -> impl Iterator<Item = usize> {
        let count = if self.labels.is_empty() { 0 } else { self.blocks.len() };
        (0..count).filter(|block| self.is_label(*block))
    }

    /// Of each block, those that lead to it, once for each way.
    pub(crate) fn predecessors(&self) -> Vec<Vec<usize>> {
        let mut before = vec![Vec::new(); self.blocks.len()];
        for (from, block) in self.blocks.iter().enumerate() {
            block.next.iter().for_each(|to| before[*to].push(from));
        }
        before
    }

    /// Ways from block to block.
    pub(crate) fn edges(&self) -> usize {
        self.blocks.iter().map(|block| block.next.len()).sum()
    }

    /// Instructions in all blocks.
    pub(crate) fn instructions(&self) -> usize {
        self.blocks.iter().map(|block| block.ins.len() + 1).sum()
    }
}

/// Cuts the code from `start` to `end` into blocks. `labels` are places in any function that code has the addresses of. None where
/// computed jumps lead to so many places that this would take too long.
pub(crate) fn build(
    image: &Image<'_>,
    start: u32,
    end: u32,
    name: &str,
    labels: &BTreeSet<u32>,
) -> Option<Function> {
    let regions = image.unwind.regions(start, end);
    let mut builder = Builder {
        image,
        start,
        end,
        leaders: BTreeSet::from([start]),
        jumps: 0,
        tables: Arc::new([]),
        leaves: false,
        returns_away: false,
        labels,
        own_labels: Vec::new(),
        regions: regions.as_deref().unwrap_or_default(),
        blocks: BTreeMap::new(),
    };
    builder.look();
    if builder.jumps * builder.tables.len() > MOST_EDGES {
        return None;
    }
    builder.catch();
    builder.find_leaders();
    builder.make_blocks();
    let labels = builder.own_labels;
    let mut blocks: Vec<Block> = builder.blocks.into_values().collect();
    let keys: Vec<u32> = blocks.iter().map(|block| block.key).collect();
    for block in &mut blocks {
        let targets = block.end.targets();
        block.next = targets.iter().filter_map(|key| keys.binary_search(key).ok()).collect();
    }
    let entry = keys.binary_search(&start).unwrap_or_default();
    Some(Function { regions, labels, ..new_function(start, name, blocks, entry) })
}

/// A function of these blocks of which no more is known.
pub(crate) fn new_function(start: u32, name: &str, blocks: Vec<Block>, entry: usize) -> Function {
    Function {
        start,
        name: name.to_owned(),
        blocks,
        entry,
        taken: false,
        reached: false,
        regions: None,
        labels: Vec::new(),
        live_at_labels: Vars::NONE,
        arguments: Vars::NONE,
        results: Vars::NONE,
        writes: Vars::NONE,
        tail_floats: POINTER_FLOATS,
        rounds: false,
        forks: false,
        computed: Vec::new(),
    }
}

struct Builder<'a, 'data> {
    image: &'a Image<'data>,
    start: u32,
    end: u32,
    leaders: BTreeSet<u32>,
    /// Computed jumps, but for returns.
    jumps: usize,
    /// Where these may lead.
    tables: Arc<[u32]>,
    /// It takes the stack pointer and that of the frame from memory: its computed jumps leave for another frame.
    leaves: bool,
    /// It takes the stack pointer from memory, and where it returns to.
    returns_away: bool,
    /// Places in any function that code has the addresses of.
    labels: &'a BTreeSet<u32>,
    /// Where it can be jumped to.
    own_labels: Vec<u32>,
    regions: &'a [Region],
    blocks: BTreeMap<u32, Block>,
}

impl Builder<'_, '_> {
    fn word(&self, pc: u32) -> Option<u32> {
        if (self.start..self.end).contains(&pc) { self.image.word(pc) } else { None }
    }

    /// Where control goes on that leads to this address.
    fn key(&self, to: u32) -> u32 {
        if self.word(to).is_some() { to } else { to & !3 | OUT }
    }

    /// Looks the function over for computed jumps.
    fn look(&mut self) {
        let mut restored = Vars::NONE;
        let mut return_address_elsewhere = false;
        for pc in (self.start..self.end).step_by(4) {
            let Some(word) = self.image.word(pc) else { break };
            let ins = decode(pc, word);
            if let (Some(d), Op::Load(Width::I32), true) = (ins.d, ins.op, ins.a != Val::Var(SP)) {
                restored.add(d);
            }
            if let (Some(RA), Op::Load(Width::I32)) = (ins.d, ins.op) {
                // Compilers may also use it as any other register; then it comes from the stack at the end.
                return_address_elsewhere = ins.a != Val::Var(SP);
            }
            if ins.op == Op::Copy && ins.d == Some(FP) && ins.a != Val::Var(SP) {
                restored.add(FP);
            }
            let jump = control(pc, word);
            if matches!(jump, Some(Control::Jump(Where::Register(to))) if to != RA) {
                self.jumps += 1;
            }
        }
        // A function with arrays of variable sizes takes back its own stack pointer, but no more.
        self.returns_away = restored.has(SP) && return_address_elsewhere;
        self.leaves = restored.has(SP) && restored.has(FP);
        let labels = self.labels.range(self.start..self.end).copied();
        self.own_labels = labels.filter(|to| self.word(*to).is_some()).collect();
        self.leaders.extend(&self.own_labels);
        if self.jumps > 0 && !self.leaves {
            let labels = &self.image.labels;
            let from = labels.partition_point(|label| *label < self.start);
            let to = labels.partition_point(|label| *label < self.end);
            // Its own start is in data where its address is taken; no jump table has it.
            let listed = labels[from..to].iter().copied().filter(|label| *label != self.start);
            let all: BTreeSet<u32> = listed.chain(self.own_labels.iter().copied()).collect();
            self.tables = all.into_iter().collect();
            self.leaders.extend(&*self.tables);
        }
    }

    /// Makes blocks that take exceptions to landing pads.
    fn catch(&mut self) {
        for pad in self.regions.iter().filter_map(|region| region.pad) {
            if self.word(pad).is_some() {
                self.leaders.insert(pad);
            }
            let caught =
                |var| Ins { pc: pad, ..Ins::new(Op::Caught, Some(var), Val::ZERO, Val::ZERO) };
            let ins = vec![caught(A0), caught(A1)];
            let block = new_block(pad | CAUGHT, ins, End::Jump(self.key(pad)));
            self.blocks.insert(pad | CAUGHT, block);
        }
    }

    /// Where an exception goes that leaves the call at `pc`: the block that takes it to the landing pad.
    fn caught(&self, pc: u32) -> Option<u32> {
        let region = region(self.regions, pc.wrapping_add(8))?;
        region.pad.map(|pad| pad | CAUGHT)
    }

    /// Finds where blocks begin, following what can be reached.
    fn find_leaders(&mut self) {
        let mut open: Vec<u32> = self.leaders.iter().copied().collect();
        let mut seen = BTreeSet::new();
        while let Some(mut pc) = open.pop() {
            while let Some(word) = self.word(pc) {
                if !seen.insert(pc) {
                    break;
                }
                let mut lead = |to: u32, builder: &mut Self| {
                    if builder.word(to).is_some() {
                        builder.leaders.insert(to);
                        open.push(to);
                    }
                };
                match control(pc, word) {
                    None | Some(Control::BranchAndLink) => {
                        pc += 4;
                        if matches!(decode(pc - 4, word).op, Op::Break { .. }) {
                            // What follows is reached by other ways, if at all.
                            break;
                        }
                    }
                    Some(Control::Call(to)) => {
                        if to == Where::At(pc + 8) {
                            lead(pc + 8, self);
                            break;
                        }
                        if self.caught(pc).is_some() {
                            lead(pc + 8, self);
                            break;
                        }
                        pc += 8;
                    }
                    Some(Control::Branch { to, .. }) => {
                        lead(to, self);
                        lead(pc + 8, self);
                        break;
                    }
                    Some(Control::Jump(Where::At(to))) => {
                        lead(to, self);
                        break;
                    }
                    Some(Control::Jump(_)) => break,
                }
            }
        }
    }

    fn make_blocks(&mut self) {
        let mut open: Vec<u32> = self.leaders.iter().copied().collect();
        while let Some(start) = open.pop() {
            if self.blocks.contains_key(&start) {
                continue;
            }
            let block = self.block(start);
            let known = |key: &u32| self.leaders.contains(key) || *key & 3 != 0;
            let further: Vec<u32> =
                block.end.targets().into_iter().filter(|key| !known(key)).collect();
            open.extend(further);
            self.blocks.insert(start, block);
        }
        let out: BTreeSet<u32> = self
            .blocks
            .values()
            .flat_map(|block| block.end.targets())
            .filter(|key| key & 3 == OUT)
            .collect();
        for key in out {
            let end = End::Tail(Callee::At(key & !3));
            self.blocks.insert(key, new_block(key, Vec::new(), end));
        }
    }

    fn block(&mut self, start: u32) -> Block {
        let mut ins = Vec::new();
        let mut pc = start;
        let end = loop {
            if pc != start && (self.leaders.contains(&pc) || ins.len() >= LONGEST) {
                break End::Jump(self.key(pc));
            }
            let Some(word) = self.word(pc) else {
                // The code runs on into the next function.
                break End::Tail(Callee::At(pc));
            };
            match control(pc, word) {
                None => {
                    let decoded = decode(pc, word);
                    ins.push(decoded);
                    pc += 4;
                    if matches!(decoded.op, Op::Break { .. } | Op::Unknown) {
                        break End::Stop;
                    }
                }
                Some(Control::BranchAndLink) => {
                    ins.push(unknown(pc, word));
                    break End::Stop;
                }
                Some(found) => {
                    if let Some(end) = self.with_slot(pc, found, &mut ins) {
                        break end;
                    }
                    pc += 8;
                }
            }
        };
        ins.retain(|ins| ins.op != Op::Nop);
        new_block(start, ins, end)
    }

    /// Adds what the instruction at `pc` and its delay slot do; says how the block ends, unless it
    /// goes on behind.
    fn with_slot(&mut self, pc: u32, found: Control, ins: &mut Vec<Ins>) -> Option<End> {
        // Long: a case for each kind of branch.
        // A slot may lie behind the function's end, as padding is no part of it.
        let slot_word = self.image.word(pc + 4).unwrap_or_default();
        let slot = match control(pc + 4, slot_word) {
            Some(_) => unknown(pc + 4, slot_word),
            None => decode(pc + 4, slot_word),
        };
        let sets = slot.defs();
        let mut keep = |value: Val, saved: u8| match value {
            Val::Var(var) if sets.has(var) => {
                ins.push(Ins { pc, ..Ins::new(Op::Copy, Some(saved), value, Val::ZERO) });
                Val::Var(saved)
            }
            _ => value,
        };
        match found {
            Control::Call(to) => {
                let callee = match to {
                    Where::At(to) => Callee::At(to),
                    Where::Register(to) => Callee::Through(keep(Val::Var(to), SAVED)),
                };
                ins.push(slot);
                if to == Where::At(pc + 8) {
                    // Only there to learn the address.
                    let address = Val::Const((pc + 8).cast_signed());
                    ins.push(Ins { pc, ..Ins::new(Op::Copy, Some(RA), address, Val::ZERO) });
                    return Some(End::Jump(self.key(pc + 8)));
                }
                let offset = (pc + 8).cast_signed();
                ins.push(Ins { op: Op::Call(callee), offset, pc, ..Ins::NOP });
                let caught = self.caught(pc)?;
                Some(End::Try { next: self.key(pc + 8), caught })
            }
            Control::Branch { cond, a, b, to, likely } => {
                if likely {
                    let taken = (pc + 4) | SLOT;
                    let block = new_block(taken, vec![slot], End::Jump(self.key(to)));
                    self.blocks.insert(taken, block);
                    return Some(End::Branch { cond, a, b, taken, next: self.key(pc + 8) });
                }
                let (a, b) = (keep(a, SAVED), keep(b, SAVED2));
                ins.push(slot);
                Some(End::Branch { cond, a, b, taken: self.key(to), next: self.key(pc + 8) })
            }
            Control::Jump(Where::At(to)) => {
                ins.push(slot);
                Some(End::Jump(self.key(to)))
            }
            Control::Jump(Where::Register(RA)) if !self.returns_away => {
                ins.push(slot);
                Some(End::Return)
            }
            Control::Jump(Where::Register(to)) => {
                // Position-independent functions expect their own address in `t9`.
                let is_goto = self.image.is_independent && to != T9;
                let to = keep(Val::Var(to), SAVED);
                ins.push(slot);
                Some(match (self.leaves || to == Val::Var(RA), self.tables.is_empty()) {
                    (true, _) => End::Away(to),
                    (_, true) => End::Tail(Callee::Through(to)),
                    _ => End::Table { to, targets: self.tables.clone(), is_goto },
                })
            }
            Control::BranchAndLink => Some(End::Stop),
        }
    }
}

/// The region of a call that returns to this address. As unwinders do, it looks at the byte before.
pub(crate) fn region(regions: &[Region], to: u32) -> Option<&Region> {
    let at = to.wrapping_sub(1);
    let behind = regions.partition_point(|region| region.start <= at);
    regions[..behind].last().filter(|region| at < region.end)
}

fn unknown(pc: u32, word: u32) -> Ins {
    Ins { op: Op::Unknown, offset: word.cast_signed(), pc, ..Ins::NOP }
}

pub(crate) fn new_block(key: u32, ins: Vec<Ins>, end: End) -> Block {
    Block { key, ins, end, next: Vec::new(), live_in: Vars::NONE }
}

/// Whether two numbers are so related.
pub(crate) fn holds(cond: Cond, a: i32, b: i32) -> bool {
    match cond {
        Cond::Eq => a == b,
        Cond::Ne => a != b,
        Cond::Lt => a < b,
        Cond::Ge => a >= b,
        Cond::Gt => a > b,
        Cond::Le => a <= b,
    }
}
