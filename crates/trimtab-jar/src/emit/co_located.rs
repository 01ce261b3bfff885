//! Functions that share one method.
//!
//! It is entered with what its functions take, all together, and the number of one of them. Each has variables of its own; where
//! two are never active at once, these are in the same slots. A call from one to another puts what that is given into its variables,
//! notes the number of the place to return to, and jumps; its end jumps to the place so noted, or returns.
//!
//! For other callers each function has a method by its own name that calls this one.

use super::group_code::{GroupCode, MemberCode};
use super::method::variables;
use super::outline::{LoopMethod, loop_methods};
use super::plan::Plan;
use super::{Context, Emitter};
use crate::classfile::{Class, Code, Kind, Label, op};
use crate::co_location::{Group, Member};
use crate::function::{Block, Function};
use crate::ir::Callee;
use crate::liveness::Facts;
use crate::vars::{COUNT, RA, Var, Vars, forms, kind};

/// What joins the names of functions to that of their method; `Backtrace.java` knows it.
const OR: &str = "$or$";

/// The longest name of a method that further functions are added to.
const LONG_NAME: usize = 1000;

/// The method of a group.
pub(crate) struct CoLocated {
    pub(crate) name: String,
    pub(crate) descriptor: String,
    pub(crate) code: Code,
    pub(crate) loops: Vec<LoopMethod>,
    /// Bytes of each function.
    pub(crate) sizes: Vec<usize>,
}

/// Whether where it returns to has to be noted: one place alone is known.
fn notes_return(is_entered: bool, calls: usize) -> bool {
    calls > usize::from(!is_entered)
}

/// How often the functions of a group jump to one of them.
fn jumps(group: &Group<'_>, to: usize) -> usize {
    let jumping = group.members.iter().filter(|member| member.jumps_to.contains(&to));
    let start = group.members[to].function.start;
    jumping.flat_map(|member| member.function.calls()).filter(|callee| *callee == start).count()
}

/// What the method takes beside the number of a function.
fn parameters(group: &Group<'_>) -> Vars {
    let entered = group.members.iter().filter(|member| member.is_entered);
    entered.fold(Vars::NONE, |all, member| all.or(member.function.arguments))
}

/// What the method returns: what all of its functions do, or the widest integer. Then other results are left in the state.
fn returns(context: &Context<'_>, group: &Group<'_>) -> Option<Kind> {
    let mut kinds = group
        .members
        .iter()
        .filter(|member| member.is_entered)
        .map(|member| own_kind(context, member.function));
    let first = kinds.next().flatten();
    kinds.fold(first, |all, kind| match (all, kind) {
        (all, kind) if all == kind => all,
        (Some(Kind::Long), _) | (_, Some(Kind::Long)) => Some(Kind::Long),
        (Some(Kind::Int), _) | (_, Some(Kind::Int)) => Some(Kind::Int),
        _ => None,
    })
}

/// What the method of a function by its own name returns.
fn own_kind(context: &Context<'_>, function: &Function) -> Option<Kind> {
    context.homes.get(&function.start)?.shape.returns.map(|(_, kind)| kind)
}

/// The class, name, and type of the method of a group.
fn method(context: &Context<'_>, group: &Group<'_>) -> (String, String, String) {
    let homes: Vec<_> = group
        .members
        .iter()
        .filter_map(|member| context.homes.get(&member.function.start))
        .collect();
    let mut name = homes.first().map_or_else(String::new, |home| home.name.clone());
    for home in homes.iter().skip(1) {
        let is_long = name.len() > LONG_NAME;
        name = name + OR + if is_long { "others" } else { &home.name };
        if is_long {
            break;
        }
    }
    let mut descriptor = String::from("(Ltrimtab/Cpu;");
    parameters(group).iter().for_each(|var| descriptor += kind(var).descriptor());
    descriptor += "I)";
    descriptor += returns(context, group).map_or("V", Kind::descriptor);
    let class = homes.first().map_or_else(String::new, |home| home.class.clone());
    (class, name, descriptor)
}

