//! What a kernel can be given: a [`Feature`] is a folder below `linux/`, as a value.

mod generated;
#[cfg(test)]
mod tests;

pub use generated::GeneratedFiles;

use include_dir::Dir;

/// Something that a kernel can be given: patches, files, and what it needs of a configuration. Whoever
/// needs it owns it; what builds kernels knows none by name.
///
/// In its folder, all of it optional:
///
/// - `SERIES.patch`, for `patch -p1`: one for each series of kernels that it is known to work with
///   (`6.12.patch`). A feature without patches works with any kernel.
/// - `files/`: what is added to a kernel's source, at the same path there. What begins with `#!` is a
///   program.
/// - `needs.config`: options without which it is nothing; a build that refuses one fails.
/// - `wants.config`: options that it asks for, and takes as they come.
/// - `guest.config`: what a guest of it needs of the configurations that trimtab carries.
/// - `smp.config`: what it needs for several CPUs.
/// - other `NAME.config`: for whoever asks for them by [name](Feature::fragment).
#[derive(Debug)]
pub struct Feature {
    /// Its name, which messages and caches know it by.
    pub name: &'static str,
    /// The features that it stands on: their patches and options come before its own.
    pub over: &'static [&'static Feature],
    /// Its folder.
    pub folder: Dir<'static>,
    /// Files of a build directory that the kernel's own build includes and that are made elsewhere, such
    /// as an order of functions. They are empty until somebody [gives](Generated) them.
    pub generated: &'static [&'static str],
}

impl Feature {
    /// The series of kernels that it has a patch for, newest first; empty where it needs none.
    pub fn series(&self) -> Vec<&str> {
        let mut series: Vec<&str> = self
            .folder
            .files()
            .filter_map(|file| file.path().to_str()?.rsplit('/').next()?.strip_suffix(".patch"))
            .collect();
        newest_first(&mut series);
        series
    }

    /// Whether it works with kernels of a series.
    pub fn supports(&self, series: &str) -> bool {
        let known = self.series();
        known.is_empty() || known.contains(&series)
    }

    /// The patch for a series, where there is one.
    pub fn patch(&self, series: &str) -> Option<&str> {
        self.text(&format!("{series}.patch"))
    }

    /// The lines of `NAME.config`, where there is one.
    pub fn fragment(&self, name: &str) -> Option<&str> {
        self.text(&format!("{name}.config"))
    }

    /// What is added to a kernel's source: paths there and contents, in the order of the paths.
    pub fn files(&self) -> Vec<(String, &[u8])> {
        let mut files = Vec::new();
        let mut folders: Vec<&Dir<'_>> = self.folder.get_dir("files").into_iter().collect();
        while let Some(folder) = folders.pop() {
            folders.extend(folder.dirs());
            files.extend(folder.files().filter_map(|file| {
                let path = file.path().strip_prefix("files").ok()?;
                Some((path.to_str()?.to_owned(), file.contents()))
            }));
        }
        files.sort_unstable();
        files
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.folder.get_file(name)?.contents_utf8()
    }
}

/// These features and all that they stand on, each once, and behind those that it stands on.
pub fn with_all_below<'a>(features: &[&'a Feature]) -> Vec<&'a Feature> {
    let mut all: Vec<&Feature> = Vec::new();
    for feature in features {
        for feature in with_all_below(feature.over).into_iter().chain([*feature]) {
            if !all.iter().any(|known| known.name == feature.name) {
                all.push(feature);
            }
        }
    }
    all
}

/// The series that all of these features work with, and all that they stand on, newest first; none where
/// they work with any.
pub fn common_series<'a>(features: &[&'a Feature]) -> Option<Vec<&'a str>> {
    let features = with_all_below(features);
    let patched = features.iter().find(|feature| !feature.series().is_empty())?;
    let mut series = patched.series();
    series.retain(|series| features.iter().all(|feature| feature.supports(series)));
    Some(series)
}

/// Sorts series of kernels, newest first: 6.12 is newer than 6.1.
pub fn newest_first<T: AsRef<str>>(series: &mut [T]) {
    series.sort_by_key(|series| {
        let numbers = series.as_ref().split('.').map(|part| part.parse().unwrap_or(0));
        std::cmp::Reverse(numbers.collect::<Vec<u32>>())
    });
}
