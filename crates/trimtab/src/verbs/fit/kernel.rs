//! `trimtab fit kernel`: a kernel that touches fewer pages while it boots, and the proof.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use trimtab_fit::report::FitKernel;
use trimtab_lab::observe::say;
use trimtab_report::common::Target;

use crate::arguments::{self, Arch, Outputs};
use crate::progress::Progress;
use crate::verbs::stored;
use crate::{destination, output};
use trimtab_fit::KernelRequest;
use trimtab_fit::kernel as fit;
use trimtab_lab::failure::Failure;
use trimtab_report::Report;

/// Builds a kernel, traces its boot, orders its functions by it, relinks, boots again, and
/// compares; also on machines whose boots did not make the order, and with random orders.
///
/// A run that was stopped, by whatever, is resumed by the same command.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: fit Debian's kernel, and look at the result in a browser

    trimtab fit kernel --config lab --html fit.html")]
pub struct Options {
    /// Kernel source: a tarball, a Debian source package (.dsc), a directory, or
    /// REPOSITORY@REVISION of git; it is copied and not changed
    /// [default: the newest supported /usr/src/linux-source-*.tar.xz]
    #[arg(long, value_name = "TARBALL|DSC|DIR")]
    pub source: Option<PathBuf>,
    /// Kernel configuration: tiny (builds fast), lab (virtio, ext4, network, PCI, ACPI), or a file
    #[arg(long, value_name = "tiny|lab|FILE", default_value = "lab")]
    pub config: String,
    /// Architecture to build for
    #[arg(long, value_name = "ARCH", default_value = "x86_64")]
    pub arch: Arch,
    /// A static busybox for the guest [default: the one installed; for another architecture than
    /// this machine's, the one in Debian's package, which is downloaded]
    #[arg(long, value_name = "FILE")]
    pub busybox: Option<PathBuf>,
    /// Where to build, and to keep what a later run can use again
    #[arg(long, value_name = "DIR", default_value = arguments::WORK)]
    pub work: PathBuf,
    /// Boots to trace for the order: the one to make better, the same again, then variations
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=fit::plan::MOST))]
    pub boots: u32,
    /// Boots of each side to time; 0 for none
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub wall_boots: u32,
    /// Boots on each machine that made no order
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub held_out_boots: u32,
    /// What is moved: whole functions, or the parts of them that run
    #[arg(long, value_name = "NAME", default_value = "function")]
    pub granularity: Granularity,
    /// What records the boot: the plugin in QEMU sees all code, ftrace what boards can see
    #[arg(long, value_name = "NAME", default_value = "plugin")]
    pub tracer: Tracer,
    /// Compiler of the kernel; the linker is lld for both
    #[arg(long, value_name = "NAME", default_value = "clang")]
    pub compiler: Compiler,
    /// The least share of the trace that has to be found in the kernel, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = arguments::MIN_COVERAGE, value_parser = arguments::share)]
    pub min_coverage: f64,
    /// Seed of random choices: the shuffles that the order is compared with
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// What is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Granularity {
    /// Functions as they are: the kernel is only linked again
    Function,
    /// The blocks of functions that run, away from those that do not: needs clang, and compiles
    /// what runs once more
    Block,
}

/// What records a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Tracer {
    /// trimtab's plugin for QEMU: all code, from the first instruction
    Plugin,
    /// The kernel's function tracer: as on a board, without early boot and entry code
    Ftrace,
}

/// What compiles a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Compiler {
    /// LLVM's
    Clang,
    /// GNU's
    Gcc,
}

impl Options {
    fn request(&self) -> KernelRequest {
        KernelRequest {
            source: self.source.clone(),
            config: self.config.clone(),
            isa: self.arch.isa(),
            busybox: self.busybox.clone(),
            work: self.work.clone(),
            boots: self.boots,
            wall_boots: self.wall_boots,
            held_out_boots: self.held_out_boots,
            granularity: match self.granularity {
                Granularity::Function => fit::Granularity::Function,
                Granularity::Block => fit::Granularity::Block,
            },
            tracer: match self.tracer {
                Tracer::Plugin => fit::Tracer::Plugin,
                Tracer::Ftrace => fit::Tracer::Ftrace,
            },
            compiler: match self.compiler {
                Compiler::Clang => fit::Compiler::Clang,
                Compiler::Gcc => fit::Compiler::Gcc,
            },
            min_coverage: self.min_coverage,
            seed: self.seed,
            html: self.outputs.html.clone(),
        }
    }
}

/// Fits.
///
/// # Errors
/// Missing tools or sources, no space, a build that fails, a guest that does not come up.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let progress = Progress::new();
    let fit = fit::fit(&options.request(), &progress)?;
    stored::keep(&options.work, &fit)?;
    output::report(&options.outputs, &fit)?;
    verdict(&fit)
}

/// What does not hold is a failure. A target that is missed is not: the kernel is sound, and how
/// far it can be improved depends on the kernel.
fn verdict(fit: &FitKernel) -> anyhow::Result<()> {
    let broken = fit.failures();
    if !broken.is_empty() {
        return Err(Failure::new(format!(
            "the kernel was fitted, but not everything holds: {}",
            broken.join("; ")
        ))
        .into());
    }
    let missed: Vec<String> =
        fit.targets.iter().filter(|target| !target.met).map(Target::clause).collect();
    if !missed.is_empty() {
        say(&format!("trimtab: warning: not every target is met: {}", missed.join("; ")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use trimtab_fit::report::BootFigures;
    use trimtab_report::common::{Check, Target};

    use super::*;

    #[test]
    fn what_does_not_hold_fails_and_what_is_missed_does_not() {
        let mut fit = FitKernel::default();
        assert!(verdict(&fit).is_ok());
        fit.targets.push(Target::at_most("pages", 1.05, 1.5));
        assert!(!fit.ok() && verdict(&fit).is_ok());
        fit.boot.booted = BootFigures { attempted: 30, succeeded: 29 };
        fit.boot.failed = Some("the guest hangs".to_owned());
        fit.checks.push(Check::new("the linker honoured the order", false, "1 of 2 lines"));
        let error = verdict(&fit).unwrap_err().to_string();
        assert!(error.contains("not so: the linker honoured the order (1 of 2 lines)"), "{error}");
        assert!(
            error.contains("29 of 30 boots of the kernel laid out came up: the guest hangs"),
            "{error}"
        );
    }
}
