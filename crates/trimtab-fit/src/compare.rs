//! Comparing: what each algorithm's order costs, on traces that made it and on others.

mod fold;
mod judge;
mod peer;

use std::path::PathBuf;

use crate::report::{CompareReport, ComparedTrace, ModelCosts};
use trimtab_inputs::{self as inputs, Elf, Format, Run, Runs, Text};
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;
use trimtab_layout::cost::Hierarchy;
use trimtab_layout::{Algorithm, Footprint, algorithms_and_shuffled, named};
use trimtab_link::kernel::Mobility;
use trimtab_profile::{Profile, Stream};
use trimtab_program::{Program, SectionId};
use trimtab_report::Schema;
use trimtab_report::common::{Coverage, Input, Minimum};

use fold::Bench;

/// What is compared with what.
#[derive(Debug, Clone)]
pub struct CompareRequest {
    /// The linked program with its symbols.
    pub program: PathBuf,
    /// Traces of this very build that orders are made from; the first is the run to make fast.
    pub training: Vec<PathBuf>,
    /// Traces of this very build that orders are only judged by.
    pub held_out: Vec<PathBuf>,
    /// Whether each training trace is left out in turn, and judges the orders made from the others.
    pub leave_one_out: bool,
    /// The linker's map of the program.
    pub map: Option<PathBuf>,
    /// Names of algorithms; none means all, and [`peer::NAME`] where it is there.
    pub algorithms: Vec<String>,
    /// Pages of code that memory has room for in the model of demand paging; without it half of what
    /// the first trace needs at least.
    pub frames: Option<u32>,
    /// Seed of the shuffled order and of random replacement.
    pub seed: u64,
    /// The least share of each trace that has to be found in the program, 0 to 1.
    pub min_coverage: f64,
    /// Formats of traces that are read beside the common ones.
    pub formats: &'static [Format],
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

/// Puts the orders of the algorithms through all cost models.
///
/// # Errors
/// Files that cannot be read, the trace of another build, an unknown algorithm.
pub fn compare(request: &CompareRequest, observe: &dyn Observe) -> anyhow::Result<CompareReport> {
    let wanted = wanted(request)?;
    if request.leave_one_out && request.training.len() < 2 {
        return Err(Failure::usage("one trace cannot be left out: nothing remains; see --help")
            .hint("give more traces: --trace FILE --trace FILE")
            .into());
    }
    let file = Elf::open(&request.program)?;
    let program = file.program()?;
    let section = inputs::section(&program, file.path(), None)?;
    let map_file = request.map.as_deref().map(Text::of_map).transpose()?;
    let map = map_file.as_ref().map(|text| text.link_map()).transpose()?;
    let with_map = map.as_ref().zip(request.map.as_deref());
    let fragments = inputs::fragments(&program, with_map, section)?;
    let training = Runs::read(&request.training, &program, request.min_coverage, request.formats)?;
    let held_out = Runs::read(&request.held_out, &program, request.min_coverage, request.formats)?;
    let traces = Traces {
        profiles: training.profiles.iter().chain(&held_out.profiles).collect(),
        streams: [training.streams()?, held_out.streams()?].concat(),
        training: training.runs.len(),
    };
    let mut described = described(&program, section, [&training, &held_out]);
    let half = described.first().map_or(1, |trace| trace.minimum.function_pages.div_ceil(2));
    let frames = request.frames.unwrap_or(half.max(1));
    let hierarchy = Hierarchy { seed: request.seed, ..Hierarchy::common(frames as usize) };
    let bench = Bench {
        fragments: &fragments,
        mobility: Mobility::of(&program),
        text: program.section(section).range,
        traces: &traces,
        hierarchy,
        wanted: &wanted,
        with_peer: request.algorithms.is_empty()
            || request.algorithms.iter().any(|name| name == peer::NAME),
    };

    let all = bench.folds(request.leave_one_out, &mut described, observe);
    Ok(CompareReport {
        schema: Schema::default(),
        program: Input {
            path: file.path().display().to_string(),
            kind: inputs::kind(&program),
            sha256: inputs::sha256([file.bytes()]),
        },
        exact: with_map.is_some(),
        leave_one_out: request.leave_one_out,
        pieces: all.pieces,
        traces: described,
        model: modelled(&hierarchy),
        algorithms: all.compared,
        notes: all.notes,
    })
}

/// The algorithms that were asked for, or all.
fn wanted(request: &CompareRequest) -> Result<Vec<Box<dyn Algorithm>>, Failure> {
    let all = || algorithms_and_shuffled(request.seed);
    if request.algorithms.is_empty() {
        return Ok(all());
    }
    let chosen = |name: &String| -> Result<Box<dyn Algorithm>, Failure> {
        named(all(), name).map_err(|_| {
            Failure::usage(format!("there is no algorithm {name}; see --help"))
                .hint("trimtab order --list-algorithms lists them")
        })
    };
    request.algorithms.iter().filter(|name| *name != peer::NAME).map(chosen).collect()
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

/// The model's sizes, for the report.
fn modelled(hierarchy: &Hierarchy) -> ModelCosts {
    ModelCosts {
        l1i_bytes: hierarchy.l1i.entries as u64 * hierarchy.l1i.bytes,
        itlb_4k_entries: hierarchy.itlb_4k.entries as u64,
        itlb_2m_entries: hierarchy.itlb_2m.entries as u64,
        frames: hierarchy.frames as u64,
        seed: hierarchy.seed,
    }
}
