use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_probe::{
    ARCHIVE_MAGIC, Options, ProbeError, Rewritten, instrument, instrument_archive,
};

use crate::failure::Failure;
use crate::side_by_side;

/// What became of a file.
#[derive(Debug)]
pub struct Instrumented {
    /// The file.
    pub path: PathBuf,
    /// Its size before.
    pub before: u64,
    /// What it is now.
    pub result: Rewritten,
}

/// Instruments an object or an archive.
///
/// # Errors
/// What the rewriter refuses.
pub fn instrument_file(data: &[u8], options: &Options) -> Result<Rewritten, ProbeError> {
    if data.starts_with(ARCHIVE_MAGIC) {
        instrument_archive(data, options)
    } else {
        instrument(data, options)
    }
}

/// Instruments files on all cores; results are in the order of the files. `done` is told how many are.
///
/// # Errors
/// The first file that cannot be read or is refused, with its name.
pub fn instrument_files(
    paths: &[PathBuf],
    options: &Options,
    done: impl Fn(usize) + Sync,
) -> anyhow::Result<Vec<Instrumented>> {
    side_by_side::each(paths, |_, path| one(path, options), done)
}

fn one(path: &Path, options: &Options) -> anyhow::Result<Instrumented> {
    let data = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let result = instrument_file(&data, options)
        .with_context(|| format!("cannot instrument {}", path.display()))?;
    Ok(Instrumented { path: path.to_owned(), before: data.len() as u64, result })
}

/// Refuses objects that the run time, an object itself, is not for.
///
/// # Errors
/// The first such object, and what to do.
pub fn check_machines(objects: &[Instrumented], runtime: &Path, cc: &Path) -> anyhow::Result<()> {
    let own = machine_of(runtime)?;
    for object in objects {
        let Some(machine) = object.result.machine.filter(|machine| *machine != own) else {
            continue;
        };
        let (is_for, compiler) = match machine {
            AARCH64 => ("AArch64", "aarch64-linux-gnu-gcc"),
            _ => ("x86-64", "x86_64-linux-gnu-gcc"),
        };
        return Err(Failure::new(format!(
            "{} is for {is_for}, but {} compiles the run time for another machine",
            object.path.display(),
            cc.display()
        ))
        .hint(format!("give the compiler of the objects, such as --cc {compiler}"))
        .into());
    }
    Ok(())
}

/// `EM_AARCH64`.
const AARCH64: u16 = 183;

/// `e_machine` of an object.
///
/// # Errors
/// That it cannot be read.
pub fn machine_of(object: &Path) -> anyhow::Result<u16> {
    let data = fs::read(object).with_context(|| format!("cannot read {}", object.display()))?;
    let field = data.get(18..20).and_then(|field| field.first_chunk());
    Ok(field.map_or(0, |field| u16::from_le_bytes(*field)))
}
