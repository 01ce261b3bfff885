//! `trimtab fit program`: a program that starts with fewer pages, and the proof.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use trimtab_fit::report::FitProgram;

use crate::arguments::{self, Outputs};
use crate::progress::Progress;
use crate::verbs::stored;
use crate::{destination, output};
use anyhow::Context;
use trimtab_fit::ProgramRequest;
use trimtab_fit::program as fit;
use trimtab_lab::failure::Failure;
use trimtab_layout::DEFAULT_OF_PROGRAMS;
use trimtab_link::Linker;
use trimtab_report::Report;

/// Builds a program with your own build command, traces how it starts, orders its functions by
/// that, builds it again, and compares starts of the two: page faults, memory, time.
///
/// The build finds compilers and a linker in PATH that compile each function into a section of its
/// own and follow the order; nothing else of it changes.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: fit a program that make builds, by how it answers a question

    trimtab fit program --build 'make app' --run './app --version'

With cargo and CMake:

    trimtab fit program --build 'cargo build --release' --run 'target/release/app --help'
    trimtab fit program --build 'cmake -B b . && cmake --build b' --run 'b/app --version'")]
pub struct Options {
    /// The command that builds the program; a shell runs it in this folder
    #[arg(long, value_name = "CMD", required = true)]
    pub build: String,
    /// A command that starts the program and ends; the first is the one to make better, further
    /// ones say what else can be expected to run
    #[arg(long, value_name = "CMD", num_args = 1, required = true)]
    pub run: Vec<String>,
    /// A command that judges the order and does not make it
    #[arg(long, value_name = "CMD", num_args = 1)]
    pub held_out: Vec<String>,
    /// The program that is laid out [default: what the first --run starts]
    #[arg(long, value_name = "PATH")]
    pub program: Option<PathBuf>,
    /// A shared library of the same build that is laid out as well
    #[arg(long, value_name = "PATH", num_args = 1)]
    pub library: Vec<PathBuf>,
    /// Another version of the program, made by other means, to be measured in turn with ours
    #[arg(long, value_name = "NAME=FILE", num_args = 1, value_parser = named_file)]
    pub beside: Vec<(String, PathBuf)>,
    /// What is moved: whole functions, or the parts of them that run
    #[arg(long, value_name = "NAME", default_value = "function")]
    pub granularity: Granularity,
    /// With --granularity block: how the blocks of a function that run follow each other
    #[arg(long, value_name = "NAME", default_value = "source")]
    pub block_order: BlockOrder,
    /// What records the runs
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub tracer: Tracer,
    /// What links the program
    #[arg(
        long, value_name = "NAME", default_value_t = Linker::DEFAULT,
        value_parser = arguments::linkers(Linker::of_programs())
    )]
    pub linker: Linker,
    /// Where the sections lie in the file.
    #[arg(
        long, value_name = "NAME", default_value = "together",
        help = format!(
            "Where the sections lie in the file: with {}, what a start needs can stand together",
            Linker::list(Linker::of_programs().filter(|linker| linker.takes_blocks()))
        )
    )]
    pub sections: Sections,
    /// How the order is found
    #[arg(long, value_name = "NAME", default_value = DEFAULT_OF_PROGRAMS)]
    pub algorithm: String,
    /// Starts of each side to measure, cold and warm; 0 for none
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub runs: u32,
    /// Seconds that one run may take before it is ended
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub limit: u64,
    /// Seconds that one build may take before it is ended
    #[arg(long, value_name = "SECONDS", default_value_t = 7200, value_parser = clap::value_parser!(u64).range(1..=604800))]
    pub build_limit: u64,
    /// The least share of a trace that has to be found in the program, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = arguments::MIN_COVERAGE, value_parser = arguments::share)]
    pub min_coverage: f64,
    /// Seed of random choices: the shuffles that the order is compared with
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Where to keep traces, orders and both versions
    #[arg(long, value_name = "DIR", default_value = arguments::WORK)]
    pub work: PathBuf,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Reads `NAME=FILE`.
fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.to_owned(), file.into()))
        }
        _ => Err("expected NAME=FILE, such as bolt=app.bolt".to_owned()),
    }
}

