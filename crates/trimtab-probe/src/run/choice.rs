//! The choice of functions, and of what happens at their entries and exits.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::{Recordings, compile_hooks};
use crate::{Hook, Hooks, Options, OwnFunctions, ProbeError, Selection};
use trimtab_lab::failure::Failure;

/// Which functions, and what happens at their entries and exits.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// What happens when a function is entered and left; none for [`Hook::DEFAULT`], or, with `hooks`,
    /// for [`Hook::DEFAULT_OF_USERS`].
    pub hook: Option<Hook>,
    /// The user's own functions for [`Hook::User`]: an object, or a source that is compiled. They
    /// are linked with the program and never instrumented; simple ones are inside the probes.
    pub hooks: Option<PathBuf>,
    /// Only functions of these names, or whose names match a pattern such as `parse_*`.
    pub only: Vec<String>,
    /// No functions of these names or patterns.
    pub not: Vec<String>,
    /// Only the functions that cost most in this recording of an earlier run, or those that this
    /// file lists, one name a line.
    pub profile: Vec<PathBuf>,
    /// Which share of the recorded cycles the functions of `profile` make up, 0 to 1.
    pub share: f64,
    /// Only functions of at least so many bytes.
    pub min_size: u64,
    /// Call functions from their probes, never copy them into these: slower, but breakpoints and line
    /// numbers stay where they were.
    pub no_copies: bool,
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
            (hook, None) => hook.unwrap_or(Hook::DEFAULT),
            (None, Some(_)) => Hook::DEFAULT_OF_USERS,
            (Some(hook), Some(_)) if hook.calls_user() => hook,
            (Some(hook), Some(_)) => {
                let what = format!(
                    "--hooks is for --hook {}, not for --hook {}",
                    Hook::DEFAULT_OF_USERS.name(),
                    hook.name()
                );
                return Err(Failure::usage(what).into());
            }
        };
        let read = |file: &PathBuf| -> anyhow::Result<Vec<u8>> {
            let object = compile_hooks(cc, file)?;
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
                .hint(format!("record with --hook {}, and give that file", Hook::DEFAULT.name()))
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
    /// Options for the rewriter, of a program that has no functions in place of the C library's.
    ///
    /// # Errors
    /// Patterns that are none.
    pub fn options(&self) -> Result<Options, ProbeError> {
        let mut selection =
            Selection::default().only(&self.only)?.not(&self.not)?.min_size(self.min_size);
        if let Some(names) = &self.names {
            selection = selection.named(names.iter().cloned());
        }
        let hooks = self.hooks.as_deref().map(Hooks::read).transpose()?.map(Arc::new);
        let own = OwnFunctions::default();
        Ok(Options { hook: self.hook, selection, copies: !self.no_copies, hooks, own })
    }

    /// The object with the user's hooks that programs are to be linked with.
    pub fn hooks(&self) -> Option<&[u8]> {
        self.hooks.as_deref()
    }
}
