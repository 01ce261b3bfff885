//! Flags for the hot objects of a program only: which these are, and how a build gives flags to them alone.
//!
//! The program is built once with the debug information that says which source each piece of code is from,
//! and its run is counted in QEMU. Compilers that stand in for those of the build write down which object
//! they make of which source, and give the flags to the objects of the hot ones.

mod sources;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use trimtab_lab::failure::Failure;
use trimtab_lab::interpose::{Compilation, FlagRules, Flags};
use trimtab_lab::observe::Observe;
use trimtab_profile::{Source, Trace};
use trimtab_report::number;

use self::sources::{Names, Sources, executed, of_compilers};
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
            all_objects: None,
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
    use super::sources::UNKNOWN;
    use super::*;
    use trimtab_program::Range;

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
