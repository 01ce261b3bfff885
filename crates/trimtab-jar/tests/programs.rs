//! Programs that Debian's compiler made, on the JVM and in QEMU: both must say the same.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "programs/random.rs"]
mod random;

use common::{jar, metered_jar, output, verify};
use random::{likely_code, random_code, random_program};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;
use trimtab_jar::Part;

/// The source, and its compiler.
fn source(name: &str) -> (PathBuf, &'static str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let cplusplus = folder.join(format!("{name}.cpp"));
    if cplusplus.exists() {
        return (cplusplus, "mipsel-linux-gnu-g++");
    }
    (folder.join(format!("{name}.c")), "mipsel-linux-gnu-gcc")
}

/// Compiles a program.
fn compile(folder: &Path, name: &str, options: &[&str]) -> PathBuf {
    let program = folder.join(name);
    let (source, compiler) = source(name);
    let compiled = output(
        Command::new(compiler)
            .args(options)
            .args(["-static", "-o"])
            .arg(&program)
            .arg(source)
            .args(["-lm", "-latomic"]),
    );
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

fn java(jar: &Path, root: &Path, write: bool) -> Output {
    java_given(jar, root, write, "argument", &[])
}

fn java_given(jar: &Path, root: &Path, write: bool, argument: &str, options: &[&str]) -> Output {
    output(
        Command::new("java")
            .arg("-Xverify:all")
            .args(options)
            .arg(format!("-Dtrimtab.root={}", root.display()))
            .arg(format!("-Dtrimtab.write={write}"))
            .arg("-jar")
            .arg(jar)
            .arg(argument),
    )
}

/// Runs a program both ways, compiled with each of these sets of options.
fn same_as_qemu(name: &str, ways: &[&[&str]]) {
    same_given(name, ways, &["argument"]);
}

/// The same with each of these arguments.
fn same_given(name: &str, ways: &[&[&str]], arguments: &[&str]) {
    same_in(name, ways, arguments, &[]);
}

/// The same where all instructions are interpreted.
fn same_interpreted(name: &str, ways: &[&[&str]]) {
    same_in(name, ways, &["argument"], &["-Dtrimtab.interpret=true"]);
}

/// The same in a JVM with these options.
fn same_in(name: &str, ways: &[&[&str]], arguments: &[&str], jvm: &[&str]) {
    for options in ways {
        let folder = TempDir::new().unwrap();
        let program = compile(folder.path(), name, options);
        let (jar, _) = jar(&program);
        verify(std::slice::from_ref(&jar));
        for argument in arguments {
            let mut native = Command::new("qemu-mipsel");
            let expected = output(native.current_dir(folder.path()).arg(&program).arg(argument));
            let found = java_given(&jar, folder.path(), true, argument, jvm);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            // A shell's number for a program that a signal ended.
            let signal = || expected.status.signal().map(|signal| 128 + signal);
            assert_eq!(
                (text(&found.stdout), found.status.code()),
                (text(&expected.stdout), expected.status.code().or_else(signal)),
                "{name} {options:?} {argument}: {}",
                text(&found.stderr)
            );
            assert!(!expected.stdout.is_empty());
        }
    }
}

/// Runs a program with files in memory, and without a network.
fn confined(jar: &Path, argument: &str) -> Output {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/Confined.java");
    output(Command::new("java").arg("-cp").arg(jar).arg(source).arg(jar).arg(argument))
}

/// The same where the jar has its files in memory.
fn same_in_memory(name: &str) {
    let folder = TempDir::new().unwrap();
    let program = compile(folder.path(), name, &["-O2"]);
    let (jar, _) = jar(&program);
    let expected = output(Command::new("qemu-mipsel").current_dir(folder.path()).arg(program));
    let found = confined(&jar, "argument");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&found.stdout), text(&expected.stdout), "{name}: {}", text(&found.stderr));
    assert_eq!(found.status.code(), expected.status.code());
}

