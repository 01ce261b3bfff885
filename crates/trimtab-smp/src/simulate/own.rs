//! Locks of the kernel's own.
//!
//! Who finds one taken gets it in the order of arrival; those who share it and stand next to each other get it
//! together. Who has it already and takes it again gets it, as readers in interrupts do.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::trace::Taking;

/// What was done with a lock of the kernel's own; times are nanoseconds of threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnLockUse {
    /// How often it was taken.
    pub takes: u64,
    /// How often it was not free.
    pub contended: u64,
    /// Waiting for it.
    pub waited: u64,
    /// For how long threads had it.
    pub held: u64,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct OwnLocks {
    /// By their numbers.
    locks: Vec<OwnLock>,
    /// Which ones each thread has, in the order in which it got them.
    held: FxHashMap<usize, Vec<u32>>,
}

#[derive(Debug, Default)]
struct OwnLock {
    /// By their threads.
    holders: FxHashMap<usize, Holder>,
    is_shared: bool,
    waiting: VecDeque<Waiter>,
    used: OwnLockUse,
}

#[derive(Debug)]
struct Holder {
    /// How often it took it.
    times: u32,
    since: u64,
}

#[derive(Debug)]
struct Waiter {
    thread: usize,
    shares: bool,
    since: u64,
}

impl OwnLocks {
    /// Whether a thread goes on, with the lock or without; otherwise it waits for it.
    pub(super) fn take(&mut self, lock: u32, thread: usize, taking: Taking, time: u64) -> bool {
        let number = lock;
        if number as usize >= self.locks.len() {
            self.locks.resize_with(number as usize + 1, OwnLock::default);
        }
        let lock = &mut self.locks[number as usize];
        if let Some(holder) = lock.holders.get_mut(&thread) {
            holder.times += 1;
            return true;
        }
        let shares = taking == Taking::Shared;
        let is_free =
            lock.holders.is_empty() || (lock.is_shared && shares && lock.waiting.is_empty());
        if is_free {
            lock.give(thread, shares, time);
            self.held.entry(thread).or_default().push(number);
            return true;
        }
        if taking == Taking::Try {
            return true;
        }
        lock.used.contended += 1;
        lock.waiting.push_back(Waiter { thread, shares, since: time });
        false
    }

    /// Takes a lock from a thread, where it has it; the threads that have it then.
    pub(super) fn release(&mut self, lock: u32, thread: usize, time: u64) -> Vec<usize> {
        let number = lock;
        let Some(lock) = self.locks.get_mut(number as usize) else { return Vec::new() };
        let Some(holder) = lock.holders.get_mut(&thread) else { return Vec::new() };
        holder.times -= 1;
        if holder.times > 0 {
            return Vec::new();
        }
        lock.used.held += time - holder.since;
        lock.holders.remove(&thread);
        if let Some(held) = self.held.get_mut(&thread)
            && let Some(at) = held.iter().rposition(|held| *held == number)
        {
            held.remove(at);
        }
        let mut next = Vec::new();
        while let Some(first) = lock.waiting.front() {
            let is_free = lock.holders.is_empty() || (lock.is_shared && first.shares);
            if !is_free {
                break;
            }
            let Some(Waiter { thread, shares, since }) = lock.waiting.pop_front() else { break };
            lock.used.waited += time - since;
            lock.give(thread, shares, time);
            self.held.entry(thread).or_default().push(number);
            next.push(thread);
        }
        next
    }

    /// Takes all locks from a thread that has ended; the threads that have them then.
    pub(super) fn release_all(&mut self, thread: usize, time: u64) -> Vec<usize> {
        let mut next = Vec::new();
        for number in self.held.remove(&thread).unwrap_or_default() {
            if let Some(holder) = self.locks[number as usize].holders.get_mut(&thread) {
                holder.times = 1;
            }
            next.extend(self.release(number, thread, time));
        }
        next
    }

    /// What was done with each.
    pub(super) fn used(&self) -> Vec<OwnLockUse> {
        self.locks.iter().map(|lock| lock.used).collect()
    }
}

impl OwnLock {
    fn give(&mut self, thread: usize, shares: bool, time: u64) {
        self.holders.insert(thread, Holder { times: 1, since: time });
        self.is_shared = shares;
        self.used.takes += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shares_a_lock_has_it_together_and_waits_behind_who_came_before() {
        let mut locks = OwnLocks::default();
        assert!(locks.take(0, 1, Taking::Shared, 0));
        assert!(locks.take(0, 2, Taking::Shared, 5));
        assert!(!locks.take(0, 3, Taking::Alone, 10));
        // Not before who waits already.
        assert!(!locks.take(0, 4, Taking::Shared, 11));
        assert!(!locks.take(0, 5, Taking::Shared, 12));
        assert!(locks.release(0, 1, 20).is_empty());
        assert_eq!(locks.release(0, 2, 25), [3]);
        assert_eq!(locks.release(0, 3, 40), [4, 5]);
        let used = locks.used()[0];
        assert_eq!((used.takes, used.contended), (5, 3));
        assert_eq!((used.waited, used.held), (15 + 29 + 28, 20 + 20 + 15));
    }

    #[test]
    fn who_has_a_lock_may_take_it_again_and_who_only_tries_goes_on() {
        let mut locks = OwnLocks::default();
        assert!(locks.take(7, 1, Taking::Alone, 0));
        assert!(locks.take(7, 1, Taking::Alone, 0));
        assert!(locks.take(7, 2, Taking::Try, 0));
        // It did not get it, so that it gives nothing back.
        assert!(locks.release(7, 2, 1).is_empty());
        assert!(!locks.take(7, 3, Taking::Alone, 1));
        assert!(locks.release(7, 1, 2).is_empty());
        assert_eq!(locks.release(7, 1, 3), [3]);
        // Never taken.
        assert!(locks.release(9, 1, 3).is_empty());
    }
}
