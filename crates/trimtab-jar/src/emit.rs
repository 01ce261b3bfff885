//! Java code for functions.
//!
//! - `plan`: which instructions are left out, and which are evaluated where their value is read
//! - `value`: operands, and what has a value
//! - `block`: the instructions of a block, and its end
//! - `call`: how functions call each other
//! - `co_located`: functions that share one method
//! - `compare`: comparisons, and what they choose
//! - `counts`: counters of blocks
//! - `dispatch`: switches with many cases in a function of several parts
//! - `group_code`: the functions of a method that several share, while it is made
//! - `explain`: how a function was cut
//! - `landing`: where exceptions go on that leave a call
//! - `meter`: counts of instructions
//! - `method`: a function as one method
//! - `outline`: innermost loops as methods of their own
//! - `pieces`: a function as several
//! - `pointer`: functions as pointers lead to them
//! - `exit_stores`: what a part of a function stores when it is left

mod block;
mod call;
mod co_located;
mod compare;
mod counts;
mod dispatch;
mod exit_stores;
mod explain;
mod group_code;
mod landing;
mod meter;
mod method;
mod outline;
mod partition;
mod pieces;
mod plan;
mod pointer;
mod value;

pub(crate) use call::Shape;
pub(crate) use co_located::{CoLocated, co_located, entry};
pub(crate) use method::whole;
pub(crate) use outline::LoopMethod;
pub(crate) use pieces::split;
pub(crate) use pointer::pointer;

use crate::classfile::{Class, Code, Kind, Label};
use crate::co_location::Groups;
use crate::function::Function;
use crate::lines::Lines;
use crate::liveness::{Facts, Summaries};
use crate::profile::Profile;
use crate::vars::{COUNT, Var, Vars, kind};
use dispatch::Dispatch;
use group_code::GroupCode;
use landing::Guarded;
use rustc_hash::FxHashMap;

/// HotSpot compiles no method of more bytes than this (`-XX:-DontCompileHugeMethods`).
pub(crate) const HUGE: usize = 8000;

/// The first address that has memory: what lies below is in no array. See `Memory.java`.
pub(crate) const BASE: i32 = 4096;

/// Where a function's method is.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) shape: Shape,
}

/// What all methods share.
pub(crate) struct Context<'a> {
    pub(crate) homes: &'a FxHashMap<u32, Home>,
    pub(crate) summaries: &'a Summaries,
    pub(crate) lines: &'a Lines,
    /// Each block counts its instructions.
    pub(crate) metered: bool,
    /// The number of the counter of each function's first block, where blocks are counted.
    pub(crate) counters: Option<&'a FxHashMap<u32, u32>>,
    /// How often blocks ran in a run before.
    pub(crate) profile: &'a Profile,
    /// Functions that share methods.
    pub(crate) groups: &'a Groups<'a>,
}

/// How a method hands over to others of the same function.
pub(crate) struct Handover {
    /// Where it notes which block is next.
    state: u16,
    /// Writes back what the others read, and returns.
    leave: Label,
}

/// A method as it is made.
pub(crate) struct Emitter<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) function: &'a Function,
    pub(crate) facts: Facts<'a>,
    pub(crate) class: &'a mut Class,
    pub(crate) code: Code,
    /// Slot of each variable, 0 for none.
    slots: [u16; COUNT],
    /// Label of each block, by its index.
    labels: Vec<Label>,
    /// If this is one of several methods.
    handover: Option<Handover>,
    /// Its switches whose cases are in several methods.
    dispatches: Vec<Dispatch>,
    /// Labels behind calls of functions that can return twice, by the address of the return.
    returns: Vec<(u32, Label)>,
    /// The file that the function is from.
    file: Option<u32>,
    /// Calls that exceptions may leave.
    guarded: Vec<Guarded>,
    /// The block that comes next.
    following: Option<usize>,
    /// Variables that are in the frame wherever they are set.
    stored: Vars,
    /// If this is the method of several functions, these.
    group: Option<GroupCode<'a>>,
}

