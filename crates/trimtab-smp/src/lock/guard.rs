//! The classes of scoped guards, which take a lock where they stand and give it back at the end of their
//! scope.

use super::LockKind;
use super::names::kind_of;

/// Whether a word takes a guard, whose class stands in the parentheses behind it.
pub fn takes_class(word: &[u8]) -> bool {
    matches!(word, b"guard" | b"scoped_guard" | b"scoped_cond_guard")
}

/// The kind of lock of a guard's class.
pub fn kind_of_class(class: &[u8]) -> LockKind {
    use LockKind::*;
    let Ok(class) = std::str::from_utf8(class) else { return OtherGuard };
    let plain = class.strip_suffix("_try").or_else(|| class.strip_suffix("_intr")).unwrap_or(class);
    let plain = plain.strip_suffix("_kill").unwrap_or(plain);
    match plain {
        "spinlock"
        | "spinlock_irq"
        | "spinlock_irqsave"
        | "spinlock_bh"
        | "raw_spinlock"
        | "raw_spinlock_nested"
        | "raw_spinlock_irq"
        | "raw_spinlock_irqsave"
        | "raw_spinlock_bh" => Spin,
        "mutex" | "mutex_init" | "rt_mutex" | "device" => Mutex,
        "rwsem_read" | "rwsem_write" => Rwsem,
        "rcu" | "srcu" | "rcu_tasks_trace" => RcuRead,
        "preempt" | "preempt_notrace" | "irq" | "irqsave" | "migrate" => Local,
        "percpu_read" | "percpu_write" => PercpuRwsem,
        // Such as read_lock_irq and cpus_read_lock, whose class is named as what takes the lock.
        _ => kind_of(plain.as_bytes()).unwrap_or(OtherGuard),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_of_the_kind_of_their_lock() {
        for (class, kind) in [
            ("mutex", LockKind::Mutex),
            ("mutex_intr", LockKind::Mutex),
            ("mutex_try", LockKind::Mutex),
            ("raw_spinlock_irqsave", LockKind::Spin),
            ("rwsem_read_kill", LockKind::Rwsem),
            ("rcu", LockKind::RcuRead),
            ("cpus_read_lock", LockKind::PercpuRwsem),
            ("write_lock_irq", LockKind::Rw),
            ("irqsave", LockKind::Local),
            ("rq_lock", LockKind::OtherGuard),
        ] {
            assert_eq!(kind_of_class(class.as_bytes()), kind, "{class}");
        }
    }
}
