//! Files that are refused, and that no input makes the translator panic.
#![allow(clippy::unwrap_used)]

use object::elf;
use proptest::prelude::*;
use trimtab_fixture::Elf;
use trimtab_jar::{Options, read_header, translate, translate_with};

/// A small program: a jump table of nothing, a loop, a call, a return.
fn program() -> Elf {
    let words: [u32; 12] = [
        0x3c1c_000a, // lui gp, 10
        0x27bd_ffe0, // addiu sp, sp, -32
        0x0c10_0408, // jal 0x401020
        0xafbf_001c, // sw ra, 28(sp)
        0x1440_fffd, // bnez v0, -3
        0x8fbf_001c, // lw ra, 28(sp)
        0x03e0_0008, // jr ra
        0x27bd_0020, // addiu sp, sp, 32
        0x2482_ffff, // addiu v0, a0, -1
        0x4600_0001, // sub.s f0, f0, f0
        0x03e0_0008, // jr ra
        0x0000_0000, // nop
    ];
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Elf::new()
        .class_32()
        .machine(elf::EM_MIPS)
        .kind(elf::ET_EXEC)
        .entry(0x40_1000)
        .text(".text", 0x40_1000, 48)
        .function("start", 0x40_1000, 32)
        .function("less", 0x40_1020, 16)
        .contents(0x40_1000, &code)
        .loaded()
}

fn message(bytes: &[u8]) -> String {
    translate(bytes).unwrap_err().to_string()
}

#[test]
fn a_small_program_is_translated() {
    let translation = translate(&program().build()).unwrap();
    assert_eq!(translation.report.functions, 2);
    let paths: Vec<&str> = translation.entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["program.image", "program/Code0.class"]);
}

#[test]
fn other_files_are_refused_with_what_was_found() {
    let found = message(&Elf::new().build());
    assert!(found.starts_with("not supported: this is a program for x86-64; expected"), "{found}");
    let found = message(&program().kind(elf::ET_DYN).build());
    assert!(found.starts_with("not supported: this program is position-independent;"), "{found}");
    assert!(message(&program().big_endian().build()).contains("a big-endian 32-bit ELF file"));
    assert!(message(b"#!/bin/sh").starts_with("not an ELF file"));
    let found = message(&program().text(".more", 0x40_1010, 16).build());
    assert!(found.contains("two sections of code overlap"), "{found}");
    let found = message(&program().entry(0x50_0000).build());
    assert!(found.contains("it has no code where it begins"), "{found}");
}

#[test]
fn no_cut_of_a_file_is_more_than_an_error() {
    let whole = program().build();
    for length in 0..whole.len() {
        let _ = translate(&whole[..length]);
    }
}

proptest! {
    #[test]
    fn no_header_makes_its_reader_panic(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "int", "long", "const", "char", "*", "(", ")", ",", ";", "{", "}", "[", "]", "struct", "typedef", "x",
                "__attribute__", "...", "\n", "# 1 \"a.h\"\n", "\"", "extern", "=", "é", "void", "enum",
            ]),
            0..40,
        )
    ) {
        let _ = read_header(&parts.join(" "), "a.h");
    }

    #[test]
    fn no_instructions_make_the_translator_panic(words in prop::collection::vec(any::<u32>(), 1..200)) {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let file = Elf::new()
            .class_32()
            .machine(elf::EM_MIPS)
            .kind(elf::ET_EXEC)
            .entry(0x40_1000)
            .text(".text", 0x40_1000, code.len() as u64)
            .function("start", 0x40_1000, code.len() as u64)
            .contents(0x40_1000, &code)
            .loaded()
            .build();
        translate(&file).unwrap();
    }

    #[test]
    fn no_damage_makes_the_translator_panic(at in 0usize..2000, value in any::<u8>()) {
        let mut file = program().build();
        let at = at % file.len();
        file[at] = value;
        let _ = translate(&file);
        let together = vec![vec!["start".to_owned(), "less".to_owned()]];
        let _ = translate_with(&file, &Options { co_located: together, ..Options::default() });
    }
}
