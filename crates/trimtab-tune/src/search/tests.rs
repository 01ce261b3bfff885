//! Searches on functions that stand in for a compiler and a program.

use std::cell::Cell;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use proptest::prelude::*;

use super::*;
use crate::space::tests::space;

/// What a point costs: most options do nothing, some help, some hurt, two help only together, and one
/// fails.
fn synthetic(point: &Point, hardness: u64) -> Outcome {
    let mut cost = 1.0;
    let mut image = DefaultHasher::new();
    for chosen in point.chosen() {
        let mut hasher = DefaultHasher::new();
        (chosen.choice, chosen.option, hardness).hash(&mut hasher);
        match hasher.finish() % 20 {
            0..2 => cost *= 0.985,
            2..7 => cost *= 1.01,
            7 if chosen.choice > 20 => return Outcome::Failed,
            _ => continue,
        }
        chosen.hash(&mut image);
    }
    if point.at(4) > 0 && point.at(9) > 0 {
        cost *= 0.95;
        7.hash(&mut image);
    }
    Outcome::Measured { ratio: cost, image: image.finish() }
}

fn run(method: Method, seed: u64, budget: usize) -> SearchLog {
    let space = space(60);
    let seeds = [space.base(), space.base().with(0, 2)];
    let mut search = method.begin(&space, &seeds, seed, budget);
    let evaluate = |points: &[Point]| -> Result<Vec<Outcome>, std::convert::Infallible> {
        Ok(points.iter().map(|point| synthetic(point, 3)).collect())
    };
    match drive(search.as_mut(), budget, 2, evaluate) {
        Ok(driven) => driven,
        Err(never) => match never {},
    }
}

/// Has a search name all that it wants to know before it goes on; how many that is.
pub(super) fn generation(search: &mut dyn Search) -> usize {
    let named = search.ask(100);
    for point in &named {
        search.tell(point, &synthetic(point, 3));
    }
    named.len()
}

fn mean_best(method: Method, budget: usize) -> f64 {
    let best = |seed| run(method, seed, budget).best().unwrap().outcome.cost().ln();
    (0..10).map(best).sum::<f64>() / 10.0
}

#[test]
fn the_same_seed_tries_the_same_points() {
    for method in Method::ALL {
        let (one, other) = (run(method, 7, 60), run(method, 7, 60));
        assert_eq!(one, other, "{method}");
        assert_ne!(one, run(method, 8, 60), "{method}");
        assert!(one.tried.len() <= 60);
        let best = one.best_so_far();
        assert!(best.windows(2).all(|pair| pair[1] <= pair[0]), "{method}");
    }
}

#[test]
fn ours_finds_more_than_all_others() {
    let ours = mean_best(Method::Incumbent, 100);
    for method in [Method::Random, Method::Paper, Method::OnePlusOne, Method::Tpe] {
        let other = mean_best(method, 100);
        assert!(ours < other, "{method}: {other}, ours {ours}");
    }
}

#[test]
fn no_search_that_takes_seeds_ends_worse_than_they_are() {
    for method in [Method::Incumbent, Method::OnePlusOne, Method::Tpe] {
        for seed in 0..5 {
            let best = run(method, seed, 20).best().unwrap().outcome.cost();
            assert!(best <= 1.0, "{method} {seed}: {best}");
        }
    }
}

#[test]
fn ours_does_not_name_what_it_knows_or_what_is_bound_to_fail() {
    let driven = run(Method::Incumbent, 1, 200);
    assert_eq!(driven.proposed, driven.tried.len() as u64);
    let failed =
        |tried: &[Attempt]| tried.iter().filter(|tried| !tried.outcome.cost().is_finite()).count();
    let (early, late) = (failed(&driven.tried[..100]), failed(&driven.tried[100..]));
    assert!(late <= early, "{early} {late}");
}

#[test]
fn what_was_told_before_leads_to_where_it_was() {
    for method in Method::ALL {
        let whole = run(method, 3, 40);
        // An interrupted run asks and tells again what is stored, and goes on behind it.
        let space = space(60);
        let seeds = [space.base(), space.base().with(0, 2)];
        let mut search = method.begin(&space, &seeds, 3, 40);
        let built = Cell::new(0);
        let evaluate = |points: &[Point]| -> Result<Vec<Outcome>, std::convert::Infallible> {
            let outcome = |point: &Point| {
                let stored = whole.tried[..20].iter().find(|tried| tried.point == *point);
                stored.map_or_else(
                    || {
                        built.set(built.get() + 1);
                        synthetic(point, 3)
                    },
                    |tried| tried.outcome.clone(),
                )
            };
            Ok(points.iter().map(outcome).collect())
        };
        let Ok(again) = drive(search.as_mut(), 40, 2, evaluate);
        assert_eq!(again, whole, "{method}");
        assert_eq!(built.get(), whole.tried.len() - 20, "{method}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn every_point_is_in_the_space(seed in any::<u64>(), choices in 1usize..40, batch in 1usize..7) {
        let space = space(choices);
        for method in Method::ALL {
            let mut search = method.begin(&space, &[], seed, 30);
            let evaluate = |points: &[Point]| -> Result<Vec<Outcome>, String> {
                if points.len() > batch {
                    return Err(format!("{} points", points.len()));
                }
                for point in points {
                    if point.values().len() != choices
                        || (0..choices).any(|at| point.at(at) > space.most(at))
                    {
                        return Err(format!("{point:?}"));
                    }
                }
                Ok(points.iter().map(|point| synthetic(point, seed)).collect())
            };
            let driven = drive(search.as_mut(), 30, batch, evaluate);
            prop_assert!(driven.is_ok(), "{method}: {driven:?}");
        }
    }
}

#[test]
fn seeds_that_have_what_made_another_fail_are_not_tried() {
    let space = space(10);
    let with = |options: &[(usize, u8)]| {
        options.iter().fold(space.base(), |point, (choice, option)| point.with(*choice, *option))
    };
    let seeds =
        [with(&[(1, 1)]), with(&[(1, 1), (2, 1)]), with(&[(2, 1)]), with(&[(4, 1), (2, 1)])];
    let mut search = Method::Incumbent.begin(&space, &seeds, 1, 40);
    let mut failed = 0;
    for _ in 0..20 {
        for point in search.ask(1) {
            let fails = point.at(2) > 0;
            failed += u32::from(fails);
            let measured = Outcome::Measured { ratio: 1.0, image: u64::from(point.at(1)) };
            search.tell(&point, if fails { &Outcome::Failed } else { &measured });
        }
    }
    assert_eq!(failed, 1, "the second seed shows it");
}
