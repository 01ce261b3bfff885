//! Instructions as the translator works on them: what MIPS has many of, here has one form.

use crate::vars::{DOUBLE, HI, LO, RA, SP, Var, Vars, forms};
use std::sync::Arc;

/// An operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Val {
    Var(Var),
    Const(i32),
}

impl Val {
    pub(crate) const ZERO: Val = Val::Const(0);

    pub(crate) fn var(self) -> Option<Var> {
        match self {
            Val::Var(var) => Some(var),
            Val::Const(_) => None,
        }
    }
}

/// An operation on two integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bin {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Nor,
    Shl,
    Shr,
    Sar,
    Rotr,
    Mul,
    /// The lesser, as signed numbers.
    Min,
    Slt,
    Sltu,
}

/// An operation on one integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Un {
    LeadingZeros,
    LeadingOnes,
    SignByte,
    SignHalf,
    SwapBytesOfHalves,
}

/// What a load or store moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    I8,
    U8,
    I16,
    U16,
    I32,
    I64,
    F64,
}

impl Width {
    /// Bytes in memory.
    pub(crate) fn bytes(self) -> i32 {
        match self {
            Width::I8 | Width::U8 => 1,
            Width::I16 | Width::U16 => 2,
            Width::I32 => 4,
            Width::I64 | Width::F64 => 8,
        }
    }
}

/// An operation on 64-bit numbers. `d`, `a` and `b` are such, unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wide {
    Add,
    Sub,
    Mul,
    /// `b` is not zero; so for the remainder.
    Div {
        signed: bool,
    },
    Rem {
        signed: bool,
    },
    And,
    Or,
    Xor,
    /// By the integer `b`, as all shifts.
    Shl,
    Shr,
    Sar,
    Rotl,
    /// The product of two integers.
    Product {
        signed: bool,
    },
    /// The 64-bit number `c` with the product of two integers added to it, or subtracted.
    ProductAdd {
        signed: bool,
        subtract: bool,
    },
    /// From two integers: the low half, and the high one.
    Join,
    /// The integer `a`.
    Extend {
        signed: bool,
    },
    /// The integer `d` = the low half of `a`.
    Low,
    /// The integer `d` = the high half of `a`.
    High,
}

/// Arithmetic of floating-point numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Float {
    Add,
    Sub,
    Mul,
    Div,
    Sqrt,
    Abs,
    Move,
    Neg,
    /// What is no number becomes one that is quiet.
    Quiet,
    Reciprocal,
    ReciprocalSqrt,
}

/// Where a conversion to an integer rounds to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Round {
    Nearest,
    Zero,
    Up,
    Down,
    /// As the control register says.
    Current,
}

/// Conversions between types; `d` and `a` have those types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Convert {
    DoubleToSingle,
    SingleToDouble,
    IntToDouble,
    IntToSingle,
    /// Of a 64-bit number, to nearest, as the other one.
    LongToDouble {
        signed: bool,
    },
    LongToSingle,
    DoubleToInt(Round),
    SingleToInt(Round),
}

/// When a branch is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cond {
    Eq,
    Ne,
    Lt,
    Ge,
    Gt,
    Le,
}

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Callee {
    /// The function at this address.
    At(u32),
    /// What the operand says.
    Through(Val),
}

/// A method of the run time's: given the state of the thread and three words, it gives one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StandIn {
    pub(crate) class: &'static str,
    pub(crate) method: &'static str,
    /// How many of the words it looks at.
    pub(crate) words: usize,
}