#[test]
fn threads_share_what_they_share_in_linux_and_wait_for_each_other() {
    same_as_qemu("threads", &BOTH);
}

#[test]
fn programs_with_threads_end_as_in_linux() {
    let ways = ["return", "exit", "fault", "signal", "cancel", "many"];
    same_given("ends", &[&["-O2"]], &ways);
    same_as_qemu("last", &[&["-O2"]]);
}

const BOTH: [&[&str]; 2] = [&["-O0"], &["-O2"]];

#[test]
fn floating_point_numbers_go_through_pointers_and_functions_may_never_return() {
    same_as_qemu("by_pointer", &[&["-O0"], &["-O2"], &["-O2", "-s"], &["-O2", "-mfp32"]]);
    same_interpreted("by_pointer", &[&["-O2"]]);
}

#[test]
fn exceptions_are_caught_where_cplusplus_says() {
    let ways = ["argument", "noexcept", "thread", "handler", "exit", "uncaught"];
    same_given("exceptions", &[&["-O2"]], &ways);
    same_as_qemu("exceptions", &[&["-O0"]]);
}

#[test]
fn what_cplusplus_has_beside_exceptions_does_the_same() {
    same_as_qemu("library", &[&["-std=c++17", "-O2"]]);
}

#[test]
fn threads_that_compare_and_swap_lose_nothing() {
    same_as_qemu("atomics", &[&["-std=c++17", "-O2"]]);
}

#[test]
fn integers_are_computed_as_the_processor_does() {
    same_as_qemu("integers", &BOTH);
    same_as_qemu("integers", &[&["-O3", "-march=mips32"], &["-Os", "-mbranch-likely"]]);
}

#[test]
fn numbers_of_64_bits_are_the_same() {
    let ways: Vec<[&str; 3]> =
        ["-O0", "-O1", "-O2", "-O3"].map(|level| [level, "-w", "-fno-strict-aliasing"]).to_vec();
    same_as_qemu("wide", &ways.iter().map(<[&str; 3]>::as_slice).collect::<Vec<_>>());
    same_interpreted("wide", &[&["-O2", "-w", "-fno-strict-aliasing"]]);
    same_given("wide", &[&["-O2", "-w", "-fno-strict-aliasing"]], &["zero"]);
}

#[test]
fn what_functions_give_back_through_pointers_is_the_same() {
    same_as_qemu(
        "returns",
        &[&["-O0"], &["-O1"], &["-O2"], &["-O3"], &["-O2", "-fno-toplevel-reorder", "-mfp32"]],
    );
    same_interpreted("returns", &[&["-O2"]]);
}

#[test]
fn floating_point_numbers_are_the_same_to_the_last_bit() {
    same_as_qemu("floats", &BOTH);
    same_as_qemu("floats", &[&["-O2", "-mfp32"]]);
}

#[test]
fn functions_of_floating_point_numbers_are_the_same_and_what_is_none_is_quiet_to_mips() {
    same_as_qemu("numbers", &[&["-O0"], &["-O2"], &["-O2", "-fno-builtin", "-mfp32"]]);
}

#[test]
fn arithmetic_rounds_as_the_program_says() {
    same_as_qemu("numbers", &[&["-O0", "-DROUNDING"], &["-O2", "-DROUNDING", "-frounding-math"]]);
    same_in("numbers", &[&["-O2", "-DROUNDING"]], &["100"], &["-Dtrimtab.interpret=true"]);
}

#[test]
fn tables_pointers_and_jumps_to_earlier_frames_lead_where_they_should() {
    same_as_qemu("control", &BOTH);
}

