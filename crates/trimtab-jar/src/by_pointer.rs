//! Which floating-point numbers calls through pointers pass and give back in this program.
//!
//! By the ABI any of them may pass `f12` and `f14`, and read `f0` and `f2` behind it. Few programs have pointers to functions
//! with floating-point numbers, and in those that have none all these registers would be live nearly everywhere. So both sets begin empty
//! and grow with what is found while liveness is: arguments that a function reads whose address is known, and results that are read
//! behind such a call. Only where all code is known is that all there is.

use crate::bindings::FIRST;
use crate::function::Function;
use crate::vars::{DOUBLE, V0, V1, Vars, forms};

/// Of what calls through pointers give back: `f0` and `f2`.
const POINTER_FLOAT_RESULTS: Vars = Vars::of(&[DOUBLE, DOUBLE + 1]);

/// The first two arguments that are floating-point numbers: `f12` and `f14`.
pub(crate) const POINTER_FLOATS: Vars = Vars::of(&[DOUBLE + 6, DOUBLE + 7]);

/// What calls through pointers pass and give back, pairs as doubles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByPointer {
    /// Results, with `v0` and `v1`.
    pub(crate) results: Vars,
    /// Floating-point arguments.
    pub(crate) floats: Vars,
}

impl ByPointer {
    /// Of a program of these functions, where `all_known` says whether there is no other code than that.
    pub(crate) fn new(functions: &[Function], all_known: bool) -> Self {
        let results = Vars::of(&[V0, V1]);
        let calls_java = |function: &Function| function.calls().iter().any(|to| *to >= FIRST);
        if all_known && !functions.iter().any(calls_java) {
            ByPointer { results, floats: Vars::NONE }
        } else {
            ByPointer { results: results.or(POINTER_FLOAT_RESULTS), floats: POINTER_FLOATS }
        }
    }

    /// Adds what is read behind calls through pointers, in any form; and the arguments of a function that pointers lead to.
    /// Says whether that was new.
    pub(crate) fn add(&mut self, read: Vars, arguments: Vars) -> bool {
        let pairs =
            |of: Vars, vars: Vars| of.iter().filter(|pair| forms(*pair).meets(vars)).collect();
        let more = ByPointer {
            results: self.results.or(pairs(POINTER_FLOAT_RESULTS, read)),
            floats: self.floats.or(pairs(POINTER_FLOATS, arguments)),
        };
        std::mem::replace(self, more) != more
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::{new_block, new_function};
    use crate::ir::{Callee, End};
    use crate::vars::BITS;

    #[test]
    fn both_sets_grow_with_what_is_found_where_all_code_is_known() {
        let mut closed = ByPointer::new(&[], true);
        assert!(!closed.add(Vars::of(&[V0, 16]), Vars::of(&[4])));
        assert!(closed.add(Vars::of(&[BITS + 1]), Vars::of(&[4, BITS + 14])));
        assert_eq!(closed.results, Vars::of(&[V0, V1, DOUBLE]));
        assert_eq!(closed.floats, Vars::of(&[DOUBLE + 7]));
        assert!(!closed.add(Vars::of(&[DOUBLE]), Vars::NONE));
        let open = ByPointer::new(&[], false);
        assert_eq!(
            (open.results, open.floats),
            (Vars::of(&[V0, V1]).or(POINTER_FLOAT_RESULTS), POINTER_FLOATS)
        );
    }

    #[test]
    fn a_program_that_calls_java_is_not_all_there_is() {
        let end = End::Tail(Callee::At(FIRST + 256));
        let block = new_block(0x100, vec![], end);
        let stub = new_function(0x100, "stub", vec![block], 0);
        assert_eq!(ByPointer::new(&[stub], true), ByPointer::new(&[], false));
    }
}