/// What an instruction does with its operands `a`, `b`, `c` and destination `d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Nop,
    /// `d = a`.
    Copy,
    /// `d = a op b`.
    Bin(Bin),
    /// `d = op a`.
    Un(Un),
    /// What is done with 64-bit numbers.
    Wide(Wide),
    /// `d` = `size` bits of `a` from `low` on.
    Extract {
        low: u8,
        size: u8,
    },
    /// `d` = `b` with `size` bits of `a` put in from `low` on.
    Insert {
        low: u8,
        size: u8,
    },
    /// `d = (c != 0) == when ? a : b`, for integers, floats and doubles.
    Select {
        when: bool,
    },
    /// `d = memory[a + c + offset]`.
    Load(Width),
    /// `d` = `b` with the bytes up to `a + offset` put in from above (`lwl`) or below (`lwr`).
    LoadPart {
        left: bool,
    },
    /// `memory[a + c + offset] = b`.
    Store(Width),
    /// The reverse of [`Op::LoadPart`].
    StorePart {
        left: bool,
    },
    /// `d = memory[a + offset]`, watched from here on.
    LoadLinked,
    /// `memory[a + offset] = b` if nothing else was stored there; `d` says whether.
    StoreConditional,
    /// `HI:LO = a * b`.
    MulWide {
        signed: bool,
    },
    /// `HI:LO += a * b`, or `-=`.
    MulAdd {
        signed: bool,
        subtract: bool,
    },
    /// `LO = a / b`, `HI = a % b`.
    DivWide {
        signed: bool,
    },
    /// Stops the program if `a cond b`, as signed or unsigned numbers.
    Trap {
        cond: Cond,
        signed: bool,
        code: u16,
    },
    /// Stops the program.
    Break {
        code: u16,
    },
    Syscall,
    /// No load behind it is made before it; where it is `full`, nothing of memory passes it.
    Fence {
        full: bool,
    },
    /// `d` = the thread's pointer.
    Thread,
    /// `d = a op b`.
    Float(Float),
    /// `d = ±(a * b ± c)`, rounded after each step.
    FloatMulAdd {
        subtract: bool,
        negate: bool,
    },
    /// Flag `d` = the condition of these four bits holds for `a` and `b`.
    FloatCompare {
        bits: u8,
    },
    Convert(Convert),
    /// `d` = the floating-point control register.
    GetControl,
    /// The floating-point control register = `a`.
    SetControl,
    /// A call; `offset` is the address of its return.
    Call(Callee),
    /// `d` = the register of that number, as an exception sets it on its way to a landing pad.
    Caught,
    /// `d` = the register of that number, as the call before left it.
    Result,
    /// `d` = what this method of the run time's gives for `a`, `b`, `c`.
    StandIn(StandIn),
    /// An instruction that is not known; `offset` is its word.
    Unknown,
}

/// An instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ins {
    pub(crate) op: Op,
    pub(crate) d: Option<Var>,
    pub(crate) a: Val,
    pub(crate) b: Val,
    pub(crate) c: Val,
    pub(crate) offset: i32,
    /// Address of the instruction that it is made from.
    pub(crate) pc: u32,
}

/// Where products and quotients go.
const PRODUCT: Vars = Vars::of(&[HI, LO]);

impl Ins {
    /// `d = op(a, b)`.
    pub(crate) fn new(op: Op, d: Option<Var>, a: Val, b: Val) -> Ins {
        // What register 0 is set to is lost.
        let d = d.filter(|d| *d != 0);
        Ins { op, d, a, b, c: Val::ZERO, offset: 0, pc: 0 }
    }

    pub(crate) const NOP: Ins =
        Ins { op: Op::Nop, d: None, a: Val::ZERO, b: Val::ZERO, c: Val::ZERO, offset: 0, pc: 0 };

    /// The variables that it reads by itself; what a call passes is not among them.
    pub(crate) fn uses(&self) -> Vars {
        let mut vars = Vars::NONE;
        for operand in [self.a, self.b, self.c] {
            if let Val::Var(var) = operand {
                vars.add(var);
            }
        }
        match self.op {
            Op::MulAdd { .. } => {
                vars.add(HI);
                vars.add(LO);
            }
            Op::Syscall => vars = vars.or(Vars::of(&[2, 4, 5, 6, 7, 29])),
            Op::Call(Callee::Through(Val::Var(var))) => vars.add(var),
            _ => {}
        }
        vars
    }

    /// The variables that it gives a value, each in the form that is natural to it.
    pub(crate) fn sets(&self) -> Vars {
        self.d.into_iter().fold(self.others(), |mut all, d| {
            all.add(d);
            all
        })
    }

