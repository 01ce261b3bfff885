use std::collections::HashMap;
use std::collections::hash_map::Entry;

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
    /// A plain list of names or addresses.
    List,
}

impl Source {
    /// Its name in a trace file and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Source::QemuPlugin => "qemu-plugin",
            Source::Ftrace => "ftrace",
            Source::Perf => "perf",
            Source::List => "list",
        }
    }

    /// The source of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Source::QemuPlugin, Source::Ftrace, Source::Perf, Source::List]
            .into_iter()
            .find(|source| source.name() == name)
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
    /// How often it ran in all; at least 1.
    pub count: u64,
}

/// What a tracer recorded: places in the order in which each ran *first*, with counts.
#[derive(Debug, Clone)]
pub struct Trace {
    pub(crate) source: Source,
    /// Build ID of the traced program in lower-case hexadecimal, where the tracer knew it.
    pub build_id: Option<String>,
    events: Vec<Event>,
    names: Vec<String>,
    name_ids: HashMap<String, NameId>,
    seen: HashMap<Place, u32>,
}

impl Trace {
    /// A trace without events.
    pub fn new(source: Source) -> Self {
        Trace {
            source,
            build_id: None,
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

    /// The name that `id` stands for.
    pub fn name(&self, id: NameId) -> &str {
        &self.names[id.0 as usize]
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
    pub fn record(&mut self, place: Place, symbol: Option<(NameId, u64)>, count: u64) {
        match self.seen.entry(place) {
            Entry::Vacant(entry) => {
                entry.insert(self.events.len() as u32);
                self.events.push(Event { place, symbol, count });
            }
            Entry::Occupied(entry) => {
                let event = &mut self.events[*entry.get() as usize];
                event.count = event.count.saturating_add(count);
            }
        }
    }
}
