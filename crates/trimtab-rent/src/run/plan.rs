//! Replays traces and says what renting would bring.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use trimtab_lab::bytes::{self, STANDARD_INPUT};
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::{Observe, Stage};
use trimtab_report::Schema;
use trimtab_report::common::Repeat;

use crate::plan::{Plan, PlanError, Planner, Settings};
use crate::report::plan::{Coverage, RentPlan, Source};

/// What to do.
#[derive(Debug, Clone)]
pub struct PlanRequest {
    /// The parts of a trace, in their order: text of tracefs, `trace-cmd report` or `perf script`; `-` is
    /// standard input.
    pub traces: Vec<PathBuf>,
    /// Sizes of pools, in MiB, each from 1 to [`MOST_MIB`].
    pub pools: Vec<u32>,
    /// Bytes of a page: 4096, 16384 or 65536.
    pub page_size: u64,
    /// What it takes to copy a page, in nanoseconds.
    pub copy_nanoseconds: f64,
    /// In place of the page cache's events those of block devices are replayed, with so many MiB of page cache.
    pub memory: Option<u32>,
    /// What comes before the first marker with this text only fills the page cache and the pools.
    pub from: Option<String>,
    /// The command that repeats this, for the report.
    pub command: String,
}

/// The largest pool, in MiB.
pub const MOST_MIB: u32 = 16 << 10;

/// Bytes that are read at once.
const PIECE: usize = 256 << 10;

const MIB: f64 = (1 << 20) as f64;

/// Replays a trace.
///
/// # Errors
/// A trace that cannot be read or does not say what is needed.
pub fn plan(request: &PlanRequest, observe: &dyn Observe) -> Result<RentPlan> {
    let start = Instant::now();
    let stage = observe.stage("replay the trace");
    let settings = Settings {
        page_size: request.page_size,
        pools: sizes(request),
        copy_nanoseconds: request.copy_nanoseconds,
        from: request.from.clone(),
        normal: request.memory.map(|mib| in_pages(request, mib)),
    };
    let mut planner = Planner::new(settings);
    let mut inputs = BTreeMap::new();
    for (part, trace) in request.traces.iter().enumerate() {
        if part > 0 {
            planner.next_part();
        }
        let hash = feed(&mut planner, trace, &stage)?;
        let name = if request.traces.len() == 1 { "trace" } else { &format!("trace {}", part + 1) };
        inputs.insert(name.to_owned(), hash);
    }
    let unread = planner.part_of_unread().and_then(|part| request.traces.get(part));
    let found = planner.finish().map_err(|error| match (&error, unread) {
        (PlanError::Format { .. }, Some(trace)) => refused(std::slice::from_ref(trace), &error),
        _ => refused(&request.traces, &error),
    })?;
    let evicted = found.counts.kswapd + found.counts.direct;
    stage.done(&format!("{} pages came, {evicted} were evicted", found.counts.added));
    let mut report = report(request, found, start.elapsed().as_secs_f64());
    report.repeat.inputs = inputs;
    Ok(report)
}

/// MiB in pages, at least one and at most [`MOST_MIB`].
fn in_pages(request: &PlanRequest, mib: u32) -> u32 {
    let bytes = u64::from(mib.clamp(1, MOST_MIB)) << 20;
    (bytes / request.page_size.max(1)).max(1) as u32
}

