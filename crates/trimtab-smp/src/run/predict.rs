//! Predicts from a trace what more CPUs would give.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use trimtab_lab::bytes::Bytes;
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;
use trimtab_lab::threads;
use trimtab_machine::Isa;
use trimtab_report::Schema;
use trimtab_report::common::Repeat;

use crate::report::own_locks::OwnLockWait;
use crate::report::predict::{CpuTime, KernelShare, SmpPredict, Speedup, SplitOne, TimeByPlace};
use crate::simulate::{LockCost, Locks, Machine, Prediction, SLICE, simulate};
use crate::subsystem::Subsystem;
use crate::trace::{Activity, Reading, Span, ThreadTrace, Timeline, TraceError};

/// What to do.
#[derive(Debug, Clone)]
pub struct PredictRequest {
    /// The trace: text of tracefs, `trace-cmd report` or `perf script`.
    pub trace: PathBuf,
    /// The most CPUs, 2 or more.
    pub cpus: usize,
    /// Only threads of this name, and what they begin.
    pub only: Option<String>,
    /// What a page fault takes, in nanoseconds.
    pub fault: Option<u64>,
    /// Whose numbers system calls have.
    pub isa: Isa,
    /// The command that repeats this, for the report.
    pub command: String,
}

/// The most slices of all programs together: a trace with more than 1,000 seconds in programs gets longer ones, or
/// the simulation would take as long as it computed.
const MOST_SLICES: u64 = 250_000;
const NANOSECONDS: f64 = 1e9;

/// Reads a trace and simulates it on 1 to as many CPUs as are asked for.
///
/// # Errors
/// A trace that cannot be read or does not say what is needed.
pub fn predict(request: &PredictRequest, observe: &dyn Observe) -> Result<SmpPredict> {
    // Long: mostly the fields of the report, one after the other.
    let start = Instant::now();
    let shown = request.trace.display();
    let stage = observe.stage("read the trace");
    let bytes = Bytes::open(&request.trace).with_context(|| format!("cannot read {shown}"))?;
    let text = bytes.to_text().with_context(|| format!("cannot read {shown}"))?;
    let name = |number| name(request.isa, number);
    let reading = Reading { name: &name, only: request.only.as_deref(), fault: request.fault };
    let trace = Timeline::read(text, &reading).map_err(|error| refused(request, &error))?;
    stage.done(&format!("{} threads, {} system calls", trace.threads.len(), trace.calls));

    let stage = observe.stage("simulate");
    let slice = slice(&trace.threads);
    let lock = LockCost::default();
    let run = |cpus, locks| simulate(&trace.threads, &Machine { cpus, locks, slice, lock });
    let one = run(1, Locks::FINE);
    let counts: Vec<usize> = (1..=request.cpus).collect();
    let finest = finest(&trace, &one, &run(request.cpus, Locks::OWN));
    let all = threads::each(
        &counts,
        |_, &cpus| Ok([Locks::GIANT, Locks::COARSE, finest].map(|locks| run(cpus, locks))),
        |_| (),
    )?;
    let own_locks = all.last().map_or_else(Vec::new, |[.., fine]| {
        let name = |number: usize| trace.locks.get(number).cloned().into_iter().collect();
        OwnLockWait::of(fine, request.cpus, name)
    });
    let mut split: Vec<SplitOne> = Subsystem::ALL
        .into_iter()
        .filter(|subsystem| one.kernel[subsystem.index()] > 0)
        .map(|subsystem| {
            let found = run(request.cpus, Locks::apart(subsystem));
            SplitOne { subsystem, speedup: ratio(one.time, found.time) }
        })
        .collect();
    split.sort_by(|a, b| b.speedup.total_cmp(&a.speedup));
    stage.done("");

    let time = shares(&one);
    let speedups = counts.iter().zip(&all).map(|(&cpus, found)| Speedup {
        cpus: cpus as u64,
        giant: ratio(one.time, found[0].time),
        coarse: ratio(one.time, found[1].time),
        fine: ratio(one.time, found[2].time),
        amdahl: 1.0 / (time.in_kernel() + (1.0 - time.in_kernel()) / cpus as f64),
    });
    let cpu_time = all.last().into_iter().flat_map(|found| {
        ["giant", "coarse", "fine"]
            .iter()
            .zip(found)
            .map(|(locks, one)| cpu_time(locks, one, request.cpus))
    });
    Ok(SmpPredict {
        schema: Schema::default(),
        trace: shown.to_string(),
        only: request.only.clone(),
        recorded_cpus: trace.cpus as u64,
        recorded: trace.length as f64 / NANOSECONDS,
        one_cpu: one.time as f64 / NANOSECONDS,
        threads: trace.threads.len() as u64,
        calls: trace.calls,
        faults: trace.faults,
        speedups: speedups.collect(),
        cpu_time: cpu_time.collect(),
        split,
        recorded_locks: if finest == Locks::OWN { trace.locks.len() as u64 } else { 0 },
        own_locks,
        warnings: warnings(&trace, &one, finest),
        time,
        seconds: start.elapsed().as_secs_f64(),
        repeat: Repeat { command: request.command.clone(), ..Repeat::default() },
    })
}

