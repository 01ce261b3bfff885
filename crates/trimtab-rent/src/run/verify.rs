//! The oracle: verified operations on several file systems, in kernels that check themselves, and in kernels that lack
//! something, where it must find an error.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use trimtab_lab::observe::Observe;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::Platform;
use trimtab_machine::boot::{BootError, Outcome, limits};

use super::basis::Basis;
use super::disk::DiskProfile;
use super::filesystem::{FileSystem, ORACLE_USED_MIB, with_disk};
use super::guest::{BootOf, Guest, GuestRequest, Ran};
use super::kernel::Kernel;
use super::mutants::{MUTANTS, Mutant, Setting};
use super::oracle::{self, Oracle};
use crate::arm::{Arm, DeviceMemory};
use crate::feature::{RENTAL, RENTAL_MUTANTS};
use crate::report::run::Verify;
use crate::report::verify::{MutantRun, OracleRun, RentVerify, Verified};
use crate::returning::Returning;

/// What to do.
#[derive(Debug, Clone)]
pub struct VerifyRequest {
    /// Where to work, and what to work with.
    pub basis: Basis,
    /// What the kernels check of themselves.
    pub checks: Vec<Checks>,
    /// Operations in each guest.
    pub operations: u32,
    /// Kernels that lack something: none, or some of [`MUTANTS`].
    pub mutants: Vec<&'static Mutant>,
}

/// What a kernel checks of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checks {
    /// Nothing but the usual.
    Plain,
    /// Locks, contexts, lists, and pages that are free.
    Debug,
    /// The same, and each access of memory.
    Kasan,
}

impl Checks {
    /// All of them.
    pub const ALL: [Checks; 3] = [Checks::Plain, Checks::Debug, Checks::Kasan];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Checks::Plain => "plain",
            Checks::Debug => "debug",
            Checks::Kasan => "kasan",
        }
    }

    fn lines(self) -> Result<String> {
        let fragments: &[&str] = match self {
            Checks::Plain => &[],
            Checks::Debug => &["debug"],
            Checks::Kasan => &["debug", "kasan"],
        };
        let line = |name: &&str| RENTAL.fragment(name).context("rental memory has no such lines");
        fragments.iter().map(line).collect()
    }

    /// What it takes of the guest's memory, in MiB: the shadow and what is freed and not used yet.
    fn memory_mib(self) -> u32 {
        match self {
            Checks::Plain => 0,
            Checks::Debug => 16,
            Checks::Kasan => 160,
        }
    }
}

/// Devices whose memory is large enough for most of what is evicted.
const DEVICES: [DeviceMemory; 2] =
    [DeviceMemory { name: "decoder", mib: 32 }, DeviceMemory { name: "camera", mib: 16 }];
/// The same where the oldest copies have to make room.
const SMALL: [DeviceMemory; 2] =
    [DeviceMemory { name: "decoder", mib: 1 }, DeviceMemory { name: "camera", mib: 1 }];
/// For all but the kernel, the devices and the disk.
const NORMAL_MIB: u32 = 96;

/// Operations in a guest whose kernel lacks something; where it waits now and then, each process does a quarter.
const MUTANT_OPERATIONS: u32 = 40_000;
/// Such a kernel looks at pages that are read: a page that is read twice is noticed there.
const MUTANT_LINES: &str =
    "# CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT=y\nCONFIG_DEBUG_VM=y\n";

fn oracle(operations: u32, seed: u32, options: &str) -> String {
    Oracle { operations, seed, keep_mib: 20, options }.command()
}

/// A guest of a kernel that lacks nothing.
#[derive(Debug, Clone, Copy)]
struct Place {
    files: &'static str,
    file_system: FileSystem,
    cpus: u32,
    returned: Returned,
}

/// How devices have their memory back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Returned {
    /// All of it.
    Whole,
    /// Each device's memory is that of two.
    Parts,
    /// What was in use is moved elsewhere before.
    Moved,
}

