//! Runs loads and returns in guests whose devices' memory is idle, lent to the page cache, or an area of the contiguous
//! memory allocator, and compares them.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::{Isa, Platform};
use trimtab_report::Schema;

use super::basis::Basis;
use super::disk::DiskProfile;
use super::filesystem::{FileSystem, ORACLE_USED_MIB, with_disk};
use super::guest::{BootOf, Ran};
use super::guests::{Guests, ScriptOf, side_by_side};
use super::kernel::Kernel;
use super::load::Load;
use super::oracle::{self, Oracle};
use super::prediction::{self, HELD_MIB, How};
use super::programs::Programs;
use crate::arm::{Arm, DeviceMemory};
use crate::report::run::{ArmRun, Region, RentRun, Returns, WorkloadRun};

/// What to do.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// Where to work, and what to work with.
    pub basis: Basis,
    /// Which ways are compared; with the idle one all are.
    pub arms: Vec<Arm>,
    /// The devices.
    pub devices: Vec<DeviceMemory>,
    /// Loads.
    pub loads: Vec<Load>,
    /// Requests that are measured of each.
    pub requests: u32,
    /// Memory for all but the kernel, the devices and the disk, in MiB.
    pub normal_mib: u32,
    /// The disk.
    pub disk: DiskProfile,
    /// Returns beside each load.
    pub returns: u32,
    /// Operations on files that are verified; 0 for none.
    pub verify: u32,
    /// Which pages are stored: `all`, `workingset` or `twice`.
    pub policy: String,
    /// Whether lent memory counts for the limits of dirty pages.
    pub dirtyable: bool,
}

/// Makes the files, fills memory with what the load uses, and measures its requests.
fn load_script(request: &RunRequest, programs: &Programs, load: Load, recorded: bool) -> String {
    let (record, send) = if recorded {
        (prediction::record(), prediction::send(request.basis.isa))
    } else {
        Default::default()
    };
    let run = [
        prediction::STEADY_DISK,
        &load.prepare(request.basis.seed, programs),
        // From here on: what was stored before is gone with the files' pages, and so is what was recorded of that.
        &settings(request),
        &record,
        prediction::SAY_FREE,
        &load.measured(request.basis.seed, request.requests),
        &send,
    ];
    with_disk(FileSystem::Ext4, &run.concat())
}

/// Devices are opened and closed beside the load.
fn returns_script(request: &RunRequest, programs: &Programs, load: Load) -> String {
    let names: Vec<&str> = request.devices.iter().map(|device| device.name).collect();
    let run = format!(
        "{}{}{}/bin/returns --devices {} --count {} --seed {} --quiet --unscrubbed -- {} || true",
        load.prepare(request.basis.seed, programs),
        settings(request),
        load.warm(request.basis.seed),
        names.join(","),
        request.returns,
        request.basis.seed,
        load.beside(request.basis.seed)
    );
    with_disk(FileSystem::Ext4, &run)
}

/// Lines that set what the kernel lets be set. Where nothing is lent it means nothing; another kernel than ours has
/// nothing of it.
fn settings(request: &RunRequest) -> String {
    let dirtyable = u8::from(request.dirtyable);
    format!(
        "/bin/busybox mount -t debugfs debugfs /sys/kernel/debug\n\
         if [ -d /sys/kernel/debug/rental ]; then\n\
         echo {} >/sys/kernel/debug/rental/policy\n\
         echo {dirtyable} >/sys/kernel/debug/rental/dirtyable\nfi\n",
        request.policy
    )
}

fn verify_script(request: &RunRequest) -> String {
    let names: Vec<&str> = request.devices.iter().map(|device| device.name).collect();
    let oracle = Oracle {
        operations: request.verify,
        seed: request.basis.seed,
        keep_mib: 16,
        options: &format!("--device-every 700 --devices {} --unscrubbed", names.join(",")),
    };
    with_disk(FileSystem::Ext4Parts, &(settings(request) + &oracle.command()))
}

