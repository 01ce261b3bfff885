//! The registers of the processor as variables, and sets of them.
//!
//! A floating-point register is seen in up to three forms: its bits (an `int`), a `float`, and with
//! its neighbour a `double`. Each form is a variable of its own; an instruction sets the one that is
//! natural to it, and the others are derived from that where they are live.

use crate::classfile::Kind;

/// A variable: index of a register or of a form of one.
pub(crate) type Var = u8;

/// Registers by their numbers come first.
pub(crate) const V0: Var = 2;
pub(crate) const V1: Var = 3;
pub(crate) const A0: Var = 4;
pub(crate) const A1: Var = 5;
pub(crate) const A2: Var = 6;
pub(crate) const A3: Var = 7;
/// `t7`: where a function within another one is given the frame of that, as GNU's dialect of C has them.
pub(crate) const CHAIN: Var = 15;
pub(crate) const T9: Var = 25;
pub(crate) const GP: Var = 28;
pub(crate) const SP: Var = 29;
pub(crate) const FP: Var = 30;
pub(crate) const RA: Var = 31;
pub(crate) const HI: Var = 32;
pub(crate) const LO: Var = 33;
/// The bits of floating-point register 0; those of the others follow.
pub(crate) const BITS: Var = 34;
/// Register 0 as a `float`.
pub(crate) const SINGLE: Var = 66;
/// Registers 0 and 1 as a `double`; those of the other pairs follow.
pub(crate) const DOUBLE: Var = 98;
/// The first of eight condition flags.
pub(crate) const FLAG: Var = 114;
/// What a delay slot changes before its branch has looked at it.
pub(crate) const SAVED: Var = 122;
/// The second of them.
pub(crate) const SAVED2: Var = 123;
/// The number by which a switch goes on.
pub(crate) const INDEX: Var = 124;
/// Up to where a loop counts.
pub(crate) const LIMIT: Var = 125;
/// The first of the 64-bit numbers that [`crate::wide`] makes; they live within a block.
pub(crate) const WIDE: Var = 126;
/// How many of these there are.
pub(crate) const WIDES: u8 = 24;
/// The first of the words of the stack that [`crate::stack_slots`] makes variables of.
pub(crate) const SLOT: Var = WIDE + WIDES;
/// How many of these there are.
pub(crate) const SLOTS: u8 = 16;
/// How many variables there are.
pub(crate) const COUNT: usize = (SLOT + SLOTS) as usize;

/// The type of a variable.
pub(crate) fn kind(var: Var) -> Kind {
    match var {
        SINGLE..DOUBLE => Kind::Float,
        DOUBLE..FLAG => Kind::Double,
        WIDE..SLOT => Kind::Long,
        _ => Kind::Int,
    }
}

/// What a variable is called in MIPS assembly, with the form of a floating-point register.
#[rustfmt::skip]
pub(crate) fn register_name(var: Var) -> String {
    const NAMES: [&str; 34] = [
        "zero", "at", "v0", "v1", "a0", "a1", "a2", "a3", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "s0",
        "s1", "s2", "s3", "s4", "s5", "s6", "s7", "t8", "t9", "k0", "k1", "gp", "sp", "fp", "ra", "hi", "lo",
    ];
    match var {
        0..BITS => NAMES[usize::from(var)].to_owned(),
        BITS..SINGLE => format!("f{} (bits)", var - BITS),
        SINGLE..DOUBLE => format!("f{} (float)", var - SINGLE),
        DOUBLE..FLAG => format!("f{} (double)", 2 * (var - DOUBLE)),
        FLAG..SAVED => format!("fcc{}", var - FLAG),
        INDEX => "number of a case".to_owned(),
        LIMIT => "limit of a loop".to_owned(),
        WIDE..SLOT => format!("64-bit number {}", var - WIDE),
        SLOT.. => format!("stack slot {}", var - SLOT),
        _ => "delay slot".to_owned(),
    }
}

/// A set of variables: a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Vars([u64; 3]);

impl Vars {
    pub(crate) const NONE: Vars = Vars([0; 3]);

    /// The set of these.
    pub(crate) const fn of(vars: &[Var]) -> Vars {
        let (mut set, mut at) = (Vars::NONE, 0);
        while at < vars.len() {
            set.add(vars[at]);
            at += 1;
        }
        set
    }

    /// The variables from `first` to the one before `end`.
    pub(crate) const fn between(first: Var, end: Var) -> Vars {
        let (mut set, mut at) = (Vars::NONE, first);
        while at < end {
            set.add(at);
            at += 1;
        }
        set
    }

    #[inline]
    pub(crate) fn has(self, var: Var) -> bool {
        self.0[usize::from(var / 64)] >> (var % 64) & 1 != 0
    }

    #[inline]
    pub(crate) const fn add(&mut self, var: Var) {
        self.0[(var / 64) as usize] |= 1 << (var % 64);
    }

    #[inline]
    pub(crate) const fn and(self, other: Vars) -> Vars {
        let (Vars([a, b, c]), Vars([d, e, f])) = (self, other);
        Vars([a & d, b & e, c & f])
    }

    #[inline]
    pub(crate) const fn or(self, other: Vars) -> Vars {
        let (Vars([a, b, c]), Vars([d, e, f])) = (self, other);
        Vars([a | d, b | e, c | f])
    }

    #[inline]
    pub(crate) const fn without(self, other: Vars) -> Vars {
        let (Vars([a, b, c]), Vars([d, e, f])) = (self, other);
        Vars([a & !d, b & !e, c & !f])
    }

    pub(crate) fn is_empty(self) -> bool {
        self == Vars::NONE
    }

    #[inline]
    pub(crate) fn meets(self, other: Vars) -> bool {
        !self.and(other).is_empty()
    }