impl<'a> Emitter<'a> {
    /// A method whose parameters are the processor's state and `parameters`, in this order, then
    /// `extra` integers; it also has local variables for `others`, and `locals` integers.
    fn new(
        context: &'a Context<'a>,
        function: &'a Function,
        class: &'a mut Class,
        parameters: Vars,
        extra: usize,
        others: Vars,
        locals: usize,
    ) -> (Emitter<'a>, Vec<u16>) {
        let mut kinds = vec![Kind::Cpu];
        let mut slots = [0; COUNT];
        let mut next = 1;
        let mut ints = Vec::new();
        let mut place = |var: Option<Var>, kinds: &mut Vec<Kind>| {
            let kind = var.map_or(Kind::Int, kind);
            match var {
                Some(var) => slots[usize::from(var)] = next,
                None => ints.push(next),
            }
            kinds.push(kind);
            next += kind.slots();
        };
        parameters.iter().for_each(|var| place(Some(var), &mut kinds));
        (0..extra).for_each(|_| place(None, &mut kinds));
        let count = kinds.len();
        others.without(parameters).iter().for_each(|var| place(Some(var), &mut kinds));
        (0..locals).for_each(|_| place(None, &mut kinds));
        let mut code = Code::new(kinds, count);
        let labels = function.blocks.iter().map(|_| code.label()).collect();
        let facts = Facts::of(context.summaries, function);
        let mut emitter = Emitter {
            context,
            function,
            facts,
            class,
            code,
            slots,
            labels,
            handover: None,
            dispatches: Vec::new(),
            returns: Vec::new(),
            file: context.lines.file(function.start),
            guarded: Vec::new(),
            following: None,
            stored: Vars::NONE,
            group: None,
        };
        for var in others.without(parameters).iter() {
            emitter.code.zero(kind(var));
            emitter.set(var);
        }
        for slot in ints.iter().skip(extra) {
            emitter.code.int(&mut emitter.class.pool, 0);
            emitter.code.store(Kind::Int, *slot);
        }
        (emitter, ints)
    }

    fn slot(&self, var: Var) -> u16 {
        self.slots[usize::from(var)]
    }

    fn has_slot(&self, var: Var) -> bool {
        self.slot(var) != 0
    }

    /// Pushes a variable.
    fn get(&mut self, var: Var) {
        let slot = self.slot(var);
        if slot == 0 { self.code.zero(kind(var)) } else { self.code.load(kind(var), slot) }
    }

    /// Pops into a variable.
    fn set(&mut self, var: Var) {
        let (slot, kind) = (self.slot(var), kind(var));
        if slot == 0 {
            self.drop_top(kind);
        } else {
            self.code.store(kind, slot);
            self.store_through(var);
        }
    }

    /// Has the frame the same value, if it is kept there all the time.
    pub(super) fn store_through(&mut self, var: Var) {
        if self.stored.has(var) {
            // The frame is the first parameter of a part.
            self.code.load(Kind::Cpu, 1);
            self.get(var);
            self.put_field(var);
        }
    }

    fn drop_top(&mut self, kind: Kind) {
        use crate::classfile::op;
        let opcode = if kind.slots() == 2 { op::POP2 } else { op::POP };
        self.code.op(opcode, -i32::from(kind.slots()));
    }

    fn int(&mut self, value: i32) {
        self.code.int(&mut self.class.pool, value);
    }

    /// Calls a static method of the run time.
    fn run_time(
        &mut self,
        class: &str,
        name: &str,
        descriptor: &str,
        words: i32,
        result: Option<Kind>,
    ) {
        let method = self.class.pool.method(class, name, descriptor);
        self.code.call(method, words, result);
    }

    /// Pushes what the processor's state keeps in the place of a variable.
    fn get_field(&mut self, var: Var) {
        use crate::classfile::op;
        let kind = kind(var);
        self.code.load(Kind::Cpu, 0);
        let field = self.class.pool.field("trimtab/Cpu", &format!("v{var}"), kind.descriptor());
        self.code.op_u16(op::GETFIELD, field, i32::from(kind.slots()) - 1);
    }

    /// Pops into the place of a variable; the processor's state is below it on the stack.
    fn put_field(&mut self, var: Var) {
        use crate::classfile::op;
        let kind = kind(var);
        let field = self.class.pool.field("trimtab/Cpu", &format!("v{var}"), kind.descriptor());
        self.code.op_u16(op::PUTFIELD, field, -i32::from(kind.slots()) - 1);
    }
}
