//! Why there is no kernel.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use trimtab_lab::failure::Hint;
use trimtab_lab::process::ProcessError;
use trimtab_lab::workdir::{WorkError, no_space_hint};

/// Why there is no kernel.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KernelError {
    /// No source package was given, and none is installed.
    #[error(
        "there is no kernel source: looked for {looked_for}; install it with \
         `apt-get install {package}`, or give a tarball, a .dsc file or a directory with --source"
    )]
    NoSource {
        /// What was looked for.
        looked_for: String,
        /// The package that has it.
        package: String,
    },
    /// The file or directory given is not there.
    #[error(
        "the kernel source {} is not there; install the package `{package}`, or give another tarball, \
         a .dsc file, a directory, or REPOSITORY@REVISION of git with --source",
        path.display()
    )]
    SourceMissing {
        /// What was given.
        path: PathBuf,
        /// The package that has one.
        package: String,
    },
    /// What was given is no kernel source.
    #[error(
        "{source_given} is not a kernel source: {found}; expected a Makefile at its top that begins with \
         VERSION and PATCHLEVEL"
    )]
    NotASource {
        /// What was given.
        source_given: String,
        /// What is wrong with it.
        found: String,
    },
    /// A release that a feature has no patch for.
    #[error(
        "the kernel source {source_given} is release {found}; trimtab has patches for {supported} of \
         what it needs here ({feature})"
    )]
    Release {
        /// What was given.
        source_given: String,
        /// Its release.
        found: String,
        /// The feature.
        feature: &'static str,
        /// The series that it has patches for.
        supported: String,
    },
    /// The configuration file cannot be read.
    #[error(
        "cannot read the kernel configuration {}: {source}; expected `tiny`, `lab`, or the path \
         of a file such as a kernel's .config",
        path.display()
    )]
    Configuration {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A path that kbuild cannot work with.
    #[error(
        "a kernel cannot be built in {}: its build does not work where a path has a space or a \
         colon in it; give another directory with --work",
        path.display()
    )]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// An option that is needed did not come through.
    #[error(
        "the kernel's configuration did not accept {option}: something that it depends on is off; \
         see {}",
        path.display()
    )]
    OptionRefused {
        /// The option.
        option: String,
        /// The resulting configuration.
        path: PathBuf,
    },
    /// A file to generate is nothing that the build includes.
    #[error(
        "the kernel build cannot be given {path}: expected a relative path below include/generated"
    )]
    Generated {
        /// The path given.
        path: String,
    },
    /// No modules can be built for this kernel.
    #[error("no modules can be built for this kernel: {why}")]
    NoModules {
        /// Why not.
        why: &'static str,
    },
    /// The kernel was linked without a map.
    #[error(
        "the kernel {} has no linker's map: its build has neither CONFIG_FUNCTION_ORDER nor \
         CONFIG_VMLINUX_MAP",
        vmlinux.display()
    )]
    NoMap {
        /// The kernel.
        vmlinux: PathBuf,
    },
    /// The build says that it went well, but something is missing.
    #[error("the kernel build ended well but {what}; see {}", log.display())]
    Incomplete {
        /// What is missing.
        what: String,
        /// The build's log.
        log: PathBuf,
    },
    /// A file of ours cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A program failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The work directory failed.
    #[error(transparent)]
    Work(#[from] WorkError),
}

impl Hint for KernelError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Work(error) => error.hint(),
            Self::File { source, .. } => no_space_hint(source),
            _ => None,
        }
    }
}

/// An error of doing `action` to `path`.
pub(super) fn file(
    action: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(io::Error) -> KernelError {
    let path = path.into();
    move |source| KernelError::File { action, path, source }
}
