//! What ran: traces, found in the program.

use std::path::PathBuf;

use anyhow::Context;
use trimtab_profile::{Coverage, Profile, Source, Stream, only_without_suffix, stream};
use trimtab_program::Program;
use trimtab_report::number::{count, share};

use crate::{Format, Recording, sha256};

/// One trace.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its file.
    pub path: PathBuf,
    /// Who recorded it.
    pub source: Source,
    /// Places that ran.
    pub events: u64,
    /// Events that the tracer says are missing.
    pub lost: u64,
    /// Lines that say nothing of what ran, by kind.
    pub passed: Vec<(&'static str, u64)>,
    /// How much of it was found in the program.
    pub coverage: Coverage,
    /// Whether it has every execution, not only the first of each place.
    pub complete: bool,
}

impl Run {
    /// What the file is, for people.
    pub fn kind(&self) -> String {
        let mut text = format!("{} trace, {} events", self.source.name(), count(self.events));
        if self.lost > 0 {
            text.push_str(&format!(", {} lost", count(self.lost)));
        }
        for (kind, lines) in &self.passed {
            text.push_str(&format!(", {} {kind} passed over", count(*lines)));
        }
        text
    }

    /// How much was found, on one line.
    pub fn coverage_line(&self) -> String {
        let coverage = &self.coverage;
        let mut text = format!(
            "{}: {} of names, {} of bytes",
            self.path.display(),
            share(coverage.names()),
            share(coverage.bytes())
        );
        if !coverage.missing.is_empty() {
            text.push_str(&format!(", {} not found", count(coverage.missing.len() as u64)));
        }
        if coverage.ambiguous > 0 {
            text.push_str(&format!(
                ", {} of several functions, which all count as run",
                count(coverage.ambiguous)
            ));
        }
        if coverage.without_suffix > 0 {
            text.push_str(", ");
            text.push_str(&only_without_suffix(&count(coverage.without_suffix)));
        }
        text
    }
}

/// All traces of a command line, in its order.
#[derive(Debug, Clone)]
pub struct Runs {
    /// The traces.
    pub runs: Vec<Run>,
    /// What each says of the program.
    pub profiles: Vec<Profile>,
    /// The files.
    recordings: Vec<Recording>,
    /// SHA-256 of all files, one behind the other.
    pub sha256: String,
}

impl Runs {
    /// Reads traces, also of the further `formats`, and finds them in `program`.
    ///
    /// # Errors
    /// Files that cannot be read or are no traces, and the trace of another build: one of which less
    /// than `minimum` (0 to 1) of the names or of the bytes was found.
    pub fn read(
        paths: &[PathBuf],
        program: &Program<'_>,
        minimum: f64,
        formats: &[Format],
    ) -> anyhow::Result<Self> {
        let mut runs = Vec::with_capacity(paths.len());
        let mut profiles = Vec::with_capacity(paths.len());
        let mut recordings = Vec::with_capacity(paths.len());
        for path in paths {
            let recording = Recording::open(path)?;
            let named = || path.display().to_string();
            let trace = recording.trace(formats)?;
            let profile = Profile::resolve(&trace, program);
            profile.coverage().check(minimum).with_context(named)?;
            runs.push(Run {
                path: path.clone(),
                source: trace.source(),
                events: trace.events().len() as u64,
                lost: trace.lost,
                passed: trace.passed().collect(),
                coverage: profile.coverage().clone(),
                complete: stream::is_stream(recording.bytes()),
            });
            profiles.push(profile);
            recordings.push(recording);
        }
        let sha256 = sha256(recordings.iter().map(Recording::bytes));
        Ok(Self { runs, profiles, recordings, sha256 })
    }

    /// For each trace the stream of all executions, where it is one.
    ///
    /// # Errors
    /// None: the streams were read before, and were sound.
    pub fn streams(&self) -> anyhow::Result<Vec<Option<Stream<'_>>>> {
        self.recordings.iter().map(Recording::stream).collect()
    }
}
