//! Flags for the hot objects of a program only: which these are, and how a build gives flags to them alone.
//!
//! The program is built once with the debug information that says which source each piece of code is from,
//! and its run is counted in QEMU. Compilers that stand in for those of the build write down which object
//! they make of which source, and give the flags to the objects of the hot ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use trimtab_lab::bytes::Bytes;
use trimtab_lab::failure::Failure;
use trimtab_lab::interpose::{Compilation, FlagRules, Flags};
use trimtab_lab::observe::Observe;
use trimtab_profile::{Coverage, Place, Process, Profile, Source, StaleProfile, Trace};
use trimtab_program::{Program, Range, compile_units};
use trimtab_report::number;

use super::request::Hot;
use super::room::Room;
use super::tuning::{Toolset, unusable};
use crate::report::{HotObjects as HotReport, OtherCode, SourceFile};

/// What a program is compiled from, and to which objects flags are given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HotObjects {
    /// The flags of all objects.
    level: String,
    /// Further flags of all objects.
    more: Vec<String>,
    /// Who saw what is executed.
    found_by: String,
    /// The share of what is executed that was asked for, where one was.
    wanted: Option<f64>,
    /// What is executed and gets no flags, whichever sources are hot.
    other: OtherCode,
    /// What the program is compiled from, the hottest first; paths are relative to the folder that is built
    /// where they are in it.
    pub files: Vec<SourceFile>,
}

impl HotObjects {
    /// None of them hot: all are built with debug information that says which source code is from.
    fn unknown(level: &str) -> Self {
        Self {
            level: level.to_owned(),
            more: vec!["-g1".to_owned()],
            found_by: String::new(),
            wanted: None,
            other: OtherCode::default(),
            files: Vec::new(),
        }
    }

    /// What all objects are built with.
    pub fn level(&self) -> &str {
        &self.level
    }

    /// The sources whose objects get the flags.
    pub fn hot(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.is_hot)
    }

    /// The objects that get the flags, by name.
    pub fn objects(&self) -> Vec<&str> {
        let mut all: Vec<&str> =
            self.hot().flat_map(|file| &file.objects).map(String::as_str).collect();
        all.sort_unstable();
        all
    }

    /// The flags of each object of a build in `folder` that tries `flags`.
    pub fn rules(&self, folder: &Path, flags: &[String]) -> FlagRules {
        let own = Flags { remove: Vec::new(), add: flags.to_vec() };
        FlagRules {
            all: Flags { remove: Vec::new(), add: self.more.clone() },
            objects: (self.objects().iter())
                .map(|object| (folder.join(object), own.clone()))
                .collect(),
        }
    }

    /// A hot object that is not among what a build in `folder` made.
    pub fn not_made(&self, folder: &Path, made: &[Compilation]) -> Option<&str> {
        let is_there = |object: &str| made.iter().any(|made| made.object == folder.join(object));
        self.objects().into_iter().find(|object| !is_there(object))
    }

    /// For the report.
    pub fn report(&self) -> HotReport {
        HotReport {
            level: self.level.clone(),
            found_by: self.found_by.clone(),
            wanted: self.wanted,
            other: self.other.clone(),
            files: self.files.clone(),
        }
    }
}

/// Finds what a program is compiled from and which of that is hot, by a trace, or, where there is none, by a run
/// that is counted. It is built for that.
///
/// # Errors
/// A program that does not build or run at the level, that has no debug information, or whose build does not
/// tell its objects apart; sources that it does not have; a trace of another program.
pub fn find(
    tools: &Toolset,
    hot: &Hot,
    trace: Option<&Trace>,
    observe: &dyn Observe,
) -> Result<HotObjects> {
    let stage = observe.stage("find the hot objects");
    let level = &tools.setup.level;
    let flags = std::slice::from_ref(level);
    let mut source = tools.source.clone();
    source.restrict(HotObjects::unknown(level));
    let room = Room::new(&source, &tools.compiler, tools.setup.limits, tools.rooms())?;
    let counter = trace.is_none().then_some(&tools.counter);
    let made = room.traced(counter).map_err(|fault| unusable(fault, flags))?;
    let folder = room.path().canonicalize().context("cannot find the folder of the build")?;
    let program = folder.join(&source.program);
    let sources = executed((&program, &folder), &made.traces, trace)?;
    let names = Names::of(&sources.executed, folder);
    let (mut files, other) = of_compilers(&sources, &made.compilations, &names);
    if files.is_empty() {
        return Err(nothing_compiled(&sources, &made.compilations, &source.name).into());
    }
    choose(&mut files, &other, hot, &source.name)?;
    let found = HotObjects {
        level: level.clone(),
        more: Vec::new(),
        found_by: trace.map_or(Source::QemuPlugin, Trace::source).name().to_owned(),
        wanted: match hot {
            Hot::Share(wanted) => Some(*wanted),
            Hot::Sources(_) => None,
        },
        other,
        files,
    };
    apart(&found, &made.compilations, &names)?;
    let report = found.report();
    let mut summary = format!(
        "{} of {} sources, with {} of what is executed",
        found.hot().count(),
        found.files.len(),
        number::share(report.reached())
    );
    if let Some(wanted) = report.missed() {
        let (wanted, other) = (number::share(wanted), number::share(report.other.share));
        summary += &format!("; {wanted} were wanted, and {other} cannot be given flags");
    }
    stage.done(&summary);
    Ok(found)
}

