//! The text of `probe/abi.h`, and the test that it is so.

use std::fs;

use super::*;
use crate::hook::{AddsUp, Hook};

/// Fields of a C structure: its size, and where each field is.
type Structure = (&'static str, usize, &'static [(&'static str, usize)]);

/// The structures of `probe/internal.h` that code outside of the run time knows.
const STRUCTURES: [Structure; 9] = [
    (
        "object",
        OBJECT_SIZE,
        &[
            ("version", 0),
            ("hook", 4),
            ("cells", 8),
            ("cell_size", 12),
            ("index", 16),
            ("flags", 20),
        ],
    ),
    (
        "function",
        24,
        &[
            ("start", function::START as usize),
            ("size", 4),
            ("object", function::OBJECT as usize),
            ("cell", 12),
            ("name", function::NAME as usize),
            ("flags", 20),
        ],
    ),
    (
        "frame",
        64,
        &[
            ("ret", FRAME_RETURN as usize),
            ("r11", FRAME_R11 as usize),
            ("saved", FRAME_SAVED as usize),
            ("at", FRAME_AT as usize),
            ("start", FRAME_START as usize),
            ("child", FRAME_CHILD as usize),
            ("next", FRAME_NEXT as usize),
        ],
    ),
    (
        "header",
        recording::MISSED + 8,
        &[
            ("magic", 0),
            ("version", recording::VERSION),
            ("hook", recording::HOOK),
            ("pid", recording::PROCESS),
            ("start_cycles", recording::START_CYCLES),
            ("start_ns", recording::START_NS),
            ("last_cycles", recording::LAST_CYCLES),
            ("last_ns", recording::LAST_NS),
            ("bias", recording::BIAS),
            ("lost", recording::LOST),
            ("ended", recording::ENDED),
            ("counter", recording::COUNTER),
            ("inside", recording::INSIDE),
            ("event", recording::EVENT),
            ("program", recording::PROGRAM),
            ("missed", recording::MISSED),
        ],
    ),
    (
        "chunk",
        chunk::SIZE,
        &[
            ("kind", chunk::KIND),
            ("thread", chunk::THREAD),
            ("bytes", chunk::BYTES),
            ("used", chunk::USED),
        ],
    ),
    ("block", block::SIZE, &[("object", block::OBJECT), ("bytes", block::BYTES)]),
    (
        "function_record",
        function_record::SIZE,
        &[
            ("start", function_record::START),
            ("size", function_record::BYTES),
            ("object", function_record::OBJECT),
            ("cell", function_record::CELL),
            ("name", function_record::NAME),
            ("name_length", function_record::NAME_LENGTH),
        ],
    ),
    (
        "event",
        event::SIZE,
        &[("time", event::TIME), ("function", event::FUNCTION), ("depth", event::DEPTH)],
    ),
    ("edge", edge::SIZE, &[("from", edge::FROM), ("to", edge::TO), ("count", edge::COUNT)]),
];

/// The name of a macro, and for which hooks it is true.
type OfHooks = (&'static str, fn(Hook) -> bool);

/// What the run time must know of hooks.
const OF_HOOKS: [OfHooks; 3] = [
    ("ADDS_UP_IN_STUBS", |hook| hook.adds_up() == Some(AddsUp::Stub)),
    ("ADDS_UP", |hook| hook.adds_up().is_some()),
    ("HAS_OVERHEAD", |hook| hook.overhead().is_some()),
];

/// The text of `probe/abi.h`.
pub fn header() -> String {
    let mut text = "/* SPDX-License-Identifier: MIT OR Apache-2.0 */\n\
                    /* Written by crates/trimtab-probe/src/abi.rs, which says what these are. Not by hand. */\n\
                    #ifndef TRIMTAB_PROBE_ABI_H\n\
                    #define TRIMTAB_PROBE_ABI_H\n\n"
        .to_owned();
    let numbers = [
        ("PROBE_VERSION", VERSION),
        ("RECORDING_VERSION", RECORDING_VERSION),
        ("OBJECT_RUST", OBJECT_RUST),
        ("FLAG_FRAME", FLAG_FRAME),
        ("FLAG_COPY", FLAG_COPY),
        ("FLAG_RETURN_SHIFT", FLAG_RETURN_SHIFT),
        ("SITE_REGISTER_SHIFT", SITE_REGISTER_SHIFT),
        ("CHUNK_FUNCTIONS", CHUNK_FUNCTIONS),
        ("CHUNK_CELLS", CHUNK_CELLS),
        ("CHUNK_TRACE", CHUNK_TRACE),
        ("CHUNK_EDGES", CHUNK_EDGES),
        ("EVENT_EXIT", EVENT_EXIT as u32),
        ("EVENT_CHAINED", EVENT_CHAINED as u32),
    ];
    for (name, number) in numbers {
        text.push_str(&format!("#define {name} {number}\n"));
    }
    let magic = String::from_utf8_lossy(MAGIC);
    text.push_str(&format!("#define RECORDING_MAGIC \"{magic}\"\n\n"));
    for hook in Hook::ALL {
        let name = hook.name().to_uppercase();
        text.push_str(&format!("#define HOOK_{name} {}\n", hook.number()));
    }
    text.push_str("\n/* What crates/trimtab-probe/src/hook.rs says of hooks. */\n");
    for (name, is) in OF_HOOKS {
        let those = Hook::ALL.into_iter().filter(|hook| is(*hook));
        let those = those.map(|hook| format!("(hook) == HOOK_{}", hook.name().to_uppercase()));
        let those = those.collect::<Vec<_>>().join(" || ");
        text.push_str(&format!("#define {name}(hook) \\\n\t({those})\n"));
    }
    text.push_str("\n/* Where the fields of structures are: internal.h has this behind them. */\n");
    text.push_str("#define ABI_ASSERTIONS");
    for (structure, size, fields) in STRUCTURES {
        let what = format!("struct {structure}");
        text.push_str(&format!(
            " \\\n\t_Static_assert(sizeof({what}) == {size}, \"{structure}\");"
        ));
        for (field, offset) in fields {
            text.push_str(&format!(
                " \\\n\t_Static_assert(offsetof({what}, {field}) == {offset}, \"{structure}.{field}\");"
            ));
        }
    }
    text.push_str("\n\n#endif\n");
    text
}

/// The number that a C header gives a name.
pub fn number_in(header: &str, name: &str) -> Option<u64> {
    let line = header.lines().find_map(|line| line.strip_prefix("#define ")?.strip_prefix(name))?;
    let number = line.strip_prefix(' ')?.split_whitespace().next()?;
    let number = number.trim_end_matches(['u', 'l']);
    match number.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    }
}

/// `UPDATE_GOLDEN=1` in the environment writes the header anew, as elsewhere.
#[test]
fn the_header_of_the_run_time_has_these_numbers() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../probe/abi.h");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(path, header()).unwrap();
    }
    let found = fs::read_to_string(path).unwrap();
    assert!(
        found == header(),
        "probe/abi.h is not what abi.rs says; where that is meant, run the test with \
         UPDATE_GOLDEN=1"
    );
    for hook in Hook::ALL {
        let name = format!("HOOK_{}", hook.name().to_uppercase());
        assert_eq!(number_in(&found, &name), Some(hook.number().into()));
    }
}
