//! Which subsystem of the kernel a system call is of: what a coarse lock would be held for.

use serde::{Deserialize, Serialize};

/// A subsystem with a lock of its own, where locks are coarse.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(rename_all = "snake_case")]
pub enum Subsystem {
    /// Files and file systems.
    Files,
    /// Sockets.
    Network,
    /// Address spaces, and page faults.
    Memory,
    /// Pipes, futexes, System V IPC, and waiting for events.
    Ipc,
    /// Processes, signals, time, and all else.
    #[default]
    Processes,
}

impl Subsystem {
    /// All of them, in their order.
    pub const ALL: [Subsystem; 5] = [
        Subsystem::Files,
        Subsystem::Network,
        Subsystem::Memory,
        Subsystem::Ipc,
        Subsystem::Processes,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Subsystem::Files => "files",
            Subsystem::Network => "network",
            Subsystem::Memory => "memory",
            Subsystem::Ipc => "IPC",
            Subsystem::Processes => "processes",
        }
    }

    /// Its place in [`Self::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// That of a system call, by its name. What a descriptor leads to is not known: reading from a pipe or
    /// a socket with `read` counts for files.
    pub fn of_call(name: &str) -> Self {
        let begins = |all: &[&str]| all.iter().any(|begin| name.starts_with(begin));
        if begins(&["timer", "set_thread_area", "get_thread_area"]) {
            Subsystem::Processes
        } else if NETWORK.contains(&name) || begins(&["send", "recv"]) && name != "sendfile" {
            Subsystem::Network
        } else if MEMORY.contains(&name) || begins(&["mlock", "munlock", "pkey_"]) {
            Subsystem::Memory
        } else if begins(&["pipe", "futex", "epoll", "eventfd", "mq_", "msg", "sem", "shm"])
            || ["poll", "ppoll", "select", "pselect6"].contains(&name)
        {
            Subsystem::Ipc
        } else if FILES.contains(&name) || FILE_WORDS.iter().any(|word| name.contains(word)) {
            Subsystem::Files
        } else {
            Subsystem::Processes
        }
    }
}

const NETWORK: &[&str] = &[
    "socket",
    "socketpair",
    "bind",
    "listen",
    "accept",
    "accept4",
    "connect",
    "shutdown",
    "getsockname",
    "getpeername",
    "setsockopt",
    "getsockopt",
];
const MEMORY: &[&str] = &[
    "mmap",
    "munmap",
    "mprotect",
    "mremap",
    "brk",
    "madvise",
    "process_madvise",
    "msync",
    "mincore",
    "mbind",
    "remap_file_pages",
    "process_vm_readv",
    "process_vm_writev",
    "set_mempolicy",
    "get_mempolicy",
    "migrate_pages",
    "move_pages",
    "userfaultfd",
];
const FILES: &[&str] = &[
    "close",
    "close_range",
    "access",
    "faccessat",
    "faccessat2",
    "fcntl",
    "flock",
    "ioctl",
    "lseek",
    "getcwd",
    "tee",
    "sendfile",
    "copy_file_range",
];
/// Parts of the names of calls on files.
const FILE_WORDS: &[&str] = &[
    "read",
    "write",
    "open",
    "stat",
    "dup",
    "sync",
    "truncate",
    "getdents",
    "rename",
    "mkdir",
    "rmdir",
    "creat",
    "link",
    "chmod",
    "chown",
    "fallocate",
    "utime",
    "xattr",
    "mount",
    "mknod",
    "chdir",
    "inotify",
    "fanotify",
    "fadvise",
    "splice",
    "chroot",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_of_the_subsystem_that_serves_them() {
        for (name, expected) in [
            ("openat", Subsystem::Files),
            ("readlinkat", Subsystem::Files),
            ("fsync", Subsystem::Files),
            ("sendfile", Subsystem::Files),
            ("sendmsg", Subsystem::Network),
            ("accept4", Subsystem::Network),
            ("getsockopt", Subsystem::Network),
            ("munmap", Subsystem::Memory),
            ("brk", Subsystem::Memory),
            ("futex", Subsystem::Ipc),
            ("pipe2", Subsystem::Ipc),
            ("epoll_wait", Subsystem::Ipc),
            ("clone", Subsystem::Processes),
            ("rt_sigaction", Subsystem::Processes),
            ("getppid", Subsystem::Processes),
            ("sched_yield", Subsystem::Processes),
            ("timer_create", Subsystem::Processes),
            ("set_thread_area", Subsystem::Processes),
            ("process_vm_readv", Subsystem::Memory),
            ("vmsplice", Subsystem::Files),
            ("fadvise64", Subsystem::Files),
        ] {
            assert_eq!(Subsystem::of_call(name), expected, "{name}");
        }
        for (place, one) in Subsystem::ALL.into_iter().enumerate() {
            assert_eq!(one.index(), place);
        }
    }
}
