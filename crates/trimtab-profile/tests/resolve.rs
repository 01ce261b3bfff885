//! Finds traces in programs made to measure.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use trimtab_fixture::Elf;
use trimtab_profile::{Place, Precision, Profile, Source, StaleProfile, Trace, read};
use trimtab_program::{Program, Range};

const BASE: u64 = 0xffff_ffff_8100_0000;
const LOADED: u64 = 0x100_0000;

/// `start` 0x20, `helper` 0x20 (static, twice), `last` 0x30 with padding behind each, as a kernel
/// is linked and loaded.
fn kernel() -> Vec<u8> {
    Elf::new()
        .entry(LOADED)
        .segment(BASE, LOADED, 0x1000)
        .text(".text", BASE, 0x1000)
        .function("start", BASE, 0x20)
        .local("helper", BASE + 0x40, 0x20)
        .function("middle", BASE + 0x80, 0x20)
        .local("helper", BASE + 0xc0, 0x20)
        .function("last", BASE + 0x100, 0x30)
        .function("last_alias", BASE + 0x100, 0x30)
        .build()
}

/// The same functions in another order.
fn relinked() -> Vec<u8> {
    Elf::new()
        .entry(LOADED)
        .segment(BASE, LOADED, 0x1000)
        .text(".text", BASE, 0x1000)
        .function("last", BASE, 0x30)
        .function("middle", BASE + 0x40, 0x20)
        .function("start", BASE + 0x80, 0x20)
        .build()
}

fn names<'a>(profile: &Profile, program: &Program<'a>) -> Vec<(&'a str, u64)> {
    let name = |id| program.function(id).name;
    profile.functions().iter().map(|e| (name(e.function), e.count)).collect()
}

fn native(events: &str) -> Trace {
    read::read(&format!("trimtab-trace 1\nsource qemu-plugin\nevents\n{events}")).unwrap()
}

fn block(start: u64, length: u32) -> Place {
    Place::Block { start, length }
}

fn blocks(places: &[(u64, u32)]) -> Trace {
    let mut trace = Trace::new(Source::QemuPlugin);
    for &(start, length) in places {
        trace.record(block(start, length), None, 1);
    }
    trace
}

#[test]
fn blocks_give_order_counts_and_bytes() {
    let bytes = kernel();
    let program = Program::parse(&bytes).unwrap();
    let trace = native(
        "ffffffff81000100 8 1\nffffffff81000000 16 2\nffffffff81000110 4 7\nffffffff81000100 4 3\n",
    );
    let profile = Profile::resolve(&trace, &program);
    assert_eq!(profile.precision(), Precision::Blocks);
    assert_eq!(names(&profile, &program), [("last", 4), ("start", 2)]);
    assert_eq!(
        profile.executed().as_slice(),
        [(0, 0x10), (0x100, 0x108), (0x110, 0x114)]
            .map(|(start, end)| Range { start: BASE + start, end: BASE + end })
    );
    let coverage = profile.coverage();
    assert_eq!((coverage.names_found, coverage.names_total), (2, 2));
    assert_eq!((coverage.bytes_found, coverage.bytes_total), (28, 28));
    assert_eq!(coverage.check(1.0), Ok(()));
}

#[test]
fn entry_is_counted_where_the_middle_was_seen_first() {
    let bytes = kernel();
    let program = Program::parse(&bytes).unwrap();
    let trace = native("ffffffff81000110 4 9\nffffffff81000100 4 3\n");
    let profile = Profile::resolve(&trace, &program);
    assert_eq!(names(&profile, &program), [("last", 3)]);
    // Never entered, as far as one can see: it ran all the same.
    let profile = Profile::resolve(&native("ffffffff81000110 4 9\n"), &program);
    assert_eq!(names(&profile, &program), [("last", 1)]);
}

#[test]
fn names_stand_for_all_functions_that_have_them() {
    let bytes = kernel();
    let program = Program::parse(&bytes).unwrap();
    let trace = read::read("last_alias\nhelper\nhelper\ngone\nstart\n").unwrap();
    let profile = Profile::resolve(&trace, &program);
    assert_eq!(profile.precision(), Precision::Functions);
    assert_eq!(
        names(&profile, &program),
        [("last", 1), ("helper", 2), ("helper", 2), ("start", 1)]
    );
    let coverage = profile.coverage();
    assert_eq!(coverage.ambiguous, 1);
    assert_eq!(coverage.missing, ["gone"]);
    assert_eq!((coverage.names_found, coverage.names_total), (4, 5));
}