/// The method of a group.
pub(crate) fn co_located(context: &Context<'_>, group: &Group<'_>, class: &mut Class) -> CoLocated {
    let (home, name, descriptor) = method(context, group);
    let loops = |member: &Member<'_>| {
        let mut loops = loop_methods(context, member.function, class);
        loops.iter_mut().for_each(|found| found.home.class.clone_from(&home));
        loops
    };
    let loops: Vec<Vec<LoopMethod>> = group.members.iter().map(loops).collect();
    let (mut emitter, ints) = Emitter::new(
        context,
        group.members[0].function,
        class,
        parameters(group),
        1,
        Vars::NONE,
        0,
    );
    let given = emitter.slots;
    emitter.place_variables(group, &loops);
    emitter.enter(&given, ints[0]);
    let mut sizes = Vec::new();
    for (at, loops) in loops.iter().enumerate() {
        let before = emitter.code.len();
        emitter.member_code(at, loops);
        sizes.push(emitter.code.len() - before);
    }
    let loops = loops.into_iter().flatten().collect();
    CoLocated { name, descriptor, code: emitter.code, loops, sizes }
}

/// The method of a function by its own name.
pub(crate) fn entry(
    context: &Context<'_>,
    group: &Group<'_>,
    at: usize,
    class: &mut Class,
) -> Code {
    let (home, name, descriptor) = method(context, group);
    let function = group.members[at].function;
    let (mut emitter, _) =
        Emitter::new(context, function, class, function.arguments, 0, Vars::NONE, 0);
    emitter.code.load(Kind::Cpu, 0);
    let mut words = 2;
    for var in parameters(group).iter() {
        emitter.get(var);
        words += i32::from(kind(var).slots());
    }
    emitter.int(at as i32);
    let found = returns(context, group);
    let called = emitter.class.pool.method(&home, &name, &descriptor);
    emitter.code.call(called, words, found);
    let own = context.homes.get(&function.start).and_then(|home| home.shape.returns);
    match (found, own) {
        (found, own) if found == own.map(|(_, kind)| kind) => {}
        (Some(Kind::Long), Some((_, Kind::Int))) => emitter.code.op(op::L2I, -1),
        (found, own) => {
            if let Some(kind) = found {
                emitter.drop_top(kind);
            }
            if let Some((var, _)) = own {
                emitter.get_field(var);
            }
        }
    }
    emitter.code.give_back(own.map(|(_, kind)| kind));
    emitter.code
}

/// Slots by the type of what is in them.
#[derive(Default)]
struct SlotPools([Vec<u16>; 4]);

impl SlotPools {
    fn index(kind: Kind) -> usize {
        match kind {
            Kind::Float => 1,
            Kind::Double => 2,
            Kind::Long => 3,
            Kind::Int | Kind::Cpu | Kind::Throwable => 0,
        }
    }
}

/// How many slots of each type these variables take, with another integer where it `notes_return`.
fn counts(vars: Vars, notes_return: bool) -> [usize; 4] {
    let mut counts = [usize::from(notes_return), 0, 0, 0];
    vars.iter().for_each(|var| counts[SlotPools::index(kind(var))] += 1);
    counts
}

/// From where on each member has slots of each type: behind those of all that may be active when it is.
fn first_slots(group: &Group<'_>, counts: &[[usize; 4]]) -> Vec<[usize; 4]> {
    let mut first = vec![[0; 4]; counts.len()];
    // Jumps lead round in no circle: none is behind more than all others.
    for _ in 0..counts.len() {
        for (at, member) in group.members.iter().enumerate() {
            for to in &member.jumps_to {
                for of in 0..4 {
                    first[*to][of] = first[*to][of].max(first[at][of] + counts[at][of]);
                }
            }
        }
    }
    first
}

impl<'a> Emitter<'a> {
    /// Gives each member its variables.
    fn place_variables(&mut self, group: &Group<'a>, loops: &[Vec<LoopMethod>]) {
        let vars: Vec<Vars> = group
            .members
            .iter()
            .zip(loops)
            .map(|(member, loops)| own_variables(self.context, member.function, loops))
            .collect();
        let calls: Vec<usize> = (0..vars.len()).map(|at| jumps(group, at)).collect();
        let notes = |at: usize| notes_return(group.members[at].is_entered, calls[at]);
        let counts: Vec<[usize; 4]> =
            vars.iter().enumerate().map(|(at, vars)| counts(*vars, notes(at))).collect();
        let mut next = first_slots(group, &counts);
        let mut pools = SlotPools::default();
        let mut all = Vec::new();
        for (at, member) in group.members.iter().enumerate() {
            let mut slots = [0; COUNT];
            for var in vars[at].iter() {
                slots[usize::from(var)] = self.pooled(&mut pools, kind(var), &mut next[at]);
            }
            let back =
                if notes(at) { self.pooled(&mut pools, Kind::Int, &mut next[at]) } else { 0 };
            let labels = member.function.blocks.iter().map(|_| self.code.label()).collect();
            all.push(MemberCode {
                function: member.function,
                jumps_to: member.jumps_to.clone(),
                is_entered: member.is_entered,
                slots,
                labels,
                exit: self.code.label(),
                back,
                places: (0..calls[at]).map(|_| self.code.label()).collect(),
                made: 0,
            });
        }
        self.group = Some(GroupCode { all, at: 0, returns: returns(self.context, group) });
    }