const PLACES: [Place; 8] = {
    const fn of(
        files: &'static str,
        file_system: FileSystem,
        cpus: u32,
        returned: Returned,
    ) -> Place {
        Place { files, file_system, cpus, returned }
    }
    [
        of("ext4-1k", FileSystem::Ext4Parts, 1, Returned::Whole),
        of("ext4-1k", FileSystem::Ext4Parts, 2, Returned::Whole),
        of("ext4-4k", FileSystem::Ext4Pages, 1, Returned::Whole),
        of("ext4-4k", FileSystem::Ext4Pages, 2, Returned::Whole),
        of("vfat", FileSystem::Vfat, 1, Returned::Whole),
        of("vfat", FileSystem::Vfat, 2, Returned::Whole),
        of("ext4-1k-parts", FileSystem::Ext4Parts, 2, Returned::Parts),
        of("ext4-1k-moved", FileSystem::Ext4Parts, 2, Returned::Moved),
    ]
};

/// How long what was in use may be moved at each return, in microseconds: a tick or two.
const MOVED_US: u32 = 20_000;

impl Place {
    fn script(self) -> String {
        format!("{}-{}", self.files, self.cpus)
    }

    /// With two CPUs two processes share the operations.
    fn commands(self, request: &VerifyRequest) -> String {
        let devices = match self.returned {
            Returned::Parts => "decoder,decoder-rest,camera,camera-rest",
            Returned::Whole | Returned::Moved => "decoder,camera",
        };
        let options = format!(
            "--unscrubbed --devices {devices} --device-every 700 --processes {}",
            self.cpus
        );
        let each = (request.operations / self.cpus).max(1);
        with_disk(self.file_system, &oracle(each, request.basis.seed, &options))
    }

    fn run(
        self,
        guest: &Guest<'_>,
        (kernel, arm, more_mib): (&str, Arm, u32),
        observe: &dyn Observe,
    ) -> Result<OracleRun> {
        let arguments = match self.returned {
            Returned::Whole => vec!["rent_devices.split=0".to_owned()],
            Returned::Parts => vec!["rent_devices.split=1".to_owned()],
            Returned::Moved => Returning::Activate.arguments(MOVED_US),
        };
        let asked = BootOf {
            arm,
            devices: &DEVICES,
            script: &self.script(),
            normal_mib: NORMAL_MIB + more_mib,
            used_mib: ORACLE_USED_MIB,
            disk: FAST,
            cpus: self.cpus,
            arguments,
            outlet: false,
            device_tree: None,
        };
        let boot = guest.run_within(&asked, limits::VERIFIED_OPERATIONS, observe);
        oracle_run(kernel, self.files, self.cpus, boot)
    }
}

/// Requests take little time, so that there are many.
const FAST: DiskProfile = DiskProfile { mib_per_second: None, ..DiskProfile::UFS };

/// What a boot found; that its kernel dies is an error like others.
fn oracle_run(
    kernel: &str,
    files: &str,
    cpus: u32,
    boot: Result<(Ran, Vec<String>)>,
) -> Result<OracleRun> {
    let run = OracleRun {
        kernel: kernel.to_owned(),
        files: files.to_owned(),
        cpus,
        ..OracleRun::default()
    };
    let (ran, complaints) = match boot {
        Ok(found) => found,
        Err(error) => {
            let found = Verify { errors: 1, ..Verify::default() };
            return Ok(OracleRun { found, first_error: death(error)?, ..run });
        }
    };
    let sign = first_sign(&ran, &complaints)?;
    let mut found = oracle::found(&ran);
    found.errors = found.errors.max(u64::from(sign.is_some()));
    Ok(OracleRun { found, first_error: sign.unwrap_or_default(), ..run })
}

/// The first thing that says that something is wrong.
fn first_sign(ran: &Ran, complaints: &[String]) -> Result<Option<String>> {
    let console = std::fs::read(&ran.console)
        .with_context(|| format!("cannot read {}", ran.console.display()))?;
    let console = String::from_utf8_lossy(&console);
    let error = |line: &str| Some(line.split_once("trimtab: verify error ")?.1.trim().to_owned());
    let said = console.lines().find_map(error);
    let failed = || {
        let test = ran.tests.ended(Outcome::Fail).next()?;
        Some(format!("test {} failed {}", test.name, test.detail).trim().to_owned())
    };
    let ended = || {
        let missing = ran.number("verify", "errors").is_err() && ran.tests.all().is_empty();
        missing.then(|| "the oracle did not end".to_owned())
    };
    // A process of the oracle that cannot go on says so in other words.
    let counted = || match ran.number_or_zero("verify", "errors") {
        0 => None,
        errors => {
            let why = console.lines().find_map(|line| line.split_once("trimtab: error "));
            Some(why.map_or_else(|| format!("{errors} errors"), |(_, why)| why.trim().to_owned()))
        }
    };
    Ok(said.or_else(|| complaints.first().cloned()).or_else(failed).or_else(ended).or_else(counted))
}

