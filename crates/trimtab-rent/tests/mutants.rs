//! The oracle of rental memory finds an error in each kernel that lacks a hook or a check, and none in others.

#![allow(clippy::unwrap_used)]

mod common;

use common::work;
use trimtab_lab::observe::Silent;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::kernel::Source;
use trimtab_rent::feature::RENTAL_MUTANTS;
use trimtab_rent::run::{Basis, Checks, MUTANTS, VerifyRequest, verify};

#[test]
fn the_patch_fits_the_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let work = WorkDir::open(folder.path()).unwrap();
    let features = [&RENTAL_MUTANTS];
    let tree = Source::find(None, &features).unwrap().unpack(&work, &features).unwrap();
    let left_out = std::fs::read_to_string(tree.path.join("mm/readahead.c")).unwrap();
    assert!(left_out.contains("!rental_mutant(READAHEAD)"));
}

#[test]
#[ignore = "builds three kernels and boots them often: 90 minutes; cargo test -p trimtab-rent --test mutants -- --ignored"]
fn each_kernel_that_lacks_something_is_noticed_and_no_other() {
    let request = VerifyRequest {
        basis: Basis::new(work()),
        checks: vec![Checks::Plain, Checks::Kasan],
        operations: 100_000,
        mutants: MUTANTS.iter().collect(),
    };
    let found = verify(&request, &Silent).unwrap();
    let broken: Vec<_> = found.checks.iter().filter(|check| !check.ok).collect();
    assert!(broken.is_empty(), "{broken:?}");
    assert_eq!(found.verify.mutants_killed, MUTANTS.len() as u64);
    // Each hit, each return was in a guest that had to be right.
    assert!(found.verify.runs.iter().map(|run| run.found.hits).sum::<u64>() > 100_000);
}
