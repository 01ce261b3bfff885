//! Page faults for thresholds, placements, cache sizes and policies: the figures 4 to 8 of the paper that
//! the method is from.

use std::path::PathBuf;
use std::time::Instant;

use crate::report::{Latency, SwapSweep, SweptPlacement, SweptPolicy, SweptThreshold, SweptTrace};
use crate::{Bytes, Class, Code, Partition, Replay, Store, page_images};
use trimtab_layout::cost::{Policy, faults};
use trimtab_layout::paged::{Places, packings};
use trimtab_program::{PAGE_SIZE, Program};
use trimtab_report::Schema;
use trimtab_report::common::Input;

use super::{Files, Inputs, read_kernel};
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;
use trimtab_lab::threads;

/// The thresholds of the paper's figures, and some above them.
pub const THRESHOLDS: [f64; 11] =
    [0.5, 0.7, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 0.9995, 0.9999, 1.0];

/// Cache sizes of the paper's figures, in page frames.
pub const FRAMES: [u32; 3] = [16, 32, 64];

/// Time of an instruction in the model of system time, in nanoseconds: a small core of 1 GHz.
const NANOSECONDS: f64 = 1.0;

/// Times that loading a page takes from the flash memories of the paper, in microseconds.
const FLASH: [(&str, f64); 2] = [("NOR flash of the paper", 442.0), ("fast flash", 40.0)];

/// Rounds of loading all pages that are timed.
const ROUNDS: usize = 9;

/// What is tried.
#[derive(Debug, Clone, Copy)]
pub struct Range<'a> {
    /// Shares of all executed instructions that stay in memory.
    pub thresholds: &'a [f64],
    /// Cache sizes.
    pub frames: &'a [u32],
    /// The threshold at which policies of replacement are compared.
    pub policy_threshold: f64,
    /// Of random replacement.
    pub seed: u64,
}

/// Counts the page faults of the traces of `inputs` and of those that are `held_out`.
///
/// # Errors
/// Files that cannot be read, traces of another build.
pub fn sweep(
    inputs: &Inputs,
    held_out_traces: &[PathBuf],
    range: Range<'_>,
    progress: &dyn Observe,
) -> anyhow::Result<SwapSweep> {
    // Long: all thresholds share what was read of the kernel.
    let files = Files::open(inputs)?;
    let program = files.program()?;
    let stage = progress.stage("read the kernel");
    let map = super::block_map(&files, inputs.granularity)?;
    let code = Code::read(&program, map.as_ref())?;
    let training = super::runs(&inputs.trace, &program, inputs.min_coverage, inputs.formats)?;
    let held_out = super::runs(held_out_traces, &program, inputs.min_coverage, inputs.formats)?;
    stage.done("");
    let kernel = read_kernel(&files, inputs, &code, &training, progress)?;
    let (held_out_runs, _) = super::swapping_runs(&held_out, &code, inputs.from.as_deref())?;

    let mut thresholds = range.thresholds.to_vec();
    thresholds.push(range.policy_threshold);
    thresholds.sort_by(f64::total_cmp);
    thresholds.dedup();
    let frames: Vec<usize> = range.frames.iter().map(|frames| *frames as usize).collect();
    let stage = progress.stage("count page faults");
    stage.parts(thresholds.len() as u64);
    let mut found = SwapSweep {
        schema: Schema::default(),
        kernel: Input {
            path: files.path().display().to_string(),
            kind: trimtab_inputs::kind(&program),
            sha256: trimtab_inputs::sha256([files.bytes()]),
        },
        granularity: kernel.granularity.name().to_owned(),
        from: kernel.from.clone(),
        frames: frames.iter().map(|frames| *frames as u64).collect(),
        policy: "NRU".to_owned(),
        policy_threshold: range.policy_threshold,
        nanoseconds_per_instruction: NANOSECONDS,
        ..SwapSweep::default()
    };
    let at = |_: usize, share: &f64| {
        let partition = kernel.at(*share, None)?;
        if partition.swappable() == 0 {
            return Err(Failure::new(
                "nothing can be swapped out: all of the kernel's code is core",
            )
            .hint("trimtab swap plan says why")
            .into());
        }
        let judged = Replay::all(&code, &partition.units, &held_out_runs);
        let point =
            Point { partition: &partition, held_out: &judged, frames: &frames, seed: range.seed };
        let (swept, first) = point.sweep(&program, *share, |note| stage.note(note));
        let compared = (*share == range.policy_threshold).then(|| {
            let store = first
                .first()
                .map(|places| Store::of(&page_images(&program, &partition.units, places)));
            let mut traces = traced(&inputs.trace, &partition.replays, false);
            traces.extend(traced(held_out_traces, &judged, true));
            PointDetails {
                policies: point.policies(&first),
                latencies: latencies(&store.unwrap_or_default()),
                traces,
            }
        });
        anyhow::Ok((swept, compared))
    };
    for (swept, compared) in threads::each(&thresholds, at, |done| stage.at(done as u64))? {
        found.thresholds.push(swept);
        if let Some(PointDetails { policies, latencies, traces }) = compared {
            found.policies = policies;
            found.latencies = latencies;
            found.traces = traces;
        }
    }
    stage.done("");
    Ok(found)
}

