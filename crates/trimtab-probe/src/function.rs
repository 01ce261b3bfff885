//! The functions of an object, and every place in its code that something jumps to.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use iced_x86::{ConstantOffsets, Decoder, DecoderOptions, FlowControl, Instruction, OpKind};
use object::elf;

use crate::elf::{Object, Relocation};

/// A place in a section: its number and an offset.
pub type Place = (usize, u64);

/// A function, by its symbols.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its name; that of a symbol that other objects see, if there is one.
    pub name: String,
    /// Section that it is in.
    pub section: usize,
    /// Offset of its first byte.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// Whether it chooses an implementation when the program is loaded, before anything else runs.
    pub is_resolver: bool,
}

impl Function {
    /// Offset behind its last byte.
    pub fn end(&self) -> u64 {
        self.start + self.size
    }
}

/// An instruction and where its constants are.
pub type Decoded = (Instruction, ConstantOffsets);

/// The functions of an object in order of section and offset: each place once.
pub fn functions(object: &Object) -> Vec<Function> {
    let mut found: BTreeMap<Place, (Function, bool)> = BTreeMap::new();
    for symbol in &object.symbols {
        let is_resolver = symbol.kind() == elf::STT_GNU_IFUNC;
        let Some(section) = symbol.defined_in() else { continue };
        if !(is_resolver || symbol.kind() == elf::STT_FUNC) || !object.sections[section].is_text() {
            continue;
        }
        let length = object.sections[section].data.len() as u64;
        let fits = symbol.value.checked_add(symbol.size).is_some_and(|end| end <= length);
        if !fits || symbol.size == 0 {
            continue;
        }
        let seen_elsewhere = symbol.binding() != elf::STB_LOCAL;
        let function = Function {
            name: String::from_utf8_lossy(&symbol.name).into_owned(),
            section,
            start: symbol.value,
            size: symbol.size,
            is_resolver,
        };
        found
            .entry((section, symbol.value))
            .and_modify(|(known, known_elsewhere)| {
                known.is_resolver |= is_resolver;
                known.size = known.size.max(symbol.size);
                if seen_elsewhere && !*known_elsewhere {
                    known.name.clone_from(&function.name);
                    *known_elsewhere = true;
                }
            })
            .or_insert((function, seen_elsewhere));
    }
    found.into_values().map(|(function, _)| function).collect()
}

/// Decodes `range` of a section. Ends at the first bytes that are no instruction.
pub fn decode(object: &Object, section: usize, start: u64, end: u64) -> Vec<Decoded> {
    let data = &object.sections[section].data;
    let Some(bytes) = data.get(start as usize..end as usize) else { return Vec::new() };
    let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
    let mut decoded = Vec::with_capacity(bytes.len() / 4);
    while decoder.can_decode() {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            break;
        }
        decoded.push((instruction, decoder.get_constant_offsets(&instruction)));
    }
    decoded
}

/// Where in this object a branch leads; none where it leads elsewhere or cannot be told.
pub fn branch_target(object: &Object, section: usize, decoded: &Decoded) -> Option<Place> {
    let (instruction, constants) = decoded;
    if !is_near_branch(instruction) {
        return None;
    }
    let field = instruction.ip() + constants.immediate_offset() as u64;
    match object.relocation_at(section, field) {
        Some(relocation) => relative_target(object, relocation, instruction.next_ip()),
        None => Some((section, instruction.near_branch_target())),
    }
}

/// Whether the target is in the instruction itself.
pub fn is_near_branch(instruction: &Instruction) -> bool {
    instruction.op_count() > 0
        && matches!(
            instruction.op0_kind(),
            OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
        )
}

/// Where a relocation of an instruction leads that is relative to the instruction's end.
fn relative_target(object: &Object, relocation: &Relocation, next: u64) -> Option<Place> {
    let (section, offset) = object.target(relocation)?;
    let behind = next.wrapping_sub(relocation.offset) as i64;
    Some((section, u64::try_from(offset.wrapping_add(behind)).ok()?))
}

/// What is known of the code of an object as a whole.
#[derive(Debug, Default)]
pub struct Map {
    /// Everything that something branches to, or whose address is taken.
    targets: HashSet<Place>,
    /// Functions that jump to their own first instruction.
    loops: HashSet<Place>,
    /// Where symbols are.
    labels: HashMap<usize, BTreeSet<u64>>,
}

