//! Instruments the members of an archive, and writes it anew.

use std::io::Cursor;

use ar_archive_writer::{
    ArchiveKind, DEFAULT_OBJECT_READER, NewArchiveMember, write_archive_to_stream,
};
use object::read::archive::ArchiveFile;

use crate::ProbeError;
use crate::rewrite::{Options, Rewritten, instrument};

/// How archives begin.
pub const MAGIC: &[u8] = b"!<arch>\n";

/// Instruments each object of an archive. Members that are no objects stay as they are.
///
/// # Errors
/// [`ProbeError::Archive`] where it cannot be read or written, and what a member is refused for.
pub fn instrument_archive(data: &[u8], options: &Options) -> Result<Rewritten, ProbeError> {
    let wrong = |why: String| ProbeError::Archive { why };
    let archive = ArchiveFile::parse(data).map_err(|error| wrong(error.to_string()))?;
    if archive.is_thin() {
        return Err(wrong("it is a thin archive, which holds only names of files".to_owned()));
    }
    let mut all = Rewritten {
        bytes: Vec::new(),
        machine: None,
        instrumented: Vec::new(),
        with_frame: 0,
        copied: 0,
        left: Vec::new(),
    };
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member.map_err(|error| wrong(error.to_string()))?;
        let bytes = member.data(data).map_err(|error| wrong(error.to_string()))?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let bytes = match instrument(bytes, options) {
            Ok(done) => {
                if all.machine.is_some_and(|known| Some(known) != done.machine) {
                    return Err(wrong(format!("{name} is for another machine than the others")));
                }
                all.machine = done.machine;
                all.instrumented.extend(done.instrumented);
                all.with_frame += done.with_frame;
                all.copied += done.copied;
                all.left.extend(done.left);
                done.bytes
            }
            // Data, or an object without code.
            Err(ProbeError::NotElf { .. } | ProbeError::Stripped) => bytes.to_vec(),
            Err(error) => return Err(wrong(format!("{name}: {error}"))),
        };
        members.push(NewArchiveMember::new(bytes, &DEFAULT_OBJECT_READER, name));
    }
    let mut out = Cursor::new(Vec::new());
    write_archive_to_stream(&mut out, &members, ArchiveKind::Gnu, false, None)
        .map_err(|error| wrong(error.to_string()))?;
    all.bytes = out.into_inner();
    Ok(all)
}
