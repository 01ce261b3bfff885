//! What experiments are made from: linked programs, linker maps, traces and orders. Each error names the file and
//! says what to do.

mod elf;
mod raw;
mod recording;
mod runs;
mod text;

pub use elf::Elf;
pub use recording::{Format, Recording};
pub use runs::{Run, Runs};
pub use text::Text;

use std::borrow::Cow;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};
use trimtab_link::kernel::Mobility;
use trimtab_profile::OF_ANOTHER_BUILD;
use trimtab_program::{Fragments, LinkMap, Program, SectionId};

use trimtab_lab::failure::Failure;

/// The largest share of functions that may lie outside of all input sections of a map before it is
/// taken for the map of another build.
const MOST_ORPHANS: f64 = 0.1;

/// The section of code that is laid out: the one of this name, else `.text`.
///
/// # Errors
/// That the program has no such section with functions.
pub fn section(
    program: &Program<'_>,
    path: &Path,
    name: Option<&str>,
) -> Result<SectionId, Failure> {
    let wanted = name.unwrap_or(".text");
    match program.section_named(wanted) {
        Some((id, section)) if program.functions_in(section.range).next().is_some() => Ok(id),
        _ => {
            let names: Vec<&str> = sections(program).map(|id| program.section(id).name).collect();
            Err(Failure::new(format!(
                "{} has no section {wanted} with functions; it has {}",
                path.display(),
                names.join(", ")
            )))
        }
    }
}

/// All sections of code that have functions, by address.
pub fn sections<'a>(program: &'a Program<'_>) -> impl Iterator<Item = SectionId> + 'a {
    (0..program.sections().len() as u32)
        .map(SectionId)
        .filter(|id| program.functions_in(program.section(*id).range).next().is_some())
}

/// The fragments of a section: from the linker's map where there is one, else from symbols.
///
/// # Errors
/// That the map is of another build.
pub fn fragments<'data>(
    program: &Program<'data>,
    map: Option<(&LinkMap<'data>, &Path)>,
    section: SectionId,
) -> Result<Fragments<'data>, Failure> {
    let Some((map, path)) = map else { return Ok(Fragments::from_symbols(program, section)) };
    let fragments = Fragments::from_link_map(program, map, section);
    let all = program.functions().iter().filter(|function| function.section == section).count();
    let orphans = fragments.orphans(program).count();
    if orphans as f64 > all as f64 * MOST_ORPHANS {
        return Err(Failure::new(format!(
            "the map {} {OF_ANOTHER_BUILD}: {orphans} of {all} functions in {} lie in none of \
             its input sections",
            path.display(),
            program.section(section).name
        ))
        .hint("give the map that the linker wrote (-Map=FILE) when it wrote this very program"));
    }
    Ok(fragments)
}

/// What a program is, for people.
pub fn kind(program: &Program<'_>) -> String {
    let what = if Mobility::of(program).is_kernel() { "Linux kernel" } else { "program" };
    format!("{what}, ELF {}", program.isa().name())
}

/// SHA-256 in hexadecimal.
pub fn sha256<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hex::encode(hash.finalize())
}

/// Bytes that do not make text, of which so many are taken for those of odd names.
const ODD_BYTES: usize = 1 << 20;

/// How files begin that people give in place of a text, what they are, and what to do.
const NO_TEXT: [(&[u8], &str); 6] = [
    (b"\x1f\x8b", "compressed by gzip; unpack it first (gzip -dc)"),
    (b"\xfd7zXZ\0", "compressed by xz; unpack it first (xz -dc)"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd; unpack it first (zstd -dc)"),
    (b"\x04\x22\x4d\x18", "compressed by lz4; unpack it first (lz4 -dc)"),
    (b"PK\x03\x04", "an archive of zip; unpack it first (unzip)"),
    (b"\x7fELF", "a program, library or object in ELF"),
];

/// Bytes as text. Names of commands, of files and of functions can hold any byte: what is no UTF-8 is
/// replaced, as long as it is not so much that the file is something else.
///
/// # Errors
/// That it is no text.
fn readable(bytes: &[u8]) -> io::Result<Cow<'_, str>> {
    // How large its blocks are stands in the middle, and names can begin with three such letters.
    if bytes.starts_with(b"BZh") && bytes.get(4..10) == Some(b"1AY&SY") {
        let what = "it is no text, but compressed by bzip2; unpack it first (bzip2 -dc)";
        return Err(io::Error::other(what));
    }
    if let Some((_, what)) = NO_TEXT.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Err(io::Error::other(format!("it is no text, but {what}")));
    }
    if bytes.get(..bytes.len().min(4096)).is_some_and(|head| head.contains(&0)) {
        return Err(io::Error::other("it is no text: there is a zero byte at its beginning"));
    }
    let odd: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    if odd > ODD_BYTES {
        return Err(io::Error::other(
            "it is no text: more than a million of its bytes are no UTF-8",
        ));
    }
    Ok(String::from_utf8_lossy(bytes))
}

/// Where traces come from.
const RECORD_ONE: &str = "record one with trimtab trace, ftrace or perf";

/// That a file cannot be read; `what` says what it should be, `hint` where it comes from.
fn unreadable(what: &str, path: &Path, error: &io::Error, hint: &str) -> Failure {
    let failure = Failure::new(format!("cannot read the {what} {}: {error}", path.display()));
    if hint.is_empty() { failure } else { failure.hint(hint) }
}
