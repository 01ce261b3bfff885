//! A configured build directory, and the kernels that are linked in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::file;
use super::{Configuration, KernelError, Toolchain, Tree};
use crate::arch::Platform;
use trimtab_lab::cache::Key;
use trimtab_lab::process::{Job, Running};
use trimtab_lab::workdir::{Building, Step, WorkDir, write_whole};
use trimtab_link::feature::Generated;
use trimtab_program::Isa;

/// Where a build's generated files are.
const GENERATED: &str = "include/generated/";
/// Where a step keeps them.
const KEPT_GENERATED: &str = "generated";
/// There while make makes what comes after compiling. See [`Build::begin_link`].
const LINKING: &str = "trimtab-linking";
/// The linker's map, where the configuration asks for one.
const MAP: &str = "vmlinux.map";
/// Kept in a step: how long it took, in milliseconds.
const TOOK: &str = "milliseconds";

/// Limit of a build on two slow cores.
const BUILD_LIMIT: Duration = Duration::from_secs(3 * 3600);

/// A configured build directory.
#[derive(Debug, Clone)]
pub struct Build<'work> {
    pub(super) work: &'work WorkDir,
    source: PathBuf,
    directory: PathBuf,
    isa: Isa,
    toolchain: Toolchain,
    pub(super) key: Key,
    /// Files that its build includes; empty ones where nobody gives them.
    included: Vec<&'static str>,
    /// What each kernel of it is given.
    pub(super) given: Generated,
    refused: Vec<String>,
    cached: bool,
}

/// A kernel that was linked.
#[derive(Debug, Clone)]
pub struct KernelImage {
    /// The ELF file with symbols.
    pub vmlinux: PathBuf,
    /// The bootable image, compressed: a bzImage; an Image.gz for arm64.
    pub image: PathBuf,
    /// How long it took, when it was made.
    pub took: Duration,
    /// Whether an earlier run had made it.
    pub cached: bool,
    /// What it depends on.
    pub key: Key,
    folder: PathBuf,
}

impl KernelImage {
    /// The linker's map of it.
    ///
    /// # Errors
    /// [`KernelError::NoMap`] if the kernel was configured without one.
    pub fn map(&self) -> Result<PathBuf, KernelError> {
        let map = self.folder.join(MAP);
        match map.is_file() {
            true => Ok(map),
            false => Err(KernelError::NoMap { vmlinux: self.vmlinux.clone() }),
        }
    }

    /// Where a file that was [generated](Generated) for it is kept as its build got it.
    pub fn generated(&self, path: &str) -> PathBuf {
        self.folder.join(KEPT_GENERATED).join(path.strip_prefix(GENERATED).unwrap_or(path))
    }
}

impl<'work> Build<'work> {
    /// Configures a build of `source`, or finds it configured.
    ///
    /// # Errors
    /// If an option that a feature needs is refused, or make fails.
    pub fn configure(
        work: &'work WorkDir,
        source: &Tree,
        configuration: &Configuration,
        toolchain: &Toolchain,
    ) -> Result<Self, KernelError> {
        let text = configuration.text();
        let mut key = Key::new("kernel-build/3")
            .after(&source.key)
            .field("arch", configuration.isa().kbuild())
            .field("whole configuration", configuration.is_whole())
            .bytes("configuration", text.as_bytes());
        for (name, version) in toolchain.versions() {
            key = key.field(&name, version);
        }
        let mut build = Build {
            work,
            source: source.path.clone(),
            directory: PathBuf::new(),
            isa: configuration.isa(),
            toolchain: toolchain.clone(),
            key,
            included: configuration.generated().to_vec(),
            given: Generated::new(),
            refused: Vec::new(),
            cached: true,
        };
        // The directory is for make to work in again and again; what is kept for good are the
        // linked kernels. That it is configured is all that its mark says.
        build.directory = match work.resumable("kernel-build", &build.key)? {
            Step::Done(path) => path,
            Step::Todo(building) => {
                build.directory = building.path().to_owned();
                build.cached = false;
                build.write_configuration(configuration)?;
                building.finish()?
            }
        };
        let path = Configuration::file(&build.directory);
        let result = fs::read_to_string(&path).map_err(file("read", &path))?;
        build.refused = configuration.refused(&result);
        if let Some(option) = build.refused.iter().find(|option| configuration.is_needed(option)) {
            return Err(KernelError::OptionRefused { option: option.clone(), path });
        }
        Ok(build)
    }

