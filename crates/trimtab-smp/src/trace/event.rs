//! Events of the kernel, a line each: as `trace` of tracefs, `trace-cmd report` and `perf script` print
//! them.

use trimtab_profile::ftrace;

use super::timeline::Taking;

/// A line that is an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line<'a> {
    /// The name of the thread that ran.
    pub name: &'a str,
    /// Its number; 0 is idle.
    pub thread: u32,
    /// The CPU.
    pub cpu: u32,
    /// Nanoseconds.
    pub time: u64,
    /// Whether the flags say that the CPU was in an interrupt.
    pub in_interrupt: bool,
    /// What happened.
    pub event: Event<'a>,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event<'a> {
    /// A system call began.
    Enter(Call<'a>),
    /// It ended; none where the kernel does not say which, as after a signal handler.
    Exit(Option<Call<'a>>),
    /// Another thread runs now.
    Switch {
        /// Whether the one that ran could have gone on.
        preempted: bool,
        /// The one that runs now.
        next: u32,
        /// Its name.
        name: &'a str,
    },
    /// A thread is woken.
    Wake(u32),
    /// A thread begins.
    Begin(u32),
    /// An interrupt or its second half begins.
    InterruptBegins,
    /// It ends.
    InterruptEnds,
    /// A page fault of a program.
    Fault,
    /// A lock of the kernel's own is taken, or is about to be where somebody else has it.
    Take {
        /// The lock, by its address or what the kernel prints in its place.
        lock: u64,
        /// How.
        taking: Taking,
        /// The kernel's name of all locks of its kind.
        name: &'a str,
    },
    /// Such a lock is given back.
    Release {
        /// The lock.
        lock: u64,
    },
    /// The thread waits for a lock from now on.
    WaitBegins,
    /// It waits for it no more.
    WaitEnds,
    /// Something else.
    Other,
}

/// A system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call<'a> {
    /// By its number, which is the instruction set's.
    Number(u64),
    /// By its name.
    Name(&'a str),
}

/// Reads a line; none where it is no event.
pub fn line(text: &str) -> Option<Line<'_>> {
    let line = ftrace::Line::read(text)?;
    let event = match call(line.text) {
        Some(event) => event,
        None => {
            let (event, details) = line.event()?;
            read(event, details)?
        }
    };
    let ftrace::Line { name, thread, cpu, time, .. } = line;
    Some(Line { name, thread, cpu, time, in_interrupt: line.in_interrupt(), event })
}

/// The events of single calls, as tracefs prints them: `sys_NAME(ARGUMENTS)` and `sys_NAME -> RESULT`.
fn call(text: &str) -> Option<Event<'_>> {
    let text = text.strip_prefix("sys_")?;
    let (name, rest) = text.split_at(text.find(['(', ' ', ':'])?);
    match rest.starts_with('(') {
        true => Some(Event::Enter(Call::Name(name))),
        false => rest.starts_with(" -> ").then_some(Event::Exit(Some(Call::Name(name)))),
    }
}

/// Whether a line is of an event without which threads cannot be followed.
pub fn is_needed(text: &str) -> bool {
    ["sched_switch:", "sys_enter:", "sys_exit:"].iter().any(|event| text.contains(event))
}

fn read<'a>(event: &'a str, details: &'a str) -> Option<Event<'a>> {
    Some(match event {
        "sys_enter" => Event::Enter(number(details)?),
        "sys_exit" if details.starts_with("NR -") => Event::Exit(None),
        "sys_exit" => Event::Exit(Some(number(details)?)),
        "sched_switch" => switch(details)?,
        "sched_waking" => Event::Wake(woken(details)?),
        "sched_wakeup_new" => Event::Begin(woken(details)?),
        "irq_handler_entry" | "softirq_entry" => Event::InterruptBegins,
        "irq_handler_exit" | "softirq_exit" => Event::InterruptEnds,
        "page_fault_user" => Event::Fault,
        "lock_acquire" => take(details)?,
        "lock_release" => Event::Release { lock: address(details)?.0 },
        "lock_contended" | "contention_begin" => Event::WaitBegins,
        "lock_acquired" | "contention_end" => Event::WaitEnds,
        _ => match (event.strip_prefix("sys_enter_"), event.strip_prefix("sys_exit_")) {
            (Some(name), _) => Event::Enter(Call::Name(name)),
            (_, Some(name)) => Event::Exit(Some(Call::Name(name))),
            // Those of the processor itself, as that of its timer.
            _ if details.starts_with("vector=") && event.ends_with("_entry") => {
                Event::InterruptBegins
            }
            _ if details.starts_with("vector=") && event.ends_with("_exit") => Event::InterruptEnds,
            _ => Event::Other,
        },
    })
}

fn number(details: &str) -> Option<Call<'_>> {
    let word = details.strip_prefix("NR ")?.split([' ', '(']).next()?;
    Some(Call::Number(word.parse().ok()?))
}

/// The address that a text begins with, and what comes behind it.
fn address(details: &str) -> Option<(u64, &str)> {
    let (word, rest) = details.split_once(' ')?;
    let digits = word.strip_prefix("0x").unwrap_or(word);
    Some((u64::from_str_radix(digits, 16).ok()?, rest))
}

/// ADDRESS [try ][read ]NAME
fn take(details: &str) -> Option<Event<'_>> {
    let (lock, rest) = address(details)?;
    let (tries, rest) = rest.strip_prefix("try ").map_or((false, rest), |rest| (true, rest));
    let (reads, name) = rest.strip_prefix("read ").map_or((false, rest), |rest| (true, rest));
    let taking = match (tries, reads) {
        (_, true) => Taking::Shared,
        (true, false) => Taking::Try,
        (false, false) => Taking::Alone,
    };
    Some(Event::Take { lock, taking, name: name.trim_end() })
}

