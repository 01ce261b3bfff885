//! `trimtab swap check`: whether a kernel that was linked by a plan may be booted.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use trimtab_report::number::{bytes, count};
use trimtab_swap::Plan;
use trimtab_swap::check::{END, START, check};

use crate::{destination, output};
use trimtab_inputs::{Elf, Text};

/// Checks a kernel that was linked by a plan: no code that must stay in memory may lie
/// between __coldswap_start and __coldswap_end.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: may this kernel be booted?

    trimtab swap check vmlinux plan.json")]
pub struct Options {
    /// The linked kernel with its symbols
    #[arg(value_name = "VMLINUX")]
    pub kernel: PathBuf,
    /// The plan, as trimtab swap plan wrote it
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// Also write the result as JSON to FILE; - writes it to standard output, alone
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `trimtab.swap.check/1`.
#[derive(Debug, Serialize)]
struct Summary {
    schema: &'static str,
    plan: String,
    start: u64,
    end: u64,
    functions: u64,
    swappable: u64,
    outside: u64,
    pages: u64,
    pages_kept: u64,
    data: u64,
}

/// Reads a plan.
///
/// # Errors
/// That the file cannot be read or is no plan, with its name.
pub fn read_plan(path: &std::path::Path) -> anyhow::Result<Plan> {
    let text = Text::read(path, "plan", "write one with trimtab swap plan --json FILE")?;
    Plan::parse(text.as_str()).with_context(|| path.display().to_string())
}

/// Checks.
///
/// # Errors
/// Files that cannot be read, and a kernel that must not be booted.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.json.as_deref()])?;
    let plan = read_plan(&options.plan)?;
    let file = Elf::open(&options.kernel)?;
    let program = file.program()?;
    let found = check(&program, &plan).with_context(|| file.path().display().to_string())?;
    let summary = Summary {
        schema: "trimtab.swap.check/1",
        plan: plan.id,
        start: found.range.start,
        end: found.range.end,
        functions: found.functions,
        swappable: found.swappable,
        outside: found.outside,
        pages: found.pages,
        pages_kept: found.pages_kept,
        data: found.data,
    };
    if let Some(file) = &options.json {
        output::json(&summary, file)?;
        if output::is_standard_output(file) {
            return Ok(());
        }
    }
    output::print(&format!(
        "{START} {:#x}, {END} {:#x}: {}, {} functions, all swappable\n\
         {} of {} swappable pieces of the plan lie there; {} of {} pages are as planned\n\
         {} of swappable data, to which no core code refers\n",
        summary.start,
        summary.end,
        bytes(summary.end - summary.start),
        count(summary.functions),
        count(summary.swappable),
        count(summary.swappable + summary.outside),
        count(summary.pages_kept),
        count(summary.pages),
        bytes(summary.data)
    ))
}
