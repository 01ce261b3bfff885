//! The sources of a program: what was executed of each, and which objects were compiled from it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use trimtab_lab::bytes::Bytes;
use trimtab_lab::failure::Failure;
use trimtab_lab::interpose::Compilation;
use trimtab_profile::{Place, Process, Profile, Trace};
use trimtab_program::{Program, Range, compile_units};

use crate::report::{OtherCode, SourceFile};
use crate::run::counter::MOVED;

/// A trace of another program has fewer of its functions than this share; one of another build of the same
/// may lack those that are inlined there or here.
const LEAST_COVERAGE: f64 = 0.5;

/// What was executed of each source, also of those of which nothing was: as a trace counts functions, or, of
/// runs of this very file, in bytes of code each time that they ran.
pub(super) fn executed(
    (program, folder): (&Path, &Path),
    runs: &[PathBuf],
    trace: Option<&Trace>,
) -> Result<Sources> {
    let cannot = || format!("cannot read {}", program.display());
    let bytes = Bytes::open(program).with_context(cannot)?;
    let mut sources = Sources::of(program, folder, &bytes)?;
    let parsed = Program::parse_any(&bytes).with_context(cannot)?;
    if let Some(trace) = trace {
        let profile = Profile::resolve(trace, &parsed);
        let found = profile.coverage().check_sources(LEAST_COVERAGE);
        found.context("the trace of what is hot")?;
        for executed in profile.functions() {
            sources.add(parsed.function(executed.function).range.start, executed.count.max(1));
        }
    }
    let mapped = format!("{}{}", program.display(), MOVED);
    for run in runs {
        let cannot = || format!("cannot read {}", run.display());
        let text = Bytes::open(run).with_context(cannot)?;
        let process = Process::parse(text.to_text().with_context(cannot)?).with_context(cannot)?;
        for event in process.trace_of(&mapped, &parsed).events() {
            if let Place::Block { start, length } = event.place {
                sources.add(start, event.count.saturating_mul(length.into()));
            }
        }
    }
    Ok(sources)
}

/// The sources of a program, and what was executed of each.
#[derive(Debug, Default)]
pub(super) struct Sources {
    pub(super) executed: BTreeMap<PathBuf, u64>,
    /// What was executed of no source that the debug information knows.
    pub(super) unknown: u64,
    /// The code of each, by address.
    pub(super) ranges: Vec<(Range, PathBuf)>,
}

impl Sources {
    /// Those of a program that was built in `folder`.
    pub(super) fn of(program: &Path, folder: &Path, bytes: &[u8]) -> Result<Self> {
        let units = compile_units(bytes).map_err(|error| {
            let program = program.display();
            Failure::new(format!("cannot tell from which sources {program} is: {error}"))
                .hint("let --build take $CFLAGS, and leave symbols and debug information in")
        })?;
        let mut sources = Self::default();
        for unit in units {
            // Options that map paths make the compiler's folder a relative one.
            let path = folder.join(unit.folder.as_deref().unwrap_or_default()).join(&unit.source);
            let path = path.canonicalize().unwrap_or(path);
            sources.ranges.extend(unit.ranges.iter().map(|range| (*range, path.clone())));
            sources.executed.insert(path, 0);
        }
        sources.ranges.sort();
        Ok(sources)
    }

    /// Code at an address was executed.
    pub(super) fn add(&mut self, address: u64, weight: u64) {
        let behind = self.ranges.partition_point(|(range, _)| range.start <= address);
        let found = behind.checked_sub(1).and_then(|place| self.ranges.get(place));
        let path = found.filter(|(range, _)| range.contains(address)).map(|(_, path)| path);
        let sum = path.and_then(|path| self.executed.get_mut(path)).unwrap_or(&mut self.unknown);
        *sum = sum.saturating_add(weight);
    }
}

/// How files are called: by their paths in the folder that is built, or, outside of it, in the folder that all
/// sources outside of it have in common.
pub(super) struct Names {
    pub(super) folder: PathBuf,
    pub(super) common: PathBuf,
}

impl Names {
    pub(super) fn of(ran: &BTreeMap<PathBuf, u64>, folder: PathBuf) -> Self {
        let outside = ran.keys().filter(|source| !source.starts_with(&folder));
        let mut parents = outside.filter_map(|source| source.parent());
        let first = parents.next().unwrap_or(Path::new("/")).to_owned();
        let common = parents.fold(first, |common, parent| {
            let fits = common.ancestors().find(|ancestor| parent.starts_with(ancestor));
            fits.unwrap_or(Path::new("/")).to_owned()
        });
        Self { folder, common }
    }

    /// An object is one of the folder that is built, or known by its whole path.
    pub(super) fn object(&self, path: &Path) -> String {
        path.strip_prefix(&self.folder).unwrap_or(path).display().to_string()
    }

    pub(super) fn shown(&self, path: &Path) -> String {
        let within = path.strip_prefix(&self.folder).or_else(|_| path.strip_prefix(&self.common));
        within.unwrap_or(path).display().to_string()
    }
}

/// What [`OtherCode`] calls code of no source.
pub(super) const UNKNOWN: &str = "code without debug information";

/// The sources that the build's compilers compiled, the hottest first, and all else that was executed. Shares
/// are of both.
pub(super) fn of_compilers(
    sources: &Sources,
    compilations: &[Compilation],
    names: &Names,
) -> (Vec<SourceFile>, OtherCode) {
    let mut found: Vec<(u64, SourceFile)> = Vec::new();
    let mut others = vec![(sources.unknown, UNKNOWN.to_owned())];
    for (source, executed) in &sources.executed {
        let made = compilations.iter().filter(|made| made.sources.contains(source));
        let objects: Vec<String> = made.map(|made| names.object(&made.object)).collect();
        let source = names.shown(source);
        match objects.is_empty() {
            true => others.push((*executed, source)),
            false => {
                found.push((*executed, SourceFile { source, objects, share: 0.0, is_hot: false }));
            }
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.source.cmp(&b.1.source)));
    others.retain(|(executed, _)| *executed > 0);
    others.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    // As numbers that a trace cannot make too large.
    let own: f64 = found.iter().map(|(executed, _)| *executed as f64).sum();
    let other: f64 = others.iter().map(|(executed, _)| *executed as f64).sum();
    let all = (own + other).max(1.0);
    let with_share =
        |(executed, file): (u64, SourceFile)| SourceFile { share: executed as f64 / all, ..file };
    let other = OtherCode {
        share: other / all,
        sources: others.into_iter().map(|(_, source)| source).collect(),
    };
    (found.into_iter().map(with_share).collect(), other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_elsewhere_are_called_by_what_they_do_not_have_in_common() {
        let paths = ["/room/own.c", "/s/tree/a.c", "/s/tree/lib/b.c"].map(PathBuf::from);
        let names = Names::of(&paths.clone().map(|path| (path, 0)).into(), "/room".into());
        assert_eq!(paths.map(|path| names.shown(&path)), ["own.c", "a.c", "lib/b.c"]);
        assert_eq!(names.object(Path::new("/room/b/a.o")), "b/a.o");
        assert_eq!(names.object(Path::new("/s/tree/a.o")), "/s/tree/a.o");
    }
}