fn load_name(load: Load) -> String {
    format!("load-{}", load.word())
}

fn recorded_name(load: Load) -> String {
    format!("recorded-{}", load.word())
}

fn returns_name(load: Load) -> String {
    format!("returns-{}", load.word())
}

/// What runs in the guests of a load, or for what is verified.
fn scripts(request: &RunRequest, load: Option<Load>, programs: &Programs) -> Vec<ScriptOf> {
    let Some(load) = load else { return vec![(VERIFY.to_owned(), verify_script(request))] };
    let script = |recorded| load_script(request, programs, load, recorded);
    let mut scripts = vec![
        (load_name(load), script(false)),
        (returns_name(load), returns_script(request, programs, load)),
    ];
    // Nothing says of others what they ask for.
    if matches!(load, Load::Files(_)) {
        scripts.push((recorded_name(load), script(true)));
    }
    scripts
}

const VERIFY: &str = "verify";
/// Memory for the oracle, beside the kernel and the devices: its files do not fit.
const VERIFY_MIB: u32 = 40;

/// Boots guests, two for each way and load, one of each load whose page cache is recorded, and one that verifies.
///
/// # Errors
/// Missing tools, builds that fail, guests that do not come up or whose kernel complains of itself.
pub fn run(request: &RunRequest, observe: &dyn Observe) -> Result<RentRun> {
    // Long: the boots in their order, and the fields of the report.
    let start = Instant::now();
    ensure!(!request.loads.is_empty(), "there is no load; expected one, as rndrd:200");
    ensure!(!request.devices.is_empty(), "there is no device whose memory could be lent");
    if request.arms.contains(&Arm::Offline) && request.basis.isa != Isa::X86_64 {
        let why = "memory is taken off line on x86_64 only; leave out the arm offline";
        return Err(Failure::usage(why).into());
    }
    let work = WorkDir::open(&request.basis.work)?;
    request.loads.iter().try_for_each(|load| load.fits(request.normal_mib, HELD_MIB))?;
    let loads: Vec<Option<Load>> = request.loads.iter().copied().map(Some).chain([None]).collect();
    let scripts = |load, programs: &Programs| scripts(request, load, programs);
    let lines: String = request.arms.iter().map(|arm| arm.lines()).collect();
    let built = |kernel, lines| {
        Guests::build(&work, (&request.basis, kernel, lines), &loads, scripts, observe)
    };
    // First: that the user's patch fits is known soon.
    let gcma = request.basis.gcma.as_deref().map(|patch| built(Kernel::Gcma(patch), ""));
    let gcma = gcma.transpose()?;
    let guests = built(Kernel::Rental(&[]), &lines)?;
    let boot = |asked: &Asked| {
        let other = gcma.as_ref().filter(|_| asked.arm == Arm::Gcma);
        let (programs, guest) = other.unwrap_or(&guests).of(asked.load)?;
        let used_mib = asked.load.map_or(ORACLE_USED_MIB, |load| load.used_mib(programs));
        let boot = BootOf {
            arm: asked.arm,
            devices: &request.devices,
            script: &asked.script,
            normal_mib: asked.how.normal_mib,
            used_mib: used_mib + asked.how.more_mib,
            disk: request.disk,
            cpus: 1,
            arguments: asked.how.arguments.clone(),
            outlet: asked.how.outlet,
            device_tree: None,
        };
        guest.run(&boot, observe)
    };
    let ways = with_idle(&request.arms, gcma.is_some());
    let mut ran = side_by_side(&asked(request, &ways), boot)?.into_iter();
    let mut rented: Vec<Ran> = Vec::new();
    let mut arms: Vec<ArmRun> = Vec::new();
    let missing = "a guest was not booted";
    for arm in ways {
        let mut workloads = Vec::new();
        let mut returns = Vec::new();
        for (place, &load) in request.loads.iter().enumerate() {
            let measured = ran.next().context(missing)?;
            let idle = arms.first().and_then(|idle| idle.workloads.get(place));
            workloads.push(workload(load, &measured, idle)?);
            rented.extend((arm == Arm::Rental).then_some(measured));
            if request.returns > 0 {
                returns.push(returned(load, &ran.next().context(missing)?)?);
            }
        }
        arms.push(ArmRun { arm, workloads, returns });
    }
    predict(request, &rented, &boot, &mut arms, observe)?;
    let verify = match ran.next() {
        None => None,
        Some(ran) => {
            // It is the last that it says.
            ran.number("verify", "operations")?;
            Some(oracle::found(&ran))
        }
    };
    let mut found = RentRun {
        schema: Schema::default(),
        kernel: guests.kernel_version()?,
        arch: request.basis.isa.kbuild().to_owned(),
        pool_mib: request.devices.iter().map(|device| device.mib).sum(),
        regions: regions(&request.devices),
        normal_mib: request.normal_mib,
        disk: request.disk.name.to_owned(),
        disk_latency_us: u64::try_from(request.disk.latency.as_micros())?,
        disk_mib_per_second: request.disk.mib_per_second.unwrap_or(0),
        policy: request.policy.clone(),
        dirtyable: request.dirtyable,
        arms,
        verify,
        checks: Vec::new(),
        seconds: start.elapsed().as_secs_f64(),
        repeat: guests.repeat(&request.basis)?,
    };
    found.checks = found.judged();
    Ok(found)
}

