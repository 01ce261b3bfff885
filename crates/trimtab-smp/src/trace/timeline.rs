//! What each thread did: in the order in which it did it, for how long, and on whom it waited.

use rustc_hash::FxHashMap;
use thiserror::Error;
use trimtab_profile::ftrace::lost;

use super::event::{Call, Event, Line, is_needed, line};
use super::lock_name::is_waited_for;
use crate::subsystem::Subsystem;

/// What a thread does for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Its program.
    User,
    /// A system call or a page fault.
    Kernel(Subsystem),
    /// An interrupt that came while it ran.
    Interrupt,
}

/// A step of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// It runs, for so many nanoseconds.
    Run(Activity, u64),
    /// It wakes another, by its place in [`Timeline::threads`].
    Wake(usize),
    /// It waits until another sleeps until it is woken, as the last to come to a barrier does.
    Await(usize),
    /// It sleeps until another of these threads wakes it.
    SleepUntilWoken,
    /// It sleeps for so many nanoseconds: until a device, a timer or somebody else wakes it.
    Sleep(u64),
    /// It takes a lock of the kernel's own, by its number.
    Take(u32, Taking),
    /// It gives back such a lock.
    Release(u32),
}

/// How a lock is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taking {
    /// Nobody else may have it; who wants it waits for it.
    Alone,
    /// The same, but who does not get it at once goes on without.
    Try,
    /// Others may have it as well, if they share it.
    Shared,
}

/// A thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadTrace {
    /// Its number.
    pub number: u32,
    /// Its last name.
    pub name: String,
    /// What it did.
    pub spans: Vec<Span>,
}

/// A trace, by threads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The threads, in the order in which they are seen first.
    pub threads: Vec<ThreadTrace>,
    /// Nanoseconds from the first event to the last.
    pub length: u64,
    /// CPUs on which something ran.
    pub cpus: usize,
    /// System calls.
    pub calls: u64,
    /// Page faults.
    pub faults: u64,
    /// The kernel's names of locks of its own, by the numbers that spans have of them.
    pub locks: Vec<String>,
    /// Nanoseconds that threads waited for locks, which is nothing that they did.
    pub waited: u64,
    /// What makes it less exact.
    pub warnings: Warnings,
}

/// What makes a timeline less exact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Warnings {
    /// Page faults whose duration is not known.
    pub faults_without_duration: u64,
    /// Lines of events that are needed, and that cannot be read.
    pub unread: u64,
    /// Events of locks that have no address.
    pub locks_without_address: u64,
    /// Whether no event of an interrupt is there.
    pub no_interrupts: bool,
    /// Whether no event of a wake-up is there.
    pub no_wakes: bool,
}

/// Why a trace cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TraceError {
    /// It says that events are missing.
    #[error("line {line} says that events are lost")]
    Lost {
        /// The line that says so, from 1.
        line: usize,
    },
    /// It has no switches between threads.
    #[error("{}", no_switches(*events))]
    NoSwitches {
        /// Lines that are events.
        events: usize,
    },
    /// It has no system calls.
    #[error("it has no event of a system call")]
    NoCalls,
    /// Time goes back.
    #[error("time goes back in line {line}")]
    Unordered {
        /// The line, from 1.
        line: usize,
    },
    /// It is longer than is simulated.
    #[error("it is {seconds} seconds long; expected at most {MOST_SECONDS}")]
    TooLong {
        /// Seconds from the first event to the last.
        seconds: u64,
    },
    /// No thread has the name that was asked for.
    #[error("it has no thread named {name}")]
    NoThread {
        /// The name.
        name: String,
    },
}

/// What is said of that many events without switches.
fn no_switches(events: usize) -> String {
    match events {
        0 => "it has no line that is an event of the kernel".to_owned(),
        _ => format!("of {events} events none is sched_switch, which says who ran when"),
    }
}

/// The longest trace that is simulated, in seconds: a day.
const MOST_SECONDS: u64 = 24 * 3600;

/// Beginnings of the names of threads of the kernel, which make no system calls.
const KERNEL_THREADS: [&str; 18] = [
    "kworker/",
    "ksoftirqd/",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "kthreadd",
    "kblockd",
    "kdamond",
    "ksmd",
    "jbd2/",
    "ext4-",
    "migration/",
    "rcu_",
    "irq/",
    "cpuhp/",
    "idle_inject/",
    "oom_reaper",
    "scsi_eh",
];

/// What a thread of this name does where nothing else is known.
fn usual(name: &str) -> Activity {
    match KERNEL_THREADS.iter().any(|begin| name.starts_with(begin)) {
        true => Activity::Kernel(Subsystem::Processes),
        false => Activity::User,
    }
}

