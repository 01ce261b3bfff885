//! Functions as pointers lead to them.
//!
//! A call through a pointer finds an object by the address, and calls its method: one class for each function whose address
//! is known, and one method that all of them have. So HotSpot sees at each such call by the class of the object which functions it leads
//! to, and where these are one or two, it calls them directly behind a comparison, or inlines them.

use super::{Context, Home};
use crate::classfile::{Class, Code, Kind, access, op};
use crate::vars::{BITS, CHAIN, DOUBLE, FLAG, SINGLE, SP, T9, Var, kind};

/// The class of such objects.
pub(crate) const FUNCTION: &str = "trimtab/Function";

/// What its method takes and gives back: the state, four arguments, the stack's pointer; `v0` and `v1`.
pub(crate) const ANY: &str = "(Ltrimtab/Cpu;IIIII)J";

/// What finds such an object takes and gives back: the address and the state.
pub(crate) const FIND: &str = "(ILtrimtab/Cpu;)Ltrimtab/Function;";

/// Slot of the state, behind the object.
const STATE: u16 = 1;

/// The class of the pointer to a function: its bytes. When it is initialized, it hands over the one object of it.
pub(crate) fn pointer(context: &Context<'_>, start: u32) -> Option<Vec<u8>> {
    let home = context.homes.get(&start)?;
    let mut class = Class::new(&format!("program/Pointer${}", home.name), FUNCTION);
    let mut new = Code::new(vec![Kind::Cpu], 1);
    new.load(Kind::Cpu, 0);
    let parent = class.pool.method(FUNCTION, "<init>", "()V");
    new.op_u16(op::INVOKESPECIAL, parent, -1);
    new.give_back(None);
    class.method(access::PUBLIC, "<init>", "()V", &new);

    let mut begin = Code::new(Vec::new(), 0);
    let name = class.name().to_owned();
    let this = class.pool.class(&name);
    begin.op_u16(op::NEW, this, 1);
    begin.op(op::DUP, 1);
    let init = class.pool.method(&name, "<init>", "()V");
    begin.op_u16(op::INVOKESPECIAL, init, -1);
    let made = class.pool.field("trimtab/Functions", "made", "Ltrimtab/Function;");
    begin.op_u16(op::PUTSTATIC, made, -1);
    begin.give_back(None);
    class.method(access::STATIC, "<clinit>", "()V", &begin);

    let mut code = Code::new([vec![Kind::Cpu; 2], vec![Kind::Int; 5]].concat(), 7);
    call(&mut class, &mut code, home, start);
    class.method(access::PUBLIC, "call", ANY, &code);
    Some(class.finish())
}

/// Calls a function with what any may be given, and returns what any may give back: `v0` and `v1`; floating-point numbers are in the
/// state.
fn call(class: &mut Class, code: &mut Code, home: &Home, start: u32) {
    code.load(Kind::Cpu, STATE);
    for var in home.shape.arguments.iter() {
        match var {
            4..=7 => code.load(Kind::Int, u16::from(var) - 2),
            SP => code.load(Kind::Int, 6),
            T9 => code.int(&mut class.pool, start.cast_signed()),
            CHAIN => {
                code.load(Kind::Cpu, STATE);
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
            code.load(Kind::Cpu, STATE);
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
    code.load(Kind::Cpu, STATE);
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