    /// The next slot of that type, which is made where there is none yet.
    fn pooled(&mut self, pools: &mut SlotPools, kind: Kind, next: &mut [usize; 4]) -> u16 {
        let of = SlotPools::index(kind);
        let at = next[of];
        next[of] += 1;
        while pools.0[of].len() <= at {
            let slot = self.code.further(kind);
            self.code.zero(kind);
            self.code.store(kind, slot);
            pools.0[of].push(slot);
        }
        pools.0[of][at]
    }

    /// The way in: puts what is `given` into the variables of the function whose number is in a slot.
    fn enter(&mut self, given: &[u16; COUNT], number: u16) {
        let Some(group) = self.group.take() else { return };
        let entered: Vec<usize> =
            (0..group.all.len()).filter(|at| group.all[*at].is_entered).collect();
        let mut cases: Vec<(i32, Label)> =
            entered.iter().map(|at| (*at as i32, self.code.label())).collect();
        let ways: Vec<Label> = cases.iter().map(|(_, label)| *label).collect();
        if let Some((_, last)) = cases.pop().filter(|_| ways.len() > 1) {
            self.code.load(Kind::Int, number);
            self.code.switch(&cases, last);
        }
        for (at, way) in entered.iter().zip(ways) {
            let member = &group.all[*at];
            self.code.bind(way);
            for var in member.function.arguments.iter() {
                self.code.load(kind(var), given[usize::from(var)]);
                self.code.store(kind(var), member.slots[usize::from(var)]);
            }
            self.code.jump(op::GOTO, member.labels[member.function.entry], 0);
        }
        self.group = Some(group);
    }

    /// The code of a member.
    fn member_code(&mut self, at: usize, loops: &[LoopMethod]) {
        let Some(group) = &mut self.group else { return };
        group.at = at;
        let member = &group.all[at];
        let function = member.function;
        self.function = function;
        self.slots = member.slots;
        self.labels.clone_from(&member.labels);
        // A class has lines of one file.
        let lines = self.context.lines;
        let file = lines.file(group.all[0].function.start);
        self.file = lines.file(function.start).filter(|own| file == Some(*own));
        self.facts = Facts::of(self.context.summaries, function);
        let within = |at: &usize| loops.iter().find(|found| found.blocks.binary_search(at).is_ok());
        let mut blocks: Vec<usize> =
            (0..function.blocks.len()).filter(|at| within(at).is_none()).collect();
        blocks.extend(loops.iter().map(|found| found.head));
        let order = self.order(&blocks, function.entry, loops);
        for (at, index) in order.iter().enumerate() {
            self.following = order.get(at + 1).copied();
            match within(index) {
                Some(found) => self.call_loop(found),
                None => self.block(*index),
            }
        }
        self.following = None;
        self.landings();
        self.way_out();
    }

    /// Calls a member by a jump, if the call is one: then its results are where the caller has them that are `live` behind it.
    pub(super) fn jump(
        &mut self,
        block: &Block,
        plan: &Plan,
        at: usize,
        callee: Callee,
        live: Vars,
    ) -> bool {
        let Some(to) = self.jumps_to(callee) else { return false };
        let Some(mut group) = self.group.take() else { return false };
        let member = &mut group.all[to];
        for var in member.function.arguments.iter() {
            match block.ins.get(at) {
                Some(call) if var == RA => self.int(call.offset),
                _ => self.variable(block, plan, at, var),
            }
            self.code.store(kind(var), member.slots[usize::from(var)]);
        }
        let place = member.places[member.made];
        member.made += 1;
        if notes_return(member.is_entered, member.places.len()) {
            self.int(member.made as i32);
            self.code.store(Kind::Int, member.back);
        }
        self.code.jump(op::GOTO, member.labels[member.function.entry], 0);
        self.code.bind(place);
        for var in member.function.results.iter() {
            if forms(var).meets(live) && self.has_slot(var) {
                self.code.load(kind(var), member.slots[usize::from(var)]);
                self.set(var);
                self.derive_of_pair(var, live);
            }
        }
        self.group = Some(group);
        true
    }

