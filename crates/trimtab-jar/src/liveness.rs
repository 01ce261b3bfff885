//! What is live where, across functions: so that each is given and gives back only what is read.
//!
//! Backward data flow within a function; between functions the sets grow until nothing changes.

use crate::by_pointer::{ByPointer, POINTER_FLOATS};
use crate::constants::{PartialAddresses, moved_constants};
use crate::function::{Block, Function};
use crate::given::{FLOATS, UNUSUAL, given, lose_floats};
use crate::ir::{Callee, End, Ins, Op, Val};
use crate::return_types::never_given;
use crate::vars::{
    ARGUMENTS, COMMON_ARGUMENTS, DOUBLE, FLAG, RA, RESULTS, SP, V0, Var, Vars, as_doubles, forms,
    forms_of_pair, other_half,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// The registers for the first four integer arguments.
const ARGUMENT_REGISTERS: Vars = Vars::of(&[4, 5, 6, 7]);

/// What the callers of a function need to know of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Summary {
    pub(crate) arguments: Vars,
    pub(crate) writes: Vars,
    pub(crate) results: Vars,
    /// It notes the address that it returns to, as `setjmp` does: its callers can be come back to.
    pub(crate) returns_twice: bool,
}

/// What is known of all functions, by address.
pub(crate) type Summaries = FxHashMap<u32, Summary>;

/// What is live before and behind an instruction or the end of a block.
pub(crate) struct Facts<'a> {
    pub(crate) summaries: &'a Summaries,
    /// What the function's callers read.
    pub(crate) results: Vars,
    /// The floating-point arguments that it may pass where it leaves for what a pointer says.
    pub(crate) tail_floats: Vars,
    /// Those that any call through a pointer may pass.
    pub(crate) pointer_floats: Vars,
}

