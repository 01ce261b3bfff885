//! The ways in which a boot does not go well.

use crate::qemu::QemuError;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;
use trimtab_lab::process::{ProcessError, Tail};

/// Why a boot gave no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BootError {
    /// QEMU did not run, ended with an error of its own, or was interrupted.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// This QEMU cannot do it.
    #[error(transparent)]
    Qemu(#[from] QemuError),
    /// A file that the boot needs is not there.
    #[error("cannot boot: there is no {what} at {}", path.display())]
    Missing {
        /// What it is.
        what: &'static str,
        /// Where it should be.
        path: PathBuf,
    },
    /// A machine that cannot be had.
    #[error("cannot boot a machine with {asked}")]
    Machine {
        /// What was asked for.
        asked: &'static str,
    },
    /// A file could not be read or written.
    #[error("cannot use {}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The kernel gave up.
    #[error(
        "the guest's kernel panicked; the whole console is in {}:{}",
        log.display(), indented(lines)
    )]
    Panicked {
        /// The kernel's words, from the first sign of trouble on.
        lines: Vec<String>,
        /// The console.
        log: PathBuf,
    },
    /// The time was over before the guest had ended.
    #[error(
        "the guest hangs: it had not ended after {:.0} s{tail}{}",
        limit.as_secs_f64(),
        if tail.lines.is_empty() {
            format!("; boot it with the kernel argument {argument} to see more")
        } else {
            String::new()
        }
    )]
    Hung {
        /// The time it had.
        limit: Duration,
        /// The console's last lines.
        tail: Tail,
        /// The kernel argument that shows more.
        argument: &'static str,
    },
    /// The machine ended, and the guest had not said so.
    #[error(
        "the guest reset the machine {}, without a panic; this is what a triple fault does, \
         or a program that reboots{tail}",
        if *was_ready { "while its workload ran" } else { "before init ran" }
    )]
    Rebooted {
        /// Whether our init had run.
        was_ready: bool,
        /// The console's last lines.
        tail: Tail,
    },
    /// The workload did not succeed.
    #[error("the guest's workload `{name}` failed with exit code {code}{tail}")]
    Workload {
        /// Its name.
        name: String,
        /// Its exit code; 128 and the signal's number if a signal ended it.
        code: i32,
        /// The console's last lines.
        tail: Tail,
    },
    /// A module could not be loaded.
    #[error("the guest could not load the module `{name}`: {why}{tail}")]
    Module {
        /// Its name.
        name: String,
        /// What its init said of it.
        why: String,
        /// The console's last lines.
        tail: Tail,
    },
    /// The guest says more than anybody asked for.
    #[error("the guest said more than {most} values in lines `trimtab: TOPIC NAME VALUE`{tail}")]
    SaidTooMuch {
        /// How many are kept.
        most: usize,
        /// The console's last lines.
        tail: Tail,
    },
    /// The guest ended in order, and something it must say is missing.
    #[error("the guest ended without saying {missing}; is this a root that trimtab made?{tail}")]
    Silent {
        /// What it did not say.
        missing: &'static str,
        /// The console's last lines.
        tail: Tail,
    },
    /// The guest ran, and there is no trace of it.
    #[error(
        "the boot went well, and its trace {} is missing or not whole: {reason}; \
         the console is in {}",
        path.display(), log.display()
    )]
    NoTrace {
        /// Where it should be.
        path: PathBuf,
        /// What is known of the cause.
        reason: String,
        /// The console, with what QEMU and the guest said.
        log: PathBuf,
    },
    /// The function tracer's buffer was too small.
    #[error(
        "the function tracer lost {lost} calls and kept {calls}, so the first ones are missing; \
         its buffer of {buffer_mib} MiB for each CPU is too small: trace with {} MiB",
        needed(*calls, *lost, *buffer_mib)
    )]
    CallsLost {
        /// Calls recorded.
        calls: u64,
        /// Calls lost.
        lost: u64,
        /// Size of the buffer of one CPU in MiB.
        buffer_mib: u32,
    },
}

/// A size of buffer that would have been enough: in proportion, half as much again, and round.
fn needed(calls: u64, lost: u64, buffer_mib: u32) -> u64 {
    let all = calls.saturating_add(lost) as f64;
    let factor = (all / calls.max(1) as f64 * 1.5).max(2.0);
    ((f64::from(buffer_mib) * factor) as u64).next_multiple_of(16)
}

fn indented(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n    {line}")).collect()
}
