//! How long it takes to read a trace and to find it in its program.
#![allow(missing_docs, clippy::expect_used)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::fmt::Write;
use std::hint::black_box;
use trimtab_profile::{Profile, read};
use trimtab_program::Program;

const FUNCTIONS: u64 = 30_000;
const BLOCKS: usize = 150_000;
const LINES: usize = 400_000;

/// A step that meets every function before it meets one twice.
const STRIDE: usize = 7919;

fn native(program: &Program<'_>) -> String {
    let functions = program.functions();
    let mut text = String::from("trimtab-trace 1\nsource qemu-plugin\nevents\n");
    for index in 0..BLOCKS {
        let function = &functions[index * STRIDE % functions.len()];
        // Five blocks of each function, the first at its entry.
        let part = (index / functions.len()) as u64;
        let start = function.range.start + part * function.range.length() / 5;
        let _ = writeln!(text, "{start:x} {} {}", 3 + index % 40, 1 + index % 9);
    }
    text
}

fn ftrace(program: &Program<'_>) -> String {
    let functions = program.functions();
    let mut text = String::from("# tracer: function\n#\n");
    for index in 0..LINES {
        let name = functions[index * STRIDE % 4000].name;
        let _ = writeln!(
            text,
            "            init-1       [000] d....    {}.{:06}: {name} <-do_one_initcall",
            index / 100_000,
            index % 100_000
        );
    }
    text
}

fn read_trace(criterion: &mut Criterion) {
    let bytes = trimtab_fixture::many_functions(FUNCTIONS, 0xffff_ffff_8100_0000);
    let program = Program::parse(&bytes).expect("a readable ELF file");
    for (name, text) in [("native", native(&program)), ("ftrace", ftrace(&program))] {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function("read", |bencher| {
            bencher.iter(|| read::read(black_box(&text)).expect("a readable trace"));
        });
        let trace = read::read(&text).expect("a readable trace");
        group.throughput(Throughput::Elements(trace.events().len() as u64));
        group.bench_function("resolve", |bencher| {
            bencher.iter(|| Profile::resolve(black_box(&trace), &program));
        });
        group.finish();
    }
}

criterion_group!(benches, read_trace);
criterion_main!(benches);