#[test]
fn an_address_tells_functions_of_the_same_name_apart() {
    let bytes = kernel();
    let program = Program::parse(&bytes).unwrap();
    // The tracer's call stands four bytes into the function; without `sym-offset` it does not say.
    let text = "# tracer: function
  init-1 [000] ..... 1.0: helper <ffffffff810000c4> <-start <ffffffff81000010>
  init-1 [000] ..... 1.1: helper+0x4/0x20 <ffffffff810000c4> <-start+0x1/0x20 <ffffffff81000010>
";
    let profile = Profile::resolve(&read::read(text).unwrap(), &program);
    let [only] = profile.functions() else { panic!("{:?}", profile.functions()) };
    assert_eq!(program.function(only.function).range.start, BASE + 0xc0);
    assert_eq!(only.count, 2);
    assert_eq!(profile.coverage().ambiguous, 0);
    assert_eq!(profile.coverage().check(1.0), Ok(()));
}

#[test]
fn symbols_find_code_that_was_moved() {
    let (before, after) = (kernel(), relinked());
    let (before, after) = (Program::parse(&before).unwrap(), Program::parse(&after).unwrap());
    let trace = blocks(&[(BASE, 8), (BASE + 0x80, 16), (BASE + 0x110, 4), (BASE + 0x100, 4)]);
    let written = read::write_native(&trace, &before);
    let profile = Profile::resolve(&read::read(&written).unwrap(), &after);
    assert_eq!(names(&profile, &after), [("start", 1), ("middle", 1), ("last", 1)]);
    assert_eq!(
        profile.blocks(),
        [(0x80, 8), (0x40, 16), (0x10, 4), (0, 4)]
            .map(|(start, length)| Range::with_length(BASE + start, length))
    );
    assert_eq!(profile.coverage().check(1.0), Ok(()));
    // It is the same in the program that was traced.
    let profile = Profile::resolve(&read::read(&written).unwrap(), &before);
    assert_eq!(names(&profile, &before), [("start", 1), ("middle", 1), ("last", 1)]);
}

#[test]
fn moved_blocks_stay_in_their_function() {
    let (before, after) = (kernel(), relinked());
    let (before, after) = (Program::parse(&before).unwrap(), Program::parse(&after).unwrap());
    // Runs on over the end of `start` in the traced program: padding there, `last` is not next.
    let trace = blocks(&[(BASE + 0x10, 0x60)]);
    let text = read::write_native(&trace, &before);
    let profile = Profile::resolve(&read::read(&text).unwrap(), &after);
    assert_eq!(names(&profile, &after), [("start", 1)]);
    assert_eq!(profile.executed().bytes(), 0x10);
}

#[test]
fn blocks_run_on_into_the_next_function() {
    let bytes = Elf::new()
        .text(".text", BASE, 0x100)
        .function("first", BASE, 0x10)
        .function("falls", BASE + 0x10, 0x10)
        .function("other", BASE + 0x20, 0x10)
        .build();
    let program = Program::parse(&bytes).unwrap();
    for text in ["ffffffff81000008 20 3\n", "ffffffff81000008 20 3 first+0x8\n"] {
        let profile = Profile::resolve(&native(text), &program);
        assert_eq!(names(&profile, &program), [("first", 1), ("falls", 3)], "{text}");
        assert_eq!(profile.executed().bytes(), 20);
    }
}

#[test]
fn blocks_end_with_their_section() {
    let bytes = Elf::new()
        .text(".text", BASE, 0x40)
        .function("first", BASE, 0x40)
        .text(".init.text", BASE + 0x1000, 0x40)
        .function("second", BASE + 0x1000, 0x40)
        .build();
    let program = Program::parse(&bytes).unwrap();
    let profile = Profile::resolve(&native("ffffffff81000000 4294967295 1\n"), &program);
    assert_eq!(names(&profile, &program), [("first", 1)]);
    assert_eq!(profile.executed().bytes(), 0x40);
}

