//! The guests of loads. What starts programs has them in its root, which is memory, so it has a guest of its own.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::WorkDir;
use trimtab_report::common::Repeat;

use super::basis::Basis;
use super::guest::{Guest, GuestRequest};
use super::load::Load;
use super::programs::Programs;

/// What runs beside or in which load, if it does; its name, and its commands.
pub(super) type ScriptOf = (Option<Load>, String, String);

/// One guest for what starts programs, and one for all else, as far as they are needed.
#[derive(Debug)]
pub(super) struct Guests<'work>(BTreeMap<Kind, Guest<'work>>);

/// What is in a guest's root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// What each guest has.
    Usual,
    /// Programs as well.
    Programs,
}

impl Kind {
    fn of(load: Option<Load>) -> Self {
        if load == Some(Load::Starts) { Self::Programs } else { Self::Usual }
    }

    /// For people.
    fn name(self) -> &'static str {
        match self {
            Self::Usual => "guest",
            Self::Programs => "guest with programs",
        }
    }
}

impl<'work> Guests<'work> {
    /// Builds those that are needed for these scripts.
    ///
    /// # Errors
    /// Missing tools, builds that fail.
    pub(super) fn build(
        work: &'work WorkDir,
        basis: &Basis,
        programs: &Programs,
        scripts: Vec<ScriptOf>,
        observe: &dyn Observe,
    ) -> Result<Self> {
        let mut of_kind: BTreeMap<Kind, Vec<(String, String)>> = BTreeMap::new();
        for (load, name, commands) in scripts {
            of_kind.entry(Kind::of(load)).or_default().push((name, commands));
        }
        let mut guests = BTreeMap::new();
        for (kind, scripts) in of_kind {
            let files = match kind {
                Kind::Usual => BTreeMap::new(),
                Kind::Programs => programs.files.clone(),
            };
            let asked = GuestRequest { basis, lines: "", scripts, files };
            guests.insert(kind, Guest::build(work, &asked, observe)?);
        }
        Ok(Self(guests))
    }

    /// The guest in which a load runs, or what is no load.
    ///
    /// # Errors
    /// It has no script for it.
    pub(super) fn of(&self, load: Option<Load>) -> Result<&Guest<'work>> {
        self.0.get(&Kind::of(load)).context("no guest was built for this")
    }

    fn any(&self) -> Result<&Guest<'work>> {
        self.0.values().next().context("no guest was built")
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
        for (kind, guest) in &self.0 {
            let (kernel, root) = guest.hashes()?;
            inputs.insert("kernel".to_owned(), kernel);
            inputs.insert(kind.name().to_owned(), root);
        }
        Ok(basis.repeat(self.any()?, inputs))
    }
}
