//! The guests of loads. What runs programs has them in its root, which is memory, so it has a guest of its own.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::thread;

use anyhow::{Context, Result};
use trimtab_lab::observe::Observe;
use trimtab_lab::threads;
use trimtab_lab::workdir::WorkDir;
use trimtab_report::common::Repeat;

use super::basis::Basis;
use super::guest::{Guest, GuestRequest};
use super::kernel::Kernel;
use super::load::Load;
use super::programs::Programs;

/// The most guests at once: each takes up to a gigabyte.
const MOST_AT_ONCE: usize = 4;

/// Boots guests side by side, each of which has one CPU and its instructions as its clock; what they said is in the order
/// of `asked`.
///
/// # Errors
/// The first of any.
pub(super) fn side_by_side<Asked: Sync, Found: Send>(
    asked: &[Asked],
    boot: impl Fn(&Asked) -> Result<Found> + Sync,
) -> Result<Vec<Found>> {
    let at_once = thread::available_parallelism().map_or(1, usize::from).min(MOST_AT_ONCE);
    threads::each_on(at_once, asked, |_, asked| boot(asked), |_| ())
}

/// What a guest may be asked to run: a name, and commands.
pub(super) type ScriptOf = (String, String);

/// One guest for each load that runs programs of this machine, and one for all else, as far as they are needed.
#[derive(Debug)]
pub(super) struct Guests<'work>(BTreeMap<Kind, (Programs, Guest<'work>)>);

/// What is in a guest's root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// What each guest has.
    Usual,
    /// Programs that are started as well.
    Started,
    /// What a workload of this name needs as well.
    Rounds(&'static str),
}

impl Kind {
    fn of(load: Option<Load>) -> Self {
        match load {
            Some(Load::Starts) => Self::Started,
            Some(Load::Rounds(rounds)) => Self::Rounds(rounds.name()),
            Some(Load::Files(_)) | None => Self::Usual,
        }
    }

    /// For people.
    fn name(self) -> String {
        match self {
            Self::Usual => "guest".to_owned(),
            Self::Started => "guest with programs".to_owned(),
            Self::Rounds(name) => format!("guest with programs for {name}"),
        }
    }
}

impl<'work> Guests<'work> {
    /// Builds those that are needed, of such a kernel whose configuration has more `lines`, for these scripts, which `scripts` gives for a load, or for what is none, and the
    /// programs that it runs.
    ///
    /// # Errors
    /// Missing tools, builds that fail.
    pub(super) fn build(
        work: &'work WorkDir,
        (basis, kernel, lines): (&Basis, Kernel<'_>, &str),
        loads: &[Option<Load>],
        scripts: impl Fn(Option<Load>, &Programs) -> Vec<ScriptOf>,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let mut of_kind: BTreeMap<Kind, (Programs, Vec<ScriptOf>)> = BTreeMap::new();
        for &load in loads {
            let kind = Kind::of(load);
            let (programs, all) = match of_kind.entry(kind) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    let found = load.map(|load| Programs::of(load, basis.isa)).transpose()?;
                    entry.insert((found.unwrap_or_default(), Vec::new()))
                }
            };
            all.extend(scripts(load, programs));
        }
        let mut guests = BTreeMap::new();
        for (kind, (programs, mut scripts)) in of_kind {
            scripts.sort();
            scripts.dedup();
            let files = programs.files.clone();
            let asked = GuestRequest { basis, lines, scripts, files };
            guests.insert(kind, (programs, Guest::build_with(work, &asked, kernel, observe)?));
        }
        Ok(Self(guests))
    }

    /// The guest in which a load runs, or what is no load, and the programs that it has.
    ///
    /// # Errors
    /// It was not built.
    pub(super) fn of(&self, load: Option<Load>) -> Result<(&Programs, &Guest<'work>)> {
        let found = self.0.get(&Kind::of(load)).context("no guest was built for this")?;
        Ok((&found.0, &found.1))
    }

    fn any(&self) -> Result<&Guest<'work>> {
        let (_, guest) = self.0.values().next().context("no guest was built")?;
        Ok(guest)
    }

    /// The release of their kernel.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn kernel_version(&self) -> Result<String> {
        Ok(self.any()?.kernel_version.clone())
    }

    /// What it takes to get a report of them again.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub(super) fn repeat(&self, basis: &Basis) -> Result<Repeat> {
        let mut inputs = BTreeMap::new();
        for (kind, (_, guest)) in &self.0 {
            let (kernel, root) = guest.hashes()?;
            inputs.insert("kernel".to_owned(), kernel);
            inputs.insert(kind.name(), root);
        }
        Ok(basis.repeat(self.any()?, inputs))
    }
}
