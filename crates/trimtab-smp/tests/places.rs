//! Lock operations are counted as a person counts them: 300 lines of Linux 6.12 that were read.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use trimtab_smp::file::{self, Language};

/// Lines that a person read; the file says how they were drawn.
const READ: &str = include_str!("../../../testdata/smp/places.tsv");
/// Where Debian's package has the source.
const SOURCE: &str = "/usr/src/linux-source-6.12.tar.xz";

/// A line that was read.
struct Line<'a> {
    path: &'a str,
    number: u32,
    hash: u32,
    expected: &'a str,
}

fn lines() -> Vec<Line<'static>> {
    let fields = READ.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t'));
    fields
        .map(|mut fields| Line {
            path: fields.next().unwrap(),
            number: fields.next().unwrap().parse().unwrap(),
            hash: u32::from_str_radix(fields.next().unwrap(), 16).unwrap(),
            expected: fields.next().unwrap(),
        })
        .collect()
}

fn hash(line: &[u8]) -> u32 {
    line.trim_ascii()
        .iter()
        .fold(0, |hash: u32, byte| hash.wrapping_mul(31).wrapping_add(u32::from(*byte)))
}

#[test]
fn three_hundred_lines_are_counted_as_a_person_did() {
    let lines = lines();
    assert_eq!(lines.len(), 300);
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list");
    let paths: String =
        lines.iter().map(|line| format!("linux-source-6.12/{}\n", line.path)).collect();
    fs::write(&list, paths).unwrap();
    // Another update of the package may lack a file.
    let mut tar = Command::new("tar");
    tar.env("XZ_DEFAULTS", "--threads=0").args(["--extract", "--file", SOURCE, "--directory"]);
    tar.arg(folder.path()).arg("--files-from").arg(&list).status().unwrap();
    let mut found = 0;
    for line in &lines {
        let path = folder.path().join("linux-source-6.12").join(line.path);
        let Ok(bytes) = fs::read(&path) else { continue };
        let texts: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let is_it = |number: &usize| texts.get(*number).is_some_and(|text| hash(text) == line.hash);
        // In another update it may be elsewhere in its file.
        let here = Some(line.number as usize - 1).filter(is_it);
        let Some(at) = here.or_else(|| (0..texts.len()).find(is_it)) else { continue };
        found += 1;
        let counted = places(&bytes, line.path);
        let counted = counted.get(&(at as u32 + 1)).map_or("-", String::as_str);
        assert_eq!(counted, line.expected, "{}:{}", line.path, line.number);
    }
    assert!(found >= 280, "{SOURCE} has {found} of the 300 lines; ./setup --for test installs it");
}

/// What each line of a file does.
fn places(bytes: &[u8], path: &str) -> BTreeMap<u32, String> {
    let mut places = BTreeMap::new();
    let language = Language::of(Path::new(path).file_name().unwrap().to_str().unwrap()).unwrap();
    file::count_with(bytes, language, &mut |place| {
        places.insert(place.line, format!("{} {}", place.kind.name(), place.places));
    });
    places
}
