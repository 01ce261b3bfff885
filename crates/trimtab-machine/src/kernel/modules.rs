//! Modules that are not part of a kernel's source, built for a kernel.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::file;
use super::{Build, KernelError};
use trimtab_lab::cache::Key;
use trimtab_lab::process::Job;
use trimtab_lab::workdir::{KeptStep, WorkError};

/// The symbols that modules can use: of the kernel, and of the kernel and all its modules.
const KERNEL_SYMBOLS: &str = "vmlinux.symvers";
const ALL_SYMBOLS: &str = "Module.symvers";
/// Limit of each call of make.
const LIMIT: Duration = Duration::from_secs(900);

impl Build<'_> {
    /// Builds the modules in `folders`, each of which has a makefile with `obj-m`, and gives their `.ko`
    /// files, those of each folder in the order of their names. A module can use what those of the folders
    /// before it export. The folders are not changed.
    ///
    /// # Errors
    /// If this kernel takes no modules or was never [linked](Build::link), or make fails.
    pub fn modules(&self, folders: &[&Path]) -> Result<Vec<PathBuf>, KernelError> {
        if !self.has("CONFIG_MODULES=y")? {
            return Err(KernelError::NoModules {
                why: "its configuration has no CONFIG_MODULES=y",
            });
        }
        let mut sources = Vec::new();
        for (number, folder) in folders.iter().enumerate() {
            sources.extend(files(folder)?.into_iter().map(|path| {
                let name = path.strip_prefix(folder).unwrap_or(&path);
                (format!("{number} {}", name.display()), path)
            }));
        }
        let made = self.work.get(&Modules { build: self, folders, sources })?.folder;
        let mut modules = Vec::new();
        for number in 0..folders.len() {
            let made = files(&made.join(number.to_string()))?;
            modules
                .extend(made.into_iter().filter(|path| path.extension() == Some(OsStr::new("ko"))));
        }
        Ok(modules)
    }

    /// Makes what modules are built with.
    fn ready_for_modules(&self) -> Result<(), KernelError> {
        let of_kernel = self.directory().join(KERNEL_SYMBOLS);
        if !of_kernel.is_file() {
            return Err(KernelError::NoModules { why: "it was never linked" });
        }
        self.make("preparing the kernel for modules", "modules.log")
            .arg("modules_prepare")
            .limit(LIMIT)
            .run()?;
        // Of a kernel whose own modules were not built, it has all that there is.
        let all = self.directory().join(ALL_SYMBOLS);
        if !all.is_file() {
            fs::copy(&of_kernel, &all).map_err(file("copy", of_kernel))?;
        }
        Ok(())
    }
}

/// The modules in some folders, built.
struct Modules<'a> {
    build: &'a Build<'a>,
    folders: &'a [&'a Path],
    /// All files of the folders, by the number of the folder and their paths in it.
    sources: Vec<(String, PathBuf)>,
}

impl KeptStep for Modules<'_> {
    const KIND: &'static str = "kernel-modules";
    const VERSION: u32 = 1;
    type Record = ();
    type Error = KernelError;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        let hashes = self.build.work.hashes();
        let mut sources = self.sources.iter();
        sources
            .try_fold(key.after(&self.build.key), |key, (name, path)| key.file(name, path, hashes))
    }

    fn make(&self, at: &Path) -> Result<(), KernelError> {
        self.build.ready_for_modules()?;
        let mut symbols: Vec<PathBuf> = Vec::new();
        for (number, folder) in self.folders.iter().enumerate() {
            // make leaves what it makes beside the sources.
            let copy = at.join(number.to_string());
            Job::new("copying the module's source", "cp")
                .args(["-a", "--no-target-directory"])
                .arg(folder)
                .arg(&copy)
                .run()?;
            let of_others: Vec<String> =
                symbols.iter().map(|path| path.display().to_string()).collect();
            self.build
                .make("building the kernel's module", "modules.log")
                .arg(format!("M={}", copy.display()))
                .arg(format!("KBUILD_EXTRA_SYMBOLS={}", of_others.join(" ")))
                // Warnings about our own code are ours.
                .arg("KCFLAGS=")
                .arg("modules")
                .limit(LIMIT)
                .run()?;
            symbols.push(copy.join(ALL_SYMBOLS));
        }
        Ok(())
    }
}

/// The files in a folder and below it, in the order of their paths, without what git keeps.
fn files(folder: &Path) -> Result<Vec<PathBuf>, KernelError> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(file("read", &folder))? {
            let entry = entry.map_err(file("read", &folder))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(file("read", &path))?;
            if kind.is_dir() && entry.file_name() != ".git" {
                folders.push(path);
            } else if kind.is_file() {
                files.push(path);
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}
