//! Boots a kernel under QEMU with our guest, and collects what it reports.

mod command;
mod complaints;
mod console;
mod device;
mod device_tree;
mod error;
mod hardware;
mod kept;
mod ktap;
pub mod limits;
mod locks;
mod request;
#[cfg(test)]
mod tests;
mod trace;
mod turns;

pub use complaints::complaints;
pub use device::{Device, Disk, NullBlock};
pub use device_tree::DeviceTree;
pub use error::BootError;
pub use hardware::{Accelerator, Clock, Hardware};
pub use kept::{BootRecord, Digest, KeptBoot, KeptRequest};
pub use ktap::{Outcome, Test, Tests};
pub use locks::{LockFunction, LockOperation, LockTracer};
pub use request::{BootRequest, CoreTracer, Ftrace, OUTLET, Tracers};

use crate::arch::Platform;
use console::Console;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trimtab_lab::process::{Job, ProcessError, RunningJob, Tail};
use trimtab_program::Isa;

/// Numbers of instructions that ran in a boot. They repeat exactly with [`Clock::Instructions`].
///
/// A block that an exception cut short counts as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Instructions {
    /// All.
    pub total: u64,
    /// Before the kernel ran at its own addresses: firmware, decompressor, the kernel's first steps.
    pub early: u64,
    /// The kernel's.
    pub kernel: u64,
    /// User programs'.
    pub user: u64,
}

/// What our plugin recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocks {
    /// The trace, in trimtab's format.
    pub path: PathBuf,
    /// Instructions that ran.
    pub instructions: Instructions,
}

/// What the function tracer recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calls {
    /// The trace: the text of the kernel, reduced to the first call of each function.
    pub path: PathBuf,
    /// Function calls recorded.
    pub calls: u64,
    /// Different functions among them: the events in the trace.
    pub functions: u64,
}

/// A boot that went well.
#[derive(Debug, Clone)]
pub struct Boot {
    /// Everything that the guest wrote on its console.
    pub console: PathBuf,
    /// Wall time from the start of QEMU until the guest said that it is up.
    pub wall_ready: Duration,
    /// Wall time from the start of QEMU until the guest had nothing more to say.
    pub wall: Duration,
    /// The guest's own clock when it was up. With [`Clock::Instructions`] this repeats exactly.
    pub uptime_ready: Duration,
    /// The guest's own clock when the workload had ended.
    pub uptime_finished: Duration,
    /// What the plugin recorded, if it was there.
    pub blocks: Option<Blocks>,
    /// The plugin's stream of every block that ran, if it was to write one.
    pub stream: Option<PathBuf>,
    /// What the function tracer recorded, if it ran.
    pub calls: Option<Calls>,
    /// What the guest said in lines `trimtab: TOPIC NAME VALUE`: by topic, by name.
    pub said: BTreeMap<String, BTreeMap<String, String>>,
    /// The tests that ran in the guest: the kernel's own, and those of programs that speak as it does.
    pub tests: Tests,
    /// QEMU's command line, to repeat the boot by hand.
    pub command_line: String,
}

/// Boots a kernel and waits until its guest has ended.
///
/// # Errors
/// If a file is missing, QEMU cannot do what is asked, or the guest does anything but run its
/// workload to a good end in time; each of these is its own [`BootError`].
pub fn boot(request: &BootRequest) -> Result<Boot, BootError> {
    boot_showing(request, &mut |_, _| {})
}

