//! Which functions must never be absent: the closure of the roots over what they call.
//!
//! The rules:
//! - A function that a core function calls or jumps to is core, and so is one that it falls into.
//! - Indirect calls are followed conservatively. What a core function takes the address of is core,
//!   and where it calls through a pointer, so is what the data objects hold that it names, and the
//!   objects to which those point. What was seen to be called from it in a trace is core, too.
//! - The search ends at the functions that `roots` lists, for the reasons given there.
//! - Code with a place of its own in the kernel's linker script is core: entry code, code that must
//!   not be traced, the thunks.
//! - Blocks that the running kernel may patch are core, unless it is promised that it will not.

use crate::SwapError;
use crate::code::{Code, Reference};
use crate::heat::Run;
use crate::patched::{Patched, Sites};
use crate::roots::{self, FAULT_HANDLER, Group, ROOTS};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use trimtab_link::kernel;
use trimtab_program::references::Target;
use trimtab_program::{FunctionId, Program, Range};

/// Why a function is core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It is where a search begins.
    Root(Group),
    /// That core function calls it, jumps to it or runs into it.
    CalledBy(FunctionId),
    /// That core function takes its address.
    TakenBy(FunctionId),
    /// Data that this core function names holds its address, and it calls through pointers.
    HeldFor(FunctionId),
    /// That core function was seen to call it through a pointer.
    SeenFrom(FunctionId),
    /// The kernel's linker script gives it a place of its own.
    Pinned,
    /// The kernel may patch it at run time.
    Patched(Patched),
}

/// Which functions are core and why.
#[derive(Debug, Clone)]
pub struct Residence {
    why: Vec<Option<Why>>,
    patched: Vec<Option<Patched>>,
    unresolved: Vec<FunctionId>,
    ends: Vec<FunctionId>,
}

/// How far from an address the data object is taken to reach where no symbol ends it, in bytes.
const LONGEST_OBJECT: u64 = 512;
/// How many objects are followed from object to object.
const HOPS: usize = 2;

impl Residence {
    /// Computes the closure. `never` names what patches code and is promised not to be used. Takes
    /// time in proportion to the code, the data that core code names, and the streams.
    ///
    /// # Errors
    /// [`SwapError::NoFaultPath`] where the kernel has no page fault handler.
    pub fn of(
        code: &Code<'_>,
        sites: &Sites,
        never: &[Patched],
        runs: &[Run<'_>],
    ) -> Result<Self, SwapError> {
        let program = code.program();
        if program.lookup(FAULT_HANDLER).is_empty() {
            return Err(SwapError::NoFaultPath { wanted: FAULT_HANDLER });
        }
        let mut search = Search {
            code,
            objects: Objects::of(program),
            seen: seen(code, runs),
            why: vec![None; program.functions().len()],
            open: VecDeque::new(),
            unresolved: Vec::new(),
            ends: FxHashSet::default(),
        };
        let bounded = kernel::bounded_ranges(program);
        for id in program.function_ids() {
            let function = program.function(id);
            if let Some(group) = roots::root(function.name) {
                search.add(id, Why::Root(group));
            }
            let pinned = bounded.iter().any(|range| range.contains(function.range.start));
            // They are in memory all the same, and what they call need not be.
            if (pinned || function.name.starts_with("__x86_")) && search.why[id.index()].is_none() {
                search.why[id.index()] = Some(Why::Pinned);
            }
        }
        // Further names of functions.
        for (pattern, group) in ROOTS.iter().filter(|(pattern, _)| !pattern.ends_with('*')) {
            for id in program.lookup(pattern) {
                search.add(id, Why::Root(*group));
            }
        }
        search.run();
        let patched = sites.blocks(code, never);
        for (block, kind) in code.blocks().iter().zip(&patched) {
            if let Some(kind) = kind {
                search.why[block.function.index()].get_or_insert(Why::Patched(*kind));
            }
        }
        let Search { why, mut unresolved, ends, .. } = search;
        unresolved.sort_unstable();
        let mut ends: Vec<FunctionId> = ends.into_iter().collect();
        ends.sort_unstable();
        Ok(Residence { why, patched, unresolved, ends })
    }

    /// Why a function is core; `None` where it is not. A function with [`Why::Patched`] is so only in
    /// the blocks that are patched, where blocks can be told apart.
    pub fn why(&self, function: FunctionId) -> Option<Why> {
        self.why.get(function.index()).copied().flatten()
    }

    /// What may patch a block.
    pub fn patched(&self, block: usize) -> Option<Patched> {
        self.patched.get(block).copied().flatten()
    }

    /// Core functions that call through pointers of which nobody knows where they lead.
    pub fn unresolved(&self) -> &[FunctionId] {
        &self.unresolved
    }

    /// Functions that core code calls and at which the search ended.
    pub fn ends(&self) -> &[FunctionId] {
        &self.ends
    }

    /// How a function comes to be core: itself, what called it, and so on up to a root.
    pub fn path(&self, function: FunctionId) -> Vec<(FunctionId, Why)> {
        let mut path = Vec::new();
        let mut at = function;
        while let Some(why) = self.why(at) {
            path.push((at, why));
            at = match why {
                Why::CalledBy(by) | Why::TakenBy(by) | Why::HeldFor(by) | Why::SeenFrom(by) => by,
                Why::Root(_) | Why::Pinned | Why::Patched(_) => break,
            };
            if path.len() > self.why.len() {
                break;
            }
        }
        path
    }
}

struct Search<'a> {
    code: &'a Code<'a>,
    objects: Objects<'a>,
    /// Calls through pointers that were seen: caller, callee.
    seen: Vec<(FunctionId, FunctionId)>,
    why: Vec<Option<Why>>,
    open: VecDeque<FunctionId>,
    unresolved: Vec<FunctionId>,
    ends: FxHashSet<FunctionId>,
}

