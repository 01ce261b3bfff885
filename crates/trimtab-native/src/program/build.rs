//! The user's own build, with wrapped tools, and what it linked.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use super::error::io;
use super::wrap::{Link, Wrappers};
use super::{Command, Limits, ProgramError};
use trimtab_lab::process::JobResult;

/// Runs the build; its output goes to `log`.
///
/// # Errors
/// That it fails, takes longer than `limit`, or a file cannot be written.
pub fn build(
    command: &Command,
    wrappers: &Wrappers,
    limit: Duration,
    log: &Path,
) -> Result<JobResult, ProgramError> {
    // Builds start as many processes as they like.
    let limits = Limits { time: limit, processes: usize::MAX };
    let words = ["/bin/sh", "-c", &command.text].map(std::ffi::OsString::from);
    let mut applied = Ok(());
    let finished = command.run("the build", &words, limits, log, |job| {
        wrappers.apply(job.clone()).unwrap_or_else(|error| {
            applied = Err(error);
            job
        })
    });
    applied?;
    match finished {
        Err(ProgramError::Ended { command, how, said }) => {
            Err(ProgramError::Build { command, how, said })
        }
        finished => finished,
    }
}

/// The link that made the file at `path`: what was linked there, or to another name of the same
/// file (cargo does so), or to a file of the same content, which the build then copied. None made a
/// file that is not there.
///
/// # Errors
/// [`ProgramError::File`] where `path` cannot be read.
pub fn link_of<'a>(links: &'a [Link], path: &Path) -> Result<Option<&'a Link>, ProgramError> {
    let path = match path.canonicalize() {
        Ok(path) => path,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io("find", path)(error)),
    };
    let data = fs::metadata(&path).map_err(io("read", &path))?;
    let same = |link: &&Link| {
        link.output.canonicalize().is_ok_and(|output| output == path)
            || fs::metadata(&link.output)
                .is_ok_and(|other| (other.dev(), other.ino()) == (data.dev(), data.ino()))
    };
    if let Some(link) = links.iter().find(same) {
        return Ok(Some(link));
    }
    let content = fs::read(&path).map_err(io("read", &path))?;
    Ok(links.iter().find(|link| {
        fs::metadata(&link.output).is_ok_and(|other| other.len() == data.len())
            && fs::read(&link.output).is_ok_and(|other| other == content)
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_name_link_or_content() {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let link = |output: &Path| Link {
            output: output.into(),
            map: "map".into(),
            directory: "/".into(),
            order: None,
            together: false,
        };
        let links = [link(&file("a", "text a")), link(&file("b", "text b"))];
        let linked = root.path().join("linked");
        fs::hard_link(&links[1].output, &linked).unwrap();
        let soft = root.path().join("soft");
        std::os::unix::fs::symlink("b", &soft).unwrap();
        for path in [&links[1].output, &linked, &soft, &file("copy", "text b")] {
            assert_eq!(link_of(&links, path).unwrap(), Some(&links[1]), "{}", path.display());
        }
        assert_eq!(link_of(&links, &file("c", "text c")).unwrap(), None);
        assert_eq!(link_of(&links, &root.path().join("none")).unwrap(), None);
    }
}