/// What is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Granularity {
    /// Functions as they are: the program is only linked again
    Function,
    /// The blocks of functions that run, away from those that do not: needs clang, and compiles
    /// what runs once more; what other compilers compiled is moved by functions
    Block,
}

/// How the blocks of a function that run follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BlockOrder {
    /// As the compiler has them
    Source,
    /// So that jumps that are often taken are short or fall through (Newell and Pupyrev 2020)
    ExtTsp,
}

/// Where the sections of a program lie in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sections {
    /// With lld: tables, constants and data side by side, then the text, then what only unwinding
    /// needs; other linkers keep their own way
    Together,
    /// As the linker always does
    Kept,
}

/// What records a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Tracer {
    /// QEMU; where it is missing or the program does not run in it, breakpoints
    Auto,
    /// QEMU with trimtab's plugin: every block, exactly, and it counts instructions
    Qemu,
    /// Breakpoints on this machine: functions, not their blocks, of any program
    Native,
}

impl Options {
    fn request(&self) -> anyhow::Result<ProgramRequest> {
        Ok(ProgramRequest {
            trimtab: std::env::current_exe().context("cannot find trimtab itself")?,
            build: self.build.clone(),
            run: self.run.clone(),
            held_out: self.held_out.clone(),
            program: self.program.clone(),
            library: self.library.clone(),
            beside: self.beside.clone(),
            granularity: match self.granularity {
                Granularity::Function => fit::Granularity::Function,
                Granularity::Block => fit::Granularity::Block,
            },
            block_order: match self.block_order {
                BlockOrder::Source => fit::BlockOrder::Source,
                BlockOrder::ExtTsp => fit::BlockOrder::ExtTsp,
            },
            tracer: match self.tracer {
                Tracer::Auto => fit::TracerChoice::Auto,
                Tracer::Qemu => fit::TracerChoice::Qemu,
                Tracer::Native => fit::TracerChoice::Native,
            },
            linker: self.linker,
            sections: match self.sections {
                Sections::Together => fit::Sections::Together,
                Sections::Kept => fit::Sections::Kept,
            },
            algorithm: self.algorithm.clone(),
            runs: self.runs,
            limit: self.limit,
            build_limit: self.build_limit,
            min_coverage: self.min_coverage,
            seed: self.seed,
            work: self.work.clone(),
            html: self.outputs.html.clone(),
        })
    }
}

/// Fits.
///
/// # Errors
/// Missing tools, a build that fails or takes no part, a program that cannot be traced.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    if options.granularity == Granularity::Block && options.tracer == Tracer::Native {
        return Err(Failure::usage(
            "breakpoints see which functions run, and not which of their blocks; see --help",
        )
        .hint("use --tracer qemu with --granularity block")
        .into());
    }
    if options.granularity == Granularity::Function && options.block_order != BlockOrder::Source {
        return Err(Failure::usage(
            "--block-order orders blocks, and functions are moved whole; see --help",
        )
        .hint("add --granularity block")
        .into());
    }
    let progress = Progress::new();
    let fit = fit::fit(&options.request()?, &progress)?;
    stored::keep(&options.work, &fit)?;
    output::report(&options.outputs, &fit)?;
    verdict(&fit)
}

/// What does not hold is a failure.
fn verdict(fit: &FitProgram) -> anyhow::Result<()> {
    let broken = fit.failures();
    if broken.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the program was fitted, but not everything holds: {}",
        broken.join("; ")
    ))
    .into())
}

#[cfg(test)]
mod tests {
    use trimtab_report::common::Check;

    use super::*;

    #[test]
    fn versions_made_by_others_have_names() {
        assert_eq!(named_file("bolt=a=b"), Ok(("bolt".to_owned(), "a=b".into())));
        for text in ["bolt", "=file", "bolt="] {
            assert!(named_file(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_does_not_hold_fails() {
        let mut fit = FitProgram::default();
        assert!(verdict(&fit).is_ok());
        fit.checks.push(Check::new("the linker honoured the order", false, "1 of 2 lines"));
        let error = verdict(&fit).unwrap_err().to_string();
        assert!(error.contains("not so: the linker honoured the order (1 of 2 lines)"), "{error}");
    }
}
