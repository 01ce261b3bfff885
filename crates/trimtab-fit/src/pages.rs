//! Counting pages: what a run touched, and the fewest pages it could have touched.

use std::path::PathBuf;

use crate::report::{Cause, PagesReport, PagesSection, PagesText};
use trimtab_inputs::{self as inputs, Elf, Format, Runs, Text};
use trimtab_lab::failure::Failure;
use trimtab_layout::{Excess, Footprint, functions_run};
use trimtab_link::kernel::Mobility;
use trimtab_profile::Profile;
use trimtab_program::{Fragment, Fragments, PAGE_SIZE, Program, SectionId};
use trimtab_report::Schema;
use trimtab_report::common::{Address, Coverage, Functions, Input, Minimum, TracedCurve};

/// Points of the page-fault curve that are kept: more than a screen has columns.
const CURVE_POINTS: usize = 2000;

/// Names that were not found that are kept.
const MISSING: usize = 100;

/// What is counted.
#[derive(Debug, Clone)]
pub struct PagesRequest {
    /// The linked program with its symbols.
    pub program: PathBuf,
    /// Traces of this very build; more than one are taken together.
    pub traces: Vec<PathBuf>,
    /// The linker's map of the program.
    pub map: Option<PathBuf>,
    /// Only this section; without it `.text`, and a line for each other section of code.
    pub section: Option<String>,
    /// The least share of the trace that has to be found in the program, 0 to 1.
    pub min_coverage: f64,
    /// Formats of traces that are read beside the common ones.
    pub formats: &'static [Format],
}

/// Reads everything and counts.
///
/// # Errors
/// Files that cannot be read, and the trace of another build.
pub fn pages(request: &PagesRequest) -> anyhow::Result<PagesReport> {
    let file = Elf::open(&request.program)?;
    let program = file.program()?;
    let text_section = inputs::section(&program, file.path(), request.section.as_deref())?;
    let map_file = request.map.as_deref().map(Text::of_map).transpose()?;
    let map = map_file.as_ref().map(|text| text.link_map()).transpose()?;
    let fragments = match (&map, &map_file) {
        (Some(map), Some(text)) => {
            Some(inputs::fragments(&program, Some((map, text.path())), text_section)?)
        }
        _ => None,
    };
    let runs = Runs::read(&request.traces, &program, request.min_coverage, request.formats)?;
    let profile = Profile::merge(&runs.profiles)
        .ok_or_else(|| Failure::usage("there is no trace: give one with --trace FILE"))?;

    let text = Footprint::of(&program, text_section, &profile);
    let listed: Vec<SectionId> = match request.section {
        Some(_) => vec![text_section],
        None => inputs::sections(&program).collect(),
    };
    let coverage = profile.coverage();
    let range = program.section(text_section).range;
    Ok(PagesReport {
        schema: Schema::default(),
        program: Input {
            path: file.path().display().to_string(),
            kind: inputs::kind(&program),
            sha256: inputs::sha256([file.bytes()]),
        },
        trace: trace(&runs),
        page_size: PAGE_SIZE as u32,
        text: PagesText { pages_spanned: small(text.pages_spanned), bytes: range.length() },
        touched: small(text.touched),
        minimum: minimum(&text),
        functions: Functions { total: text.functions, executed: text.functions_executed },
        coverage: Coverage { names: coverage.names(), bytes: coverage.bytes() },
        missing: coverage.missing.iter().take(MISSING).cloned().collect(),
        curve_area: text.curve_area() as f64,
        curve: TracedCurve::sampled(&text.curve, CURVE_POINTS),
        page_map: trimtab_layout::pages::map(range, profile.executed()),
        sections: listed.iter().map(|id| section(&program, *id, &profile)).collect(),
        excess: fragments.map_or_else(Vec::new, |all| excess(&program, &all, &profile)),
    })
}

/// All traces as one input.
fn trace(runs: &Runs) -> Input {
    let all = |text: fn(&inputs::Run) -> String, between: &str| {
        runs.runs.iter().map(text).collect::<Vec<_>>().join(between)
    };
    Input {
        path: all(|run| run.path.display().to_string(), ", "),
        kind: all(inputs::Run::kind, "; "),
        sha256: runs.sha256.clone(),
    }
}

fn section(program: &Program<'_>, id: SectionId, profile: &Profile) -> PagesSection {
    let section = program.section(id);
    let footprint = Footprint::of(program, id, profile);
    PagesSection {
        name: section.name.to_owned(),
        address: Address(section.range.start),
        bytes: section.range.length(),
        pages_spanned: small(footprint.pages_spanned),
        touched: small(footprint.touched),
        executed_bytes: footprint.executed_bytes,
        minimum: minimum(&footprint),
    }
}

fn minimum(footprint: &Footprint) -> Minimum {
    Minimum {
        function_pages: small(footprint.function_pages),
        executed_pages: small(footprint.executed_pages),
    }
}

fn excess(program: &Program<'_>, fragments: &Fragments<'_>, profile: &Profile) -> Vec<Cause> {
    let ran = functions_run(program, fragments.section(), profile);
    let mobility = Mobility::of(program);
    let movable = |fragment: &Fragment<'_>| mobility.allows(fragment);
    let found = Excess::account(program, fragments, profile.executed(), &ran, movable);
    [
        ("padding between functions", found.alignment),
        ("functions that the kernel pins and that did not run", found.pinned_sections),
        ("other functions that did not run, on touched pages", found.sharing),
        ("parts of functions that ran, on untouched pages", found.cold_parts),
        ("other", found.other),
    ]
    .map(|(cause, pages)| Cause { cause: cause.to_owned(), pages })
    .into()
}

/// A count of pages as the report has it.
fn small(pages: u64) -> u32 {
    u32::try_from(pages).unwrap_or(u32::MAX)
}
