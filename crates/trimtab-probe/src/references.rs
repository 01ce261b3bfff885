//! Every place in the code of an object that something jumps to, or whose address is taken.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use object::elf;

use crate::elf::{Object, Relocation};
use crate::function::{Function, Place};

/// How the instructions of an instruction set are read for what they lead to.
pub trait Scan {
    /// Kind of the relocations of data that hold the address of a place.
    const POINTER: u32;
    /// Kinds of relocations that hold distances, as jump tables do.
    const DISTANCES: &[u32];
    /// Kinds of relocations in code that hold distances from a label to which the code adds them.
    const ANCHORED: &[u32];

    /// Finds what the instructions of a part of a section lead to.
    fn scan(object: &Object, section: usize, range: Range<u64>, found: &mut References);
}

/// How the names of what clang puts in front of functions begin (`-fsanitize=kcfi`): a number for their
/// type.
const SIGNATURE: &str = "__cfi_";

/// The section where SystemTap's tracepoints of a program are, which no program reads.
const TRACEPOINTS: &[u8] = b".note.stapsdt";

/// Where clang's XRay finds what it patches, and which function that is of: both are the body's.
const SLEDS: [&[u8]; 2] = [b"xray_instr_map", b"xray_fn_idx"];

/// A branch that can lead elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct Branch {
    /// Where its distance is, of 4 bytes.
    pub at: Place,
    /// Whether it comes back.
    pub is_call: bool,
}

/// The address of a place, taken without its name: it can be that of another place.
#[derive(Debug, Clone, Copy)]
pub struct Pointer {
    /// Where it is.
    pub at: Place,
    /// Kind of the relocation that it has, or would have.
    pub kind: u32,
    /// What such a relocation adds to the address.
    pub addend: i64,
}

/// What the instructions of an object lead to.
#[derive(Debug, Default)]
pub struct References {
    /// Everything that something branches to, or whose address is taken.
    pub targets: HashSet<Place>,
    /// Functions that jump to their own first instruction, or may do so.
    pub loops: HashSet<Place>,
    /// Data whose address is taken, by section: a table of distances may begin there.
    pub tables: HashMap<usize, BTreeSet<u64>>,
    /// Branches that do not name what they lead to, by that.
    pub branches: HashMap<Place, Vec<Branch>>,
    /// Addresses that are taken without a name, by what they are of.
    pub pointers: HashMap<Place, Vec<Pointer>>,
    /// Functions that jump to an address which is not one of a table of distances.
    pub computed: HashSet<Place>,
    /// Functions whose first instruction may be the first of a loop.
    pub open: HashSet<Place>,
    /// What is reached, or has its address taken, without a name and in no such way.
    pub fixed: HashSet<Place>,
    /// Whether there is code that could not be read.
    pub incomplete: bool,
}

impl References {
    /// Something leads from a relocation to a place. What names a function goes wherever its symbol
    /// is; all else leads to the place, and so does what names a function and means a part of it.
    /// Says whether it names a function.
    pub fn follow(&mut self, object: &Object, relocation: &Relocation, target: Place) -> bool {
        let symbol = &object.symbols[relocation.symbol as usize];
        let named = symbol.defined_in().filter(|_| symbol.kind() == elf::STT_FUNC);
        let place = named.map(|section| (section, symbol.value));
        if place != Some(target) {
            self.fixed.extend(place);
        }
        place == Some(target)
    }

    /// The address of a place is taken without a name.
    pub fn point(&mut self, target: Place, pointer: Pointer) {
        self.pointers.entry(target).or_default().push(pointer);
    }

    /// The address of a place is taken.
    pub fn take_address(&mut self, object: &Object, (section, offset): Place) {
        if object.sections[section].is_text() {
            self.targets.insert((section, offset));
        } else {
            self.tables.entry(section).or_default().insert(offset);
        }
    }
}

/// What is known of the code of an object as a whole.
#[derive(Debug, Default)]
pub struct CodeMap {
    found: References,
    /// Where symbols are.
    labels: HashMap<usize, BTreeSet<u64>>,
    /// What distances in data lead to, and where these are: of each one or two places, one of which
    /// may be an accident.
    distances: HashMap<Place, Vec<Place>>,
    /// Sections of [`SLEDS`].
    sleds: HashSet<usize>,
}