/// What is found at one threshold only.
struct PointDetails {
    policies: Vec<SweptPolicy>,
    latencies: Vec<Latency>,
    traces: Vec<SweptTrace>,
}

fn traced(paths: &[PathBuf], replays: &[Replay], held_out: bool) -> Vec<SweptTrace> {
    let traces = paths.iter().zip(replays);
    traces
        .map(|(path, replay)| SweptTrace {
            path: path.display().to_string(),
            held_out,
            instructions: replay.instructions(),
        })
        .collect()
}

/// One threshold.
struct Point<'a> {
    partition: &'a Partition<'a>,
    held_out: &'a [Replay],
    frames: &'a [usize],
    seed: u64,
}

/// Faults of all runs together, in a placement.
fn sum(replays: &[Replay], places: &Places, frames: usize, policy: Policy) -> u64 {
    replays.iter().map(|replay| faults(&replay.pages(places), frames, policy)).sum()
}

impl Point<'_> {
    /// Tries all placements. Gives those of the first one for each cache size as well.
    fn sweep(
        &self,
        program: &Program<'_>,
        share: f64,
        note: impl Fn(&str),
    ) -> (SweptThreshold, Vec<Places>) {
        // Long: all thresholds share what was read of the kernel.
        let units = &self.partition.units;
        let mut first = Vec::new();
        let mut placements: Vec<SweptPlacement> = Vec::new();
        for (size, frames) in self.frames.iter().enumerate() {
            for (place, packing) in packings(*frames).iter().enumerate() {
                note(packing.name());
                let known = size > 0 && !packing.depends_on_frames();
                let start = Instant::now();
                // The same pages do for all cache sizes.
                let places = match known {
                    true => None,
                    false => Some(self.partition.place(packing.as_ref()).1),
                };
                let seconds = start.elapsed().as_secs_f64();
                if size == 0 {
                    placements.push(SweptPlacement {
                        name: packing.name().to_owned(),
                        ..SweptPlacement::default()
                    });
                }
                let found = &mut placements[place];
                if let Some(places) = places {
                    found.seconds += seconds;
                    let sizes = match packing.depends_on_frames() {
                        true => std::slice::from_ref(frames),
                        false => self.frames,
                    };
                    for frames in sizes {
                        let count = |replays| sum(replays, &places, *frames, Policy::Nru);
                        found.faults.push(count(&self.partition.replays));
                        if !self.held_out.is_empty() {
                            found.held_out.push(count(self.held_out));
                        }
                    }
                    if place == 0 {
                        first.push(places);
                    }
                }
            }
        }
        let places = first.first().cloned().unwrap_or(Places { offsets: Vec::new(), pages: 0 });
        let bytes = Bytes::of(units, places.pages, &[], 0);
        let store = Store::of(&page_images(program, units, &places));
        let swept = SweptThreshold {
            threshold: share,
            original: bytes.original,
            core: bytes.core,
            base: bytes.base,
            swappable: units.bytes(Class::Swappable),
            pages: places.pages,
            tables: bytes.tables + bytes.descriptors,
            store: store.bytes(),
            placements,
        };
        (swept, first)
    }

    /// Tries all policies with the placements of the first packing.
    fn policies(&self, first: &[Places]) -> Vec<SweptPolicy> {
        let policies = [
            ("round robin", Policy::Fifo),
            ("random", Policy::Random { seed: self.seed }),
            ("NRU", Policy::Nru),
            ("LRU", Policy::Lru),
            ("optimum", Policy::Optimum),
        ];
        let count = |replays: &[Replay], policy| {
            let sizes = self.frames.iter().zip(first);
            sizes.map(|(frames, places)| sum(replays, places, *frames, policy)).collect()
        };
        policies
            .into_iter()
            .map(|(name, policy)| SweptPolicy {
                name: name.to_owned(),
                faults: count(&self.partition.replays, policy),
                held_out: match self.held_out {
                    [] => Vec::new(),
                    held_out => count(held_out, policy),
                },
            })
            .collect()
    }
}

/// The paper's times to load a page, and that of the store on this machine.
fn latencies(store: &Store) -> Vec<Latency> {
    let mut all: Vec<Latency> = FLASH
        .iter()
        .map(|(name, microseconds)| Latency {
            name: (*name).to_owned(),
            microseconds: *microseconds,
        })
        .collect();
    let mut frame = vec![0; PAGE_SIZE as usize];
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let loaded = (0..store.len()).filter(|page| store.load(*page, &mut frame)).count();
            start.elapsed().as_secs_f64() * 1e6 / loaded.max(1) as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    all.push(Latency {
        name: "LZ4 on this machine".to_owned(),
        // Whatever else the machine does only makes it longer.
        microseconds: (times[0] * 1000.0).round() / 1000.0,
    });
    all
}