#[test]
fn only_functions_that_note_where_they_return_to_are_taken_for_setjmp() {
    let folder = TempDir::new().unwrap();
    let (_, translation) = jar(&compile(folder.path(), "control", &["-O2"]));
    let twice = &translation.report.returning_twice;
    for name in ["_setjmp", "__sigsetjmp", "mark"] {
        assert!(twice.iter().any(|found| found == name), "{name}: {twice:?}");
    }
    // These look at where they return to for other reasons, or keep it while they look for their own address.
    for name in ["returns_to_main", "__syscall_error", "madvise", "_dl_mcount_wrapper_check"] {
        assert!(translation.report.names.contains(name), "{name} is not in the program");
        assert!(!twice.iter().any(|found| found == name), "{name}: {twice:?}");
    }
}

#[test]
fn labels_and_functions_within_others_lead_where_gnus_c_says() {
    same_as_qemu("gnu", &BOTH);
}

#[test]
fn numbers_that_look_like_distances_of_labels_lead_to_few_places() {
    same_as_qemu("listed", &BOTH);
    let folder = TempDir::new().unwrap();
    let (_, translation) = jar(&compile(folder.path(), "listed", &["-O1"]));
    let labels = translation.report.labels;
    assert!((3..40).contains(&labels), "{labels} labels, of which the program has three");
}

/// Code that is copied elsewhere must not look for its data from where it is.
const COPIED: [&[&str]; 2] = [&["-O0", "-fno-pic"], &["-O2", "-fno-pic"]];

#[test]
fn code_that_the_program_makes_is_interpreted() {
    same_as_qemu("generated", &COPIED);
    same_interpreted("generated", &COPIED);
}

#[test]
fn interpreted_programs_do_what_translated_ones_do() {
    for name in ["integers", "floats", "loops", "memory", "gnu", "exceptions"] {
        same_interpreted(name, &[&["-O2"]]);
    }
    for name in ["control", "threads"] {
        same_interpreted(name, &[&["-O1"], &["-O2", "-s"]]);
    }
}

#[test]
fn a_strict_program_tells_what_it_missed_and_what_was_interpreted() {
    let folder = TempDir::new().unwrap();
    let (jar, _) = jar(&compile(folder.path(), "generated", COPIED[1]));
    let strict = "-Dtrimtab.strict=true";
    let found = java_given(&jar, folder.path(), false, "argument", &[strict]);
    let text = String::from_utf8(found.stderr).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("not supported: the system call getsid, once"), "{text}");
    assert!(lines.clone().count() > 3, "{text}");
    assert!(lines.all(|line| line.starts_with("interpreted: ")), "{text}");
    // Programs that make no code have none of it interpreted.
    let (jar, _) = common::jar(&compile(folder.path(), "control", &["-O2"]));
    let found = java_given(&jar, folder.path(), false, "argument", &[strict]);
    assert_eq!(String::from_utf8(found.stderr).unwrap(), "");
}

#[test]
fn sockets_timers_and_waiting_for_several_files_do_what_they_do_in_linux() {
    let network = "-Dtrimtab.network=true";
    same_in("sockets", &[&["-O2", "-w"]], &["argument"], &[network]);
    same_in("sockets", &[&["-O2", "-w"]], &["argument"], &[network, "-Dtrimtab.interpret=true"]);
}

#[test]
fn pipes_give_and_take_as_much_as_in_linux() {
    same_as_qemu("pipes", &BOTH);
}

#[test]
fn clocks_of_the_program_count_what_it_computes() {
    same_as_qemu("clocks", &[&["-O1"]]);
}

#[test]
fn files_are_made_cut_and_lost_as_in_linux() {
    same_as_qemu("files", &BOTH);
    same_in_memory("files");
}

#[test]
fn names_begin_at_the_directory_that_they_are_given_with() {
    same_as_qemu("names", &BOTH);
    same_in_memory("names");
}