impl CodeMap {
    /// Looks at all code and all data.
    pub fn of<S: Scan>(object: &Object, functions: &[Function]) -> Self {
        let mut map = Self::default();
        let sections = object.sections.iter().enumerate();
        let sleds = sections.filter(|(_, section)| SLEDS.contains(&section.name.as_slice()));
        map.sleds = sleds.map(|(section, _)| section).collect();
        for symbol in &object.symbols {
            if let Some(section) = symbol.defined_in()
                && !matches!(symbol.kind(), elf::STT_SECTION | elf::STT_FILE)
                && object.sections[section].is_text()
                && symbol.mapped(object.isa()).is_none()
            {
                map.labels.entry(section).or_default().insert(symbol.value);
                if symbol.kind() != elf::STT_FUNC {
                    map.found.fixed.insert((section, symbol.value));
                }
            }
        }
        // Those who call by address look at what is in front of the function.
        let signed = functions.iter().filter(|function| function.name.starts_with(SIGNATURE));
        map.found.fixed.extend(signed.map(|function| (function.section, function.end())));
        let mut rest: HashMap<usize, u64> = HashMap::new();
        for function in functions {
            let from = rest.entry(function.section).or_default();
            if *from < function.start {
                S::scan(object, function.section, *from..function.start, &mut map.found);
            }
            S::scan(object, function.section, function.start..function.end(), &mut map.found);
            *from = (*from).max(function.end());
        }
        for (section, data) in object.sections.iter().enumerate() {
            if data.is_text() {
                let from = rest.get(&section).copied().unwrap_or(0);
                S::scan(object, section, from..data.data.len() as u64, &mut map.found);
            }
        }
        map.scan_data(object, S::POINTER, S::DISTANCES);
        map.leave_loops(functions);
        map.leave_labels(functions);
        map
    }

    /// A part that jumps back to the beginning of its function closes a loop, which stays in the body.
    fn leave_loops(&mut self, functions: &[Function]) {
        let mut parts: HashMap<&str, Vec<&Function>> = HashMap::new();
        for part in functions {
            if let Some(whole) = part.part_of() {
                parts.entry(whole).or_default().push(part);
            }
        }
        for whole in functions {
            let place = (whole.section, whole.start);
            let Some(parts) = parts.get(whole.name.as_str()) else { continue };
            let Some(branches) = self.found.branches.get_mut(&place) else { continue };
            branches.retain(|branch| {
                branch.is_call || !parts.iter().any(|part| part.contains(branch.at))
            });
        }
    }

    /// What has its address taken without a name is a function where one begins, else a label, which
    /// stays. It can be both where a function jumps to labels, and its first one may be of a loop.
    fn leave_labels(&mut self, functions: &[Function]) {
        let place = |function: &Function| (function.section, function.start);
        let found = &self.found;
        let jumping: HashSet<&str> = functions
            .iter()
            .filter(|function| found.computed.contains(&place(function)))
            .map(|function| function.part_of().unwrap_or(&function.name))
            .collect();
        let is_label = |place| found.pointers.contains_key(&place) || found.fixed.contains(&place);
        let loops = |function: &&Function| {
            let mut inside = function.start + 1..function.end();
            found.pointers.contains_key(&place(function))
                && found.open.contains(&place(function))
                && jumping.contains(function.name.as_str())
                && inside.any(|offset| is_label((function.section, offset)))
        };
        let loops: Vec<Place> = functions.iter().filter(loops).map(place).collect();
        self.found.loops.extend(&loops);
        let mut starts: HashSet<Place> = functions.iter().map(place).collect();
        for place in &loops {
            starts.remove(place);
        }
        let labels = self.found.pointers.extract_if(|place, _| !starts.contains(place));
        self.found.fixed.extend(labels.map(|(place, _)| place));
    }

