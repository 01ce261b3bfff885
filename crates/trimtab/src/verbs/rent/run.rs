//! `trimtab rent run`: what lending memory gives, and how fast it comes back.

use clap::Args;
use clap::builder::PossibleValuesParser;
use trimtab_program::any_of;
use trimtab_rent::arm::{Arm, DeviceMemory};
use trimtab_rent::plan::Policy;
use trimtab_rent::report::run::MOST_TIMES;
use trimtab_rent::run::{DiskProfile, Load, RunRequest, run as experiment};

use super::GuestArguments;
use crate::progress::Progress;

/// Builds a kernel in which drivers can lend their devices' memory to the page cache, and boots it: loads run while the
/// devices are closed, devices are opened and closed beside the loads, and random operations on files are verified.
/// Beside it stand the same memory when it is only reserved, and when the contiguous memory allocator has it.
///
/// The guest has one CPU whose instructions are its clock, and a disk in memory whose requests a timer completes: all
/// figures repeat exactly.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: a decoder's 72 MiB and a camera's 33 MiB, with the defaults

    trimtab rent run --html rent.html

Example: reads and writes of 300 MiB of files with a fast disk, a hundred returns

    trimtab rent run --loads rndrw:300 --disk ufs --returns 100")]
pub struct Options {
    /// What becomes of memory of idle devices
    #[arg(long, value_name = "ARM,...", value_delimiter = ',', default_value = "rental,cma", value_parser = arm, help = arms_help())]
    pub arms: Vec<Arm>,
    /// rndrd or rndrw, random requests of 16 KiB, and the MiB of all files, with :pre48 if it has taken 48 MiB before, with :hog48 if it takes so much meanwhile; djpeg, untar or another of the catalogue, with the same; or starts, of programs
    #[arg(long, value_name = "LOAD,...", value_delimiter = ',', default_value = "rndrd:100,rndrd:200,rndrw:200", value_parser = load)]
    pub loads: Vec<Load>,
    /// Requests that are measured of each load
    #[arg(long, value_name = "N", default_value = "6000", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub requests: u32,
    /// Memory for the loads beside that of the devices, in MiB
    #[arg(long, value_name = "MIB", default_value = "80", value_parser = clap::value_parser!(u32).range(32..=8192))]
    pub normal: u32,
    /// The disk
    #[arg(long, value_name = "NAME", default_value = "emmc", value_parser = disk, help = disk_help())]
    pub disk: DiskProfile,
    /// How often the devices are opened beside each load; 0 for never
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(0..=i64::from(MOST_TIMES)))]
    pub returns: u32,
    /// Operations on files that are verified; 0 for none
    #[arg(long, value_name = "N", default_value = "20000", value_parser = clap::value_parser!(u32).range(0..=10_000_000))]
    pub verify: u32,
    /// Which evicted pages are stored
    #[arg(
        long,
        value_name = "NAME",
        default_value = Policy::default().name(),
        value_parser = PossibleValuesParser::new(Policy::ALL.map(Policy::name)),
        help = policy_help()
    )]
    pub policy: String,
    /// Do not count lent memory for the limits of dirty pages
    #[arg(long)]
    pub not_dirtyable: bool,
    /// Which kernel, and where results go.
    #[command(flatten)]
    pub guest: GuestArguments,
}

fn arm(text: &str) -> Result<Arm, String> {
    let found = Arm::ALL.into_iter().find(|arm| arm.name() == text);
    found.ok_or_else(|| format!("expected {}", any_of(Arm::ALL.map(Arm::name))))
}

pub(super) fn load(text: &str) -> Result<Load, String> {
    Load::named(text).ok_or_else(Load::expected)
}

pub(super) fn disk(text: &str) -> Result<DiskProfile, String> {
    DiskProfile::named(text).ok_or_else(|| format!("expected {}", disks()))
}

fn disks() -> String {
    any_of(DiskProfile::ALL.map(|profile| profile.name))
}

pub(super) fn disk_help() -> String {
    format!("The disk: {}", disks())
}

fn arms_help() -> String {
    let others = Arm::ALL.into_iter().filter(|arm| *arm != Arm::Idle).map(Arm::name);
    let (others, idle) = (others.collect::<Vec<_>>().join(", "), Arm::Idle.name());
    format!("What becomes of memory of idle devices: {others}; {idle} is always there")
}

fn policy_help() -> String {
    let described = Policy::ALL.map(|policy| match policy.summary() {
        "" => policy.name().to_owned(),
        summary => format!("{} ({summary})", policy.name()),
    });
    format!("Which evicted pages are stored: {}", any_of(described))
}

/// Builds, boots and reports.
///
/// # Errors
/// Missing tools, guests that do not come up or whose kernel complains of itself, and bytes that are not what they should
/// be.
pub fn run(options: &Options) -> anyhow::Result<()> {
    options.guest.check()?;
    let request = RunRequest {
        basis: options.guest.basis(),
        arms: options.arms.clone(),
        devices: DeviceMemory::OF_THE_PAPER.to_vec(),
        loads: options.loads.clone(),
        requests: options.requests,
        normal_mib: options.normal,
        disk: options.disk,
        returns: options.returns,
        verify: options.verify,
        policy: options.policy.clone(),
        dirtyable: !options.not_dirtyable,
    };
    let found = experiment(&request, &Progress::new())?;
    options.guest.show(&found)
}
