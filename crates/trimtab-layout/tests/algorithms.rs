//! What holds of every algorithm, whatever it is given.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use trimtab_layout::{
    Algorithm, DEFAULT_OF_KERNELS, DEFAULT_OF_PROGRAMS, FirstExecution, Flow, Order, PackedOrder,
    Piece, PieceId, Placement, Problem, Shuffle, Span, algorithms, algorithms_and_shuffled, named,
    pages,
};
use trimtab_program::{PAGE_SIZE, Range, RangeSet};

/// A problem with its own pieces.
#[derive(Debug, Clone)]
struct Owned {
    pieces: Vec<Piece>,
    runs: Vec<Vec<PieceId>>,
    start: u64,
}

impl Owned {
    fn problem(&self) -> Problem<'_> {
        Problem { pieces: &self.pieces, runs: &self.runs, start: self.start, flow: None }
    }
}

fn piece(exponents: std::ops::RangeInclusive<u32>) -> impl Strategy<Value = Piece> {
    let size = prop_oneof![8 => 0u64..700, 1 => 0u64..20_000];
    (size, exponents, prop::collection::vec(0.0f64..1.0, 0..4)).prop_map(
        |(size, exponent, mut cuts)| {
            // Ascending cuts, taken in pairs, are where execution begins and ends.
            cuts.sort_by(f64::total_cmp);
            let at = |cut: f64| (cut * size as f64) as u64;
            let executed = cuts
                .chunks_exact(2)
                .map(|pair| Span { start: at(pair[0]), end: at(pair[1]) })
                .filter(|span| span.start < span.end)
                .collect();
            Piece { size, alignment: 1 << exponent, executed }
        },
    )
}

/// Some pieces of any kind, or all of them hot, or none; runs are the hot pieces in any order.
fn any_problem(exponents: std::ops::RangeInclusive<u32>) -> impl Strategy<Value = Owned> {
    let pieces = prop::collection::vec(piece(exponents), 0..400);
    let start = prop_oneof![Just(0u64), 0u64..9_000, Just(0xffff_ffff_8100_0040)];
    (pieces, 0usize..4, 0u8..4, start, any::<u64>()).prop_map(
        |(pieces, runs, heat, start, seed)| {
            let mut pieces = pieces;
            for piece in &mut pieces {
                match heat {
                    0 => piece.executed.clear(),
                    1 if piece.size > 0 => {
                        piece.executed = vec![Span { start: 0, end: piece.size }]
                    }
                    _ => {}
                }
            }
            let hot: Vec<PieceId> = PieceId::all(pieces.len())
                .filter(|i| !pieces[i.index()].executed.is_empty())
                .collect();
            let runs = (0..runs)
                .map(|run| {
                    // What is executed is executed in one of the runs at least: the first has all of
                    // it, the others a part.
                    let shuffled = Shuffle { seed: seed.wrapping_add(run as u64) };
                    let order = Algorithm::order(
                        &shuffled,
                        &Problem { pieces: &pieces, runs: &[], start: 0, flow: None },
                    );
                    let in_run = |i: &PieceId| {
                        hot.contains(i) && (run == 0 || i.0.is_multiple_of(run as u32 + 1))
                    };
                    order.pieces().iter().copied().filter(in_run).collect()
                })
                .collect();
            Owned { pieces, runs, start }
        },
    )
}

fn every_algorithm() -> Vec<Box<dyn Algorithm>> {
    algorithms_and_shuffled(7)
}

fn assert_permutation(order: &Order, count: usize) {
    let mut seen: Vec<PieceId> = order.pieces().to_vec();
    seen.sort_unstable();
    assert_eq!(seen, PieceId::all(count).collect::<Vec<_>>());
    assert!(order.listed().len() <= count);
    assert_eq!(order.listed(), &order.pieces()[..order.listed().len()]);
}

