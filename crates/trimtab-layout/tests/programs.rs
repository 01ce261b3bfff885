//! Layouts of whole programs: what is movable, where it comes to lie, where pages come from.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use trimtab_fixture::{Elf, many_functions};
use trimtab_layout::{
    Algorithm, Excess, FirstExecution, Footprint, Movable, PackedOrder, PieceId, Placement,
    functions_run, pages,
};
use trimtab_profile::{Place, Profile, Source, Trace};
use trimtab_program::{Fragment, Fragments, PAGE_SIZE, Program, Range, RangeSet};

const BASE: u64 = 0xffff_ffff_8100_0000;

/// A profile of these functions, of each the first so many bytes.
fn profile(program: &Program<'_>, runs: &[(usize, u64)]) -> Profile {
    let mut trace = Trace::new(Source::QemuPlugin);
    for &(index, length) in runs {
        let range = program.functions()[index % program.functions().len()].range;
        let length = length.clamp(1, range.length()) as u32;
        trace.record(Place::Block { start: range.start, length }, None, 1);
    }
    Profile::resolve(&trace, program)
}

fn runs() -> impl Strategy<Value = Vec<(usize, u64)>> {
    prop::collection::vec((0usize..600, 1u64..600), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_causes_of_excess_add_up(runs in runs(), every in 1u64..5) {
        let bytes = many_functions(600, BASE);
        let program = Program::parse(&bytes).unwrap();
        let (section, _) = program.section_named(".text").unwrap();
        let fragments = Fragments::from_symbols(&program, section);
        let profile = profile(&program, &runs);
        let ran = functions_run(&program, section, &profile);
        let movable = |f: &Fragment<'_>| (f.range.start / PAGE_SIZE).is_multiple_of(every);
        let excess = Excess::account(&program, &fragments, profile.executed(), &ran, movable);
        let footprint = Footprint::of(&program, section, &profile);
        let sum = excess.alignment
            + excess.pinned_sections
            + excess.sharing
            + excess.cold_parts
            + excess.other;
        let above = footprint.touched as f64 - footprint.function_pages as f64;
        prop_assert!((sum - above).abs() < 1e-6, "{sum} and {above}");
        prop_assert!(excess.alignment >= 0.0 && excess.sharing >= 0.0);
        prop_assert!(excess.pinned_sections >= 0.0 && excess.cold_parts <= 0.0);
        if every == 1 {
            prop_assert_eq!(excess.pinned_sections, 0.0);
        }
    }

    #[test]
    fn a_footprint_is_consistent(runs in runs()) {
        let bytes = many_functions(600, BASE);
        let program = Program::parse(&bytes).unwrap();
        let (section, text) = program.section_named(".text").unwrap();
        let profile = profile(&program, &runs);
        let footprint = Footprint::of(&program, section, &profile);
        prop_assert!(footprint.executed_pages <= footprint.function_pages);
        prop_assert!(footprint.executed_pages <= footprint.touched);
        prop_assert!(footprint.touched <= footprint.pages_spanned);
        prop_assert_eq!(footprint.curve.last().copied().map(u64::from), Some(footprint.touched));
        prop_assert_eq!(footprint.functions, 600);
        prop_assert_eq!(footprint.functions_executed, profile.functions().len() as u64);
        prop_assert_eq!(footprint.pages_spanned, pages::spanned(text.range));
    }

    #[test]
    fn moved_bytes_are_neither_lost_nor_doubled(runs in runs(), every in 1u64..4) {
        let bytes = many_functions(600, BASE);
        let program = Program::parse(&bytes).unwrap();
        let (section, _) = program.section_named(".text").unwrap();
        let fragments = Fragments::from_symbols(&program, section);
        let profile = profile(&program, &runs);
        // What is not movable lies in front, as in a kernel.
        let limit = BASE + (every - 1) * PAGE_SIZE;
        let movable =
            Movable::new(&fragments, std::slice::from_ref(&profile), |f| f.range.start >= limit);
        let problem = movable.problem();
        for algorithm in [&PackedOrder::default() as &dyn Algorithm, &FirstExecution] {
            let placement = Placement::new(&problem, &algorithm.order(&problem));
            let moved = movable.moved(&fragments, &placement, profile.executed());
            prop_assert_eq!(moved.bytes(), profile.executed().bytes());
            let stays = Range { start: BASE, end: limit };
            let kept: Vec<Range> = profile.executed().within(stays).collect();
            for range in kept {
                let end = range.end.min(problem.start);
                prop_assert_eq!(
                    moved.within(Range { start: range.start, end }).map(Range::length).sum::<u64>(),
                    end.saturating_sub(range.start)
                );
            }
        }
    }
}

#[test]
fn bytes_outside_of_any_piece_stay() {
    let bytes = many_functions(3, BASE);
    let program = Program::parse(&bytes).unwrap();
    let (section, _) = program.section_named(".text").unwrap();
    let fragments = Fragments::from_symbols(&program, section);
    let places: Vec<Range> = fragments.as_slice().iter().map(|f| f.range).collect();
    let profile = profile(&program, &[(2, 8), (0, 8)]);
    // The second stays, so the third comes first and the first behind it.
    let second = places[1].start;
    let movable = Movable::new(&fragments, &[profile], |f| f.range.start != second);
    let problem = movable.problem();
    let order = FirstExecution.order(&problem);
    let listed: Vec<u64> =
        order.listed().iter().map(|p| fragments.get(movable.fragment(*p)).range.start).collect();
    assert_eq!(listed, [places[2].start, places[0].start]);
    let placement = Placement::new(&problem, &order);
    let executed = RangeSet::new(vec![
        Range::with_length(places[0].start + 2, 4),
        Range::with_length(second + 1, 3),
        Range::with_length(BASE + 0x10_0000, 7),
    ]);
    let behind = placement.address(PieceId(0));
    assert_eq!(placement.address(PieceId(1)), BASE);
    assert_eq!(
        movable.moved(&fragments, &placement, &executed),
        RangeSet::new(vec![
            Range::with_length(behind + 2, 4),
            Range::with_length(second + 1, 3),
            Range::with_length(BASE + 0x10_0000, 7),
        ])
    );
}

/// Code of assembly often has no symbol that says how long it is.
#[test]
fn code_outside_of_functions_is_part_of_the_least() {
    let text = 4 * PAGE_SIZE;
    let bytes = Elf::new()
        .entry(BASE)
        .segment(BASE, BASE, text)
        .text(".text", BASE, text)
        .function("start", BASE, 16)
        .build();
    let program = Program::parse(&bytes).unwrap();
    let (section, _) = program.section_named(".text").unwrap();
    let mut trace = Trace::new(Source::QemuPlugin);
    trace.record(Place::Block { start: BASE, length: 3 * PAGE_SIZE as u32 }, None, 1);
    let profile = Profile::resolve(&trace, &program);
    let footprint = Footprint::of(&program, section, &profile);
    assert_eq!((footprint.executed_pages, footprint.function_pages, footprint.touched), (3, 3, 3));
    let fragments = Fragments::from_symbols(&program, section);
    let ran = functions_run(&program, section, &profile);
    let excess = Excess::account(&program, &fragments, profile.executed(), &ran, |_| true);
    let sum = excess.alignment + excess.sharing + excess.pinned_sections + excess.cold_parts;
    assert_eq!(sum + excess.other, 0.0, "{excess:?}");
}
