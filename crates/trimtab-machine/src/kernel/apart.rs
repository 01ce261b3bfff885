//! A build that is given other files, in a directory of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::file;
use super::{Build, KernelError};
use trimtab_lab::cache::Key;
use trimtab_lab::process::Job;
use trimtab_lab::workdir::{KeptStep, WorkError};
use trimtab_link::feature::GeneratedFiles;

const COPY_LIMIT: Duration = Duration::from_secs(600);

impl<'work> Build<'work> {
    /// The objects that were compiled from C, relative to the build directory, in order.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn objects(&self) -> Result<Vec<String>, KernelError> {
        let mut objects = Vec::new();
        collect(self.directory(), Path::new(""), &mut objects)?;
        objects.sort_unstable();
        Ok(objects)
    }

    /// The same build, each kernel of which gets these files. It has a directory of its own, to which what
    /// was compiled is copied, so that only what the files change is compiled again, and this build stays
    /// as it is.
    ///
    /// # Errors
    /// If this build was never [linked](Build::link), or files cannot be written.
    pub fn apart(&self, generated: &GeneratedFiles) -> Result<Build<'work>, KernelError> {
        let copy = self.work.get(&Copy { of: self })?;
        let mut key = copy.key;
        for (path, text) in generated.files() {
            key = key.bytes(path, text.as_bytes());
        }
        Ok(self.moved_to(copy.folder, key, self.given.clone().and(generated)))
    }
}

/// A build directory with all that was compiled in another one.
struct Copy<'a> {
    of: &'a Build<'a>,
}

impl KeptStep for Copy<'_> {
    const KIND: &'static str = "kernel-apart";
    const VERSION: u32 = 1;
    /// Notes name the directory that they are in.
    const RESUMABLE: bool = true;
    type Record = ();
    type Error = KernelError;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        Ok(key.after(&self.of.key))
    }

    fn make(&self, at: &Path) -> Result<(), KernelError> {
        Job::new("copying what was compiled", "cp")
            .args(["-a", "--reflink=auto", "--"])
            .arg(format!("{}/.", self.of.directory().display()))
            .arg(at)
            .limit(COPY_LIMIT)
            .run()?;
        moved(at, self.of.directory(), at)
    }
}

/// Puts the new place of a copied build directory into the notes of how things were made: make
/// compares them with how it would make them now. The kernel's own tools, such as objtool, are made
/// with absolute paths, and everything depends on them.
fn moved(folder: &Path, from: &Path, to: &Path) -> Result<(), KernelError> {
    let (from_text, to_text) = (from.display().to_string(), to.display().to_string());
    for entry in fs::read_dir(folder).map_err(file("read", folder))? {
        let entry = entry.map_err(file("read", folder))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(file("read", &path))?;
        if kind.is_dir() {
            moved(&path, from, to)?;
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "cmd") {
            let note = fs::read_to_string(&path).map_err(file("read", &path))?;
            if note.contains(&from_text) {
                let note = note.replace(&from_text, &to_text);
                fs::write(&path, note).map_err(file("write", &path))?;
            }
        }
    }
    Ok(())
}

/// Collects the objects below `folder` of `root`: kbuild notes beside each how it was made.
fn collect(root: &Path, folder: &Path, objects: &mut Vec<String>) -> Result<(), KernelError> {
    let path = root.join(folder);
    for entry in fs::read_dir(&path).map_err(file("read", &path))? {
        let entry = entry.map_err(file("read", &path))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let kind = entry.file_type().map_err(file("read", entry.path()))?;
        if kind.is_dir() {
            collect(root, &folder.join(name), objects)?;
        } else if let Some(object) = name.strip_prefix('.').and_then(|n| n.strip_suffix(".cmd"))
            && object.ends_with(".o")
        {
            let note = fs::read_to_string(entry.path()).map_err(file("read", entry.path()))?;
            let from_c =
                |line: &str| line.starts_with("source_") && line.trim_end().ends_with(".c");
            if note.lines().any(from_c) {
                objects.push(PathBuf::from(folder).join(object).display().to_string());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_those_that_kbuild_compiled_from_c() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("kernel/.fork.o.cmd", "savedcmd_x := clang\n\nsource_kernel/fork.o := ../fork.c\n");
        write("kernel/.entry.o.cmd", "source_kernel/entry.o := ../entry.S\n");
        write("kernel/.both.o.cmd", "savedcmd_kernel/both.o := ld -r\n");
        write("init/.main.o.cmd", "source_init/main.o := ../main.c\n");
        write("init/.main.i.cmd", "source_init/main.i := ../main.c\n");
        let mut objects = Vec::new();
        collect(root.path(), Path::new(""), &mut objects).unwrap();
        objects.sort();
        assert_eq!(objects, ["init/main.o", "kernel/fork.o"]);
    }

    #[test]
    fn notes_of_a_copied_directory_name_its_new_place() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (Path::new("/old/build"), root.path());
        fs::create_dir(to.join("tools")).unwrap();
        fs::write(to.join("tools/.a.o.cmd"), "cmd := gcc /old/build/tools/a.c\n").unwrap();
        fs::write(to.join("tools/a.c"), "/old/build").unwrap();
        moved(to, from, to).unwrap();
        let note = fs::read_to_string(to.join("tools/.a.o.cmd")).unwrap();
        assert_eq!(note, format!("cmd := gcc {}/tools/a.c\n", to.display()));
        assert_eq!(fs::read_to_string(to.join("tools/a.c")).unwrap(), "/old/build");
    }
}
