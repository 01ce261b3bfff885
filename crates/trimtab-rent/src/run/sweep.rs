//! Returns of memory of several sizes, in each way, beside loads.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::Platform;
use trimtab_report::Schema;

use super::basis::Basis;
use super::disk::DiskProfile;
use super::filesystem::{FileSystem, with_disk};
use super::guest::{BootOf, Ran};
use super::guests::{Guests, side_by_side};
use super::kernel::Kernel;
use super::load::Load;
use super::programs::Programs;
use crate::arm::{Arm, DeviceMemory};
use crate::report::sweep::{RentSweep, Swept};
use crate::returning::Returning;

/// What to do.
#[derive(Debug, Clone)]
pub struct SweepRequest {
    /// Where to work, and what to work with.
    pub basis: Basis,
    /// Sizes of the device's memory, in MiB.
    pub sizes: Vec<u32>,
    /// How lent memory is returned.
    pub ways: Vec<Returning>,
    /// Whether the contiguous memory allocator is measured, too.
    pub cma: bool,
    /// Loads beside which the device is opened.
    pub loads: Vec<Load>,
    /// Plain returns; of the others a tenth, with ten times the pause.
    pub returns: u32,
    /// How long moving pages may take, in microseconds.
    pub deadline_us: u32,
    /// Memory for all but the kernel, the devices and the disk, in MiB.
    pub normal_mib: u32,
    /// The disk.
    pub disk: DiskProfile,
}

/// The device.
const DEVICE: &str = "decoder";
/// Milliseconds between plain returns, at most.
const PAUSE_MS: u32 = 100;
/// Of returns that scrub or move pages there are so many times fewer, with so many times the pause: they show
/// something only where much is stored.
const FEWER: u32 = 10;

/// One boot.
#[derive(Debug, Clone, Copy)]
struct Step {
    arm: Arm,
    returning: Returning,
    load: Load,
    mib: u32,
}

impl Step {
    /// Of how many returns there is one.
    fn fewer(self) -> u32 {
        if self.returning == Returning::Plain { 1 } else { FEWER }
    }

    fn script(self) -> String {
        let kind = match self.returning {
            Returning::Plain => "often",
            Returning::Scrub => "scrubbed",
            Returning::Activate => "seldom",
        };
        format!("{kind}-{}", self.load.word())
    }

    fn commands(self, request: &SweepRequest, programs: &Programs) -> String {
        let count = (request.returns / self.fewer()).max(1);
        let most_us = PAUSE_MS * 1000 * self.fewer();
        // Where what was stored is overwritten, no byte of a file may be in a device.
        let leaks = if self.returning == Returning::Scrub { "" } else { "--unscrubbed" };
        let run = format!(
            "{}{}/bin/returns --devices {DEVICE} --count {count} --pause-us {}-{most_us} --seed {} --quiet {leaks} -- \
             {} || true",
            self.load.prepare(request.basis.seed, programs),
            self.load.warm(request.basis.seed),
            most_us / 100,
            request.basis.seed,
            self.load.beside(request.basis.seed)
        );
        with_disk(FileSystem::Ext4, &run)
    }
}

fn steps(request: &SweepRequest) -> Vec<Step> {
    let mut ways: Vec<(Arm, Returning)> =
        request.ways.iter().map(|&returning| (Arm::Rental, returning)).collect();
    if request.cma {
        ways.push((Arm::Cma, Returning::Plain));
    }
    if request.basis.gcma.is_some() {
        ways.push((Arm::Gcma, Returning::Plain));
    }
    let mut steps = Vec::new();
    for &load in &request.loads {
        for &(arm, returning) in &ways {
            let of = |&mib: &u32| Step { arm, returning, load, mib };
            steps.extend(request.sizes.iter().map(of));
        }
    }
    steps
}

