//! Where tools are looked for, and the looking.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Llvm, Probe, Tool, ToolError, Version, llvm, query, table};

/// A tool that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTool {
    /// Where it is.
    pub path: PathBuf,
    /// Its version; none where it does not say (a file, or any version will do).
    pub version: Option<Version>,
}

impl FoundTool {
    /// Its version as text, `unknown` where it does not say.
    pub fn version_text(&self) -> String {
        self.version.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string)
    }
}

/// The directories in which tools are looked for.
#[derive(Debug, Clone)]
pub struct Toolbox {
    directories: Vec<PathBuf>,
    root: PathBuf,
    llvm: Option<String>,
}

impl Toolbox {
    /// The directories of `PATH`, then those of the system's administrator, which are not in every
    /// user's `PATH`. The set of LLVM tools is the one that `LLVM` names, if it is set.
    pub fn from_env() -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        let directories = env::split_paths(&path)
            .filter(|directory| directory.is_absolute())
            .chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from))
            .collect();
        let chosen = env::var_os("LLVM").map(|value| value.to_string_lossy().into_owned());
        Self { directories, root: PathBuf::from("/"), llvm: None }
            .with_llvm(&chosen.unwrap_or_default())
    }

    /// These directories only; absolute paths in the table are taken as below `root`.
    pub fn new(directories: Vec<PathBuf>, root: PathBuf) -> Self {
        Self { directories, root, llvm: None }
    }

    /// The same, with the set of LLVM tools that `LLVM=chosen` names where a kernel is built: `-19`,
    /// `/usr/lib/llvm-19/bin/`, or `1` for the one without a version in its name. Empty: the newest.
    #[must_use]
    pub fn with_llvm(self, chosen: &str) -> Self {
        Self { llvm: Some(chosen.to_owned()).filter(|chosen| !chosen.is_empty()), ..self }
    }

    /// Looks for a tool. A candidate that is too old or broken is passed over for a later one.
    ///
    /// # Errors
    /// A [`ToolError`] on the best candidate there was.
    pub fn find(&self, tool: &Tool) -> Result<FoundTool, ToolError> {
        let packages = || tool.packages.iter().map(|name| (*name).to_owned()).collect();
        let missing = |looked_for: &[&str]| ToolError::Missing {
            name: tool.name.to_owned(),
            looked_for: looked_for.join(", "),
            packages: packages(),
        };
        let of_llvm: Vec<String>;
        let named: Vec<&str>;
        let (candidates, arguments, marker) = match tool.probe {
            Probe::Llvm => return self.llvm().map(|set| FoundTool::from(&set)),
            Probe::File(places) => {
                return places
                    .iter()
                    .filter_map(|place| self.absolute(place))
                    .find(|path| path.is_file())
                    .map(|path| FoundTool { path, version: None })
                    .ok_or_else(|| missing(places));
            }
            Probe::Command { candidates, arguments, marker } => (candidates, arguments, marker),
            Probe::OfLlvm(name) => {
                of_llvm = llvm::commands(name, tool.minimum);
                named = of_llvm.iter().map(String::as_str).collect();
                (&named[..], table::VERSION, "")
            }
        };
        let minimum = Version::new(tool.minimum);
        let mut worst = None;
        for path in candidates.iter().filter_map(|name| self.command(name)) {
            let said = self.ask(&path, arguments);
            let version = said.as_ref().ok().and_then(|said| Version::find(said, marker));
            let error = match version {
                Some(found) if found < minimum => ToolError::TooOld {
                    name: tool.name.to_owned(),
                    path,
                    found,
                    minimum: minimum.clone(),
                    packages: packages(),
                },
                None if !tool.minimum.is_empty() => ToolError::NoVersion {
                    name: tool.name.to_owned(),
                    path,
                    said: first_line(&said.unwrap_or_else(|why| why)),
                    minimum: minimum.clone(),
                    packages: packages(),
                },
                version => return Ok(FoundTool { path, version }),
            };
            worst.get_or_insert(error);
        }
        Err(worst.unwrap_or_else(|| missing(candidates)))
    }

    /// The set of LLVM tools that was chosen, or the newest complete one.
    ///
    /// # Errors
    /// [`ToolError::Llvm`], which says what is missing from the set that was chosen or comes closest.
    pub fn llvm(&self) -> Result<Llvm, ToolError> {
        match &self.llvm {
            Some(chosen) => llvm::find_chosen(self, chosen),
            None => llvm::find(self),
        }
    }

    /// What a tool says when asked for its version, or why it says nothing.
    pub(super) fn ask(&self, path: &Path, arguments: &[&str]) -> Result<String, String> {
        query::ask(path, arguments).map_err(|error| error.to_string())
    }

    /// The path of a command, by its name or by its absolute path.
    fn command(&self, name: &str) -> Option<PathBuf> {
        if name.starts_with('/') {
            return self.absolute(name).filter(|path| is_executable(path));
        }
        self.directory_of(name).map(|directory| directory.join(name))
    }

    /// The first directory that has a command of this name.
    pub(super) fn directory_of(&self, name: &str) -> Option<PathBuf> {
        self.directories.iter().find(|directory| is_executable(&directory.join(name))).cloned()
    }

    /// An absolute path below the root, where it exists.
    pub(super) fn absolute(&self, path: &str) -> Option<PathBuf> {
        Some(self.root.join(path.trim_start_matches('/'))).filter(|path| path.exists())
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(120).collect()
}
