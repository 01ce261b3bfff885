//! The body of a method: instructions, labels, handlers, frames.

use super::Pool;

/// Opcodes. Source: chapter 6 of the specification.
#[allow(missing_docs)]
pub(crate) mod op {
    pub(crate) const LCONST_1: u8 = 0x0a;
    pub(crate) const BIPUSH: u8 = 0x10;
    pub(crate) const SIPUSH: u8 = 0x11;
    pub(crate) const LDC: u8 = 0x12;
    pub(crate) const LDC_W: u8 = 0x13;
    pub(crate) const LDC2_W: u8 = 0x14;
    pub(crate) const IALOAD: u8 = 0x2e;
    pub(crate) const LALOAD: u8 = 0x2f;
    pub(crate) const BALOAD: u8 = 0x33;
    pub(crate) const LASTORE: u8 = 0x50;
    pub(crate) const BASTORE: u8 = 0x54;
    pub(crate) const POP: u8 = 0x57;
    pub(crate) const POP2: u8 = 0x58;
    pub(crate) const DUP: u8 = 0x59;
    pub(crate) const DUP2: u8 = 0x5c;
    pub(crate) const IADD: u8 = 0x60;
    pub(crate) const LADD: u8 = 0x61;
    pub(crate) const FADD: u8 = 0x62;
    pub(crate) const ISUB: u8 = 0x64;
    pub(crate) const LSUB: u8 = 0x65;
    pub(crate) const IMUL: u8 = 0x68;
    pub(crate) const LMUL: u8 = 0x69;
    pub(crate) const FMUL: u8 = 0x6a;
    pub(crate) const IDIV: u8 = 0x6c;
    pub(crate) const LDIV: u8 = 0x6d;
    pub(crate) const IREM: u8 = 0x70;
    pub(crate) const LREM: u8 = 0x71;
    pub(crate) const INEG: u8 = 0x74;
    pub(crate) const FNEG: u8 = 0x76;
    pub(crate) const ISHL: u8 = 0x78;
    pub(crate) const LSHL: u8 = 0x79;
    pub(crate) const ISHR: u8 = 0x7a;
    pub(crate) const LSHR: u8 = 0x7b;
    pub(crate) const IUSHR: u8 = 0x7c;
    pub(crate) const LUSHR: u8 = 0x7d;
    pub(crate) const IAND: u8 = 0x7e;
    pub(crate) const LAND: u8 = 0x7f;
    pub(crate) const IOR: u8 = 0x80;
    pub(crate) const LOR: u8 = 0x81;
    pub(crate) const IXOR: u8 = 0x82;
    pub(crate) const LXOR: u8 = 0x83;
    pub(crate) const I2L: u8 = 0x85;
    pub(crate) const I2F: u8 = 0x86;
    pub(crate) const I2D: u8 = 0x87;
    pub(crate) const L2I: u8 = 0x88;
    pub(crate) const L2F: u8 = 0x89;
    pub(crate) const L2D: u8 = 0x8a;
    pub(crate) const F2D: u8 = 0x8d;
    pub(crate) const D2F: u8 = 0x90;
    pub(crate) const I2B: u8 = 0x91;
    pub(crate) const I2C: u8 = 0x92;
    pub(crate) const I2S: u8 = 0x93;
    pub(crate) const FCMPL: u8 = 0x95;
    pub(crate) const FCMPG: u8 = 0x96;
    pub(crate) const DCMPL: u8 = 0x97;
    pub(crate) const DCMPG: u8 = 0x98;
    pub(crate) const IFEQ: u8 = 0x99;
    pub(crate) const IFNE: u8 = 0x9a;
    pub(crate) const IF_ICMPEQ: u8 = 0x9f;
    pub(crate) const IF_ICMPLT: u8 = 0xa1;
    pub(crate) const IF_ICMPGE: u8 = 0xa2;
    pub(crate) const GOTO: u8 = 0xa7;
    pub(crate) const TABLESWITCH: u8 = 0xaa;
    pub(crate) const LOOKUPSWITCH: u8 = 0xab;
    pub(crate) const IRETURN: u8 = 0xac;
    pub(crate) const RETURN: u8 = 0xb1;
    pub(crate) const GETSTATIC: u8 = 0xb2;
    pub(crate) const PUTSTATIC: u8 = 0xb3;
    pub(crate) const GETFIELD: u8 = 0xb4;
    pub(crate) const PUTFIELD: u8 = 0xb5;
    pub(crate) const INVOKEVIRTUAL: u8 = 0xb6;
    pub(crate) const INVOKESPECIAL: u8 = 0xb7;
    pub(crate) const INVOKESTATIC: u8 = 0xb8;
    pub(crate) const NEW: u8 = 0xbb;
    pub(crate) const ATHROW: u8 = 0xbf;
}