impl Search<'_> {
    fn add(&mut self, id: FunctionId, why: Why) {
        // What is pinned is core anyhow, and is searched only once something core leads to it.
        if matches!(self.why[id.index()], None | Some(Why::Pinned)) {
            self.why[id.index()] = Some(why);
            self.open.push_back(id);
        }
    }

    fn reach(&mut self, id: FunctionId, why: Why) {
        if roots::end(self.code.name(id)).is_some() && roots::root(self.code.name(id)).is_none() {
            self.ends.insert(id);
            return;
        }
        self.add(id, why);
    }

    fn run(&mut self) {
        while let Some(id) = self.open.pop_front() {
            let (mut through_pointer, mut jumps) = (false, false);
            let mut known = false;
            let mut addresses = Vec::new();
            for Reference { target, .. } in self.code.references_of(id).iter().copied() {
                match target {
                    Target::Call(to) | Target::Jump(to) => {
                        let Some(callee) = self.code.program().function_at(to) else { continue };
                        if callee == id {
                            continue;
                        }
                        through_pointer |= is_thunk(self.code.name(callee));
                        self.reach(callee, Why::CalledBy(id));
                    }
                    Target::IndirectCall => through_pointer = true,
                    Target::IndirectJump => jumps = !is_thunk(self.code.name(id)),
                    Target::Address(at) => addresses.push(at),
                }
            }
            // Within a function a choice of cases, from a table of its own places; else a call at its
            // end.
            let chooses = |at: &u64| {
                let first = self.objects.words(*at).next();
                first.and_then(|word| self.code.program().function_at(word)) == Some(id)
            };
            through_pointer |= jumps && !addresses.iter().any(chooses);
            self.run_into_next(id);
            for &at in &addresses {
                if let Some(taken) = self.code.entry(at).filter(|taken| *taken != id) {
                    known = true;
                    self.reach(taken, Why::TakenBy(id));
                }
            }
            if !through_pointer {
                continue;
            }
            let held = self.objects.functions(self.code, &addresses);
            known |= !held.is_empty();
            for function in held {
                self.reach(function, Why::HeldFor(id));
            }
            let first = self.seen.partition_point(|(from, _)| *from < id);
            let end = self.seen.partition_point(|(from, _)| *from <= id);
            known |= end > first;
            for place in first..end {
                let (_, callee) = self.seen[place];
                self.reach(callee, Why::SeenFrom(id));
            }
            if !known {
                self.unresolved.push(id);
            }
        }
    }

    /// A function whose last block falls through runs into the next one: hand-written code does.
    fn run_into_next(&mut self, id: FunctionId) {
        let blocks = self.code.blocks_of(id);
        let Some(last) = blocks.clone().next_back().map(|last| self.code.blocks()[last]) else {
            return;
        };
        let calls_last = self.code.references_of(id).last().is_some_and(|reference| {
            reference.block as usize + 1 == blocks.end
                && matches!(reference.target, Target::Call(_) | Target::IndirectCall)
        });
        // A function that ends with a call does not come back from it.
        if last.falls_through
            && !calls_last
            && last.id.is_none()
            && let Some(next) = self.code.entry(last.range.end)
        {
            self.reach(next, Why::CalledBy(id));
        }
    }
}

