//! Input that is not what it should be: one clear message each, and nothing written.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use trimtab_fixture::{Elf, many_functions};

const BASE: u64 = 0xffff_ffff_8100_0000;

/// A folder with a program `app`, the trace `good.trace` of it, and whatever a test adds.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("app", many_functions(30, BASE));
        let names: String = (0..20).map(|index| format!("function_{index}\n")).collect();
        folder.write("good.trace", names);
        folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), content).unwrap();
    }

    /// Exit code and both outputs.
    fn run(&self, command: &str) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_trimtab"))
            .args(command.split(' '))
            .current_dir(self.path())
            .env("LC_ALL", "C")
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// The command fails with this message, prints no result, and leaves no file.
    fn fails(&self, command: &str, message: &str) {
        let files = || {
            let mut names: Vec<_> =
                fs::read_dir(self.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let before = files();
        let (code, output, error) = self.run(command);
        assert_eq!((code, output.as_str(), error.as_str()), (1, "", message), "{command}");
        assert_eq!(files(), before, "{command}");
    }
}

#[test]
fn programs_that_cannot_be_read() {
    let folder = Folder::new();
    let whole = many_functions(30, BASE);
    folder.write("cut", &whole[..whole.len() / 2]);
    let elf = || Elf::new().text(".text", BASE, 0x100).function("f", BASE, 16);
    folder.write("stripped", elf().stripped().build());
    folder.write("arm", elf().machine(40).build());
    folder.write("small", elf().class_32().build());
    folder.write("object", elf().kind(1).build());
    folder.write("bzImage", [0x4d, 0x5a, 0xea, 0x07, 0x00]);
    folder.write("empty", "");
    let size = whole.len() / 2;
    for (program, message) in [
        (
            "cut",
            format!(
                "cut: the ELF file is truncated or damaged: the section table does not fit into \
                 its {size} bytes; build or copy it again\n"
            ),
        ),
        (
            "stripped",
            "stripped: the ELF file is stripped: it has no .symtab section with functions; give \
             the file from before `strip` (for a kernel: vmlinux from the build directory)\n"
                .to_owned(),
        ),
        (
            "arm",
            "arm: the ELF file is for another machine: e_machine is 40, expected 62 (x86-64), \
             183 (AArch64) or, of 32 bits, 8 (MIPS)\n"
                .to_owned(),
        ),
        (
            "small",
            "small: this is a 32-bit ELF file; expected a little-endian ELF file of 64 bits, or of 32 \
             for MIPS\n"
                .to_owned(),
        ),
        (
            "object",
            "object: the ELF file is not linked: e_type is 1, expected 2 (executable) or 3 (shared \
             object or PIE); give the linker's output\n"
                .to_owned(),
        ),
        (
            "bzImage",
            "bzImage: not an ELF file: it starts with 4d 5a ea 07, expected 7f 45 4c 46; give the \
             linked file with its symbols (for a kernel: vmlinux, not bzImage)\n"
                .to_owned(),
        ),
        (
            "empty",
            "empty: not an ELF file: it starts with nothing at all, expected 7f 45 4c 46; give the \
             linked file with its symbols (for a kernel: vmlinux, not bzImage)\n"
                .to_owned(),
        ),
        (
            "gone",
            "cannot read the program gone: No such file or directory (os error 2)\n  hint: give \
             the linked file with its symbols; for a kernel: vmlinux from the build directory\n"
                .to_owned(),
        ),
        (
            ".",
            "cannot read the program .: it is not a file, but a folder\n  hint: give the linked file with its \
             symbols; for a kernel: vmlinux from the build directory\n"
                .to_owned(),
        ),
    ] {
        let message = format!("trimtab: {message}");
        folder.write("app.order", "f\n");
        folder.fails(&format!("pages {program} --trace good.trace"), &message);
        folder.fails(&format!("order {program} --trace good.trace -o out"), &message);
        folder.fails(&format!("check {program} --order app.order"), &message);
        folder.fails(&format!("check app --order app.order --before {program}"), &message);
        folder.fails(
            &format!("trace --kernel nothing --vmlinux {program} -o out"),
            &message,
        );
    }
}

#[test]
fn traces_that_do_not_fit() {
    let folder = Folder::new();
    let mixed: String = (0..8)
        .map(|index| format!("function_{index}\n"))
        .chain((0..12).map(|index| format!("other_{index}\n")))
        .collect();
    folder.write("stale.trace", mixed);
    folder.write("foreign.trace", "0x1000\n0x2000\n");
    folder.write("empty.trace", "");
    folder.write("head.trace", "trimtab-trace 1\nsource qemu-plugin\nevents\n");
    folder.write("prose.trace", "Hello, world!\n");
    folder.write("broken.trace", "function_1\ntwo words\n");
    for (trace, message) in [
        (
            "stale",
            "stale.trace: the trace is of another build: 40.0 % of its functions and 100.0 % of its \
             bytes are in this program, expected at least 90 %; first missing: other_0, other_1, \
             other_2, other_3, other_4, other_5, other_6, other_7, other_8, other_9; trace this \
             build again, or accept the loss with --min-coverage\n",
        ),
        (
            "foreign",
            "foreign.trace: the trace says nothing of this program: none of its functions ran (2 \
             events lie outside its code); trace a run of this very build: a kernel with \
             `nokaslr`; a position-independent program with the symbols beside the addresses, as \
             `perf script -F ip,sym,symoff,dso` prints them\n",
        ),
        (
            "empty",
            "empty.trace: the trace is empty: expected at least one event; was tracing on?\n",
        ),
        ("head", "head.trace: the trace is empty: expected events after the line `events`\n"),
        (
            "prose",
            "prose.trace: not a trace in any known format; expected a trimtab trace, ftrace `trace` \
             text, `trace-cmd report`, `perf script`, `uftrace replay` or `dump`, or a list of names \
             or addresses, one a line\n",
        ),
        (
            "broken",
            "broken.trace: line 2 of the list trace: found `two words`, expected one name, \
             NAME+0xOFFSET or hexadecimal address; 1 of 2 lines cannot be read, allowed are 5 %\n",
        ),
        (
            "gone",
            "cannot read the trace gone.trace: No such file or directory (os error 2)\n  hint: \
             record one with trimtab trace, ftrace or perf\n",
        ),
    ] {
        let message = format!("trimtab: {message}");
        folder.fails(&format!("pages app --trace {trace}.trace"), &message);
        folder.fails(&format!("order app --trace {trace}.trace -o out"), &message);
        // A good trace beside it makes it no better.
        folder.fails(&format!("order app --trace good.trace --trace {trace}.trace"), &message);
    }
    let (code, output, _) = folder.run("pages app --trace stale.trace --min-coverage 0.4");
    assert_eq!(code, 0);
    assert!(output.contains("40.0 % of function names"), "{output}");
    assert!(output.contains("Not found in the program\n\nother_0, other_1"), "{output}");
}

#[test]
fn maps_that_do_not_fit() {
    let folder = Folder::new();
    folder.write("prose.map", "Hello, world!\n");
    folder.write(
        "other.map",
        "             VMA              LMA     Size Align Out     In      Symbol
            1000             1000       10    16 .text
            1000             1000       10    16         a.o:(.text.main)
",
    );
    for (map, message) in [
        ("prose", "prose.map: not a linker map: expected the output of lld"),
        (
            "other",
            "the map other.map is of another build: 30 of 30 functions in .text lie in none of its \
             input sections\n  hint: give the map that the linker wrote (-Map=FILE) when it wrote \
             this very program\n",
        ),
        (
            "gone",
            "cannot read the linker's map gone.map: No such file or directory (os error 2)\n  hint: \
             have the linker write it: -Wl,-Map=FILE; for a kernel with trimtab's patch: \
             vmlinux.map\n",
        ),
    ] {
        for verb in ["pages app --trace good.trace", "order app --trace good.trace -o out"] {
            let (code, output, error) = folder.run(&format!("{verb} --map {map}.map"));
            assert_eq!((code, output.as_str()), (1, ""));
            assert!(error.starts_with(&format!("trimtab: {message}")), "{error}");
        }
    }
}

#[test]
fn orders_with_unknown_and_doubled_names() {
    let folder = Folder::new();
    folder.write(
        "doubled.order",
        "function_1\nfunction_2\nfunction_1\nold_a\nold_b\nfunction_3\nfunction_2\n",
    );
    folder.write("empty.order", "# nothing\n");
    folder.write("broken.order", "function_1\n*(.text.a .text.b)\n");
    let (code, output, error) = folder.run("check app --order doubled.order");
    assert_eq!(code, 1);
    assert_eq!(
        error,
        "trimtab: app does not honour doubled.order: 2 of 7 lines are unknown, allowed are 10.0 %\n"
    );
    for line in [
        "placed         3",
        "misplaced      0",
        "unknown        2  old_a, old_b",
        "duplicate      2  function_1, function_2",
        "all            7",
    ] {
        assert!(output.lines().any(|found| found == line), "{line}: {output}");
    }
    let (code, _, error) = folder.run("check app --order doubled.order --max-unknown 0.3");
    assert_eq!((code, error.as_str()), (0, ""));
    for (order, message) in [
        (
            "empty",
            "empty.order: the order is empty: expected a line for each function; write one with \
             `trimtab order`\n",
        ),
        (
            "broken",
            "broken.order: line 2 of the order: found `*(.text.a .text.b)`, expected a symbol, a \
             section name, or FILE(SECTION)\n",
        ),
        (
            "gone",
            "cannot read the order gone.order: No such file or directory (os error 2)\n  hint: \
             write one with trimtab order\n",
        ),
    ] {
        folder.fails(&format!("check app --order {order}.order"), &format!("trimtab: {message}"));
    }
}

#[test]
fn sections_and_runs_that_are_not_there() {
    let folder = Folder::new();
    folder.fails(
        "pages app --trace good.trace --section .init.text",
        "trimtab: app has no section .init.text with functions; it has .text\n",
    );
    let kernel = Elf::new()
        .text(".text", BASE, 0x1000)
        .label("_stext", BASE)
        .label("_etext", BASE + 0x1000)
        .label("__sched_text_start", BASE)
        .function("schedule", BASE, 0x20)
        .label("__sched_text_end", BASE + 0x20)
        .function("other", BASE + 0x40, 0x20);
    folder.write("vmlinux", kernel.build());
    folder.write("schedule.trace", "schedule\n");
    folder.fails(
        "order vmlinux --trace schedule.trace -o out",
        "trimtab: there is nothing to order: no function in .text of vmlinux that can be moved ran\
         \n  hint: trimtab pages says what ran in which section\n",
    );
}

#[test]
fn output_that_cannot_be_written() {
    let folder = Folder::new();
    folder.fails(
        "order app --trace good.trace -o no/such/folder",
        "trimtab: cannot write no/such/folder: there is no folder no/such\n",
    );
    folder.fails(
        "pages app --trace good.trace --html no/pages.html",
        "trimtab: cannot write no/pages.html: there is no folder no\n",
    );
    folder.fails(
        "check app --order good.trace --json .",
        "trimtab: cannot write .: it is a folder\n",
    );
    folder.fails(
        "trace --kernel bzImage -o no/boot.trace",
        "trimtab: cannot write no/boot.trace: there is no folder no\n",
    );
    folder.fails(
        "trace --kernel bzImage -o boot.trace",
        "trimtab: cannot read bzImage: No such file or directory (os error 2)\n",
    );
}

#[test]
fn a_wrapped_compiler_that_is_gone_is_named() {
    let folder = Folder::new();
    folder.fails(
        "wrapped-compile . /no/such/clang -- --version",
        "trimtab: cannot read ./settings.json: No such file or directory (os error 2)\n",
    );
    folder.write(
        "settings.json",
        r#"{"linker":"lld","path":"ld","takes_order":true,"together":true,"blocks":true}"#,
    );
    folder.fails(
        "wrapped-compile . /no/such/clang -- --version",
        "trimtab: cannot start /no/such/clang: No such file or directory (os error 2)\n",
    );
}

#[test]
fn usage_that_makes_no_sense() {
    let folder = Folder::new();
    for (command, message) in [
        (
            "order app --trace good.trace --linker kernel -o out",
            "trimtab: app is no Linux kernel: it has no symbols _stext, _etext and \
             __sched_text_start\n  hint: for another program give its linker: --linker lld, gold or \
             gnu\n",
        ),
        (
            "order app --trace good.trace --algorithm guess -o out",
            "trimtab: there is no algorithm guess, expected packed, first-execution, fault-curve, \
             balanced, pettis-hansen, c3, cdsort, nearness, critical-set, temporal, shuffled; see \
             --help\n  hint: trimtab order --list-algorithms says what each does\n",
        ),
        (
            "compare app --trace good.trace --algorithm guess",
            "trimtab: there is no algorithm guess; see --help\n  hint: trimtab order \
             --list-algorithms lists them\n",
        ),
        (
            "order app --trace good.trace --json -",
            "trimtab: both the order and its summary are to go to standard output; see --help\n  \
             hint: give the order a file: -o FILE\n",
        ),
        (
            "trace --kernel app --initramfs app --tracer ftrace -o out",
            "trimtab: --tracer ftrace needs trimtab's own guest, which sends the trace out of the \
             machine; see --help\n  hint: leave out --initramfs, or save the trace in your own \
             guest as on a board\n",
        ),
        (
            "trace --kernel app --stream all --tracer ftrace -o out",
            "trimtab: --stream needs --tracer plugin: ftrace sees no blocks; see --help\n",
        ),
    ] {
        let (code, output, error) = folder.run(command);
        assert_eq!((code, output.as_str(), error.as_str()), (2, "", message), "{command}");
    }
}

#[test]
fn an_order_on_standard_output_stands_alone() {
    let folder = Folder::new();
    let (code, output, error) = folder.run("order app --trace good.trace");
    assert_eq!(code, 0);
    assert!(output.starts_with("# Written by trimtab order"), "{output}");
    assert_eq!(output.lines().count(), 21);
    assert!(error.starts_with("order: 20 lines for lld, 20 functions, fault-curve order\n"));
    let again = folder.run("order app --trace good.trace -o -");
    assert_eq!(again, (code, output, error));
}

#[test]
fn patches_and_algorithms_are_printed() {
    let folder = Folder::new();
    for version in trimtab_link::LAYOUT.series() {
        let (code, output, _) = folder.run(&format!("order --print-patch {version}"));
        assert_eq!(code, 0);
        assert!(output.contains("CONFIG_FUNCTION_ORDER") && output.contains("diff --git"));
        assert!(output.contains(trimtab_link::KERNEL_ORDER), "where the order goes: {output}");
    }
    let (code, output, _) = folder.run("order --list-algorithms");
    assert_eq!(code, 0);
    assert!(output.starts_with("packed           first execution, "), "{output}");
    let (functions, parts) = output.split_once("\n\n").unwrap();
    assert_eq!(functions.lines().count(), 11);
    for name in ["in-place  ", "source  ", "ext-tsp  "] {
        assert!(parts.lines().any(|line| line.starts_with(name)), "{name}: {parts}");
    }
}

#[test]
fn a_shuffled_order_has_every_function_and_follows_its_seed() {
    let folder = Folder::new();
    let order = |seed: u32| {
        let command =
            format!("order app --trace good.trace --algorithm shuffled --seed {seed} -o -");
        let (code, output, _) = folder.run(&command);
        assert_eq!(code, 0);
        output
    };
    assert_eq!(order(1).lines().count(), 31);
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

#[test]
fn inputs_without_an_end_are_one_message() {
    let folder = Folder::new();
    fs::File::create(folder.path().join("holes")).unwrap().set_len(1 << 40).unwrap();
    let made = Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap();
    assert!(made.success());
    let cases = [
        ("/dev/zero", "it is not a file, but a device"),
        ("pipe", "it is not a file, but a named pipe"),
        ("holes", "it has 1024 GiB, expected at most 8"),
        (".", "it is not a file, but a folder"),
    ];
    for (input, message) in cases {
        for command in [
            format!("pages {input} --trace good.trace"),
            format!("pages app --trace {input}"),
            format!("pages app --trace good.trace --map {input}"),
            format!("order {input} --trace good.trace"),
            format!("order app --trace {input}"),
            format!("check app --order {input}"),
            format!("check {input} --order good.trace"),
        ] {
            let (code, output, error) = folder.run(&command);
            assert_eq!((code, output.as_str()), (1, ""), "{command}");
            assert!(error.contains(message), "{command}: {error}");
            assert!(error.lines().count() <= 2, "{command}: {error}");
        }
    }
    // A gigabyte of zeros is read up to where it is seen that it is nothing.
    fs::File::create(folder.path().join("zeros")).unwrap().set_len(1 << 30).unwrap();
    for command in [
        "pages zeros --trace good.trace",
        "pages app --trace zeros",
        "pages app --trace good.trace --map zeros",
        "check app --order zeros",
    ] {
        let output = Command::new("sh")
            .arg("-c")
            .arg(format!(
                "ulimit -v 4194304; exec timeout 10 {} {command}",
                env!("CARGO_BIN_EXE_trimtab")
            ))
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{command}");
        assert!(output.stderr.len() < 1000, "{command}");
    }
}

#[test]
fn a_kernel_patch_that_cannot_be_read_is_said_before_anything_is_built() {
    let folder = Folder::new();
    for command in ["rent run --gcma", "rent sweep --gcma", "rent verify --kernels none --gcma"] {
        folder.fails(
            &format!("{command} none.patch"),
            "trimtab: cannot read none.patch: No such file or directory (os error 2)\n",
        );
        folder.fails(
            &format!("{command} ."),
            "trimtab: cannot read .: it is not a file, but a folder\n",
        );
    }
}

#[test]
fn a_trace_can_come_by_a_pipe() {
    let folder = Folder::new();
    let trimtab = env!("CARGO_BIN_EXE_trimtab");
    for command in [
        format!("{trimtab} pages app --trace - < good.trace"),
        format!("cat good.trace | {trimtab} pages app --trace -"),
        format!("cat good.trace | {trimtab} pages app --trace /dev/stdin"),
    ] {
        let output =
            Command::new("sh").arg("-c").arg(&command).current_dir(folder.path()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("list trace, 20 events"), "{command}: {text}");
    }
}
