//! Stubs save what callers may count on, and nothing else.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::HashMap;
use std::fs;
use std::process::Command;

use common::{Bench, GCC, succeeds};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol};
use trimtab_probe::{Hook, Selection};

const PUSH_R11: [u8; 2] = [0x41, 0x53];
const PUSH_RAX: u8 = 0x50;
/// The hook's own: reading the counter.
const RDTSC: [u8; 2] = [0x0f, 0x31];

/// The code of each stub, up to where the counter is read for the first time.
fn beginnings(bench: &Bench, object: &str) -> HashMap<String, Vec<u8>> {
    let (probed, _) = bench.instrument(object, Hook::Cycles, Selection::default());
    let data = fs::read(bench.file(&probed)).unwrap();
    let file = ElfFile64::<object::LittleEndian>::parse(&*data).unwrap();
    let stub = |symbol: object::read::elf::ElfSymbol64<'_, '_, object::LittleEndian>| {
        let name = symbol.name().unwrap().strip_suffix(".probe")?.to_owned();
        let section = file.section_by_index(symbol.section_index()?).unwrap();
        let code = &section.data().unwrap()[symbol.address() as usize..][..symbol.size() as usize];
        let end = code.windows(2).position(|pair| pair == RDTSC).unwrap();
        Some((name, code[..end].to_vec()))
    };
    file.symbols().filter_map(stub).collect()
}

fn saves_r11(code: &[u8]) -> bool {
    code.windows(2).any(|pair| pair == PUSH_R11)
}

#[test]
fn what_nobody_misses_is_not_saved() {
    let bench = Bench::new(GCC, &["-O2"]);
    let object = bench.compile("registers.c", &[]);
    let stubs = beginnings(&bench, &object);
    assert_eq!(stubs.len(), 5, "{:?}", stubs.keys());
    // Their callers expect nothing in r11 after a call that leads out of the file.
    assert!(!saves_r11(&stubs["calls_out"]) && !saves_r11(&stubs["third"]));
    // The caller of these knows what they change.
    assert!(saves_r11(&stubs["leaf"]) && saves_r11(&stubs["near"]));
    assert!(saves_r11(&stubs["both"]), "what it calls is known here as well");
}

#[test]
fn assembly_by_hand_finds_every_register_as_it_was() {
    let bench = Bench::new(GCC, &["-O2"]);
    let object = bench.compile("registers.c", &[]);
    // What assemblers write has no name of a compiler in it.
    let mut strip = Command::new("objcopy");
    strip.args(["--remove-section", ".comment"]).arg(bench.file(&object));
    succeeds(&mut strip);
    for (name, code) in beginnings(&bench, &object) {
        assert!(saves_r11(&code), "{name}");
        assert!(code.contains(&PUSH_RAX), "{name}");
    }
}
