//! Files in a program's folder that are no part of it: what trimtab reads and writes there. A work directory
//! remembers them, so that what one run left there does not make another program of it for the next.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The list, in the folder of the work directory for what is tuned: a path a line, as JSON.
const FILE: &str = "outside";

/// All that is known of a work directory: these `files`, which it remembers from now on, those of earlier
/// runs, and those that this process's output goes to.
///
/// # Errors
/// That the list cannot be read or written.
pub fn known(tune: &Path, files: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut new: Vec<PathBuf> = files.iter().map(|file| place(file)).collect::<Result<_>>()?;
    new.extend((1..=2).filter_map(output));
    remember(tune, &new)?;
    let mut all = remembered(tune)?;
    all.extend(new);
    Ok(all)
}

/// Has a work directory remember a file that was written from what is in it.
///
/// # Errors
/// That the list cannot be written.
pub fn add(tune: &Path, file: &Path) -> Result<()> {
    remember(tune, &[place(file)?])
}

fn remember(tune: &Path, places: &[PathBuf]) -> Result<()> {
    let old = remembered(tune)?;
    let mut text = String::new();
    for place in places.iter().filter(|place| !old.contains(place)) {
        // A name that is no text is not remembered.
        if let Ok(line) = serde_json::to_string(place) {
            text += &line;
            text.push('\n');
        }
    }
    if text.is_empty() {
        return Ok(());
    }
    let list = tune.join(FILE);
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(tune)?;
        // Appended at once, as others may do so meanwhile.
        File::options().create(true).append(true).open(&list)?.write_all(text.as_bytes())
    };
    write().with_context(|| format!("cannot write {}", list.display()))
}

fn remembered(tune: &Path) -> Result<Vec<PathBuf>> {
    let list = tune.join(FILE);
    let text = match fs::read_to_string(&list) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.with_context(|| format!("cannot read {}", list.display()))?,
    };
    // A line that was cut short names nothing.
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// Where a file is, or will be: without links and dots, as it is found in its folder.
fn place(file: &Path) -> Result<PathBuf> {
    let whole = std::path::absolute(file).context("cannot find the current folder")?;
    let folder = whole.parent().and_then(|folder| folder.canonicalize().ok());
    Ok(folder.zip(whole.file_name()).map_or(whole.clone(), |(folder, name)| folder.join(name)))
}

/// The file that an output of this process goes to, if it is one: it grows.
fn output(number: u32) -> Option<PathBuf> {
    let place = fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
    place.is_file().then_some(place)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn files_are_remembered_by_where_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let tune = root.join("work/tune");
        fs::create_dir(root.join("sub")).unwrap();
        for name in ["a.html", "sub/../b.html", "./a.html"] {
            known(&tune, &[root.join(name)]).unwrap();
        }
        add(&tune, &root.join("none/tried\n.jsonl")).unwrap();
        let odd = root.join(OsStr::from_bytes(b"odd\xff.html"));
        assert!(known(&tune, std::slice::from_ref(&odd)).unwrap().contains(&odd));
        let found = known(&tune, &[]).unwrap();
        let own = found.iter().filter_map(|place| place.strip_prefix(&root).ok());
        let names: Vec<&Path> = own.collect();
        assert_eq!(names, ["a.html", "b.html", "none/tried\n.jsonl"].map(Path::new));
    }
}