fn is_thunk(name: &str) -> bool {
    name.starts_with("__x86_indirect_")
}

/// Data objects by address: what lies between two symbols.
struct Objects<'a> {
    program: &'a Program<'a>,
    starts: Vec<u64>,
}

impl<'a> Objects<'a> {
    fn of(program: &'a Program<'a>) -> Self {
        let mut starts: Vec<u64> = program.markers().iter().map(|marker| marker.address).collect();
        starts.sort_unstable();
        starts.dedup();
        Objects { program, starts }
    }

    /// The functions whose addresses lie in the objects at `addresses`, or in those to which these
    /// point.
    fn functions(&self, code: &Code<'_>, addresses: &[u64]) -> Vec<FunctionId> {
        let mut found = Vec::new();
        let mut seen: FxHashSet<u64> = FxHashSet::default();
        let mut here: Vec<u64> = addresses.to_vec();
        for _ in 0..HOPS {
            let mut next = Vec::new();
            for address in here {
                // Code is no data.
                if self.program.function_at(address).is_some() || !seen.insert(address) {
                    continue;
                }
                for word in self.words(address) {
                    match code.entry(word) {
                        Some(function) => found.push(function),
                        None => next.push(word),
                    }
                }
            }
            here = next;
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The words of the object at an address.
    fn words(&self, address: u64) -> impl Iterator<Item = u64> + use<'a> {
        let place = self.starts.partition_point(|start| *start <= address);
        let limit = address.saturating_add(LONGEST_OBJECT);
        let end = self.starts.get(place).map_or(limit, |next| limit.min(*next));
        let start = address & !7;
        let range = Range { start, end: end.max(start) & !7 };
        let bytes = self.program.bytes(range).unwrap_or_default();
        let word = |bytes: &[u8]| bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        bytes.chunks_exact(8).filter_map(word).filter(|word| *word != 0)
    }
}

/// Calls through pointers that the runs made, ascending, each once: from which function to which.
fn seen(code: &Code<'_>, runs: &[Run<'_>]) -> Vec<(FunctionId, FunctionId)> {
    let program = code.program();
    let mut found: FxHashSet<(FunctionId, FunctionId)> = FxHashSet::default();
    for run in runs {
        // Of each block of the stream: the function at its end if that calls through a pointer, and
        // the function that its start is the entry of.
        let blocks: Vec<(Option<FunctionId>, bool, Option<FunctionId>)> = run
            .stream()
            .blocks()
            .iter()
            .map(|block| {
                let last = block.start.saturating_add(block.length.saturating_sub(1).into());
                let range = Range::with_length(block.start, block.length.into());
                let caller = program.function_at(last);
                let pointer = calls_through_pointer(code, range);
                (caller.filter(|_| pointer), is_in_thunk(code, caller), code.entry(block.start))
            })
            .collect();
        let mut caller = None;
        for block in run.executions() {
            let (pointer, thunk, entry) = blocks[block as usize];
            if let (Some(from), Some(to)) = (caller, entry.filter(|_| !thunk)) {
                found.insert((from, to));
            }
            // A thunk goes where its caller wants.
            if !thunk {
                caller = pointer;
            }
        }
    }
    let mut found: Vec<_> = found.into_iter().filter(|(from, to)| from != to).collect();
    found.sort_unstable();
    found
}

fn is_in_thunk(code: &Code<'_>, function: Option<FunctionId>) -> bool {
    function.is_some_and(|function| is_thunk(code.name(function)))
}

/// Whether the last instruction of these bytes calls through a pointer.
fn calls_through_pointer(code: &Code<'_>, range: Range) -> bool {
    let last = trimtab_program::references::instructions(code.program(), range).last();
    match last.and_then(|last| last.transfer) {
        Some(Target::IndirectCall | Target::IndirectJump) => true,
        Some(Target::Call(to) | Target::Jump(to)) => {
            is_in_thunk(code, code.program().function_at(to))
        }
        _ => false,
    }
}
