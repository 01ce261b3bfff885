//! The names of lock operations.

use super::LockKind;

/// The kind of operation that a function or macro of this name does when it is called.
pub fn kind_of(name: &[u8]) -> Option<LockKind> {
    if name.len() < 2 || name.len() > 40 {
        return None;
    }
    let name = std::str::from_utf8(name).ok()?;
    whole(name).or_else(|| by_parts(name))
}

/// Names that follow no rule.
fn whole(name: &str) -> Option<LockKind> {
    // Long: a list of names.
    use LockKind::*;
    Some(match name {
        "lock_kernel"
        | "unlock_kernel"
        | "release_kernel_lock"
        | "reacquire_kernel_lock"
        | "try_lock_kernel" => Bkl,
        "atomic_dec_and_lock"
        | "_atomic_dec_and_lock"
        | "atomic_dec_and_lock_irqsave"
        | "atomic_dec_and_raw_lock"
        | "atomic_dec_and_raw_lock_irqsave"
        | "refcount_dec_and_lock"
        | "refcount_dec_and_lock_irqsave"
        | "bit_spin_lock"
        | "bit_spin_trylock"
        | "bit_spin_unlock"
        | "__bit_spin_unlock"
        | "hlist_bl_lock"
        | "hlist_bl_unlock" => Spin,
        "down"
        | "down_interruptible"
        | "down_killable"
        | "down_trylock"
        | "down_timeout"
        | "up"
        | "__down"
        | "__do_down"
        | "__down_interruptible"
        | "__down_trylock"
        | "__up" => Semaphore,
        "downgrade_write"
        | "inode_lock"
        | "inode_unlock"
        | "inode_trylock"
        | "inode_lock_shared"
        | "inode_unlock_shared"
        | "inode_trylock_shared"
        | "inode_lock_nested"
        | "inode_lock_shared_nested"
        | "inode_lock_killable"
        | "mmap_write_lock"
        | "mmap_write_lock_nested"
        | "mmap_write_lock_killable"
        | "mmap_write_trylock"
        | "mmap_write_unlock"
        | "mmap_write_downgrade"
        | "mmap_read_lock"
        | "mmap_read_lock_killable"
        | "mmap_read_trylock"
        | "mmap_read_unlock"
        | "mmap_read_unlock_non_owner" => Rwsem,
        "atomic_dec_and_mutex_lock"
        | "refcount_dec_and_mutex_lock"
        | "device_lock"
        | "device_unlock"
        | "device_trylock"
        | "device_lock_interruptible" => Mutex,
        "cpus_read_lock" | "cpus_read_trylock" | "cpus_read_unlock" | "cpus_write_lock"
        | "cpus_write_unlock" | "get_online_cpus" | "put_online_cpus" | "lock_cpu_hotplug"
        | "unlock_cpu_hotplug" => PercpuRwsem,
        "kfree_rcu"
        | "kfree_rcu_mightsleep"
        | "kvfree_rcu"
        | "kvfree_rcu_mightsleep"
        | "queue_rcu_work"
        | "kfree_call_rcu"
        | "kvfree_call_rcu"
        | "call_srcu"
        | "srcu_barrier"
        | "synchronize_kernel"
        | "synchronize_net" => RcuUpdate,
        "unrcu_pointer" | "RCU_INIT_POINTER" => RcuPointer,
        _ => return is_local_name(name).then_some(Local),
    })
}

/// Names of what excludes others on the same processor.
fn is_local_name(name: &str) -> bool {
    matches!(
        name,
        "preempt_disable"
            | "preempt_enable"
            | "preempt_disable_notrace"
            | "preempt_enable_notrace"
            | "preempt_enable_no_resched"
            | "preempt_enable_no_resched_notrace"
            | "preempt_disable_nested"
            | "preempt_enable_nested"
            | "migrate_disable"
            | "migrate_enable"
            | "get_cpu"
            | "put_cpu"
            | "get_cpu_no_resched"
            | "put_cpu_no_resched"
            | "get_cpu_var"
            | "put_cpu_var"
            | "get_cpu_ptr"
            | "put_cpu_ptr"
            | "cli"
            | "sti"
            | "__cli"
            | "__sti"
            | "restore_flags"
            | "__restore_flags"
            | "save_and_cli"
            | "save_flags_cli"
            | "__save_and_cli"
            | "save_and_sti"
            | "__save_and_sti"
            | "start_bh_atomic"
            | "end_bh_atomic"
    )
}

