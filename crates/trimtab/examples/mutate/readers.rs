//! The readers, by name.

use std::path::Path;

use crate::seeds::{Seeds, of_folder};
use crate::verbs::Verb;

/// What reads an input.
#[derive(Debug, Clone, Copy)]
pub enum Way {
    /// A function of a crate, which the fuzzer calls, too: whether it could read it. Panics where it
    /// contradicts itself or the file.
    Check(fn(&[u8]) -> bool),
    /// A verb, with the input in the place of one of its files.
    Verb(&'static Verb),
}

/// A reader.
#[derive(Debug)]
pub struct Reader {
    /// Its name.
    pub name: &'static str,
    /// What reads.
    pub way: Way,
    /// One of so many inputs is read: 1, or more for what takes long.
    pub one_of: u64,
    /// What inputs are made from.
    pub seeds: fn() -> anyhow::Result<Seeds>,
}

macro_rules! check {
    ($name:ident, $($folder:literal),+) => {
        Reader {
            name: stringify!($name),
            way: Way::Check(crate::$name::check),
            one_of: 1,
            seeds: || {
                let mut all = Vec::new();
                $(all.extend(of_folder(Path::new($folder))?);)+
                Ok(Seeds { inputs: vec![all] })
            },
        }
    };
}

macro_rules! verb {
    ($name:literal, $verb:ident) => {
        verb!($name, $verb, 1)
    };
    ($name:literal, $verb:ident, $one_of:literal) => {
        Reader {
            name: $name,
            way: Way::Verb(&crate::verbs::$verb),
            one_of: $one_of,
            seeds: || crate::seeds::of_verb(&crate::verbs::$verb),
        }
    };
}

/// A reader that goes wrong in each way, which shows that each is noticed.
pub const PLANTED: Reader = Reader {
    name: "planted",
    way: Way::Check(|data| match data.iter().map(|byte| u32::from(*byte)).sum::<u32>() % 31 {
        1 => panic!("as planted"),
        2 => vec![0_u8; 1 << 34].contains(&1),
        3 => std::iter::repeat_with(|| std::hint::black_box(1)).any(|number| number == 0),
        4 => vec![1_u8; 300 << 20].contains(&0),
        _ => true,
    }),
    one_of: 1,
    seeds: || Ok(Seeds { inputs: vec![vec![b"a b c".to_vec()]] }),
};

/// All of them.
pub const ALL: &[Reader] = &[
    check!(program, "fuzz/seeds/program", "testdata/programs"),
    check!(blocks, "fuzz/seeds/blocks"),
    check!(decode, "fuzz/seeds/decode", "fuzz/seeds/jar"),
    check!(link_map, "fuzz/seeds/link_map", "testdata/programs"),
    check!(trace, "fuzz/seeds/trace", "testdata/traces", "testdata/perf", "testdata/uftrace"),
    check!(events, "fuzz/seeds/events"),
    check!(page_cache, "fuzz/seeds/page_cache"),
    check!(stream, "fuzz/seeds/stream"),
    check!(order, "fuzz/seeds/order"),
    check!(object, "fuzz/seeds/object"),
    check!(recording, "fuzz/seeds/recording"),
    check!(jar, "fuzz/seeds/jar", "testdata/programs"),
    check!(header, "fuzz/seeds/header"),
    check!(source, "fuzz/seeds/source"),
    verb!("pages", PAGES),
    verb!("order-verb", ORDER),
    verb!("check", CHECK),
    verb!("compare", COMPARE, 50),
    verb!("swap-plan", SWAP_PLAN),
    verb!("swap-check", SWAP_CHECK),
    verb!("probe-report", PROBE_REPORT),
    verb!("smp-predict", SMP_PREDICT),
    verb!("rent-plan", RENT_PLAN),
];
