//! Innermost loops as methods of their own.
//!
//! A method that is called once and runs long, as `main` often is, is compiled while it runs, at the
//! loop where it is. HotSpot does not know there how that loop was entered, and neither unrolls it
//! nor checks bounds before it. A loop within another loop is entered often: as a method it is
//! compiled as a whole, and also becomes part of the code of its caller again.

use super::call::Shape;
use super::method::variables;
use super::{Context, Emitter, Home};
use crate::classfile::{Class, Code};
use crate::function::Function;
use crate::ir::{End, Ins, Op};
use crate::liveness::Facts;
use crate::loops::{NaturalLoop, natural_loops};
use crate::vars::{BITS, FLAG, Vars, forms, kind, other_half};

/// Bytes of a method that HotSpot still makes part of its callers (`-XX:FreqInlineSize`).
const INLINED: usize = 325;

/// The most of them in a function: each has labels of all of its blocks, and a function with more calls is cut anyway.
const MOST: usize = 256;

/// A loop that is a method.
pub(crate) struct LoopMethod {
    /// Where it begins.
    pub(super) head: usize,
    /// Its blocks, ascending.
    pub(super) blocks: Vec<usize>,
    /// The block behind it.
    pub(super) exit: usize,
    /// Where the method is, and what it takes and returns.
    pub(crate) home: Home,
    pub(crate) code: Code,
}

impl LoopMethod {
    /// What the caller has to have variables for.
    pub(super) fn passed(&self) -> Vars {
        self.home.shape.arguments.or(self.results())
    }

    fn results(&self) -> Vars {
        self.home
            .shape
            .returns
            .map_or(Vars::NONE, |(var, _)| Vars::of(&[var]))
            .or(self.home.shape.rest)
    }
}

/// The loops of a function that become methods.
pub(super) fn loop_methods(
    context: &Context<'_>,
    function: &Function,
    class: &mut Class,
) -> Vec<LoopMethod> {
    let Some(home) = context.homes.get(&function.start) else { return Vec::new() };
    let loops = natural_loops(function);
    let mut found: Vec<LoopMethod> = Vec::new();
    for candidate in &loops.innermost {
        if found.len() >= MOST {
            break;
        }
        let nested = loops.depths[candidate.head] > 1;
        if nested && let Some(exit) = exit(function, candidate) {
            let name = format!("{}$loop{}", home.name, found.len());
            let method = loop_method(context, function, class, candidate, exit, home, name);
            if method.code.len() <= INLINED {
                found.push(method);
            }
        }
    }
    found
}

/// The one block to which a loop is left, if it only computes.
fn exit(function: &Function, found: &NaturalLoop) -> Option<usize> {
    let mut exit = None;
    for index in &found.blocks {
        let block = &function.blocks[*index];
        let computes = matches!(block.end, End::Jump(_) | End::Branch { .. })
            && block.next.len() == block.end.targets().len()
            && block.ins.iter().all(stays);
        if !computes {
            return None;
        }
        for next in &block.next {
            if !found.blocks.contains(next) && *exit.get_or_insert(*next) != *next {
                return None;
            }
        }
    }
    exit
}

fn stays(ins: &Ins) -> bool {
    !matches!(ins.op, Op::Call(_) | Op::Syscall | Op::Unknown | Op::Break { .. } | Op::SetControl)
}

fn loop_method(
    context: &Context<'_>,
    function: &Function,
    class: &mut Class,
    found: &NaturalLoop,
    exit: usize,
    home: &Home,
    name: String,
) -> LoopMethod {
    let mut blocks = found.blocks.clone();
    blocks.sort_unstable();
    let facts = Facts::of(context.summaries, function);
    let all = blocks.iter().flat_map(|index| &function.blocks[*index].ins);
    let set = all.clone().fold(Vars::NONE, |all, ins| all.or(ins.defs()));
    let results = function.blocks[exit].live_in.and(set);
    let ends = blocks.iter().fold(Vars::NONE, |all, at| all.or(function.blocks[*at].end.uses()));
    let used = all.fold(ends, |all, ins| all.or(ins.uses()));
    let touched = whole_pairs(used.or(set).or(results));
    let vars = variables(&facts, function, &blocks, false).or(results).and(touched);
    let arguments = function.blocks[found.head].live_in.and(vars);
    let returns = results.iter().next().map(|var| (var, kind(var)));
    let rest = results.without(returns.map_or(Vars::NONE, |(var, _)| Vars::of(&[var])));
    let shape = Shape { arguments, returns, words: Vars::NONE, rest };

    let (mut emitter, _) = Emitter::new(context, function, class, arguments, 0, vars, 0);
    let order = emitter.order(&blocks, found.head, &[]);
    for (at, index) in order.iter().enumerate() {
        emitter.following = order.get(at + 1).copied();
        emitter.block(*index);
    }
    let label = emitter.labels[exit];
    emitter.code.bind(label);
    emitter.leave_loop(&shape);
    let code = emitter.code;
    let home = Home { class: home.class.clone(), name, shape };
    LoopMethod { head: found.head, blocks, exit, home, code }
}

/// With each form of a floating-point register all others, and those of its neighbour.
fn whole_pairs(vars: Vars) -> Vars {
    vars.iter().filter(|var| (BITS..FLAG).contains(var)).fold(vars, |all, var| {
        let other = other_half(var).map_or(Vars::NONE, forms);
        all.or(forms(var)).or(other)
    })
}

impl Emitter<'_> {
    fn leave_loop(&mut self, shape: &Shape) {
        for var in shape.rest.iter() {
            self.code.load(crate::classfile::Kind::Cpu, 0);
            self.get(var);
            self.put_field(var);
        }
        if let Some((var, _)) = shape.returns {
            self.get(var);
        }
        self.code.give_back(shape.returns.map(|(_, kind)| kind));
    }

    /// Where a loop would be: calls its method.
    pub(super) fn call_loop(&mut self, method: &LoopMethod) {
        let label = self.labels[method.head];
        self.code.bind(label);
        self.code.load(crate::classfile::Kind::Cpu, 0);
        for var in method.home.shape.arguments.iter() {
            self.get(var);
        }
        self.invoke(&method.home);
        self.take(method.home.shape, method.results());
        if self.following != Some(method.exit) {
            let label = self.labels[method.exit];
            self.code.jump(crate::classfile::op::GOTO, label, 0);
        }
    }
}