#[test]
fn trees_are_removed_without_what_links_lead_to() {
    let folder = TempDir::new().unwrap();
    let (jar, _) = jar(&compile(folder.path(), "names", &["-O1"]));
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("tree")).unwrap();
    fs::create_dir(root.join("kept")).unwrap();
    fs::write(root.join("kept/file"), "kept").unwrap();
    std::os::unix::fs::symlink("../kept", root.join("tree/link")).unwrap();
    let found = java_given(&jar, &root, true, "links", &[]);
    let text = String::from_utf8(found.stdout).unwrap();
    assert_eq!(text, "a directory 1 0 Not a directory\nremoved 0\n");
    assert!(root.join("kept/file").exists() && !root.join("tree").exists());
}

#[test]
fn sockets_are_refused_unless_they_are_allowed() {
    let folder = TempDir::new().unwrap();
    let (jar, _) = jar(&compile(folder.path(), "sandbox", &["-O1"]));
    let found = java_given(&jar, folder.path(), false, "socket", &[]);
    assert_eq!(String::from_utf8(found.stdout).unwrap(), "socket: Permission denied\n");
    // Also where there are some, but none may be used.
    let found = confined(&jar, "ports");
    let expected = "\
bind: Permission denied
connect: Permission denied
listen: Permission denied
recv: Resource temporarily unavailable
ports: none none
";
    assert_eq!(String::from_utf8(found.stdout).unwrap(), expected);
}

#[test]
fn what_is_stored_in_mapped_files_reaches_them() {
    same_as_qemu("mapped", &BOTH);
    same_in_memory("mapped");
    let folder = TempDir::new().unwrap();
    let (jar, _) = jar(&compile(folder.path(), "mapped", &["-O2"]));
    assert!(java(&jar, folder.path(), true).status.success());
    assert_eq!(fs::read_to_string(folder.path().join("last.bin")).unwrap(), "end");
}

#[test]
fn functions_that_work_on_bytes_do_the_same_in_all_sizes() {
    same_as_qemu("bytes", &[&["-O1"]]);
}

#[test]
fn memory_strings_and_files_hold_what_was_written() {
    same_as_qemu("memory", &BOTH);
}

#[test]
fn loops_end_and_tables_lead_where_they_should() {
    same_as_qemu("loops", &BOTH);
    same_as_qemu("loops", &[&["-O3", "-mbranch-likely"]]);
    // And they are what the JIT compiler takes.
    let folder = TempDir::new().unwrap();
    let (_, translation) = jar(&compile(folder.path(), "loops", &["-O1"]));
    let has = |name: &[u8]| {
        translation.entries.iter().any(|entry| entry.bytes.windows(name.len()).any(|at| at == name))
    };
    assert!(has(b"nested$loop0") && has(b"results$loop0"));
}

#[test]
fn functions_too_large_for_one_method_are_cut_and_still_right() {
    same_as_qemu("large", &BOTH);
    let folder = TempDir::new().unwrap();
    let (_, translation) = jar(&compile(folder.path(), "large", &["-O2"]));
    let split =
        translation.report.split.iter().find(|split| split.name.starts_with("run")).unwrap();
    assert!(split.bytes > 8000 && split.methods.len() > 3, "{split:?}");
    for split in &translation.report.split {
        assert!(split.methods.iter().all(|bytes| *bytes <= 8000), "{split:?}");
    }
    assert_eq!(translation.report.unknown, [""; 0]);
}

#[test]
fn functions_too_large_for_a_class_are_interpreted_and_named() {
    same_as_qemu("huge", &[&["-O0"]]);
    let folder = TempDir::new().unwrap();
    let (_, translation) = jar(&compile(folder.path(), "huge", &["-O0"]));
    assert_eq!(translation.report.too_large, ["by_switch", "by_labels"]);
}