impl Map {
    /// Looks at all code and all data.
    pub fn of(object: &Object, functions: &[Function]) -> Self {
        let mut map = Self::default();
        for symbol in &object.symbols {
            if let Some(section) = symbol.defined_in()
                && !matches!(symbol.kind(), elf::STT_SECTION | elf::STT_FILE)
                && object.sections[section].is_text()
            {
                map.labels.entry(section).or_default().insert(symbol.value);
            }
        }
        let mut tables: HashMap<usize, BTreeSet<u64>> = HashMap::new();
        let mut rest: HashMap<usize, u64> = HashMap::new();
        for function in functions {
            let from = rest.entry(function.section).or_default();
            if *from < function.start {
                map.sweep(object, function.section, *from, function.start, &mut tables);
            }
            map.sweep(object, function.section, function.start, function.end(), &mut tables);
            *from = (*from).max(function.end());
        }
        for (section, data) in object.sections.iter().enumerate() {
            if data.is_text() {
                let from = rest.get(&section).copied().unwrap_or(0);
                map.sweep(object, section, from, data.data.len() as u64, &mut tables);
            }
        }
        map.look_at_data(object, &tables);
        map
    }

    fn sweep(
        &mut self,
        object: &Object,
        section: usize,
        start: u64,
        end: u64,
        tables: &mut HashMap<usize, BTreeSet<u64>>,
    ) {
        for decoded in decode(object, section, start, end) {
            let (instruction, constants) = &decoded;
            if is_near_branch(instruction) {
                let Some(target) = branch_target(object, section, &decoded) else { continue };
                let is_call = instruction.flow_control() == FlowControl::Call;
                if !is_call && target == (section, start) {
                    self.loops.insert(target);
                }
                self.targets.insert(target);
                continue;
            }
            for field in [constants.displacement_offset(), constants.immediate_offset()] {
                if field == 0 {
                    continue;
                }
                let at = instruction.ip() + field as u64;
                let Some(relocation) = object.relocation_at(section, at) else { continue };
                let target = match relocation.kind {
                    elf::R_X86_64_PC32 | elf::R_X86_64_PLT32 => {
                        relative_target(object, relocation, instruction.next_ip())
                    }
                    elf::R_X86_64_32 | elf::R_X86_64_32S | elf::R_X86_64_64 => object
                        .target(relocation)
                        .and_then(|(section, offset)| Some((section, u64::try_from(offset).ok()?))),
                    _ => None,
                };
                let Some(target) = target else { continue };
                if object.sections[target.0].is_text() {
                    self.targets.insert(target);
                } else {
                    tables.entry(target.0).or_default().insert(target.1);
                }
            }
        }
    }

    /// Tables of jumps, and addresses of labels.
    fn look_at_data(&mut self, object: &Object, tables: &HashMap<usize, BTreeSet<u64>>) {
        for (section, relocations) in object.relocations.iter().enumerate() {
            let data = &object.sections[section];
            let is_data = data.has(elf::SHF_ALLOC) && !data.is_text();
            if !is_data || data.name == b".eh_frame" || data.name.starts_with(b".gcc_except_table")
            {
                continue;
            }
            for relocation in relocations {
                let Some((target, offset)) = object.target(relocation) else { continue };
                if !object.sections[target].is_text() {
                    continue;
                }
                let mut add = |offset: i64| {
                    self.targets.extend(u64::try_from(offset).ok().map(|offset| (target, offset)));
                };
                add(offset);
                if matches!(relocation.kind, elf::R_X86_64_PC32 | elf::R_X86_64_PC64) {
                    // An entry of a table of distances is relative to the table's start, but the
                    // relocation to the entry.
                    let table = tables
                        .get(&section)
                        .and_then(|starts| starts.range(..=relocation.offset).next_back());
                    if let Some(table) = table {
                        add(offset.wrapping_sub((relocation.offset - table) as i64));
                    }
                }
            }
        }
    }

    /// Whether something leads into these bytes of a section.
    pub fn leads_into(&self, section: usize, range: std::ops::Range<u64>) -> bool {
        range.clone().any(|offset| self.targets.contains(&(section, offset)))
            || self.labels.get(&section).is_some_and(|labels| labels.range(range).next().is_some())
    }

    /// Whether a function jumps to its own first instruction.
    pub fn loops_to_start(&self, function: &Function) -> bool {
        self.loops.contains(&(function.section, function.start))
    }

    /// The first symbol of a section at or behind an offset.
    pub fn next_label(&self, section: usize, offset: u64) -> Option<u64> {
        self.labels.get(&section)?.range(offset..).next().copied()
    }
}