/// How a trace is read.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// Names of system calls by number.
    pub name: &'a dyn Fn(u64) -> Option<&'static str>,
    /// Only threads of this name, and those that they begin.
    pub only: Option<&'a str>,
    /// What a page fault takes, in nanoseconds; none where that is not known.
    pub fault: Option<u64>,
}

impl Timeline {
    /// Reads the text of a trace.
    ///
    /// # Errors
    /// [`TraceError`]
    pub fn read(text: &str, reading: &Reading<'_>) -> Result<Self, TraceError> {
        let mut builder = Builder::new(reading);
        let (mut events, mut switches, mut calls) = (0, 0, 0);
        let mut last = 0;
        for (at, text) in text.lines().enumerate() {
            if lost(text) {
                return Err(TraceError::Lost { line: at + 1 });
            }
            let Some(line) = line(text) else {
                let warnings = &mut builder.timeline.warnings;
                warnings.unread += u64::from(is_needed(text));
                warnings.locks_without_address += u64::from(text.contains(": (____ptrval____) "));
                continue;
            };
            if line.time < last {
                return Err(TraceError::Unordered { line: at + 1 });
            }
            last = line.time;
            events += 1;
            switches += usize::from(matches!(line.event, Event::Switch { .. }));
            calls += usize::from(matches!(line.event, Event::Enter(_)));
            builder.add(&line);
        }
        if switches == 0 {
            return Err(TraceError::NoSwitches { events });
        }
        if calls == 0 {
            return Err(TraceError::NoCalls);
        }
        if let (true, Some(name)) = (builder.timeline.threads.is_empty(), reading.only) {
            return Err(TraceError::NoThread { name: name.to_owned() });
        }
        let seconds = (last - builder.start()) / 1_000_000_000;
        match seconds > MOST_SECONDS {
            true => Err(TraceError::TooLong { seconds }),
            false => Ok(builder.end(last)),
        }
    }

    /// Nanoseconds that all threads ran.
    pub fn busy(&self) -> u64 {
        let spans = self.threads.iter().flat_map(|thread| &thread.spans);
        spans.map(|span| if let Span::Run(_, time) = span { *time } else { 0 }).sum()
    }
}

/// What a CPU does just now.
#[derive(Debug, Clone, Copy, Default)]
struct Cpu {
    /// The thread that runs, where it counts.
    current: Option<usize>,
    /// Its number; that of any thread.
    number: Option<u32>,
    since: u64,
    /// Interrupts within interrupts.
    depth: u32,
    /// Whether a thread that counts ran on it.
    used: bool,
}

/// What a thread does just now.
#[derive(Debug, Clone, Copy)]
struct State {
    mode: Activity,
    /// The place of the span in which it sleeps, and since when.
    asleep: Option<(usize, u64)>,
    /// What is left of a page fault.
    fault: u64,
    /// Since when it waits for a lock.
    waits: Option<u64>,
}

struct Builder<'a> {
    reading: &'a Reading<'a>,
    timeline: Timeline,
    states: Vec<State>,
    /// Places of threads by number.
    places: FxHashMap<u32, usize>,
    cpus: FxHashMap<u32, Cpu>,
    /// Numbers of locks by address.
    locks: FxHashMap<u64, u32>,
    first: Option<u64>,
    interrupts: u64,
    wakes: u64,
}

impl<'a> Builder<'a> {
    fn new(reading: &'a Reading<'a>) -> Self {
        let (timeline, states, places, cpus, locks, first) = Default::default();
        Self { reading, timeline, states, places, cpus, locks, first, interrupts: 0, wakes: 0 }
    }

    fn start(&self) -> u64 {
        self.first.unwrap_or_default()
    }

    /// The place of a thread; one that is seen for the first time counts if its name does.
    fn place(&mut self, number: u32, name: Option<&str>, time: u64) -> Option<usize> {
        if number == 0 {
            return None;
        }
        if let Some(&place) = self.places.get(&number) {
            if let Some(name) = name.filter(|name| *name != self.timeline.threads[place].name) {
                if self.timeline.threads[place].name.is_empty() {
                    self.states[place].mode = usual(name);
                }
                name.clone_into(&mut self.timeline.threads[place].name);
            }
            return Some(place);
        }
        match (self.reading.only, name) {
            (Some(only), Some(name)) if only == name => {}
            (None, _) => {}
            _ => return None,
        }
        let name = name.unwrap_or_default();
        let place = self.new_thread(number, name, usual(name));
        // It begins with the first that counts.
        let before = time - *self.first.get_or_insert(time);
        if self.reading.only.is_some() && before > 0 {
            // Until now it was another program, which does not count.
            self.timeline.threads[place].spans.push(Span::Sleep(before));
        }
        Some(place)
    }

