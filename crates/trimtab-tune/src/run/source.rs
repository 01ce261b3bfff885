//! A program to tune: where its source is, how it is built, run and checked.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use trimtab_lab::cache::Key;
use trimtab_lab::failure::Failure;
use trimtab_lab::shell;
use trimtab_lab::workload::programs::{self, Program, Sources};

use super::hot::HotObjects;
use super::request::Programs;
use super::room;

/// What a program of the catalogue is called where it is built.
const BUILT: &str = "program";
/// Where the source of its package is, in its folder.
const UNPACKED: &str = "source";
/// The file there that says which package that is.
const PACKAGE: &str = "source.package";

/// A program to tune.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProgramSource {
    /// What it is called.
    pub name: String,
    /// Where its source is from.
    pub origin: String,
    /// The folder of which copies are built.
    pub template: PathBuf,
    /// Files and folders in it that are not copied.
    pub left_out: Vec<PathBuf>,
    /// A command for a shell that builds it.
    pub build: String,
    /// The file that it builds.
    pub program: PathBuf,
    /// A command that runs it: what is counted.
    pub run: String,
    /// The one that is timed.
    pub timed: String,
    /// The one that judges.
    pub held_out: Option<String>,
    /// A command that fails where it does not work.
    pub check: Option<String>,
    /// Whether what it prints must be what it prints as it is built without flags.
    pub compares_output: bool,
    /// SHA-256 of the folder, as it was when it was looked at.
    pub digest: String,
    /// All that it depends on beside the compiler.
    pub key: Key,
    /// Which objects get the flags; all where nothing is said.
    pub hot: Option<HotObjects>,
    /// A command that builds it object by object, where the other does not.
    apart: Option<String>,
}

impl ProgramSource {
    /// Finds it, and fetches its source where it is of the catalogue. Of its own folder `left_out` is no
    /// part.
    ///
    /// # Errors
    /// That there is no such program, or its source is not to be had.
    pub fn prepare(programs: &Programs, work: &Path, mut left_out: Vec<PathBuf>) -> Result<Self> {
        match programs {
            Programs::Catalogue(name) => Self::of_catalogue(name, work),
            Programs::Own { folder, build, run, held_out, check, program } => {
                let program = match program {
                    Some(program) => program.clone(),
                    None => first_word(run)?,
                };
                let key = Key::new("tune-own/1")
                    .field("build", build)
                    .field("run", run)
                    .field("check", check.as_deref().unwrap_or_default())
                    .field("program", program.display());
                let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
                left_out.push(folder.join(".git"));
                let digest = room::digest(folder, &left_out)?;
                let key = key.field("source", &digest);
                Ok(ProgramSource {
                    name,
                    origin: "its own folder".to_owned(),
                    template: folder.clone(),
                    left_out,
                    build: build.clone(),
                    program,
                    run: run.clone(),
                    timed: run.clone(),
                    held_out: held_out.clone(),
                    check: check.clone(),
                    compares_output: check.is_none(),
                    digest,
                    key,
                    hot: None,
                    apart: None,
                })
            }
        }
    }

    /// A file of its folder that a build makes: where there is one, make may build nothing.
    ///
    /// # Errors
    /// That the folder cannot be read.
    pub fn built_already(&self) -> Result<Option<PathBuf>> {
        if self.template.join(&self.program).exists() {
            return Ok(Some(self.program.clone()));
        }
        let objects = room::with_ending(&self.template, "o")
            .with_context(|| format!("cannot read {}", self.template.display()))?;
        Ok(objects.into_iter().next())
    }

    /// From now on only hot objects get the flags.
    pub fn restrict(&mut self, hot: HotObjects) {
        if let Some(apart) = self.apart.take() {
            self.build = apart;
        }
        let key = self.key.clone().field("by", &self.build);
        self.key = key.field("hot", hot.objects().join("\n")).field("others", hot.level());
        self.hot = Some(hot);
    }

