//! Finds out what a QEMU can do.

pub mod parallel;

use crate::arch::Platform;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;
use trimtab_lab::process::{Job, ProcessError};
use trimtab_lab::tools;
use trimtab_program::Isa;

/// A QEMU system emulator that has been asked what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qemu {
    program: PathBuf,
    isa: Isa,
    version: (u32, u32),
    plugins: bool,
    parallel_clock: bool,
}

/// Why a QEMU cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum QemuError {
    /// It is not there or does not run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// It does not say its version.
    #[error(
        "`{} --version` says {found:?}; expected `QEMU emulator version X.Y`",
        program.display()
    )]
    Unknown {
        /// The program.
        program: PathBuf,
        /// The first line of what it said.
        found: String,
    },
    /// It is too old.
    #[error(
        "`{}` is QEMU {}.{}; expected 7.2 or newer: install a newer package `{package}`",
        program.display(), version.0, version.1
    )]
    TooOld {
        /// The program.
        program: PathBuf,
        /// The Debian package that holds it.
        package: String,
        /// Its version.
        version: (u32, u32),
    },
    /// It has no plugins.
    #[error(
        "`{}` was built without plugins, which tracing needs; expected one built with \
         `--enable-plugins`, as Debian's package `{package}` is",
        program.display()
    )]
    NoPlugins {
        /// The program.
        program: PathBuf,
        /// The Debian package that holds it.
        package: String,
    },
    /// Its plugin interface is newer than ours.
    #[error(
        "`{}` is QEMU {}.{}, whose plugin interface has changed; the tracing plugin works with \
         7.2 to 8.2: trace with one of those, or with the function tracer (`--tracer ftrace`)",
        program.display(), version.0, version.1
    )]
    PluginInterface {
        /// The program.
        program: PathBuf,
        /// Its version.
        version: (u32, u32),
    },
    /// It has one clock for all CPUs.
    #[error(
        "`{}` has one clock for all CPUs, so they take turns in one time; expected the QEMU that trimtab \
         builds from Debian's source with a patch",
        program.display()
    )]
    NoParallelClock {
        /// The program.
        program: PathBuf,
    },
}

impl Qemu {
    /// Oldest version that is used.
    pub const OLDEST: (u32, u32) = (7, 2);
    /// First version that refuses plugins of interface version 1.
    const NEW_PLUGIN_INTERFACE: (u32, u32) = (9, 0);

    /// Asks the emulator `program` (a path, or a name to look for in `PATH`) for machines of the kind
    /// `arch` what it is.
    ///
    /// # Errors
    /// If it is not there, does not run, or is too old.
    pub fn probe(program: &Path, isa: Isa) -> Result<Self, QemuError> {
        let ask = |argument: &str| {
            Job::new("asking QEMU what it can do", program)
                .tool(isa.qemu())
                .arg(argument)
                .limit(Duration::from_secs(20))
                .run_captured()
        };
        let text = ask("--version")?;
        let version = version(&text).ok_or_else(|| QemuError::Unknown {
            program: program.to_owned(),
            found: text.lines().next().unwrap_or_default().chars().take(80).collect(),
        })?;
        if version < Self::OLDEST {
            let (program, package) = (program.to_owned(), package(isa));
            return Err(QemuError::TooOld { program, package, version });
        }
        let help = ask("--help")?;
        let has = |option: &str, part: &str| {
            help.lines().any(|line| line.starts_with(option) && line.contains(part))
        };
        let (plugins, parallel_clock) = (has("-plugin ", ""), has("-icount ", "[,quantum="));
        Ok(Qemu { program: program.to_owned(), isa, version, plugins, parallel_clock })
    }

    /// The kind of machine that it imitates.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Its version, major and minor.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Checks that it can load our tracing plugin.
    ///
    /// # Errors
    /// If it has no plugins, or a plugin interface that ours does not know.
    pub fn require_plugins(&self) -> Result<(), QemuError> {
        let program = self.program.clone();
        if !self.plugins {
            Err(QemuError::NoPlugins { program, package: package(self.isa) })
        } else if self.version >= Self::NEW_PLUGIN_INTERFACE {
            Err(QemuError::PluginInterface { program, version: self.version })
        } else {
            Ok(())
        }
    }

    /// Checks that each of its CPUs can have a clock of its own.
    ///
    /// # Errors
    /// If it is not one of [ours](parallel).
    pub fn require_parallel_clock(&self) -> Result<(), QemuError> {
        let program = || self.program.clone();
        self.parallel_clock
            .then_some(())
            .ok_or_else(|| QemuError::NoParallelClock { program: program() })
    }
}

/// The Debian package that holds the emulator.
fn package(isa: Isa) -> String {
    tools::packages(isa.qemu()).unwrap_or(&[isa.qemu()]).join(" ")
}

fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers =
        text.lines().next()?.strip_prefix("QEMU emulator version ")?.split(['.', ' ', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing;

    fn fake(version: &str, help: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let script = format!(
            "#!/bin/sh\ncase $1 in --version) echo '{version}';; *) echo '{help}';; esac\n"
        );
        let path = testing::program(folder.path(), "qemu", &script);
        (folder, path)
    }

    fn probe(version: &str, help: &str) -> Result<Qemu, QemuError> {
        let (_folder, path) = fake(version, help);
        Qemu::probe(&path, Isa::X86_64)
    }

    #[test]
    fn versions_are_read() {
        assert_eq!(version("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)\nC"), Some((7, 2)));
        assert_eq!(version("QEMU emulator version 10.0.0\n"), Some((10, 0)));
        assert_eq!(version("qemu-img version 7.2.22"), None);
        assert_eq!(version(""), None);
    }

    #[test]
    fn a_good_one_is_accepted() {
        let help = "-plugin [file=]<file>[,<argname>=<argvalue>]";
        let qemu = probe("QEMU emulator version 7.2.22 (Debian)", help).unwrap();
        assert_eq!(qemu.version(), (7, 2));
        qemu.require_plugins().unwrap();
        let help = "-icount [shift=N|auto][,sleep=on|off][,quantum=N]";
        probe("QEMU emulator version 7.2.22", help).unwrap().require_parallel_clock().unwrap();
    }

    #[test]
    fn an_old_a_new_and_a_strange_one_are_refused() {
        let error = probe("QEMU emulator version 6.2.0", "").unwrap_err().to_string();
        assert!(error.contains("is QEMU 6.2; expected 7.2 or newer"), "{error}");
        let error = probe("hello", "").unwrap_err().to_string();
        assert!(error.contains("says \"hello\""), "{error}");
        let error = Qemu::probe(Path::new("/no/qemu"), Isa::X86_64).unwrap_err().to_string();
        assert!(error.contains("install the package `qemu-system-x86`"), "{error}");
        let error = Qemu::probe(Path::new("/no/qemu"), Isa::Aarch64).unwrap_err().to_string();
        assert!(error.contains("install the package `qemu-system-arm`"), "{error}");

        let plain = probe("QEMU emulator version 7.2.0", "-device driver").unwrap();
        assert!(matches!(plain.require_plugins(), Err(QemuError::NoPlugins { .. })));
        assert!(matches!(plain.require_parallel_clock(), Err(QemuError::NoParallelClock { .. })));
        let newer = probe("QEMU emulator version 10.0.2", "-plugin [file=]<file>").unwrap();
        assert!(matches!(newer.require_plugins(), Err(QemuError::PluginInterface { .. })));
    }
}
