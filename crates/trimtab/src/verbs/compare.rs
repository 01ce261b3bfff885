//! `trimtab compare`: what each algorithm's order costs, on traces that made it and on others.

mod peer;

use std::path::PathBuf;
use std::time::Instant;

use crate::verbs::stored::Kept;
use clap::Args;
use trimtab_layout::cost::{self, Execution, Hierarchy};
use trimtab_layout::{
    Algorithm, Footprint, Movable, Named, Needs, Order, PieceId, Placement, Problem, Shuffled,
    algorithms, named,
};
use trimtab_profile::{Profile, Stream};
use trimtab_program::{Fragment, Fragments, Program, Range, SectionId};
use trimtab_report::Schema;
use trimtab_report::model::{
    CompareReport, Compared, ComparedTrace, Cost, Coverage, Input, Minimum, Modelled, Paging,
    TracedCurve,
};

use crate::arguments::{self, Outputs};
use crate::progress::Progress;
use crate::{destination, output};
use trimtab_inputs::{self as inputs, Elf, Run, Runs, Text};
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::{Observe, Stage};
use trimtab_link::kernel::Mobility;

/// Points of each page-fault curve that are kept.
const CURVE_POINTS: usize = 500;

/// Puts the orders of all algorithms through all cost models: on the traces that they were made
/// from, and on traces that were held out.
///
/// The program is read and not changed; where pieces would lie is computed as a linker places them.
/// Where LLVM 19 or newer is there, `llvm-profdata order` takes part.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: which order is best for a start-up that nobody has seen?

    trimtab compare app --map app.map --trace one.trace --trace two.trace --held-out three.trace")]
pub struct Options {
    /// The linked program with its symbols; for a kernel: vmlinux
    #[arg(value_name = "PROGRAM")]
    pub program: PathBuf,
    /// A trace of this very build that orders are made from; the first is the run to make fast
    #[arg(long, value_name = "FILE", required = true, num_args = 1)]
    pub trace: Vec<PathBuf>,
    /// A trace of this very build that orders are only judged by
    #[arg(long, value_name = "FILE", num_args = 1)]
    pub held_out: Vec<PathBuf>,
    /// Leave each trace out in turn: make orders from all others, and judge them by it
    #[arg(long, conflicts_with = "held_out")]
    pub leave_one_out: bool,
    /// The linker's map of the program: gives what the linker moved exactly
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// Only this algorithm, and those of further --algorithm: one that trimtab order
    /// --list-algorithms lists, or llvm-profdata
    #[arg(long, value_name = "NAME", num_args = 1)]
    pub algorithm: Vec<String>,
    /// Pages of code that memory has room for, in the model of demand paging [default: half of what
    /// the first trace needs at least]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub frames: Option<u32>,
    /// Seed of random choices: the shuffled order, and random replacement
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// The least share of each trace that has to be found in the program, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = arguments::MIN_COVERAGE, value_parser = arguments::share)]
    pub min_coverage: f64,
    /// Where it is stored.
    #[command(flatten)]
    pub kept: Kept,
    /// Where results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// Compares.
///
/// # Errors
/// Files that cannot be read or written, the trace of another build, an unknown algorithm.
pub fn run(options: &Options) -> anyhow::Result<()> {
    destination::check([options.outputs.json.as_deref(), options.outputs.html.as_deref()])?;
    let report = compare(options)?;
    options.kept.keep(&report)?;
    output::report(&options.outputs, &report)
}

/// All that is known of the traces: training ones, then those held out.
struct Traces<'a> {
    profiles: Vec<&'a Profile>,
    streams: Vec<Option<Stream<'a>>>,
    training: usize,
}

impl Traces<'_> {
    /// Which traces make orders, and which judge them.
    fn folds(&self, leave_one_out: bool) -> Vec<(Vec<usize>, Vec<usize>)> {
        let all: Vec<usize> = (0..self.profiles.len()).collect();
        if !leave_one_out {
            return vec![(all[..self.training].to_vec(), all)];
        }
        let others = |one: usize| all.iter().copied().filter(|other| *other != one).collect();
        all.iter().map(|one| (others(*one), vec![*one])).collect()
    }
}

