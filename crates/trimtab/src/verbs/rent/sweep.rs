//! `trimtab rent sweep`: how fast lent memory of several sizes comes back.

use clap::Args;
use trimtab_program::any_of;
use trimtab_rent::returning::Returning;
use trimtab_rent::run::{DiskProfile, Load, SweepRequest, sweep};

use super::GuestArguments;
use super::run::{disk, disk_help, load};
use crate::progress::Progress;

/// Builds a kernel in which drivers can lend their devices' memory to the page cache, and opens a device again and again
/// beside a load: with memory of several sizes; plain, with what was stored overwritten, with pages that were in use
/// moved elsewhere before; and with memory of the contiguous memory allocator.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: the three sizes beside reads and beside reads and writes

    trimtab rent sweep --loads rndrd:200,rndrw:200 --html returns.html

Example: only how long moving pages takes, with 10 ms for it

    trimtab rent sweep --sizes 105 --ways activate --no-cma --deadline-ms 10")]
pub struct Options {
    /// Sizes of the device's memory, in MiB
    #[arg(long, value_name = "MIB,...", value_delimiter = ',', default_value = "32,105,512", value_parser = clap::value_parser!(u32).range(1..=2048))]
    pub sizes: Vec<u32>,
    /// How lent memory is returned: plain, scrub (overwritten), activate (what was in use is moved)
    #[arg(long, value_name = "WAY,...", value_delimiter = ',', default_value = "plain,scrub,activate", value_parser = way)]
    pub ways: Vec<Returning>,
    /// Leave out the contiguous memory allocator
    #[arg(long)]
    pub no_cma: bool,
    /// As for rent run
    #[arg(long, value_name = "LOAD,...", value_delimiter = ',', default_value = "rndrw:200", value_parser = load)]
    pub loads: Vec<Load>,
    /// How often the device is opened; with scrub and activate a tenth, with ten times the pause
    #[arg(long, value_name = "N", default_value = "1000", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub returns: u32,
    /// How long moving pages may take, in milliseconds
    #[arg(long, value_name = "MS", default_value = "50", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub deadline_ms: u32,
    /// Memory for the load beside that of the device, in MiB
    #[arg(long, value_name = "MIB", default_value = "80", value_parser = clap::value_parser!(u32).range(32..=8192))]
    pub normal: u32,
    /// The disk
    #[arg(long, value_name = "NAME", default_value = "emmc", value_parser = disk, help = disk_help())]
    pub disk: DiskProfile,
    /// Which kernel, and where results go.
    #[command(flatten)]
    pub guest: GuestArguments,
}

fn way(text: &str) -> Result<Returning, String> {
    let found = Returning::ALL.into_iter().find(|way| way.name() == text);
    found.ok_or_else(|| format!("expected {}", any_of(Returning::ALL.map(Returning::name))))
}

/// Builds, boots and reports.
///
/// # Errors
/// Missing tools, guests that do not come up or whose kernel complains of itself, and what must hold and does not.
pub fn run(options: &Options) -> anyhow::Result<()> {
    options.guest.check()?;
    let request = SweepRequest {
        basis: options.guest.basis(),
        sizes: options.sizes.clone(),
        ways: options.ways.clone(),
        cma: !options.no_cma,
        loads: options.loads.clone(),
        returns: options.returns,
        deadline_us: options.deadline_ms * 1000,
        normal_mib: options.normal,
        disk: options.disk,
    };
    let found = sweep(&request, &Progress::new())?;
    options.guest.show(&found)
}