    fn of_catalogue(name: &str, work: &Path) -> Result<Self> {
        let programs = programs::programs()?;
        let found = programs.iter().find(|program| program.name == name).ok_or_else(|| {
            let names: Vec<&str> = programs.iter().map(|program| program.name).collect();
            Failure::usage(format!(
                "there is no program {name} in the catalogue; expected one of {}",
                names.join(", ")
            ))
        })?;
        let folder = work.join("programs").join(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let sources = copied_into(&folder, found, found.prepare(&work.join("sources"), &folder)?)?;
        let (compiler, flags) = match found.is_cxx {
            true => ("\"$CXX\"", "$CXXFLAGS"),
            false => ("\"$CC\"", "$CFLAGS"),
        };
        let build = format!(
            "{compiler} {} {flags} {} -o {BUILT} {}",
            shell::command_line(&sources.flags),
            shell::command_line(&sources.files),
            shell::command_line(sources.libraries)
        );
        let apart = object_by_object((compiler, flags), &sources);
        let run = |arguments: &[String]| run(found, arguments);
        let digest = room::digest(&folder, &[])?;
        let key = Key::new("tune-catalogue/2")
            .field("build", &build)
            .field("source", &sources.package)
            .field("small", run(found.small))
            .field("check", found.check.unwrap_or_default())
            .field("files", &digest);
        Ok(ProgramSource {
            name: name.to_owned(),
            origin: if sources.package.is_empty() {
                "the catalogue".into()
            } else {
                sources.package
            },
            template: folder,
            left_out: Vec::new(),
            build,
            program: BUILT.into(),
            run: run(found.small),
            timed: run(found.arguments),
            held_out: Some(run(found.arguments)),
            check: found.check.map(str::to_owned),
            compares_output: true,
            digest,
            key,
            hot: None,
            apart: Some(apart),
        })
    }
}

/// Copies what a program's package has into its folder, and names all by paths in that, so that copies of it are
/// built from nothing else: in any work directory, and on a board.
fn copied_into(folder: &Path, program: &Program, sources: Sources) -> Result<Sources> {
    let mut tree = folder;
    if let Some(unpacked) = &sources.tree {
        tree = unpacked;
        copy_package(tree, folder, &sources.package)?;
    }
    let named = |file: PathBuf| match (file.strip_prefix(tree), file.strip_prefix(folder)) {
        (_, Ok(own)) => own.to_owned(),
        (Ok(unpacked), _) => Path::new(UNPACKED).join(unpacked),
        _ => file,
    };
    let place = if sources.tree.is_some() { UNPACKED } else { "." };
    Ok(Sources {
        files: sources.files.into_iter().map(named).collect(),
        flags: program.flags(Path::new(place)),
        ..sources
    })
}

/// Copies a package that is unpacked, unless it is there already. What was made of one is told by a file, which is
/// written last.
fn copy_package(tree: &Path, folder: &Path, package: &str) -> Result<()> {
    let (place, told) = (folder.join(UNPACKED), folder.join(PACKAGE));
    if fs::read_to_string(&told).is_ok_and(|found| found == package) {
        return Ok(());
    }
    let copied = || -> std::io::Result<()> {
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        room::copy(tree, &place, &[])?;
        fs::write(&told, package)
    };
    copied().with_context(|| format!("cannot copy {} to {}", tree.display(), place.display()))
}

/// A command that builds a program of the catalogue object by object, by a compiler with flags.
fn object_by_object((compiler, flags): (&str, &str), sources: &Sources) -> String {
    let given = shell::command_line(&sources.flags);
    let mut text = String::new();
    let mut objects: Vec<String> = Vec::new();
    for (number, file) in sources.files.iter().enumerate() {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let plain = shell::quoted(format!("{stem}.o"));
        let object = match objects.contains(&plain) {
            true => shell::quoted(format!("{stem}-{number}.o")),
            false => plain,
        };
        let file = shell::quoted(file);
        text += &format!("{compiler} {given} {flags} -c {file} -o {object} && ");
        objects.push(object);
    }
    let libraries = shell::command_line(sources.libraries);
    text + &format!("{compiler} {flags} $LDFLAGS {} -o {BUILT} {libraries}", objects.join(" "))
}

/// A command that runs a program of the catalogue and prints all that it makes.
fn run(program: &Program, arguments: &[String]) -> String {
    let run = format!("./{BUILT} {}", shell::command_line(arguments));
    match program.writes {
        Some(file) => format!("{run} && cat {}", shell::quoted(file)),
        None => run,
    }
}

/// The program that a command begins with.
fn first_word(run: &str) -> Result<PathBuf> {
    let word = run.split_whitespace().next().unwrap_or_default();
    if word.contains('/') && !word.starts_with('/') {
        return Ok(word.trim_start_matches("./").into());
    }
    Err(Failure::usage(format!(
        "the command {run:?} does not begin with a file of the folder; expected one such as ./app"
    ))
    .hint("name the file that is built with --program")
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_the_catalogue_is_built_from_its_folder_alone_and_is_the_same_anywhere() {
        let prepared = || {
            let work = tempfile::tempdir().unwrap();
            let tree = work.path().join("sources/tinyxml2/tree");
            fs::create_dir_all(&tree).unwrap();
            fs::write(tree.with_file_name("version"), "9").unwrap();
            fs::write(tree.join("tinyxml2.cpp"), "int x;").unwrap();
            fs::write(tree.join("tinyxml2.h"), "extern int x;").unwrap();
            let program = Programs::Catalogue("tinyxml2".to_owned());
            let find = || ProgramSource::prepare(&program, work.path(), Vec::new()).unwrap();
            let (first, again) = (find(), find());
            assert_eq!(first.key, again.key);
            (work, first)
        };
        let ((work, one), (_other, two)) = (prepared(), prepared());
        assert_eq!((&one.build, &one.apart, &one.key), (&two.build, &two.apart, &two.key));
        let place = work.path().display().to_string();
        for build in [&one.build, one.apart.as_ref().unwrap()] {
            assert!(build.contains("-Isource") && build.contains("source/tinyxml2.cpp"), "{build}");
            assert!(build.contains(" xml.cc") && !build.contains(&place), "{build}");
        }
        let copy = one.template.join("source/tinyxml2.h");
        assert!(copy.is_file());

        let tree = work.path().join("sources/tinyxml2/tree");
        fs::write(tree.with_file_name("version"), "10").unwrap();
        fs::write(tree.join("tinyxml2.h"), "extern long x;").unwrap();
        let program = Programs::Catalogue("tinyxml2".to_owned());
        let newer = ProgramSource::prepare(&program, work.path(), Vec::new()).unwrap();
        assert_eq!(fs::read_to_string(copy).unwrap(), "extern long x;");
        assert_ne!(newer.key, one.key);
    }

    #[test]
    fn the_program_is_what_the_run_begins_with() {
        assert_eq!(first_word("./app -x").ok(), Some("app".into()));
        assert_eq!(first_word("out/app").ok(), Some("out/app".into()));
        for text in ["app", "/bin/app", "", "cd x"] {
            assert!(first_word(text).is_err(), "{text}");
        }
    }
}