fn compare(options: &Options) -> anyhow::Result<CompareReport> {
    let wanted = wanted(options)?;
    if options.leave_one_out && options.trace.len() < 2 {
        return Err(Failure::usage("one trace cannot be left out: nothing remains; see --help")
            .hint("give more traces: --trace FILE --trace FILE")
            .into());
    }
    let file = Elf::open(&options.program)?;
    let program = file.program()?;
    let section = inputs::section(&program, file.path(), None)?;
    let map_file = options.map.as_deref().map(Text::of_map).transpose()?;
    let map = map_file.as_ref().map(|text| text.link_map()).transpose()?;
    let with_map = map.as_ref().zip(options.map.as_deref());
    let fragments = inputs::fragments(&program, with_map, section)?;
    let training = Runs::read(&options.trace, &program, options.min_coverage, crate::formats::ALL)?;
    let held_out =
        Runs::read(&options.held_out, &program, options.min_coverage, crate::formats::ALL)?;
    let traces = Traces {
        profiles: training.profiles.iter().chain(&held_out.profiles).collect(),
        streams: [training.streams()?, held_out.streams()?].concat(),
        training: training.runs.len(),
    };
    let mut described = described(&program, section, [&training, &held_out]);
    let half = described.first().map_or(1, |trace| trace.minimum.function_pages.div_ceil(2));
    let frames = options.frames.unwrap_or(half.max(1));
    let hierarchy = Hierarchy { seed: options.seed, ..Hierarchy::common(frames as usize) };
    let bench = Bench {
        fragments: &fragments,
        mobility: Mobility::of(&program),
        text: program.section(section).range,
        traces: &traces,
        hierarchy,
        wanted: &wanted,
        with_peer: options.algorithm.is_empty()
            || options.algorithm.iter().any(|name| name == peer::NAME),
    };

    let folds = traces.folds(options.leave_one_out);
    let stage = Progress::new().stage("compare orders");
    stage.parts(folds.len() as u64);
    let mut compared: Vec<Compared> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    let mut pieces = 0;
    for (place, (training, judged)) in folds.iter().enumerate() {
        let fold = bench.fold(training, judged, &stage);
        pieces = fold.pieces;
        for (trace, executed) in judged.iter().zip(fold.executed) {
            described[*trace].executed = executed;
            described[*trace].held_out |= options.leave_one_out;
        }
        notes.extend(fold.note.filter(|note| !notes.contains(note)));
        match compared.is_empty() {
            true => compared = fold.compared,
            // The peer can be missing from one.
            false => compared.retain_mut(|all| {
                let same = fold.compared.iter().find(|one| one.name == all.name);
                same.is_some_and(|one| {
                    all.seconds += one.seconds;
                    all.listed = all.listed.max(one.listed);
                    all.costs.extend(one.costs.iter().cloned());
                    true
                })
            }),
        }
        stage.at(place as u64 + 1);
    }
    stage.done("");
    Ok(CompareReport {
        schema: Schema::default(),
        program: Input {
            path: file.path().display().to_string(),
            kind: inputs::kind(&program),
            sha256: inputs::sha256([file.bytes()]),
        },
        exact: with_map.is_some(),
        leave_one_out: options.leave_one_out,
        pieces,
        traces: described,
        model: Modelled {
            l1i_bytes: hierarchy.l1i.entries as u64 * hierarchy.l1i.bytes,
            itlb_4k_entries: hierarchy.itlb_4k.entries as u64,
            itlb_2m_entries: hierarchy.itlb_2m.entries as u64,
            frames: hierarchy.frames as u64,
            seed: options.seed,
        },
        algorithms: compared,
        notes,
    })
}

/// The algorithms that were asked for, or all.
fn wanted(options: &Options) -> Result<Vec<Box<dyn Algorithm>>, Failure> {
    let shuffled = Shuffled { seed: options.seed };
    if options.algorithm.is_empty() {
        let mut all = algorithms();
        all.push(Box::new(shuffled));
        return Ok(all);
    }
    let chosen = |name: &String| -> Result<Box<dyn Algorithm>, Failure> {
        if name == shuffled.name() {
            return Ok(Box::new(shuffled));
        }
        named(algorithms(), name).map_err(|_| {
            Failure::usage(format!("there is no algorithm {name}; see --help"))
                .hint("trimtab order --list-algorithms lists them")
        })
    };
    options.algorithm.iter().filter(|name| *name != peer::NAME).map(chosen).collect()
}

fn described(program: &Program<'_>, section: SectionId, sets: [&Runs; 2]) -> Vec<ComparedTrace> {
    let small = |pages| u32::try_from(pages).unwrap_or(u32::MAX);
    let of = |(run, profile): (&Run, &Profile), held_out| {
        let footprint = Footprint::of(program, section, profile);
        ComparedTrace {
            path: run.path.display().to_string(),
            kind: run.kind(),
            held_out,
            executed: 0,
            coverage: Coverage { names: run.coverage.names(), bytes: run.coverage.bytes() },
            complete: run.complete,
            minimum: Minimum {
                function_pages: small(footprint.function_pages),
                executed_pages: small(footprint.executed_pages),
            },
        }
    };
    let mut all = Vec::new();
    for (runs, held_out) in sets.into_iter().zip([false, true]) {
        all.extend(runs.runs.iter().zip(&runs.profiles).map(|one| of(one, held_out)));
    }
    all
}

/// Where orders are made and judged.
struct Bench<'a> {
    fragments: &'a Fragments<'a>,
    mobility: Mobility,
    text: Range,
    traces: &'a Traces<'a>,
    hierarchy: Hierarchy,
    wanted: &'a [Box<dyn Algorithm>],
    with_peer: bool,
}