impl<'a> Facts<'a> {
    /// Those within a function of which all is known.
    pub(crate) fn of(summaries: &'a Summaries, function: &Function) -> Facts<'a> {
        Facts {
            summaries,
            results: function.results,
            tail_floats: function.tail_floats,
            pointer_floats: POINTER_FLOATS,
        }
    }

    /// What a call passes. The address to return to is known to the caller.
    pub(crate) fn passes(&self, callee: Callee, floats: Vars) -> Vars {
        let unknown = COMMON_ARGUMENTS.or(floats.and(self.pointer_floats));
        match callee {
            // What is not there is one of Java's.
            Callee::At(to) => self.summaries.get(&to).map_or(unknown, |known| known.arguments),
            Callee::Through(_) => unknown,
        }
    }

    /// What a call sets, in all forms.
    pub(crate) fn sets(&self, callee: Callee) -> Vars {
        match callee {
            Callee::At(to) => self.summaries.get(&to).map_or(RESULTS, |summary| summary.writes),
            Callee::Through(_) => RESULTS,
        }
    }

    /// What is live before the end of a block, where `live` is live behind it.
    pub(crate) fn before_end(&self, end: &End, live: Vars) -> Vars {
        let live = match end {
            End::Return => live.or(self.results),
            End::Tail(callee) => {
                let passed = self.passes(*callee, self.tail_floats);
                // What the callee does not set is the function's own.
                live.or(passed).or(self.results.without(self.sets(*callee)))
            }
            // Where it goes, the frame's own register for results is read.
            End::Away(_) => live.or(Vars::of(&[V0, SP])),
            // What is no case of the table may be a function.
            End::Table { is_goto: false, .. } => live.or(COMMON_ARGUMENTS),
            End::Jump(_)
            | End::Branch { .. }
            | End::Table { .. }
            | End::Switch { .. }
            | End::Try { .. }
            | End::Stop => live,
        };
        live.or(end.uses())
    }

    /// What is live before an instruction, where `live` is live behind it; nothing changes where it
    /// is of no use.
    pub(crate) fn before(&self, ins: &Ins, live: Vars) -> Vars {
        if let Op::Call(callee) = ins.op {
            let passed = self.passes(callee, call_floats(ins)).without(Vars::of(&[RA]));
            let set = self.sets(callee).or(Vars::of(&[RA]));
            return live.without(set).or(passed).or(ins.uses());
        }
        if is_dead(ins, live) {
            return live;
        }
        let other = ins.d.map_or(Vars::NONE, |d| other_half_needed(d, live));
        live.without(ins.defs()).or(ins.uses()).or(other)
    }
}

/// The half of a pair that a derived `double` takes as it is.
pub(crate) fn other_half_needed(var: Var, live: Vars) -> Vars {
    match other_half(var) {
        Some(other) if forms(var).and(live).iter().any(|form| (DOUBLE..FLAG).contains(&form)) => {
            Vars::of(&[other])
        }
        _ => Vars::NONE,
    }
}

/// The floating-point arguments that a call through a pointer may pass.
pub(crate) fn call_floats(ins: &Ins) -> Vars {
    match ins.c {
        Val::Const(mask) => {
            POINTER_FLOATS.iter().filter(|var| mask >> (var - DOUBLE) & 1 != 0).collect()
        }
        Val::Var(_) => Vars::NONE,
    }
}

/// Notes which floating-point arguments a call through a pointer may pass: a bit for each pair of registers.
fn set_call_floats(ins: &mut Ins, floats: Vars) {
    ins.c = Val::Const(floats.iter().fold(0, |mask, var| mask | 1 << (var - DOUBLE)));
}

/// Whether an instruction does nothing that is read.
pub(crate) fn is_dead(ins: &Ins, live: Vars) -> bool {
    ins.is_pure() && !ins.defs().meets(live)
}

/// What is live behind each instruction of a block, and behind all of them.
pub(crate) fn behind(facts: &Facts<'_>, block: &Block, live_out: Vars) -> Vec<Vars> {
    let mut live = facts.before_end(&block.end, live_out);
    let mut behind = vec![live; block.ins.len() + 1];
    for (at, ins) in block.ins.iter().enumerate().rev() {
        behind[at] = live;
        live = facts.before(ins, live);
    }
    behind
}

/// Marks the calls through pointers that may pass floating-point numbers, and functions that end with such a call: those where the registers for them may have
/// been set, or are still what the function was given, if it may be given any, and nothing was called since that loses them.
fn mark_floats(function: &mut Function, given: Vars, losing: &BTreeSet<u32>) {
    let mut may: Vec<Option<bool>> = vec![None; function.blocks.len()];
    may[function.entry] = Some(given.meets(FLOATS));
    let mut tail_passes_floats = false;
    let mut open = vec![function.entry];
    for at in function.label_blocks() {
        may[at].get_or_insert(false);
        open.push(at);
    }
    while let Some(at) = open.pop() {
        let mut state = may[at].unwrap_or(true);
        for ins in &mut function.blocks[at].ins {
            if let Op::Call(Callee::Through(_)) = ins.op {
                set_call_floats(ins, if state { POINTER_FLOATS } else { Vars::NONE });
                state = false;
            }
            state |= ins.defs().meets(FLOATS);
            state &= !matches!(ins.op, Op::Call(Callee::At(to)) if losing.contains(&to));
        }
        tail_passes_floats |= state && matches!(function.blocks[at].end, End::Tail(_));
        let next = function.blocks[at].next.clone();
        for to in next {
            let met = may[to].unwrap_or(false) | state;
            if may[to] != Some(met) {
                may[to] = Some(met);
                open.push(to);
            }
        }
    }
    function.tail_floats = if tail_passes_floats { POINTER_FLOATS } else { Vars::NONE };
}

/// Finds what each function is given and gives back. `functions` are by ascending address; those
/// whose address is known elsewhere are marked, and `entry` is called by nobody.
/// `left` are results beside the usual ones, by function; `all_known` says whether there is no other code than theirs.
pub(crate) fn solve(
    functions: &mut [Function],
    entry: u32,
    left: &FxHashMap<u32, Vars>,
    all_known: bool,
) -> Summaries {
    // Long: one pass over a queue of functions, with all that may put one back into it.
    let starts: Vec<u32> = functions.iter().map(|function| function.start).collect();
    let callers = callers(functions, &starts);
    let losing = lose_floats(functions);
    let given = given(functions, entry, &losing);
    for (function, given) in functions.iter_mut().zip(&given) {
        mark_floats(function, *given, &losing);
    }
    let mut summaries = first_summaries(functions, left);
    spread_writes(functions, &callers, &starts, &mut summaries);
    let never = never_given(functions, |to| summaries.get(&to).map_or(RESULTS, |it| it.writes));
    let ranks = callees_first(functions, &starts);
    let mut at_rank: Vec<usize> = (0..functions.len()).collect();
    at_rank.sort_unstable_by_key(|at| ranks[*at]);
    let begins = |f: &Function| f.taken || f.start == entry;
    let mut new: Vec<usize> = (0..functions.len()).filter(|at| begins(&functions[*at])).collect();
    let mut open = BTreeSet::new();
    let mut reached = vec![false; functions.len()];
    let mut by_pointer = ByPointer::new(functions, all_known);
    loop {
        // All that is reached, before the first of it is looked at: a function's callees come first.
        while let Some(at) = new.pop() {
            if std::mem::replace(&mut reached[at], true) {
                continue;
            }
            open.insert(ranks[at]);
            let function = &functions[at];
            new.extend(function.callees().iter().filter_map(|to| starts.binary_search(to).ok()));
            for index in PartialAddresses::of(function).among(&starts) {
                functions[index].taken = true;
                open.insert(ranks[index]);
                new.push(index);
            }
        }
        let Some(rank) = open.pop_first() else { break };
        let at = at_rank[rank];
        let function = &mut functions[at];
        let taken = function.taken || function.start == entry;
        let mut summary = summaries[&function.start];
        if taken {
            let never = never.get(&function.start).copied().unwrap_or_default();
            let given = summary.writes.and(by_pointer.results).without(never);
            summary.results = as_doubles(summary.results.or(given));
            summaries.insert(function.start, summary);
        }
        let facts = Facts {
            results: summary.results,
            pointer_floats: by_pointer.floats,
            ..Facts::of(&summaries, function)
        };
        flow(&facts, function);
        let may = ARGUMENTS.without(UNUSUAL).or(given[at]);
        let arguments = function.blocks[function.entry].live_in.and(may);
        let (wanted, read, moved) = demands(&facts, function);
        if by_pointer.add(read, if taken { arguments } else { Vars::NONE }) {
            // Any function may call through pointers, or be called.
            open.extend(
                ranks.iter().zip(&reached).filter(|(_, reached)| **reached).map(|(rank, _)| rank),
            );
        }
        if arguments != summary.arguments {
            summary.arguments = arguments;
            summaries.insert(function.start, summary);
            let callers = callers.get(&function.start).into_iter().flatten();
            open.extend(callers.filter(|at| reached[**at]).map(|at| ranks[*at]));
        }
        for (callee, results) in wanted {
            if let Some(known) = summaries.get_mut(&callee)
                && let more = as_doubles(known.results.or(results))
                && more != known.results
            {
                known.results = more;
                open.extend(starts.binary_search(&callee).map(|at| ranks[at]));
            }
        }
        for address in moved {
            if let Ok(index) = starts.binary_search(&address)
                && !functions[index].taken
            {
                functions[index].taken = true;
                open.insert(ranks[index]);
                new.push(index);
            }
        }
    }
    for (function, reached) in functions.iter_mut().zip(reached) {
        function.reached = reached;
        note(function, summaries[&function.start]);
        pass_only(function, by_pointer.floats);
    }
    find_returning_twice(functions, &mut summaries);
    summaries
}

/// What is known of functions before any is looked at.
fn first_summaries(functions: &[Function], left: &FxHashMap<u32, Vars>) -> Summaries {
    let first = |function: &Function| {
        let results = left.get(&function.start).copied().unwrap_or(Vars::NONE);
        let (arguments, writes) = (Vars::NONE, own_writes(function));
        (function.start, Summary { arguments, writes, results, returns_twice: false })
    };
    functions.iter().map(first).collect()
}

/// Notes in a function what is known of it.
fn note(function: &mut Function, summary: Summary) {
    (function.arguments, function.results) = (summary.arguments, summary.results);
    function.writes = summary.writes;
}

/// Has calls through pointers pass no floating-point arguments but these.
fn pass_only(function: &mut Function, floats: Vars) {
    function.tail_floats = function.tail_floats.and(floats);
    for ins in function.blocks.iter_mut().flat_map(|block| &mut block.ins) {
        if let Op::Call(Callee::Through(_)) = ins.op {
            let passed = call_floats(ins).and(floats);
            set_call_floats(ins, passed);
        }
    }
}

/// Finds functions that note the address that they will return to, or are `vfork`, and those that leave this to another one by a tail call.
fn find_returning_twice(functions: &[Function], summaries: &mut Summaries) {
    let mut tail_callers: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for function in functions {
        for block in &function.blocks {
            if let End::Tail(Callee::At(to)) = block.end {
                tail_callers.entry(to).or_default().push(function.start);
            }
        }
    }
    let notes = |function: &&Function| function.forks || notes_return_address(summaries, function);
    let mut open: Vec<u32> =
        functions.iter().filter(notes).map(|function| function.start).collect();
    while let Some(start) = open.pop() {
        if let Some(summary) = summaries.get_mut(&start)
            && !std::mem::replace(&mut summary.returns_twice, true)
        {
            open.extend(tail_callers.get(&start).into_iter().flatten());
        }
    }
}

/// Whether a function has its return address in memory that may outlive it. What it passes to another function, or
/// leaves in its own frame, is what `__builtin_return_address` gives.
fn notes_return_address(summaries: &Summaries, function: &Function) -> bool {
    if !summaries[&function.start].arguments.has(RA) {
        return false;
    }
    let facts = Facts::of(summaries, function);
    function.blocks.iter().any(|block| {
        let behind = behind(&facts, block, live_out(function, block));
        block.ins.iter().zip(&behind).any(|(ins, live)| {
            let passed = ins.is_pure() && ins.d.is_some_and(|d| ARGUMENT_REGISTERS.has(d));
            let kept_in_frame = matches!(ins.op, Op::Store(_)) && ins.a == Val::Var(SP);
            ins.uses().has(RA) && !is_dead(ins, *live) && !passed && !kept_in_frame
        })
    })
}

fn callers(functions: &[Function], starts: &[u32]) -> FxHashMap<u32, Vec<usize>> {
    let mut callers: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    for (index, function) in functions.iter().enumerate() {
        for callee in function.callees() {
            if starts.binary_search(&callee).is_ok() {
                callers.entry(callee).or_default().push(index);
            }
        }
    }
    callers
}

/// A rank for each function: lower than those of its callers, but where functions call each other in a circle.
fn callees_first(functions: &[Function], starts: &[u32]) -> Vec<usize> {
    let callees = |at: usize| -> Vec<usize> {
        let callees = functions[at].callees();
        callees.iter().filter_map(|to| starts.binary_search(to).ok()).collect()
    };
    let (mut ranks, mut next) = (vec![usize::MAX; functions.len()], 0);
    let mut seen = vec![false; functions.len()];
    for root in 0..functions.len() {
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        let mut path = vec![(root, callees(root))];
        while let Some((at, left)) = path.last_mut() {
            let at = *at;
            match left.pop() {
                Some(to) if !std::mem::replace(&mut seen[to], true) => path.push((to, callees(to))),
                Some(_) => {}
                None => {
                    ranks[at] = next;
                    next += 1;
                    path.pop();
                }
            }
        }
    }
    ranks
}

/// What a function sets by itself of what functions give back; whole pairs.
fn own_writes(function: &Function) -> Vars {
    let mut writes = Vars::NONE;
    for block in &function.blocks {
        for ins in &block.ins {
            writes = writes.or(match ins.op {
                Op::Call(Callee::Through(_)) => RESULTS,
                Op::Call(_) => Vars::NONE,
                _ => ins.defs(),
            });
        }
        if block.end.is_through_pointer() {
            writes = RESULTS;
        }
    }
    for pair in [0, 2] {
        if writes.meets(forms_of_pair(pair)) {
            writes = writes.or(forms_of_pair(pair));
        }
    }
    writes.and(RESULTS)
}

fn spread_writes(
    functions: &[Function],
    callers: &FxHashMap<u32, Vec<usize>>,
    starts: &[u32],
    summaries: &mut Summaries,
) {
    for function in functions {
        // What is no function is called as one that nothing is known of.
        if function.callees().iter().any(|callee| starts.binary_search(callee).is_err())
            && let Some(summary) = summaries.get_mut(&function.start)
        {
            summary.writes = RESULTS;
        }
    }
    let mut open: Vec<usize> = (0..functions.len()).collect();
    while let Some(at) = open.pop() {
        let start = functions[at].start;
        let writes = summaries[&start].writes;
        for caller in callers.get(&start).into_iter().flatten() {
            if let Some(summary) = summaries.get_mut(&functions[*caller].start)
                && !writes.without(summary.writes).is_empty()
            {
                summary.writes = summary.writes.or(writes);
                open.push(*caller);
            }
        }
    }
}

/// Finds what is live at the start of each block.
pub(crate) fn flow(facts: &Facts<'_>, function: &mut Function) {
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..function.blocks.len()).rev() {
            let block = &function.blocks[at];
            let live_out = live_out(function, block);
            let mut live = facts.before_end(&block.end, live_out);
            for ins in block.ins.iter().rev() {
                live = facts.before(ins, live);
            }
            if !live.without(block.live_in).is_empty() {
                function.blocks[at].live_in = live.or(block.live_in);
                if function.is_label(at) {
                    function.live_at_labels = function.live_at_labels.or(live);
                }
                changed = true;
            }
        }
    }
}