    fn new_thread(&mut self, number: u32, name: &str, mode: Activity) -> usize {
        let place = self.timeline.threads.len();
        let thread = ThreadTrace { number, name: name.to_owned(), spans: Vec::new() };
        self.timeline.threads.push(thread);
        self.states.push(State { mode, asleep: None, fault: 0, waits: None });
        self.places.insert(number, place);
        place
    }

    fn add(&mut self, line: &Line<'_>) {
        if self.reading.only.is_none() {
            self.first.get_or_insert(line.time);
        }
        let is_new = !self.cpus.contains_key(&line.cpu);
        let seen = self.cpus.entry(line.cpu).or_default();
        if is_new {
            // Whatever ran here did so since the trace began; what it was before it counted is not known.
            let first = self.first.filter(|_| self.reading.only.is_none());
            seen.since = first.unwrap_or(line.time);
        } else if seen.number != Some(line.thread) {
            self.charge(line.cpu, line.time);
        }
        let place = self.place(line.thread, Some(line.name), line.time);
        let is_chosen = self.reading.only.is_some();
        let cpu = self.cpu(line.cpu);
        if is_chosen && cpu.current.is_none() {
            // What ran until now did not count.
            cpu.since = line.time;
        }
        (cpu.current, cpu.number) = (place, Some(line.thread));
        self.event(line, place);
    }

    fn event(&mut self, line: &Line<'_>, current: Option<usize>) {
        // Long: a case for each kind of event.
        match line.event {
            Event::Enter(call) => {
                self.wait_ends(line, current);
                let subsystem = self.subsystem(call);
                if let Some(place) = current {
                    self.timeline.calls += 1;
                    self.states[place].mode = Activity::Kernel(subsystem);
                }
            }
            Event::Exit(call) => {
                let subsystem = call.map(|call| self.subsystem(call));
                let state = current.map(|place| &mut self.states[place]);
                // It began before the trace did.
                let began = state.filter(|state| state.mode == Activity::User).zip(subsystem);
                if let Some((state, subsystem)) = began {
                    state.mode = Activity::Kernel(subsystem);
                }
                self.wait_ends(line, current);
                if let Some(place) = current {
                    self.states[place].mode = Activity::User;
                }
            }
            Event::Fault => {
                self.charge(line.cpu, line.time);
                if let Some(place) = current {
                    self.timeline.faults += 1;
                    self.states[place].fault = self.reading.fault.unwrap_or(0);
                    self.timeline.warnings.faults_without_duration +=
                        u64::from(self.reading.fault.is_none());
                }
            }
            Event::InterruptBegins => {
                self.interrupts += 1;
                self.charge(line.cpu, line.time);
                self.cpu(line.cpu).depth += 1;
            }
            Event::InterruptEnds => {
                self.charge(line.cpu, line.time);
                let cpu = self.cpu(line.cpu);
                cpu.depth = cpu.depth.saturating_sub(1);
            }
            Event::Switch { preempted, next, name } => {
                self.switch(line, current, preempted);
                let place = self.place(next, Some(name), line.time);
                if let Some(place) = place {
                    // It was asleep, and who woke it was not seen.
                    self.wakes_up(place, line.time, None);
                }
                let since = line.time;
                let used = self.cpu(line.cpu).used;
                *self.cpu(line.cpu) =
                    Cpu { current: place, number: Some(next), since, depth: 0, used };
            }
            Event::Wake(number) => {
                self.wakes += 1;
                let is_new = !self.places.contains_key(&number);
                let Some(woken) = self.place(number, None, line.time) else { return };
                if is_new {
                    // It slept before the trace began.
                    self.falls_asleep(woken, self.start());
                }
                let waker = self.waker(line, current);
                self.wakes_up(woken, line.time, waker);
            }
            Event::Begin(number) => self.begins(line, current, number),
            Event::Take { lock, taking, name } => {
                if let (Some(place), true) = (current, is_waited_for(name)) {
                    self.charge(line.cpu, line.time);
                    let number = self.lock(lock, name);
                    self.timeline.threads[place].spans.push(Span::Take(number, taking));
                }
            }
            Event::Release { lock } => {
                if let (Some(place), Some(&number)) = (current, self.locks.get(&lock)) {
                    self.charge(line.cpu, line.time);
                    self.timeline.threads[place].spans.push(Span::Release(number));
                }
            }
            Event::WaitBegins => {
                self.charge(line.cpu, line.time);
                if let Some(place) = current {
                    self.states[place].waits.get_or_insert(line.time);
                }
            }
            Event::WaitEnds => self.wait_ends(line, current),
            Event::Other => {}
        }
    }

    /// Who wakes: a thread, if it is not an interrupt that does. Programs wake nobody but by system calls,
    /// so that it is one where no event says it.
    fn waker(&mut self, line: &Line<'_>, current: Option<usize>) -> Option<usize> {
        let is_interrupt = line.in_interrupt || self.cpu(line.cpu).depth > 0;
        let current = current.filter(|_| !is_interrupt);
        let current = current.filter(|place| self.states[*place].mode != Activity::User);
        current.inspect(|_| self.charge(line.cpu, line.time))
    }

