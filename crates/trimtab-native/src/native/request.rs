//! What is to be traced.

use super::NativeError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use trimtab_lab::interrupt;
use trimtab_lab::process::Invocation;

/// Which of the files that a program maps as code are watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objects {
    /// The program that the command starts; of a script its interpreter.
    pub program: bool,
    /// Programs and shared libraries of these names: a path, a file name, or a file name up to a
    /// dot or dash, as in `libfoo` for `libfoo.so.1`.
    pub named: Vec<String>,
    /// All that have symbols.
    pub all: bool,
}

impl Default for Objects {
    fn default() -> Self {
        Objects { program: true, named: Vec::new(), all: false }
    }
}

impl Objects {
    /// Whether libraries have to be looked out for.
    pub(super) fn needs_libraries(&self) -> bool {
        self.all || !self.named.is_empty()
    }

    /// Whether one of the names means this file.
    pub fn names(&self, path: &Path) -> bool {
        let file = path.file_name().unwrap_or_default().as_encoded_bytes();
        self.named.iter().any(|name| {
            let rest = file.strip_prefix(name.as_bytes());
            Path::new(name) == path
                || rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'.' | b'-')))
        })
    }
}

/// A command to run and trace.
#[derive(Debug, Clone)]
pub struct Request {
    pub(super) invocation: Invocation,
    pub(super) log: Option<PathBuf>,
    pub(super) output_to_error: bool,
    pub(super) objects: Objects,
    pub(super) limit: Duration,
    pub(super) grace: Duration,
    pub(super) processes: usize,
    pub(super) interrupt: Arc<AtomicBool>,
}

impl Request {
    /// Time limit of a command that sets none.
    pub const DEFAULT_LIMIT: Duration = Duration::from_secs(120);
    /// Most processes at once, where nothing else is set.
    pub const DEFAULT_PROCESSES: usize = 256;

    /// A command to trace. Of its files only the program itself is watched.
    pub fn new(invocation: Invocation) -> Self {
        Request {
            invocation,
            log: None,
            output_to_error: false,
            objects: Objects::default(),
            limit: Self::DEFAULT_LIMIT,
            grace: Duration::from_secs(2),
            processes: Self::DEFAULT_PROCESSES,
            interrupt: interrupt::flag(),
        }
    }

    /// Writes its output and errors to this file, and gives it no input. Without it, it has those
    /// of trimtab.
    pub fn log(mut self, path: impl Into<PathBuf>) -> Self {
        self.log = Some(path.into());
        self
    }

    /// Sends its output to trimtab's standard error.
    pub fn output_to_error(mut self) -> Self {
        self.output_to_error = true;
        self
    }

    /// Which files are watched.
    pub fn objects(mut self, objects: Objects) -> Self {
        self.objects = objects;
        self
    }

    /// Ends it after this time; [`Request::DEFAULT_LIMIT`] otherwise.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// How long it may take to end by itself after SIGTERM; 2 s otherwise.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// The most processes that it may have at once; [`Request::DEFAULT_PROCESSES`] otherwise.
    pub fn processes(mut self, most: usize) -> Self {
        self.processes = most;
        self
    }

    /// Listens to this flag instead of to the signals that trimtab gets.
    #[cfg(test)]
    pub fn interrupt(mut self, flag: Arc<AtomicBool>) -> Self {
        self.interrupt = flag;
        self
    }

    pub(super) fn start_error(&self, source: io::Error) -> NativeError {
        let program = self.invocation.program().display().to_string();
        if source.kind() == io::ErrorKind::NotFound {
            NativeError::NotFound { program }
        } else {
            NativeError::Start { program, source }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_files() {
        let named = |name: &str| Objects { named: vec![name.to_owned()], ..Objects::default() };
        let path = Path::new("/usr/lib/libfoo-2.so.1");
        for name in ["/usr/lib/libfoo-2.so.1", "libfoo-2.so.1", "libfoo-2.so", "libfoo-2", "libfoo"]
        {
            assert!(named(name).names(path), "{name}");
        }
        for name in ["libfo", "foo", "lib", "/lib/libfoo-2.so.1", "libfoo-2.so.1.0"] {
            assert!(!named(name).names(path), "{name}");
        }
    }
}
