use crate::coverage::Coverage;
use crate::trace::{Event, Place, Trace};
use std::collections::HashSet;
use trimtab_program::{FunctionId, Program, Range, RangeSet};

/// How finely a profile knows what ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// Which functions were entered; all of a function's bytes count as executed.
    Functions,
    /// Which bytes ran.
    Blocks,
}

/// A function that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Executed {
    /// The function.
    pub function: FunctionId,
    /// How often it was entered, where the tracer counts; at least 1.
    pub count: u64,
}

/// What a trace says of one program.
#[derive(Debug, Clone)]
pub struct Profile {
    precision: Precision,
    functions: Vec<Executed>,
    blocks: Vec<Range>,
    executed: RangeSet,
    coverage: Coverage,
}

impl Profile {
    /// Finds each event of `trace` in `program`.
    ///
    /// An address is believed where the trace gives no symbol for it or the program has the same
    /// symbol there; else the symbol and its offset are looked up by name, so that a trace of a
    /// kernel also fits the same code linked in another order. Early boot code that ran at its
    /// physical address is moved to where it is linked.
    pub fn resolve(trace: &Trace, program: &Program<'_>) -> Profile {
        let mut resolver = Resolver::new(trace, program);
        for event in trace.events() {
            resolver.add(event);
        }
        resolver.finish()
    }

    /// How finely it knows what ran.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The functions that ran, in the order in which each ran first.
    pub fn functions(&self) -> &[Executed] {
        &self.functions
    }

    /// The runs of bytes that ran, in the order in which each ran first; they can overlap. Where
    /// only functions are known, their whole bytes.
    pub fn blocks(&self) -> &[Range] {
        &self.blocks
    }

    /// All bytes that ran.
    pub fn executed(&self) -> &RangeSet {
        &self.executed
    }

    /// How much of the trace was found.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// The profile of several runs: first execution in the first run that has it, then what only
    /// later runs executed, in their order. Counts and coverage are added up.
    ///
    /// Returns `None` for no profiles. All must be of the same program.
    pub fn merge(profiles: &[Profile]) -> Option<Profile> {
        let (first, rest) = profiles.split_first()?;
        let mut merged = first.clone();
        let mut position: std::collections::HashMap<FunctionId, usize> =
            merged.functions.iter().enumerate().map(|(i, e)| (e.function, i)).collect();
        let mut blocks: HashSet<Range> = merged.blocks.iter().copied().collect();
        for profile in rest {
            merged.precision = merged.precision.min(profile.precision);
            for executed in &profile.functions {
                match position.get(&executed.function) {
                    Some(&at) => {
                        let count = &mut merged.functions[at].count;
                        *count = count.saturating_add(executed.count);
                    }
                    None => {
                        position.insert(executed.function, merged.functions.len());
                        merged.functions.push(*executed);
                    }
                }
            }
            merged.blocks.extend(profile.blocks.iter().filter(|block| blocks.insert(**block)));
            merged.executed = merged.executed.union(&profile.executed);
            let (sum, more) = (&mut merged.coverage, &profile.coverage);
            sum.names_total += more.names_total;
            sum.names_found += more.names_found;
            sum.bytes_total += more.bytes_total;
            sum.bytes_found += more.bytes_found;
            sum.ambiguous += more.ambiguous;
            sum.outside += more.outside;
            for name in &more.missing {
                if !sum.missing.contains(name) {
                    sum.missing.push(name.clone());
                }
            }
        }
        Some(merged)
    }
}

struct Resolver<'a, 'data> {
    trace: &'a Trace,
    program: &'a Program<'data>,
    precision: Precision,
    /// Linked minus physical address, while the machine still runs at physical addresses.
    early: Option<Early>,
    position: Vec<Option<u32>>,
    functions: Vec<Executed>,
    blocks: Vec<Range>,
    lost: Vec<Range>,
    missing: HashSet<String>,
    misplaced: u64,
    coverage: Coverage,
}

/// Boot code before paging: between the kernel's physical entry and the first linked address.
struct Early {
    entered: bool,
}

impl<'a, 'data> Resolver<'a, 'data> {
    fn new(trace: &'a Trace, program: &'a Program<'data>) -> Self {
        let blocks = trace.events().iter().any(|e| matches!(e.place, Place::Block { .. }));
        let physical = program.segments().iter().any(|s| s.physical != s.range.start);
        Resolver {
            trace,
            program,
            precision: if blocks { Precision::Blocks } else { Precision::Functions },
            early: physical.then_some(Early { entered: false }),
            position: vec![None; program.functions().len()],
            functions: Vec::new(),
            blocks: Vec::new(),
            lost: Vec::new(),
            missing: HashSet::new(),
            misplaced: 0,
            coverage: Coverage::default(),
        }
    }