/// Bytes of a method, at most.
pub(crate) const LONGEST: usize = 65_535;

/// The type of a value on the stack or in a local variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Float,
    Double,
    Long,
    /// The first parameter of every translated function: the processor's state.
    Cpu,
    /// A caught exception.
    Throwable,
}

impl Kind {
    /// Slots that it takes.
    pub(crate) fn slots(self) -> u16 {
        if matches!(self, Kind::Double | Kind::Long) { 2 } else { 1 }
    }

    /// Added to `iload`, `istore`, `ireturn`.
    fn offset(self) -> u8 {
        match self {
            Kind::Int => 0,
            Kind::Long => 1,
            Kind::Float => 2,
            Kind::Double => 3,
            Kind::Cpu | Kind::Throwable => 4,
        }
    }

    /// Its descriptor.
    pub(crate) fn descriptor(self) -> &'static str {
        match self {
            Kind::Int => "I",
            Kind::Float => "F",
            Kind::Double => "D",
            Kind::Long => "J",
            Kind::Cpu => "Ltrimtab/Cpu;",
            Kind::Throwable => "Ljava/lang/Throwable;",
        }
    }

    fn verification(self, pool: &mut Pool) -> Vec<u8> {
        match self {
            Kind::Int => vec![1],
            Kind::Float => vec![2],
            Kind::Double => vec![3],
            Kind::Long => vec![4],
            Kind::Cpu => object(pool.class("trimtab/Cpu")),
            Kind::Throwable => object(pool.class("java/lang/Throwable")),
        }
    }
}

fn object(class: u16) -> Vec<u8> {
    let [high, low] = class.to_be_bytes();
    vec![7, high, low]
}

/// A place in a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Label(usize);

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    at: Option<u32>,
    /// A jump leads there, or an exception: a frame is due.
    reached: bool,
    catches: bool,
}

#[derive(Debug, Clone, Copy)]
struct Fixup {
    /// Where the instruction begins.
    from: u32,
    /// Where its distance is written.
    at: u32,
    wide: bool,
    to: Label,
}

/// The body of a method, as it is put together.
#[derive(Default)]
pub(crate) struct Code {
    pub(crate) bytes: Vec<u8>,
    places: Vec<Place>,
    fixups: Vec<Fixup>,
    /// From, to, the handler, and the class that it catches; 0 for any.
    handlers: Vec<(Label, Label, Label, u16)>,
    /// Where lines of source begin, and which.
    lines: Vec<(u16, u16)>,
    /// Local variables from the first slot on, parameters before others.
    locals: Vec<Kind>,
    parameters: usize,
    stack: i32,
    max_stack: i32,
}

impl Code {
    /// Code of a method with these parameters and further local variables, which it has to set
    /// before its first label.
    pub(crate) fn new(locals: Vec<Kind>, parameters: usize) -> Code {
        Code { locals, parameters, ..Code::default() }
    }

    /// Says that the local variable of this index, not slot, has another type than it was made with.
    pub(crate) fn set_local(&mut self, index: usize, kind: Kind) {
        if let Some(local) = self.locals.get_mut(index) {
            *local = kind;
        }
    }

    /// A further local variable: its slot. It has to be set before the first label.
    pub(crate) fn further(&mut self, kind: Kind) -> u16 {
        let slot = self.locals.iter().map(|local| local.slots()).sum();
        self.locals.push(kind);
        slot
    }

    /// A label that is not bound yet.
    pub(crate) fn label(&mut self) -> Label {
        self.places.push(Place::default());
        Label(self.places.len() - 1)
    }

    /// Binds a label here. The stack is empty.
    pub(crate) fn bind(&mut self, label: Label) {
        debug_assert!(self.places[label.0].at.is_none());
        self.places[label.0].at = Some(self.bytes.len() as u32);
        self.stack = 0;
    }

    /// Binds the label of a handler: the exception is on the stack.
    pub(crate) fn bind_handler(&mut self, from: Label, to: Label, label: Label) {
        self.bind_catch(&[(from, to)], label, 0);
    }

    /// The same for several stretches of code, and for exceptions of one class in the pool.
    pub(crate) fn bind_catch(&mut self, stretches: &[(Label, Label)], label: Label, class: u16) {
        self.bind(label);
        self.push(1);
        self.places[label.0].reached = true;
        self.places[label.0].catches = true;
        self.handlers.extend(stretches.iter().map(|(from, to)| (*from, *to, label, class)));
    }

