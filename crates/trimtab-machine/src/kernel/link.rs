//! The kernels that are linked in a build directory.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::file;
use super::{Build, KernelError};
use crate::arch::Platform;
use trimtab_lab::cache::Key;
use trimtab_lab::process::RunningJob;
use trimtab_lab::workdir::{KeptStep, WorkError, write_whole};
use trimtab_link::feature::GeneratedFiles;

/// Where a build's generated files are.
const GENERATED: &str = "include/generated/";
/// Where a step keeps them.
const KEPT_GENERATED: &str = "generated";
/// There while make makes what comes after compiling. See [`Build::begin_link`].
const LINKING: &str = "trimtab-linking";
/// The linker's map, where the configuration asks for one.
const MAP: &str = "vmlinux.map";

/// Limit of a build on two slow cores.
const BUILD_LIMIT: Duration = Duration::from_secs(3 * 3600);

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

impl Build<'_> {
    /// Builds the kernel with `generated` files, beside those that the build [was given](Build::apart).
    /// What is compiled stays for the next call. `progress` is told each line that make prints.
    ///
    /// # Errors
    /// If make fails or takes too long, or its results are not there.
    pub fn link(
        &self,
        generated: &GeneratedFiles,
        mut progress: impl FnMut(&str),
    ) -> Result<KernelImage, KernelError> {
        let generated = self.given.clone().and(generated);
        let linked = LinkRecipe {
            build: self,
            generated: &generated,
            progress: RefCell::new(&mut progress),
        };
        let found = self.work.get(&linked)?;
        if !found.cached {
            self.end_link()?;
        }
        Ok(KernelImage {
            vmlinux: found.folder.join("vmlinux"),
            image: found.folder.join(self.isa.image()),
            took: Duration::from_millis(found.record.unwrap_or(0)),
            cached: found.cached,
            key: found.key,
            folder: found.folder,
        })
    }

    /// Copies what a link made into its step.
    fn keep(&self, generated: &GeneratedFiles, at: &Path) -> Result<(), KernelError> {
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
            let (from, to) = (self.directory.join(from), at.join(to));
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
    pub(super) fn begin_link(&self) -> Result<(), KernelError> {
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
    pub(super) fn end_link(&self) -> Result<(), KernelError> {
        let mark = self.directory.join(LINKING);
        fs::remove_file(&mark).map_err(file("remove", mark))
    }

    /// Writes the files that the build includes, and empty ones for those that nobody gave.
    pub(super) fn write_generated(&self, generated: &GeneratedFiles) -> Result<(), KernelError> {
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
}

/// A kernel that is linked with generated files.
struct LinkRecipe<'a> {
    build: &'a Build<'a>,
    generated: &'a GeneratedFiles,
    /// Called with each line that make prints.
    progress: RefCell<&'a mut dyn FnMut(&str)>,
}

impl KeptStep for LinkRecipe<'_> {
    const KIND: &'static str = "kernel";
    const VERSION: u32 = 3;
    /// Milliseconds that it took, where that was written down.
    type Record = Option<u64>;
    type Error = KernelError;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        let files = self.generated.files().filter(|(_, text)| !text.is_empty());
        let key = key.after(&self.build.key);
        Ok(files.fold(key, |key, (path, text)| key.bytes(path, text.as_bytes())))
    }

    fn make(&self, at: &Path) -> Result<Option<u64>, KernelError> {
        let (build, start) = (self.build, Instant::now());
        build.begin_link()?;
        build.write_generated(self.generated)?;
        let job = build
            .make("building the kernel", "build.log")
            .arg(format!("-j{}", jobs()))
            .arg(build.isa.image())
            .limit(BUILD_LIMIT);
        follow(job.spawn_lines()?, &mut **self.progress.borrow_mut())?;
        build.keep(self.generated, at)?;
        Ok(u64::try_from(start.elapsed().as_millis()).ok())
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
pub(super) fn jobs() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

pub(super) fn follow(
    mut running: RunningJob,
    progress: &mut dyn FnMut(&str),
) -> Result<(), KernelError> {
    while let Some(line) = running.next_line()? {
        progress(&line.text);
    }
    running.wait()?;
    Ok(())
}
