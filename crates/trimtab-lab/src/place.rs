//! Where trimtab may write: a work directory belongs to who works in it. Nobody else can write there, and no link
//! leads out of it; otherwise somebody could have trimtab overwrite files elsewhere.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use nix::libc;
use nix::unistd::{Gid, Group, User, geteuid};
use thiserror::Error;

use crate::shell::quoted;

/// Why nothing is written at a place.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// Others can write there.
    #[error(
        "others can write to {} (its mode is {mode:o}), and so have trimtab overwrite files elsewhere",
        path.display()
    )]
    Shared {
        /// The directory.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Others can put another directory in its place.
    #[error(
        "others can write to {} (its mode is {mode:o}, without the sticky bit), and so put a directory of theirs in the \
         place of {}",
        path.display(), inside.display()
    )]
    Replaceable {
        /// The directory in which others can write.
        path: PathBuf,
        /// What is in it, where trimtab would work.
        inside: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// What should be in a work directory is elsewhere.
    #[error(
        "{} is a link to {}; trimtab follows no links out of a work directory",
        path.display(), target.display()
    )]
    Link {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// Its name has something in it that builds cannot be told.
    #[error("trimtab cannot work in {}: its name {why}", path.display())]
    Name {
        /// The directory.
        path: PathBuf,
        /// What the matter is.
        why: &'static str,
    },
    /// The system said no.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl PlaceError {
    /// What to do.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Shared { path, .. } => Some(format!(
                "chmod go-w {}, or give a directory of your own with --work",
                quoted(path)
            )),
            Self::Replaceable { path, .. } => Some(format!(
                "chmod o-w {0}, or chmod +t {0} as for /tmp, or give a directory elsewhere with --work",
                quoted(path)
            )),
            Self::Link { .. } => Some(
                "remove the link; to work elsewhere, give that directory itself with --work"
                    .to_owned(),
            ),
            Self::Name { .. } => Some("give another directory with --work".to_owned()),
            Self::Io { .. } => None,
        }
    }
}

fn failed<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> PlaceError + 'a {
    move |source| PlaceError::Io { action, path: path.to_owned(), source }
}

/// Refuses a directory that builds cannot be told of: it stands in `PATH`, in options of linkers and of QEMU, and in
/// notes of what was built. Before anything is made.
///
/// # Errors
/// [`PlaceError::Name`]; [`PlaceError::Io`] where the folder that this process works in is gone.
pub fn require_name(directory: &Path) -> Result<(), PlaceError> {
    let whole = std::path::absolute(directory).map_err(failed("find", directory))?;
    let why = match whole.to_str() {
        None => "is not UTF-8, which notes of a build are written in",
        Some(name) if name.contains(':') => "has a colon in it, which separates folders in PATH",
        Some(name) if name.contains(',') => {
            "has a comma in it, which separates the options of linkers and of QEMU"
        }
        Some(name) if name.contains('%') => {
            "has a percent sign in it, in whose place linkers put the name of their output"
        }
        Some(_) => return Ok(()),
    };
    Err(PlaceError::Name { path: whole, why })
}

/// Makes a directory, and those above it, in which nobody else can write, whatever the umask. Fine where it is
/// there.
pub(crate) fn make(directory: &Path) -> Result<(), PlaceError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(directory)
        .map_err(failed("make", directory))
}

/// Makes a directory to work in where there is none.
///
/// # Errors
/// [`PlaceError::Shared`] where others can write in it, [`PlaceError::Io`].
pub fn make_own(directory: &Path) -> Result<(), PlaceError> {
    make(directory)?;
    refuse_shared(directory)
}

/// Refuses a directory in which others can write, or in whose place they can put another. Where it lies in one for
/// all, such as /tmp, is fine: what matters is who can put links into it.
///
/// # Errors
/// [`PlaceError::Shared`], [`PlaceError::Replaceable`], [`PlaceError::Io`].
pub fn refuse_shared(directory: &Path) -> Result<(), PlaceError> {
    let data = fs::metadata(directory).map_err(failed("look at", directory))?;
    let by_group = data.mode() & 0o020 != 0 && !is_private(Gid::from_raw(data.gid()));
    if data.mode() & 0o002 != 0 || by_group {
        return Err(PlaceError::Shared { path: directory.to_owned(), mode: data.mode() & 0o7777 });
    }
    refuse_replaceable(&directory.canonicalize().map_err(failed("find", directory))?)
}

