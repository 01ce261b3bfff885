//! Lock operations, by kind: what a place in a C file does, told by the name that it calls.
//!
//! The names are those of the kernel's locking headers of all versions since 2.0. A subsystem's own
//! wrapper counts once, where it calls one of these names, and not at each of its callers; the wrappers
//! that took the place of naming a lock in all of the kernel are names of their own (`mmap_read_lock`).
//! Initialising a lock and asking whether it is held are no operations.

mod counter;
mod guard;
mod names;

use serde::{Deserialize, Serialize};

pub use counter::LockCounter;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $field:ident $title:literal;)*) => {
        /// A kind of lock, and for RCU which side of it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum LockKind {
            $($(#[$doc])* $kind,)*
        }

        impl LockKind {
            /// All of them.
            pub const ALL: &[LockKind] = &[$(Self::$kind),*];

            /// Its name in JSON.
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => stringify!($field),)* }
            }

            /// Its name for people.
            pub fn title(self) -> &'static str {
                match self { $(Self::$kind => $title,)* }
            }
        }

        /// Lock operations by kind: places where something is taken or given back.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Locks {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Locks {
            /// Those of a kind.
            pub fn of(&self, kind: LockKind) -> u64 {
                match kind { $(LockKind::$kind => self.$field,)* }
            }

            /// Adds places of a kind.
            pub fn add(&mut self, kind: LockKind, places: u64) {
                match kind { $(LockKind::$kind => self.$field += places,)* }
            }

            /// Adds others.
            pub fn merge(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

kinds! {
    /// The big kernel lock.
    Bkl bkl "BKL";
    /// Spin locks, raw ones and single bits, too.
    Spin spin "spin";
    /// Spin locks for many readers or one writer, and the big-reader locks of 2.4.
    Rw rw "rw";
    /// Sequence locks and counters: readers that try again.
    Seq seq "seq";
    /// Sections of readers of RCU and SRCU.
    RcuRead rcu_read "RCU read";
    /// What waits for the readers of RCU, or is called after them.
    RcuUpdate rcu_update "RCU update";
    /// Reading and replacing pointers that RCU protects.
    RcuPointer rcu_pointer "RCU pointer";
    /// Counting semaphores.
    Semaphore semaphore "sema";
    /// Semaphores for many readers or one writer.
    Rwsem rwsem "rwsem";
    /// Mutexes, those for real time and for sets of locks, too.
    Mutex mutex "mutex";
    /// Semaphores whose readers stay on their processor, and the lock against processors that come and
    /// go.
    PercpuRwsem percpu_rwsem "per-CPU rwsem";
    /// What excludes others on the same processor only: interrupts, bottom halves and preemption off,
    /// and local locks.
    Local local "local";
    /// Scoped guards of classes that a subsystem defines: what lock they take is not seen here.
    OtherGuard other_guard "other guards";
}

/// A lock operation, where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its line, from 1.
    pub line: u32,
    /// What is taken or given back.
    pub kind: LockKind,
    /// As how many places it counts: a guard is two.
    pub places: u64,
}

impl Locks {
    /// RCU without its pointers, as the study of 2005 counted it.
    pub fn rcu(&self) -> u64 {
        self.rcu_read + self.rcu_update
    }

    /// Semaphores of both kinds: until 2.6.16 there were no mutexes, and studies counted them as one.
    pub fn semaphores(&self) -> u64 {
        self.semaphore + self.rwsem
    }

    /// All that makes one processor wait for another: without pointers and what is local.
    pub fn between_processors(&self) -> u64 {
        LockKind::ALL
            .iter()
            .filter(|kind| !matches!(kind, LockKind::RcuPointer | LockKind::Local))
            .map(|kind| self.of(*kind))
            .sum()
    }
}
