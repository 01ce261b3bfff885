//! Names that Linux gives to locks.

/// Beginnings of the names of locks that each CPU has for itself, so that none waits for another's.
const OF_ONE_CPU: [&str; 9] = [
    "&rq->",
    "&pcp->lock",
    "&base->lock",
    "hrtimer_bases.lock",
    "&pool->lock",
    "&c->lock",
    "lock#",
    "&rdp->",
    "rcu_tasks__percpu",
];

/// The name of local locks, which are of one CPU as well: that of the field in which they are.
const LOCAL: &str = "lock";

/// Beginnings of names of what only looks like a lock to lockdep: nobody waits for it, or only for what is no lock.
const NONE: [&str; 6] = ["rcu_read_lock", "rcu_callback", "fs_reclaim", "(", "sb_", "jbd2_handle"];

/// The same anywhere in a name. Readers wait for no writer of a sequence counter: they read again.
const NONE_WITHIN: [&str; 3] = ["seqcount", "srcu", "wait-type-override"];

/// Whether a name is that of a lock for which another CPU may wait.
pub(super) fn is_waited_for(name: &str) -> bool {
    name != LOCAL
        && !OF_ONE_CPU.iter().chain(&NONE).any(|begin| name.starts_with(begin))
        && !NONE_WITHIN.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_cpu_has_for_itself_and_what_is_no_lock_is_left_out() {
        for name in
            ["tasklist_lock", "&mm->mmap_lock", "&sb->s_type->i_mutex_key#5", "&dentry->d_lock"]
        {
            assert!(is_waited_for(name), "{name}");
        }
        for name in [
            "&rq->__lock",
            "rcu_read_lock",
            "(work_completion)(&a)",
            "fs_reclaim",
            "sb_writers#3",
            "lock",
            "tk_core.seq.seqcount",
            "&fsnotify_mark_srcu",
        ] {
            assert!(!is_waited_for(name), "{name}");
        }
    }
}
