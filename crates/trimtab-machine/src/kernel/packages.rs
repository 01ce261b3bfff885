//! The Debian packages that kernel sources are found in.

use std::fs;
use std::path::{Path, PathBuf};

use trimtab_lab::tools::Tool;
use trimtab_link::LAYOUT;
use trimtab_link::feature::newest_first;

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

/// The packages, as tools, of all series that can be linked in an order: `fit kernel` needs the newest, the
/// others are for tests.
pub fn source_packages() -> Vec<Tool> {
    let (newest, older): (&[&str], &[&str]) = (&["fit kernel"], &["tests"]);
    let needed_by = std::iter::once(newest).chain(std::iter::repeat(older));
    let tool = |(series, needed_by): (&&str, _)| {
        let place = tarball(Path::new(FOLDER), series).display().to_string();
        Tool::of_file(name(series), place, name(series), needed_by)
    };
    LAYOUT.series().iter().zip(needed_by).map(tool).collect()
}

fn name<T: std::fmt::Display>(series: &T) -> String {
    format!("linux-source-{series}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_series_with_a_patch_has_its_package_and_the_newest_is_needed() {
        let tools = source_packages();
        let series = LAYOUT.series();
        assert!(series.len() >= 2);
        assert_eq!(tools.len(), series.len());
        for (tool, series) in tools.iter().zip(series) {
            assert_eq!(tool.packages, [format!("linux-source-{series}")]);
        }
        let needed: Vec<bool> =
            tools.iter().map(|tool| tool.needed_by.contains(&"fit kernel")).collect();
        assert_eq!(needed.iter().position(|needed| *needed), Some(0));
        assert_eq!(needed.iter().filter(|needed| **needed).count(), 1);
    }
}
