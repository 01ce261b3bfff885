//! Reads ELF files made to measure: every way in which a file can be odd or broken.
#![allow(clippy::unwrap_used)]

use object::elf;
use proptest::prelude::*;
use trimtab_fixture::Elf;
use trimtab_program::{Isa, Kind, Program, Range, ReadError};

const BASE: u64 = 0x40_1000;

fn small() -> Elf {
    Elf::new()
        .entry(BASE)
        .build_id(&[0xab; 20])
        .segment(BASE, 0x1000, 0x200)
        .text(".text", BASE, 0x100)
        .function("first", BASE, 0x20)
        .local("second", BASE + 0x20, 0x10)
        .label("__text_end", BASE + 0x100)
        .data(".data", 0x50_0000, 0x20)
        .symbol("variable", 0x50_0000, 8, elf::STT_OBJECT, elf::STB_GLOBAL)
}

fn expect(elf: &Elf, expected: &[(&str, u64, u64)]) {
    let bytes = elf.build();
    let program = Program::parse(&bytes).unwrap();
    let place = |range: Range| (range.start - BASE, range.end - BASE);
    let found: Vec<_> = program
        .functions()
        .iter()
        .map(|function| (function.name, place(function.range).0, place(function.range).1))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn pages_of_made_files_are_as_long_as_those_that_are_counted() {
    assert_eq!(trimtab_fixture::PAGE_SIZE, trimtab_program::PAGE_SIZE);
}

#[test]
fn facts_of_the_file_are_read() {
    let bytes = small().build();
    let program = Program::parse(&bytes).unwrap();
    assert_eq!(program.isa(), Isa::X86_64);
    assert_eq!(program.kind(), Kind::Executable);
    assert_eq!(program.entry(), BASE);
    assert_eq!(program.build_id(), Some(&[0xab; 20][..]));
    assert_eq!(program.sections().len(), 1);
    assert_eq!(program.segments()[0].range, Range { start: BASE, end: BASE + 0x200 });
    assert_eq!(program.segments()[0].physical, 0x1000);
    assert_eq!(program.address_of("variable"), Some(0x50_0000));
    assert_eq!(program.address_of("__text_end"), Some(BASE + 0x100));
    assert_eq!(program.address_of("second"), Some(BASE + 0x20));
    assert_eq!(program.address_of("none"), None);
    assert!(program.lookup("variable").is_empty());
    let arm = small().machine(elf::EM_AARCH64).kind(elf::ET_DYN).build();
    let program = Program::parse(&arm).unwrap();
    assert_eq!((program.isa(), program.kind()), (Isa::Aarch64, Kind::Shared));
}

#[test]
fn every_truncation_is_one_clear_error() {
    let bytes = small().build();
    for length in 0..bytes.len() {
        let error = Program::parse(&bytes[..length]).unwrap_err();
        let expected = if length < 4 {
            matches!(error, ReadError::NotElf { .. })
        } else {
            matches!(error, ReadError::Damaged { .. })
        };
        assert!(expected, "{length}: {error}");
    }
    assert!(Program::parse(&bytes).is_ok());
}

#[test]
fn other_files_are_refused_with_what_was_found() {
    let message = |bytes: &[u8]| Program::parse(bytes).unwrap_err().to_string();
    assert_eq!(
        message(b""),
        "not an ELF file: it starts with nothing at all, expected 7f 45 4c 46; \
         give the linked file with its symbols (for a kernel: vmlinux, not bzImage)"
    );
    assert!(message(b"MZ\xea\x07").starts_with("not an ELF file: it starts with 4d 5a ea 07,"));
    let refused = |elf: Elf| message(&elf.build());
    assert!(refused(small().class_32()).contains("a 32-bit ELF file"));
    assert!(refused(small().big_endian()).contains("a big-endian ELF file"));
    assert!(refused(small().class_32().big_endian()).contains("a big-endian 32-bit ELF file"));
    assert!(refused(small().machine(elf::EM_RISCV)).contains("e_machine is 243"));
    assert!(refused(small().machine(elf::EM_MIPS)).contains("a 64-bit ELF file for MIPS"));
    assert!(refused(small().kind(elf::ET_REL)).contains("e_type is 1,"));
    assert!(refused(small().kind(elf::ET_CORE)).contains("e_type is 4,"));
    let stripped = small().stripped().build();
    assert!(matches!(Program::parse(&stripped).unwrap_err(), ReadError::Stripped));
    // Symbols, but none of code.
    let data = Elf::new().text(".text", BASE, 0x10).label("start", BASE).build();
    assert!(matches!(Program::parse(&data).unwrap_err(), ReadError::Stripped));
}

#[test]
fn mapping_symbols_of_arm_name_nothing() {
    // Some assemblers give them sizes, and labels of the same form are names elsewhere.
    let elf = Elf::new()
        .text(".text", BASE, 0x100)
        .symbol("$x", BASE, 0x10, elf::STT_NOTYPE, elf::STB_LOCAL)
        .function("first", BASE, 0x20)
        .symbol("$d.7", BASE + 0x40, 0x10, elf::STT_NOTYPE, elf::STB_LOCAL)
        .symbol("$xyz", BASE + 0x60, 0x10, elf::STT_NOTYPE, elf::STB_LOCAL);
    let arm = elf.clone().machine(elf::EM_AARCH64);
    expect(&arm, &[("first", 0, 0x20), ("$xyz", 0x60, 0x70)]);
    let bytes = arm.build();
    let program = Program::parse(&bytes).unwrap();
    assert_eq!((program.address_of("$x"), program.address_of("$d.7")), (None, None));
    expect(&elf, &[("first", 0, 0x20), ("$d.7", 0x40, 0x50), ("$xyz", 0x60, 0x70)]);
}

#[test]
fn an_alias_is_a_further_name() {
    let elf = Elf::new()
        .text(".text", BASE, 0x100)
        .local("a_local", BASE, 0x20)
        .symbol("b_weak", BASE, 0x20, elf::STT_FUNC, elf::STB_WEAK)
        .function("d_global", BASE, 0x20)
        .function("c_global", BASE, 0x20);
    expect(&elf, &[("c_global", 0, 0x20)]);
    let bytes = elf.build();
    let program = Program::parse(&bytes).unwrap();
    for name in ["a_local", "b_weak", "c_global", "d_global"] {
        assert_eq!(program.lookup(name).len(), 1, "{name}");
        assert_eq!(program.address_of(name), Some(BASE), "{name}");
    }
    assert!(program.functions_named("a_local").is_empty());
}

#[test]
fn a_function_without_size_reaches_to_the_next() {
    let elf = Elf::new()
        .text(".text", BASE, 0x100)
        .function("first", BASE, 0)
        .function("second", BASE + 0x30, 0x10)
        .function("last", BASE + 0x80, 0);
    expect(&elf, &[("first", 0, 0x30), ("second", 0x30, 0x40), ("last", 0x80, 0x100)]);
    // A size is believed before none is.
    let elf = Elf::new()
        .text(".text", BASE, 0x100)
        .function("a_unknown", BASE, 0)
        .local("b_known", BASE, 0x10);
    expect(&elf, &[("b_known", 0, 0x10)]);
}

#[test]
fn functions_that_overlap_are_cut() {
    // Within: a further name, as are labels of assembly.
    let elf = Elf::new()
        .text(".text", BASE, 0x100)
        .function("outer", BASE, 0x40)
        .function("inner", BASE + 0x10, 0x10)
        .function("unsized", BASE + 0x18, 0)
        .function("end", BASE + 0x20, 0x20);
    expect(&elf, &[("outer", 0, 0x40)]);
    let bytes = elf.build();
    assert_eq!(Program::parse(&bytes).unwrap().lookup("inner").len(), 1);
    // Further than the one before.
    let elf = Elf::new().text(".text", BASE, 0x100).function("first", BASE, 0x40).function(
        "second",
        BASE + 0x20,
        0x40,
    );
    expect(&elf, &[("first", 0, 0x20), ("second", 0x20, 0x60)]);
    // Further than the section.
    let elf = Elf::new()
        .text(".text", BASE, 0x100)
        .function("large", BASE + 0x80, u64::MAX)
        .function("outside", BASE + 0x100, 0x10);
    expect(&elf, &[("large", 0x80, 0x100)]);
}

#[test]
fn assembly_without_type_is_a_function_where_it_has_a_size() {
    let elf = Elf::new()
        .text(".text", BASE, 0x100)
        .symbol("entry_code", BASE, 0x20, elf::STT_NOTYPE, elf::STB_GLOBAL)
        .symbol("resolver", BASE + 0x20, 0x10, elf::STT_GNU_IFUNC, elf::STB_GLOBAL)
        .label("label", BASE + 0x80)
        .symbol("section", BASE + 0x90, 8, elf::STT_SECTION, elf::STB_LOCAL)
        .symbol("file.c", BASE + 0x98, 8, elf::STT_FILE, elf::STB_LOCAL);
    expect(&elf, &[("entry_code", 0, 0x20), ("resolver", 0x20, 0x30)]);
}

#[test]
fn static_functions_can_share_a_name() {
    let bytes = Elf::new()
        .text(".text", BASE, 0x100)
        .local("init", BASE + 0x40, 0x10)
        .local("init", BASE, 0x10)
        .local("init_more", BASE + 0x20, 0x10)
        .text(".init.text", BASE + 0x1000, 0x100)
        .local("init", BASE + 0x1000, 0x10)
        .build();
    let program = Program::parse(&bytes).unwrap();
    let starts: Vec<u64> = program
        .functions_named("init")
        .iter()
        .map(|id| program.function(*id).range.start - BASE)
        .collect();
    assert_eq!(starts, [0, 0x40, 0x1000]);
    assert_eq!(program.lookup("init").len(), 3);
}

#[test]
fn absolute_symbols_are_no_code() {
    // Before any section, so that the symbol is absolute.
    let bytes = Elf::new()
        .symbol("absolute", BASE, 0x10, elf::STT_FUNC, elf::STB_GLOBAL)
        .text(".text", BASE, 0x100)
        .function("real", BASE, 0x10)
        .build();
    let program = Program::parse(&bytes).unwrap();
    assert_eq!(program.functions().len(), 1);
    assert_eq!(program.address_of("absolute"), Some(BASE));
}

#[test]
fn addresses_find_their_functions() {
    let bytes = small().build();
    let program = Program::parse(&bytes).unwrap();
    let at = |address| program.function_at(address).map(|id| program.function(id).name);
    assert_eq!(at(BASE - 1), None);
    assert_eq!(at(BASE), Some("first"));
    assert_eq!(at(BASE + 0x1f), Some("first"));
    assert_eq!(at(BASE + 0x20), Some("second"));
    assert_eq!(at(BASE + 0x30), None);
    assert_eq!(at(u64::MAX), None);
    let within = |start, end| {
        let range = Range { start: BASE + start, end: BASE + end };
        program.functions_in(range).map(|id| program.function(id).name).collect::<Vec<_>>()
    };
    assert_eq!(within(0x1f, 0x21), ["first", "second"]);
    assert_eq!(within(0x20, 0x21), ["second"]);
    assert!(within(0x30, 0x100).is_empty());
    assert!(within(0x10, 0x10).is_empty());
}

/// What holds for every program that can be read.
fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let Ok(program) = Program::parse(bytes) else { return Ok(()) };
    prop_assert!(!program.functions().is_empty());
    for pair in program.functions().windows(2) {
        prop_assert!(pair[0].range.end <= pair[1].range.start);
    }
    for id in program.function_ids() {
        let function = program.function(id);
        prop_assert!(!function.range.is_empty());
        let section = program.section(function.section).range;
        prop_assert_eq!(section.intersection(function.range), function.range);
        prop_assert_eq!(program.function_at(function.range.start), Some(id));
        prop_assert!(program.functions_named(function.name).contains(&id));
        prop_assert!(program.lookup(function.name).contains(&id));
    }
    for marker in program.markers() {
        let _ = program.lookup(marker.name);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = small().build();
        for (index, value) in changes {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        check(&bytes)?;
    }

    /// Addresses, sizes and offsets are words.
    #[test]
    fn changed_words_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>(), 0u32..64), 1..6),
    ) {
        let mut bytes = small().build();
        for (index, value, shift) in changes {
            let at = index.index(bytes.len() / 8 - 1) * 8;
            bytes[at..at + 8].copy_from_slice(&(value >> shift).to_le_bytes());
        }
        check(&bytes)?;
    }

    #[test]
    fn any_symbols_give_disjoint_sorted_functions(
        symbols in prop::collection::vec((0u64..0x140, 0u64..0x60, 0u8..4, 0u8..3), 0..40),
    ) {
        const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
        let mut elf = Elf::new().text(".text", BASE, 0x80).function("start", BASE, 4);
        elf = elf.text(".init.text", BASE + 0x80, 0x80);
        for (index, (offset, size, kind, binding)) in symbols.into_iter().enumerate() {
            elf = elf.symbol(NAMES[index % NAMES.len()], BASE + offset, size, kind, binding);
        }
        check(&elf.build())?;
    }
}