/// Why no source can be given flags.
fn nothing_compiled(sources: &Sources, compilations: &[Compilation], name: &str) -> Failure {
    let missing = sources.executed.keys().find(|source| !source.exists());
    if let Some(missing) = missing.filter(|_| !compilations.is_empty()) {
        return Failure::new(format!(
            "the debug information of {name} names sources that are not there, as {}; expected those that \
             were compiled",
            missing.display()
        ))
        .hint("leave out options that map paths to others, such as -ffile-prefix-map, or map to .");
    }
    Failure::new(format!(
        "nothing of {name} was compiled by a compiler that can be given flags for single objects"
    ))
    .hint("have --build compile with $CC or $CXX, or by a compiler's name without its folder")
}

/// A trace of another program has fewer of its functions than this share; one of another build of the same
/// may lack those that are inlined there or here.
const LEAST_COVERAGE: f64 = 0.5;

/// What was executed of each source, also of those of which nothing was: as a trace counts functions, or, of
/// runs of this very file, in bytes of code each time that they ran.
fn executed(
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
        fits(profile.coverage()).context("the trace of what is hot")?;
        for executed in profile.functions() {
            sources.add(parsed.function(executed.function).range.start, executed.count.max(1));
        }
    }
    let mapped = format!("{}{}", program.display(), super::counter::MOVED);
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

/// Fails where a trace is of another program.
fn fits(coverage: &Coverage) -> Result<(), StaleProfile> {
    let mut checked = coverage.check(LEAST_COVERAGE);
    if let Err(StaleProfile::Stale { remedy, .. }) = &mut checked
        && !coverage.without_files
    {
        // The minimum is nobody's to choose here.
        *remedy = "trace a build of these sources again";
    }
    checked
}

/// The sources of a program, and what was executed of each.
#[derive(Debug, Default)]
struct Sources {
    executed: BTreeMap<PathBuf, u64>,
    /// What was executed of no source that the debug information knows.
    unknown: u64,
    /// The code of each, by address.
    ranges: Vec<(Range, PathBuf)>,
}