/// The finest locks of which a trace says anything: those of the kernel's own, unless threads wait for ever for what
/// the trace does not say of these.
fn finest(trace: &Timeline, one: &Prediction, own: &Prediction) -> Locks {
    let is_known = !trace.locks.is_empty() && own.unfinished <= one.unfinished;
    if is_known { Locks::OWN } else { Locks::FINE }
}

/// How long a program runs before others may, in nanoseconds.
fn slice(threads: &[ThreadTrace]) -> u64 {
    let in_programs = threads.iter().flat_map(|thread| &thread.spans).map(|span| match span {
        Span::Run(Activity::User, length) => *length,
        _ => 0,
    });
    SLICE.max(in_programs.fold(0, u64::saturating_add) / MOST_SLICES)
}

fn refused(request: &PredictRequest, error: &TraceError) -> anyhow::Error {
    let failure = Failure::new(format!("cannot predict from {}: {error}", request.trace.display()));
    match error {
        TraceError::Lost { .. } => failure.hint("record it again with larger buffers"),
        TraceError::NoThread { .. } => failure.hint("name a thread as the trace does, or leave out --only"),
        TraceError::TooLong { .. } => failure.hint("record less, or hand over a part of it"),
        TraceError::Unordered { .. } => failure.hint("sort it by time"),
        TraceError::NoSwitches { .. } | TraceError::NoCalls => failure.hint(
            "record raw_syscalls, sched_switch, sched_waking and sched_wakeup_new, and hand over what \
             `trace-cmd report` or `perf script` prints",
        ),
    }
    .into()
}

fn name(isa: Isa, number: u64) -> Option<&'static str> {
    let number = usize::try_from(number).ok()?;
    match isa {
        Isa::Aarch64 => syscalls::aarch64::Sysno::new(number).map(|call| call.name()),
        // Of MIPS no kernel is booted.
        Isa::X86_64 | Isa::Mips32 => syscalls::x86_64::Sysno::new(number).map(|call| call.name()),
    }
}

fn ratio(one: u64, other: u64) -> f64 {
    if other == 0 { 1.0 } else { one as f64 / other as f64 }
}

fn shares(one: &Prediction) -> TimeByPlace {
    let busy = one.user + one.interrupts + one.kernel.iter().sum::<u64>();
    let share = |time: u64| time as f64 / busy.max(1) as f64;
    let kernel = Subsystem::ALL.into_iter().filter(|one_of| one.kernel[one_of.index()] > 0);
    TimeByPlace {
        user: share(one.user),
        interrupts: share(one.interrupts),
        kernel: kernel
            .map(|subsystem| KernelShare { subsystem, share: share(one.kernel[subsystem.index()]) })
            .collect(),
    }
}