/// What came of orders made from some traces and judged by some.
struct Fold {
    pieces: u64,
    /// Pieces that each of the judging traces executed.
    executed: Vec<u64>,
    compared: Vec<Compared>,
    note: Option<String>,
}

/// A trace for the cost models.
struct Judged {
    execution: Execution,
    /// Pieces by first execution.
    run: Vec<PieceId>,
}

impl Bench<'_> {
    fn fold(&self, training: &[usize], judged: &[usize], stage: &Stage) -> Fold {
        let Traces { profiles, streams, .. } = self.traces;
        let made_from: Vec<Profile> =
            training.iter().map(|trace| profiles[*trace].clone()).collect();
        let allowed = |fragment: &Fragment<'_>| self.mobility.allows(fragment);
        let mut movable = Movable::new(self.fragments, &made_from, allowed);
        let observed: Vec<Stream<'_>> =
            training.iter().filter_map(|trace| streams[*trace].clone()).collect();
        if observed.len() == training.len() {
            movable.observe(self.fragments, &observed);
        }
        let judged: Vec<Judged> = judged
            .iter()
            .map(|trace| {
                let profile = profiles[*trace];
                let blocks = profile.blocks().iter().copied();
                Judged {
                    execution: match &streams[*trace] {
                        Some(stream) => movable.streamed(self.fragments, self.text, stream),
                        None => movable.execution(self.fragments, self.text, blocks),
                    },
                    run: movable.run(self.fragments, profile),
                }
            })
            .collect();
        let problem = movable.problem();
        let judge = Judge { problem: &problem, judged: &judged, hierarchy: self.hierarchy };
        let mut compared = vec![judge.as_it_is(&movable.today(self.fragments))];
        for algorithm in self.wanted {
            stage.note(algorithm.name());
            compared.push(judge.ours(algorithm.as_ref()));
        }
        let mut note = None;
        if self.with_peer {
            stage.note(peer::NAME);
            match peer::order(problem.runs) {
                Ok(Some((order, seconds))) => compared.push(judge.peer(&order, seconds)),
                Ok(None) => {}
                Err(why) => note = Some(why),
            }
        }
        Fold {
            pieces: problem.pieces.len() as u64,
            executed: judged.iter().map(|one| one.run.len() as u64).collect(),
            compared,
            note,
        }
    }
}

/// Judges orders of one problem.
struct Judge<'a> {
    problem: &'a Problem<'a>,
    judged: &'a [Judged],
    hierarchy: Hierarchy,
}

impl Judge<'_> {
    /// The program as it is.
    fn as_it_is(&self, today: &Placement) -> Compared {
        Compared {
            name: "as it is".to_owned(),
            description: "the program as it was linked".to_owned(),
            costs: self.costs(today, None),
            ..Compared::default()
        }
    }

    fn ours(&self, algorithm: &dyn Algorithm) -> Compared {
        let start = Instant::now();
        let order = algorithm.order(self.problem);
        let seconds = start.elapsed().as_secs_f64();
        let observed = self.problem.flow.is_some_and(|flow| flow.observed);
        let input = match algorithm.needs() {
            Needs::FirstExecution => "first-execution",
            _ if observed => "observed",
            _ => "approximated",
        };
        Compared {
            name: algorithm.name().to_owned(),
            description: algorithm.description().to_owned(),
            input: input.to_owned(),
            seconds,
            ..self.judge(&order)
        }
    }

    fn peer(&self, order: &[PieceId], seconds: f64) -> Compared {
        let order = Order::leading(order.iter().copied(), self.problem.pieces.len());
        Compared {
            name: peer::NAME.to_owned(),
            description: peer::DESCRIPTION.to_owned(),
            input: "first-execution".to_owned(),
            seconds,
            ..self.judge(&order)
        }
    }

    fn judge(&self, order: &Order) -> Compared {
        let placement = Placement::new(self.problem, order);
        Compared {
            listed: order.listed().len() as u64,
            costs: self.costs(&placement, Some(order.listed())),
            ..Compared::default()
        }
    }

    fn costs(&self, placement: &Placement, listed: Option<&[PieceId]>) -> Vec<Cost> {
        let cost = |judged: &Judged| {
            let found = cost::judge(&judged.execution, placement, &self.hierarchy);
            let paging = found.paging;
            Cost {
                touched: found.touched,
                area: found.area,
                function_area: listed.map(|listed| cost::function_area(listed, &judged.run)),
                l1i: found.l1i,
                itlb_4k: found.itlb_4k,
                itlb_2m: found.itlb_2m,
                paging: Paging {
                    lru: paging.lru,
                    fifo: paging.fifo,
                    random: paging.random,
                    nru: paging.nru,
                    optimum: paging.optimum,
                },
                curve: TracedCurve::sampled(&found.curve, CURVE_POINTS),
            }
        };
        self.judged.iter().map(cost).collect()
    }
}
