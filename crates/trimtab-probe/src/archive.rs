//! Instruments the members of an archive, and writes it anew.

use std::borrow::Cow;
use std::io::Cursor;

use ar_archive_writer::{
    ArchiveKind, DEFAULT_OBJECT_READER, NewArchiveMember, write_archive_to_stream,
};
use object::read::archive::ArchiveFile;

use crate::error::ProbeError;
use crate::instrument::instrument;
use crate::reason::Reason;
use crate::rewrite::{Options, Outcome};

/// How archives begin.
pub const MAGIC: &[u8] = b"!<arch>\n";
/// How thin archives begin, which hold only the names of their members' files.
pub const THIN_MAGIC: &[u8] = b"!<thin>\n";

/// A member of an archive.
#[derive(Debug, Clone)]
pub struct Member<'data> {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub bytes: Cow<'data, [u8]>,
}

/// Instruments each object of an archive. Members that are no objects stay as they are.
///
/// # Errors
/// [`ProbeError::Archive`] where it cannot be read or written, or is a thin one, and what a member is
/// refused for.
pub fn instrument_archive(data: &[u8], options: &Options) -> Result<Outcome, ProbeError> {
    let archive = ArchiveFile::parse(data).map_err(wrong)?;
    if archive.is_thin() {
        return Err(ProbeError::Archive {
            why: "it is a thin archive, which holds only names of files".to_owned(),
        });
    }
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member.map_err(wrong)?;
        let bytes = member.data(data).map_err(wrong)?;
        members.push(Member { name: name(member.name()), bytes: bytes.into() });
    }
    instrument_members(&members, options)
}

/// Names of the files that a thin archive stands for, as it has them: where they do not begin with
/// `/`, they are relative to the archive's folder.
///
/// # Errors
/// [`ProbeError::Archive`] where it cannot be read.
pub fn thin_members(data: &[u8]) -> Result<Vec<Vec<u8>>, ProbeError> {
    let archive = ArchiveFile::parse(data).map_err(wrong)?;
    archive.members().map(|member| Ok(member.map_err(wrong)?.name().to_vec())).collect()
}

/// As [`instrument_archive`], of members that have been read already.
///
/// # Errors
/// What a member is refused for, with its name; [`ProbeError::Archive`] where no archive can be made
/// of them.
pub fn instrument_members(
    members: &[Member<'_>],
    options: &Options,
) -> Result<Outcome, ProbeError> {
    let mut all = Outcome {
        bytes: Vec::new(),
        isa: None,
        instrumented: Vec::new(),
        with_frame: 0,
        copied: 0,
        mended: 0,
        left: Vec::new(),
    };
    let mut written = Vec::new();
    for Member { name, bytes } in members {
        let bytes = match instrument(bytes, options) {
            Ok(done) => {
                if all.isa.is_some_and(|known| Some(known) != done.isa) {
                    return Err(ProbeError::Mixed { name: name.clone() });
                }
                all.isa = done.isa;
                all.instrumented.extend(done.instrumented);
                all.with_frame += done.with_frame;
                all.copied += done.copied;
                all.mended += done.mended;
                all.left.extend(done.left);
                done.bytes
            }
            Err(ProbeError::NotElf { .. }) => bytes.to_vec(),
            // The others can be instrumented all the same.
            Err(ProbeError::Stripped) => {
                all.left.push((name.clone(), Reason::Stripped));
                bytes.to_vec()
            }
            Err(error) => {
                return Err(ProbeError::Member { name: name.clone(), error: Box::new(error) });
            }
        };
        written.push(NewArchiveMember::new(bytes, &DEFAULT_OBJECT_READER, name.clone()));
    }
    let mut out = Cursor::new(Vec::new());
    write_archive_to_stream(&mut out, &written, ArchiveKind::Gnu, false, None)
        .map_err(|error| ProbeError::Archive { why: error.to_string() })?;
    all.bytes = out.into_inner();
    Ok(all)
}

fn name(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn wrong(error: object::read::Error) -> ProbeError {
    ProbeError::Archive { why: error.to_string() }
}
