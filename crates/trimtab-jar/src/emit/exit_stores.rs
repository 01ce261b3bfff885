//! What a part of a function stores in the frame when it is left for another one.

use super::Emitter;
use super::pieces::{Entries, changed, exits, exits_from, read};
use crate::classfile::{Kind, Label};
use crate::function::Function;
use crate::liveness::Facts;
use crate::vars::{Var, Vars};

/// Makes what leaves a part for each block of others. Of its switches the way out is `leave`; `twice` says that a call can
/// be returned to once more.
pub(super) fn exit_stores(
    emitter: &mut Emitter<'_>,
    part: &[usize],
    entries: &Entries,
    leave: Label,
    twice: bool,
) -> ExitStores {
    let function = emitter.function;
    let known = exits(function, part);
    // Cases are left for by their place.
    let (switches, others): (Vec<usize>, Vec<usize>) =
        part.iter().partition(|block| entries.dispatches.binary_search(block).is_ok());
    let others = exits_from(function, part, others.iter());
    let changed = changed(&emitter.facts, function, part).without(emitter.stored);
    let needed = |exits: &[usize]| changed.and(read(function, exits));
    // What comes back to a call may find less than what is live behind it.
    let set = |exits: &[usize]| needed(if twice { &known } else { exits });
    let sets: Vec<Vars> = others.iter().map(|exit| set(&[*exit])).collect();
    let dispatched = set(&exits_from(function, part, switches.iter()));
    let exit_stores = ExitStores::new(emitter, leave, dispatched, &sets);
    for (exit, set) in others.iter().zip(&sets) {
        let label = emitter.labels[*exit];
        emitter.code.bind(label);
        let place = entries.blocks.get(exit).copied().unwrap_or(-1);
        emitter.hand_over(place, exit_stores.label(*set));
    }
    exit_stores
}

/// Blocks of a part that set a variable, at most, where that is stored by each of them.
const FEW: usize = 3;

/// Of what cases in other parts read, what only few blocks of a part set: these store it, and not the way out, which
/// would have to have it in a register whatever case was before.
pub(super) fn stored(
    facts: &Facts<'_>,
    function: &Function,
    part: &[usize],
    entries: &Entries,
) -> Vars {
    let switches: Vec<usize> =
        part.iter().copied().filter(|at| entries.dispatches.binary_search(at).is_ok()).collect();
    let by_switches = changed(facts, function, &switches);
    let sets: Vec<Vars> = part.iter().map(|at| changed(facts, function, &[*at])).collect();
    let read = read(function, &exits_from(function, part, switches.iter()));
    let mut stored = Vars::NONE;
    for var in read.without(by_switches).without(Vars::of(&[0])).iter() {
        if sets.iter().filter(|set| set.has(var)).count() <= FEW {
            stored.add(var);
        }
    }
    stored
}

/// What has to be in the frame is put there by one sequence of stores, which each way enters
/// before the first variable that it needs: what few need comes first, and what all need last. Were there one way in,
/// each variable that any way needs would be live on all of them, and take a register of the just-in-time compiler's
/// or be spilled.
pub(super) struct ExitStores {
    /// The variables, in the order in which they are stored, each with a label before its store.
    stores: Vec<(Var, Label)>,
    /// Behind all stores.
    end: Label,
}

impl ExitStores {
    /// `dispatched` is what the cases of switches need, whose way in is `leave`; `sets` are what the others do.
    fn new(emitter: &mut Emitter<'_>, leave: Label, dispatched: Vars, sets: &[Vars]) -> ExitStores {
        let all = sets.iter().fold(dispatched, |all, set| all.or(*set));
        let needed_by = |var: Var| sets.iter().filter(|set| set.has(var)).count();
        let mut vars: Vec<Var> = all.iter().filter(|var| *var != 0).collect();
        vars.sort_by_cached_key(|var| (dispatched.has(*var), needed_by(*var), *var));
        let first = vars.iter().position(|var| dispatched.has(*var));
        let before = |at: usize, emitter: &mut Emitter<'_>| match first {
            Some(first) if at == first => leave,
            _ => emitter.code.label(),
        };
        let stores = vars.iter().enumerate().map(|(at, var)| (*var, before(at, emitter))).collect();
        let end = if first.is_some() { emitter.code.label() } else { leave };
        ExitStores { stores, end }
    }

    /// Where to enter for what is in `set`.
    fn label(&self, set: Vars) -> Label {
        self.stores.iter().find(|(var, _)| set.has(*var)).map_or(self.end, |(_, label)| *label)
    }

    /// Makes the stores.
    pub(super) fn emit(&self, emitter: &mut Emitter<'_>, frame: u16) {
        for (var, label) in &self.stores {
            emitter.code.bind(*label);
            emitter.code.load(Kind::Cpu, frame);
            emitter.get(*var);
            emitter.put_field(*var);
        }
        emitter.code.bind(self.end);
    }
}