/// Boots a guest for each size, way and load.
///
/// # Errors
/// Missing tools, builds that fail, guests that do not come up or whose kernel complains of itself.
pub fn sweep(request: &SweepRequest, observe: &dyn Observe) -> Result<RentSweep> {
    let start = Instant::now();
    let steps = steps(request);
    ensure!(!steps.is_empty(), "there is nothing to return: no size, no way, or no load");
    let work = WorkDir::open(&request.basis.work)?;
    request.loads.iter().try_for_each(|load| load.fits(request.normal_mib, 0))?;
    let loads: Vec<Option<Load>> = request.loads.iter().copied().map(Some).collect();
    let scripts = |load, programs: &Programs| {
        let of_load = steps.iter().filter(|step| Some(step.load) == load);
        of_load.map(|step| (step.script(), step.commands(request, programs))).collect()
    };
    let built =
        |kernel| Guests::build(&work, (&request.basis, kernel, ""), &loads, scripts, observe);
    // First: that the user's patch fits is known soon.
    let gcma = request.basis.gcma.as_deref().map(|patch| built(Kernel::Gcma(patch))).transpose()?;
    let guests = built(Kernel::Rental(&[]))?;
    let boot = |step: &Step| {
        let other = gcma.as_ref().filter(|_| step.arm == Arm::Gcma);
        let (programs, guest) = other.unwrap_or(&guests).of(Some(step.load))?;
        let boot = BootOf {
            arm: step.arm,
            devices: &[DeviceMemory { name: DEVICE, mib: step.mib }],
            script: &step.script(),
            normal_mib: request.normal_mib,
            used_mib: step.load.used_mib(programs),
            disk: request.disk,
            cpus: 1,
            arguments: step.returning.arguments(request.deadline_us),
            outlet: false,
            device_tree: None,
        };
        guest.run(&boot, observe)
    };
    let all = side_by_side(&steps, boot)?;
    let last = all.last().context("no guest was booted")?;
    let returns =
        steps.iter().zip(&all).map(|(step, ran)| swept(*step, ran)).collect::<Result<_>>()?;
    let mut found = RentSweep {
        schema: Schema::default(),
        kernel: guests.kernel_version()?,
        arch: request.basis.isa.kbuild().to_owned(),
        normal_mib: request.normal_mib,
        disk: request.disk.name.to_owned(),
        disk_latency_us: u64::try_from(request.disk.latency.as_micros())?,
        deadline_us: request.deadline_us,
        clear_page_ns: last.page_ns("clear_ns")?,
        copy_page_ns: last.page_ns("copy_ns")?,
        returns,
        checks: Vec::new(),
        seconds: start.elapsed().as_secs_f64(),
        repeat: guests.repeat(&request.basis)?,
    };
    found.checks = found.judged();
    Ok(found)
}

fn swept(step: Step, ran: &Ran) -> Result<Swept> {
    let counter = |name| ran.number_or_zero("counters", name);
    let returns = if step.arm == Arm::Rental { ran.number("counters", "returns")? } else { 0 };
    Ok(Swept {
        arm: step.arm,
        returning: step.returning,
        mib: step.mib,
        beside: step.load.name(),
        count: ran.number("returns", "count")?,
        failures: ran.number("returns", "failures")?,
        errors: ran.number("returns", "errors")?,
        p50: ran.number_or_zero("returns", "p50"),
        p99: ran.number_or_zero("returns", "p99"),
        max: ran.number_or_zero("returns", "max"),
        in_kernel_max: counter("return_ns_max"),
        in_kernel_mean: counter("return_ns_sum").checked_div(returns).unwrap_or_default(),
        stored_pages: counter("stored"),
        scrubbed_pages: counter("scrubbed"),
        scrub_cpu_ns: counter("scrub_cpu_ns_sum"),
        moved_pages: counter("moved"),
        dropped_hot_pages: counter("dropped_active"),
        move_cpu_ns: counter("active_cpu_ns_sum"),
        move_max_ns: counter("active_ns_max"),
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn request() -> SweepRequest {
        SweepRequest {
            basis: Basis { seed: 7, ..Basis::new(PathBuf::new()) },
            sizes: vec![32, 512],
            ways: Returning::ALL.to_vec(),
            cma: true,
            loads: vec![Load::named("rndrd:100").unwrap(), Load::named("rndrw:200").unwrap()],
            returns: 1000,
            deadline_us: 50_000,
            normal_mib: 80,
            disk: DiskProfile::named("emmc").unwrap(),
        }
    }

    #[test]
    fn each_size_way_and_load_is_a_boot() {
        assert_eq!(steps(&request()).len(), 2 * 4 * 2);
        let none = SweepRequest { ways: Vec::new(), cma: false, ..request() };
        assert!(steps(&none).is_empty());
        let gcma = Basis { gcma: Some(PathBuf::from("gcma.patch")), ..request().basis };
        let gcma = SweepRequest { basis: gcma, ..none };
        assert!(steps(&gcma).iter().all(|step| step.arm == Arm::Gcma));
        assert_eq!(steps(&gcma).len(), 2 * 2);
    }

    #[test]
    fn what_shows_something_only_in_full_memory_is_done_less_often() {
        let of = |returning| {
            let load = Load::named("rndrw:200").unwrap();
            Step { arm: Arm::Rental, returning, load, mib: 32 }
        };
        let (plain, scrub) = (of(Returning::Plain), of(Returning::Scrub));
        assert_eq!(
            (plain.script(), scrub.script()),
            ("often-rndrw-200".into(), "scrubbed-rndrw-200".into())
        );
        let none = Programs::default();
        let (often, seldom) =
            (plain.commands(&request(), &none), scrub.commands(&request(), &none));
        assert!(often.contains("--count 1000 --pause-us 1000-100000 --seed 7"), "{often}");
        assert!(seldom.contains("--count 100 --pause-us 10000-1000000 --seed 7"), "{seldom}");
        assert!(often.contains("--unscrubbed") && !seldom.contains("--unscrubbed"));
        assert!(of(Returning::Activate).commands(&request(), &none).contains("--unscrubbed"));
    }
}
