//! `trimtab swap sweep`: page faults for thresholds, placements, cache sizes and policies.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use trimtab_layout::cost::{Policy, faults};
use trimtab_layout::paged::{Places, packings};
use trimtab_program::{PAGE_SIZE, Program};
use trimtab_report::model::{
    Input, Latency, SwapSweep, SwapSweepSchema, SweptPlacement, SweptPolicy, SweptThreshold,
    SweptTrace,
};
use trimtab_report::{html, table};
use trimtab_swap::{Bytes, Class, Code, Replay, Store, page_images};

use crate::cli::Outputs;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::swap::{self, Divided, Files, Inputs, Kernel};
use crate::{cli, destination, inputs, output};

/// Time of an instruction in the model of system time, in nanoseconds: a small core of 1 GHz.
const NANOSECONDS: f64 = 1.0;

/// Times that loading a page takes from the flash memories of the paper, in microseconds.
const FLASH: [(&str, f64); 2] = [("NOR flash of the paper", 442.0), ("fast flash", 40.0)];

/// Rounds of loading all pages that are timed.
const ROUNDS: usize = 9;

/// Counts the page faults that traces would cause, for each threshold, placement, cache size and
/// policy of replacement, and the memory that each threshold takes: the figures 4 to 8 of the paper
/// that the method is from, for this kernel.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: which threshold pays, on a boot that made the plan and on one that did not?

    trimtab swap sweep vmlinux --map vmlinux.map --trace boot.stream --held-out files.stream \\
        --html sweep.html")]
pub struct Options {
    /// The kernel and what ran.
    #[command(flatten)]
    pub inputs: Inputs,
    /// A stream of this very build by which plans are only judged
    #[arg(long, value_name = "FILE", num_args = 1)]
    pub held_out: Vec<PathBuf>,
    /// Shares of all executed instructions that stay in memory
    #[arg(
        long, value_name = "SHARES", value_delimiter = ',', value_parser = cli::share,
        default_value = "0.5,0.7,0.9,0.95,0.98,0.99,0.995,0.999,0.9995,0.9999,1"
    )]
    pub thresholds: Vec<f64>,
    /// Page frames of the cache
    #[arg(
        long, value_name = "NUMBERS", value_delimiter = ',', default_value = "16,32,64",
        value_parser = clap::value_parser!(u32).range(2..=65536)
    )]
    pub frames: Vec<u32>,
    /// The threshold at which policies of replacement are compared
    #[arg(long, value_name = "SHARE", default_value = "0.999", value_parser = cli::share)]
    pub policy_threshold: f64,
    /// Seed of random replacement
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Sweeps.
///
/// # Errors
/// Files that cannot be read or written, traces of another build.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let sweep = sweep(options)?;
    if let Some(file) = &options.outputs.html {
        output::whole(file, &html::swap_sweep(&sweep))?;
    }
    output::result(&options.outputs, &sweep.to_json(), || {
        table::swap_sweep(&sweep, output::width())
    })
}

fn sweep(options: &Options) -> anyhow::Result<SwapSweep> {
    let progress = Progress::new();
    let files = Files::open(&options.inputs)?;
    let program = files.program()?;
    let stage = progress.stage("read the kernel");
    let map = swap::block_map(&files, options.inputs.granularity)?;
    let code = Code::read(&program, map.as_ref())?;
    let training = swap::runs(&options.inputs.trace, &program, options.inputs.min_coverage)?;
    let held_out = swap::runs(&options.held_out, &program, options.inputs.min_coverage)?;
    stage.done("");
    let kernel = Kernel::read(&files, &options.inputs, &code, &training, &progress)?;
    let (held_out_runs, _) = swap::counted(&held_out, &code, options.inputs.from.as_deref())?;

    let mut thresholds = options.thresholds.clone();
    thresholds.push(options.policy_threshold);
    thresholds.sort_by(f64::total_cmp);
    thresholds.dedup();
    let frames: Vec<usize> = options.frames.iter().map(|frames| *frames as usize).collect();
    let stage = progress.stage("count page faults");
    stage.parts(thresholds.len() as u64);
    let mut found = SwapSweep {
        schema: SwapSweepSchema::V1,
        kernel: Input {
            path: files.path().display().to_string(),
            kind: inputs::kind(&program),
            sha256: inputs::sha256([files.bytes()]),
        },
        granularity: match kernel.granularity {
            trimtab_swap::Granularity::Function => "function".to_owned(),
            trimtab_swap::Granularity::Block => "block".to_owned(),
        },
        from: kernel.from.clone(),
        frames: frames.iter().map(|frames| *frames as u64).collect(),
        policy: "NRU".to_owned(),
        policy_threshold: options.policy_threshold,
        nanoseconds_per_instruction: NANOSECONDS,
        ..SwapSweep::default()
    };
    for (place, share) in thresholds.iter().enumerate() {
        let divided = kernel.at(*share, None)?;
        if divided.swappable() == 0 {
            return Err(Failure::new(
                "nothing can be swapped out: all of the kernel's code is core",
            )
            .hint("trimtab swap plan says why")
            .into());
        }
        let judged = Replay::all(&code, &divided.units, &held_out_runs);
        let point =
            Point { divided: &divided, held_out: &judged, frames: &frames, seed: options.seed };
        let (swept, first) = point.sweep(&program, *share, |note| stage.note(note));
        found.thresholds.push(swept);
        if *share == options.policy_threshold {
            found.policies = point.policies(&first);
            let store = first
                .first()
                .map(|places| Store::of(&page_images(&program, &divided.units, places)));
            found.latencies = latencies(&store.unwrap_or_default());
            let traced = |paths: &[PathBuf], replays: &[Replay], held_out| -> Vec<SweptTrace> {
                let traces = paths.iter().zip(replays);
                traces
                    .map(|(path, replay)| SweptTrace {
                        path: path.display().to_string(),
                        held_out,
                        instructions: replay.instructions(),
                    })
                    .collect()
            };
            found.traces = traced(&options.inputs.trace, &divided.replays, false);
            found.traces.extend(traced(&options.held_out, &judged, true));
        }
        stage.at(place as u64 + 1);
    }
    stage.done("");
    Ok(found)
}

/// One threshold.
struct Point<'a> {
    divided: &'a Divided<'a>,
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
        let units = &self.divided.units;
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
                    false => Some(self.divided.place(packing.as_ref()).1),
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
                        found.faults.push(count(&self.divided.replays));
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
                faults: count(&self.divided.replays, policy),
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
