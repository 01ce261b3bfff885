//! What one step depends on.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Hashes, unreadable};
use crate::workdir::error::WorkError;

/// What one step depends on: named values. The order in which they are given does not matter;
/// a name that is given twice keeps the last value. Only of [several steps of one kind](Key::after) the
/// order counts, and all of them do.
///
/// Everything that can change the result belongs in: tool versions, configurations, patches,
/// sources, options, seeds, and the keys of the steps before it ([`Key::after`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    kind: String,
    fields: BTreeMap<String, String>,
}

impl Key {
    /// A key for steps of a kind, say `kernel-build`. Give the kind another name (`kernel-build/2`)
    /// when the code of the step changes what it makes of the same inputs.
    pub fn new(kind: &str) -> Self {
        Self { kind: kind.to_owned(), fields: BTreeMap::new() }
    }

    /// Depends on a value, as it displays.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Display) -> Self {
        self.fields.insert(name.to_owned(), value.to_string());
        self
    }

    /// Depends on bytes that are too many to be kept in the key: on their hash.
    #[must_use]
    pub fn bytes(self, name: &str, bytes: &[u8]) -> Self {
        self.field(name, format_args!("sha256:{}", hex::encode(Sha256::digest(bytes))))
    }

    /// Depends on the content of a file, not on where it is.
    ///
    /// # Errors
    /// [`WorkError::Io`] where it cannot be read.
    pub fn file(self, name: &str, path: &Path, hashes: &Hashes) -> Result<Self, WorkError> {
        let hash = hashes.of(path)?;
        Ok(self.field(name, format_args!("sha256:{hash}")))
    }

    /// Depends on a directory of many files, such as a kernel source tree: on its place and on the
    /// names, sizes, modes and times of change of what is in it. The content is not read, which
    /// would take many seconds.
    ///
    /// # Errors
    /// [`WorkError::Io`] where it cannot be read.
    pub fn tree(self, name: &str, root: &Path) -> Result<Self, WorkError> {
        let root = root.canonicalize().map_err(unreadable(root))?;
        let mut hasher = Sha256::new();
        hash_tree(&root, &mut hasher)?;
        Ok(self.field(name, format_args!("{} {}", root.display(), hex::encode(hasher.finalize()))))
    }

    /// Depends on all that an earlier step depended on. Of several steps of one kind each counts, in the
    /// order in which they are given.
    #[must_use]
    pub fn after(self, earlier: &Key) -> Self {
        let first = format!("after {}", earlier.kind);
        self.at_free(first, earlier)
    }

    /// The same of a step that has a part of its own in this one, such as the boots that judge a plan beside
    /// those that made it: those of another name are told apart from it.
    #[must_use]
    pub fn after_as(self, name: &str, earlier: &Key) -> Self {
        let first = format!("after {} as {name}", earlier.kind);
        self.at_free(first, earlier)
    }

    fn at_free(self, first: String, earlier: &Key) -> Self {
        let further = (2u64..).map(|number| format!("{first} #{number}"));
        let mut names = std::iter::once(first.clone()).chain(further);
        let free = names.find(|name| !self.fields.contains_key(name));
        self.field(&free.unwrap_or(first), earlier.hash())
    }

    /// SHA-256 over kind and fields, in hexadecimal.
    pub fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        let mut add = |text: &str| {
            // The length in front keeps ("ab", "c") apart from ("a", "bc").
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text);
        };
        add(&self.kind);
        for (name, value) in &self.fields {
            add(name);
            add(value);
        }
        hex::encode(hasher.finalize())
    }
}