fn digits(text: &str) -> Option<u32> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Behind the last `key` of a text, as names of threads can have anything.
fn behind<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.rfind(key).map(|at| &text[at + key.len()..])
}

fn switch(details: &str) -> Option<Event<'_>> {
    let (before, after) = details.split_once(" ==> ")?;
    let (state, name, next) = match behind(before, "prev_state=") {
        Some(state) => {
            let (name, _) = after.strip_prefix("next_comm=")?.rsplit_once(" next_pid=")?;
            (state, name, digits(behind(after, "next_pid=")?)?)
        }
        // NAME:NUMBER [PRIORITY] STATE ==> NAME:NUMBER [PRIORITY]
        None => {
            let (next, _) = after.rsplit_once(" [")?;
            let (name, next) = next.rsplit_once(':')?;
            (before.rsplit(' ').next()?, name, digits(next)?)
        }
    };
    Some(Event::Switch { preempted: state.starts_with('R'), next, name })
}

fn woken(details: &str) -> Option<u32> {
    match behind(details, " pid=") {
        Some(rest) => digits(rest),
        // NAME:NUMBER [PRIORITY] ...
        None => digits(details.split_once(" [")?.0.rsplit_once(':')?.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tracefs_trace_cmd_and_perf_say_the_same() {
        let expected = Line {
            name: "my tool",
            thread: 4659,
            cpu: 1,
            time: 34_789_315_258_000,
            in_interrupt: false,
            event: Event::Switch { preempted: false, next: 4657, name: "cc1 plus" },
        };
        for text in [
            "  my tool-4659    [001] d..2. 34789.315258: sched_switch: prev_comm=my tool prev_pid=4659 \
             prev_prio=120 prev_state=D ==> next_comm=cc1 plus next_pid=4657 next_prio=139",
            "  my tool-4659  [001] 34789.315258: sched_switch:         my tool:4659 [120] D ==> \
             cc1 plus:4657 [139]",
            "my tool  4659 [001] 34789.315258:       sched:sched_switch: prev_comm=my tool \
             prev_pid=4659 prev_prio=120 prev_state=D ==> next_comm=cc1 plus next_pid=4657 next_prio=139",
            "my tool-4659 ( 4659) [001] d..2. 34789.315258000: sched_switch: my tool:4659 [120] D ==> \
             cc1 plus:4657 [139]",
        ] {
            assert_eq!(line(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn each_kind_of_event_is_read() {
        let event = |text: &str| {
            let text = format!("a-1 [000] d.h1. 5.000001: {text}");
            let text: &'static str = text.leak();
            line(text).map(|line| (line.in_interrupt, line.event))
        };
        let read = |text: &str| event(text).map(|found| found.1);
        assert_eq!(read("sys_enter: NR 33 (c, 1)"), Some(Event::Enter(Call::Number(33))));
        assert_eq!(read("sys_exit: NR 1 = 2"), Some(Event::Exit(Some(Call::Number(1)))));
        // So rt_sigreturn ends.
        assert_eq!(read("sys_exit: NR -1 = 0"), Some(Event::Exit(None)));
        assert_eq!(read("sys_futex(uaddr: 7, op: 1)"), Some(Event::Enter(Call::Name("futex"))));
        assert_eq!(read("sys_futex -> 0x0"), Some(Event::Exit(Some(Call::Name("futex")))));
        assert_eq!(read("local_timer_entry: vector=236"), Some(Event::InterruptBegins));
        assert_eq!(read("local_timer_exit: vector=236"), Some(Event::InterruptEnds));
        assert_eq!(read("sys_enter_openat: dfd: 1"), Some(Event::Enter(Call::Name("openat"))));
        assert_eq!(
            event("sched_waking: comm=x pid=2 pid=7406 prio=120 target_cpu=000"),
            Some((true, Event::Wake(7406)))
        );
        assert_eq!(read("sched_wakeup_new: comm=sh pid=4666 prio=120"), Some(Event::Begin(4666)));
        assert_eq!(read("softirq_entry: vec=4 [action=BLOCK]"), Some(Event::InterruptBegins));
        assert_eq!(read("page_fault_user: address=0x7"), Some(Event::Fault));
        let take = |lock, taking, name| Some(Event::Take { lock, taking, name });
        assert_eq!(
            read("lock_acquire: 0xffff888005 try read &mm->mmap_lock"),
            take(0xff_ff88_8005, Taking::Shared, "&mm->mmap_lock")
        );
        assert_eq!(read("lock_acquire: 000000f5 try a b"), take(0xf5, Taking::Try, "a b"));
        assert_eq!(
            read("lock_acquire: f5 tasklist_lock"),
            take(0xf5, Taking::Alone, "tasklist_lock")
        );
        assert_eq!(read("lock_release: 0xf5 tasklist_lock"), Some(Event::Release { lock: 0xf5 }));
        assert_eq!(read("contention_begin: 0xf5 (flags=SPIN)"), Some(Event::WaitBegins));
        assert_eq!(read("lock_acquired: 0xf5 tasklist_lock"), Some(Event::WaitEnds));
        assert_eq!(read("contention_end: 0xf5 (ret=0)"), Some(Event::WaitEnds));
        assert_eq!(read("kmalloc: ptr=1"), Some(Event::Other));
        for damaged in [
            "sys_enter: x",
            "sched_switch: prev_state=R",
            "sched_waking: comm=x",
            "lock_acquire: f5",
            "lock_release: x y",
        ] {
            assert_eq!(read(damaged), None, "{damaged}");
        }
    }
}
