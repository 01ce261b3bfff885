//! How functions call each other.
//!
//! A method takes the processor's state and what the function reads of its registers, and returns
//! what its callers read: `v0`, both `v0` and `v1` as one `long`, or `f0`. What else it gives back
//! it leaves in the state. Calls through pointers are those of a method that [`super::pointer`] makes.

use super::plan::Plan;
use super::pointer::{ANY, FIND, FUNCTION};
use super::{Emitter, Home};
use crate::classfile::{Kind, op};
use crate::function::{Block, Function};
use crate::ir::Callee;
use crate::liveness::{Summaries, Summary, call_floats, returns_twice};
use crate::vars::{
    BITS, COMMON_ARGUMENTS, DOUBLE, FLAG, RA, SINGLE, SP, V0, V1, Var, Vars, forms, kind,
};

/// What a method takes and returns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) arguments: Vars,
    /// The variable that is returned, and its type; `long` is `v0` and `v1`.
    pub(crate) returns: Option<(Var, Kind)>,
    /// Which of `v0` and `v1` a `long` that is returned holds: a caller may have a value of its own in the other one.
    pub(crate) words: Vars,
    /// Results that are left in the state.
    pub(crate) rest: Vars,
}

impl Shape {
    /// That of any function, as pointers lead to it; it is given more.
    const ANY: Shape = Shape {
        arguments: COMMON_ARGUMENTS,
        returns: Some((V0, Kind::Long)),
        words: Vars::of(&[V0, V1]),
        rest: Vars::of(&[DOUBLE, DOUBLE + 1]),
    };

    pub(crate) fn of(summary: &Summary) -> Shape {
        let results = summary.results;
        let returns = match (results.has(V0), results.has(V1)) {
            (_, true) => Some((V0, Kind::Long)),
            (true, false) => Some((V0, Kind::Int)),
            _ => [DOUBLE, SINGLE, BITS].into_iter().find(|v| results.has(*v)).map(|v| (v, kind(v))),
        };
        let returned = match returns {
            Some((_, Kind::Long)) => Vars::of(&[V0, V1]),
            Some((var, _)) => Vars::of(&[var]),
            None => Vars::NONE,
        };
        let words = results.and(Vars::of(&[V0, V1]));
        Shape { arguments: summary.arguments, returns, words, rest: results.without(returned) }
    }

    pub(crate) fn descriptor(&self) -> String {
        let mut text = String::from("(Ltrimtab/Cpu;");
        for var in self.arguments.iter() {
            text += kind(var).descriptor();
        }
        text += ")";
        text += self.returns.map_or("V", |(_, kind)| kind.descriptor());
        text
    }

    /// Words that the parameters take.
    pub(crate) fn parameter_words(&self) -> i32 {
        1 + self.arguments.iter().map(|var| i32::from(kind(var).slots())).sum::<i32>()
    }
}

