//! How long `trimtab pages` takes on a program of a kernel's size: made up, and the real one that
//! `TRIMTAB_BENCH_VMLINUX` and `TRIMTAB_BENCH_TRACE` name.
#![allow(missing_docs, clippy::expect_used)]

use std::fmt::Write;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use criterion::{Criterion, criterion_group, criterion_main};
use trimtab_fit::PagesRequest;
use trimtab_fit::pages::pages;
use trimtab_profile::{Profile, read};
use trimtab_program::Program;
use trimtab_report::Report;

/// Functions of the made-up kernel, and blocks that its boot runs.
const FUNCTIONS: u64 = 26_000;
const BLOCKS: usize = 51_000;

/// A step that meets every function before it meets one twice.
const STRIDE: usize = 7919;

/// The trace of a boot that runs one function in seven.
fn trace(program: &Program<'_>) -> String {
    let functions = program.functions();
    let mut text = String::from("trimtab-trace 1\nsource qemu-plugin\nevents\n");
    let hot = functions.len() / 7;
    for index in 0..BLOCKS {
        let function = &functions[(index % hot) * STRIDE % functions.len()];
        // The parts of each function, the first at its entry.
        let part = (index / hot) as u64;
        let start = function.range.start + part * function.range.length() / 15;
        let _ = writeln!(text, "{start:x} {} {}", 3 + index % 20, 1 + index % 9);
    }
    text
}

fn stages(criterion: &mut Criterion, name: &str, program_file: &Path, trace_file: &Path) {
    let request = PagesRequest {
        program: program_file.to_owned(),
        traces: vec![trace_file.to_owned()],
        map: None,
        section: None,
        min_coverage: 0.5,
        formats: &[],
    };
    let bytes = fs::read(program_file).expect("a program");
    let text = fs::read_to_string(trace_file).expect("a trace");
    let program = Program::parse(&bytes).expect("a readable ELF file");
    let events = read::read(&text).expect("a readable trace");
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10);
    group.bench_function("read the program", |bencher| {
        bencher.iter(|| Program::parse(black_box(&bytes)).expect("a readable ELF file"));
    });
    group.bench_function("read the trace", |bencher| {
        bencher.iter(|| read::read(black_box(&text)).expect("a readable trace"));
    });
    group.bench_function("find the trace in the program", |bencher| {
        bencher.iter(|| Profile::resolve(black_box(&events), &program));
    });
    group.bench_function("all of trimtab pages", |bencher| {
        bencher.iter(|| pages(black_box(&request)).expect("a report").to_json());
    });
    group.finish();
}

fn bench(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = trimtab_fixture::many_functions(FUNCTIONS, 0xffff_ffff_8100_0000);
    let [program_file, trace_file] = ["vmlinux", "trace"].map(|name| folder.path().join(name));
    fs::write(&program_file, &bytes).expect("room");
    let program = Program::parse(&bytes).expect("a readable ELF file");
    fs::write(&trace_file, trace(&program)).expect("room");
    stages(criterion, "made up", &program_file, &trace_file);

    let named = |name| std::env::var_os(name).map(PathBuf::from);
    if let (Some(program), Some(trace)) =
        (named("TRIMTAB_BENCH_VMLINUX"), named("TRIMTAB_BENCH_TRACE"))
    {
        stages(criterion, "real", &program, &trace);
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
