//! What a tracer recorded, whatever the program is.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// Who recorded a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// Our QEMU plugin: every block, from the first instruction on.
    QemuPlugin,
    /// The kernel's function tracer: function entries, from when it starts, without `noinstr` code.
    Ftrace,
    /// `perf script`: samples or traced events.
    Perf,
    /// Breakpoints at the entries of functions, each removed when it was hit: which functions ran.
    Breakpoints,
    /// uftrace: the calls of a program that was built for it, or whose functions it has patched.
    Uftrace,
    /// Probes that were put into objects: entries of the functions that have one.
    Probe,
    /// A plain list of names or addresses.
    List,
}

impl Source {
    const ALL: [Source; 7] = [
        Source::QemuPlugin,
        Source::Ftrace,
        Source::Perf,
        Source::Breakpoints,
        Source::Uftrace,
        Source::Probe,
        Source::List,
    ];

    /// Its name in a trace file and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Source::QemuPlugin => "qemu-plugin",
            Source::Ftrace => "ftrace",
            Source::Perf => "perf",
            Source::Breakpoints => "breakpoints",
            Source::Uftrace => "uftrace",
            Source::Probe => "probe",
            Source::List => "list",
        }
    }

    /// The source of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.name() == name)
    }
}

/// Index of a name in its [`Trace`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub u32);

/// Where something ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// All instructions from `start` for `length` bytes.
    Block {
        /// Address of the first instruction.
        start: u64,
        /// Length in bytes.
        length: u32,
    },
    /// An instruction at this address: nothing is known of what follows.
    Address(u64),
    /// The entry of the function of this name.
    Name(NameId),
}

/// The first execution of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// What ran.
    pub place: Place,
    /// The symbol and the offset in it that the tracer gave beside an address.
    pub symbol: Option<(NameId, u64)>,
    /// The file or module that holds the code, where the tracer sees several: `[kernel.kallsyms]`,
    /// `ext4`, `/usr/bin/app`. `None` is the program that the tracer is about.
    pub object: Option<NameId>,
    /// How often it ran in all; 0 where nothing but a stack trace says that it ran.
    pub count: u64,
}

/// What a tracer recorded: places in the order in which each ran *first*, with counts.
#[derive(Debug, Clone)]
pub struct Trace {
    pub(crate) source: Source,
    /// Build ID of the traced program in lower-case hexadecimal, where the tracer knew it.
    pub build_id: Option<String>,
    /// Events that the tracer itself says are missing: overwritten in its buffer, or dropped. At
    /// least 1 where it says that some are missing and not how many.
    pub lost: u64,
    /// Lines of its text that say nothing of what ran, by their kind: other events, and lines that cannot
    /// be read.
    passed: BTreeMap<&'static str, u64>,
    events: Vec<Event>,
    names: Vec<String>,
    name_ids: HashMap<String, NameId>,
    seen: HashMap<(Place, Option<NameId>), u32>,
}

impl Trace {
    /// A trace without events.
    pub fn new(source: Source) -> Self {
        Trace {
            source,
            build_id: None,
            lost: 0,
            passed: BTreeMap::new(),
            events: Vec::new(),
            names: Vec::new(),
            name_ids: HashMap::new(),
            seen: HashMap::new(),
        }
    }

    /// Who recorded it.
    pub fn source(&self) -> Source {
        self.source
    }

    /// All places in the order in which they first ran.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// How many lines of each kind were passed over, by the kind's name in the plural.
    pub fn passed(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.passed.iter().map(|(kind, count)| (*kind, *count))
    }

    /// Counts lines that are passed over; `kind` says in the plural what they are.
    pub fn pass_over(&mut self, kind: &'static str, count: u64) {
        if count > 0 {
            *self.passed.entry(kind).or_default() += count;
        }
    }

    /// The name that `id` stands for.
    pub fn name(&self, id: NameId) -> &str {
        &self.names[id.0 as usize]
    }

    /// The names of functions, some several times; files have names, too.
    pub(crate) fn symbols(&self) -> impl Iterator<Item = &str> {
        self.events.iter().flat_map(|event| {
            let place = match event.place {
                Place::Name(name) => Some(name),
                Place::Block { .. } | Place::Address(_) => None,
            };
            place.into_iter().chain(event.symbol.map(|(name, _)| name)).map(|name| self.name(name))
        })
    }

