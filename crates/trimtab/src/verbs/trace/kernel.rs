//! `trimtab trace --kernel`: what ran while a kernel booted.

mod recording;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use trimtab_profile::{Profile, read};
use trimtab_report::number::{count, share};

use self::recording::{End, Recording};
use crate::output;
use crate::progress::Progress;
use crate::verbs::fit::kernel::Tracer;
use crate::{arguments, destination};
use trimtab_inputs::Elf;
use trimtab_machine::boot::limits;

/// How a kernel is booted and recorded.
#[derive(Debug, Args)]
#[group(id = "boot")]
pub struct Options {
    /// The kernel image that boots; it also says on which machine: a bzImage, or for arm64 an Image
    /// or Image.gz
    #[arg(long, value_name = "IMAGE")]
    pub kernel: PathBuf,
    /// The linked kernel of that image: its symbols are written into the trace, which then also
    /// fits the same code linked in another order
    #[arg(long, value_name = "FILE")]
    pub vmlinux: Option<PathBuf>,
    /// Write the trace to FILE
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Also write every block that runs, each time and in order, to FILE: what `swap plan` decides by;
    /// only with the plugin, and it takes much longer
    #[arg(long, value_name = "FILE")]
    pub stream: Option<PathBuf>,
    /// An initramfs of your own in place of trimtab's guest; the trace ends when it powers off or
    /// resets the machine, or with --timeout
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    pub initramfs: Option<PathBuf>,
    /// A static busybox for trimtab's guest [default: the one installed; for another architecture
    /// than this machine's, the one in Debian's package, which is downloaded]
    #[arg(long, value_name = "FILE", conflicts_with = "initramfs")]
    pub busybox: Option<PathBuf>,
    /// What trimtab's guest runs after it has booted
    #[arg(long, value_name = "NAME", default_value = "boot")]
    pub workload: String,
    /// What records: the plugin in QEMU sees all code, ftrace what boards can see
    #[arg(long, value_name = "NAME", default_value = "plugin")]
    pub tracer: Tracer,
    /// Memory of the guest in MiB
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u32).range(64..=65536))]
    pub memory: u32,
    /// CPUs of the guest
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub cpus: u32,
    /// A further argument for the kernel; can be given again
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub arg: Vec<String>,
    /// Give up on the guest after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = limits::SMALL_GUEST.as_secs(), value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub timeout: u64,
    /// The least share of the trace that has to be found in --vmlinux, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = arguments::MIN_COVERAGE, value_parser = arguments::share)]
    pub min_coverage: f64,
    /// Also write a summary of what was recorded as JSON to FILE; - writes it to standard output, alone
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `trimtab.trace/1`.
#[derive(Debug, Serialize)]
struct Summary {
    schema: &'static str,
    kernel: String,
    output: String,
    stream: Option<String>,
    source: &'static str,
    ended: End,
    events: u64,
    lost: u64,
    coverage: Option<TraceCoverage>,
    command_line: Option<String>,
}

/// How much of the trace is in the linked kernel.
#[derive(Debug, Serialize)]
struct TraceCoverage {
    names: f64,
    bytes: f64,
    functions: u64,
}

/// Traces.
///
/// # Errors
/// Missing tools, a guest that does not come up, files that cannot be read or written.
pub fn run(options: &Options) -> anyhow::Result<()> {
    // What would only fail after the boot fails now.
    let vmlinux = options.vmlinux.as_deref().map(Elf::open).transpose()?;
    let program = vmlinux.as_ref().map(Elf::program).transpose()?;
    destination::check([
        Some(options.output.as_path()),
        options.stream.as_deref(),
        options.json.as_deref(),
    ])?;

    let recording = recording::record(options, &Progress::new())?;
    let Recording { text, ended, command_line, .. } = &recording;
    let trace = read::read(text).with_context(|| format!("the trace of {ended}"))?;
    let mut coverage = None;
    let mut annotated = None;
    if let Some(program) = &program {
        let profile = Profile::resolve(&trace, program);
        let found = profile.coverage();
        found.check(options.min_coverage).with_context(|| {
            let [vmlinux, kernel] =
                [options.vmlinux.as_deref().unwrap_or(Path::new("")), &options.kernel];
            format!("{} is not the kernel in {}", vmlinux.display(), kernel.display())
        })?;
        coverage = Some(TraceCoverage {
            names: found.names(),
            bytes: found.bytes(),
            functions: profile.functions().len() as u64,
        });
        // The function tracer's text has the symbols already.
        if options.tracer == Tracer::Plugin {
            annotated = Some(read::write_native(&trace, program));
        }
    }
    output::whole(&options.output, annotated.as_ref().unwrap_or(text))?;
    if let (Some(stream), Some(file)) = (&recording.stream, &options.stream) {
        output::copy(stream, file)?;
    }
    let summary = Summary {
        schema: "trimtab.trace/1",
        kernel: options.kernel.display().to_string(),
        output: options.output.display().to_string(),
        stream: options.stream.as_ref().map(|file| file.display().to_string()),
        source: trace.source().name(),
        ended: *ended,
        events: trace.events().len() as u64,
        // What the function tracer loses is an error of the boot; its text says of each call but the
        // first that it is missing.
        lost: if options.tracer == Tracer::Ftrace { 0 } else { trace.lost },
        coverage,
        command_line: command_line.clone(),
    };
    if let Some(file) = &options.json {
        output::json(&summary, file)?;
    }
    if options.json.as_deref().is_some_and(output::is_standard_output) {
        return Ok(());
    }
    output::print(&summary.render())
}

impl Summary {
    fn render(&self) -> String {
        let mut text = format!(
            "{}: {} events of {}, until {}\n",
            self.output,
            count(self.events),
            self.source,
            self.ended
        );
        if let Some(stream) = &self.stream {
            text.push_str(&format!("{stream}: every block that ran, in order\n"));
        }
        if self.lost > 0 {
            text.push_str(&format!("events that the tracer lost: {}\n", count(self.lost)));
        }
        match &self.coverage {
            Some(found) => text.push_str(&format!(
                "coverage: {} of names, {} of bytes, {} functions ran\n",
                share(found.names),
                share(found.bytes),
                count(found.functions)
            )),
            None => text.push_str(
                "without --vmlinux the trace has no symbols and fits this very link only\n",
            ),
        }
        text
    }
}
