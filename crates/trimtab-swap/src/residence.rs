//! Which functions must never be absent: the closure of the roots over what they call.
//!
//! The rules:
//! - A function that a core function calls or jumps to is core, and so is one that it falls into.
//! - Indirect calls are followed conservatively. What a core function takes the address of is core,
//!   and where it calls through a pointer, so is what the data objects hold that it names, and the
//!   objects to which those point. What was seen to be called from it in a trace is core, too.
//! - The search ends at the calls that `roots` lists, for the reasons given there, and at all that a
//!   page fault runs behind the hook.
//! - Code with a place of its own in the kernel's linker script is core: entry code, code that must
//!   not be traced, the thunks. What it calls is not, unless something else leads to it.
//! - Blocks that the running kernel may patch are core, unless it is promised that it will not, or the
//!   kernel's handler keeps what is patched in swapped code.

mod causes;
mod hooks;
mod indirect_calls;
mod patch_sites;
mod roots;

pub use causes::{CoreCause, CoreCauses};
pub use patch_sites::{PatchKind, PatchSites};
pub use roots::Group;

use crate::SwapError;
use crate::code::{BlockId, Code, Reference};
use crate::heat::Run;
use crate::objects::Objects;
use indirect_calls::{indirect_calls, is_thunk};
use roots::{BEHIND, FAULT_HANDLER, FAULT_HOOK, NMI_HOOK, POINTERS, POKE_HOOK};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use trimtab_link::kernel;
use trimtab_program::references::Target;
use trimtab_program::{Fragments, FunctionId, Origin};

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
    Patched(PatchKind),
}

/// A call of core code that was not followed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct End {
    /// The function that calls.
    pub from: String,
    /// What it calls, or `through pointers`.
    pub to: String,
    /// Why that can be absent.
    pub reason: String,
}

/// Which functions are core and why.
#[derive(Debug, Clone)]
pub struct Residence {
    why: Vec<Option<Why>>,
    pinned: Vec<bool>,
    patched: Vec<Option<PatchKind>>,
    unresolved: Vec<FunctionId>,
    ends: Vec<End>,
    /// What led from function to function, ascending.
    edges: Vec<(FunctionId, FunctionId)>,
    handler: bool,
}

