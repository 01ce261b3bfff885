//! Which files of a tree are counted, and for what: paths in, answers out.
//!
//! The *core* is what the study of 2005 looked at (Kågström, *Performance and Implementation Complexity in
//! Multiprocessor Operating System Kernels*, 2005): `kernel/`, `mm/`, the code and the headers of 32-bit
//! x86, the files of `fs/` itself, and `fs/ext2/`.

use crate::file::Language;

/// Folders of the core, with all that is in them. Before 2.6.24 the headers of x86 were beside others.
const CORE: [&str; 6] =
    ["kernel/", "mm/", "arch/i386/", "arch/x86/", "include/asm-i386/", "fs/ext2/"];

/// Parts of the core's folders that are no part of a kernel's core: the emulation of a coprocessor, and
/// what unpacks the kernel before it runs.
const NOT_CORE: [&str; 4] =
    ["arch/i386/math-emu/", "arch/x86/math-emu/", "arch/i386/boot/", "arch/x86/boot/"];

/// Whether a file is of the core.
pub fn is_core(path: &str) -> bool {
    let is_of_fs = path.strip_prefix("fs/").is_some_and(|name| !name.contains('/'));
    let is_in = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    is_of_fs || is_in(&CORE) && !is_in(&NOT_CORE)
}

/// Folders that implement locks.
const LOCKING: [&str; 2] = ["kernel/locking/", "kernel/rcu/"];

/// Parts of the names of files that implement locks.
const LOCK_FILES: [&str; 17] = [
    "spinlock",
    "rwlock",
    "seqlock",
    "rwsem",
    "semaphore",
    "mutex",
    "lockdep",
    "smp_lock",
    "smplock",
    "kernel_lock",
    "brlock",
    "rcupdate",
    "rcutree",
    "rcutiny",
    "local_lock",
    "irqflags",
    "mmap_lock",
];

/// Whole names of such files.
const LOCK_FILE_NAMES: [&str; 9] = [
    "srcu.h",
    "srcu.c",
    "rcutorture.c",
    "rcu_sync.h",
    "preempt.h",
    "bottom_half.h",
    "bit_spinlock.h",
    "locks.h",
    "lockref.h",
];

/// Whether a file implements locks: what it does to them is no use of them.
pub fn implements_locks(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let is_header = name.ends_with(".h");
    let is_of_kernel = ["kernel/", "lib/", "arch/"].iter().any(|start| path.starts_with(start));
    if !is_header && !is_of_kernel {
        return false;
    }
    LOCKING.iter().any(|folder| path.starts_with(folder))
        || LOCK_FILES.iter().any(|part| name.contains(part))
        || LOCK_FILE_NAMES.contains(&name) && (is_of_kernel || path.starts_with("include/"))
}

/// What a file is read for; none of what is not read. Files that a build makes are not.
pub fn language(path: &str) -> Option<Language> {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    if name.ends_with(".mod.c") || path.starts_with(".git/") || path.contains("include/generated/")
    {
        return None;
    }
    Language::of(name)
}

/// What a file is counted under: the first `depth` folders of its path, or all that there are.
pub fn folder(path: &str, depth: usize) -> &str {
    let ends = path.match_indices('/').map(|(at, _)| at).take(depth);
    ends.last().map_or(".", |end| &path[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_is_that_of_the_study() {
        for path in [
            "kernel/sched.c",
            "mm/slab/x.c",
            "arch/i386/kernel/irq.c",
            "arch/x86/mm/init.c",
            "include/asm-i386/smp.h",
            "fs/inode.c",
            "fs/ext2/inode.c",
        ] {
            assert!(is_core(path), "{path}");
        }
        for path in [
            "fs/ext4/inode.c",
            "include/linux/sched.h",
            "arch/x86/boot/main.c",
            "arch/i386/math-emu/fpu.h",
            "arch/arm/mm/init.c",
            "init/main.c",
            "kernel.c",
        ] {
            assert!(!is_core(path), "{path}");
        }
    }

    #[test]
    fn files_that_implement_locks_are_known() {
        for path in [
            "include/linux/spinlock.h",
            "include/asm-i386/rwlock.h",
            "kernel/locking/test-ww_mutex.c",
            "arch/i386/kernel/semaphore.c",
            "lib/kernel_lock.c",
            "include/linux/rwsem.h",
            "kernel/rcupdate.c",
        ] {
            assert!(implements_locks(path), "{path}");
        }
        for path in ["kernel/sched.c", "fs/locks.c", "drivers/x/mutex.c", "include/linux/fs.h"] {
            assert!(!implements_locks(path), "{path}");
        }
    }

    #[test]
    fn folders_are_as_deep_as_asked_for() {
        let path = "drivers/net/a/b.c";
        assert_eq!(
            [0, 1, 2, 9].map(|depth| folder(path, depth)),
            [".", "drivers", "drivers/net", "drivers/net/a"]
        );
        assert_eq!(folder("Makefile.c", 1), ".");
    }

    #[test]
    fn what_a_build_makes_is_not_read() {
        assert_eq!(language("drivers/a.mod.c"), None);
        assert_eq!(language("include/generated/a.h"), None);
        assert_eq!(language("include/linux/a.h"), Some(Language::C));
        assert_eq!(language("Kconfig"), None);
    }
}
