//! What `smp scale` and `smp locks` are told of their guests.

use std::path::PathBuf;

use clap::Args;
use trimtab_smp::run::{Copies, GuestSetup, OwnWorkload, ScaleWorkload};

use crate::arguments;

/// The guest: its kernel, its clock, and what runs in it beside the workloads of ours.
#[derive(Debug, Args)]
pub struct GuestOptions {
    /// How many copies run at the same time: a number, or `each` for one bound to each CPU [default: each; 1 of fft, lu,
    /// radix, make, suite and a command; 8 of postmark]
    #[arg(long, value_name = "N", value_parser = copies)]
    pub copies: Option<Copies>,
    /// By how many instructions a CPU may be ahead of the slowest; runs are repeated with half of it [default: 1000 of
    /// `smp scale`, and of `smp locks` 200, as locks are held for few instructions]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_000_000_000))]
    pub quantum: Option<u32>,
    /// The guest's memory in MiB
    #[arg(long, value_name = "MIB", default_value = "256", value_parser = clap::value_parser!(u32).range(64..=65536))]
    pub memory: u32,
    /// The kernel's configuration: tiny, lab, or a file; what is needed is added to it
    #[arg(long, value_name = "NAME", default_value = "tiny")]
    pub config: String,
    /// The kernel's source [default: the newest installed source package]
    #[arg(long, value_name = "PATH")]
    pub source: Option<PathBuf>,
    /// QEMU's source, the .dsc file of Debian's package qemu [default: fetched by apt]
    #[arg(long, value_name = "FILE")]
    pub qemu_source: Option<PathBuf>,
    /// Where to work, and where what was built is kept
    #[arg(long, value_name = "DIR", default_value = arguments::WORK)]
    pub work: PathBuf,
    /// A program and its arguments, in which {} stands for the number of CPUs
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

impl GuestOptions {
    /// The command, or else a workload of ours, in that guest, with this quantum where none was said.
    pub fn setup(&self, own: OwnWorkload, quantum: u32) -> GuestSetup {
        let (workload, usual) = match self.command.as_slice() {
            [] => (ScaleWorkload::Own(own), own.copies()),
            words => (ScaleWorkload::Command(words.to_vec()), Copies::Fixed(1)),
        };
        GuestSetup {
            work: self.work.clone(),
            workload,
            copies: self.copies.unwrap_or(usual),
            quantum: self.quantum.unwrap_or(quantum),
            qemu_source: self.qemu_source.clone(),
            kernel_source: self.source.clone(),
            config: self.config.clone(),
            memory_mib: self.memory,
            repetition: 0,
            command: trimtab_lab::shell::own_words().join(" "),
        }
    }
}

/// `each`, or how many.
fn copies(text: &str) -> Result<Copies, String> {
    match text.parse() {
        _ if text == "each" => Ok(Copies::Each),
        Ok(number @ 1..=64) => Ok(Copies::Fixed(number)),
        _ => Err("expected `each`, or a number from 1 to 64".to_owned()),
    }
}
