//! Functions of the program's that a method of the run time's stands for: those of the C library's that work on bytes,
//! for which Java has instructions of the processor, and those of the unwinder's.

use crate::function::{Function, new_block, new_function};
use crate::image::Image;
use crate::ir::{End, Ins, Op, StandIn, Val};
use crate::unwind::UNWINDER;
use crate::vars::{A0, A1, A2, V0};
use std::collections::BTreeMap;

/// The class of those that work on bytes.
const BYTES: &str = "trimtab/Bytes";

/// Functions that work on bytes: by their names, methods and the words that these look at.
const ON_BYTES: [(&str, &str, usize); 15] = [
    ("memcpy", "copy", 3),
    ("memmove", "copy", 3),
    ("mempcpy", "copyToEnd", 3),
    ("memset", "fill", 3),
    ("memcmp", "compare", 3),
    ("memchr", "find", 3),
    ("strlen", "length", 1),
    ("strnlen", "lengthUpTo", 2),
    ("strchr", "findInString", 2),
    ("strchrnul", "findOrEnd", 2),
    ("strspn", "within", 2),
    ("strcspn", "without", 2),
    ("strncmp", "compareStringsUpTo", 3),
    ("strcmp", "compareStrings", 2),
    ("strcpy", "copyString", 2),
];

/// The methods that stand for functions of a program, by their addresses; where instructions are counted, not for those
/// that work on bytes. Without symbols there are none.
pub(crate) fn stand_ins(image: &Image<'_>, counted: bool) -> BTreeMap<u32, StandIn> {
    let on_bytes = ON_BYTES.iter().map(|&(name, method, words)| (name, BYTES, method, words));
    let on_bytes = on_bytes.filter(|_| !counted);
    let unwinder = UNWINDER.iter().map(|&(name, method)| (name, "trimtab/Unwind", method, 3));
    on_bytes
        .chain(unwinder)
        .filter_map(|(name, class, method, words)| {
            Some((*image.symbols.get(name)?, StandIn { class, method, words }))
        })
        .collect()
}

/// A function that only calls such a method.
pub(crate) fn calling(start: u32, name: &str, stand_in: StandIn) -> Function {
    let word = |at: usize, var| if at < stand_in.words { Val::Var(var) } else { Val::ZERO };
    let (a, b, c) = (word(0, A0), word(1, A1), word(2, A2));
    let call = Ins { c, pc: start, ..Ins::new(Op::StandIn(stand_in), Some(V0), a, b) };
    new_function(start, name, vec![new_block(start, vec![call], End::Return)], 0)
}