/// How locks are taken that spin.
const SPINNING: [&str; 11] = [
    "",
    "_irq",
    "_irqsave",
    "_irqrestore",
    "_bh",
    "_nested",
    "_nest_lock",
    "_irqsave_nested",
    "_bh_nested",
    "_irq_nested",
    "_flags",
];

/// How mutexes are taken.
const SLEEPING: [&str; 13] = [
    "",
    "_interruptible",
    "_killable",
    "_nested",
    "_interruptible_nested",
    "_killable_nested",
    "_io",
    "_io_nested",
    "_nest_lock",
    "_slow",
    "_slow_interruptible",
    "_single",
    "_single_interruptible",
];

/// How semaphores for readers and writers are taken.
const SEMAPHORE: [&str; 8] = [
    "",
    "_trylock",
    "_interruptible",
    "_killable",
    "_nested",
    "_killable_nested",
    "_non_owner",
    "_nest_lock",
];

/// Names made of parts, such as the irqsave form of each lock that spins.
fn by_parts(name: &str) -> Option<LockKind> {
    use LockKind::*;
    let plain = name.trim_start_matches('_');
    let plain = plain.strip_prefix("raw_").or_else(|| plain.strip_prefix("arch_")).unwrap_or(plain);
    let plain = plain.trim_start_matches('_');
    let (first, rest) = plain.split_once('_')?;
    match first {
        "spin" => locked(rest, &SPINNING).then_some(Spin),
        "read" | "write" => match is_of_sequence(rest) {
            Some(is_operation) => is_operation.then_some(Seq),
            None => locked(rest, &SPINNING).then_some(Rw),
        },
        "br" => {
            let rest = rest.strip_prefix("read_").or_else(|| rest.strip_prefix("write_"))?;
            locked(rest, &SPINNING).then_some(Rw)
        }
        "seqcount" => (rest == "begin").then_some(Seq),
        "need" => (rest == "seqretry").then_some(Seq),
        "done" => rest.starts_with("seqretry").then_some(Seq),
        "mutex" => locked(rest, &SLEEPING).then_some(Mutex),
        "ww" | "rt" => locked(rest.strip_prefix("mutex_")?, &SLEEPING).then_some(Mutex),
        "down" | "up" => {
            let how = rest.strip_prefix("read").or_else(|| rest.strip_prefix("write"))?;
            SEMAPHORE.contains(&how).then_some(Rwsem)
        }
        "percpu" => {
            let way = rest.strip_prefix("down_").or_else(|| rest.strip_prefix("up_"))?;
            let way = way.strip_prefix("read").or_else(|| way.strip_prefix("write"))?;
            matches!(way, "" | "_trylock" | "_preempt_disable" | "_preempt_enable")
                .then_some(PercpuRwsem)
        }
        "local" => is_local(rest).then_some(Local),
        "rcu" => rcu(rest),
        "call" => rest.starts_with("rcu").then_some(RcuUpdate),
        "synchronize" => is_grace_period(rest).then_some(RcuUpdate),
        "cond" => is_grace_period(rest.strip_prefix("synchronize_")?).then_some(RcuUpdate),
        "start" => is_grace_period(rest.strip_prefix("poll_synchronize_")?).then_some(RcuUpdate),
        "srcu" => match rest {
            "dereference" | "dereference_check" | "dereference_notrace" => Some(RcuPointer),
            "down_read" | "up_read" => Some(RcuRead),
            _ => is_reader(rest).then_some(RcuRead),
        },
        _ => None,
    }
}

/// Whether this is `lock`, `trylock` or `unlock` in one of these ways.
fn locked(rest: &str, ways: &[&str]) -> bool {
    let words = ["lock", "trylock", "unlock"];
    words.iter().any(|word| rest.strip_prefix(word).is_some_and(|way| ways.contains(&way)))
}

/// What stands behind `read_` and `write_`: none if it is of no sequence lock, and else whether it is an
/// operation.
fn is_of_sequence(rest: &str) -> Option<bool> {
    let words = ["seqbegin", "seqretry", "seqlock", "sequnlock", "seqcount", "tryseqlock"];
    let word = words.iter().find(|word| rest.starts_with(*word))?;
    let way = rest.strip_prefix(word).unwrap_or_default();
    Some(!matches!(way, "_init" | "_ptr" | "_invalidate" | "_t"))
}