    /// The variables, ascending.
    pub(crate) fn iter(self) -> impl Iterator<Item = Var> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let at = rest.iter().position(|bits| *bits != 0)?;
            let bit = rest[at].trailing_zeros();
            rest[at] &= rest[at] - 1;
            Some((64 * at) as Var + bit as Var)
        })
    }
}

impl FromIterator<Var> for Vars {
    fn from_iter<I: IntoIterator<Item = Var>>(vars: I) -> Vars {
        vars.into_iter().fold(Vars::NONE, |all, var| all.or(Vars::of(&[var])))
    }
}

/// All forms of floating-point register `register` and, where that is one half of a pair, of the
/// pair; not the bits of the other half.
pub(crate) const fn forms_of_half(register: u8) -> Vars {
    Vars::of(&[BITS + register, SINGLE + register, DOUBLE + register / 2])
}

/// All forms of a pair of floating-point registers.
pub(crate) const fn forms_of_pair(register: u8) -> Vars {
    let even = register & !1;
    forms_of_half(even).or(forms_of_half(even + 1))
}

/// What setting `var` gives a new value: itself, and the other forms of the same register.
pub(crate) fn forms(var: Var) -> Vars {
    FORMS[usize::from(var)]
}

/// The forms of each variable: all passes over instructions ask for them.
static FORMS: [Vars; COUNT] = {
    let mut all = [Vars::NONE; COUNT];
    let mut var = 0;
    while var < COUNT as Var {
        all[var as usize] = match var {
            BITS..SINGLE => forms_of_half(var - BITS),
            SINGLE..DOUBLE => forms_of_half(var - SINGLE),
            DOUBLE..FLAG => forms_of_pair((var - DOUBLE) * 2),
            _ => Vars::of(&[var]),
        };
        var += 1;
    }
    all
};

/// What the derived form `double` of a half that `var` sets is made from beside it: the bits of the
/// other half.
pub(crate) fn other_half(var: Var) -> Option<Var> {
    match var {
        BITS..SINGLE => Some(BITS + ((var - BITS) ^ 1)),
        SINGLE..DOUBLE => Some(BITS + ((var - SINGLE) ^ 1)),
        _ => None,
    }
}

/// What functions give back: `v0`, `v1`, and `f0` and `f2` in all forms.
pub(crate) const RESULTS: Vars = Vars::of(&[V0, V1]).or(FLOAT_RESULTS);

/// Those of them that are floating-point numbers.
pub(crate) const FLOAT_RESULTS: Vars = forms_of_pair(0).or(forms_of_pair(2));

/// The same results, without forms of a pair that come of the pair as a `double`, where that or both halves are among them.
pub(crate) fn as_doubles(results: Vars) -> Vars {
    let whole = |register: u8| {
        let halves = [register, register + 1].map(|half| Vars::of(&[BITS + half, SINGLE + half]));
        let both = halves.iter().all(|half| half.meets(results));
        both || results.has(DOUBLE + register / 2)
    };
    [0, 2].into_iter().filter(|register| whole(*register)).fold(results, |all, register| {
        all.without(forms_of_pair(register)).or(Vars::of(&[DOUBLE + register / 2]))
    })
}

/// What functions can be given. Registers that a callee must keep are not among them: it can only
/// save and restore what they held.
pub(crate) const ARGUMENTS: Vars =
    Vars::of(&[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 24, SP, RA])
        .or(forms_of_pair(12))
        .or(forms_of_pair(14));

/// What any function may be given when nothing is known of it.
pub(crate) const COMMON_ARGUMENTS: Vars = Vars::of(&[4, 5, 6, 7, SP]);

/// Registers that functions keep: `s0` to `s8`, `gp`, `ra` (which a call sets, but which the callee
/// keeps for its return) and `f20` and up.
pub(crate) const CALLEE_SAVED: Vars = Vars::of(&[16, 17, 18, 19, 20, 21, 22, 23, 28, 30, 31])
    .or(forms_of_pair(20))
    .or(forms_of_pair(22))
    .or(forms_of_pair(24))
    .or(forms_of_pair(26))
    .or(forms_of_pair(28))
    .or(forms_of_pair(30));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_has_its_forms() {
        let all = |vars: Vars| vars.iter().collect::<Vec<_>>();
        assert_eq!(all(forms(V0)), [2]);
        assert_eq!(all(forms(BITS + 1)), [35, 67, 98], "the high half of f0");
        assert_eq!(all(forms(SINGLE)), [34, 66, 98]);
        assert_eq!(all(forms(DOUBLE + 1)), [36, 37, 68, 69, 99]);
        assert_eq!(other_half(SINGLE + 12), Some(BITS + 13));
        assert_eq!(other_half(DOUBLE), None);
        assert_eq!([WIDE, 3, 70].into_iter().collect::<Vars>(), Vars::of(&[3, 70, WIDE]));
        assert_eq!(all(Vars::between(63, 66).or(Vars::of(&[WIDE + 2]))), [63, 64, 65, WIDE + 2]);
        let low = Vars::of(&[V0, BITS]);
        assert_eq!(as_doubles(low), low);
        assert_eq!(as_doubles(low.or(Vars::of(&[SINGLE + 1]))), Vars::of(&[V0, DOUBLE]));
        assert_eq!(
            as_doubles(Vars::of(&[BITS, DOUBLE + 1, BITS + 3])),
            Vars::of(&[BITS, DOUBLE + 1])
        );
        assert!(RESULTS.has(DOUBLE) && RESULTS.has(SINGLE + 2) && !RESULTS.has(DOUBLE + 2));
        assert!(!ARGUMENTS.meets(CALLEE_SAVED.without(Vars::of(&[RA]))));
    }
}