/// The pools in pages, each once, the smallest first.
fn sizes(request: &PlanRequest) -> Vec<u32> {
    let mut sizes: Vec<u32> = request.pools.iter().map(|mib| in_pages(request, *mib)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Reads a part, and says its SHA-256.
fn feed(planner: &mut Planner, trace: &Path, stage: &Stage) -> Result<String> {
    let shown = trace.display();
    let open = || format!("cannot read {shown}");
    let mut input: Box<dyn Read> = match trace.as_os_str() == STANDARD_INPUT {
        true => Box::new(io::stdin().lock()),
        false => {
            let file = bytes::open(trace).with_context(open)?;
            stage.parts(file.metadata().as_ref().map_or(0, std::fs::Metadata::len));
            Box::new(file) as Box<dyn Read>
        }
    };
    let mut piece = vec![0; PIECE];
    let mut read = 0;
    let mut hash = Sha256::new();
    loop {
        let length = match input.read(&mut piece) {
            Ok(0) => return Ok(hex::encode(hash.finalize())),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).with_context(open),
        };
        hash.update(&piece[..length]);
        planner.feed(&piece[..length]).map_err(|error| refused(&[trace.to_owned()], &error))?;
        read += length as u64;
        stage.at(read);
    }
}

fn refused(traces: &[PathBuf], error: &PlanError) -> anyhow::Error {
    let names: Vec<String> = traces.iter().map(|trace| trace.display().to_string()).collect();
    let failure = Failure::new(format!("cannot plan from {}: {error}", names.join(", ")));
    failure.hint(error.hint()).into()
}

fn report(request: &PlanRequest, found: Plan, took: f64) -> RentPlan {
    let counts = found.counts;
    let evicted = (counts.kswapd + counts.direct).max(1) as f64;
    RentPlan {
        schema: Schema::default(),
        source: Source {
            traces: request.traces.iter().map(|trace| trace.display().to_string()).collect(),
            page_size: request.page_size,
            copy_nanoseconds: request.copy_nanoseconds,
            guessed_memory_mib: request.memory,
            seconds: found.length as f64 / 1e9,
            most_resident_mib: (found.most_resident * request.page_size) as f64 / MIB,
        },
        coverage: Coverage {
            known: 1.0 - counts.older as f64 / evicted,
            storable: 1.0 - (counts.large + counts.unsuited) as f64 / evicted,
            has_activations: found.recorded.activations,
            has_files: found.recorded.files,
            counts,
        },
        warnings: found.warnings(),
        pools: found.pools,
        recommended: found.recommended,
        took,
        repeat: Repeat { command: request.command.clone(), ..Repeat::default() },
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use trimtab_lab::observe::Silent;

    use super::*;

    fn request(traces: &[&Path]) -> PlanRequest {
        PlanRequest {
            traces: traces.iter().map(|trace| trace.to_path_buf()).collect(),
            pools: vec![4, 1, 4, u32::MAX],
            page_size: 4096,
            copy_nanoseconds: 2000.0,
            memory: None,
            from: None,
            command: "trimtab rent plan".to_owned(),
        }
    }

    #[test]
    fn parts_of_a_trace_are_one() {
        let text = include_str!("../../../../testdata/rent/reads.txt");
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let middle = text.len() / 2;
        let (first, second) = text.split_at(middle + text[middle..].find('\n').unwrap() + 1);
        let (whole, a, b) = (file("whole", text), file("a", first), file("b", second));
        let run = |traces: &[&Path]| plan(&request(traces), &Silent);
        let expected = run(&[&whole]).unwrap();
        let found = run(&[&a, &b]).unwrap();
        assert_eq!((&found.pools, &found.coverage), (&expected.pools, &expected.coverage));
        assert_eq!(found.source.traces.len(), 2);
        let names = |plan: &RentPlan| plan.repeat.inputs.keys().cloned().collect::<Vec<_>>();
        assert_eq!(
            (names(&expected), names(&found)),
            (vec!["trace".into()], vec!["trace 1".into(), "trace 2".into()])
        );
        assert_eq!(expected.repeat.inputs["trace"], hex::encode(Sha256::digest(text)));
        // Each size once, and none that is larger than any can be.
        let sizes: Vec<f64> = found.pools.iter().step_by(3).map(|pool| pool.mib).collect();
        assert_eq!(sizes, [1.0, 4.0, f64::from(MOST_MIB)]);
        let said = |traces: &[&Path]| {
            let error = run(traces).unwrap_err();
            let hints = error.downcast_ref::<Failure>().map(|failure| failure.hints().to_vec());
            (error.to_string(), hints.unwrap_or_default())
        };
        let (message, hints) = said(&[&b, &a]);
        let first_event = text.lines().position(|line| line.contains("mm_")).unwrap() + 1;
        let place = format!("/a: time goes back in line {first_event}");
        assert!(message.ends_with(&place), "{message}");
        assert!(hints[0].contains("in their order"), "{hints:?}");
        // Whichever part an event of another kernel is in, it is that which is named.
        let other = "a-1 [000] 9999999.0: mm_filemap_add_to_page_cache: inode=c index=1\n";
        let (others, none) = (file("others", &format!("#\n{other}")), file("none of it", "#\n"));
        let (message, _) = said(&[&none, &others]);
        assert!(message.contains("from ") && !message.contains("none of it"), "{message}");
        assert!(message.contains("/others: line 2 is an event of another kernel"), "{message}");
        assert!(said(&[&folder.path().join("none")]).0.starts_with("cannot read "));
    }
}