/// The bytes that the pieces of the first run execute, where they lie in `placement`.
fn executed_in_first_run(problem: &Problem<'_>, placement: &Placement) -> RangeSet {
    let mut ranges = Vec::new();
    for &index in problem.runs.first().into_iter().flatten() {
        let address = placement.address(index);
        let spans = &problem.pieces[index.index()].executed;
        ranges
            .extend(spans.iter().map(|s| Range { start: address + s.start, end: address + s.end }));
    }
    RangeSet::new(ranges)
}

proptest! {
    #[test]
    fn orders_are_permutations_and_repeat(owned in any_problem(0..=6)) {
        let problem = owned.problem();
        for algorithm in every_algorithm() {
            let order = algorithm.order(&problem);
            assert_permutation(&order, owned.pieces.len());
            prop_assert_eq!(&order, &algorithm.order(&problem), "{}", algorithm.name());
        }
    }

    #[test]
    fn a_flow_of_any_kind_is_ordered(
        owned in any_problem(0..=4),
        picks in prop::collection::vec(any::<u32>(), 0..400),
    ) {
        let count = owned.pieces.len();
        let sequence = picks.iter().map(|pick| PieceId(pick % (count as u32 + 3))).collect();
        let flow = Flow::observed(vec![sequence], count);
        let problem = Problem { flow: Some(&flow), ..owned.problem() };
        for algorithm in every_algorithm() {
            let order = algorithm.order(&problem);
            assert_permutation(&order, count);
            prop_assert_eq!(&order, &algorithm.order(&problem), "{}", algorithm.name());
        }
    }

    #[test]
    fn all_that_ran_is_listed(owned in any_problem(0..=4)) {
        for algorithm in every_algorithm() {
            let order = algorithm.order(&owned.problem());
            let listed: std::collections::HashSet<PieceId> = order.listed().iter().copied().collect();
            let all = owned.runs.iter().flatten().all(|piece| listed.contains(piece));
            prop_assert!(all, "{}", algorithm.name());
        }
    }

    #[test]
    fn pieces_are_placed_aligned_and_apart(owned in any_problem(0..=6)) {
        let problem = owned.problem();
        for algorithm in every_algorithm() {
            let order = algorithm.order(&problem);
            let placement = Placement::new(&problem, &order);
            let mut end = owned.start;
            for &index in order.pieces() {
                let piece = &owned.pieces[index.index()];
                let address = placement.address(index);
                prop_assert_eq!(address % piece.alignment, 0);
                prop_assert!(address >= end, "{} overlaps", index);
                prop_assert!(address - end < piece.alignment, "{} leaves a gap", index);
                end = address + piece.size;
            }
            prop_assert_eq!(placement.end(), end);
        }
    }

    #[test]
    fn what_ran_first_comes_first(owned in any_problem(0..=6)) {
        let order = FirstExecution.order(&owned.problem());
        let mut expected: Vec<PieceId> = Vec::new();
        for &piece in owned.runs.iter().flatten() {
            if !expected.contains(&piece) {
                expected.push(piece);
            }
        }
        prop_assert_eq!(order.listed(), expected);
    }

    #[test]
    fn packing_lists_nothing_without_runs(owned in any_problem(0..=6)) {
        let problem = Problem { runs: &[], ..owned.problem() };
        prop_assert!(PackedOrder::default().order(&problem).listed().is_empty());
    }

    #[test]
    fn packing_touches_no_more_than_its_hot_pieces_fill(owned in any_problem(4..=6)) {
        let problem = owned.problem();
        let placement = Placement::new(&problem, &PackedOrder::default().order(&problem));
        let touched = pages::touched(&executed_in_first_run(&problem, &placement)).len() as u64;
        let filled: u64 = owned
            .runs
            .first()
            .into_iter()
            .flatten()
            .map(|&index| &owned.pieces[index.index()])
            .map(|piece| piece.size + piece.alignment - 1)
            .sum();
        let most = pages::minimum(owned.start % PAGE_SIZE + filled);
        prop_assert!(touched <= most, "{} pages, expected at most {}", touched, most);
    }
}