/// What is live at the end of a block.
pub(crate) fn live_out(function: &Function, block: &Block) -> Vars {
    // A call may end at any label.
    block
        .next
        .iter()
        .fold(function.live_at_labels, |all, next| all.or(function.blocks[*next].live_in))
}

/// What the function reads of what others give back: functions that it names, and those that pointers lead to; and the constants that
/// it moves about.
fn demands(facts: &Facts<'_>, function: &Function) -> (Vec<(u32, Vars)>, Vars, BTreeSet<u32>) {
    let (mut wanted, mut moved) = (Vec::new(), BTreeSet::new());
    let mut by_pointer = Vars::NONE;
    for block in &function.blocks {
        let behind = behind(facts, block, live_out(function, block));
        for (ins, live) in block.ins.iter().zip(&behind) {
            match ins.op {
                Op::Call(callee @ Callee::At(to)) => {
                    wanted.push((to, live.and(facts.sets(callee))));
                }
                Op::Call(Callee::Through(_)) => by_pointer = by_pointer.or(*live),
                _ if !is_dead(ins, *live) => moved.extend(moved_constants(ins)),
                _ => {}
            }
        }
        if let End::Tail(callee @ Callee::At(to)) = block.end {
            wanted.push((to, facts.results.and(facts.sets(callee))));
        }
        if block.end.is_through_pointer() {
            by_pointer = by_pointer.or(facts.results);
        }
    }
    (wanted, by_pointer, moved)
}

/// Whether a function notes the address that it will return to, as `setjmp` does: its callers can be
/// come back to.
pub(crate) fn returns_twice(summaries: &Summaries, callee: Callee) -> bool {
    matches!(callee, Callee::At(to) if summaries.get(&to).is_some_and(|s| s.returns_twice))
}