fn hash_tree(directory: &Path, hasher: &mut Sha256) -> Result<(), WorkError> {
    let mut entries = fs::read_dir(directory)
        .and_then(|entries| entries.collect::<Result<Vec<_>, _>>())
        .map_err(unreadable(directory))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    hasher.update((entries.len() as u64).to_le_bytes());
    for entry in entries {
        let path = entry.path();
        let data = path.symlink_metadata().map_err(unreadable(&path))?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        hasher.update((name.len() as u64).to_le_bytes());
        hasher.update(name);
        hasher.update(data.mode().to_le_bytes());
        if data.is_dir() {
            // A directory's own time changes with temporary files that come and go.
            hash_tree(&path, hasher)?;
        } else {
            hasher.update(data.size().to_le_bytes());
            hasher.update(data.mtime().to_le_bytes());
            hasher.update(data.mtime_nsec().to_le_bytes());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_counts_and_order_does_not() {
        let key = Key::new("build").field("config", "lab").field("llvm", 22);
        assert_eq!(key, Key::new("build").field("llvm", 22).field("config", "lab"));
        assert_eq!(key.hash().len(), 64);
        for other in [
            Key::new("boot").field("config", "lab").field("llvm", 22),
            Key::new("build").field("config", "lab"),
            Key::new("build").field("config", "lab").field("llvm", 21),
            Key::new("build").field("config", "lab").field("gcc", 22),
            Key::new("build").field("config", "labl").field("lvm", 22),
            key.clone().field("seed", 0),
            key.clone().after(&Key::new("unpack")),
        ] {
            assert_ne!(key.hash(), other.hash(), "{other:?}");
        }
    }

    #[test]
    fn each_of_several_earlier_steps_counts() {
        let boot = |number: u32| Key::new("boot").field("number", number);
        let after = |numbers: &[u32]| {
            numbers.iter().fold(Key::new("plan"), |key, number| key.after(&boot(*number))).hash()
        };
        let all = [&[][..], &[1], &[2], &[1, 2], &[2, 1], &[1, 1], &[1, 2, 1], &[1, 2, 2]];
        let hashes: std::collections::BTreeSet<String> =
            all.iter().map(|numbers| after(numbers)).collect();
        assert_eq!(hashes.len(), all.len());
    }

    #[test]
    fn what_part_an_earlier_step_has_counts() {
        let boot = |number: u32| Key::new("boot").field("number", number);
        let as_parts = |numbers: &[(&str, u32)]| {
            let key = Key::new("plan");
            numbers
                .iter()
                .fold(key, |key, (name, number)| key.after_as(name, &boot(*number)))
                .hash()
        };
        let all: [&[(&str, u32)]; 6] = [
            &[("made", 1)],
            &[("held out", 1)],
            &[("made", 1), ("held out", 2)],
            &[("made", 2), ("held out", 1)],
            &[("made", 1), ("made", 2)],
            &[("made", 1), ("made", 2), ("held out", 3)],
        ];
        let mut hashes: std::collections::BTreeSet<String> =
            all.iter().map(|parts| as_parts(parts)).collect();
        hashes.insert(Key::new("plan").after(&boot(1)).hash());
        assert_eq!(hashes.len(), all.len() + 1);
    }

    #[test]
    fn the_hash_stays_what_it_is() {
        // A change here makes every user's cache useless: change it knowingly.
        assert_eq!(
            Key::new("build").field("config", "lab").hash(),
            "cf9997acac0ca4f5b649d3011ad65e0c0a197aac1aacc6afe2bea4c5ad1b5df3"
        );
    }

    #[test]
    fn a_tree_changes_with_names_sizes_and_modes_of_its_files() {
        let root = tempfile::tempdir().unwrap();
        let hash = || Key::new("tree").tree("source", root.path()).unwrap().hash();
        fs::create_dir(root.path().join("a")).unwrap();
        fs::write(root.path().join("a/file"), "1").unwrap();
        let first = hash();
        assert_eq!(first, hash());
        fs::write(root.path().join("a/file"), "12").unwrap();
        let second = hash();
        assert_ne!(first, second);
        fs::rename(root.path().join("a/file"), root.path().join("a/other")).unwrap();
        assert_ne!(second, hash());
        assert!(Key::new("tree").tree("source", &root.path().join("none")).is_err());
    }
}
