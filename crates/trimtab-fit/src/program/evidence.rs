//! All that the phases found of a program.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::report::{Namesakes, Split};
use anyhow::Result;
use trimtab_link::{Check, OrderFile, check};
use trimtab_native::program::trace::Tracer;
use trimtab_profile::Profile;

use super::laid_out::FileOrder;
use super::object::{LinkedFile, Object};
use super::request::ProgramRequest;
use super::start::Round;
use super::tooling::Tooling;
use super::traces::Run;
use super::workshop::Workshop;
use crate::shuffled::shuffled;

/// What was found; [`result::model`](super::result::model) makes the report of it.
pub(super) struct Evidence<'a> {
    pub request: &'a ProgramRequest,
    pub tooling: &'a Tooling,
    pub tracer: &'a Tracer,
    /// What was split, at the granularity of blocks.
    pub split: Option<Split>,
    /// For each object that clang compiled by blocks, the list of them that it was given.
    pub lists: Vec<(PathBuf, PathBuf)>,
    pub objects: Vec<Sides<'a>>,
    pub rounds: Vec<Round>,
    /// Whether faults were counted on a disk of our own.
    pub own_disk: bool,
    /// Of the measured run, before and after.
    pub instructions: Option<(u64, u64)>,
    /// Of the measured run in the program itself, before and after.
    pub jumps_taken: Option<(u64, u64)>,
    pub trace: PathBuf,
    pub seconds: Seconds,
}

/// One linked file, before and after.
pub(super) struct Sides<'a> {
    pub built: &'a LinkedFile,
    /// The script that put together what a start needs, where one did.
    pub together: Option<PathBuf>,
    pub before: &'a Object<'a>,
    pub after: &'a Object<'a>,
    /// A profile for each run; those held out come last.
    pub profiles: Vec<Profile>,
    pub profiles_after: Vec<Profile>,
    /// Pages that the measured run touches in random orders.
    pub shuffled: Vec<u32>,
    pub check: Check,
    /// What was laid out: as it was built, or with functions split.
    pub base: &'a Object<'a>,
    pub left_out: u64,
    pub namesakes: Namesakes,
}

/// How long the phases took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seconds {
    pub start: Instant,
    pub build: Duration,
    pub split: Duration,
    pub trace: Duration,
    pub layout: Duration,
    pub relink: Duration,
}

/// A version of all linked files, and what each run executed of it.
#[derive(Clone, Copy)]
pub(super) struct Version<'a> {
    pub objects: &'a [Object<'a>],
    pub runs: &'a [Run],
}

/// Puts together what belongs to each linked file. `base` is what was laid out by `orders`.
///
/// # Errors
/// None: the orders are ours.
pub(super) fn sides<'a>(
    workshop: &Workshop<'_>,
    linked: &'a [LinkedFile],
    (before, base, after): (Version<'a>, &'a [Object<'a>], Version<'a>),
    orders: &[FileOrder],
) -> Result<Vec<Sides<'a>>> {
    let mut all = Vec::new();
    for (at, (file, order)) in linked.iter().zip(orders).enumerate() {
        let (old, new) = (&before.objects[at], &after.objects[at]);
        let profiles = |runs: &[Run]| runs.iter().map(|run| run.profiles[at].clone()).collect();
        let parsed = OrderFile::parse(&order.written.text)?;
        let measured = &before.runs[0].profiles[at];
        all.push(Sides {
            built: file,
            together: file.link.together.then(|| workshop.builder.wrappers.together()),
            before: old,
            after: new,
            profiles: profiles(before.runs),
            profiles_after: profiles(after.runs),
            shuffled: shuffled(
                &old.fragments,
                measured,
                old.range(),
                |_| true,
                workshop.request.seed,
            ),
            check: check(&parsed, &new.program, &new.fragments, &[], Some(&base[at].program)),
            base: &base[at],
            left_out: order.written.left_out(),
            namesakes: order.namesakes,
        });
    }
    Ok(all)
}