/// A guest to boot.
#[derive(Debug)]
struct Asked {
    arm: Arm,
    load: Option<Load>,
    script: String,
    how: How,
}

/// All guests but those that are recorded: for each way and load the load, and if they are wanted the returns beside it;
/// if it is wanted, the oracle last.
fn asked(request: &RunRequest, ways: &[Arm]) -> Vec<Asked> {
    let (plain, steady) = (How::plain(request.normal_mib), How::steady(request.normal_mib));
    let mut all = Vec::new();
    for &arm in ways {
        for &load in &request.loads {
            let of = |script, how: &How| Asked { arm, load: Some(load), script, how: how.clone() };
            all.push(of(load_name(load), &steady));
            all.extend((request.returns > 0).then(|| of(returns_name(load), &plain)));
        }
    }
    all.extend((request.verify > 0).then(|| Asked {
        arm: Arm::Rental,
        load: None,
        script: VERIFY.to_owned(),
        how: How::plain(VERIFY_MIB),
    }));
    all
}

/// Boots a guest.
type Boots<'a> = dyn Fn(&Asked) -> Result<Ran> + Sync + 'a;

/// Records each load while the devices are idle, after it was measured with rental memory, which says how much memory it
/// has then.
fn predict(
    request: &RunRequest,
    rented: &[Ran],
    boot: &Boots<'_>,
    arms: &mut [ArmRun],
    observe: &dyn Observe,
) -> Result<()> {
    let steady = How::steady(request.normal_mib);
    let Some(arm) = arms.iter_mut().find(|run| run.arm == Arm::Rental) else { return Ok(()) };
    let mut recorded = Vec::new();
    for (place, (ran, &load)) in rented.iter().zip(&request.loads).enumerate() {
        let free_kib = ran.number("memory", "free_kib")?;
        let how = steady.recorded(load, request.requests, free_kib);
        let asked = |how| {
            (place, Asked { arm: Arm::Idle, load: Some(load), script: recorded_name(load), how })
        };
        recorded.extend(how.map(asked));
    }
    let all = side_by_side(&recorded, |(_, asked)| boot(asked))?;
    for ((place, _), recorded) in recorded.iter().zip(&all) {
        let (load, ran) = (request.loads[*place], &rented[*place]);
        let run = &mut arm.workloads[*place];
        match prediction::predict((request, load), recorded, ran, observe) {
            Ok(found) => run.predicted = Some(found),
            // What was measured until now is worth more.
            Err(error) => run.not_predicted = format!("{error:#}"),
        }
    }
    Ok(())
}

fn regions(devices: &[DeviceMemory]) -> Vec<Region> {
    let of = |device: &DeviceMemory| Region { name: device.name.to_owned(), mib: device.mib };
    devices.iter().map(of).collect()
}

