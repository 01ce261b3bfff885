//! The files of a tree. Symbolic links are not followed: what they lead to is in the tree as well, or no
//! part of it, and they may lead in circles.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::file::Language;
use crate::kbuild;
use crate::kconfig;
use crate::set;

/// How deep folders may lie in one another.
const DEEPEST: usize = 64;

/// The files of a tree that are read.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Paths in the tree, by name, each with what it is written in.
    pub(super) sources: Vec<(String, Language)>,
    /// Makefiles, by their paths in the tree.
    pub(super) makefiles: Vec<String>,
    /// Files that describe options, by their paths in the tree.
    pub(super) kconfigs: Vec<String>,
    /// Links that were not followed.
    pub(super) links: u64,
    /// Paths that are not read, each with the reason.
    pub(super) left_out: Vec<(String, String)>,
}

impl Files {
    /// Of the tree in a folder.
    ///
    /// # Errors
    /// That the folder cannot be read.
    pub(super) fn of(root: &Path) -> Result<Self> {
        let mut files = Self::default();
        fs::read_dir(root).with_context(|| format!("cannot read {}", root.display()))?;
        files.folder(root, "", 0);
        files.sources.sort();
        files.kconfigs.sort();
        files.left_out.sort();
        Ok(files)
    }

    fn folder(&mut self, folder: &Path, path: &str, depth: usize) {
        let entries = match fs::read_dir(folder) {
            _ if depth > DEEPEST => {
                let why = "the folder lies too deep in others".to_owned();
                return self.left_out.push((path.to_owned(), why));
            }
            Err(error) => {
                return self.left_out.push((path.to_owned(), format!("cannot be read: {error}")));
            }
            Ok(entries) => entries,
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let inner = match path {
                "" => name.to_string_lossy().into_owned(),
                _ => format!("{path}/{}", name.to_string_lossy()),
            };
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_symlink() {
                self.links += 1;
            } else if kind.is_dir() {
                if inner != ".git" {
                    self.folder(&entry.path(), &inner, depth + 1);
                }
            } else if kind.is_file() && kbuild::is_makefile(&inner) {
                self.makefiles.push(inner);
            } else if kind.is_file() && kconfig::is_kconfig(&inner) {
                self.kconfigs.push(inner);
            } else if let Some(language) = set::language(&inner) {
                if kind.is_file() && name.to_str().is_some() {
                    self.sources.push((inner, language));
                } else {
                    let why = "it is no file, or its name is not UTF-8".to_owned();
                    self.left_out.push((inner, why));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_in_circles_and_pipes_are_left_alone() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        fs::create_dir_all(root.path().join(".git")).unwrap();
        for file in ["a/b/x.c", "a/y.h", "z.o", ".git/c.c"] {
            fs::write(root.path().join(file), "").unwrap();
        }
        symlink(root.path(), root.path().join("a/b/around")).unwrap();
        symlink("self.c", root.path().join("self.c")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.path().join("s.c")).unwrap();
        let files = Files::of(root.path()).unwrap();
        let names: Vec<&str> = files.sources.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(names, ["a/b/x.c", "a/y.h"]);
        assert_eq!((files.links, files.left_out.len()), (2, 1));
        assert!(Files::of(&root.path().join("none")).is_err());
    }

    #[test]
    fn folders_without_end_have_one() {
        let root = tempfile::tempdir().unwrap();
        let deep = vec!["d"; DEEPEST + 2].join("/");
        fs::create_dir_all(root.path().join(&deep)).unwrap();
        fs::write(root.path().join(&deep).join("x.c"), "").unwrap();
        let files = Files::of(root.path()).unwrap();
        assert_eq!((files.sources.len(), files.left_out.len()), (0, 1));
    }
}