proptest! {
    // Each of these problems is large.
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn large_problems_too(
        count in 15_000usize..=20_000,
        kinds in prop::collection::vec(piece(0..=6), 50),
    ) {
        let pieces: Vec<Piece> =
            (0..count).map(|index| kinds[index * 7919 % kinds.len()].clone()).collect();
        let hot = PieceId::all(count).rev().filter(|i| !pieces[i.index()].executed.is_empty());
        let runs = [hot.collect()];
        let problem = Problem { pieces: &pieces, runs: &runs, start: 0x1000, flow: None };
        for algorithm in every_algorithm() {
            let order = algorithm.order(&problem);
            assert_permutation(&order, count);
            prop_assert_eq!(order, algorithm.order(&problem));
        }
    }
}

/// Compilers that optimise for size align nothing: a piece can begin in the last byte of a page.
#[test]
fn packing_leaves_cold_pages_alone_without_alignment() {
    let mut pieces = Vec::new();
    for index in 0..6000 {
        let (size, executed) = match index % 15 {
            0 => (300 + index % 37, vec![Span { start: 0, end: 200 }]),
            _ => (5 + index * 31 % 691, Vec::new()),
        };
        pieces.push(Piece { size, alignment: 1, executed });
    }
    let runs = [(0..6000).step_by(15).map(PieceId).collect::<Vec<_>>()];
    let problem = Problem { pieces: &pieces, runs: &runs, start: 0x1000, flow: None };
    let touched = |order: &Order| {
        let placement = Placement::new(&problem, order);
        pages::touched(&executed_in_first_run(&problem, &placement)).len() as u64
    };
    let whole: u64 = runs[0].iter().map(|index| pieces[index.index()].size).sum();
    let packed = touched(&PackedOrder::default().order(&problem));
    assert!(packed < pages::minimum(whole), "{packed} of {}", pages::minimum(whole));
}

#[test]
fn nothing_and_damaged_problems_do_no_harm() {
    let nonsense = [
        Piece { size: u64::MAX, alignment: 0, executed: vec![Span { start: 5, end: 2 }] },
        Piece { size: 10, alignment: 3, executed: vec![Span { start: 0, end: u64::MAX }] },
        Piece { size: u64::MAX, alignment: 1 << 63, executed: vec![Span { start: 0, end: 9 }] },
    ];
    // Runs name pieces twice.
    let runs = [[2, 1, 2, 0].map(PieceId).to_vec(), vec![PieceId(1)]];
    for pieces in [&nonsense[..], &[]] {
        let runs = if pieces.is_empty() { &[][..] } else { &runs };
        for start in [0, u64::MAX - 5] {
            let problem = Problem { pieces, runs, start, flow: None };
            for algorithm in every_algorithm() {
                let order = algorithm.order(&problem);
                assert_permutation(&order, pieces.len());
                Placement::new(&problem, &order);
            }
        }
    }
}

#[test]
fn algorithms_have_names_of_their_own() {
    for algorithm in algorithms() {
        let found = named(algorithms(), algorithm.name()).unwrap();
        assert_eq!(found.description(), algorithm.description());
    }
    let unknown = named(algorithms(), "guess").map(|_| ()).unwrap_err();
    assert_eq!(unknown.known.len(), algorithms().len());
    assert_eq!(algorithms()[0].name(), DEFAULT_OF_KERNELS, "the default comes first");
    assert!(named(algorithms(), DEFAULT_OF_PROGRAMS).is_ok());
}

#[test]
fn another_seed_gives_another_shuffle() {
    let pieces = vec![Piece { size: 16, alignment: 16, executed: Vec::new() }; 100];
    let problem = Problem { pieces: &pieces, runs: &[], start: 0, flow: None };
    let order = |seed| Shuffle { seed }.order(&problem);
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}
