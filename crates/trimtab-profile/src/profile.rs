//! A trace that is found in a program: which functions and which of their bytes ran.

use crate::coverage::Coverage;
use crate::early::Early;
use crate::moved::LoadOffsets;
use crate::names::{NameMatches, Names};
use crate::readable::is_readable;
use crate::trace::{Event, NameId, Place, Source, Trace};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
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
pub struct ExecutedFunction {
    /// The function.
    pub function: FunctionId,
    /// How often it was entered, where the tracer counts; at least 1.
    pub count: u64,
}

/// What a trace says of one program.
#[derive(Debug, Clone)]
pub struct Profile {
    precision: Precision,
    functions: Vec<ExecutedFunction>,
    blocks: Vec<Range>,
    executed: RangeSet,
    coverage: Coverage,
}

impl Profile {
    /// Finds each event of `trace` in `program`.
    ///
    /// An address is believed where the trace gives no symbol for it or the program has the same
    /// symbol there, be it demangled; else the symbol and its offset are looked up by name, so that a
    /// trace of a kernel also fits the same code linked in another order, and one of a program that the
    /// system put anywhere. Of several functions of a name those count that were moved as far as others.
    /// A name that the program has only with another suffix of the compiler's means that function. Early
    /// boot code that ran at its physical address is moved to where it is linked.
    ///
    /// A trace can hold several programs (`perf script` does). Then the one whose symbols this
    /// program has is taken, and the events of all others count as outside.
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
    pub fn functions(&self) -> &[ExecutedFunction] {
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
        let mut position: HashMap<FunctionId, usize> =
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
            sum.without_suffix += more.without_suffix;
            sum.outside += more.outside;
            sum.without_files |= more.without_files;
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
    names: Names<'a, 'data>,
    moved: LoadOffsets,
    precision: Precision,
    /// The object whose events count, where the trace holds several.
    object: Option<Option<NameId>>,
    /// While the machine still runs at physical addresses.
    early: Option<Early>,
    position: Vec<Option<u32>>,
    functions: Vec<ExecutedFunction>,
    blocks: Vec<Range>,
    lost: Vec<Range>,
    missing: HashSet<String>,
    /// Names that fit only without their suffix.
    without_suffix: HashSet<NameId>,
    /// Names that several functions have, of which nothing tells which one ran.
    ambiguous: HashSet<NameId>,
    misplaced: u64,
    coverage: Coverage,
}

/// How it is known that an event is in a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// By its address alone.
    Address,
    /// The tracer's symbol agrees with the address.
    Symbol,
    /// By the tracer's symbol: the code lies elsewhere in this program.
    Moved,
}

impl<'a, 'data> Resolver<'a, 'data> {
    fn new(trace: &'a Trace, program: &'a Program<'data>) -> Self {
        let blocks = trace.events().iter().any(|e| matches!(e.place, Place::Block { .. }));
        let names = Names::new(trace, program);
        Resolver {
            trace,
            program,
            moved: LoadOffsets::of(trace, program, &names),
            precision: if blocks { Precision::Blocks } else { Precision::Functions },
            object: choose_object(trace, program, &names),
            names,
            early: Early::of(program, trace),
            position: vec![None; program.functions().len()],
            functions: Vec::new(),
            blocks: Vec::new(),
            lost: Vec::new(),
            missing: HashSet::new(),
            without_suffix: HashSet::new(),
            ambiguous: HashSet::new(),
            misplaced: 0,
            coverage: Coverage::default(),
        }
    }

