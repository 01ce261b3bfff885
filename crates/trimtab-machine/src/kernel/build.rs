use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::blocks::Lists;
use super::error::file;
use super::{Configuration, KernelError, Toolchain, Unpacked};
use crate::arch::Platform;
use trimtab_lab::cache::Key;
use trimtab_lab::process::{Job, Running};
use trimtab_lab::workdir::{Step, WorkDir};
use trimtab_program::Isa;

/// The order that the kernel's linker script includes, in the build directory.
const ORDER: &str = "include/generated/function-order.lds";
/// The swappable code that the kernel's linker script includes, in the build directory.
const COLD_ORDER: &str = "include/generated/cold-order";
/// The same of read-only data.
const COLD_RODATA: &str = "include/generated/cold-rodata";
/// There while make makes what comes after compiling. See [`Build::begin_link`].
const LINKING: &str = "trimtab-linking";
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
    /// Which blocks belong together, where functions are split.
    lists: Option<Lists>,
    /// Whether it has cold code to swap.
    swaps: bool,
    refused: Vec<String>,
    cached: bool,
}

/// The linker script's parts with the swappable pages; empty ones swap nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cold<'a> {
    /// Of code.
    pub code: &'a str,
    /// Of read-only data.
    pub data: &'a str,
}

/// A kernel that was linked with some order.
#[derive(Debug, Clone)]
pub struct Linked {
    /// The ELF file with symbols.
    pub vmlinux: PathBuf,
    /// The linker's map of it.
    pub map: PathBuf,
    /// The bootable image, compressed: a bzImage; an Image.gz for arm64.
    pub image: PathBuf,
    /// The order as the linker got it.
    pub order: PathBuf,
    /// How long it took, when it was made.
    pub took: Duration,
    /// Whether an earlier run had made it.
    pub cached: bool,
    /// What it depends on.
    pub key: Key,
}

impl<'work> Build<'work> {
    /// Configures a build of `source`, or finds it configured.
    ///
    /// # Errors
    /// If an option that a layout needs is refused, or make fails.
    pub fn configure(
        work: &'work WorkDir,
        source: &Unpacked,
        configuration: &Configuration,
        toolchain: &Toolchain,
    ) -> Result<Self, KernelError> {
        let text = configuration.text();
        let mut key = Key::new("kernel-build/2")
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
            lists: None,
            swaps: configuration.swaps(),
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
                build.write_configuration(configuration, &text)?;
                building.finish()?
            }
        };
        let path = Configuration::file(&build.directory);
        let result = fs::read_to_string(&path).map_err(file("read", &path))?;
        build.refused = configuration.refused(&result);
        if let Some(option) = build.refused.iter().find(|option| Configuration::is_needed(option)) {
            return Err(KernelError::OptionRefused { option: option.clone(), path });
        }
        Ok(build)
    }

    fn write_configuration(
        &self,
        configuration: &Configuration,
        text: &str,
    ) -> Result<(), KernelError> {
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
        all.push_str(text);
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

    /// The same in another directory, where functions are split.
    pub(super) fn with_lists(&self, directory: PathBuf, key: Key, lists: Lists) -> Self {
        Build { directory, key, lists: Some(lists), ..self.clone() }
    }

    /// What compiles it.
    pub fn compiler(&self) -> &'static str {
        self.toolchain.name()
    }

    /// The build directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Builds the kernel and links it with `order`, the text of an order for
    /// [the kernel](trimtab_link::Linker::Kernel); empty for the objects' own order. What is
    /// compiled stays for the next call. `progress` is told each line that make prints.
    ///
    /// # Errors
    /// If make fails or takes too long, or its results are not there.
    pub fn link(&self, order: &str, progress: impl FnMut(&str)) -> Result<Linked, KernelError> {
        self.link_cold(order, Cold::default(), progress)
    }

    /// As [`Build::link`], for a kernel that swaps what is `cold`.
    ///
    /// # Errors
    /// As [`Build::link`], and if `cold` has code that swapping itself needs.
    pub fn link_cold(
        &self,
        order: &str,
        cold: Cold<'_>,
        mut progress: impl FnMut(&str),
    ) -> Result<Linked, KernelError> {
        let mut key = Key::new("kernel/2").after(&self.key).bytes("order", order.as_bytes());
        for (name, list) in [("cold", cold.code), ("cold data", cold.data)] {
            if !list.is_empty() {
                key = key.bytes(name, list.as_bytes());
            }
        }
        let image = self.isa.image();
        let (path, cached) = match self.work.step("kernel", &key)? {
            Step::Done(path) => (path, true),
            Step::Todo(building) => {
                let start = Instant::now();
                self.begin_link()?;
                if let Some(lists) = &self.lists {
                    lists.write(&self.directory)?;
                }
                self.write_order(order)?;
                if self.swaps {
                    self.write_list(COLD_ORDER, cold.code)?;
                    self.write_list(COLD_RODATA, cold.data)?;
                }
                let log = self.directory.join("build.log");
                let job = self
                    .make("building the kernel", "build.log")
                    .arg(format!("-j{}", jobs()))
                    .arg(image)
                    .limit(BUILD_LIMIT);
                follow(job.spawn_lines()?, &mut progress)?;
                for (from, to) in [
                    ("vmlinux", "vmlinux"),
                    ("vmlinux.map", "vmlinux.map"),
                    (&format!("{}/{image}", self.isa.image_folder()), image),
                    (ORDER, "order.lds"),
                ] {
                    let from = self.directory.join(from);
                    if !from.is_file() {
                        return Err(KernelError::Incomplete {
                            what: format!("did not make {}", from.display()),
                            log,
                        });
                    }
                    fs::copy(&from, building.path().join(to)).map_err(file("copy", from))?;
                }
                let took = building.path().join(TOOK);
                fs::write(&took, start.elapsed().as_millis().to_string())
                    .map_err(file("write", took))?;
                let path = building.finish()?;
                self.end_link()?;
                (path, false)
            }
        };
        let took = fs::read_to_string(path.join(TOOK)).ok().and_then(|text| text.parse().ok());
        Ok(Linked {
            vmlinux: path.join("vmlinux"),
            map: path.join("vmlinux.map"),
            image: path.join(image),
            order: path.join("order.lds"),
            took: Duration::from_millis(took.unwrap_or(0)),
            cached,
            key,
        })
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
            for name in ["vmlinux", "vmlinux.map", self.isa.image_folder()] {
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

    /// Writes the order if it is not the one that is there: make goes by its time of change.
    fn write_order(&self, order: &str) -> Result<(), KernelError> {
        self.write_list(ORDER, order)
    }

    fn write_list(&self, name: &str, order: &str) -> Result<(), KernelError> {
        let path = self.directory.join(name);
        if fs::read_to_string(&path).is_ok_and(|present| present == order) {
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(file("make", folder))?;
        }
        fs::write(&path, order).map_err(file("write", path))
    }

    fn make(&self, purpose: &str, log: &str) -> Job {
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
