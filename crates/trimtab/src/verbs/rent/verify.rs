//! `trimtab rent verify`: whether lent memory keeps each byte right, and whether it would be noticed if not.

use clap::Args;
use trimtab_rent::run::{Checks, MUTANTS, Mutant, VerifyRequest, verify};

use super::GuestArguments;
use crate::progress::Progress;

/// Builds kernels in which drivers can lend their devices' memory to the page cache, and does random operations on files
/// in them: on ext4 with blocks of 1 and 4 KiB and on FAT, with one CPU and two, while devices are opened and closed. Each
/// byte is compared. With --mutants it does so in kernels that lack one hook or check each, in which it must find an error.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: a million operations in each guest, with kernels that check themselves

    trimtab rent verify --kernels debug,kasan --operations 1000000

Example: only what must be noticed

    trimtab rent verify --kernels none --mutants")]
pub struct Options {
    /// What kernels check of themselves: plain, debug (locks, lists, free pages), kasan (each access, too); or none
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', default_value = "plain", value_parser = checks)]
    pub kernels: Vec<Option<Checks>>,
    /// Operations in each guest
    #[arg(long, value_name = "N", default_value = "40000", value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub operations: u32,
    /// Kernels that lack something, too: all of them, or those that are named
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', num_args = 0..=1, default_missing_value = "all", value_parser = mutant)]
    pub mutants: Option<Vec<Option<&'static Mutant>>>,
    /// Which kernel, and where results go.
    #[command(flatten)]
    pub guest: GuestArguments,
}

fn checks(text: &str) -> Result<Option<Checks>, String> {
    if text == "none" {
        return Ok(None);
    }
    let found = Checks::ALL.into_iter().find(|checks| checks.name() == text);
    found.map(Some).ok_or_else(|| "expected plain, debug, kasan or none".to_owned())
}

/// One mutant, or none for all.
fn mutant(text: &str) -> Result<Option<&'static Mutant>, String> {
    if text == "all" {
        return Ok(None);
    }
    let names = || MUTANTS.iter().map(|mutant| mutant.name).collect::<Vec<_>>().join(", ");
    Mutant::named(text).map(Some).ok_or_else(|| format!("expected all, or of {}", names()))
}

/// Those that were named, in their order.
fn chosen(named: Option<&[Option<&'static Mutant>]>) -> Vec<&'static Mutant> {
    let named = named.unwrap_or_default();
    let is_chosen =
        |mutant: &&Mutant| named.iter().any(|one| one.is_none_or(|one| one.name == mutant.name));
    MUTANTS.iter().filter(is_chosen).collect()
}

/// Builds, boots and reports.
///
/// # Errors
/// Missing tools, guests that do not come up, a wrong byte, a kernel that complains of itself, and a mutant that nothing
/// noticed.
pub fn run(options: &Options) -> anyhow::Result<()> {
    options.guest.check()?;
    let is_used = |checks: &Checks| options.kernels.contains(&Some(*checks));
    let request = VerifyRequest {
        basis: options.guest.basis(),
        checks: Checks::ALL.into_iter().filter(is_used).collect(),
        operations: options.operations,
        mutants: chosen(options.mutants.as_deref()),
    };
    let found = verify(&request, &Progress::new())?;
    options.guest.show(&found)
}