#[test]
fn interpreters_in_several_parts_go_from_case_to_case_at_once() {
    same_as_qemu("dispatch", &BOTH);
    let folder = TempDir::new().unwrap();
    let (_, translation) = jar(&compile(folder.path(), "dispatch", &["-O2"]));
    let parts = |name: &str| {
        let found = translation.report.split.iter().find(|split| split.name == name);
        found.unwrap().parts.clone()
    };
    // GCC has a jump at the end of each instruction, or one that all come back to.
    let (own, shared) = (parts("by_labels"), parts("by_switch"));
    assert!(own.len() > 9 && shared.len() > 9, "{} and {}", own.len(), shared.len());
    let goes_anywhere = |part: &&Part| part.goes_to.len() > own.len() / 2;
    assert!(own.iter().filter(goes_anywhere).count() > own.len() * 2 / 3, "{own:#?}");
    let has_copies = shared.iter().filter(|part| part.copies > 0);
    assert!(has_copies.count() > shared.len() * 2 / 3, "{shared:#?}");
}

#[test]
fn any_code_that_is_interpreted_ends_by_a_signal_or_the_limit_of_instructions() {
    let folder = TempDir::new().unwrap();
    let mut statuses = BTreeSet::new();
    for seed in 0..12 {
        let program = random_program(folder.path(), seed, &likely_code(seed, true), None);
        let jar = metered_jar(&program);
        let options = ["-Dtrimtab.interpret=true", "-Dtrimtab.instructions=2000000"];
        let found = java_given(&jar, folder.path(), false, "argument", &options);
        let text = String::from_utf8_lossy(&found.stderr).into_owned();
        let status = found.status.code().unwrap();
        assert!([132, 133, 136, 138, 139, 158].contains(&status), "{seed}: {status} {text}");
        assert!(text.lines().count() <= 1, "{seed}: {text}");
        statuses.insert(status);
    }
    assert!(statuses.len() > 1, "{statuses:?}");
}

#[test]
fn random_code_does_the_same_translated_and_interpreted() {
    let folder = TempDir::new().unwrap();
    let mut statuses = BTreeSet::new();
    for seed in 0..16 {
        let program = random_program(folder.path(), seed, &likely_code(seed, false), None);
        let (jar, _) = jar(&program);
        let run = |options: &[&str]| {
            java_given(&jar, folder.path(), false, "argument", options).status.code().unwrap()
        };
        let status = run(&[]);
        assert_eq!(status, run(&["-Dtrimtab.interpret=true"]), "{seed}");
        statuses.insert(status);
    }
    assert!(statuses.len() > 8, "{statuses:?}");
}

#[test]
fn no_code_makes_classes_that_the_verifier_refuses() {
    let folder = TempDir::new().unwrap();
    let jars: Vec<PathBuf> = (0..40)
        .map(|seed| {
            // Functions of any length, some of them far too large for one method.
            let cut = Some(seed * 97 % 3999 + 1);
            jar(&random_program(folder.path(), seed, &random_code(seed), cut)).0
        })
        .collect();
    verify(&jars);
}

#[test]
fn a_stripped_program_runs_as_well() {
    same_as_qemu("control", &[&["-O2", "-s"]]);
}

#[test]
fn a_stripped_program_of_cplusplus_is_told_to_lose_its_exceptions() {
    let folder = TempDir::new().unwrap();
    for (name, options, loses) in [
        ("exceptions", &["-O1", "-s"][..], true),
        ("exceptions", &["-O1"], false),
        ("control", &["-O1", "-s"], false),
    ] {
        let (_, translation) = jar(&compile(folder.path(), name, options));
        assert_eq!(translation.report.loses_exceptions, loses, "{name} {options:?}");
    }
}

#[test]
fn the_same_program_gives_the_same_jar() {
    let folder = TempDir::new().unwrap();
    let program = compile(folder.path(), "integers", &["-O1"]);
    let first = fs::read(jar(&program).0).unwrap();
    assert_eq!(first, fs::read(jar(&program).0).unwrap());
}