#[test]
fn early_boot_code_is_found_where_it_is_linked() {
    let bytes = kernel();
    let program = Program::parse(&bytes).unwrap();
    let trace = blocks(&[
        // Firmware and boot loader, one of them where the kernel will lie.
        (0xffff_fff0, 16),
        (LOADED + 0x100, 4),
        // Entered at its physical address, then on at its own.
        (LOADED, 16),
        (LOADED + 0x80, 4),
        (BASE + 0x40, 4),
        // User space, when paging is on.
        (LOADED + 0xc0, 4),
    ]);
    let profile = Profile::resolve(&trace, &program);
    assert_eq!(names(&profile, &program), [("start", 1), ("middle", 1), ("helper", 1)]);
    assert_eq!(profile.coverage().outside, 3);
    assert_eq!(profile.coverage().check(1.0), Ok(()));
}

#[test]
fn early_boot_code_of_an_arm_kernel_is_found_wherever_it_was_loaded() {
    // Its file does not say where: physical and linked addresses are the same there.
    let bytes = Elf::new()
        .machine(object::elf::EM_AARCH64)
        .entry(BASE)
        .segment(BASE, BASE, 0x1000)
        .text(".text", BASE, 0x1000)
        .function("_head", BASE, 0x40)
        .function("primary_entry", BASE + 0x200, 0x40)
        .function("start_kernel", BASE + 0x300, 0x40)
        .build();
    let program = Program::parse(&bytes).unwrap();
    for loaded in [0x4020_0000, 0x8_8000_0000] {
        let trace = blocks(&[
            // QEMU's own first steps, and a jump that is not the kernel's.
            (0x4000_0000, 40),
            (loaded - 0x20_0000, 4),
            (loaded, 8),
            (loaded + 0x200, 4),
            // Another processor's firmware or data are no code of it.
            (loaded + 0x2000, 4),
            (BASE + 0x300, 4),
            // A user program, when paging is on.
            (loaded + 0x300, 4),
        ]);
        let profile = Profile::resolve(&trace, &program);
        let expected = [("_head", 1), ("primary_entry", 1), ("start_kernel", 1)];
        assert_eq!(names(&profile, &program), expected, "{loaded:#x}");
        assert_eq!(profile.coverage().outside, 4);
    }
    // Not loaded as the protocol says: then nothing is known of it.
    let odd = 0x4020_1000;
    let trace = blocks(&[(odd, 8), (odd + 0x200, 4), (BASE + 0x300, 4)]);
    let profile = Profile::resolve(&trace, &program);
    assert_eq!(names(&profile, &program), [("start_kernel", 1)]);
}

#[test]
fn padding_and_unknown_code_is_lost() {
    let bytes = kernel();
    let program = Program::parse(&bytes).unwrap();
    let profile = Profile::resolve(&blocks(&[(BASE, 8), (BASE + 0x30, 8)]), &program);
    let coverage = profile.coverage();
    assert_eq!((coverage.names_found, coverage.names_total), (1, 2));
    assert_eq!((coverage.bytes_found, coverage.bytes_total), (8, 16));
    assert_eq!(coverage.missing, ["0xffffffff81000030"]);
}

#[test]
fn a_stale_trace_names_the_first_ten_missing() {
    let bytes = kernel();
    let program = Program::parse(&bytes).unwrap();
    let mut text: String = (0..12).map(|index| format!("gone_{index}\n")).collect();
    text.insert_str(0, "start\n");
    let profile = Profile::resolve(&read::read(&text).unwrap(), &program);
    let error = profile.coverage().check(0.9).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the trace is of another build: 7.7 % of its functions and 100.0 % of its bytes are in \
         this program, expected at least 90 %; first missing: gone_0, gone_1, gone_2, gone_3, \
         gone_4, gone_5, gone_6, gone_7, gone_8, gone_9; trace this build again, or accept the \
         loss with --min-coverage"
    );
    assert_eq!(profile.coverage().check(0.05), Ok(()));
}

#[test]
fn samples_without_their_files_say_how_to_print_them() {
    let bytes = kernel();
    let program = Program::parse(&bytes).unwrap();
    let text = |file: &str| {
        let line = |address: u64, name: &str| format!("{address:16x} {name}+0x0{file}\n");
        let mut text = line(BASE, "start");
        for index in 0..9 {
            text.push_str(&line(0x7f00_0000_4000 + index * 16, &format!("of_libc_{index}")));
        }
        text
    };
    let error = |file| {
        let trace = read::read(&text(file)).unwrap();
        Profile::resolve(&trace, &program).coverage().check(0.9).unwrap_err().to_string()
    };
    assert!(error("").contains("perf script -F ip,sym,symoff,dso"), "{}", error(""));
    // All of them in this one.
    assert!(error(" (/usr/bin/app)").contains("trace this build again, or accept"));
}

