//! A build whose functions are split by blocks, in a build directory of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::file;
use super::{Build, Configuration, KernelError};
use trimtab_lab::cache::Key;
use trimtab_lab::process::Job;
use trimtab_lab::workdir::{Step, write_whole};

/// Where our patch of the kernel looks for what follows, in the build directory.
const GENERATED: &str = "include/generated";
/// The makefile that says which object has which list.
const LISTS: &str = "block-lists";
/// Where the lists are, in the folder of the makefile.
const FOLDER: &str = "blocks";
/// The symbols that lld puts first where the kernel's text has a place of its own.
const SYMBOLS: &str = "function-order.symbols";

const COPY_LIMIT: Duration = Duration::from_secs(600);

/// What clang is told of the blocks of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockList {
    /// The object, relative to the build directory: `kernel/fork.o`.
    pub object: String,
    /// The list for `-fbasic-block-sections=list=`.
    pub text: String,
}

/// How the functions of a build are to be split.
#[derive(Debug, Clone, Copy)]
pub struct Splits<'a> {
    /// Which blocks belong together.
    pub lists: &'a [BlockList],
    /// Flags for the compiler where there is a list.
    pub flags: &'a str,
    /// Functions to put first within text that has a place of its own and is not ordered.
    pub first: &'a [&'a str],
}

/// All lists of a build, as its directory holds them.
#[derive(Debug, Clone)]
pub(super) struct Lists {
    makefile: String,
    symbols: String,
    /// By file name.
    files: BTreeMap<String, String>,
}

impl Lists {
    fn new(splits: &Splits<'_>) -> Self {
        let mut makefile = format!("block-list-flags := {}\n", splits.flags);
        let symbols = splits.first.iter().map(|name| format!("{name}\n")).collect();
        let mut files = BTreeMap::new();
        for list in splits.lists {
            let hash = Key::new("block-list/1").bytes("text", list.text.as_bytes()).hash();
            let name = hash.get(..16).unwrap_or(&hash).to_owned();
            makefile.push_str(&format!("block-list-{} := {FOLDER}/{name}\n", list.object));
            files.insert(name, list.text.clone());
        }
        Lists { makefile, symbols, files }
    }

    /// Puts all of it into a build directory.
    pub(super) fn write(&self, build: &Path) -> Result<(), KernelError> {
        let folder = build.join(GENERATED);
        self.write_lists(&folder)?;
        write_changed(&folder.join(SYMBOLS), &self.symbols)
    }

    /// Puts the lists into a folder. The makefile comes last: what it names is there.
    fn write_lists(&self, folder: &Path) -> Result<(), KernelError> {
        let lists = folder.join(FOLDER);
        fs::create_dir_all(&lists).map_err(file("make", &lists))?;
        for (name, text) in &self.files {
            let path = lists.join(name);
            if !path.is_file() {
                write_whole(&path, text.as_bytes())?;
            }
        }
        write_changed(&folder.join(LISTS), &self.makefile)
    }
}

/// Writes what `CONFIG_BLOCK_ORDER` takes into a folder: `block-lists`, a makefile that names a list
/// for each object, and the lists in `blocks`. A list is named by its contents, so that make
/// compiles again only what changed.
///
/// # Errors
/// Files that cannot be written.
pub fn write_block_lists(splits: &Splits<'_>, folder: &Path) -> Result<(), KernelError> {
    Lists::new(splits).write_lists(folder)
}

/// Writes a file unless it is as it should be: make goes by its time of change.
fn write_changed(path: &Path, text: &str) -> Result<(), KernelError> {
    if fs::read_to_string(path).is_ok_and(|present| present == text) {
        return Ok(());
    }
    Ok(write_whole(path, text.as_bytes())?)
}

impl<'work> Build<'work> {
    /// Whether functions of this build can be split: the compiler has to be clang.
    pub fn can_split(&self) -> bool {
        let path = Configuration::file(self.directory());
        fs::read_to_string(path).is_ok_and(|result| Configuration::can_split(&result))
    }

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

    /// The same build with functions split. It has a directory of its own, to which what was
    /// compiled is copied, so that only objects with a list are compiled again, and this build stays
    /// as it is.
    ///
    /// # Errors
    /// If this build was never [linked](Build::link), or files cannot be written.
    pub fn split(&self, splits: &Splits<'_>) -> Result<Build<'work>, KernelError> {
        let key = Key::new("kernel-blocks/1").after(&self.key);
        let directory = match self.work.resumable("kernel-blocks", &key)? {
            Step::Done(path) => path,
            Step::Todo(building) => {
                Job::new("copying what was compiled", "cp")
                    .args(["-a", "--reflink=auto", "--"])
                    .arg(format!("{}/.", self.directory().display()))
                    .arg(building.path())
                    .limit(COPY_LIMIT)
                    .run()?;
                moved(building.path(), self.directory(), building.path())?;
                building.finish()?
            }
        };
        let lists = Lists::new(splits);
        let key = key
            .bytes("lists", lists.makefile.as_bytes())
            .bytes("symbols", lists.symbols.as_bytes());
        Ok(self.with_lists(directory, key, lists))
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

    #[test]
    fn a_list_that_changes_changes_the_name_that_the_makefile_gives() {
        let list = |text: &str| BlockList { object: "a/b.o".into(), text: text.into() };
        let lists = |text: &str| {
            Lists::new(&Splits { lists: &[list(text)], flags: "-flag", first: &["a", "b"] })
        };
        let (one, other) = (lists("v1\nf x\nc 0\n"), lists("v1\nf x\nc 0 1\n"));
        assert_ne!(one.makefile, other.makefile);
        let root = tempfile::tempdir().unwrap();
        one.write(root.path()).unwrap();
        let makefile = fs::read_to_string(root.path().join(GENERATED).join(LISTS)).unwrap();
        let (flags, rest) = makefile.split_once('\n').unwrap();
        assert_eq!(flags, "block-list-flags := -flag");
        let name = rest.trim_end().strip_prefix("block-list-a/b.o := ").unwrap();
        assert_eq!(
            fs::read_to_string(root.path().join(GENERATED).join(SYMBOLS)).unwrap(),
            "a\nb\n"
        );
        let list = root.path().join(GENERATED).join(name);
        assert_eq!(fs::read_to_string(list).unwrap(), "v1\nf x\nc 0\n");
    }
}