/// The idle way first: all others are compared with it.
fn with_idle(arms: &[Arm], gcma: bool) -> Vec<Arm> {
    let others = Arm::ALL.into_iter().filter(|arm| *arm != Arm::Idle && arms.contains(arm));
    std::iter::once(Arm::Idle).chain(others).chain(gcma.then_some(Arm::Gcma)).collect()
}

const SECTORS_IN_A_MIB: f64 = 2048.0;

fn workload(load: Load, ran: &Ran, idle: Option<&WorkloadRun>) -> Result<WorkloadRun> {
    let mib =
        |topic, name| Ok::<_, anyhow::Error>(ran.number(topic, name)? as f64 / SECTORS_IN_A_MIB);
    let disk = if load == Load::Starts { "starts" } else { "disk" };
    let starts = starts(ran);
    let nanoseconds = match load {
        Load::Files(_) => ran.number("fileio", "nanoseconds")?,
        Load::Rounds(_) => ran.number("rounds", "nanoseconds")?,
        Load::Starts => starts.iter().sum(),
    };
    let failures = ran.number_or_zero("starts", "failures");
    ensure!(
        failures == 0,
        "{failures} programs failed in the guest: see {}",
        ran.console.display()
    );
    let hits = ran.number_or_zero("counters", "hits");
    let stores = ran.number_or_zero("counters", "stored");
    let hits_in_place = ran.number_or_zero("counters", "hits_in_place");
    let overwritten = ran.number_or_zero("counters", "hits_overwritten");
    let copies = stores + hits.saturating_sub(hits_in_place + overwritten);
    Ok(WorkloadRun {
        name: load.name(),
        nanoseconds,
        throughput_ratio: idle.map_or(1.0, |idle| idle.nanoseconds as f64 / nanoseconds as f64),
        read_mib: mib(disk, "read_sectors")?,
        written_mib: mib(disk, "written_sectors")?,
        hits,
        hits_in_place,
        stores,
        busy_ns: ran.number("cpu", "busy_ns")?,
        copy_instructions: (copies as f64 * ran.page_ns("copy_ns")?) as u64,
        available_mib: ran.number("memory", "available_kib")? / 1024,
        starts,
        predicted: None,
        not_predicted: String::new(),
    })
}

/// How long each start of a program took, sorted.
fn starts(ran: &Ran) -> Vec<u64> {
    let mut nanoseconds: Vec<u64> = match ran.said.get("start") {
        Some(starts) => {
            starts.values().filter_map(|said| said.split(' ').nth(1)?.parse().ok()).collect()
        }
        None => Vec::new(),
    };
    nanoseconds.sort_unstable();
    nanoseconds
}

fn returned(load: Load, ran: &Ran) -> Result<Returns> {
    let number = |name| ran.number("returns", name);
    let mut nanoseconds: Vec<u64> = match ran.said.get("return") {
        Some(singles) => singles.values().filter_map(|value| value.parse().ok()).collect(),
        None => Vec::new(),
    };
    nanoseconds.sort_unstable();
    Ok(Returns {
        name: load.name(),
        count: number("count")?,
        failures: number("failures")?,
        errors: number("errors")?,
        p50: ran.number_or_zero("returns", "p50"),
        p99: ran.number_or_zero("returns", "p99"),
        max: ran.number_or_zero("returns", "max"),
        in_kernel_max: ran.number_or_zero("counters", "return_ns_max"),
        stores: ran.number_or_zero("counters", "stored"),
        nanoseconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_idle_way_is_always_there_and_first() {
        assert_eq!(with_idle(&[Arm::Cma, Arm::Rental], false), [Arm::Idle, Arm::Rental, Arm::Cma]);
        assert_eq!(with_idle(&[], false), [Arm::Idle]);
        assert_eq!(with_idle(&[Arm::Cma], true), [Arm::Idle, Arm::Cma, Arm::Gcma]);
    }
}
