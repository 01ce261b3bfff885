//! Files that instrumented programs wrote.

use std::path::{Path, PathBuf};

use crate::{Hook, Profile, Recording};
use anyhow::Context;

use trimtab_lab::bytes::Bytes;
use trimtab_lab::failure::Failure;

/// How recordings begin, of whatever version.
const MAGIC: &[u8] = b"TTPROBE";

/// Files that instrumented programs wrote.
pub struct Recordings {
    files: Vec<(PathBuf, Bytes)>,
}

impl Recordings {
    /// Reads files.
    ///
    /// # Errors
    /// Which one cannot be read.
    pub fn open(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let read = |path: &PathBuf| {
            let data =
                Bytes::open(path).with_context(|| format!("cannot read {}", path.display()))?;
            Ok((path.clone(), data))
        };
        Ok(Self { files: paths.iter().map(read).collect::<anyhow::Result<_>>()? })
    }

    /// What they hold.
    ///
    /// # Errors
    /// Which one is no recording, or of another program than the first.
    pub fn parse(&self) -> anyhow::Result<Vec<Recording<'_>>> {
        let what = |recording: &Recording<'_>| match &recording.event {
            Some(event) => format!("{} {event}", recording.hook.name()),
            None => recording.hook.name().to_owned(),
        };
        let mut recordings: Vec<Recording<'_>> = Vec::new();
        for (path, data) in &self.files {
            let recording = Recording::parse(data)
                .with_context(|| format!("{} is no recording", path.display()))?;
            if let Some(first) = recordings.first()
                && (&first.program, what(first)) != (&recording.program, what(&recording))
            {
                return Err(Failure::new(format!(
                    "{} is a recording of {} ({}), the first file is one of {} ({})",
                    path.display(),
                    recording.program,
                    what(&recording),
                    first.program,
                    what(first),
                ))
                .into());
            }
            recordings.push(recording);
        }
        Ok(recordings)
    }

    /// What ran first, as a trace of our own form; none of what no instrumented program wrote.
    ///
    /// # Errors
    /// That it does not tell what ran first, or is damaged.
    pub fn trace(path: &Path, data: &[u8]) -> anyhow::Result<Option<String>> {
        if !data.starts_with(MAGIC) {
            return Ok(None);
        }
        let recording = Recording::parse(data).with_context(|| path.display().to_string())?;
        if !recording.hook.tells_first() {
            return Err(Failure::new(format!(
                "{} is a recording with --hook {}, which does not tell what ran first",
                path.display(),
                recording.hook.name()
            ))
            .hint(format!(
                "instrument the program with --hook {}, and run it again",
                Hook::names(Hook::tells_first, ", or with ")
            ))
            .into());
        }
        Ok(Profile::of(&[recording]).map(|profile| profile.native()))
    }

    /// The names of the functions that make up a share of the cycles of a recording; of a file that
    /// is none, each line is a name.
    ///
    /// # Errors
    /// That it cannot be read.
    pub fn hottest(path: &Path, share: f64) -> anyhow::Result<Vec<String>> {
        let recordings = Self::open(&[path.to_owned()])?;
        let data = &recordings.files[0].1;
        if !data.starts_with(MAGIC) {
            let text = str::from_utf8(data).map_err(|_| {
                Failure::new(format!("{} is neither a recording nor text", path.display()))
            })?;
            let names = text.lines().map(str::trim).filter(|line| !line.is_empty());
            return Ok(names.map(str::to_owned).collect());
        }
        let profile = Profile::of(&recordings.parse()?);
        let names = profile.iter().flat_map(|profile| profile.hottest(share));
        Ok(names.map(str::to_owned).collect())
    }
}
