//! The Debian packages that kernel sources are found in.

use std::fs;
use std::path::{Path, PathBuf};

use trimtab_lab::tools::Tool;
use trimtab_link::feature::{Feature, common_series, newest_first};

/// Where they install their tarballs.
pub(super) const FOLDER: &str = "/usr/src";

/// The package with the source of the first of these series.
pub(super) fn package<T: std::fmt::Display>(series: &[T]) -> String {
    series.first().map_or_else(|| "linux-source".to_owned(), name)
}

/// The tarball of a series in a folder of tarballs.
pub(super) fn tarball(folder: &Path, series: &str) -> PathBuf {
    folder.join(format!("{}.tar.xz", name(&series)))
}

/// The series whose packages are installed in a folder, newest first.
pub(super) fn installed(folder: &Path) -> Vec<String> {
    let mut series: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(name.strip_prefix("linux-source-")?.strip_suffix(".tar.xz")?.to_owned())
        })
        .collect();
    newest_first(&mut series);
    series
}

/// The packages, as tools, with the sources of kernels that these verbs build: each needs the newest of the
/// series that all its features have a patch for. Older ones are for tests.
pub fn source_packages(verbs: &[(&'static str, &[&Feature])]) -> Vec<Tool> {
    let of = |features| common_series(features).unwrap_or_default();
    let mut all: Vec<&str> = verbs.iter().flat_map(|(_, features)| of(features)).collect();
    newest_first(&mut all);
    all.dedup();
    let tool = |series: &str| {
        let needing = verbs.iter().filter(|(_, features)| of(features).first() == Some(&series));
        let mut needed_by: Vec<&'static str> = needing.map(|(verb, _)| *verb).collect();
        if needed_by.is_empty() {
            needed_by.push("tests");
        }
        let place = tarball(Path::new(FOLDER), series).display().to_string();
        Tool::of_file(name(&series), place, name(&series), needed_by.leak())
    };
    all.into_iter().map(tool).collect()
}

fn name<T: std::fmt::Display>(series: &T) -> String {
    format!("linux-source-{series}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use include_dir::{Dir, DirEntry, File};
    use trimtab_link::LAYOUT;

    static FIRST: Feature = feature(&[
        DirEntry::File(File::new("6.18.patch", b"")),
        DirEntry::File(File::new("6.12.patch", b"")),
        DirEntry::File(File::new("6.1.patch", b"")),
    ]);
    static SECOND: Feature = Feature {
        name: "second",
        over: &[&FIRST],
        ..feature(&[DirEntry::File(File::new("6.12.patch", b""))])
    };
    static ANY: Feature = feature(&[]);

    const fn feature(files: &'static [DirEntry<'static>]) -> Feature {
        Feature { name: "first", over: &[], folder: Dir::new("", files), generated: &[] }
    }

    #[test]
    fn each_verb_needs_the_newest_series_that_all_its_features_know() {
        let verbs: &[(&str, &[&Feature])] = &[
            ("one", &[&FIRST]),
            ("two", &[&ANY, &SECOND]),
            ("three", &[&FIRST]),
            ("any", &[&ANY]),
        ];
        let found: Vec<(&str, &[&str])> =
            source_packages(verbs).iter().map(|tool| (tool.packages[0], tool.needed_by)).collect();
        let expected: &[(&str, &[&str])] = &[
            ("linux-source-6.18", &["one", "three"]),
            ("linux-source-6.12", &["two"]),
            ("linux-source-6.1", &["tests"]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn each_series_with_a_patch_has_its_package() {
        let tools = source_packages(&[("fit kernel", &[&LAYOUT])]);
        let series = LAYOUT.series();
        assert!(series.len() >= 2);
        let packages: Vec<&str> = tools.iter().map(|tool| tool.packages[0]).collect();
        assert_eq!(packages, series.iter().map(name).collect::<Vec<_>>());
    }
}
