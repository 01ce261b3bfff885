//! A disk of our own for the files that are measured.
//!
//! What a cold start costs depends on how far the system reads ahead, and machines differ by a
//! factor of 64: where a disk reads 8 MiB at a time, one fault brings in a whole program. So faults
//! are counted on a small file system of our own (FUSE), which reads ahead by 128 KiB, as Linux does
//! where nobody says otherwise. It is mounted in a mount namespace of the measured process alone,
//! and each file lies on its own place there; nothing of the machine changes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use fuser::{
    BackgroundSession, FileAttr, FileType, Filesystem, KernelConfig, MountOption, ReplyAttr,
    ReplyData, ReplyEntry, ReplyOpen, Request,
};
use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getgid, getuid};

/// How far it reads ahead, in KiB: Linux's own default (`VM_READAHEAD_PAGES`).
pub const READ_AHEAD_KIB: u32 = 128;

/// How long the system may cache answers: longer than any run.
const FOREVER: Duration = Duration::from_secs(1 << 20);
/// `FOPEN_KEEP_CACHE`: pages stay in memory from one open to the next, as on any disk.
const KEEP_CACHE: u32 = 1 << 1;
/// Number of the root; the files are numbered from the next one on.
const ROOT: u64 = 1;

/// Files on a disk of our own. It is there for this thread and what it starts, as long as this
/// process lives.
#[derive(Debug)]
pub struct Disk {
    files: Vec<PathBuf>,
    /// Kept because dropping it would unmount what is in use.
    _session: std::mem::ManuallyDrop<BackgroundSession>,
}

impl Disk {
    /// Makes a disk with the `files`, each a file's content and the place where it is to be seen,
    /// which must be there. `folder` is an empty folder to mount it on. Must be called before the
    /// process has a second thread.
    ///
    /// # Errors
    /// That this system does not let this user have a namespace or a file system of their own.
    pub fn mount(files: &[(PathBuf, PathBuf)], folder: &Path) -> io::Result<Self> {
        private_namespace()?;
        let mut opened = Vec::new();
        for (content, _) in files {
            let file = File::open(content)?;
            let data = file.metadata()?;
            opened.push((file, data.len(), data.mode()));
        }
        let options = [MountOption::RO, MountOption::FSName("trimtab".to_owned())];
        let session = fuser::spawn_mount2(Files { opened }, folder, &options)?;
        let mut places = Vec::new();
        for (number, (_, place)) in files.iter().enumerate() {
            let file = folder.join(number.to_string());
            let none = None::<&str>;
            mount(Some(&file), place, none, MsFlags::MS_BIND, none)?;
            places.push(file);
        }
        Ok(Disk { files: places, _session: std::mem::ManuallyDrop::new(session) })
    }

    /// The files as they are on the disk, in their order.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

/// Gives this process mounts of its own. Who is not root gets them within a user namespace.
fn private_namespace() -> io::Result<()> {
    let (uid, gid) = (getuid(), getgid());
    if uid.is_root() {
        unshare(CloneFlags::CLONE_NEWNS)?;
    } else {
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
    }
    // What is mounted from now on must not be seen outside.
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    Ok(())
}

/// The file system: files named 0, 1 and so on, which can be read.
struct Files {
    opened: Vec<(File, u64, u32)>,
}

impl Files {
    fn attributes(&self, inode: u64) -> Option<FileAttr> {
        let (kind, size, mode) = match inode.checked_sub(ROOT + 1) {
            None => (FileType::Directory, 0, 0o755),
            Some(number) => {
                let (_, size, mode) = self.opened.get(usize::try_from(number).ok()?)?;
                (FileType::RegularFile, *size, *mode)
            }
        };
        let time = SystemTime::UNIX_EPOCH;
        Some(FileAttr {
            ino: inode,
            size,
            blocks: size.div_ceil(512),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm: (mode & 0o777) as u16,
            nlink: 1,
            uid: getuid().as_raw(),
            gid: getgid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}

impl Filesystem for Files {
    fn init(&mut self, _request: &Request<'_>, config: &mut KernelConfig) -> Result<(), i32> {
        // It is as much as the kernel offers; a kernel that offers less keeps its own.
        let _ = config.set_max_readahead(READ_AHEAD_KIB << 10);
        Ok(())
    }

    fn lookup(&mut self, _request: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEntry) {
        let number = name.to_str().and_then(|name| name.parse::<u64>().ok());
        let inode = number.filter(|_| parent == ROOT).and_then(|n| n.checked_add(ROOT + 1));
        match inode.and_then(|inode| self.attributes(inode)) {
            Some(attributes) => reply.entry(&FOREVER, &attributes, 0),
            None => reply.error(libc::ENOENT),
        }
    }

    fn getattr(&mut self, _: &Request<'_>, inode: u64, _handle: Option<u64>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some(attributes) => reply.attr(&FOREVER, &attributes),
            None => reply.error(libc::ENOENT),
        }
    }

    fn open(&mut self, _request: &Request<'_>, _inode: u64, _flags: i32, reply: ReplyOpen) {
        reply.opened(0, KEEP_CACHE);
    }

    fn read(
        &mut self,
        _request: &Request<'_>,
        inode: u64,
        _handle: u64,
        offset: i64,
        size: u32,
        _flags: i32,
        _owner: Option<u64>,
        reply: ReplyData,
    ) {
        let number = inode.checked_sub(ROOT + 1).and_then(|n| usize::try_from(n).ok());
        let file = number.and_then(|number| self.opened.get(number));
        let (Some((file, length, _)), Ok(offset)) = (file, u64::try_from(offset)) else {
            return reply.error(libc::EINVAL);
        };
        let size = u64::from(size).min(length.saturating_sub(offset));
        let mut buffer = vec![0; size as usize];
        match file.read_exact_at(&mut buffer, offset) {
            Ok(()) => reply.data(&buffer),
            Err(_) => reply.error(libc::EIO),
        }
    }
}
