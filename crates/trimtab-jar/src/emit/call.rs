//! How functions call each other.
//!
//! A method takes the processor's state and what the function reads of its registers, and returns
//! what its callers read: `v0`, both `v0` and `v1` as one `long`, or `f0`. What else it gives back
//! it leaves in the state. Calls through pointers go through adapters that all look alike.

use super::plan::Plan;
use super::{Context, Emitter, Home};
use crate::classfile::{Class, Code, Kind, access, op};
use crate::function::Block;
use crate::ir::Callee;
use crate::liveness::{Summary, call_floats, returns_twice};
use crate::vars::{BITS, CHAIN, DOUBLE, FLAG, RA, SINGLE, SP, T9, V0, V1, Var, Vars, forms, kind};

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
        self.code.load(Kind::Cpu, 0);
        match callee {
            Callee::At(to) => self.int(to.cast_signed()),
            Callee::Through(to) => self.operand(block, plan, at, to),
        }
        for var in [4, 5, 6, 7, SP] {
            self.variable(block, plan, at, var);
        }
        let name = match block.ins.get(at) {
            Some(ins) => {
                self.line(ins.pc);
                "to"
            }
            None => "jump",
        };
        self.run_time("program/Calls", name, ANY, 7, Some(Kind::Long));
    }

    /// Takes the results of a known function.
    pub(super) fn take(&mut self, shape: Shape, live: Vars) {
        match shape.returns {
            Some((_, Kind::Long)) => self.take_long(live.and(shape.words)),
            Some((var, kind)) if forms(var).meets(live) => {
                if self.has_slot(var) {
                    self.set(var);
                } else {
                    self.drop_top(kind);
                }
            }
            Some((_, kind)) => self.drop_top(kind),
            None => {}
        }
        for var in shape.rest.and(live).iter() {
            if self.has_slot(var) {
                self.get_field(var);
                self.set(var);
            }
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
        let shape = self.context.homes.get(&self.function.start).map(|home| home.shape);
        let Some(shape) = shape else { return self.never() };
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
        self.code.give_back(shape.returns.map(|(_, kind)| kind));
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
        let results = self.function.results;
        match self.home(callee) {
            Some(home) => {
                self.arguments(block, plan, at, home.shape.arguments, None);
                self.invoke(&home);
                self.take(home.shape, results);
            }
            None => {
                let floats = Vars::of(&[DOUBLE + 6, DOUBLE + 7]);
                let floats = floats.iter().filter(|v| self.has_slot(*v)).collect();
                self.through(block, plan, at, callee, floats);
                self.take_any(results);
            }
        }
        let nothing = Plan::empty();
        self.give_back(block, &nothing);
    }
}

/// A method that calls a function with what any function may be given, and returns what any may give
/// back: `v0` and `v1`; floating-point numbers are in the state.
pub(crate) fn adapter(class: &mut Class, context: &Context<'_>, index: usize, starts: &[u32]) {
    // The state, the number of the function, four arguments, the stack's pointer.
    let mut kinds = vec![Kind::Int; 7];
    kinds[0] = Kind::Cpu;
    let mut code = Code::new(kinds, 7);
    let cases: Vec<_> = (0..starts.len()).map(|_| code.label()).collect();
    let elsewhere = code.label();
    let first = (index * ADAPTERS) as i32;
    let numbered: Vec<_> = (first..).zip(&cases).map(|(number, label)| (number, *label)).collect();
    code.load(Kind::Int, 1);
    code.switch(&numbered, elsewhere);
    for (start, label) in starts.iter().zip(&cases) {
        code.bind(*label);
        if let Some(home) = context.homes.get(start) {
            one(class, &mut code, home, *start);
        }
    }
    code.bind(elsewhere);
    code.op(9, 2);
    code.give_back(Some(Kind::Long));
    class.method(access::PUBLIC | access::STATIC, &format!("to{index}"), ANY, &code);
}

/// What methods take and give back that may lead to any function: the state, its address or number, four arguments, the
/// stack's pointer; `v0` and `v1`.
pub(crate) const ANY: &str = "(Ltrimtab/Cpu;IIIIII)J";

/// Functions that one method has adapters for.
pub(crate) const ADAPTERS: usize = 96;

fn one(class: &mut Class, code: &mut Code, home: &Home, start: u32) {
    code.load(Kind::Cpu, 0);
    for var in home.shape.arguments.iter() {
        match var {
            4..=7 => code.load(Kind::Int, u16::from(var) - 2),
            SP => code.load(Kind::Int, 6),
            T9 => code.int(&mut class.pool, start.cast_signed()),
            CHAIN => {
                code.load(Kind::Cpu, 0);
                field(class, code, op::GETFIELD, CHAIN);
            }
            BITS..FLAG => argument_form(class, code, var),
            _ => code.int(&mut class.pool, 0),
        }
    }
    let shape = home.shape;
    let method = class.pool.method(&home.class, &home.name, &shape.descriptor());
    let kind = shape.returns.map(|(_, kind)| kind);
    code.call(method, shape.parameter_words(), kind);
    match kind {
        Some(Kind::Long) => {}
        Some(Kind::Int) => code.op(op::I2L, 1),
        Some(Kind::Double) => {
            // Below it has to come the state.
            code.load(Kind::Cpu, 0);
            code.op(0x5b, 1);
            code.op(op::POP, -1);
            field(class, code, op::PUTFIELD, DOUBLE);
            code.op(9, 2);
        }
        Some(Kind::Float) => {
            code.op(op::POP, -1);
            code.op(9, 2);
        }
        _ => code.op(9, 2),
    }
    code.give_back(Some(Kind::Long));
}

/// A form of one of the first two floating-point arguments, from the pair in the state.
fn argument_form(class: &mut Class, code: &mut Code, var: Var) {
    let pair = match var {
        DOUBLE.. => var,
        SINGLE.. => DOUBLE + (var - SINGLE) / 2,
        _ => DOUBLE + (var - BITS) / 2,
    };
    code.load(Kind::Cpu, 0);
    field(class, code, op::GETFIELD, pair);
    if var >= DOUBLE {
        return;
    }
    let odd = (var & 1) == 1;
    let name = if odd { "high" } else { "low" };
    let method = class.pool.method("trimtab/Float", name, "(D)I");
    code.call(method, 2, Some(Kind::Int));
    if var >= SINGLE {
        let method = class.pool.method("java/lang/Float", "intBitsToFloat", "(I)F");
        code.call(method, 1, Some(Kind::Float));
    }
}

fn field(class: &mut Class, code: &mut Code, opcode: u8, var: Var) {
    let kind = kind(var);
    let field = class.pool.field("trimtab/Cpu", &format!("v{var}"), kind.descriptor());
    let slots = i32::from(kind.slots());
    code.op_u16(opcode, field, if opcode == op::GETFIELD { slots - 1 } else { -slots - 1 });
}