    /// The id for `name`.
    pub fn intern(&mut self, name: &str) -> NameId {
        if let Some(&id) = self.name_ids.get(name) {
            return id;
        }
        let id = NameId(self.names.len() as u32);
        self.names.push(name.to_owned());
        self.name_ids.insert(name.to_owned(), id);
        id
    }

    /// Adds `count` executions of `place`: a new event, or more of an earlier one.
    ///
    /// A `count` of 0 is taken as 1: what is recorded ran.
    pub fn record(&mut self, place: Place, symbol: Option<(NameId, u64)>, count: u64) {
        self.record_in(None, place, symbol, count);
    }

    /// Records that a place ran before what is recorded next, and nothing of how often: the caller of a
    /// function, which a stack trace shows.
    pub fn record_caller(
        &mut self,
        object: Option<NameId>,
        place: Place,
        symbol: Option<(NameId, u64)>,
    ) {
        self.add(object, place, symbol, 0);
    }

    /// As [`Trace::record`], for a tracer that sees several programs: `object` holds the code. The
    /// same address in two objects makes two events.
    pub fn record_in(
        &mut self,
        object: Option<NameId>,
        place: Place,
        symbol: Option<(NameId, u64)>,
        count: u64,
    ) {
        self.add(object, place, symbol, count.max(1));
    }

    fn add(
        &mut self,
        object: Option<NameId>,
        place: Place,
        symbol: Option<(NameId, u64)>,
        count: u64,
    ) {
        match self.seen.entry((place, object)) {
            Entry::Vacant(entry) => {
                entry.insert(self.events.len() as u32);
                self.events.push(Event { place, symbol, object, count });
            }
            Entry::Occupied(entry) => {
                let event = &mut self.events[*entry.get() as usize];
                event.count = event.count.saturating_add(count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn folds_repeats_into_the_first_execution() {
        let mut trace = Trace::new(Source::List);
        let [a, b] = ["a", "b"].map(|name| trace.intern(name));
        for name in [b, a, b, b] {
            trace.record(Place::Name(name), None, 1);
        }
        let seen: Vec<_> = trace.events().iter().map(|e| (e.place, e.count)).collect();
        assert_eq!(seen, [(Place::Name(b), 3), (Place::Name(a), 1)]);
    }

    #[test]
    fn counts_saturate_and_are_never_zero() {
        let mut trace = Trace::new(Source::QemuPlugin);
        trace.record(Place::Address(1), None, 0);
        assert_eq!(trace.events()[0].count, 1);
        trace.record(Place::Address(1), None, u64::MAX);
        assert_eq!(trace.events()[0].count, u64::MAX);
    }

    #[test]
    fn keeps_the_same_address_of_two_objects_apart() {
        let mut trace = Trace::new(Source::Perf);
        let [app, libc] = ["app", "libc.so"].map(|name| Some(trace.intern(name)));
        for object in [app, libc, app, None] {
            trace.record_in(object, Place::Address(0x1000), None, 1);
        }
        let seen: Vec<_> = trace.events().iter().map(|e| (e.object, e.count)).collect();
        assert_eq!(seen, [(app, 2), (libc, 1), (None, 1)]);
    }

    #[test]
    fn sources_have_names_that_read_back() {
        for source in Source::ALL {
            assert_eq!(Source::from_name(source.name()), Some(source));
        }
        assert_eq!(Source::from_name("strace"), None);
    }

    proptest! {
        #[test]
        fn counts_add_up_in_order_of_first_execution(addresses in prop::collection::vec(0u64..8, 0..40)) {
            let mut trace = Trace::new(Source::QemuPlugin);
            let mut order: Vec<u64> = Vec::new();
            for &address in &addresses {
                trace.record(Place::Address(address), None, 1);
                if !order.contains(&address) {
                    order.push(address);
                }
            }
            let places: Vec<_> = trace.events().iter().map(|e| e.place).collect();
            prop_assert_eq!(places, order.into_iter().map(Place::Address).collect::<Vec<_>>());
            prop_assert_eq!(trace.events().iter().map(|e| e.count).sum::<u64>(), addresses.len() as u64);
        }
    }
}
