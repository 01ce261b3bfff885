//! The makefiles of a tree, and what they compile only with SMP.

use std::collections::BTreeMap;
use std::path::Path;

use trimtab_lab::bytes::Bytes;

use crate::kbuild::{OnlySmp, only_smp};

/// The longest makefile that is read.
const LONGEST: usize = 4 << 20;

/// What the makefiles of a tree compile only with SMP, by folder.
#[derive(Debug, Default)]
pub(super) struct Makefiles(BTreeMap<String, Vec<OnlySmp>>);

impl Makefiles {
    /// Reads those at these paths. What cannot be read says nothing.
    pub(super) fn read(root: &Path, paths: &[String]) -> Self {
        let mut folders: BTreeMap<String, Vec<OnlySmp>> = BTreeMap::new();
        for path in paths {
            let Ok(bytes) = Bytes::open(&root.join(path)) else { continue };
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]);
            let found = only_smp(&text);
            if found != OnlySmp::default() {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                folders.entry(folder.to_owned()).or_default().push(found);
            }
        }
        Self(folders)
    }

    /// Whether a file is compiled only with SMP.
    pub(super) fn only_smp(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at);
        let has = |folder: &str, rest: &str| {
            self.0.get(folder).is_some_and(|found| found.iter().any(|found| found.has(rest)))
        };
        has("", path) || ends.into_iter().any(|at| has(&path[..at], &path[at + 1..]))
    }
}