#[test]
fn files_outside_the_root_are_out_of_reach() {
    let folder = TempDir::new().unwrap();
    let (jar, _) = jar(&compile(folder.path(), "sandbox", &["-O1"]));
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("folder")).unwrap();
    fs::write(root.join("given.txt"), "seven b").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", root.join("link")).unwrap();
    let found = java(&jar, &root, false);
    let text = String::from_utf8(found.stdout).unwrap();
    let expected = "\
/given.txt: opened
given.txt: Read-only file system
/../../../etc/passwd: No such file or directory
link: Permission denied
folder/../../../../etc/passwd: No such file or directory
made.txt: Read-only file system
7
entry .
entry ..
entry folder
entry given.txt
entry link
";
    assert_eq!(text, expected);
}

#[test]
fn programs_of_other_jars_are_executed_and_waited_for() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("below")).unwrap();
    let (source, _) = source("spawn");
    let native = folder.path().join("native");
    let compiled = output(Command::new("gcc").arg(source).arg("-o").arg(&native));
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let expected =
        output(Command::new(&native).arg(&native).arg("made.txt").current_dir(folder.path()));
    let (shell, _) = jar(&compile(folder.path(), "shell", &["-O2"]));
    let (program, _) = jar(&compile(folder.path(), "spawn", &["-O2"]));
    let programs = format!("/bin/sh={}:/bin/spawn={}", shell.display(), program.display());
    let root = format!("-Dtrimtab.root={}", folder.path().display());
    let mut command = Command::new("java");
    command.args(["-Xverify:all", "-Dtrimtab.write=true", &root, "-jar"]).arg(&program);
    let without = output(command.args(["/bin/spawn", "made.txt"]));
    let text = String::from_utf8_lossy(&without.stdout);
    assert!(text.starts_with("said: Function not implemented\n"), "{text}");
    let mut command = Command::new("java");
    command.args(["-Dtrimtab.write=true", &root]);
    command.arg(format!("-Dtrimtab.programs={programs}")).arg("-jar").arg(&program);
    let found = output(command.args(["/bin/spawn", "made.txt"]));
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text(&expected).ends_with("the same number\n"), "{}", text(&expected));
    assert_eq!(text(&found), text(&expected), "{}", String::from_utf8_lossy(&found.stderr));
    assert_eq!(found.status.code(), expected.status.code());
}

#[test]
fn a_fault_names_the_functions_that_led_to_it() {
    let folder = TempDir::new().unwrap();
    for (options, expected) in [
        (&["-O1"][..], "\n    in broken\n    in main\n"),
        (&["-O1", "-g"], "\n    in broken (fault.c:6)\n    in main (fault.c:13)\n    in __libc"),
        (&["-O0", "-gdwarf-4"], "\n    in broken (fault.c:6)\n    in main (fault.c:13)\n"),
    ] {
        let (jar, _) = jar(&compile(folder.path(), "fault", options));
        let found = java(&jar, folder.path(), false);
        assert_eq!((found.stdout.as_slice(), found.status.code()), (&b"before\n"[..], Some(139)));
        let text = String::from_utf8(found.stderr).unwrap();
        assert!(text.starts_with("the program was stopped by signal 11: "), "{text}");
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn lines_do_not_change_what_programs_do() {
    same_as_qemu("large", &[&["-O2", "-g"]]);
}

#[test]
fn without_files_a_program_has_temporary_ones() {
    let folder = TempDir::new().unwrap();
    let (jar, _) = jar(&compile(folder.path(), "temporary", &["-O1"]));
    let found = output(Command::new("java").arg("-jar").arg(&jar).current_dir(folder.path()));
    let expected = "\
tmpfile: done
fgets: done
some text
mkstemp: done
write: done
rename: done
rename out: Read-only file system
mkdir: done
access: done
entry .
entry ..
entry directory
entry moved
result: Read-only file system
/tmpx: Read-only file system
/etc/passwd: No such file or directory
mkdir: Read-only file system
access: Read-only file system
unlink: done
too much: No space left on device
unlink: done
";
    assert_eq!(String::from_utf8(found.stdout).unwrap(), expected);
}
