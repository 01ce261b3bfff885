//! Objects and archives in files, instrumented.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::{
    ARCHIVE_MAGIC, Member, Options, Outcome, OwnFunctions, THIN_MAGIC, Target, instrument,
    instrument_archive, instrument_members, thin_members,
};
use trimtab_lab::bytes::Bytes;
use trimtab_lab::failure::Failure;
use trimtab_lab::threads;
use trimtab_program::Isa;

/// What became of a file.
#[derive(Debug)]
pub struct InstrumentedFile {
    /// The file.
    pub path: PathBuf,
    /// Its size before; of a thin archive, with its members.
    pub before: u64,
    /// What it is now.
    pub result: Outcome,
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
) -> anyhow::Result<InstrumentedFile> {
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
    Ok(InstrumentedFile { path: path.to_owned(), before, result: result? })
}

/// The files that a thin archive stands for.
fn members(archive: &Path, data: &[u8]) -> anyhow::Result<Vec<Member<'static>>> {
    let folder = archive.parent().unwrap_or(Path::new(""));
    let read = |name: Vec<u8>| {
        let path = folder.join(OsStr::from_bytes(&name));
        let bytes = Bytes::open(&path).with_context(|| {
            format!("cannot read {}, a member of this thin archive", path.display())
        })?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(Member { name, bytes: bytes.to_vec().into() })
    };
    thin_members(data)?.into_iter().map(read).collect()
}

/// Functions that an object or an archive of a program has in place of the C library's. Of what cannot be read
/// there are none: it is refused when it is instrumented.
pub fn own_functions(path: &Path, data: &[u8]) -> OwnFunctions {
    let mut own = OwnFunctions::default();
    if data.starts_with(THIN_MAGIC) {
        for member in members(path, data).into_iter().flatten() {
            own.add(&member.bytes);
        }
    } else {
        own.add(data);
    }
    own
}

/// Instruments the files of a program on all cores; results are in the order of the files. `done` is called with
/// the number done.
///
/// # Errors
/// The first file that cannot be read or is refused, with its name.
pub fn instrument_files(
    paths: &[PathBuf],
    options: &Options,
    done: impl Fn(usize) + Sync,
) -> anyhow::Result<Vec<InstrumentedFile>> {
    let open = |path: &PathBuf| -> anyhow::Result<_> {
        let data = Bytes::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok((own_functions(path, &data), data))
    };
    // Once: what is read may be a pipe.
    let files = threads::each(paths, |_, path| open(path), |_| ())?;
    let mut options = options.clone();
    for (own, _) in &files {
        options.own.merge(own);
    }
    let one = |index: usize, (_, data): &(OwnFunctions, Bytes)| -> anyhow::Result<_> {
        let path = &paths[index];
        instrument_file(path, data, &options)
            .with_context(|| format!("cannot instrument {}", path.display()))
    };
    threads::each(&files, one, done)
}

/// Refuses objects that the run time, an object itself, is not for.
///
/// # Errors
/// The first such object, and what to do.
pub fn check_machines(
    objects: &[InstrumentedFile],
    runtime: &Path,
    cc: &Path,
) -> anyhow::Result<()> {
    let own = target_of(runtime)?;
    for object in objects {
        let Some(isa) = object.result.isa.filter(|isa| Some(*isa) != own) else { continue };
        let Some(target) = Target::of_isa(isa) else { continue };
        let (is_for, compiler) = (isa.title(), target.compiler);
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

/// The instruction set of an object; none where it cannot be instrumented.
///
/// # Errors
/// That it cannot be read.
pub fn target_of(object: &Path) -> anyhow::Result<Option<Isa>> {
    let data = Bytes::open(object).with_context(|| format!("cannot read {}", object.display()))?;
    Ok(Target::of_file(&data).map(|target| target.isa))
}