/// The same; `progress` is told how many of how many parts are done each time that the guest's workload says so, in a
/// line `trimtab: progress DONE TOTAL`.
///
/// # Errors
/// Those of [`boot`].
pub fn boot_showing(
    request: &BootRequest,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Boot, BootError> {
    check(request)?;
    let console = request.folder.join("console.log");
    let traces = Traces {
        plugin: request.plugin_trace(),
        stream: request.tracers.stream.then(|| request.plugin_stream()),
        locks: request.tracers.locks.as_ref().map(|_| request.locks_trace()),
        core: request.tracers.core.as_ref().map(|_| request.core_counts()),
        out: request.out_file(&request.folder),
    };
    prepare(&request.folder, &traces)
        .map_err(|source| BootError::File { path: request.folder.clone(), source })?;

    let mut files = request.files(&traces);
    let tree = match &request.device_tree {
        Some(tree) => Some(tree.compile(request, command::arguments(request, &files))?),
        None => None,
    };
    files.device_tree = tree.as_deref();
    let job = Job::new("booting the guest", request.qemu.program())
        .tool(request.qemu.isa().qemu())
        .args(command::arguments(request, &files))
        .log(&console)
        .limit(request.limit)
        .grace(limits::ENDING);
    let command_line = job.command_line();
    let report = watch(job.spawn_lines()?, request, &console, progress)?;

    let blocks = match request.tracers.plugin {
        Some(_) => Some(trace::blocks(traces.plugin, &console)?),
        None => None,
    };
    if let Some(path) = &traces.locks {
        locks::check(path, &console)?;
    }
    let calls = match (request.tracers.ftrace, traces.out) {
        (Some(ftrace), Some(out)) => Some(trace::calls(out, &report, ftrace, &console)?),
        _ => None,
    };
    Ok(Boot {
        console,
        wall_ready: report.wall_ready,
        wall: report.wall_end,
        uptime_ready: report.uptime,
        uptime_finished: report.finished,
        blocks,
        stream: traces.stream,
        calls,
        said: report.said,
        tests: report.tests,
        command_line,
    })
}

/// Where tracers write.
struct Traces {
    plugin: PathBuf,
    stream: Option<PathBuf>,
    locks: Option<PathBuf>,
    core: Option<PathBuf>,
    out: Option<PathBuf>,
}

fn prepare(folder: &Path, traces: &Traces) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let optional = traces.stream.iter().chain(&traces.locks).chain(&traces.core).chain(&traces.out);
    for path in [&traces.plugin].into_iter().chain(optional) {
        match fs::remove_file(path) {
            // An old trace must not pass for this boot's.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The fastest accelerator that really runs this guest: KVM if a boot under it ends well within
/// 10 s, else TCG. A machine may have `/dev/kvm` and still not run a guest.
///
/// # Errors
/// If trimtab is asked to end, or the kernel or the guest is missing.
pub fn accelerator_that_works(request: &BootRequest) -> Result<Accelerator, BootError> {
    check(request)?;
    let foreign = !request.qemu.isa().is_here();
    if foreign || File::options().read(true).write(true).open("/dev/kvm").is_err() {
        return Ok(Accelerator::Tcg);
    }
    let mut probe = request.clone();
    probe.hardware.accelerator = Accelerator::Kvm;
    probe.hardware.clock = Clock::Real;
    probe.tracers = Tracers::default();
    probe.workload = None;
    probe.folder = request.folder.join("kvm-probe");
    probe.limit = limits::KVM_PROBE;
    match boot(&probe) {
        Ok(_) => Ok(Accelerator::Kvm),
        Err(BootError::Process(error @ ProcessError::Interrupted { .. })) => Err(error.into()),
        Err(_) => Ok(Accelerator::Tcg),
    }
}

fn check(request: &BootRequest) -> Result<(), BootError> {
    for (what, path) in [("kernel image", &request.kernel), ("guest's root", &request.initramfs)] {
        if !path.is_file() {
            return Err(BootError::Missing { what, path: path.clone() });
        }
    }
    let machine = &request.hardware;
    let kvm = machine.accelerator == Accelerator::Kvm;
    let images = request.disks.iter().filter_map(Disk::image);
    for path in images {
        if !path.is_file() {
            return Err(BootError::Missing { what: "image of a disk", path: path.to_owned() });
        }
    }
    let wrong = if machine.memory_mib < 64 {
        Some("less than 64 MiB of memory")
    } else if machine.cpus == 0 {
        Some("no CPU")
    } else if kvm && !request.qemu.isa().is_here() {
        Some("KVM and another architecture than this machine's, which only TCG can do")
    } else if kvm && machine.clock != Clock::Real {
        Some("KVM and icount, which only TCG can do")
    } else if kvm && request.tracers.plugin.is_some() {
        Some("KVM and the tracing plugin, which only TCG can load")
    } else if request.outlet && request.tracers.ftrace.is_some() {
        Some("the function tracer and a workload that both write to the outlet")
    } else if request.device_tree.is_some() && request.qemu.isa() != Isa::Aarch64 {
        Some("more in its device tree, of which it has none")
    } else if !machine.clock.has_sound_quantum() {
        Some("a quantum that is not from 1 to 10^9 instructions")
    } else {
        None
    };
    if let Some(asked) = wrong {
        return Err(BootError::Machine { asked });
    }
    if matches!(machine.clock, Clock::Parallel { .. }) {
        request.qemu.require_parallel_clock()?;
    }
    if let Some(library) = &request.tracers.plugin {
        if !library.is_file() {
            return Err(BootError::Missing { what: "tracing plugin", path: library.clone() });
        }
        request.qemu.require_plugins()?;
    }
    Ok(())
}

/// What a guest that went well has said.
struct Report {
    wall_ready: Duration,
    wall_end: Duration,
    uptime: Duration,
    finished: Duration,
    ftrace: Option<console::FtraceEnd>,
    errors: Vec<String>,
    said: BTreeMap<String, BTreeMap<String, String>>,
    tests: Tests,
}

/// What QEMU says when it is ended is no word of the guest.
fn without_qemu(mut tail: Tail) -> Tail {
    tail.lines.retain(|line| !line.contains(": terminating on signal "));
    tail
}

fn watch(
    mut qemu: RunningJob,
    request: &BootRequest,
    log: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Report, BootError> {
    let mut console = Console::default();
    loop {
        match qemu.next_line() {
            Ok(Some(line)) => {
                console.line(&line);
                if let Some((done, total)) = console.progress.take() {
                    progress(done, total);
                }
                if console.end.is_some() && !console.ending {
                    console.ending = true;
                    qemu.limit_from_now(limits::AFTER_LAST_LINE);
                }
            }
            Ok(None) => break,
            Err(ProcessError::TimeLimit { .. }) if console.ending => break,
            Err(ProcessError::TimeLimit { limit, tail, .. }) if !console.panicked => {
                let argument = request.qemu.isa().early_messages();
                return Err(BootError::Hung { limit, tail: without_qemu(tail), argument });
            }
            // A kernel that panics and then hangs has panicked.
            Err(ProcessError::TimeLimit { .. }) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let tail = qemu.tail();
    if console.said_too_much() {
        return Err(BootError::SaidTooMuch { most: console::MOST_SAID, tail });
    }
    if console.panicked {
        return Err(BootError::Panicked { lines: console.panic, log: log.to_owned() });
    }
    if !console.ending {
        // If QEMU itself failed, its own words say why.
        qemu.wait()?;
        return Err(BootError::Rebooted { was_ready: console.ready.is_some(), tail });
    }
    // With `end` said, QEMU's status does not matter. Its trace is whole only once it has ended.
    if let Err(error @ (ProcessError::Interrupted { .. } | ProcessError::NoSpace { .. })) =
        qemu.wait()
    {
        return Err(error.into());
    }
    for name in &request.modules {
        match console.said.get("module").and_then(|modules| modules.get(name)) {
            Some(said) if said == "ok" => {}
            Some(why) => {
                return Err(BootError::Module { name: name.clone(), why: why.clone(), tail });
            }
            None => return Err(BootError::Silent { missing: "that a module is loaded", tail }),
        }
    }
    if let Some(workload) = &request.workload {
        match console.workload {
            Some((name, 0)) if name == *workload => {}
            Some((name, code)) => {
                return Err(BootError::Workload { name, code, tail });
            }
            None => return Err(BootError::Silent { missing: "how its workload ended", tail }),
        }
    }
    let silent = |missing| BootError::Silent { missing, tail: tail.clone() };
    Ok(Report {
        wall_ready: console.ready.ok_or_else(|| silent("when it was up"))?,
        wall_end: console.end.ok_or_else(|| silent("that it has ended"))?,
        uptime: console.uptime.ok_or_else(|| silent("its uptime"))?,
        finished: console.finished.ok_or_else(|| silent("its uptime at the end"))?,
        ftrace: console.ftrace,
        errors: console.errors,
        said: console.said,
        tests: console.tests.end(),
    })
}