    fn write_configuration(&self, configuration: &Configuration) -> Result<(), KernelError> {
        let path = Configuration::file(&self.directory);
        let mut all = String::new();
        if !configuration.is_whole() {
            // The two steps of `tinyconfig`, the second of which is part of ours: what makes up a
            // configuration asks the compiler hundreds of questions each time.
            self.make("configuring the kernel", "configure.log")
                .arg("allnoconfig")
                .env("KCONFIG_ALLCONFIG", "kernel/configs/tiny-base.config")
                .run()?;
            all = fs::read_to_string(&path).map_err(file("read", &path))?;
            for tiny in ["kernel".to_owned(), format!("arch/{}", self.isa.kernel_folder())] {
                let tiny = self.source.join(tiny).join("configs/tiny.config");
                // Not every architecture has one.
                if tiny.exists() {
                    all.push_str(&fs::read_to_string(&tiny).map_err(file("read", &tiny))?);
                }
            }
        }
        all.push_str(configuration.text());
        if !all.ends_with('\n') {
            all.push('\n');
        }
        fs::write(&path, all).map_err(file("write", &path))?;
        self.make("configuring the kernel", "configure.log").arg("olddefconfig").run()?;
        Ok(())
    }

    /// Options of the configuration that the kernel did not take, because something that they
    /// depend on is off.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Whether an earlier run had configured it.
    pub fn cached(&self) -> bool {
        self.cached
    }

    /// Whether its configuration has a line such as `CONFIG_X=y`.
    ///
    /// # Errors
    /// If the configuration cannot be read.
    pub fn has(&self, option: &str) -> Result<bool, KernelError> {
        let path = Configuration::file(&self.directory);
        let text = fs::read_to_string(&path).map_err(file("read", &path))?;
        Ok(text.lines().any(|line| line == option))
    }

    /// The same in another directory.
    pub(super) fn moved_to(&self, directory: PathBuf, key: Key, given: Generated) -> Self {
        Build { directory, key, given, ..self.clone() }
    }