/// The offset of the header of the section that holds code.
fn header_of_text(bytes: &[u8]) -> usize {
    let number = |at: usize, length: usize| {
        bytes[at..at + length].iter().rev().fold(0usize, |all, byte| all << 8 | usize::from(*byte))
    };
    let (table, count) = (number(0x28, 8), number(0x3c, 2));
    let code = |header: &usize| number(header + 8, 8) & 4 != 0 && number(header + 4, 4) == 1;
    (0..count).map(|index| table + index * 64).find(code).unwrap()
}

#[test]
fn a_section_that_lies_of_its_size_is_refused_before_anything_is_counted() {
    let whole = Elf::new().text(".text", 0x1000, 0x100).function("f", 0x1000, 16).build();
    assert!(Program::parse(&whole).is_ok());
    let header = header_of_text(&whole);
    for size in [whole.len() as u64 + 1, 1 << 34, 1 << 56, u64::MAX] {
        let mut bytes = whole.clone();
        bytes[header + 32..header + 40].copy_from_slice(&size.to_le_bytes());
        let error = Program::parse(&bytes).unwrap_err().to_string();
        assert!(error.contains(&format!("section .text of {size} bytes does not fit")), "{error}");
    }
    let mut offset = whole.clone();
    offset[header + 24..header + 32].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(Program::parse(&offset).is_err());
    // Only debug information.
    let mut empty = whole;
    empty[header + 4..header + 8].copy_from_slice(&8u32.to_le_bytes());
    let error = Program::parse(&empty).unwrap_err().to_string();
    assert!(error.starts_with("the code of the ELF file is not in it: section .text"), "{error}");
}