    fn switch(&mut self, line: &Line<'_>, current: Option<usize>, preempted: bool) {
        self.charge(line.cpu, line.time);
        if let Some(place) = current.filter(|_| !preempted) {
            self.falls_asleep(place, line.time);
        }
    }

    fn begins(&mut self, line: &Line<'_>, parent: Option<usize>, number: u32) {
        if self.reading.only.is_some() && parent.is_none() {
            self.places.remove(&number);
            return;
        }
        let name = parent.map_or(String::new(), |at| self.timeline.threads[at].name.clone());
        let mode = Activity::Kernel(Subsystem::Processes);
        let child = self.new_thread(number, &name, mode);
        self.falls_asleep(child, self.start());
        let waker = self.waker(line, parent);
        self.wakes_up(child, line.time, waker);
    }

    fn falls_asleep(&mut self, place: usize, time: u64) {
        let spans = &mut self.timeline.threads[place].spans;
        self.states[place].asleep = Some((spans.len(), time));
        spans.push(Span::Sleep(0));
    }

    fn wakes_up(&mut self, place: usize, time: u64, waker: Option<usize>) {
        let Some((span, since)) = self.states[place].asleep.take() else { return };
        if self.states[place].waits.is_some() {
            // For a lock: the simulation says when it gets that.
            return;
        }
        let slept = match waker.filter(|waker| *waker != place) {
            Some(waker) => {
                self.timeline.threads[waker].spans.push(Span::Wake(place));
                Span::SleepUntilWoken
            }
            None => Span::Sleep(time - since),
        };
        self.timeline.threads[place].spans[span] = slept;
    }

    fn subsystem(&self, call: Call<'_>) -> Subsystem {
        match call {
            Call::Name(name) => Subsystem::of_call(name),
            Call::Number(number) => {
                (self.reading.name)(number).map_or(Subsystem::Processes, Subsystem::of_call)
            }
        }
    }

    /// A thread no longer waits for a lock, if it did: so says an event, or that it makes a call, where that event is
    /// not in the trace.
    fn wait_ends(&mut self, line: &Line<'_>, current: Option<usize>) {
        self.charge(line.cpu, line.time);
        if let Some(since) = current.and_then(|place| self.states[place].waits.take()) {
            self.timeline.waited += line.time - since;
        }
    }

    /// The number of a lock.
    fn lock(&mut self, lock: u64, name: &str) -> u32 {
        let names = &mut self.timeline.locks;
        *self.locks.entry(lock).or_insert_with(|| {
            names.push(name.to_owned());
            names.len() as u32 - 1
        })
    }

    fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        self.cpus.entry(cpu).or_default()
    }

    /// Adds the time since the last event of a CPU to the thread that ran.
    fn charge(&mut self, cpu: u32, time: u64) {
        let cpu = self.cpu(cpu);
        let mut passed = time - cpu.since;
        cpu.since = time;
        let (depth, Some(place)) = (cpu.depth, cpu.current) else { return };
        cpu.used = true;
        let state = &mut self.states[place];
        if state.waits.is_some() && depth == 0 {
            return;
        }
        if depth > 0 {
            self.run(place, Activity::Interrupt, passed);
            return;
        }
        let mode = state.mode;
        if mode == Activity::User && state.fault > 0 {
            let fault = passed.min(state.fault);
            state.fault -= fault;
            self.run(place, Activity::Kernel(Subsystem::Memory), fault);
            passed -= fault;
        }
        self.run(place, mode, passed);
    }

    fn run(&mut self, place: usize, activity: Activity, time: u64) {
        let spans = &mut self.timeline.threads[place].spans;
        match spans.last_mut() {
            _ if time == 0 => {}
            Some(Span::Run(last, so_far)) if *last == activity => *so_far += time,
            _ => spans.push(Span::Run(activity, time)),
        }
    }

    fn end(mut self, last: u64) -> Timeline {
        let mut cpus: Vec<u32> = self.cpus.keys().copied().collect();
        cpus.sort_unstable();
        for cpu in cpus {
            self.charge(cpu, last);
        }
        for (thread, state) in self.timeline.threads.iter_mut().zip(&self.states) {
            // What is not woken any more has done its work.
            if state.asleep.is_some() {
                thread.spans.pop();
            }
        }
        self.timeline.length = last - self.start();
        self.timeline.cpus = self.cpus.values().filter(|cpu| cpu.used).count();
        self.timeline.warnings.no_interrupts = self.interrupts == 0;
        self.timeline.warnings.no_wakes = self.wakes == 0;
        self.timeline
    }
}

#[cfg(test)]
mod tests;
