use std::fs;
use std::path::{Path, PathBuf};

use super::KernelError;

const TINY: &str = include_str!("../../../../linux/config/tiny.config");
const LAB: &str = include_str!("../../../../linux/config/lab.config");
/// What a layout needs of any configuration.
const LAYOUT: &str = include_str!("../../../../linux/config/layout.config");

/// Which kernel to build of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    name: String,
    text: String,
    whole: bool,
}

impl Configuration {
    /// `tiny` and `lab`, which trimtab carries and lays over the kernel's `tinyconfig`; any other
    /// name is the path of a whole `.config`.
    ///
    /// # Errors
    /// [`KernelError::Configuration`] where such a file cannot be read.
    pub fn named(name: &str) -> Result<Self, KernelError> {
        let (text, whole) = match name {
            "tiny" => (TINY.to_owned(), false),
            "lab" => (LAB.to_owned(), false),
            _ => {
                let path = PathBuf::from(name);
                let text = fs::read_to_string(&path)
                    .map_err(|source| KernelError::Configuration { path, source })?;
                (text, true)
            }
        };
        Ok(Configuration { name: name.to_owned(), text, whole })
    }

    /// Its name, or the path of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it starts from nothing, not from `tinyconfig`.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Its lines, with those that a layout needs at the end, where they win.
    pub(super) fn text(&self) -> String {
        format!("{}\n{LAYOUT}", self.text)
    }

    /// Options asked for with `=y` that are not in `result`, a whole `.config`; first those without
    /// which there is no layout.
    pub(super) fn refused(&self, result: &str) -> Vec<String> {
        let accepted: std::collections::HashSet<&str> = result.lines().collect();
        let asked = |text: &str| {
            text.lines()
                .map(str::trim)
                .filter(|line| line.starts_with("CONFIG_") && line.ends_with("=y"))
                .filter(|line| !accepted.contains(line))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let mut refused = asked(LAYOUT);
        if !self.whole {
            refused.extend(asked(&self.text));
        }
        refused
    }

    /// Whether `option` is one without which there is no layout.
    pub(super) fn is_needed(option: &str) -> bool {
        LAYOUT.lines().any(|line| line == option)
    }

    /// Where the resulting configuration of a build directory is.
    pub(super) fn file(build: &Path) -> PathBuf {
        build.join(".config")
    }
}
