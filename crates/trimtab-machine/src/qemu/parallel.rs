//! A QEMU whose CPUs have a clock each: Debian's source with our patch, built once and kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use trimtab_lab::cache::Key;
use trimtab_lab::debian::{self, SourceError};
use trimtab_lab::failure::Hint;
use trimtab_lab::observe::{Observe, Stage};
use trimtab_lab::process::{Job, ProcessError};
use trimtab_lab::tools::{self, FoundTool, ToolError};
use trimtab_lab::workdir::{KeptStep, WorkDir, WorkError};
use trimtab_program::Isa;

use super::{Qemu, QemuError};

/// The patch: `-icount quantum=N`.
const PATCH: &str = include_str!("../../../../qemu/clock/clock.patch");
/// The devices that it is built with, and what that list is called in QEMU's source.
const DEVICES: &str = include_str!("../../../../qemu/clock/devices.mak");
const DEVICES_PATH: &str = "configs/devices/x86_64-softmmu/trimtab.mak";
/// What makes it small: of its 11,000 files, about 1,200 are compiled.
const OPTIONS: [&str; 12] = [
    "--target-list=x86_64-softmmu",
    "--without-default-features",
    "--enable-system",
    "--enable-tcg",
    "--enable-plugins",
    // Its cache makes casts of CPUs, of which there are some in each turn, cheaper than they are without it.
    "--enable-qom-cast-debug",
    "--without-default-devices",
    "--with-devices-x86_64=trimtab",
    "--disable-docs",
    "--disable-install-blobs",
    "--disable-debug-info",
    // The firmware is that of Debian's packages, which the installed QEMU has as well.
    "--firmwarepath=/usr/share/qemu:/usr/share/seabios:/usr/lib/ipxe/qemu",
];
const PROGRAM: &str = "qemu-system-x86_64";
/// The tools, as [`tools::all`] names them, that it is built with.
const TOOLS: [&str; 10] = [
    "python3",
    "patch",
    "dpkg-source",
    "ninja",
    "meson",
    "pkg-config",
    "glib",
    "pixman",
    "libfdt",
    "zlib",
];
/// Limits: it took four minutes of one core, and no process took more than 300 MiB.
const CONFIGURE_LIMIT: Duration = Duration::from_secs(600);
const BUILD_LIMIT: Duration = Duration::from_secs(3600);
const MEMORY_LIMIT: u64 = 2 << 30;
/// Bytes that its source and its objects take for a while: 0.4 GiB were seen.
const SPACE: u64 = 1 << 30;

/// A QEMU whose CPUs have a clock each.
#[derive(Debug, Clone)]
pub struct ParallelQemu {
    /// The emulator.
    pub qemu: Qemu,
    /// The version of the Debian package that its source is from.
    pub version: String,
    /// All that it depends on.
    pub key: Key,
}

/// Why there is no such QEMU.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ParallelQemuError {
    /// Its source is not to be had.
    #[error("QEMU's source, which a clock for each CPU needs, is not to be had: {0}")]
    Source(#[source] SourceError),
    /// What was given is not there.
    #[error(
        "there is no {}; expected the .dsc file of Debian's source package `qemu`, with the files that \
         it names beside it",
        path.display()
    )]
    Missing {
        /// What was given.
        path: PathBuf,
    },
    /// Something that it is built with is missing.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The patch does not fit.
    #[error(
        "trimtab's patch does not fit QEMU {version}; expected the source of Debian 12's 7.2: {source}"
    )]
    Patch {
        /// The version of the source.
        version: String,
        /// What `patch` said.
        source: Box<ProcessError>,
    },
    /// Unpacking, configuring or building failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A file could not be read or written.
    #[error("cannot use {}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What was built does not work.
    #[error(transparent)]
    Qemu(#[from] QemuError),
    /// The work directory failed.
    #[error(transparent)]
    Work(#[from] WorkError),
}

impl Hint for ParallelQemuError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Source(_) => Some(
                "see that `apt-get update` works here, or fetch the files of the source package `qemu` \
                 elsewhere (`apt-get source --download-only qemu`) and give its .dsc file with --qemu-source"
                    .to_owned(),
            ),
            Self::Tool(error) => error.hint(),
            Self::Work(error) => error.hint(),
            _ => None,
        }
    }
}

