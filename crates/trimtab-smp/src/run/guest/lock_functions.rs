//! Functions of a Linux kernel that take and give back locks.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use trimtab_lab::bytes::Bytes;
use trimtab_machine::boot::{LockFunction, LockOperation};
use trimtab_program::Program;

use LockOperation::{Release, Share, Take, Try};

/// By their names, in kernel/locking of Linux 6.12. Spin locks, and locks of readers and writers that spin, are given
/// back in place: the plugin sees that without a function.
const FUNCTIONS: &[(&str, LockOperation)] = &[
    ("_raw_spin_lock", Take),
    ("_raw_spin_lock_bh", Take),
    ("_raw_spin_lock_irq", Take),
    ("_raw_spin_lock_irqsave", Take),
    ("_raw_spin_trylock", Try),
    ("_raw_spin_trylock_bh", Try),
    ("_raw_write_lock", Take),
    ("_raw_write_lock_bh", Take),
    ("_raw_write_lock_irq", Take),
    ("_raw_write_lock_irqsave", Take),
    ("_raw_write_trylock", Try),
    ("_raw_read_lock", Share),
    ("_raw_read_lock_bh", Share),
    ("_raw_read_lock_irq", Share),
    ("_raw_read_lock_irqsave", Share),
    ("mutex_lock", Take),
    ("mutex_lock_interruptible", Take),
    ("mutex_lock_killable", Take),
    ("mutex_trylock", Try),
    ("mutex_unlock", Release),
    ("down_write", Take),
    ("down_write_killable", Take),
    ("down_write_trylock", Try),
    ("down_read", Share),
    ("down_read_interruptible", Share),
    ("down_read_killable", Share),
    ("down_read_trylock", Share),
    ("up_write", Release),
    ("up_read", Release),
];

/// Those of a kernel, given with its symbols.
pub(super) fn of_kernel(vmlinux: &Path) -> Result<Vec<LockFunction>> {
    let bytes =
        Bytes::open(vmlinux).with_context(|| format!("cannot read {}", vmlinux.display()))?;
    let program = Program::parse(bytes.as_slice())
        .with_context(|| format!("cannot read {}", vmlinux.display()))?;
    let found: Vec<LockFunction> = FUNCTIONS
        .iter()
        .flat_map(|&(name, does)| {
            let range = |id| program.function(id).range;
            program.lookup(name).into_iter().map(range).map(move |range| LockFunction {
                start: range.start,
                end: range.end,
                does,
            })
        })
        .collect();
    ensure!(!found.is_empty(), "{} has no function that takes a lock", vmlinux.display());
    Ok(found)
}