impl Sources {
    /// Those of a program that was built in `folder`.
    fn of(program: &Path, folder: &Path, bytes: &[u8]) -> Result<Self> {
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
    fn add(&mut self, address: u64, weight: u64) {
        let behind = self.ranges.partition_point(|(range, _)| range.start <= address);
        let found = behind.checked_sub(1).and_then(|place| self.ranges.get(place));
        let path = found.filter(|(range, _)| range.contains(address)).map(|(_, path)| path);
        let sum = path.and_then(|path| self.executed.get_mut(path)).unwrap_or(&mut self.unknown);
        *sum = sum.saturating_add(weight);
    }
}

/// How files are called: by their paths in the folder that is built, or, outside of it, in the folder that all
/// sources outside of it have in common.
struct Names {
    folder: PathBuf,
    common: PathBuf,
}

impl Names {
    fn of(ran: &BTreeMap<PathBuf, u64>, folder: PathBuf) -> Self {
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
    fn object(&self, path: &Path) -> String {
        path.strip_prefix(&self.folder).unwrap_or(path).display().to_string()
    }

    fn shown(&self, path: &Path) -> String {
        let within = path.strip_prefix(&self.folder).or_else(|_| path.strip_prefix(&self.common));
        within.unwrap_or(path).display().to_string()
    }
}

/// What [`OtherCode`] calls code of no source.
const UNKNOWN: &str = "code without debug information";

/// The sources that the build's compilers compiled, the hottest first, and all else that was executed. Shares
/// are of both.
fn of_compilers(
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

/// Says of each file whether it is hot.
fn choose(files: &mut [SourceFile], other: &OtherCode, hot: &Hot, name: &str) -> Result<()> {
    match hot {
        Hot::Share(wanted) => {
            let mut sum = 0.0;
            for file in files.iter_mut() {
                // A sum of shares may be less than 1 by rounding: what did not run is never hot.
                file.is_hot = sum < *wanted && file.share > 0.0;
                sum += file.share;
            }
            if !files.iter().any(|file| file.is_hot) {
                let what = match other.sources.first() {
                    Some(first) => format!("can be given flags: it is of {first}"),
                    None => format!("is of {name}'s own code"),
                };
                return Err(Failure::new(format!("nothing that is executed {what}")).into());
            }
        }
        Hot::Sources(wanted) => {
            for source in wanted {
                let source = source.strip_prefix(".").unwrap_or(source);
                let mut fits =
                    files.iter_mut().filter(|file| Path::new(&file.source).ends_with(source));
                let (first, second) = (fits.next(), fits.next());
                match (first, second) {
                    (Some(file), None) => file.is_hot = true,
                    (found, _) => {
                        let what = if found.is_some() { "several sources" } else { "no source" };
                        return Err(unknown(files, what, source, name).into());
                    }
                }
            }
        }
    }
    Ok(())
}

/// Most sources that a message names.
const NAMED: usize = 10;

fn unknown(files: &[SourceFile], what: &str, source: &Path, name: &str) -> Failure {
    let names: Vec<&str> = files.iter().take(NAMED).map(|file| file.source.as_str()).collect();
    let more = if files.len() > NAMED { " and others" } else { "" };
    Failure::usage(format!(
        "{name} is compiled from {what} called {}; expected one of {}{more}",
        source.display(),
        names.join(", ")
    ))
}

/// Fails where one command compiles hot sources together with others.
fn apart(found: &HotObjects, compilations: &[Compilation], names: &Names) -> Result<()> {
    let is_hot = |source: &PathBuf| {
        let source = names.shown(source);
        found.hot().any(|file| file.source == source)
    };
    for made in compilations {
        let hot = made.sources.iter().filter(|source| is_hot(source)).count();
        if hot > 0 && hot < made.sources.len() {
            return Err(Failure::new(format!(
                "one command compiles {} sources to {}, of which {hot} are hot; expected one command for \
                 each",
                made.sources.len(),
                names.object(&made.object)
            ))
            .hint("compile each source with -c, as make does")
            .into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(shares: &[(&str, f64)]) -> Vec<SourceFile> {
        let file = |(source, share): &(&str, f64)| SourceFile {
            source: (*source).to_owned(),
            objects: vec![source.replace(".c", ".o")],
            share: *share,
            is_hot: false,
        };
        shares.iter().map(file).collect()
    }

    fn chosen(hot: &Hot) -> Result<Vec<String>> {
        let mut files = files(&[("src/a.c", 0.6), ("b.c", 0.3), ("src/b.c", 0.1), ("c.c", 0.0)]);
        choose(&mut files, &OtherCode::default(), hot, "app")?;
        Ok(files.into_iter().filter(|file| file.is_hot).map(|file| file.source).collect())
    }

    #[test]
    fn the_fewest_sources_with_the_share_are_hot() {
        for (share, expected) in [
            (0.5, &["src/a.c"][..]),
            (0.6, &["src/a.c"]),
            (0.61, &["src/a.c", "b.c"]),
            (1.0, &["src/a.c", "b.c", "src/b.c"]),
        ] {
            assert_eq!(chosen(&Hot::Share(share)).unwrap(), expected, "{share}");
        }
        let mut idle = files(&[("a.c", 0.0)]);
        let fails = |files: &mut [SourceFile], other: &OtherCode| {
            choose(files, other, &Hot::Share(0.9), "app").unwrap_err().to_string()
        };
        let error = fails(&mut idle, &OtherCode::default());
        assert!(error.contains("nothing that is executed is of app's own code"), "{error}");
        let error = fails(&mut idle, &OtherCode { share: 1.0, sources: vec!["b.S".to_owned()] });
        assert!(error.contains("can be given flags: it is of b.S"), "{error}");
    }

    #[test]
    fn shares_are_of_all_that_is_executed_and_assembly_gets_no_flags() {
        let range = |start, end| Range { start, end };
        let path = |name: &str| Path::new("/room").join(name);
        let mut sources = Sources {
            executed: ["a.c", "fast.S", "idle.rs"].map(|name| (path(name), 0)).into(),
            unknown: 0,
            ranges: vec![(range(100, 200), path("a.c")), (range(200, 300), path("fast.S"))],
        };
        for (address, weight) in [(100, 18), (199, 2), (200, 75), (300, 4), (50, 1)] {
            sources.add(address, weight);
        }
        assert_eq!((sources.executed[&path("a.c")], sources.unknown), (20, 5));
        let made = [Compilation { object: path("a.o"), sources: vec![path("a.c")] }];
        let names = Names { folder: "/room".into(), common: "/".into() };
        let (mut files, other) = of_compilers(&sources, &made, &names);
        assert_eq!((files.len(), files[0].share), (1, 0.2));
        let expected = ["fast.S", UNKNOWN].map(str::to_owned).to_vec();
        assert_eq!(other, OtherCode { share: 0.8, sources: expected });
        choose(&mut files, &other, &Hot::Share(0.9), "app").unwrap();
        let found = HotObjects { files, other, wanted: Some(0.9), ..HotObjects::unknown("-O2") };
        let report = found.report();
        assert_eq!((report.reached(), report.missed()), (0.2, Some(0.9)));
        assert_eq!(HotReport { wanted: Some(0.2), ..report }.missed(), None);
    }

    #[test]
    fn a_trace_of_another_program_is_to_be_made_again() {
        let coverage = Coverage { names_total: 3, names_found: 1, ..Coverage::default() };
        let error = fits(&coverage).unwrap_err().to_string();
        assert!(error.contains("trace a build of these sources again"), "{error}");
        assert!(!error.contains("--min-coverage"), "{error}");
        let error = fits(&Coverage { without_files: true, ..coverage }).unwrap_err().to_string();
        assert!(error.contains("perf script"), "{error}");
    }

    #[test]
    fn sources_that_are_not_there_are_told_from_none_that_were_compiled() {
        let path = PathBuf::from("/no/such/folder/a.c");
        let sources = Sources { executed: [(path, 1)].into(), ..Sources::default() };
        let made = [Compilation { object: "/room/a.o".into(), sources: vec!["/room/a.c".into()] }];
        let error = nothing_compiled(&sources, &made, "app").to_string();
        assert!(error.contains("names sources that are not there, as /no/such"), "{error}");
        let error = nothing_compiled(&sources, &[], "app").to_string();
        assert!(error.contains("nothing of app was compiled"), "{error}");
    }

    #[test]
    fn sources_are_named_by_the_end_of_their_paths() {
        let named = |name: &str| chosen(&Hot::Sources(vec![name.into()]));
        assert_eq!(named("./src/b.c").unwrap(), ["src/b.c"]);
        assert_eq!(named("a.c").unwrap(), ["src/a.c"]);
        let error = named("b.c").unwrap_err().to_string();
        assert!(error.starts_with("app is compiled from several sources called b.c"), "{error}");
        let error = named("d.c").unwrap_err().to_string();
        assert!(error.contains("no source called d.c; expected one of src/a.c, b.c"), "{error}");
    }

    #[test]
    fn sources_elsewhere_are_called_by_what_they_do_not_have_in_common() {
        let paths = ["/room/own.c", "/s/tree/a.c", "/s/tree/lib/b.c"].map(PathBuf::from);
        let names = Names::of(&paths.clone().map(|path| (path, 0)).into(), "/room".into());
        assert_eq!(paths.map(|path| names.shown(&path)), ["own.c", "a.c", "lib/b.c"]);
        assert_eq!(names.object(Path::new("/room/b/a.o")), "b/a.o");
        assert_eq!(names.object(Path::new("/s/tree/a.o")), "/s/tree/a.o");
    }

    #[test]
    fn only_objects_of_hot_sources_get_the_flags() {
        let mut files = files(&[("a.c", 0.9), ("b.c", 0.1)]);
        files[0].is_hot = true;
        let found = HotObjects { files, ..HotObjects::unknown("-O2") };
        let rules = found.rules(Path::new("/room"), &["-O3".to_owned()]);
        assert_eq!(rules.objects.keys().collect::<Vec<_>>(), [Path::new("/room/a.o")]);
        assert_eq!(rules.objects[Path::new("/room/a.o")].add, ["-O3"]);
        let made = |object: &str, sources: &[&str]| Compilation {
            object: Path::new("/room").join(object),
            sources: sources.iter().map(|source| Path::new("/room").join(source)).collect(),
        };
        let (own, both) = ([made("a.o", &["a.c"])], [made("app", &["a.c", "b.c"])]);
        let room = Path::new("/room");
        assert_eq!(found.not_made(room, &own), None);
        assert_eq!(found.not_made(room, &both), Some("a.o"));
        let names = Names { folder: room.to_owned(), common: PathBuf::from("/") };
        assert!(apart(&found, &own, &names).is_ok());
        let error = apart(&found, &both, &names).unwrap_err().to_string();
        assert!(
            error.contains("one command compiles 2 sources to app, of which 1 are hot"),
            "{error}"
        );
    }
}
