//! How long it takes to replay a trace of a page cache.
#![allow(missing_docs, clippy::expect_used)]

use std::collections::VecDeque;
use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use trimtab_rent::plan::{Plan, Planner, Settings};

/// Pages of a file, and of normal memory.
const PAGES: u64 = 60_000;
const FRAMES: usize = 20_000;
const READS: u64 = 200_000;

/// Reads at random, with a page cache that evicts what came first.
fn trace() -> String {
    let mut text = String::new();
    let (mut resident, mut is_there) = (VecDeque::new(), vec![false; PAGES as usize]);
    let (mut time, mut random) = (0, 1_u64);
    let mut line = |event: &str, page: u64| {
        time += 1;
        let (task, offset) = (if event == "add_to" { "fio-7" } else { "kswapd0-42" }, page << 12);
        let _ = writeln!(
            text,
            "{task:>16} [000] d..1. {}.{:06}: mm_filemap_{event}_page_cache: dev 254:0 ino c pfn=0x{page:x} \
             ofs={offset} order=0",
            time / 1_000_000,
            time % 1_000_000
        );
    };
    for _ in 0..READS {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let page = (random >> 33) % PAGES;
        if std::mem::replace(&mut is_there[page as usize], true) {
            continue;
        }
        if resident.len() == FRAMES {
            let oldest: u64 = resident.pop_front().expect("frames are full");
            is_there[oldest as usize] = false;
            line("delete_from", oldest);
        }
        line("add_to", page);
        resident.push_back(page);
    }
    text
}

fn plan(text: &str, pools: &[u32]) -> Plan {
    let mut planner = Planner::new(Settings {
        page_size: 4096,
        pools: pools.to_vec(),
        copy_nanoseconds: 2000.0,
        normal: None,
        from: None,
    });
    planner.feed(text.as_bytes()).expect("a readable trace");
    planner.finish().expect("a trace with evictions")
}

fn replay(criterion: &mut Criterion) {
    let text = trace();
    let mut group = criterion.benchmark_group("replay");
    group.throughput(Throughput::Elements(text.lines().count() as u64)).sample_size(10);
    // The size of the largest pool decides how deep a copy can be.
    for pools in [&[1_000][..], &[1_000, 10_000, 100_000, 1_000_000]] {
        group.bench_function(format!("{} pools", pools.len()), |bencher| {
            bencher.iter(|| plan(black_box(&text), pools));
        });
    }
    group.finish();
}

criterion_group!(benches, replay);
criterion_main!(benches);