fn cpu_time(locks: &str, found: &Prediction, cpus: usize) -> CpuTime {
    let all = found.time.max(1) as f64 * cpus as f64;
    let share = |time: u64| time as f64 / all;
    let (kernel, waiting) = (found.kernel.iter().sum(), found.waiting.iter().sum());
    let busy = found.user + found.interrupts + kernel + waiting;
    CpuTime {
        locks: locks.to_owned(),
        user: share(found.user),
        kernel: share(kernel),
        interrupts: share(found.interrupts),
        waiting: share(waiting),
        idle: 1.0 - share(busy),
        acquisitions: found.acquisitions.iter().sum(),
    }
}

/// What makes it less exact of locks of the kernel's own.
fn of_locks(trace: &Timeline, finest: Locks) -> Vec<String> {
    let mut all = Vec::new();
    if !trace.locks.is_empty() && finest != Locks::OWN {
        all.push(
            "Threads would wait for ever for locks of the kernel's own, as the trace does not have where some are \
             given back: these are left out."
                .to_owned(),
        );
    }
    let without = trace.warnings.locks_without_address;
    if without > 0 {
        all.push(format!(
            "{without} events of locks have no address, and are left out: boot with `no_hash_pointers`, or record \
             once the kernel has random numbers."
        ));
    }
    all
}

/// What makes a prediction less exact.
fn warnings(trace: &Timeline, one: &Prediction, finest: Locks) -> Vec<String> {
    let mut all = of_locks(trace, finest);
    if trace.cpus > 1 && trace.waited == 0 {
        all.push(format!(
            "It was recorded on {} CPUs: what waits there for locks counts as work. Record on one, as with \
             `taskset -c 0` or `maxcpus=1`.",
            trace.cpus
        ));
    }
    let faults = trace.warnings.faults_without_duration;
    if faults > 0 {
        all.push(format!(
            "{faults} page faults count as time of programs: say with --fault how many nanoseconds one takes."
        ));
    }
    if trace.warnings.unread > 0 {
        all.push(format!(
            "{} lines of switches and system calls cannot be read, and are left out.",
            trace.warnings.unread
        ));
    }
    if trace.warnings.no_wakes {
        all.push(
            "It has no sched_waking: who waits for whom is not known, so that all sleep as long as they did."
                .to_owned(),
        );
    }
    if trace.warnings.no_interrupts {
        all.push(
            "It has no events of interrupts: their time counts as that of threads.".to_owned(),
        );
    }
    let difference = ratio(one.time, trace.length) - 1.0;
    if trace.cpus == 1 && difference.abs() > 0.05 {
        all.push(format!(
            "On one CPU the simulation takes {:+.0} % of the time that was recorded: other threads ran \
             there meanwhile, or it was idle longer.",
            difference * 100.0
        ));
    }
    if one.unfinished > 0 {
        all.push(format!(
            "{} threads wait at the end for others that did not wake them.",
            one.unfinished
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(spans: &[Span]) -> ThreadTrace {
        ThreadTrace { number: 1, name: "a".to_owned(), spans: spans.to_vec() }
    }

    #[test]
    fn a_day_in_a_program_is_not_cut_into_millions_of_slices() {
        let day = Span::Run(Activity::User, 86_400 * 1_000_000_000);
        let kernel = Span::Run(Activity::Kernel(Subsystem::Files), u64::MAX / 2);
        let threads = [thread(&[day, kernel]), thread(&[day])];
        assert_eq!(slice(&threads), 2 * 86_400 * 1_000_000_000 / MOST_SLICES);
        let second = Span::Run(Activity::User, 1_000_000_000);
        assert_eq!(slice(&[thread(&[second; 1000]), thread(&[kernel])]), SLICE);
        assert_eq!(slice(&[]), SLICE);
    }
}