    /// What compiles it.
    pub fn compiler(&self) -> &'static str {
        self.toolchain.name()
    }

    /// The build directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Builds the kernel with `generated` files, beside those that the build [was given](Build::apart).
    /// What is compiled stays for the next call. `progress` is told each line that make prints.
    ///
    /// # Errors
    /// If make fails or takes too long, or its results are not there.
    pub fn link(
        &self,
        generated: &Generated,
        mut progress: impl FnMut(&str),
    ) -> Result<KernelImage, KernelError> {
        let generated = self.given.clone().and(generated);
        let mut key = Key::new("kernel/3").after(&self.key);
        for (path, text) in generated.files().filter(|(_, text)| !text.is_empty()) {
            key = key.bytes(path, text.as_bytes());
        }
        let (path, cached) = match self.work.step("kernel", &key)? {
            Step::Done(path) => (path, true),
            Step::Todo(building) => {
                let start = Instant::now();
                self.begin_link()?;
                self.write_generated(&generated)?;
                let job = self
                    .make("building the kernel", "build.log")
                    .arg(format!("-j{}", jobs()))
                    .arg(self.isa.image())
                    .limit(BUILD_LIMIT);
                follow(job.spawn_lines()?, &mut progress)?;
                self.keep(&generated, &building)?;
                let took = building.path().join(TOOK);
                fs::write(&took, start.elapsed().as_millis().to_string())
                    .map_err(file("write", took))?;
                let path = building.finish()?;
                self.end_link()?;
                (path, false)
            }
        };
        let took = fs::read_to_string(path.join(TOOK)).ok().and_then(|text| text.parse().ok());
        Ok(KernelImage {
            vmlinux: path.join("vmlinux"),
            image: path.join(self.isa.image()),
            took: Duration::from_millis(took.unwrap_or(0)),
            cached,
            key,
            folder: path,
        })
    }

    /// Copies what a link made into its step.
    fn keep(&self, generated: &Generated, building: &Building) -> Result<(), KernelError> {
        let image = self.isa.image();
        let mut files = vec![
            ("vmlinux".to_owned(), "vmlinux".into()),
            (format!("{}/{image}", self.isa.image_folder()), image.into()),
        ];
        if self.directory.join(MAP).is_file() {
            files.push((MAP.to_owned(), MAP.into()));
        }
        for (path, _) in generated.files() {
            let name = path.strip_prefix(GENERATED).unwrap_or(path);
            files.push((path.to_owned(), Path::new(KEPT_GENERATED).join(name)));
        }
        for (from, to) in files {
            let (from, to) = (self.directory.join(from), building.path().join(to));
            if !from.is_file() {
                return Err(KernelError::Incomplete {
                    what: format!("did not make {}", from.display()),
                    log: self.directory.join("build.log"),
                });
            }
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder).map_err(file("make", folder))?;
            }
            fs::copy(&from, to).map_err(file("copy", from))?;
        }
        Ok(())
    }

    /// Marks that make is at work on what it makes after compiling, and removes what was made before
    /// if it was at work when it was killed.
    ///
    /// A make that is killed cannot remove the file that it is making, and the next one sees a file
    /// newer than all that it is made of: a half image would be taken for a whole one. Objects are
    /// safe: kbuild makes one again unless it has written down, after it, how it was made.
    fn begin_link(&self) -> Result<(), KernelError> {
        let mark = self.directory.join(LINKING);
        if mark.exists() {
            // What make makes after compiling.
            for name in ["vmlinux", MAP, self.isa.image_folder()] {
                let path = self.directory.join(name);
                let removed = match path.is_dir() {
                    true => fs::remove_dir_all(&path),
                    false => fs::remove_file(&path),
                };
                match removed {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(file("remove", path)(error));
                    }
                    _ => {}
                }
            }
        }
        fs::write(&mark, "").map_err(file("write", mark))
    }

    /// What make made has been put in a safe place.
    fn end_link(&self) -> Result<(), KernelError> {
        let mark = self.directory.join(LINKING);
        fs::remove_file(&mark).map_err(file("remove", mark))
    }

    /// Writes the files that the build includes, and empty ones for those that nobody gave.
    fn write_generated(&self, generated: &Generated) -> Result<(), KernelError> {
        let absent = self.included.iter().filter(|path| generated.get(path).is_none());
        for (path, text) in absent.map(|path| (*path, "")).chain(generated.files()) {
            let name = Path::new(path.strip_prefix(GENERATED).unwrap_or_default());
            let mut parts = name.components();
            let is_below = name.file_name().is_some()
                && parts.all(|part| matches!(part, std::path::Component::Normal(_)));
            if !is_below {
                return Err(KernelError::Generated { path: path.to_owned() });
            }
            write_changed(&self.directory.join(path), text)?;
        }
        Ok(())
    }

    pub(super) fn make(&self, purpose: &str, log: &str) -> Job {
        let mut job = Job::new(purpose, "make")
            .package("make")
            .arg("-C")
            .arg(&self.source)
            .arg(format!("O={}", self.directory.display()))
            .arg(format!("ARCH={}", self.isa.kbuild()))
            .args(self.toolchain.variables())
            // Warnings about a distribution's kernel are its maintainers'. Finding them takes a sixth
            // of the time that clang needs; the objects are the same without.
            .arg("KCFLAGS=-w")
            .log(self.directory.join(log));
        // A make around trimtab must not talk to the kernel's, nor a person's settings change what
        // is built behind the cache's back.
        for name in [
            "MAKEFLAGS",
            "MAKELEVEL",
            "MFLAGS",
            "MAKEOVERRIDES",
            "KBUILD_OUTPUT",
            "ARCH",
            "CROSS_COMPILE",
            "LLVM",
            "CC",
            "LD",
            "KCFLAGS",
            "KAFLAGS",
            "KCPPFLAGS",
            "KBUILD_VERBOSE",
        ] {
            job = job.env_remove(name);
        }
        // So that the same source gives the same bytes.
        job.env("KBUILD_BUILD_TIMESTAMP", "1970-01-01")
            .env("KBUILD_BUILD_USER", "trimtab")
            .env("KBUILD_BUILD_HOST", "trimtab")
            .env("KBUILD_BUILD_VERSION", "1")
            // Compilers ask for memory in small steps and use it at once: large steps of large pages
            // save a fifteenth of their time. What they make is the same.
            .env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=134217728")
    }
}

/// Writes a file unless it is as it should be: make goes by its time of change.
fn write_changed(path: &Path, text: &str) -> Result<(), KernelError> {
    if fs::read_to_string(path).is_ok_and(|present| present == text) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(file("make", folder))?;
    }
    Ok(write_whole(path, text.as_bytes())?)
}

/// How many compilers run side by side.
fn jobs() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

fn follow(mut running: Running, progress: &mut impl FnMut(&str)) -> Result<(), KernelError> {
    while let Some(line) = running.next_line()? {
        progress(&line.text);
    }
    running.wait()?;
    Ok(())
}