    fn add(&mut self, event: &Event) {
        let (address, length) = match event.place {
            Place::Name(id) => {
                let trace = self.trace;
                self.add_name(trace.name(id), event.count);
                return;
            }
            Place::Address(address) => (address, None),
            Place::Block { start, length } => (start, Some(u64::from(length))),
        };
        let address = self.linked_address(address);
        let inside = self.program.sections().iter().any(|s| s.range.contains(address));
        let function = self.program.function_at(address);
        if let Some((name, offset)) = event.symbol {
            let trace = self.trace;
            let name = trace.name(name);
            let same = function.is_some_and(|id| {
                let start = self.program.function(id).range.start;
                address - start == offset
                    && (self.program.function(id).name == name
                        || self.program.lookup(name).contains(&id))
            });
            if !same {
                if !self.add_moved(name, offset, length, event.count) {
                    self.lost.push(Range::with_length(address, length.unwrap_or(1)));
                    self.miss(name.to_owned());
                }
                return;
            }
        }
        if !inside {
            self.coverage.outside += 1;
            return;
        }
        match function {
            Some(id) => self.add_block(id, address, length, event.count),
            None => {
                let range = Range::with_length(address, length.unwrap_or(1));
                self.lost.push(range);
                self.miss(format!("{address:#x}"));
            }
        }
    }

    /// Moves a physical address of early boot to where the code is linked.
    fn linked_address(&mut self, address: u64) -> u64 {
        let Some(early) = &mut self.early else { return address };
        if self.program.sections().iter().any(|s| s.range.contains(address)) {
            self.early = None;
            return address;
        }
        early.entered |= address == self.program.entry();
        if !early.entered {
            return address;
        }
        self.program
            .segments()
            .iter()
            .find_map(|segment| {
                let offset = address.checked_sub(segment.physical)?;
                (offset < segment.range.length()).then(|| segment.range.start + offset)
            })
            .unwrap_or(address)
    }

    fn add_name(&mut self, name: &str, count: u64) {
        let found = self.program.lookup(name);
        if found.is_empty() {
            self.miss(name.to_owned());
            return;
        }
        self.coverage.ambiguous += u64::from(found.len() > 1);
        for id in found {
            let range = self.program.function(id).range;
            self.enter(id, count);
            self.blocks.push(range);
        }
    }

    /// An event whose symbol is not at its address: the same code, linked elsewhere. Returns
    /// whether the program has such a symbol.
    fn add_moved(&mut self, name: &str, offset: u64, length: Option<u64>, count: u64) -> bool {
        let found = self.program.lookup(name);
        let fitting: Vec<FunctionId> = found
            .into_iter()
            .filter(|id| offset < self.program.function(*id).range.length())
            .collect();
        self.coverage.ambiguous += u64::from(fitting.len() > 1);
        for &id in &fitting {
            let start = self.program.function(id).range.start + offset;
            self.add_block(id, start, length, count);
        }
        !fitting.is_empty()
    }

    fn add_block(&mut self, id: FunctionId, start: u64, length: Option<u64>, count: u64) {
        let function = self.program.function(id).range;
        let Some(length) = length else {
            self.enter(id, count);
            self.blocks.push(function);
            return;
        };
        if self.position[id.index()].is_none() && start != function.start {
            // First seen in its middle. That is rare in the program that was traced (jumps into
            // assembly, resumed contexts) and the rule in any other.
            self.misplaced += 1;
            let name = self.program.function(id).name;
            self.coverage.missing.push(format!("{name}+{:#x}", start - function.start));
        }
        // Only a block at the entry counts as a call.
        self.enter(id, if start == function.start { count } else { 0 });
        // A block can run on into the next function (fall-through in assembly).
        let range = Range::with_length(start, length);
        if range.end > function.end {
            let further: Vec<FunctionId> =
                self.program.functions_in(Range { start: function.end, end: range.end }).collect();
            for next in further {
                self.enter(next, count);
            }
        }
        self.blocks.push(range);
    }

    fn enter(&mut self, id: FunctionId, count: u64) {
        match self.position[id.index()] {
            Some(at) => {
                let entry = &mut self.functions[at as usize];
                entry.count = entry.count.saturating_add(count);
            }
            None => {
                self.position[id.index()] = Some(self.functions.len() as u32);
                self.functions.push(Executed { function: id, count: count.max(1) });
            }
        }
    }

    fn miss(&mut self, name: String) {
        if self.missing.insert(name.clone()) {
            self.coverage.missing.push(name);
        }
    }

    fn finish(mut self) -> Profile {
        let executed = RangeSet::new(self.blocks.clone());
        let lost = RangeSet::new(self.lost);
        let found = self.functions.len() as u64;
        self.coverage.names_total = found + self.missing.len() as u64;
        self.coverage.names_found = found - self.misplaced.min(found);
        self.coverage.bytes_total = executed.bytes() + lost.bytes();
        self.coverage.bytes_found = executed.bytes();
        Profile {
            precision: self.precision,
            functions: self.functions,
            blocks: self.blocks,
            executed,
            coverage: self.coverage,
        }
    }
}
