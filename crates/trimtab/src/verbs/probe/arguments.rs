//! Arguments that several verbs of `trimtab probe` take.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use trimtab_probe::Hook;
use trimtab_probe::run::Choice;

use crate::arguments;

/// Which functions, and what happens at their entries and exits.
#[derive(Debug, Clone, Args)]
pub struct ChoiceArguments {
    /// What happens when a function is entered and left.
    #[arg(long, value_name = "HOOK", value_parser = Chosen::from_str, help = hook_help())]
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
    #[arg(long, value_name = "SHARE", default_value = "0.8", value_parser = arguments::share)]
    pub share: f64,
    /// Only functions of at least so many bytes
    #[arg(long, value_name = "BYTES", default_value = "0")]
    pub min_size: u64,
    /// Call functions from their probes, never copy them into these: slower, but breakpoints and line
    /// numbers stay where they were
    #[arg(long)]
    pub no_copies: bool,
}

fn hook_help() -> String {
    let all = Hook::ALL.map(|hook| format!("{}{}", hook.name(), hook.remark())).join(", ");
    let [default, of_users] = [Hook::DEFAULT, Hook::DEFAULT_OF_USERS].map(Hook::name);
    format!(
        "What happens when a function is entered and left, one of {all} \
         [default: {default}, with --hooks {of_users}]"
    )
}

/// A hook, by its name on the command line.
#[derive(Debug, Clone, Copy)]
pub struct Chosen(pub Hook);

impl FromStr for Chosen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Hook::from_name(text)
            .map(Self)
            .ok_or_else(|| format!("expected one of {}", Hook::names(|_| true, ", ")))
    }
}

impl ChoiceArguments {
    /// The same for the engine.
    pub fn choice(&self) -> Choice {
        Choice {
            hook: self.hook.map(|Chosen(hook)| hook),
            hooks: self.hooks.clone(),
            only: self.only.clone(),
            not: self.not.clone(),
            profile: self.profile.clone(),
            share: self.share,
            min_size: self.min_size,
            no_copies: self.no_copies,
        }
    }
}
