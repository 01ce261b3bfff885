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
         `apt-get install linux-source-6.12`, or give a tarball or directory with --source"
    )]
    NoSource {
        /// What was looked for.
        looked_for: String,
    },
    /// The file or directory given is not there.
    #[error(
        "the kernel source {} is not there; install the package `linux-source-6.12`, or give \
         another tarball or directory with --source",
        path.display()
    )]
    SourceMissing {
        /// What was given.
        path: PathBuf,
    },
    /// What was given is no kernel source.
    #[error(
        "{} is not a kernel source: {found}; expected a Makefile at its top that begins with \
         VERSION and PATCHLEVEL",
        path.display()
    )]
    NotASource {
        /// What was given.
        path: PathBuf,
        /// What is wrong with it.
        found: String,
    },
    /// A release that we have no patch for.
    #[error(
        "the kernel source {} is release {found}; trimtab has patches for {supported}",
        path.display()
    )]
    Release {
        /// What was given.
        path: PathBuf,
        /// Its release.
        found: String,
        /// Those that we can patch.
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
