//! The plugin that watches locks, in a stand-in for QEMU.
#![allow(clippy::unwrap_used, missing_docs)]

mod stand_in;

use stand_in::StandIn;
use trimtab_machine::plugin;

const FUNCTIONS: &str = "functions=ffffffff81000100-ffffffff81000105-x+ffffffff81000200-ffffffff81000205-s+\
                         ffffffff81000300-ffffffff81000305-r+ffffffff81000400-ffffffff81000405-t";
/// A block is two instructions, and the event is behind the last but one of them.
const EXPECTED: &str = "mark 6 2\n\
    0 8 r a0\n\
    0 12 x b0 ffffffff81000000\n\
    0 22 s c0 ffffffff81000000\n\
    0 28 r c0\n\
    0 30 r b0\n\
    0 32 t d0 ffffffff81000000\n\
    0 34 r d0\n\
    1 4 i\n\
    mark 38 4\n\
    end\n";

#[test]
fn locks_that_are_taken_and_given_back_between_marks_are_written_down() {
    let host = StandIn::new("test_locks_host", plugin::kept_locks);
    let to = host.out();
    assert_eq!(host.run(&[&to, FUNCTIONS]), (true, String::new()));
    assert_eq!(host.written(), EXPECTED);
    host.refuses(&[
        (&[&to], "functions=LIST"),
        (&[FUNCTIONS], "out=FILE"),
        (&[&to, "functions=1-2"], "no list"),
        (&[&to, "functions=1-2-q"], "no list"),
        (&[&to, "functions=1-2-x,"], "no list"),
        (&["out=/nowhere/at/all", FUNCTIONS], "/nowhere/at/all"),
        (&[&to, FUNCTIONS, "else=1"], "else=1"),
    ]);
}