/// The kernel that can leave something out, where it does not.
const CONTROLS: &str = "mutants";

/// The kernel that can leave something out.
struct MutantKernel<'work> {
    guest: Guest<'work>,
}

impl<'work> MutantKernel<'work> {
    fn build(work: &'work WorkDir, request: &VerifyRequest, observe: &dyn Observe) -> Result<Self> {
        let scripts = Setting::ALL.map(|setting| {
            let commands = match setting {
                Setting::UnitTests => "exit 0\n".to_owned(),
                _ => with_disk(
                    setting.file_system(),
                    &oracle(
                        MUTANT_OPERATIONS / setting.fewer(),
                        request.basis.seed,
                        setting.options(),
                    ),
                ),
            };
            (setting.name().to_owned(), commands)
        });
        let tests = RENTAL.fragment("kunit").context("rental memory has no unit tests")?;
        let lines = format!("{tests}{MUTANT_LINES}");
        let asked = asked(request, &scripts, &lines);
        Ok(Self {
            guest: Guest::build_with(work, &asked, Kernel::Rental(&[&RENTAL_MUTANTS]), observe)?,
        })
    }

    fn boot(
        &self,
        mutant: &str,
        setting: Setting,
        number: u32,
        observe: &dyn Observe,
    ) -> Result<(Ran, Vec<String>)> {
        let tests = setting == Setting::UnitTests;
        let mut arguments = vec![format!("rental_mutant={mutant}")];
        if number > 0 {
            // Nobody reads it: it is another boot, of which nothing is kept.
            arguments.push(format!("trimtab.boot={number}"));
        }
        arguments.extend(setting.arguments().iter().map(ToString::to_string));
        arguments.push(format!("kunit.enable={}", u8::from(tests)));
        let asked = BootOf {
            // The tests need all regions for themselves.
            arm: if tests { Arm::Idle } else { Arm::Rental },
            devices: if setting.is_small() { &SMALL } else { &DEVICES },
            script: setting.name(),
            normal_mib: NORMAL_MIB,
            used_mib: ORACLE_USED_MIB,
            disk: FAST,
            cpus: setting.cpus(),
            arguments,
            outlet: false,
            device_tree: None,
        };
        self.guest.run_within(&asked, limits::FAULTY_KERNEL, observe)
    }

    /// Where nothing is left out.
    fn control(&self, setting: Setting, observe: &dyn Observe) -> Result<OracleRun> {
        let boot = self.boot("none", setting, 0, observe);
        oracle_run(CONTROLS, setting.name(), setting.cpus(), boot)
    }

    /// With the guest of the same setting where nothing is left out: where that fails, too, nothing is known.
    fn run(
        &self,
        mutant: &Mutant,
        control: Option<&OracleRun>,
        observe: &dyn Observe,
    ) -> Result<MutantRun> {
        let setting = mutant.setting.name();
        let of = |killed: bool, by: String, operations: u64| MutantRun {
            name: mutant.name.to_owned(),
            removes: mutant.removes.to_owned(),
            setting: setting.to_owned(),
            killed,
            by,
            operations,
        };
        if control.is_none_or(|control| !control.first_error.is_empty()) {
            return Ok(of(false, format!("unknown: {setting} fails without it, too"), 0));
        }
        let boot = |number| -> Result<MutantRun> {
            Ok(match self.boot(mutant.name, mutant.setting, number, observe) {
                Ok((ran, complaints)) => {
                    let sign = first_sign(&ran, &complaints)?;
                    let operations = ran.number_or_zero("verify", "operations");
                    of(sign.is_some(), sign.unwrap_or_default(), operations)
                }
                // A busy machine looks the same.
                Err(error) if hangs(&error) => {
                    of(false, "unknown: it did not end in time".to_owned(), 0)
                }
                Err(error) => of(true, death(error)?, 0),
            })
        };
        let mut found = boot(0)?;
        for number in 1..mutant.setting.boots() {
            if !found.killed {
                found = boot(number)?;
            }
        }
        Ok(found)
    }
}

