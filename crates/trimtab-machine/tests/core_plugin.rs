//! The plugin that has the model of a core, in a stand-in for QEMU.
#![allow(clippy::unwrap_used, missing_docs)]

mod stand_in;

use stand_in::StandIn;
use trimtab_machine::plugin;

const KERNEL: [&str; 3] =
    ["min=ffffffff80000000", "entry=ffffffff81000000", "calls=ffffffff81000100+ffffffff81000200"];
/// Two sets of two lines.
const CORE: [&str; 3] = ["l1i=4-2-64", "l1d=4-2-64", "history=4"];
const EXPECTED: &str = "trimtab-core 1\n\
    call 0 8 3 1 0\n\
    call 1 24 4 0 3\n\
    call 0 12 2 4 0\n\
    total 48 11 6 3\n";

#[test]
fn calls_are_put_through_the_model_of_a_core() {
    let host = StandIn::new("test_core_host", plugin::kept_core);
    let to = host.out();
    let all = [&[to.as_str()][..], &KERNEL, &CORE].concat();
    assert_eq!(host.run(&all), (true, String::new()));
    assert_eq!(host.written(), EXPECTED);
    host.refuses(&[
        (&[&to], "of which core"),
        (&CORE, "out=FILE"),
        (&[&to, "l1i=4-3-64"], "cannot take l1i=4-3-64"),
        (&[&to, "l1i=12-2-64"], "cannot take l1i=12-2-64"),
        (&[&to, "l1d=4-2-48"], "cannot take l1d=4-2-48"),
        (&[&to, "l1d=4-0-64"], "cannot take l1d=4-0-64"),
        (&[&to, "l1d=4000000-2-64"], "cannot take l1d"),
        (&[&to, "history=21"], "cannot take history=21"),
        (&[&to, "history=0"], "cannot take history=0"),
        (&[&to, "min=here"], "cannot take min=here"),
        (&[&to, "calls=1+"], "cannot take calls=1+"),
        (&[&to, "else=1"], "cannot take else=1"),
        (&["out=/nowhere/at/all", CORE[0], CORE[1], CORE[2]], "/nowhere/at/all"),
    ]);
}
