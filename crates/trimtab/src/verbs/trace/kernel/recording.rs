//! One boot with somebody watching.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use tempfile::TempDir;
use trimtab_lab::{bytes, tools};
use trimtab_machine::boot::{self, BootError, BootRequest};
use trimtab_machine::qemu::Qemu;
use trimtab_machine::{Isa, Platform, guest, isa_of_image, plugin};

use super::Options;
use crate::verbs::fit::kernel::Tracer;
use trimtab_lab::failure::Failure;
use trimtab_lab::interrupt;
use trimtab_lab::observe::Observe;

/// What was recorded.
#[derive(Debug)]
pub(super) struct Recording {
    /// The tracer's own text.
    pub text: String,
    /// How the boot ended.
    pub ended: End,
    /// QEMU's command line, where the boot ended in order.
    pub command_line: Option<String>,
    /// The stream, where one was asked for; removed with this.
    pub stream: Option<PathBuf>,
    _folder: TempDir,
}

/// How a boot ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum End {
    /// The guest's workload was done.
    Workload,
    /// The machine was powered off or reset.
    PowerOff,
    /// The time was over.
    Timeout,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Workload => "the workload was done",
            Self::PowerOff => "the machine was switched off",
            Self::Timeout => "the time was over",
        })
    }
}

/// Boots the kernel.
///
/// # Errors
/// Missing tools or files, a guest that does not come up.
pub(super) fn record(options: &Options, progress: &dyn Observe) -> anyhow::Result<Recording> {
    if options.stream.is_some() && options.tracer == Tracer::Ftrace {
        return Err(Failure::usage(
            "--stream needs --tracer plugin: ftrace sees no blocks; see --help",
        )
        .into());
    }
    let own_root = options.initramfs.is_some();
    if own_root && options.tracer == Tracer::Ftrace {
        return Err(Failure::usage(
            "--tracer ftrace needs trimtab's own guest, which sends the trace out of the machine; \
             see --help",
        )
        .hint("leave out --initramfs, or save the trace in your own guest as on a board")
        .into());
    }
    // Before anything is built: a name that is wrong is wrong at once.
    for path in [Some(&options.kernel), options.initramfs.as_ref()].into_iter().flatten() {
        bytes::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    }
    let folder =
        TempDir::with_prefix("trimtab-trace-").context("cannot make a folder to work in")?;
    let left_over = folder.path().to_owned();
    interrupt::on_stop(move || _ = fs::remove_dir_all(left_over));

    let stage = progress.stage("prepare the guest");
    let request = request(options, folder.path())?;
    stage.done("");
    let stage = progress.stage("boot the kernel");
    let (trace, ended, command_line) = match boot::boot(&request) {
        Ok(boot) => {
            let trace = boot
                .blocks
                .map(|blocks| blocks.path)
                .or(boot.calls.map(|calls| calls.path))
                .context("the boot left no trace")?;
            (trace, End::Workload, Some(boot.command_line))
        }
        // A root that is not ours says nothing of its end.
        Err(BootError::Rebooted { .. } | BootError::Silent { .. }) if own_root => {
            (request.plugin_trace(), End::PowerOff, None)
        }
        Err(BootError::Hung { .. }) if own_root => (request.plugin_trace(), End::Timeout, None),
        Err(error) => return Err(kept(error, folder).into()),
    };
    stage.done(&ended.to_string());
    let bytes = fs::read(&trace).context("the guest left no trace")?;
    Ok(Recording {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        ended,
        command_line,
        stream: request.tracers.stream.then(|| request.plugin_stream()),
        _folder: folder,
    })
}

/// An error that names the console leaves the console behind.
fn kept(error: BootError, folder: TempDir) -> BootError {
    if matches!(error, BootError::Panicked { .. } | BootError::NoTrace { .. }) {
        let _ = folder.keep();
    }
    error
}

/// The kind of machine that a kernel image is for.
fn arch_of(image: &Path) -> anyhow::Result<Isa> {
    let mut start = Vec::new();
    fs::File::open(image)
        .and_then(|file| file.take(64).read_to_end(&mut start))
        .with_context(|| format!("cannot read {}", image.display()))?;
    Ok(isa_of_image(&start))
}

fn request(options: &Options, folder: &Path) -> anyhow::Result<BootRequest> {
    let isa = arch_of(&options.kernel)?;
    let qemu = Qemu::probe(&tools::find(isa.qemu())?.path, isa)?;
    let compiler = tools::find("gcc")?.path;
    let initramfs = match &options.initramfs {
        Some(path) => path.clone(),
        None => {
            let workloads = guest::Workload::all()?;
            if !workloads.iter().any(|workload| workload.name == options.workload) {
                let names: Vec<&str> = workloads.iter().map(|w| w.name.as_str()).collect();
                return Err(Failure::usage(format!(
                    "there is no workload {}, expected {}; see --help",
                    options.workload,
                    names.join(", ")
                ))
                .into());
            }
            let busybox = match &options.busybox {
                Some(path) => path.clone(),
                None => match guest::busybox::installed(isa)? {
                    Some(found) => found.path,
                    None => guest::busybox::fetch(isa, folder)?.0,
                },
            };
            let guest_compiler = tools::find(isa.gcc())?.path;
            guest::build(isa, &guest_compiler, &busybox, &workloads, &BTreeMap::new(), folder)?
        }
    };
    let mut request = BootRequest::new(qemu, &options.kernel, initramfs, folder.join("boot"));
    request.hardware.memory_mib = options.memory;
    request.hardware.cpus = options.cpus;
    request.workload = options.initramfs.is_none().then(|| options.workload.clone());
    request.arguments = options.arg.clone();
    request.limit = Duration::from_secs(options.timeout);
    match options.tracer {
        Tracer::Plugin => request.tracers.plugin = Some(plugin::build(&compiler, folder)?),
        Tracer::Ftrace => request.tracers.ftrace = Some(boot::Ftrace::default()),
    }
    request.tracers.stream = options.stream.is_some();
    Ok(request)
}