fn hangs(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(BootError::Hung { .. }))
}

/// How the kernel of a guest died while something ran in it; all else is an error.
fn death(error: anyhow::Error) -> Result<String> {
    match error.downcast_ref::<BootError>() {
        Some(BootError::Panicked { lines, log }) if has_begun(log) => {
            Ok(format!("panic: {}", lines.first().map_or("", |line| line.trim())))
        }
        Some(BootError::Hung { .. }) => Ok("it hangs".to_owned()),
        Some(BootError::Rebooted { was_ready: true, .. }) => Ok("it resets the machine".to_owned()),
        _ => Err(error),
    }
}

/// Whether a guest has come so far that its programs or its unit tests have begun.
fn has_begun(console: &Path) -> bool {
    let text = std::fs::read(console).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.contains("trimtab: ready") || text.contains("KTAP version")
}

/// Boots guests, one for each file system, number of CPUs and kind of kernel, and one for each mutant.
///
/// # Errors
/// Missing tools, builds that fail, guests that do not come up.
pub fn verify(request: &VerifyRequest, observe: &dyn Observe) -> Result<RentVerify> {
    let start = Instant::now();
    ensure!(
        !request.checks.is_empty() || !request.mutants.is_empty() || request.basis.gcma.is_some(),
        "there is nothing to verify: no kernel, and no mutant"
    );
    let work = WorkDir::open(&request.basis.work)?;
    let scripts = PLACES.map(|place| (place.script(), place.commands(request)));
    let mut verified = Verified::default();
    let mut found = RentVerify::default();
    let mut inputs = BTreeMap::new();
    let mut used = |guest: &Guest<'_>, name: &str| -> Result<()> {
        found.kernel.clone_from(&guest.kernel_version);
        let (kernel, root) = guest.hashes()?;
        inputs.insert(format!("{name} kernel"), kernel);
        inputs.insert(format!("{name} guest"), root);
        found.repeat = request.basis.repeat(guest, inputs.clone());
        Ok(())
    };
    // First: that the user's patch fits is known soon.
    if let Some(patch) = &request.basis.gcma {
        let guest =
            Guest::build_with(&work, &asked(request, &scripts, ""), Kernel::Gcma(patch), observe)?;
        used(&guest, Arm::Gcma.name())?;
        let of = (Arm::Gcma.name(), Arm::Gcma, 0);
        for place in PLACES.iter().filter(|place| place.returned == Returned::Whole) {
            verified.gcma.push(place.run(&guest, of, observe)?);
        }
    }
    for &checks in &request.checks {
        let lines = checks.lines()?;
        let guest = Guest::build(&work, &asked(request, &scripts, &lines), observe)?;
        used(&guest, checks.name())?;
        for place in PLACES {
            let of = (checks.name(), Arm::Rental, checks.memory_mib());
            verified.runs.push(place.run(&guest, of, observe)?);
        }
    }
    if !request.mutants.is_empty() {
        let kernel = MutantKernel::build(&work, request, observe)?;
        used(&kernel.guest, "mutants")?;
        let needed = |setting: &Setting| request.mutants.iter().any(|it| it.setting == *setting);
        for setting in Setting::ALL.into_iter().filter(needed) {
            verified.runs.push(kernel.control(setting, observe)?);
        }
        for mutant in &request.mutants {
            let name = mutant.setting.name();
            let mut runs = verified.runs.iter();
            let control = runs.find(|run| run.kernel == CONTROLS && run.files == name);
            let found = kernel.run(mutant, control, observe)?;
            verified.mutants.push(found);
        }
    }
    verified.sum_up();
    request.basis.isa.kbuild().clone_into(&mut found.arch);
    found.verify = verified;
    found.seconds = start.elapsed().as_secs_f64();
    found.checks = found.judged();
    Ok(found)
}

/// A guest whose kernel has these lines more.
fn asked<'a>(
    request: &'a VerifyRequest,
    scripts: &[(String, String)],
    lines: &'a str,
) -> GuestRequest<'a> {
    let (scripts, files) = (scripts.to_vec(), BTreeMap::new());
    GuestRequest { basis: &request.basis, lines, scripts, files }
}

impl Mutant {
    /// By its name.
    pub fn named(name: &str) -> Option<&'static Mutant> {
        MUTANTS.iter().find(|mutant| mutant.name == name)
    }
}
