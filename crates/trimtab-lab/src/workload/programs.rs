//! The programs that are measured: those of the catalogue that one command compiles.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::inputs;
use super::{self as workload, Language, Workload};
use crate::debian;
use crate::failure::Failure;
use anyhow::Context;

/// A program to measure.
#[derive(Debug)]
pub struct Program {
    /// What it is called.
    pub name: &'static str,
    /// The Debian source package that it is from; none for one of our own.
    pub package: Option<&'static str>,
    /// Whether it is C++.
    pub is_cxx: bool,
    /// Arguments of a run.
    pub arguments: &'static [String],
    /// Arguments of a run that does the same, but much less of it: simulating takes long.
    pub small: &'static [String],
    /// The file that a run writes in its folder, besides what it prints.
    pub writes: Option<&'static str>,
    /// A command for a shell in its folder that fails where the program, `./program`, does not work.
    pub check: Option<&'static str>,
    workload: &'static Workload,
    manifest: &'static workload::Program,
}

/// Unpacked, and ready to be compiled.
#[derive(Debug)]
pub struct Sources {
    /// All files to compile.
    pub files: Vec<PathBuf>,
    /// Flags of the compiler.
    pub flags: Vec<OsString>,
    /// Libraries.
    pub libraries: &'static [String],
    /// Name and version of the package.
    pub package: String,
    /// Where the package is unpacked; none where there is none.
    pub tree: Option<PathBuf>,
}

/// The programs, by the rank that the catalogue gives them: the one that is nothing but calls first.
///
/// # Errors
/// A catalogue that is not as it should be.
pub fn programs() -> anyhow::Result<&'static [Program]> {
    static PROGRAMS: LazyLock<Vec<Program>> = LazyLock::new(|| {
        workload::all().into_iter().flatten().filter_map(Program::of_workload).collect()
    });
    workload::all()?;
    Ok(&PROGRAMS)
}

impl Program {
    fn of_workload(workload: &'static Workload) -> Option<Self> {
        let manifest = workload.manifest.program.as_ref()?;
        Some(Program {
            name: &workload.name,
            package: workload.manifest.source.as_ref().and_then(|source| source.debian.as_deref()),
            is_cxx: manifest.language == Language::Cxx,
            arguments: &manifest.run,
            small: &manifest.small,
            writes: manifest.writes.as_deref(),
            check: manifest.check.as_deref(),
            workload,
            manifest,
        })
    }

    /// Fetches its source and writes what it works on into `folder`; packages are kept in `cache`.
    ///
    /// # Errors
    /// What cannot be fetched or written.
    pub fn prepare(&self, cache: &Path, folder: &Path) -> anyhow::Result<Sources> {
        let cannot = || format!("cannot write to {}", folder.display());
        let manifest = self.manifest;
        let mut files = Vec::new();
        let mut package = String::new();
        let mut tree = None;
        if let Some(name) = self.package {
            fs::create_dir_all(cache).with_context(cannot)?;
            let (found, version) = debian::source(name, cache)?;
            package = format!("{name} {version}");
            let found = tree.insert(found);
            for pattern in &manifest.files {
                let (within, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
                files.extend(matching(&found.join(within), name, &manifest.except)?);
            }
            if files.is_empty() && !manifest.files.is_empty() {
                return Err(Failure::new(format!(
                    "{package} has no {}",
                    manifest.files.join(", ")
                ))
                .into());
            }
        }
        for name in &manifest.own {
            let path = folder.join(name);
            write_if_new(&path, self.workload.files.get(name).map_or("", String::as_str))?;
            if name.ends_with(".c") || name.ends_with(".cc") {
                files.push(path);
            }
        }
        for (name, input) in &manifest.inputs {
            write_if_new(&folder.join(name), &inputs::make(*input))?;
        }
        files.sort();
        let flags = self.flags(tree.as_deref().unwrap_or(folder));
        Ok(Sources { files, flags, libraries: &manifest.libraries, package, tree })
    }

    /// Flags of the compiler where its source is in a folder.
    pub fn flags(&self, tree: &Path) -> Vec<OsString> {
        let tree = tree.display().to_string();
        self.manifest.flags.iter().map(|flag| flag.replace('@', &tree).into()).collect()
    }
}

/// Writes a file, unless it is there and has that text: what was made of it stays good.
///
/// # Errors
/// That it cannot be written.
pub fn write_if_new(path: &Path, text: &str) -> anyhow::Result<()> {
    if fs::read(path).is_ok_and(|found| found == text.as_bytes()) {
        return Ok(());
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn matching(folder: &Path, pattern: &str, except: &[String]) -> anyhow::Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let fits = |name: &str| match pattern.strip_prefix('*') {
        Some(end) => name.ends_with(end),
        None => name == pattern,
    };
    Ok(entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            fits(&name) && !except.iter().any(|other| *other == name)
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_has_programs_and_the_one_of_calls_alone_is_first() {
        let programs = programs().unwrap_or_default();
        assert_eq!(programs.first().map(|program| program.name), Some("fib"));
        assert!(programs.iter().any(|program| program.is_cxx && program.package.is_some()));
        assert!(programs.iter().any(|program| program.name == "tcc" && program.writes.is_some()));
    }
}
