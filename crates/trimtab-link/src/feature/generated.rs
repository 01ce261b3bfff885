//! Files that are made for one build of a kernel.

use std::collections::BTreeMap;

/// Files of a kernel's build directory that its own build includes, by their paths there. Those that a
/// [feature](super::Feature) names and that are not here are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GeneratedFiles {
    files: BTreeMap<String, String>,
}

impl GeneratedFiles {
    /// Nothing: a kernel as its sources have it.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with the file at `path`, relative to the build directory.
    #[must_use]
    pub fn with(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        self.files.insert(path.into(), text.into());
        self
    }

    /// The same with what `more` has; where both have a file, that of `more`.
    #[must_use]
    pub fn and(mut self, more: &GeneratedFiles) -> Self {
        self.files.extend(more.files.clone());
        self
    }

    /// Paths and texts, in the order of the paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The text at `path`, if it is there.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }
}