#[test]
fn addresses_of_another_build_are_noticed() {
    let bytes = trimtab_fixture::many_functions(2000, BASE);
    let program = Program::parse(&bytes).unwrap();
    // Entries of a build whose functions are 20 bytes larger, each.
    let places: Vec<(u64, u32)> = program
        .functions()
        .iter()
        .zip((0..).step_by(20))
        .skip(1)
        .map(|(function, shift)| (function.range.start + shift, 4))
        .collect();
    let profile = Profile::resolve(&blocks(&places), &program);
    let error = profile.coverage().check(0.9).unwrap_err();
    assert!(matches!(error, StaleProfile::Stale { names, .. } if names < 50.0), "{error}");
}

#[test]
fn a_trace_of_something_else_is_refused() {
    let bytes = kernel();
    let program = Program::parse(&bytes).unwrap();
    let profile = Profile::resolve(&blocks(&[(0x1000, 8), (0x2000, 8)]), &program);
    assert_eq!(profile.coverage().check(0.0), Err(StaleProfile::Empty { outside: 2 }));
}

#[test]
fn other_programs_in_the_trace_are_left_out() {
    let bytes = kernel();
    let program = Program::parse(&bytes).unwrap();
    // `helper` and `memcpy` of the application are not the kernel's.
    let text = "\
app 1 1.0: 1 cycles:  ffffffff81000010 start+0x10 ([kernel.kallsyms])
app 1 1.1: 1 cycles:      55d19eda4155 helper+0x5 (/usr/bin/app)
app 1 1.2: 1 cycles:      7f0000004155 memcpy+0x5 (/usr/lib/libc.so.6)
app 1 1.3: 1 cycles:  ffffffff81000104 last+0x4 ([kernel.kallsyms])
app 1 1.4: 1 cycles:  ffffffffc0000104 ext4_iget+0x4 ([ext4])
app 1 1.5: 1 cycles:            401000 [unknown] ([unknown])
";
    let profile = Profile::resolve(&read::read(text).unwrap(), &program);
    assert_eq!(names(&profile, &program), [("start", 1), ("last", 1)]);
    assert_eq!(profile.coverage().outside, 4);
    assert_eq!(profile.coverage().check(1.0), Ok(()));
    // And the other way round: the application, loaded at a random address.
    let app = Elf::new()
        .kind(object::elf::ET_DYN)
        .text(".text", 0x4000, 0x1000)
        .function("helper", 0x4150, 0x20)
        .function("start", 0x4180, 0x20)
        .build();
    let app = Program::parse(&app).unwrap();
    let text = format!("{text}app 1 1.6: 1 cycles:  55d19eda4189 start+0x9 (/usr/bin/app)\n");
    let profile = Profile::resolve(&read::read(&text).unwrap(), &app);
    assert_eq!(names(&profile, &app), [("helper", 1), ("start", 1)]);
    assert_eq!(profile.coverage().check(1.0), Ok(()));
}

#[test]
fn modules_are_outside() {
    let bytes = kernel();
    let program = Program::parse(&bytes).unwrap();
    let text = "start\next4_iget [ext4]\nhelper [ext4]\nlast\n";
    let profile = Profile::resolve(&read::read(text).unwrap(), &program);
    assert_eq!(names(&profile, &program), [("start", 1), ("last", 1)]);
    assert_eq!(profile.coverage().outside, 2);
}

#[test]
fn merging_keeps_the_order_and_adds_counts() {
    let bytes = kernel();
    let program = Program::parse(&bytes).unwrap();
    let resolve = |text| Profile::resolve(&native(text), &program);
    let first = resolve("ffffffff81000000 16 2\nffffffff81000080 4 1\n");
    let second = resolve("ffffffff81000100 8 1\nffffffff81000000 16 5\nffffffff81000010 4 1\n");
    let merged = Profile::merge(&[first.clone(), second]).unwrap();
    assert_eq!(names(&merged, &program), [("start", 7), ("middle", 1), ("last", 1)]);
    assert_eq!(merged.executed().bytes(), 20 + 4 + 8);
    assert_eq!(merged.blocks().len(), 4);
    assert_eq!(merged.coverage().bytes_found, 20 + 28);
    assert!(Profile::merge(&[]).is_none());
    let alone = Profile::merge(std::slice::from_ref(&first)).unwrap();
    assert_eq!(alone.functions(), first.functions());
    // A profile of functions makes the whole one of functions.
    let functions = Profile::resolve(&read::read("middle\n").unwrap(), &program);
    let merged = Profile::merge(&[first, functions]).unwrap();
    assert_eq!(merged.precision(), Precision::Functions);
}