    /// What it sets beside `d`: registers that have one form.
    fn others(&self) -> Vars {
        match self.op {
            Op::MulWide { .. } | Op::MulAdd { .. } | Op::DivWide { .. } => PRODUCT,
            Op::Syscall => const { Vars::of(&[2, 7]) },
            Op::Call(_) => const { Vars::of(&[RA]) },
            _ => Vars::NONE,
        }
    }

    /// All forms of what it sets.
    pub(crate) fn defs(&self) -> Vars {
        self.others().or(self.d.map_or(Vars::NONE, forms))
    }

    /// Whether it may be left out where nothing reads what it sets.
    pub(crate) fn is_pure(&self) -> bool {
        !matches!(
            self.op,
            Op::Store(_)
                | Op::StorePart { .. }
                | Op::StoreConditional
                | Op::LoadLinked
                | Op::Trap { .. }
                | Op::Break { .. }
                | Op::Syscall
                | Op::Fence { .. }
                | Op::SetControl
                | Op::Call(_)
                | Op::Result
                | Op::StandIn(_)
                | Op::Unknown
        )
    }

    /// Whether it reads memory.
    pub(crate) fn loads(&self) -> bool {
        matches!(self.op, Op::Load(_) | Op::LoadPart { .. })
    }

    /// Whether its floating-point operands are doubles.
    pub(crate) fn is_double(&self) -> bool {
        self.a.var().is_some_and(|var| (DOUBLE..DOUBLE + 16).contains(&var))
    }
}

/// Where a switch leads by a number that is none of its cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    /// There is no such number.
    Never,
    /// To the address that the operand holds, where no block begins.
    Nowhere(Val),
    /// To the last of the targets, which is no case.
    Last,
}

/// How a block ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// On to the block at this key.
    Jump(u32),
    Branch {
        cond: Cond,
        a: Val,
        b: Val,
        taken: u32,
        next: u32,
    },
    /// To the block whose key is the operand. If that is none of these, to a function, which is given what any may be;
    /// or nowhere, where it can only be a place of this function.
    Table {
        to: Val,
        /// Those of all such jumps of the function.
        targets: Arc<[u32]>,
        is_goto: bool,
    },
    /// To the block of that number.
    Switch {
        index: Val,
        targets: Vec<u32>,
        others: Others,
    },
    /// Behind a call: on to `next`, or, where an exception leaves the call, to `caught`.
    Try {
        next: u32,
        caught: u32,
    },
    Return,
    /// A call whose results are the function's own.
    Tail(Callee),
    /// To a frame further up, as `longjmp` does.
    Away(Val),
    /// Never: an instruction before has stopped the program.
    Stop,
}

impl End {
    /// Whether it is a call through a pointer, or may be one: what is no case of a table may be a function.
    pub(crate) fn is_through_pointer(&self) -> bool {
        matches!(self, End::Tail(Callee::Through(_)) | End::Table { is_goto: false, .. })
    }

    /// The keys of the blocks that follow.
    pub(crate) fn targets(&self) -> Vec<u32> {
        match self {
            End::Jump(to) => vec![*to],
            End::Branch { taken, next, .. } => vec![*taken, *next],
            End::Try { next, caught } => vec![*next, *caught],
            End::Table { targets, .. } => targets.to_vec(),
            End::Switch { targets, .. } => targets.clone(),
            End::Return | End::Tail(_) | End::Away(_) | End::Stop => Vec::new(),
        }
    }

    /// The variables that it reads by itself.
    pub(crate) fn uses(&self) -> Vars {
        let mut vars = Vars::NONE;
        let mut add = |value: &Val| {
            if let Val::Var(var) = value {
                vars.add(*var);
            }
        };
        match self {
            End::Branch { a, b, .. } => {
                add(a);
                add(b);
            }
            End::Table { to, .. } => add(to),
            End::Switch { index, others, .. } => {
                add(index);
                if let Others::Nowhere(to) = others {
                    add(to);
                }
            }
            End::Tail(Callee::Through(to)) | End::Away(to) => add(to),
            End::Try { .. } => vars.add(SP),
            _ => {}
        }
        vars
    }
}
