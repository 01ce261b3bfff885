//! How long it takes to read an ELF file: `TRIMTAB_BENCH_VMLINUX`, else one made for it.
#![allow(missing_docs, clippy::expect_used)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use trimtab_program::Program;

const FUNCTIONS: u64 = 30_000;

fn read_elf(criterion: &mut Criterion) {
    let (name, bytes) = match std::env::var_os("TRIMTAB_BENCH_VMLINUX") {
        Some(path) => {
            let bytes = std::fs::read(&path).expect("TRIMTAB_BENCH_VMLINUX must name a file");
            ("vmlinux".to_owned(), bytes)
        }
        None => {
            let bytes = trimtab_fixture::many_functions(FUNCTIONS, 0xffff_ffff_8100_0000);
            (format!("{FUNCTIONS} functions"), bytes)
        }
    };
    let functions = Program::parse(&bytes).expect("a readable ELF file").functions().len();
    let mut group = criterion.benchmark_group("read_elf");
    group.throughput(Throughput::Elements(functions as u64));
    group.bench_function(name, |bencher| {
        bencher.iter(|| Program::parse(black_box(&bytes)).expect("a readable ELF file"));
    });
    group.finish();
}

criterion_group!(benches, read_elf);
criterion_main!(benches);