fn events() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let address = prop_oneof![BASE..BASE + 0x1100, LOADED..LOADED + 0x1100, any::<u64>()];
    prop::collection::vec((address, prop_oneof![0u32..64, any::<u32>()]), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_blocks_give_a_consistent_profile(places in events()) {
        let bytes = kernel();
        let program = Program::parse(&bytes).unwrap();
        let profile = Profile::resolve(&blocks(&places), &program);
        check_consistency(&profile, &program)?;
        let coverage = profile.coverage();
        if let Ok(()) = coverage.check(1.0) {
            prop_assert!(coverage.missing.is_empty());
        }
        let twice = Profile::merge(&[profile.clone(), profile.clone()]).unwrap();
        prop_assert_eq!(twice.blocks(), profile.blocks());
        prop_assert_eq!(twice.executed(), profile.executed());
    }

    /// What is written with symbols reads back as the same profile.
    #[test]
    fn writing_and_reading_changes_nothing(places in prop::collection::vec((0u64..0x1000, 1u32..64), 1..60)) {
        let bytes = kernel();
        let program = Program::parse(&bytes).unwrap();
        let places: Vec<_> = places.into_iter().map(|(offset, length)| (BASE + offset, length)).collect();
        let trace = blocks(&places);
        let before = Profile::resolve(&trace, &program);
        let after = Profile::resolve(&read::read(&read::write_native(&trace, &program)).unwrap(), &program);
        prop_assert_eq!(before.functions(), after.functions());
        prop_assert_eq!(before.blocks(), after.blocks());
    }

    #[test]
    fn any_names_and_symbols_give_a_consistent_profile(
        events in prop::collection::vec((0usize..7, 0u64..0x200, 0u32..64, any::<bool>()), 0..40),
    ) {
        const NAMES: [&str; 7] = ["start", "helper", "middle", "last", "last_alias", "gone", ""];
        let bytes = kernel();
        let program = Program::parse(&bytes).unwrap();
        let mut trace = Trace::new(Source::QemuPlugin);
        for (name, offset, length, named) in events {
            let name = trace.intern(NAMES[name]);
            if named {
                trace.record(Place::Name(name), None, 1);
            } else {
                trace.record(block(BASE + offset, length), Some((name, offset % 0x40)), 1);
            }
        }
        check_consistency(&Profile::resolve(&trace, &program), &program)?;
    }
}

fn check_consistency(profile: &Profile, program: &Program<'_>) -> Result<(), TestCaseError> {
    let mut seen = std::collections::HashSet::new();
    for executed in profile.functions() {
        prop_assert!(seen.insert(executed.function));
        prop_assert!(executed.count >= 1);
        let range = program.function(executed.function).range;
        prop_assert!(profile.executed().within(range).next().is_some());
    }
    for range in profile.executed().as_slice() {
        prop_assert!(program.sections().iter().any(|s| s.range.intersection(*range) == *range));
    }
    let coverage = profile.coverage();
    prop_assert!(coverage.names_found <= coverage.names_total);
    prop_assert!(coverage.bytes_found <= coverage.bytes_total);
    prop_assert_eq!(coverage.bytes_found, profile.executed().bytes());
    Ok(())
}

#[test]
fn sections_without_any_symbol_are_outside() {
    let bytes = Elf::new()
        .text(".altinstr_aux", BASE + 0x2000, 0x100)
        .text(".text", BASE, 0x1000)
        .function("start", BASE, 0x20)
        .build();
    let program = Program::parse(&bytes).unwrap();
    let profile = Profile::resolve(&blocks(&[(BASE, 4), (BASE + 0x2010, 4)]), &program);
    let coverage = profile.coverage();
    assert_eq!((coverage.names_total, coverage.names_found, coverage.outside), (1, 1, 1));
    assert!(coverage.missing.is_empty() && coverage.bytes() == 1.0);
}
