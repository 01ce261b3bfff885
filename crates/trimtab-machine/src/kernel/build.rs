//! A configured build directory.

mod key;

use std::fs;
use std::path::{Path, PathBuf};

use super::error::file;
use super::{Configuration, KernelError, Toolchain, Tree};
use crate::arch::Platform;
use trimtab_lab::cache::Key;
use trimtab_lab::process::Job;
use trimtab_lab::workdir::{KeptStep, WorkDir, WorkError};
use trimtab_link::feature::GeneratedFiles;
use trimtab_program::Isa;

/// A configured build directory.
#[derive(Debug, Clone)]
pub struct Build<'work> {
    pub(super) work: &'work WorkDir,
    source: PathBuf,
    pub(super) directory: PathBuf,
    pub(super) isa: Isa,
    toolchain: Toolchain,
    pub(super) key: Key,
    /// Files that its build includes; empty ones where nobody gives them.
    pub(super) included: Vec<&'static str>,
    /// What each kernel of it is given.
    pub(super) given: GeneratedFiles,
    refused: Vec<String>,
    cached: bool,
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
        let mut build = Build {
            work,
            source: source.path.clone(),
            directory: PathBuf::new(),
            isa: configuration.isa(),
            toolchain: toolchain.clone(),
            key: source.key.clone(),
            included: configuration.generated().to_vec(),
            given: GeneratedFiles::new(),
            refused: Vec::new(),
            cached: true,
        };
        let configured = work.get(&Configured { of: &build, source, configuration })?;
        build.key = configured.key;
        build.directory = configured.folder;
        build.cached = configured.cached;
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
    pub(super) fn moved_to(&self, directory: PathBuf, key: Key, given: GeneratedFiles) -> Self {
        Build { directory, key, given, ..self.clone() }
    }

    /// What it depends on.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// What compiles it.
    pub fn compiler(&self) -> &'static str {
        self.toolchain.name()
    }

    /// The build directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn make(&self, purpose: &str, log: &str) -> Job {
        self.make_with(purpose, log, "")
    }

    /// The same where the compiler is given more flags, which come after all of the kernel's own but those
    /// of single files.
    pub(super) fn make_with(&self, purpose: &str, log: &str, flags: &str) -> Job {
        let mut job = Job::new(purpose, "make")
            .arg("-C")
            .arg(&self.source)
            .arg(format!("O={}", self.directory.display()))
            .arg(format!("ARCH={}", self.isa.kbuild()))
            .args(self.toolchain.variables())
            // Warnings about a distribution's kernel are its maintainers'. Finding them takes a sixth
            // of the time that clang needs; the objects are the same without.
            .arg(format!("KCFLAGS=-w {flags}").trim_end())
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

/// A build directory that is configured. It is for make to work in again and again; what is kept for good
/// are the linked kernels.
struct Configured<'a> {
    /// The build; its directory is not known yet.
    of: &'a Build<'a>,
    source: &'a Tree,
    configuration: &'a Configuration,
}

impl KeptStep for Configured<'_> {
    const KIND: &'static str = "kernel-build";
    const VERSION: u32 = 3;
    const RESUMABLE: bool = true;
    type Record = ();
    type Error = KernelError;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        Ok(key::of_build(key, &self.source.key, self.configuration, &self.of.toolchain))
    }

    fn make(&self, at: &Path) -> Result<(), KernelError> {
        let build = Build { directory: at.to_owned(), ..self.of.clone() };
        build.write_configuration(self.configuration)
    }
}