    /// What follows is of this line of source.
    pub(crate) fn line(&mut self, line: u16) {
        if self.lines.last().is_none_or(|(_, last)| *last != line) {
            self.lines.push((self.bytes.len() as u16, line));
        }
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    fn push(&mut self, words: i32) {
        self.stack += words;
        self.max_stack = self.max_stack.max(self.stack);
    }

    /// An instruction without operands that changes the depth of the stack by `words`.
    pub(crate) fn op(&mut self, opcode: u8, words: i32) {
        self.bytes.push(opcode);
        self.push(words);
    }

    /// An instruction with an operand of two bytes.
    pub(crate) fn op_u16(&mut self, opcode: u8, operand: u16, words: i32) {
        self.bytes.push(opcode);
        self.bytes.extend(operand.to_be_bytes());
        self.push(words);
    }

    /// Pushes a number.
    pub(crate) fn int(&mut self, pool: &mut Pool, value: i32) {
        match value {
            -1..=5 => self.op((3 + value) as u8, 1),
            -128..=127 => {
                self.bytes.extend([op::BIPUSH, value as u8]);
                self.push(1);
            }
            -32768..=32767 => self.op_u16(op::SIPUSH, value as u16, 1),
            _ => match pool.int(value) {
                index @ 0..=255 => {
                    self.bytes.extend([op::LDC, index as u8]);
                    self.push(1);
                }
                index => self.op_u16(op::LDC_W, index, 1),
            },
        }
    }

    /// Pushes a number of 64 bits.
    pub(crate) fn long(&mut self, pool: &mut Pool, value: i64) {
        let index = pool.long(value);
        self.op_u16(op::LDC2_W, index, 2);
    }

    fn local(&mut self, base: u8, short: u8, kind: Kind, slot: u16, words: i32) {
        match slot {
            0..=3 => self.bytes.push(short + 4 * kind.offset() + slot as u8),
            4..=255 => self.bytes.extend([base + kind.offset(), slot as u8]),
            _ => {
                self.bytes.extend([0xc4, base + kind.offset()]);
                self.bytes.extend(slot.to_be_bytes());
            }
        }
        self.push(words);
    }

    /// Pushes a local variable.
    pub(crate) fn load(&mut self, kind: Kind, slot: u16) {
        self.local(0x15, 0x1a, kind, slot, i32::from(kind.slots()));
    }

    /// Pops into a local variable.
    pub(crate) fn store(&mut self, kind: Kind, slot: u16) {
        self.local(0x36, 0x3b, kind, slot, -i32::from(kind.slots()));
    }

    /// Adds a small number to a local variable.
    pub(crate) fn increment(&mut self, slot: u16, by: i16) {
        match (u8::try_from(slot), i8::try_from(by)) {
            (Ok(slot), Ok(by)) => self.bytes.extend([0x84, slot, by as u8]),
            _ => {
                self.bytes.extend([0xc4, 0x84]);
                self.bytes.extend(slot.to_be_bytes());
                self.bytes.extend(by.to_be_bytes());
            }
        }
    }

    /// Pushes a zero of this type.
    pub(crate) fn zero(&mut self, kind: Kind) {
        let opcode = match kind {
            Kind::Int => 3,
            Kind::Long => 9,
            Kind::Float => 0x0b,
            Kind::Double => 0x0e,
            Kind::Cpu | Kind::Throwable => 1,
        };
        self.op(opcode, i32::from(kind.slots()));
    }

    /// A jump that pops `words`.
    pub(crate) fn jump(&mut self, opcode: u8, to: Label, words: i32) {
        let from = self.bytes.len() as u32;
        self.bytes.extend([opcode, 0, 0]);
        self.push(-words);
        self.fix(from, from + 1, false, to);
    }

    fn fix(&mut self, from: u32, at: u32, wide: bool, to: Label) {
        self.places[to.0].reached = true;
        self.fixups.push(Fixup { from, at, wide, to });
    }

    /// A switch over the number on the stack, by ascending `cases`.
    pub(crate) fn switch(&mut self, cases: &[(i32, Label)], default: Label) {
        let from = self.bytes.len() as u32;
        let span = match cases {
            [(first, _), .., (last, _)] => i64::from(*last) - i64::from(*first) + 1,
            [_] => 1,
            [] => i64::MAX,
        };
        let table = span <= 2 * cases.len() as i64 + 4;
        self.bytes.push(if table { op::TABLESWITCH } else { op::LOOKUPSWITCH });
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
        self.push(-1);
        self.target(from, default);
        if table {
            let (first, last) = (cases[0].0, cases[cases.len() - 1].0);
            self.bytes.extend(first.to_be_bytes());
            self.bytes.extend(last.to_be_bytes());
            let mut next = cases.iter().peekable();
            for value in first..=last {
                let hit = next.next_if(|(case, _)| *case == value);
                self.target(from, hit.map_or(default, |(_, label)| *label));
            }
        } else {
            self.bytes.extend((cases.len() as i32).to_be_bytes());
            for (value, label) in cases {
                self.bytes.extend(value.to_be_bytes());
                self.target(from, *label);
            }
        }
    }

    fn target(&mut self, from: u32, to: Label) {
        let at = self.bytes.len() as u32;
        self.bytes.extend([0; 4]);
        self.fix(from, at, true, to);
    }

    /// Calls a static method whose parameters take `words` and whose result is `result`.
    pub(crate) fn call(&mut self, method: u16, words: i32, result: Option<Kind>) {
        self.op_u16(op::INVOKESTATIC, method, -words);
        self.push(result.map_or(0, |kind| i32::from(kind.slots())));
    }

    /// Returns what is on the stack.
    pub(crate) fn give_back(&mut self, kind: Option<Kind>) {
        match kind {
            Some(kind) => self.op(op::IRETURN + kind.offset(), -i32::from(kind.slots())),
            None => self.op(op::RETURN, 0),
        }
    }

    /// Whether it can be a method: as long as one can be, with no distance too far for its jump.
    pub(crate) fn fits(&self) -> bool {
        let place = |label: Label| i64::from(self.places[label.0].at.unwrap_or_default());
        let reaches = |fixup: &Fixup| {
            fixup.wide || i16::try_from(place(fixup.to) - i64::from(fixup.from)).is_ok()
        };
        self.len() <= LONGEST && self.handlers.len() <= LONGEST && self.fixups.iter().all(reaches)
    }

    /// The attribute `Code`, with all distances filled in.
    pub(crate) fn attribute(&self, pool: &mut Pool, frames: u16) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let place = |label: Label| self.places[label.0].at.unwrap_or_default();
        for fixup in &self.fixups {
            let distance = place(fixup.to).wrapping_sub(fixup.from).cast_signed();
            let at = fixup.at as usize;
            if fixup.wide {
                bytes[at..at + 4].copy_from_slice(&distance.to_be_bytes());
            } else {
                bytes[at..at + 2].copy_from_slice(&(distance as i16).to_be_bytes());
            }
        }
        let slots: u16 = self.locals.iter().map(|kind| kind.slots()).sum();
        let mut body = (self.max_stack as u16).to_be_bytes().to_vec();
        body.extend(slots.to_be_bytes());
        body.extend((bytes.len() as u32).to_be_bytes());
        body.extend(bytes);
        body.extend((self.handlers.len() as u16).to_be_bytes());
        for (from, to, label, class) in &self.handlers {
            for part in [place(*from) as u16, place(*to) as u16, place(*label) as u16, *class] {
                body.extend(part.to_be_bytes());
            }
        }
        let table = self.frames(pool);
        let lines = !self.lines.is_empty();
        body.extend((u16::from(!table.is_empty()) + u16::from(lines)).to_be_bytes());
        if !table.is_empty() {
            body.extend(frames.to_be_bytes());
            body.extend((table.len() as u32).to_be_bytes());
            body.extend(table);
        }
        if lines {
            body.extend(pool.utf8("LineNumberTable").to_be_bytes());
            body.extend((4 * self.lines.len() as u32 + 2).to_be_bytes());
            body.extend((self.lines.len() as u16).to_be_bytes());
            for (at, line) in &self.lines {
                body.extend(at.to_be_bytes());
                body.extend(line.to_be_bytes());
            }
        }
        body
    }

