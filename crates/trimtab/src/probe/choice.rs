use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use serde::{Deserialize, Serialize};
use trimtab_native::probe;
use trimtab_probe::{Hook, Hooks, Options, Selection};

use super::Recordings;
use crate::cli;
use trimtab_lab::failure::Failure;

/// Which functions, and what happens at their entries and exits.
#[derive(Debug, Clone, Args)]
pub struct Choice {
    /// What happens when a function is entered and left: count, cycles, time, order, edges, trace,
    /// value (see trimtab_probe.h), event (TRIMTAB_PROBE_EVENT names it when the program runs), or
    /// user for functions of your own [default: time, with --hooks user]
    #[arg(long, value_name = "HOOK", value_parser = Chosen::from_str)]
    pub hook: Option<Chosen>,
    /// Your own functions for --hook user: an object, or a source that --cc compiles. They are linked
    /// with the program, are never instrumented, and where they are simple probes have them inside
    /// in place of a call
    #[arg(long, value_name = "FILE")]
    pub hooks: Option<PathBuf>,
    /// Only functions of these names, or whose names match a pattern such as 'parse_*'; may be given
    /// several times
    #[arg(long, value_name = "GLOB")]
    pub only: Vec<String>,
    /// No functions of these names or patterns; may be given several times
    #[arg(long, value_name = "GLOB")]
    pub not: Vec<String>,
    /// Only the functions that cost most in this recording of an earlier run, or those that this
    /// file lists, one name a line; may be given several times
    #[arg(long, value_name = "FILE")]
    pub profile: Vec<PathBuf>,
    /// Which share of the recorded cycles the functions of --profile make up, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0.8", value_parser = cli::share)]
    pub share: f64,
    /// Only functions of at least so many bytes
    #[arg(long, value_name = "BYTES", default_value = "0")]
    pub min_size: u64,
    /// Call functions from their probes, never copy them into these: slower, but breakpoints and line
    /// numbers stay where they were
    #[arg(long)]
    pub no_copies: bool,
}

/// A hook, by its name on the command line.
#[derive(Debug, Clone, Copy)]
pub struct Chosen(pub Hook);

impl FromStr for Chosen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Hook::from_name(text).map(Self).ok_or_else(|| {
            let names: Vec<&str> = Hook::ALL.into_iter().map(Hook::name).collect();
            format!("expected one of {}", names.join(", "))
        })
    }
}

/// A choice whose files have been read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    hook: Hook,
    only: Vec<String>,
    not: Vec<String>,
    names: Option<Vec<String>>,
    min_size: u64,
    #[serde(default)]
    no_copies: bool,
    /// The object with the user's hooks.
    #[serde(default)]
    hooks: Option<Vec<u8>>,
}

impl Choice {
    /// Reads the files that are named; `cc` compiles hooks that are not compiled yet.
    ///
    /// # Errors
    /// Files that cannot be read, patterns that are none, hooks that are none.
    pub fn plan(&self, cc: &Path) -> anyhow::Result<Plan> {
        let hook = match (self.hook, &self.hooks) {
            (None, None) => Hook::Time,
            (None | Some(Chosen(Hook::User)), Some(_)) => Hook::User,
            (Some(Chosen(hook)), None) => hook,
            (Some(Chosen(hook)), Some(_)) => {
                let what = format!("--hooks is for --hook user, not for --hook {}", hook.name());
                return Err(Failure::usage(what).into());
            }
        };
        let read = |file: &PathBuf| -> anyhow::Result<Vec<u8>> {
            let object = probe::hooks(cc, file)?;
            Ok(Hooks::read(&object)
                .with_context(|| format!("cannot use {}", file.display()))?
                .bytes)
        };
        let hooks = self.hooks.as_ref().map(read).transpose()?;
        let mut names = None;
        for path in &self.profile {
            let more = Recordings::hottest(path, self.share)?;
            names.get_or_insert_with(Vec::new).extend(more);
        }
        if names.as_ref().is_some_and(Vec::is_empty) {
            return Err(Failure::new("the profile names no function that ran")
                .hint("record with --hook time, and give that file")
                .into());
        }
        let plan = Plan {
            hook,
            only: self.only.clone(),
            not: self.not.clone(),
            names,
            min_size: self.min_size,
            no_copies: self.no_copies,
            hooks,
        };
        plan.options().map_err(|error| Failure::usage(error.to_string()))?;
        Ok(plan)
    }
}

impl Plan {
    /// What the rewriter is told.
    ///
    /// # Errors
    /// Patterns that are none.
    pub fn options(&self) -> Result<Options, trimtab_probe::ProbeError> {
        let mut selection =
            Selection::default().only(&self.only)?.not(&self.not)?.min_size(self.min_size);
        if let Some(names) = &self.names {
            selection = selection.named(names.iter().cloned());
        }
        let hooks = self.hooks.as_deref().map(Hooks::read).transpose()?.map(Arc::new);
        Ok(Options { hook: self.hook, selection, copies: !self.no_copies, hooks })
    }

    /// The object with the user's hooks that programs are to be linked with.
    pub fn hooks(&self) -> Option<&[u8]> {
        self.hooks.as_deref()
    }
}
