//! Finds functions by the names that tools print for them: demangled, of another build, of several.
#![allow(clippy::unwrap_used)]

use trimtab_fixture::Elf;
use trimtab_profile::{Profile, Trace, read};
use trimtab_program::Program;

const BASE: u64 = 0x40_1000;

/// `functions` of 0x40 bytes each, one behind the other.
fn elf(functions: &[&'static str]) -> Vec<u8> {
    let mut elf = Elf::new().text(".text", BASE, 0x1000);
    for (index, name) in functions.iter().enumerate() {
        elf = elf.local(name, BASE + index as u64 * 0x40, 0x40);
    }
    elf.build()
}

fn ran(trace: &Trace, bytes: &[u8]) -> (Vec<String>, u64, Vec<String>) {
    let program = Program::parse(bytes).unwrap();
    let profile = Profile::resolve(trace, &program);
    let name = |id| program.function(id).name.to_owned();
    let names = profile.functions().iter().map(|executed| name(executed.function)).collect();
    let coverage = profile.coverage();
    (names, coverage.ambiguous, coverage.missing.clone())
}

const SHOP: [&str; 9] = [
    "main",
    "_ZN4shop4spinIiEET_S1_",
    "_ZN4shop4spinIlEET_S1_",
    "_ZN4shop5totalERKi",
    "_Z4overi",
    "_Z4overPKc",
    "_ZN12_GLOBAL__N_16hiddenEi",
    "_ZN4shop1AclEi",
    "_ZN3app4work17h0123456789abcdefE",
];

#[test]
fn what_perf_demangles_is_found() {
    // As perf 6.1 prints it, without parameters.
    let text = "\
app 1 1.1: 1 cpu-clock:u: 401048 shop::spin<int>+0x8 (/app)
app 1 1.2: 1 cpu-clock:u: 4010c8 shop::total+0x8 (/app)
app 1 1.3: 1 cpu-clock:u: 7fc8ee0bfcb4 std::_Rb_tree_increment+0x4 (/usr/lib/libstdc++.so.6)
app 1 1.4: 1 cpu-clock:u: 401148 over+0x8 (/app)
app 1 1.5: 1 cpu-clock:u: 401188 (anonymous namespace)::hidden+0x8 (/app)
app 1 1.6: 1 cpu-clock:u: 4011c8 shop::A::operator()+0x8 (/app)
app 1 1.7: 1 cpu-clock:u: 401208 app::work+0x8 (/app)
";
    let expected = [SHOP[1], SHOP[3], SHOP[5], SHOP[6], SHOP[7], SHOP[8]];
    let program = elf(&SHOP);
    let (names, ambiguous, missing) = ran(&read::read(text).unwrap(), &program);
    assert_eq!((names, ambiguous, missing), (expected.map(str::to_owned).to_vec(), 0, vec![]));
    // The system put the program elsewhere: an overload is told by where the others are.
    let moved: String =
        text.lines().map(|line| line.replace(" 401", " 55d1f5e8a") + "\n").collect();
    let (names, ambiguous, missing) = ran(&read::read(&moved).unwrap(), &program);
    assert_eq!((names, ambiguous, missing), (expected.map(str::to_owned).to_vec(), 0, vec![]));
}

#[test]
fn an_overload_that_nothing_tells_apart_counts_as_all_of_them() {
    let program = elf(&SHOP);
    for text in
        ["main\nover\n", "# DURATION     TID     FUNCTION\n [ 3] | main() {\n [ 3] |   over();\n"]
    {
        let (names, ambiguous, missing) = ran(&read::read(text).unwrap(), &program);
        assert_eq!(names, ["main", "_Z4overi", "_Z4overPKc"], "{text}");
        assert_eq!((ambiguous, missing), (1, vec![]));
    }
    // With types, as uftrace and perf can print them.
    let text = "# DURATION     TID     FUNCTION\n [ 3] | int shop::spin<long>(long) {\n";
    assert_eq!(ran(&read::read(text).unwrap(), &program).0, ["_ZN4shop4spinIlEET_S1_"]);
    // Without arguments of templates.
    let text = "# DURATION     TID     FUNCTION\n [ 3] | shop::spin() {\n [ 3] |  main();\n";
    assert_eq!(ran(&read::read(text).unwrap(), &program).0, [SHOP[1], SHOP[2], "main"]);
}

#[test]
fn in_a_trace_of_symbols_a_short_name_is_a_symbol() {
    let program = elf(&["over", "_Z4overi", "_Z4mainv"]);
    let (names, ambiguous, _) = ran(&read::read("_Z4mainv+0x0\nover\n").unwrap(), &program);
    assert_eq!((names, ambiguous), (vec!["_Z4mainv".to_owned(), "over".to_owned()], 0));
    let (names, ambiguous, _) = ran(&read::read("over\n").unwrap(), &program);
    assert_eq!((names.len(), ambiguous), (2, 1));
    // A blank in the name of a file says nothing of how functions are named.
    let text = "\
app 1 1.1: 1 cpu-clock:u: 55d1f5e8a008 _Z4mainv+0x8 (/home/me/My Programs/app)
app 1 1.2: 1 cpu-clock:u: 55d1f5e8a048 over+0x8 (/home/me/My Programs/app)
";
    let (names, ambiguous, _) = ran(&read::read(text).unwrap(), &program);
    assert_eq!((names, ambiguous), (vec!["_Z4mainv".to_owned(), "over".to_owned()], 0));
}

#[test]
fn one_name_that_perf_cannot_demangle_leaves_the_others_readable() {
    // `Tn` is newer than the demangler of perf 6.1.
    let program = elf(&["main", "_ZN4shop2ntITnDaLi3EEElv", "_Z2fpi", "_ZN4shop5totalERKi"]);
    let text = "\
app 1 1.1: 1 cpu-clock:u: 55d1f5e8a008 main+0x8 (/app)
app 1 1.2: 1 cpu-clock:u: 55d1f5e8a048 _ZN4shop2ntITnDaLi3EEElv+0x8 (/app)
app 1 1.3: 1 cpu-clock:u: 55d1f5e8a088 fp+0x8 (/app)
app 1 1.4: 1 cpu-clock:u: 55d1f5e8a0c8 shop::total+0x8 (/app)
";
    let (names, _, missing) = ran(&read::read(text).unwrap(), &program);
    assert_eq!(names, ["main", "_ZN4shop2ntITnDaLi3EEElv", "_Z2fpi", "_ZN4shop5totalERKi"]);
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn stubs_of_the_linkage_table_and_the_kernel_are_outside_of_a_program() {
    let program = elf(&["main", "_Z2fpi"]);
    let text = "\
app 1 1.1: 1 cpu-clock: 55d1f5e8a008 main+0x8
app 1 1.2: 1 cpu-clock: 55d1f5e89030 memcmp@plt+0x4
app 1 1.3: 1 cpu-clock: ffffffff815f4b79 do_syscall_64+0x8
app 1 1.4: 1 cpu-clock: 55d1f5e8a048 gone+0x8
";
    let (names, _, missing) = ran(&read::read(text).unwrap(), &program);
    assert_eq!((names, missing), (vec!["main".to_owned()], vec!["gone".to_owned()]));
}

#[test]
fn words_of_an_unknown_demangler_are_believed_where_the_address_says_what_is_meant() {
    let text = "\
app 1 1.1: 1 cycles: 55d1f5e8a008 main+0x8 (/app)
app 1 1.2: 1 cycles: 55d1f5e8a048 shop::spin<int>+0x8 (/app)
app 1 1.3: 1 cycles: 55d1f5e8a0c8 shop::total+0x8 (/app)
app 1 1.4: 1 cycles: 55d1f5e8a1c8 shop::A::[call operator](int)+0x8 (/app)
";
    let (names, _, missing) = ran(&read::read(text).unwrap(), &elf(&SHOP));
    assert_eq!(names, ["main", SHOP[1], SHOP[3], SHOP[7]]);
    assert!(missing.is_empty(), "{missing:?}");
    // A plain name that is missing is missing: the trace is of another build.
    let text = text.replace("shop::A::[call operator](int)", "gone");
    assert_eq!(ran(&read::read(&text).unwrap(), &elf(&SHOP)).2, ["gone"]);
}

#[test]
fn a_suffix_that_changes_with_every_build_is_left_out_where_one_function_can_be_meant() {
    let program = elf(&["a.llvm.2", "b.isra.0", "b.isra.0.cold", "c.llvm.5", "c.llvm.6", "d"]);
    let trace = read::read("a.llvm.1\nb.isra.7\nb.isra.7.cold\nc.llvm.1\nd.part.0\n").unwrap();
    let (names, _, missing) = ran(&trace, &program);
    assert_eq!(names, ["a.llvm.2", "b.isra.0", "b.isra.0.cold", "d"]);
    assert_eq!(missing, ["c.llvm.1"]);
    let program = Program::parse(&program).unwrap();
    assert_eq!(Profile::resolve(&trace, &program).coverage().without_suffix, 4);
}

#[test]
fn symbols_with_a_version_are_found_with_and_without_it() {
    let program = elf(&["api@V1", "api@@V2", "other@@V1"]);
    let (names, _, missing) = ran(&read::read("other\napi@V1\n").unwrap(), &program);
    assert_eq!((names, missing), (vec!["other@@V1".to_owned(), "api@V1".to_owned()], vec![]));
}