    fn add(&mut self, event: &Event) {
        if self.object.is_some_and(|object| object != event.object) {
            self.coverage.outside += 1;
            return;
        }
        let (address, length) = match event.place {
            Place::Name(id) => {
                self.add_name(id, event.count);
                return;
            }
            Place::Address(address) => (address, None),
            // What ran has at least a byte.
            Place::Block { start, length } => (start, Some(u64::from(length.max(1)))),
        };
        let address = self.linked_address(address);
        let section = self.program.sections().iter().find(|s| s.range.contains(address));
        let function = self.program.function_at(address);
        let lost = || {
            let range = Range::with_length(address, length.unwrap_or(1));
            section.map_or(range, |section| range.intersection(section.range))
        };
        if let Some((name, offset)) = event.symbol {
            let found = self.find(name);
            let named = function.filter(|id| found.ids.contains(id));
            // Of a single instruction only the function is taken, and its name tells that.
            let at_offset = |id| address - self.program.function(id).range.start == offset;
            match named.filter(|&id| length.is_none() || at_offset(id)) {
                Some(id) => self.add_block(id, address, length, event.count, Evidence::Symbol),
                None if self.add_moved(event, &found, named, offset, address, length) => {}
                None if self.is_elsewhere(name, event, address) => self.coverage.outside += 1,
                None => {
                    self.lost.push(lost());
                    self.miss(self.trace.name(name).to_owned());
                }
            }
            return;
        }
        match (section, function) {
            // Code that no symbol names, such as the kernel's .altinstr_aux, says nothing of whether
            // this is the program that was traced.
            (None, _) => self.coverage.outside += 1,
            (Some(section), None) if !self.program.functions_in(section.range).any(|_| true) => {
                self.coverage.outside += 1;
            }
            (Some(_), Some(id)) => {
                self.add_block(id, address, length, event.count, Evidence::Address);
            }
            (Some(_), None) => {
                self.lost.push(lost());
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
        early.linked(address)
    }

    /// What a name of the trace can mean.
    fn find(&mut self, name: NameId) -> Rc<NameMatches> {
        let found = self.names.find(name);
        if found.without_suffix {
            self.without_suffix.insert(name);
        }
        found
    }

    /// Whether a symbol that the program lacks can be none of its functions: a stub of its linkage table,
    /// which tools name after the function that it calls; or, where the trace names no files, one of the
    /// kernel, if the program is none.
    fn is_elsewhere(&self, name: NameId, event: &Event, address: u64) -> bool {
        let high = |address: u64| address >> 63 == 1;
        let program_is_high = || self.program.sections().iter().any(|s| high(s.range.start));
        self.trace.name(name).ends_with("@plt")
            || (event.object.is_none() && high(address) && !program_is_high())
    }

    fn add_name(&mut self, name: NameId, count: u64) {
        let found = self.find(name);
        if found.ids.is_empty() {
            self.miss(self.trace.name(name).to_owned());
            return;
        }
        if found.ids.len() > 1 {
            self.ambiguous.insert(name);
        }
        for &id in &found.ids {
            let range = self.program.function(id).range;
            self.enter(id, count);
            self.blocks.push(range);
        }
    }

    /// An event whose symbol is not at its address: the same code, linked elsewhere. Of several
    /// functions of the name, `likely` is the one at the address. Returns whether the program has
    /// such a symbol.
    fn add_moved(
        &mut self,
        event: &Event,
        found: &NameMatches,
        likely: Option<FunctionId>,
        offset: u64,
        address: u64,
        length: Option<u64>,
    ) -> bool {
        let program = self.program;
        let fits = |id: &FunctionId| offset < program.function(*id).range.length();
        let mut fitting: Vec<FunctionId> = match likely.filter(fits) {
            Some(id) => vec![id],
            None => found.ids.iter().copied().filter(fits).collect(),
        };
        if fitting.len() > 1 {
            let as_others =
                |id: &FunctionId| self.moved.allows(event.object, program, *id, offset, address);
            if fitting.iter().any(as_others) {
                fitting.retain(as_others);
            }
        }
        // Demanglers differ in the words for one function; then the address tells which it is.
        let readable = event.symbol.is_some_and(|(name, _)| is_readable(self.trace.name(name)));
        if fitting.is_empty()
            && readable
            && let Some((id, start)) = self.moved.function_at(event.object, program, address)
        {
            self.add_block(id, start, length, event.count, Evidence::Symbol);
            return true;
        }
        if fitting.len() > 1 {
            self.ambiguous.extend(event.symbol.map(|(name, _)| name));
        }
        for &id in &fitting {
            let start = program.function(id).range.start + offset;
            self.add_block(id, start, length, event.count, Evidence::Moved);
        }
        !fitting.is_empty()
    }

    fn add_block(
        &mut self,
        id: FunctionId,
        start: u64,
        length: Option<u64>,
        count: u64,
        evidence: Evidence,
    ) {
        let program = self.program;
        let function = program.function(id);
        let Some(length) = length else {
            self.enter(id, count);
            self.blocks.push(function.range);
            return;
        };
        let at_entry = start == function.range.start;
        if self.position[id.index()].is_none() && !at_entry && evidence == Evidence::Address {
            // First seen in its middle. That is rare in the program that was traced (jumps into
            // assembly, resumed contexts) and the rule in any other.
            self.misplaced += 1;
            let offset = start - function.range.start;
            self.coverage.missing.push(format!("{}+{offset:#x}", function.name));
        }
        // Only a block at the entry counts as a call.
        self.enter(id, if at_entry { count } else { 0 });
        let section = program.section(function.section).range;
        let mut range = Range::with_length(start, length).intersection(section);
        // A block can run on into the next function (fall-through in assembly). Where the code was
        // moved, what is next is known to be the same only without padding between.
        let mut end = function.range.end;
        let further = Range { start: end, end: range.end.max(end) };
        for next in program.functions_in(further) {
            let next_range = program.function(next).range;
            if evidence == Evidence::Moved && next_range.start != end {
                break;
            }
            self.enter(next, count);
            end = next_range.end;
        }
        if evidence == Evidence::Moved {
            range.end = range.end.min(end);
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
                self.functions.push(ExecutedFunction { function: id, count });
            }
        }
    }

    fn miss(&mut self, name: String) {
        if self.missing.insert(name.clone()) {
            self.coverage.missing.push(name);
        }
    }

    fn finish(mut self) -> Profile {
        // Functions that were never seen at their entry ran all the same.
        for executed in &mut self.functions {
            executed.count = executed.count.max(1);
        }
        let executed = RangeSet::new(self.blocks.clone());
        let lost = RangeSet::new(self.lost);
        let found = self.functions.len() as u64;
        self.coverage.names_total = found + self.missing.len() as u64;
        self.coverage.names_found = found - self.misplaced.min(found);
        self.coverage.bytes_total = executed.bytes().saturating_add(lost.bytes());
        self.coverage.bytes_found = executed.bytes();
        self.coverage.ambiguous = self.ambiguous.len() as u64;
        self.coverage.without_suffix = self.without_suffix.len() as u64;
        self.coverage.without_files = self.trace.source() == Source::Perf
            && self.trace.events().iter().all(|event| event.object.is_none());
        Profile {
            precision: self.precision,
            functions: self.functions,
            blocks: self.blocks,
            executed,
            coverage: self.coverage,
        }
    }
}

/// The object whose events are the program's, where the trace holds events of several objects and
/// the program has the symbols of at least one. Libraries share some names with a kernel, so the
/// share of the names found weighs as much as their number.
fn choose_object(
    trace: &Trace,
    program: &Program<'_>,
    names: &Names<'_, '_>,
) -> Option<Option<NameId>> {
    let first = trace.events().first()?.object;
    if trace.events().iter().all(|event| event.object == first) {
        return None;
    }
    let mut order: Vec<Option<NameId>> = Vec::new();
    let mut counts: HashMap<Option<NameId>, (f64, f64)> = HashMap::new();
    for event in trace.events() {
        let found = match (event.place, event.symbol) {
            (Place::Name(name), _) | (_, Some((name, _))) => !names.find(name).ids.is_empty(),
            (Place::Address(address) | Place::Block { start: address, .. }, None) => {
                program.function_at(address).is_some()
            }
        };
        let (hits, total) = counts.entry(event.object).or_insert_with(|| {
            order.push(event.object);
            (0.0, 0.0)
        });
        *hits += f64::from(u8::from(found));
        *total += 1.0;
    }
    let score = |object: &Option<NameId>| {
        let (hits, total) = counts[object];
        hits * hits / total
    };
    // Of equals the first.
    order
        .into_iter()
        .rev()
        .max_by(|a, b| score(a).total_cmp(&score(b)))
        .filter(|object| score(object) > 0.0)
}