/// Behind `local_`.
fn is_local(rest: &str) -> bool {
    match rest {
        "irq_disable" | "irq_enable" | "irq_save" | "irq_restore" | "irq_set" | "bh_disable"
        | "bh_enable" | "lock_nested_bh" | "unlock_nested_bh" => true,
        _ => locked(rest, &SPINNING),
    }
}

/// Behind `rcu_`.
fn rcu(rest: &str) -> Option<LockKind> {
    let pointer = ["dereference", "assign_", "access_pointer", "replace_pointer", "swap_protected"];
    if pointer.iter().any(|start| rest.starts_with(start)) {
        return Some(LockKind::RcuPointer);
    }
    if rest.starts_with("barrier") {
        return Some(LockKind::RcuUpdate);
    }
    is_reader(rest).then_some(LockKind::RcuRead)
}

/// Behind what waits for a grace period.
fn is_grace_period(rest: &str) -> bool {
    ["rcu", "srcu", "sched"].iter().any(|start| rest.starts_with(start))
}

/// Whether a section of readers begins or ends.
fn is_reader(rest: &str) -> bool {
    let ways = [
        "",
        "_bh",
        "_sched",
        "_trace",
        "_notrace",
        "_sched_notrace",
        "_nmisafe",
        "_lite",
        "_tasks_trace",
        "_dont_migrate",
        "_migrate",
        "_fast",
    ];
    rest.strip_prefix("read_").is_some_and(|rest| {
        let way = rest.strip_prefix("lock").or_else(|| rest.strip_prefix("unlock"));
        way.is_some_and(|way| ways.contains(&way))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_of_its_kind() {
        use LockKind::*;
        for (names, kind) in [
            ("lock_kernel reacquire_kernel_lock", Bkl),
            ("spin_lock _spin_unlock_irqrestore raw_spin_lock_irqsave __raw_spin_lock", Spin),
            ("arch_spin_trylock spin_lock_nested atomic_dec_and_lock bit_spin_lock", Spin),
            ("read_lock write_unlock_irq br_read_lock_bh arch_read_trylock", Rw),
            ("read_seqbegin read_seqretry_irqrestore write_seqlock_irqsave write_sequnlock", Seq),
            ("raw_write_seqcount_begin __read_seqcount_retry need_seqretry write_tryseqlock", Seq),
            ("rcu_read_lock rcu_read_unlock_bh srcu_read_lock rcu_read_lock_trace", RcuRead),
            ("call_rcu call_rcu_tasks synchronize_srcu kfree_rcu synchronize_kernel", RcuUpdate),
            ("rcu_barrier start_poll_synchronize_rcu cond_synchronize_sched", RcuUpdate),
            ("rcu_dereference_protected rcu_assign_pointer srcu_dereference", RcuPointer),
            ("down up down_interruptible", Semaphore),
            ("down_read up_write downgrade_write mmap_read_lock inode_lock", Rwsem),
            ("mutex_lock mutex_lock_interruptible ww_mutex_unlock rt_mutex_lock", Mutex),
            ("percpu_down_read percpu_up_write cpus_read_lock", PercpuRwsem),
            ("local_irq_save raw_local_irq_disable local_bh_enable preempt_disable cli", Local),
            ("local_lock_irqsave get_cpu_var __restore_flags", Local),
        ] {
            for name in names.split(' ') {
                assert_eq!(kind_of(name.as_bytes()), Some(kind), "{name}");
            }
        }
    }

    #[test]
    fn what_is_no_operation_has_no_kind() {
        let names = "spin_lock_init spin_is_locked rwlock_init seqlock_init read_seqcount_ptr \
                     mutex_init mutex_is_locked down_left rcu_read_lock_held local_irq_disabled lock \
                     unlock local_lock_init irqs_disabled up_and_running raw_spin_rq_lock \
                     spin_lock_prefetch write_seqcount_invalidate init_rwsem read_locked rcu_head_init \
                     rcu_read_lock_any_held call_me synchronize_irq _ __ \u{e4}\u{e4}";
        for name in names.split(' ').chain([""]) {
            assert_eq!(kind_of(name.as_bytes()), None, "{name}");
        }
    }
}