/// Refuses a directory, an absolute path without links, in whose place anybody could put another: one of those above
/// it can be written by all, and has no sticky bit, which keeps names to their owners.
fn refuse_replaceable(directory: &Path) -> Result<(), PlaceError> {
    let above: Vec<&Path> = directory.ancestors().skip(1).collect();
    for above in above.into_iter().rev() {
        let mode = fs::metadata(above).map_err(failed("look at", above))?.mode() & 0o7777;
        if mode & 0o002 != 0 && mode & 0o1000 == 0 {
            let (path, inside) = (above.to_owned(), directory.to_owned());
            return Err(PlaceError::Replaceable { path, inside, mode });
        }
        // Nobody else comes further.
        if mode & 0o011 == 0 {
            break;
        }
    }
    Ok(())
}

/// Whether nobody but root and this user is in a group. Many systems give each user such a group, and then let the
/// group write to whatever the user makes.
fn is_private(group: Gid) -> bool {
    if group.as_raw() == 0 {
        return true;
    }
    let user = User::from_uid(geteuid()).ok().flatten();
    let group = Group::from_gid(group).ok().flatten();
    let (Some(user), Some(group)) = (user, group) else { return false };
    group.name == user.name && group.mem.iter().all(|member| *member == user.name)
}

/// Refuses a link in the place of what is trimtab's own.
///
/// # Errors
/// [`PlaceError::Link`].
pub fn refuse_link(path: &Path) -> Result<(), PlaceError> {
    match fs::read_link(path) {
        Ok(target) => Err(PlaceError::Link { path: path.to_owned(), target }),
        // No link, or nothing at all.
        Err(_) => Ok(()),
    }
}

/// Refuses links in `directory`, and in whatever is in it, that lead out of `root`: an absolute path without links.
/// A kernel's build has links of its own, which lead to its source.
pub(crate) fn refuse_links_out(root: &Path, directory: &Path) -> Result<(), PlaceError> {
    refuse_link(directory)?;
    for entry in fs::read_dir(directory).map_err(failed("read", directory))? {
        let entry = entry.map_err(failed("read", directory))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(failed("look at", &path))?;
        if kind.is_dir() {
            refuse_links_out(root, &path)?;
        } else if kind.is_symlink() && !leads_to(&path).starts_with(root) {
            refuse_link(&path)?;
        }
    }
    Ok(())
}

/// Refuses links in `root`, an absolute path without links, that lead out of it: whatever is written below such a
/// name would be written elsewhere. What is deeper is for whoever takes it up again to look at.
pub(crate) fn refuse_entries_out(root: &Path) -> Result<(), PlaceError> {
    for entry in fs::read_dir(root).map_err(failed("read", root))? {
        let entry = entry.map_err(failed("read", root))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(failed("look at", &path))?;
        if kind.is_symlink() && !leads_to(&path).starts_with(root) {
            refuse_link(&path)?;
        }
    }
    Ok(())
}

/// Where a link leads, as far as that is there.
fn leads_to(link: &Path) -> PathBuf {
    if let Ok(found) = link.canonicalize() {
        return found;
    }
    let target = fs::read_link(link).unwrap_or_default();
    let mut path = PathBuf::new();
    for part in link.parent().unwrap_or(link).join(target).components() {
        match part {
            Component::ParentDir => _ = path.pop(),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

/// Opens a file of trimtab's own to read and write it, and makes it where there is none; never one that another
/// name leads to, or that has other names.
pub(crate) fn open(path: &Path) -> Result<File, PlaceError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .map_err(|source| match refuse_link(path) {
            Err(link) => link,
            Ok(()) => failed("open", path)(source),
        })?;
    let data = file.metadata().map_err(failed("look at", path))?;
    if is_ours(&data) {
        return Ok(file);
    }
    let why = "it is no file, or has another name elsewhere; remove it";
    Err(failed("open", path)(io::Error::new(ErrorKind::InvalidInput, why)))
}

fn is_ours(data: &Metadata) -> bool {
    data.is_file() && data.nlink() == 1
}