fn cannot(path: &Path) -> impl FnOnce(io::Error) -> ParallelQemuError {
    let path = path.to_owned();
    move |source| ParallelQemuError::File { path, source }
}

/// The QEMU of a work directory, built in a stage if it is not there yet. Its source is the package that
/// `source`, a `.dsc` file, describes; without one, apt fetches it, once for the work directory.
///
/// # Errors
/// Each kind of [`ParallelQemuError`].
pub fn get(
    work: &WorkDir,
    source: Option<&Path>,
    observe: &dyn Observe,
) -> Result<ParallelQemu, ParallelQemuError> {
    if let Some(path) = source.filter(|path| !path.is_file()) {
        return Err(ParallelQemuError::Missing { path: path.to_owned() });
    }
    for name in TOOLS {
        tools::find(name)?;
    }
    let gcc = tools::find("gcc")?;
    let (description, version) = match source {
        Some(path) => (path.to_owned(), version_of(path)),
        None => {
            let stage = observe.stage("fetch QEMU's source");
            let found = work.get(&Source)?;
            stage.ended(found.cached, &found.record.version);
            (found.folder.join(found.record.description), found.record.version)
        }
    };
    let stage = observe.stage("build QEMU");
    let build =
        Build { work, description: &description, version: &version, gcc: &gcc, stage: &stage };
    let found = work.get(&build)?;
    stage.ended(found.cached, "its CPUs have a clock each");
    let qemu = Qemu::probe(&found.folder.join(PROGRAM), Isa::X86_64)?;
    qemu.require_parallel_clock()?;
    Ok(ParallelQemu { qemu, version, key: found.key })
}

/// The version in the name of a `.dsc` file.
fn version_of(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    name.split_once('_').map_or(&*name, |(_, version)| version).to_owned()
}

/// The files of Debian's source package.
struct Source;

/// What is known of them.
#[derive(Debug, Serialize, Deserialize)]
struct SourceRecord {
    version: String,
    /// The file that names the others.
    description: PathBuf,
}

impl KeptStep for Source {
    const KIND: &'static str = "qemu-source";
    const VERSION: u32 = 1;
    type Record = SourceRecord;
    type Error = ParallelQemuError;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        Ok(key)
    }

    fn make(&self, at: &Path) -> Result<SourceRecord, ParallelQemuError> {
        let found = debian::source_package("qemu", at).map_err(ParallelQemuError::Source)?;
        let name = found.description.file_name().unwrap_or_default();
        Ok(SourceRecord { version: found.version, description: name.into() })
    }
}

/// The emulator, built of a source package.
struct Build<'a> {
    work: &'a WorkDir,
    description: &'a Path,
    version: &'a str,
    gcc: &'a FoundTool,
    stage: &'a Stage,
}

impl KeptStep for Build<'_> {
    const KIND: &'static str = "qemu";
    const VERSION: u32 = 1;
    type Record = ();
    type Error = ParallelQemuError;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        // The description has the hashes of all files of the package.
        Ok(key
            .file("source", self.description, self.work.hashes())?
            .bytes("patch", PATCH.as_bytes())
            .bytes("devices", DEVICES.as_bytes())
            .field("options", OPTIONS.join(" "))
            .field("gcc", self.gcc.version_text()))
    }

    fn make(&self, at: &Path) -> Result<(), ParallelQemuError> {
        self.work.require_space(SPACE, "build QEMU")?;
        let scratch =
            tempfile::Builder::new().prefix(".build-").tempdir_in(at).map_err(cannot(at))?;
        let (source, build) = (scratch.path().join("source"), scratch.path().join("build"));
        self.unpack(&source)?;
        fs::create_dir(&build).map_err(cannot(&build))?;
        self.stage.note("configure");
        self.job("configuring QEMU", source.join("configure"))
            .args(OPTIONS)
            .arg(format!("--cc={}", self.gcc.path.display()))
            .arg(format!("--with-pkgversion=Debian {}, a clock for each CPU", self.version))
            .dir(&build)
            .limit(CONFIGURE_LIMIT)
            .run()?;
        let job = self.job("building QEMU", "ninja").arg(PROGRAM);
        let mut running = job.dir(&build).limit(BUILD_LIMIT).memory(MEMORY_LIMIT).spawn_lines()?;
        while let Some(line) = running.next_line()? {
            self.show(&line.text);
        }
        running.wait()?;
        let built = build.join(PROGRAM);
        fs::copy(&built, at.join(PROGRAM)).map_err(cannot(&built))?;
        scratch.close().map_err(cannot(at))
    }
}

