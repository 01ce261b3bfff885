//! How long packing code into pages takes as programs grow.
//!
//! `cargo bench -p trimtab-layout --bench paged [-- PIECES...]`
//!
//! Programs are made up, shaped after the lab kernel: one piece in twenty is resident and called from
//! everywhere; each piece calls four others, mostly near ones; one in eight runs, in phases of sixty
//! pieces that are near each other and repeat.
#![allow(missing_docs)]

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::time::Instant;
use trimtab_layout::paged::{PageProblem, PagedPiece, packings};
use trimtab_layout::{Edge, PieceId};

/// Sizes, where the command line gives none.
const SIZES: [usize; 4] = [12_500, 25_000, 50_000, 100_000];

fn pieces(count: usize, chance: &mut ChaCha8Rng) -> Vec<PagedPiece> {
    let mut position = 0;
    let piece = |index: usize| {
        let size = chance.random_range(16..500) * chance.random_range(1..3u64);
        position += size;
        PagedPiece {
            size,
            alignment: 16,
            position,
            resident: index.is_multiple_of(20),
            entry: index % 30 == 1,
        }
    };
    (0..count).map(piece).collect()
}

fn edges(count: usize, chance: &mut ChaCha8Rng) -> Vec<Edge> {
    let mut edges = Vec::new();
    for from in 0..count {
        for _ in 0..4 {
            let to = match chance.random_range(0..10) {
                0 => chance.random_range(0..count),
                1..4 => chance.random_range(0..count.div_ceil(20)) * 20,
                _ => (from + chance.random_range(1..40)) % count,
            };
            let taken = if from.is_multiple_of(8) { chance.random_range(0..100) } else { 0 };
            edges.push(Edge { from: PieceId::at(from), to: PieceId::at(to), count: taken });
        }
    }
    edges
}

fn references(count: usize, chance: &mut ChaCha8Rng) -> Vec<PieceId> {
    let mut all = Vec::with_capacity(count * 10);
    while all.len() < count * 10 {
        let first = chance.random_range(0..count);
        for round in 0..chance.random_range(1..4) {
            for step in 0..60 {
                let piece = (first + (step * 8) + round) % count;
                if !piece.is_multiple_of(20) {
                    all.push(PieceId::at(piece));
                }
            }
        }
    }
    all
}

fn main() {
    // Cargo passes options of its own, such as --bench.
    let given: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let test = std::env::args().any(|word| word == "--test");
    let sizes = match (given.is_empty(), test) {
        (false, _) => given,
        (true, true) => vec![500],
        (true, false) => SIZES.to_vec(),
    };
    for count in sizes {
        let mut chance = ChaCha8Rng::seed_from_u64(count as u64);
        let count = count.max(100);
        let pieces = pieces(count, &mut chance);
        let edges = edges(count, &mut chance);
        let references = [references(count, &mut chance)];
        let problem =
            PageProblem { pieces: &pieces, edges: &edges, references: &references, page: 4096 };
        println!("{count} pieces, {} edges, {} references", edges.len(), references[0].len());
        for packing in packings(16) {
            let start = Instant::now();
            let pages = packing.pack(&problem).places(&problem).pages;
            println!(
                "  {:<14} {:>7.2} s  {pages} pages",
                packing.name(),
                start.elapsed().as_secs_f64()
            );
        }
    }
}
