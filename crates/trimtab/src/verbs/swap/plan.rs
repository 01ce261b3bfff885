//! `trimtab swap plan`: which code of a kernel stays in memory, and where the rest lies.

mod explain;
mod summary;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use trimtab_swap::{Class, Code, Plan, ResidentBudget};

use super::arguments::InputArguments;
use crate::progress::Progress;
use crate::{arguments, destination, output};
use trimtab_lab::observe::Observe;
use trimtab_swap::run::{self as swap, Files};

/// Decides which code of a kernel must stay in memory, which stays there because it runs often, and
/// on which pages all other code lies, to be loaded when it is needed.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: plan a kernel without a function tracer by two boots, for a cache of 16 pages

    trimtab swap plan vmlinux --map vmlinux.map --trace boot.stream --trace files.stream \\
        --frames 16 --json plan.json --lists lists")]
pub struct Options {
    /// The kernel and what ran.
    #[command(flatten)]
    pub inputs: InputArguments,
    /// Share of all executed instructions that stays in memory, above 0, at most 1
    #[arg(long, value_name = "SHARE", default_value = "0.999", value_parser = arguments::share)]
    pub threshold: f64,
    /// Share of all code that may stay in memory, with the cache: where the threshold leaves room,
    /// what would be loaded most often stays, too [default: only what the threshold says]
    #[arg(long, value_name = "SHARE", value_parser = arguments::share)]
    pub room: Option<f64>,
    /// Page frames of the cache
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(2..=65536))]
    pub frames: u32,
    /// How pages are filled: recency, profile-based or entry-points
    #[arg(long, value_name = "NAME", default_value = "recency")]
    pub placement: String,
    /// Say why this function is where it is, and nothing else
    #[arg(long, value_name = "FUNCTION", conflicts_with_all = ["json", "lists"])]
    pub explain: Option<String>,
    /// Say what brings how much code into the core, and which calls were not followed and why, and
    /// nothing else
    #[arg(long, conflicts_with_all = ["explain", "json", "lists"])]
    pub explain_core: bool,
    /// Also write the plan as JSON to FILE; - writes it to standard output, alone
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write what a kernel's build takes into FOLDER: core.list, base.list, cold.list,
    /// cold-order, cold-rodata, function-order.lds and plan.id; and with --granularity block, what the compiler
    /// takes: block-lists and blocks
    #[arg(long, value_name = "FOLDER")]
    pub lists: Option<PathBuf>,
}

/// Plans.
///
/// # Errors
/// Files that cannot be read or written, traces of another build, a kernel of which nothing can be
/// swapped.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.json.as_deref()])?;
    let frames = options.frames as usize;
    let inputs = options.inputs.inputs();
    let packing = swap::packing(&options.placement, frames)?;
    let progress = Progress::new();
    let files = Files::open(&inputs)?;
    let program = files.program()?;
    let stage = progress.stage("read the kernel");
    let map = swap::block_map(&files, inputs.granularity)?;
    let code = Code::read(&program, map.as_ref())?;
    let training = swap::runs(&inputs.trace, &program, inputs.min_coverage, inputs.formats)?;
    stage.done("");
    let kernel = swap::read_kernel(&files, &inputs, &code, &training, &progress)?;
    let stage = progress.stage("divide the code");
    let room = options.room.map(|share| ResidentBudget { share, frames });
    let partition = kernel.at(options.threshold, room)?;
    stage.done("");
    if let Some(name) = &options.explain {
        return output::print(&explain::explain(&partition, name)?);
    }
    if options.explain_core {
        return output::print(&explain::core(&partition));
    }
    let stage = progress.stage("place what can be swapped");
    let (plan, places) =
        partition.plan(files.bytes(), &inputs.never(), packing.as_ref(), frames)?;
    stage.done("");
    if let Some(folder) = &options.lists {
        write_lists(folder, &plan)?;
        if let Some(splits) = partition.lists()?.splits() {
            for (name, text) in splits.files() {
                let path = folder.join(name);
                if let Some(above) = path.parent() {
                    fs::create_dir_all(above)
                        .with_context(|| format!("cannot make the folder {}", above.display()))?;
                }
                output::whole(&path, &text)?;
            }
        }
    }
    if let Some(file) = &options.json {
        output::json(&plan, file)?;
        if output::is_standard_output(file) {
            return Ok(());
        }
    }
    output::print(&summary::render(&plan, &partition, &places, frames))
}

fn write_lists(folder: &Path, plan: &Plan) -> anyhow::Result<()> {
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (name, class) in
        [("core.list", Class::Core), ("base.list", Class::Base), ("cold.list", Class::Swappable)]
    {
        output::whole(&folder.join(name), &plan.list(class))?;
    }
    let script = plan.linker_script()?;
    output::whole(&folder.join("cold-order"), &script.code)?;
    output::whole(&folder.join("cold-rodata"), &script.data)?;
    output::whole(&folder.join("function-order.lds"), &plan.resident_order()?)?;
    output::whole(&folder.join("plan.id"), &format!("{}\n", script.id()))
}