impl Build<'_> {
    /// A job that nothing in the environment makes build something else.
    fn job(&self, purpose: &str, program: impl Into<PathBuf>) -> Job {
        let names = [
            "CFLAGS",
            "CXXFLAGS",
            "CPPFLAGS",
            "LDFLAGS",
            "CC",
            "CXX",
            "MAKEFLAGS",
            "PKG_CONFIG_PATH",
        ];
        names.iter().fold(Job::new(purpose, program), Job::env_remove)
    }

    /// Unpacks the source, with Debian's patches and ours.
    fn unpack(&self, folder: &Path) -> Result<(), ParallelQemuError> {
        self.stage.note("unpack");
        self.job("unpacking Debian's source package of QEMU", "dpkg-source")
            .env("XZ_DEFAULTS", "--threads=0")
            .args(["--no-copy", "--extract"])
            .arg(self.description)
            .arg(folder)
            .run()?;
        self.job("patching QEMU", "patch")
            .args(["--strip=1", "--force", "--fuzz=0", "--no-backup-if-mismatch"])
            .input(PATCH)
            .dir(folder)
            .run()
            .map_err(|source| ParallelQemuError::Patch {
                version: self.version.to_owned(),
                source: source.into(),
            })?;
        let devices = folder.join(DEVICES_PATH);
        fs::write(&devices, DEVICES).map_err(cannot(&devices))
    }

    /// Shows how far the build is, of a line that ninja wrote: `[12/1218] Compiling ...`.
    fn show(&self, line: &str) {
        if let Some((done, total, what)) = progress(line) {
            self.stage.parts(total);
            self.stage.at(done);
            self.stage.note(what);
        }
    }
}

fn progress(line: &str) -> Option<(u64, u64, &str)> {
    let (count, what) = line.strip_prefix('[')?.split_once("] ")?;
    let (done, total) = count.split_once('/')?;
    Some((done.parse().ok()?, total.parse().ok()?, what))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use trimtab_lab::observe::Silent;

    use super::*;

    #[test]
    fn what_ninja_says_is_progress() {
        let line = "[12/1218] Compiling C object a.c.o";
        assert_eq!(progress(line), Some((12, 1218, "Compiling C object a.c.o")));
        for other in ["ninja: Entering directory", "[x/2] a", "[1/2", "", "[1] a"] {
            assert_eq!(progress(other), None, "{other}");
        }
    }

    #[test]
    fn a_description_has_the_version_in_its_name() {
        assert_eq!(version_of(Path::new("/a_b/qemu_7.2+dfsg-7.dsc")), "7.2+dfsg-7");
        assert_eq!(version_of(Path::new("other.dsc")), "other");
    }

    #[test]
    fn a_source_that_is_not_there_is_one_message() {
        let folder = tempfile::tempdir().unwrap();
        let work = WorkDir::open(folder.path()).unwrap();
        let missing = folder.path().join("qemu_1.dsc");
        let error = get(&work, Some(&missing), &Silent).unwrap_err().to_string();
        assert!(error.contains("qemu_1.dsc; expected the .dsc file of Debian's"), "{error}");
        // What the hint names is an option of the command.
        let error = ParallelQemuError::Source(SourceError::NoLists);
        assert!(
            error.to_string().contains("is not to be had: no list of Debian packages"),
            "{error}"
        );
        assert!(error.hint().is_some_and(|hint| hint.ends_with("with --qemu-source")));
    }

    #[test]
    fn another_patch_or_source_is_another_build() {
        let folder = tempfile::tempdir().unwrap();
        let work = WorkDir::open(&folder.path().join("work")).unwrap();
        let gcc = FoundTool { path: "gcc".into(), version: None };
        let stage = Silent.stage("build");
        let key = |text: &str, version: &str| {
            let path = folder.path().join(format!("qemu_{text}.dsc"));
            fs::write(&path, text).unwrap();
            let build =
                Build { work: &work, description: &path, version, gcc: &gcc, stage: &stage };
            build.key(Key::new("qemu/1")).unwrap().hash()
        };
        assert_eq!(key("one", "1"), key("one", "2"), "the file says which version it is");
        assert_ne!(key("one", "1"), key("two", "1"));
    }
}