    /// The entries of `StackMapTable`; nothing where no jump leads anywhere.
    fn frames(&self, pool: &mut Pool) -> Vec<u8> {
        let mut places: Vec<(u32, bool)> = self
            .places
            .iter()
            .filter(|place| place.reached)
            .filter_map(|place| Some((place.at?, place.catches)))
            .collect();
        places.sort_unstable();
        places.dedup_by_key(|(at, _)| *at);
        if places.is_empty() {
            return Vec::new();
        }
        let mut table = (places.len() as u16).to_be_bytes().to_vec();
        let mut next = 0;
        for (index, (at, catches)) in places.iter().enumerate() {
            let distance = (at - next) as u16;
            next = at + 1;
            if index == 0 && self.parameters < self.locals.len() {
                table.push(255);
                table.extend(distance.to_be_bytes());
                table.extend((self.locals.len() as u16).to_be_bytes());
                for kind in &self.locals {
                    table.extend(kind.verification(pool));
                }
                table.extend(u16::from(*catches).to_be_bytes());
            } else if *catches {
                table.push(247);
                table.extend(distance.to_be_bytes());
            } else if distance < 64 {
                table.push(distance as u8);
            } else {
                table.push(251);
                table.extend(distance.to_be_bytes());
            }
            if *catches {
                table.extend(Kind::Throwable.verification(pool));
            }
        }
        table
    }
}