    fn jumps_to(&self, callee: Callee) -> Option<usize> {
        let (group, Callee::At(start)) = (self.group.as_ref()?, callee) else { return None };
        let to = group.all.iter().position(|member| member.function.start == start)?;
        group.all[group.at].jumps_to.contains(&to).then_some(to)
    }

    /// The end of a member, if this is one: has its results be in its variables.
    pub(super) fn leave_member(&mut self, block: &Block, plan: &Plan) -> bool {
        let Some(group) = &self.group else { return false };
        let exit = group.all[group.at].exit;
        let at = block.ins.len();
        let computed = |var: &Var| plan.source(at, *var).is_some();
        let computed: Vec<Var> = self.function.results.iter().filter(computed).collect();
        // None of these is set before all are computed.
        computed.iter().for_each(|var| self.variable(block, plan, at, *var));
        computed.iter().rev().for_each(|var| self.set(*var));
        // Else the way out comes next.
        if self.following.is_some() || !self.guarded.is_empty() {
            self.code.jump(op::GOTO, exit, 0);
        }
        true
    }

    /// What comes behind all ends of a member: goes on where it was called.
    fn way_out(&mut self) {
        let Some(group) = &self.group else { return };
        let (member, returns) = (&group.all[group.at], group.returns);
        if !member.function.gives_back() {
            return;
        }
        self.code.bind(member.exit);
        let mut cases: Vec<(i32, Label)> = (1..).zip(member.places.iter().copied()).collect();
        let (is_entered, back) = (member.is_entered, member.back);
        let outside = self.code.label();
        match (is_entered, cases.as_slice()) {
            (true, []) => {}
            (true, [(_, place)]) => {
                self.code.load(Kind::Int, back);
                self.code.jump(op::IFNE, *place, 1);
            }
            (true, _) => {
                self.code.load(Kind::Int, back);
                self.code.switch(&cases, outside);
                self.code.bind(outside);
            }
            (false, [(_, place)]) => self.code.jump(op::GOTO, *place, 0),
            (false, _) => {
                if let Some((_, last)) = cases.pop() {
                    self.code.load(Kind::Int, back);
                    self.code.switch(&cases, last);
                }
            }
        }
        if is_entered {
            self.give_back_outside(returns);
        }
    }

    /// Returns from the method, which `returns` that, with the results of a member that are in its variables.
    fn give_back_outside(&mut self, returns: Option<Kind>) {
        let function = self.function;
        let Some(block) = function.blocks.first() else { return };
        let Some(own) = self.push_results(block, &Plan::empty()) else { return self.never() };
        match (own.returns, returns) {
            (own, returns) if own.map(|(_, kind)| kind) == returns => {}
            (Some((_, Kind::Int)), Some(Kind::Long)) => self.code.op(op::I2L, 1),
            (own, returns) => {
                if let Some((var, kind)) = own {
                    self.drop_top(kind);
                    self.code.load(Kind::Cpu, 0);
                    self.get(var);
                    self.put_field(var);
                }
                if let Some(kind) = returns {
                    self.code.zero(kind);
                }
            }
        }
        self.code.give_back(returns);
    }
}

/// The variables of a member.
fn own_variables(context: &Context<'_>, function: &Function, loops: &[LoopMethod]) -> Vars {
    let facts = Facts::of(context.summaries, function);
    let is_own = |at: &usize| loops.iter().all(|found| found.blocks.binary_search(at).is_err());
    let blocks: Vec<usize> = (0..function.blocks.len()).filter(is_own).collect();
    let vars = variables(&facts, function, &blocks, false).or(function.arguments);
    // Who jumps there takes its results from them.
    loops.iter().fold(vars.or(function.results), |all, found| all.or(found.passed()))
}