impl Residence {
    /// Computes the closure. `fragments` are the input sections of the kernel's text; `never` names
    /// what patches code and is promised not to be used. Takes time in proportion to the code, the
    /// data that core code names, and the streams.
    ///
    /// # Errors
    /// [`SwapError::NoFaultPath`] where the kernel has no page fault handler.
    pub fn of(
        code: &Code<'_>,
        fragments: &Fragments<'_>,
        sites: &PatchSites,
        never: &[PatchKind],
        runs: &[Run<'_>],
    ) -> Result<Self, SwapError> {
        let program = code.program();
        if program.lookup(FAULT_HANDLER).is_empty() {
            return Err(SwapError::NoFaultPath { wanted: FAULT_HANDLER });
        }
        let hook = program.lookup(FAULT_HOOK).first().copied();
        let mut search = Search {
            code,
            objects: Objects::of(program),
            indirect_calls: indirect_calls(code, runs),
            fault_hook: hook,
            // A kernel that has no handler yet will get trimtab's.
            nmi_hook: hook.is_none() || !program.lookup(NMI_HOOK).is_empty(),
            why: vec![None; program.functions().len()],
            open: VecDeque::new(),
            unresolved: Vec::new(),
            ends: FxHashMap::default(),
            edges: Vec::new(),
        };
        let pinned = pinned(code, fragments);
        for id in program.function_ids().filter(|id| pinned[id.index()]) {
            // They are in memory all the same, and what they call need not be.
            search.why[id.index()] = Some(Why::Pinned);
        }
        for (id, group) in all_roots(code, fragments) {
            search.add(id, Why::Root(group));
        }
        search.run();
        let kept = if program.lookup(POKE_HOOK).is_empty() { never } else { &PatchKind::ALL };
        let patched = sites.blocks(code, kept);
        for (block, kind) in code.blocks().iter().zip(&patched) {
            if let Some(kind) = kind {
                search.why[block.function.index()].get_or_insert(Why::Patched(*kind));
            }
        }
        let Search { why, mut unresolved, ends, mut edges, .. } = search;
        unresolved.sort_unstable();
        let end = |((from, to), reason): ((FunctionId, Option<FunctionId>), &str)| End {
            from: code.name(from).to_owned(),
            to: to.map_or(POINTERS, |to| code.name(to)).to_owned(),
            reason: reason.to_owned(),
        };
        let mut ends: Vec<End> = ends.into_iter().map(end).collect();
        ends.sort_unstable();
        edges.sort_unstable();
        edges.dedup();
        Ok(Residence { why, pinned, patched, unresolved, ends, edges, handler: hook.is_some() })
    }

    /// Whether the kernel has a handler that loads pages. One that has none yet is taken to get
    /// trimtab's, and what that calls is not known.
    pub fn has_handler(&self) -> bool {
        self.handler
    }

    /// Why a function is core; `None` where it is not. A function with [`Why::Patched`] is so only in
    /// the blocks that are patched, where blocks can be told apart.
    pub fn why(&self, function: FunctionId) -> Option<Why> {
        self.why.get(function.index()).copied().flatten()
    }

    /// Whether the kernel's linker script gives a function a place of its own.
    pub fn is_pinned(&self, function: FunctionId) -> bool {
        self.pinned.get(function.index()).copied().unwrap_or(false)
    }

    /// What may patch a block.
    pub fn patched(&self, block: BlockId) -> Option<PatchKind> {
        self.patched.get(block.index()).copied().flatten()
    }

    /// Core functions that call through pointers of which nobody knows where they lead.
    pub fn unresolved(&self) -> &[FunctionId] {
        &self.unresolved
    }

    /// Calls of core code that were not followed, ascending.
    pub fn ends(&self) -> &[End] {
        &self.ends
    }

    /// What the search found led from one core function to another, ascending.
    pub(crate) fn edges(&self) -> &[(FunctionId, FunctionId)] {
        &self.edges
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

/// Of each function whether it has a place of its own.
fn pinned(code: &Code<'_>, fragments: &Fragments<'_>) -> Vec<bool> {
    let program = code.program();
    let bounded = kernel::bounded_ranges(program);
    let mut pinned: Vec<bool> = program
        .function_ids()
        .map(|id| {
            let function = program.function(id);
            let inside = bounded.iter().any(|range| range.contains(function.range.start));
            inside || function.name.starts_with("__x86_")
        })
        .collect();
    for fragment in fragments.as_slice() {
        if kernel::pinned(fragment, &bounded).is_some() {
            fragment.functions().for_each(|id| pinned[id.index()] = true);
        }
    }
    pinned
}

/// Where the search begins.
fn all_roots(code: &Code<'_>, fragments: &Fragments<'_>) -> Vec<(FunctionId, Group)> {
    let program = code.program();
    let mut found = Vec::new();
    for id in program.function_ids() {
        found.extend(roots::root(program.function(id).name).map(|group| (id, group)));
    }
    // Further names of functions.
    for (pattern, group) in roots::ROOTS.iter().filter(|(pattern, _)| !pattern.ends_with('*')) {
        found.extend(program.lookup(pattern).into_iter().map(|id| (id, *group)));
    }
    for fragment in fragments.as_slice() {
        if let Origin::InputSection { section, .. } = &fragment.origin
            && *section == roots::HANDLER_SECTION
        {
            found.extend(fragment.functions().map(|id| (id, Group::Handler)));
        }
    }
    found
}

struct Search<'a> {
    code: &'a Code<'a>,
    objects: Objects<'a>,
    /// Calls through pointers that were seen: caller, callee.
    indirect_calls: Vec<(FunctionId, FunctionId)>,
    fault_hook: Option<FunctionId>,
    nmi_hook: bool,
    why: Vec<Option<Why>>,
    open: VecDeque<FunctionId>,
    unresolved: Vec<FunctionId>,
    /// Caller and callee, none for calls through pointers.
    ends: FxHashMap<(FunctionId, Option<FunctionId>), &'static str>,
    edges: Vec<(FunctionId, FunctionId)>,
}

impl Search<'_> {
    fn add(&mut self, id: FunctionId, why: Why) {
        // What is pinned is core anyhow, and is searched only once something core leads to it.
        if matches!(self.why[id.index()], None | Some(Why::Pinned)) {
            self.why[id.index()] = Some(why);
            self.open.push_back(id);
        }
    }

    /// Follows a call, unless the search ends there.
    fn reach(&mut self, from: FunctionId, to: FunctionId, why: Why) {
        match roots::end(self.code.name(from), self.code.name(to), self.nmi_hook) {
            Some(reason) => {
                self.ends.insert((from, Some(to)), reason);
            }
            None => {
                self.edges.push((from, to));
                self.add(to, why);
            }
        }
    }

    fn run(&mut self) {
        // Long: one search, whose state is in these variables.
        while let Some(id) = self.open.pop_front() {
            let before = self.fault_hook.and_then(|hook| hooks::before(self.code, id, hook));
            let (first, _) = self.code.bounds_of(id);
            let (mut through_pointer, mut jumps) = (false, false);
            let mut known = false;
            let mut addresses = Vec::new();
            for Reference { block, target } in self.code.references_of(id).iter().copied() {
                if before.as_ref().is_some_and(|before| !before[block.index() - first.index()]) {
                    self.pass_over(id, target);
                    continue;
                }
                match target {
                    Target::Call(to) | Target::Jump(to) => {
                        let Some(callee) = self.code.program().function_at(to) else { continue };
                        if callee == id {
                            continue;
                        }
                        through_pointer |= is_thunk(self.code.name(callee));
                        self.reach(id, callee, Why::CalledBy(id));
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
                    self.reach(id, taken, Why::TakenBy(id));
                }
            }
            if !through_pointer {
                continue;
            }
            if let Some(reason) = roots::end(self.code.name(id), POINTERS, self.nmi_hook) {
                self.ends.insert((id, None), reason);
                continue;
            }
            let held = self.objects.functions(self.code, &addresses);
            known |= !held.is_empty();
            for function in held {
                self.reach(id, function, Why::HeldFor(id));
            }
            let first = self.indirect_calls.partition_point(|(from, _)| *from < id);
            let end = self.indirect_calls.partition_point(|(from, _)| *from <= id);
            known |= end > first;
            for place in first..end {
                let (_, callee) = self.indirect_calls[place];
                self.reach(id, callee, Why::SeenFrom(id));
            }
            if !known {
                self.unresolved.push(id);
            }
        }
    }

    /// A call behind the hook of a page fault.
    fn pass_over(&mut self, id: FunctionId, target: Target) {
        let callee = match target {
            Target::Call(to) | Target::Jump(to) => self.code.program().function_at(to),
            Target::IndirectCall => None,
            Target::IndirectJump | Target::Address(_) => return,
        };
        if callee != Some(id) {
            self.ends.insert((id, callee), BEHIND);
        }
    }

    /// A function whose last block falls through runs into the next one: hand-written code does.
    fn run_into_next(&mut self, id: FunctionId) {
        // A trampoline ends with a jump; behind it are bytes that only mark it.
        if is_thunk(self.code.name(id)) {
            return;
        }
        let Some(last_block) = self.code.blocks_of(id).next_back() else { return };
        let last = self.code.block(last_block);
        let calls_last = self.code.references_of(id).last().is_some_and(|reference| {
            reference.block == last_block
                && matches!(reference.target, Target::Call(_) | Target::IndirectCall)
        });
        // A function that ends with a call does not come back from it.
        if last.falls_through
            && !calls_last
            && last.id.is_none()
            && let Some(next) = self.code.entry(last.range.end)
        {
            self.reach(id, next, Why::CalledBy(id));
        }
    }
}