    /// Jump tables, and addresses of labels and functions.
    fn scan_data(&mut self, object: &Object, pointer: u32, distances: &[u32]) {
        for (section, relocations) in object.relocations.iter().enumerate() {
            let data = &object.sections[section];
            let is_data = data.has(elf::SHF_ALLOC) && !data.is_text() || data.name == TRACEPOINTS;
            if !is_data || data.name == b".eh_frame" || data.name.starts_with(b".gcc_except_table")
            {
                continue;
            }
            for relocation in relocations {
                let Some((target, offset)) = object.target(relocation) else { continue };
                if !object.sections[target].is_text() {
                    continue;
                }
                let mut offsets = vec![offset];
                if distances.contains(&relocation.kind) {
                    // An entry of a table of distances is relative to the table's start, but the
                    // relocation to the entry.
                    let table = self
                        .found
                        .tables
                        .get(&section)
                        .and_then(|starts| starts.range(..=relocation.offset).next_back());
                    offsets.extend(
                        table.map(|table| offset.wrapping_sub((relocation.offset - table) as i64)),
                    );
                }
                let places: Vec<Place> = offsets
                    .into_iter()
                    .filter_map(|offset| Some((target, u64::try_from(offset).ok()?)))
                    .collect();
                self.found.targets.extend(&places);
                // Where one of them is what it names, the other is an accident.
                let names = |place: &Place| {
                    let symbol = &object.symbols[relocation.symbol as usize];
                    symbol.kind() == elf::STT_FUNC && *place == (target, symbol.value)
                };
                if !places.iter().any(names) {
                    let from = (section, relocation.offset);
                    let is_pointer = relocation.kind == pointer && data.has_pointers();
                    let is_distance = distances.contains(&relocation.kind);
                    for place in places {
                        self.found.follow(object, relocation, place);
                        if is_pointer {
                            let kind = pointer;
                            self.found.point(place, Pointer { at: from, kind, addend: 0 });
                        } else if is_distance {
                            self.distances.entry(place).or_default().push(from);
                        } else {
                            self.found.fixed.insert(place);
                        }
                    }
                }
            }
        }
    }

    /// Whether all that leads to a function can lead to another place: what names it, by its
    /// symbols, [`CodeMap::branches`] and [`CodeMap::pointers`]. Distances in data do not count where they are
    /// the function's `own`: what they lead to is in its body.
    pub fn can_be_redirected(
        &self,
        function: &Function,
        mut own: impl FnMut(Place) -> bool,
    ) -> bool {
        let place = (function.section, function.start);
        let mut distances = self.distances.get(&place).into_iter().flatten();
        let fixed = self.found.fixed.contains(&place)
            || distances.any(|&from| !self.sleds.contains(&from.0) && !own(from));
        !self.found.incomplete && !fixed
    }

    /// Whether a distance in data may lead to a function's first instruction, and be of a loop there.
    pub fn may_loop_by_distance(&self, function: &Function) -> bool {
        let place = (function.section, function.start);
        self.found.open.contains(&place) && self.distances.contains_key(&place)
    }

    /// Whether something that is no branch knows a place inside a function: a jump table, or one
    /// of what is to happen there. Distances in data do not count where they are `own`.
    pub fn is_referenced_inside(
        &self,
        function: &Function,
        mut own: impl FnMut(Place) -> bool,
    ) -> bool {
        let mut inside = function.start + 1..function.end();
        inside.any(|offset| {
            let place = (function.section, offset);
            let others = self.distances.get(&place);
            let is_known = others.is_some_and(|from| from.iter().any(|&from| !own(from)));
            is_known || self.found.fixed.contains(&place)
        })
    }

    /// The last place in data up to this one whose address code takes.
    pub fn taken_before(&self, (section, offset): Place) -> Option<Place> {
        let taken = self.found.tables.get(&section)?;
        taken.range(..=offset).next_back().map(|&start| (section, start))
    }

    /// Whether code takes the address of this place in data.
    pub fn is_taken(&self, (section, offset): Place) -> bool {
        self.found.tables.get(&section).is_some_and(|taken| taken.contains(&offset))
    }

    /// The branches that lead to a function without naming it.
    pub fn branches(&self, function: &Function) -> &[Branch] {
        let place = (function.section, function.start);
        self.found.branches.get(&place).map_or(&[], Vec::as_slice)
    }

    /// The addresses of a function that are taken without naming it.
    pub fn pointers(&self, function: &Function) -> &[Pointer] {
        let place = (function.section, function.start);
        self.found.pointers.get(&place).map_or(&[], Vec::as_slice)
    }

    /// Whether something leads into these bytes of a section.
    pub fn is_entered(&self, section: usize, range: Range<u64>) -> bool {
        range.clone().any(|offset| self.found.targets.contains(&(section, offset)))
            || self.labels.get(&section).is_some_and(|labels| labels.range(range).next().is_some())
    }

    /// Whether a function jumps to its own first instruction, or may do so.
    pub fn loops_to_start(&self, function: &Function) -> bool {
        self.found.loops.contains(&(function.section, function.start))
    }

    /// The first symbol of a section at or behind an offset.
    pub fn next_label(&self, section: usize, offset: u64) -> Option<u64> {
        self.labels.get(&section)?.range(offset..).next().copied()
    }
}