impl Emitter<'_> {
    pub(super) fn call(&mut self, block: &Block, plan: &Plan, at: usize, callee: Callee) {
        let ins = block.ins[at];
        let live = plan.behind[at];
        if self.jump(block, plan, at, callee, live) {
            return;
        }
        match self.home(callee) {
            Some(home) => {
                self.arguments(block, plan, at, home.shape.arguments, Some(ins.offset));
                // Arguments may have been loaded on other lines.
                self.line(ins.pc);
                self.invoke(&home);
                self.take(home.shape, live);
            }
            None => {
                self.through(block, plan, at, callee, call_floats(&ins));
                self.take_any(live);
            }
        }
        if returns_twice(self.context.summaries, callee) {
            let label = self.code.label();
            self.code.bind(label);
            self.returns.push((ins.offset.cast_unsigned(), label));
        }
    }

    fn home(&self, callee: Callee) -> Option<Home> {
        match callee {
            Callee::At(to) => self.context.homes.get(&to).cloned(),
            Callee::Through(_) => None,
        }
    }

    /// Pushes the state and what a function is given. `back` is the address of the return, where it
    /// is not the function's own.
    fn arguments(&mut self, block: &Block, plan: &Plan, at: usize, vars: Vars, back: Option<i32>) {
        self.code.load(Kind::Cpu, 0);
        for var in vars.iter() {
            match back {
                Some(back) if var == RA => self.int(back),
                _ => self.variable(block, plan, at, var),
            }
        }
    }

    pub(super) fn invoke(&mut self, home: &Home) {
        let method = self.class.pool.method(&home.class, &home.name, &home.shape.descriptor());
        let result = home.shape.returns.map(|(_, kind)| kind);
        self.code.call(method, home.shape.parameter_words(), result);
    }

    /// Calls what a pointer says, or leaves the function for there; leaves a `long` on the stack.
    fn through(&mut self, block: &Block, plan: &Plan, at: usize, callee: Callee, floats: Vars) {
        for var in floats.iter() {
            // The callee may read either half by itself: the pair is passed whole.
            self.code.load(Kind::Cpu, 0);
            self.variable(block, plan, at, var);
            self.put_field(var);
        }
        match callee {
            Callee::At(to) => self.int(to.cast_signed()),
            Callee::Through(to) => self.operand(block, plan, at, to),
        }
        self.line_of(block, at);
        self.code.load(Kind::Cpu, 0);
        // A call goes on at any code, a jump only where a function begins.
        let name = if at < block.ins.len() { "called" } else { "jumped" };
        self.run_time("trimtab/Functions", name, FIND, 2, Some(Kind::Cpu));
        self.code.load(Kind::Cpu, 0);
        for var in [4, 5, 6, 7, SP] {
            self.variable(block, plan, at, var);
        }
        self.line_of(block, at);
        let call = self.class.pool.method(FUNCTION, "call", ANY);
        self.code.op_u16(op::INVOKEVIRTUAL, call, 2 - 7);
    }

    /// Has what follows be on the line of an instruction, if it is not the block's end.
    fn line_of(&mut self, block: &Block, at: usize) {
        if let Some(ins) = block.ins.get(at) {
            self.line(ins.pc);
        }
    }

    /// Takes the results of a known function.
    pub(super) fn take(&mut self, shape: Shape, live: Vars) {
        match shape.returns {
            Some((_, Kind::Long)) => self.take_long(live.and(shape.words)),
            Some((var, kind)) if forms(var).meets(live) => {
                if self.has_slot(var) {
                    self.set(var);
                    self.derive_of_pair(var, live.without(shape.rest));
                } else {
                    self.drop_top(kind);
                }
            }
            Some((_, kind)) => self.drop_top(kind),
            None => {}
        }
        for var in shape.rest.iter() {
            if forms(var).meets(live) && self.has_slot(var) {
                self.get_field(var);
                self.set(var);
                self.derive_of_pair(var, live.without(shape.rest));
            }
        }
    }

    /// Makes the forms that are live of a result that is a pair.
    pub(super) fn derive_of_pair(&mut self, var: Var, live: Vars) {
        if (DOUBLE..FLAG).contains(&var) {
            self.derive_from(var, live);
        }
    }

    fn take_long(&mut self, live: Vars) {
        match (live.has(V0), live.has(V1)) {
            (v0, true) => {
                if v0 {
                    self.code.op(op::DUP2, 2);
                }
                self.high_word();
                self.set(V1);
                if v0 {
                    self.code.op(op::L2I, -1);
                    self.set(V0);
                }
            }
            (true, false) => {
                self.code.op(op::L2I, -1);
                self.set(V0);
            }
            (false, false) => self.code.op(op::POP2, -2),
        }
    }

    /// Takes the results of an unknown function: pairs as doubles, and what is live made of them.
    fn take_any(&mut self, live: Vars) {
        self.take_long(live);
        for pair in [DOUBLE, DOUBLE + 1] {
            if forms(pair).meets(live) && self.has_slot(pair) {
                self.get_field(pair);
                self.set(pair);
                self.derive_from(pair, live);
            }
        }
    }

    /// Returns from the function.
    pub(super) fn give_back(&mut self, block: &Block, plan: &Plan) {
        let at = block.ins.len();
        if !self.context.homes.contains_key(&self.function.start) {
            return self.never();
        }
        if self.handover.is_some() {
            for var in self.function.results.iter() {
                self.code.load(Kind::Cpu, 0);
                self.variable(block, plan, at, var);
                self.put_field(var);
            }
            self.int(-1);
            self.code.give_back(Some(Kind::Int));
            return;
        }
        if self.leave_member(block, plan) {
            return;
        }
        if let Some(shape) = self.push_results(block, plan) {
            self.code.give_back(shape.returns.map(|(_, kind)| kind));
        }
    }

    /// Pushes what the function returns, and leaves its other results in the state. None where it has no method.
    pub(super) fn push_results(&mut self, block: &Block, plan: &Plan) -> Option<Shape> {
        let shape = self.context.homes.get(&self.function.start)?.shape;
        let at = block.ins.len();
        for var in shape.rest.iter() {
            self.code.load(Kind::Cpu, 0);
            self.variable(block, plan, at, var);
            self.put_field(var);
        }
        match shape.returns {
            Some((_, Kind::Long)) => {
                self.result(block, plan, V1);
                self.code.op(op::I2L, 1);
                self.int(32);
                self.code.op(op::LSHL, -1);
                self.result(block, plan, V0);
                self.widen(false);
                self.code.op(op::LOR, -2);
            }
            Some((var, _)) => self.variable(block, plan, at, var),
            None => {}
        }
        Some(shape)
    }

    /// Pushes a result, or zero where nobody reads that one.
    fn result(&mut self, block: &Block, plan: &Plan, var: Var) {
        if self.function.results.has(var) {
            self.variable(block, plan, block.ins.len(), var);
        } else {
            self.int(0);
        }
    }

    /// A call whose results are the function's own.
    pub(super) fn tail(&mut self, block: &Block, plan: &Plan, callee: Callee) {
        let at = block.ins.len();
        if self.jump(block, plan, at, callee, self.function.results) {
            return self.give_back(block, &Plan::empty());
        }
        let home = self.home(callee);
        match &home {
            Some(home) => {
                self.arguments(block, plan, at, home.shape.arguments, None);
                self.invoke(home);
            }
            None => {
                let floats = self.facts.tail_floats.iter().filter(|v| self.has_slot(*v)).collect();
                self.through(block, plan, at, callee, floats);
            }
        }
        let passed_on = passed_on(self.context.summaries, self.function, callee);
        if let Some(passed_on) =
            passed_on.filter(|_| self.handover.is_none() && self.group.is_none())
        {
            return self.pass_on(passed_on);
        }
        match home {
            Some(home) => self.take(home.shape, self.function.results),
            None => self.take_any(self.function.results),
        }
        let nothing = Plan::empty();
        self.give_back(block, &nothing);
    }

    /// Returns what is on the stack.
    fn pass_on(&mut self, (theirs, own): (Option<Kind>, Option<Kind>)) {
        match (theirs, own) {
            (Some(Kind::Long), Some(Kind::Int)) => self.code.op(op::L2I, -1),
            (Some(kind), None) => self.drop_top(kind),
            _ => {}
        }
        self.code.give_back(own);
    }
}

/// How a function at its end can return what the function returns that it calls there: the types of both. None where it has
/// other results beside.
pub(super) fn passed_on(
    summaries: &Summaries,
    function: &Function,
    callee: Callee,
) -> Option<(Option<Kind>, Option<Kind>)> {
    let own = Shape::of(summaries.get(&function.start)?);
    let theirs = match callee {
        Callee::At(to) if summaries.contains_key(&to) => Shape::of(&summaries[&to]),
        _ => Shape::ANY,
    };
    let kinds = (theirs.returns.map(|(_, kind)| kind), own.returns.map(|(_, kind)| kind));
    let fits = match (theirs.returns, own.returns) {
        (_, None) => true,
        (Some((V0, Kind::Long)), Some((V0, Kind::Int))) => theirs.words.has(V0),
        (theirs, own) => theirs == own,
    };
    let all = own.words.without(theirs.words).is_empty();
    (fits && all && own.rest.without(theirs.rest).is_empty()).then_some(kinds)
}
