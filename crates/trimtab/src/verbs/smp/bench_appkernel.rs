//! `trimtab smp bench-appkernel`: the application kernel in guests.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use trimtab_appkernel::guest::module_source;
use trimtab_appkernel::report::Size;
use trimtab_appkernel::run::{self, Request, TablesRequest};
use trimtab_report::Report;
use trimtab_smp::file::{Language, count};

use crate::arguments::{self, Outputs};
use crate::progress::Progress;
use crate::verbs::stored;
use crate::{destination, output};

/// Boots a kernel without SMP on a machine with several CPUs, runs threads on those that it does not know,
/// tests that they find everything the same there, and counts what system calls and page faults cost.
#[derive(Debug, Args)]
pub struct Options {
    /// CPUs of the guest; Linux has one of them
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(2..=16))]
    pub cpus: u32,
    /// Also repeat calls, changes of page tables, signals and ends of processes 10^7, 10^6, 10^5 and 10^4 times; takes
    /// long
    #[arg(long)]
    pub stress: bool,
    /// The tables of the thesis, too: programs with threads on 2, 4 and 8 CPUs, and noise. Builds QEMU, once;
    /// takes long
    #[arg(long)]
    pub tables: bool,
    /// Of the tables: by how many instructions a CPU may be ahead of the slowest
    #[arg(long, value_name = "N", requires = "tables", default_value = "1000", value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    pub quantum: u32,
    /// Of the tables: for how long the noise of a CPU is watched, in milliseconds of the guest
    #[arg(long, value_name = "MS", requires = "tables", default_value = "10000", value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub noise: u32,
    /// Of the tables: QEMU's source, the .dsc file of Debian's package qemu [default: fetched by apt]
    #[arg(long, value_name = "FILE", requires = "tables")]
    pub qemu_source: Option<PathBuf>,
    /// Where to work, and where what was built is kept
    #[arg(long, value_name = "DIR", default_value = arguments::WORK)]
    pub work: PathBuf,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Builds, boots and reports.
///
/// # Errors
/// Missing tools, guests that do not come up, and a test that fails.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let tables = options.tables.then(|| TablesRequest {
        cpus: vec![2, 4, 8],
        quantum: options.quantum,
        noise_milliseconds: options.noise,
        qemu_source: options.qemu_source.clone(),
    });
    let request = Request {
        tables,
        work: options.work.clone(),
        cpus: options.cpus,
        stress: options.stress,
        size: Some(size()),
        others: Vec::new(),
    };
    let found = run::run(&request, &Progress::new())?;
    stored::keep(&options.work, &found)?;
    output::report(&options.outputs, &found)?;
    match found.failures().as_slice() {
        [] => Ok(()),
        broken => bail!("not everything holds: {}", broken.join("; ")),
    }
}

/// How large the module is, as `smp study` counts.
fn size() -> Size {
    let mut size = Size::default();
    for (name, text) in module_source() {
        let Some(language) = Language::of(name) else { continue };
        let counts = count(text, language);
        size.lines += counts.up.max(counts.smp);
        for complexity in counts.complexities.into_iter().map(u64::from) {
            size.functions += 1;
            size.at_most_10 += u64::from(complexity <= 10);
            size.complexity_max = size.complexity_max.max(complexity);
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_is_no_larger_than_the_thesis_and_its_functions_are_simple() {
        let size = size();
        assert!(size.functions > 100 && size.lines > 1000, "{size:?}");
        assert!(size.lines <= 3600 && size.complexity_max <= 15, "{size:?}");
        assert!(size.at_most_10 * 100 >= size.functions * 95, "{size:?}");
    }
}
