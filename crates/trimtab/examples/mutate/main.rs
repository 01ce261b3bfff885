//! Runs mutated inputs through the readers of foreign files, within limits of memory and of time.
//!
//! Usage: mutate READER|all [COUNT] [--seed N] [--one INDEX]
//!
//! Makes COUNT (10000) inputs for each reader from the corpus of the project; which ones is up to the seed (1)
//! alone. A process of its own reads them, with 2 GiB of address space and 10 seconds for each. Counts as a
//! finding: an abort, a hang, a panic, and a number or a length that contradicts the file. The input of each
//! finding is written to `fuzz/artifacts`; `--one` runs a single input again, without limits. Exits 1 where there
//! are findings.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "checks panic where something is wrong"
)]

#[path = "../../../../fuzz/checks/blocks.rs"]
mod blocks;
#[path = "../../../../fuzz/checks/decode.rs"]
mod decode;
#[path = "../../../../fuzz/checks/events.rs"]
mod events;
#[path = "../../../../fuzz/checks/header.rs"]
mod header;
#[path = "../../../../fuzz/checks/jar.rs"]
mod jar;
#[path = "../../../../fuzz/checks/link_map.rs"]
mod link_map;
mod mutation;
#[path = "../../../../fuzz/checks/object.rs"]
mod object;
#[path = "../../../../fuzz/checks/order.rs"]
mod order;
#[path = "../../../../fuzz/checks/page_cache.rs"]
mod page_cache;
#[path = "../../../../fuzz/checks/program.rs"]
mod program;
mod readers;
#[path = "../../../../fuzz/checks/recording.rs"]
mod recording;
mod seeds;
#[path = "../../../../fuzz/checks/source.rs"]
mod source;
#[path = "../../../../fuzz/checks/stream.rs"]
mod stream;
mod supervisor;
#[path = "../../../../fuzz/checks/trace.rs"]
mod trace;
mod verbs;
mod worker;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Parser;
use readers::PLANTED;

/// Runs mutated inputs through the readers of foreign files.
#[derive(Debug, Parser)]
struct Options {
    /// The reader, or all
    reader: String,
    /// Inputs for each
    #[arg(default_value_t = 10_000)]
    count: u64,
    /// Which inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this one, without limits
    #[arg(long)]
    one: Option<u64>,
    /// The folder to work in: this process reads, from the input of that number on
    #[arg(long, hide = true, num_args = 2)]
    worker: Vec<String>,
}

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    let is_wanted = |reader: &&readers::Reader| {
        options.reader == reader.name || options.reader == "all" && reader.name != PLANTED.name
    };
    let all = readers::ALL.iter().chain([&PLANTED]);
    let wanted: Vec<_> = all.filter(is_wanted).collect();
    if wanted.is_empty() {
        let names: Vec<&str> = readers::ALL.iter().map(|reader| reader.name).collect();
        bail!("there is no reader {}, expected all or {}", options.reader, names.join(", "));
    }
    if let [folder, first] = options.worker.as_slice() {
        let first = first.parse().context("the number of the first input")?;
        worker::run(wanted[0], Path::new(folder), options.seed, first..options.count)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut findings = 0;
    for reader in wanted {
        findings += match options.one {
            Some(index) => worker::one(reader, options.seed, index)?,
            None => supervisor::run(reader, options.seed, options.count.div_ceil(reader.one_of))?,
        };
    }
    Ok(if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
