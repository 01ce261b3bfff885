//! Objects and archives in files, instrumented.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::{
    ARCHIVE_MAGIC, Member, Options, Rewritten, THIN_MAGIC, instrument, instrument_archive,
    instrument_members, thin_members,
};
use trimtab_lab::executor::{self, Local};
use trimtab_lab::failure::Failure;

/// What became of a file.
#[derive(Debug)]
pub struct Instrumented {
    /// The file.
    pub path: PathBuf,
    /// Its size before; of a thin archive, with its members.
    pub before: u64,
    /// What it is now.
    pub result: Rewritten,
}

/// Instruments an object or an archive, of which `data` is the content. A thin archive becomes an
/// ordinary one.
///
/// # Errors
/// What the rewriter refuses, and members of a thin archive that cannot be read.
pub fn instrument_file(
    path: &Path,
    data: &[u8],
    options: &Options,
) -> anyhow::Result<Instrumented> {
    let mut before = data.len() as u64;
    let result = if data.starts_with(ARCHIVE_MAGIC) {
        instrument_archive(data, options)
    } else if data.starts_with(THIN_MAGIC) {
        let members = members(path, data)?;
        before += members.iter().map(|member| member.bytes.len() as u64).sum::<u64>();
        instrument_members(&members, options)
    } else {
        instrument(data, options)
    };
    Ok(Instrumented { path: path.to_owned(), before, result: result? })
}

/// The files that a thin archive stands for.
fn members(archive: &Path, data: &[u8]) -> anyhow::Result<Vec<Member<'static>>> {
    let folder = archive.parent().unwrap_or(Path::new(""));
    let read = |name: Vec<u8>| {
        let path = folder.join(OsStr::from_bytes(&name));
        let bytes = fs::read(&path).with_context(|| {
            format!("cannot read {}, a member of this thin archive", path.display())
        })?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(Member { name, bytes: bytes.into() })
    };
    thin_members(data)?.into_iter().map(read).collect()
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
    executor::each(&Local, paths, |_, path| one(path, options), done)
}

fn one(path: &Path, options: &Options) -> anyhow::Result<Instrumented> {
    let data = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    instrument_file(path, &data, options)
        .with_context(|| format!("cannot instrument {}", path.display()))
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
