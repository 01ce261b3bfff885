//! Rewrites an object: each selected function gets a stub, all else stays.

use std::collections::{HashMap, HashSet};

use object::elf;

use crate::ProbeError;
use crate::asm;
use crate::elf::{Object, Relocation, Section, Symbol};
use crate::function::{Function, Map, branch_target, decode, functions, is_near_branch};
use crate::head::{Head, JUMP};
use crate::hook::Hook;
use crate::layout;
use crate::reason::Reason;
use crate::registers::{Free, Registers};
use crate::select::Selection;
use crate::stack::{self, StackUse};
use crate::stub::{self, Stub, Symbols};
use crate::unwind::{RETURN, Row, Unwind, UnwindTable};

/// Fills what is never executed: a trap.
const TRAP: u8 = 0xcc;
/// Stubs begin at multiples of this.
const ALIGNMENT: usize = 16;
/// In front of the sections of link-time optimisation, so that linkers take the machine code.
const STALE: &[u8] = b".stale";

/// What to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// What happens at entries and exits.
    pub hook: Hook,
    /// Which functions.
    pub selection: Selection,
}

/// What became of an object.
#[derive(Debug)]
pub struct Rewritten {
    /// The new object; the old one where nothing was instrumented.
    pub bytes: Vec<u8>,
    /// Names of the instrumented functions, in order of section and offset.
    pub instrumented: Vec<String>,
    /// How many of them keep their return address in a frame of the run time.
    pub with_frame: usize,
    /// Names of the others, each with the reason.
    pub left: Vec<(String, Reason)>,
}

/// A function that will be instrumented.
struct Plan<'a> {
    function: &'a Function,
    unwind: &'a Unwind,
    head: Head,
    place: StackUse,
    free: Free,
}

/// Instruments an object, given as the bytes of its file.
///
/// # Errors
/// Whatever [`ProbeError`] lists: for what is no object that a compiler wrote. Never panics,
/// whatever the bytes are.
pub fn instrument(data: &[u8], options: &Options) -> Result<Rewritten, ProbeError> {
    let mut object = Object::parse(data)?;
    let functions = functions(&object);
    if functions.is_empty() && object.sections.iter().any(|s| s.is_text() && !s.data.is_empty()) {
        return Err(ProbeError::Stripped);
    }
    let unwind = UnwindTable::read(&object)?;
    let map = Map::of(&object, &functions);
    let mut registers = Registers::of(&object, &unwind, &functions);
    let mut plans = Vec::new();
    let mut left = Vec::new();
    for function in &functions {
        match plan(&object, &unwind, &map, &mut registers, function, &options.selection) {
            Ok(plan) => plans.push(plan),
            Err(reason) => left.push((function.name.clone(), reason)),
        }
    }
    let instrumented = plans.iter().map(|plan| plan.function.name.clone()).collect();
    let with_frame = plans.iter().filter(|plan| plan.place == StackUse::Caller).count();
    let mut bytes = data.to_vec();
    if !plans.is_empty() {
        let frames = unwind.section.ok_or(object.damaged("the unwind information"))?;
        let mut rewriter = Rewriter::new(&mut object, options.hook, plans.len(), frames);
        for (cell, plan) in plans.iter().enumerate() {
            rewriter.apply(plan, cell as u32)?;
        }
        rewriter.finish();
        bytes = object.write()?;
    }
    Ok(Rewritten { bytes, instrumented, with_frame, left })
}

/// Decides how a function is instrumented.
fn plan<'a>(
    object: &Object,
    unwind: &'a UnwindTable,
    map: &Map,
    registers: &mut Registers<'_>,
    function: &'a Function,
    selection: &Selection,
) -> Result<Plan<'a>, Reason> {
    selection.check(&function.name, function.size)?;
    if function.is_resolver {
        return Err(Reason::Resolver);
    }
    let unwind = unwind.of(function.section, function.start).ok_or(Reason::NoUnwind)?;
    if !unwind.plain {
        return Err(Reason::OddUnwind);
    }
    if !unwind.begins_as_a_call_does() || is_part(&function.name) {
        return Err(Reason::NotCalled);
    }
    let code = decode(object, function.section, function.start, function.end());
    if code.last().map(|(instruction, _)| instruction.next_ip()) != Some(function.end()) {
        return Err(Reason::Undecoded);
    }
    let head = Head::of(object, map, function, &code, unwind)?;
    let known = |row: &Row| {
        row.cfa.is_some()
            && row.saved.as_ref().is_some_and(|saved| {
                saved.iter().all(|&(register, offset)| {
                    register < 64 && offset < 0 && offset % 8 == 0 && offset > -(1 << 20)
                })
            })
    };
    let in_head = unwind.rows.iter().filter(|row| row.offset + function.start <= head.end);
    if !in_head.into_iter().all(known) {
        return Err(Reason::OddUnwind);
    }
    let place = stack::look(object, function, &code, unwind)?;
    let free = registers.free(function, &code, unwind);
    Ok(Plan { function, unwind, head, place, free })
}

/// Whether compilers give such names to the seldom used part of a function.
fn is_part(name: &str) -> bool {
    name.split('.').skip(1).any(|word| word == "cold")
}

struct Rewriter<'a> {
    object: &'a mut Object,
    hook: Hook,
    symbols: Symbols,
    /// `.eh_frame`.
    frames: usize,
    /// Where the common part for stubs is.
    common: u64,
    personality: u32,
    names: usize,
    names_symbol: u32,
    /// Table of functions of each text section, and its symbol.
    tables: HashMap<usize, (usize, u32)>,
    section_symbols: HashMap<usize, u32>,
    /// Relocations that are new, by section.
    added: HashMap<usize, Vec<Relocation>>,
    /// Relocations that were moved, by section and index.
    moved: HashSet<(usize, usize)>,
}

impl<'a> Rewriter<'a> {
    fn new(object: &'a mut Object, hook: Hook, count: usize, frames: usize) -> Self {
        let names =
            object.add_section(Section::new(layout::NAMES, elf::SHT_PROGBITS, elf::SHF_ALLOC, 1));
        let mut record =
            Section::new(layout::OBJECT, elf::SHT_PROGBITS, elf::SHF_ALLOC | elf::SHF_WRITE, 8);
        for word in [layout::VERSION, hook.number(), count as u32, hook.cell_size()] {
            record.data.extend(word.to_le_bytes());
        }
        record.data.resize(layout::OBJECT_SIZE, 0);
        let record = object.add_section(record);
        let mut cells = Section::new(
            layout::CELLS,
            elf::SHT_NOBITS,
            elf::SHF_ALLOC | elf::SHF_WRITE | elf::SHF_TLS,
            8,
        );
        cells.empty_size = 8;
        let cells = object.add_section(cells);
        let cells = object.add_symbol(Symbol {
            name: b"trimtab_probe_cells".to_vec(),
            info: elf::STB_LOCAL << 4 | elf::STT_TLS,
            other: 0,
            section: cells as u16,
            value: 0,
            size: 8,
        });
        let mut wanted = |name: &str, kind| {
            object.add_symbol(Symbol {
                name: format!("trimtab_probe_{name}").into_bytes(),
                info: elf::STB_GLOBAL << 4 | kind,
                other: elf::STV_HIDDEN,
                section: crate::elf::UNDEFINED,
                value: 0,
                size: 0,
            })
        };
        let symbols = Symbols {
            on: wanted("on", elf::STT_NOTYPE),
            block: wanted("block", elf::STT_NOTYPE),
            frame: wanted("frame", elf::STT_NOTYPE),
            first: wanted("first", elf::STT_NOTYPE),
            enter: wanted("enter", elf::STT_NOTYPE),
            leave: wanted("leave", elf::STT_NOTYPE),
            frames: wanted("frames", elf::STT_TLS),
            child: wanted("child", elf::STT_TLS),
            cells,
            object: 0,
        };
        let personality = wanted("personality", elf::STT_NOTYPE);
        let section_symbols = object
            .symbols
            .iter()
            .enumerate()
            .filter(|(_, symbol)| symbol.kind() == elf::STT_SECTION && symbol.value == 0)
            .filter_map(|(number, symbol)| Some((symbol.defined_in()?, number as u32)))
            .collect();
        let mut rewriter = Self {
            object,
            hook,
            symbols,
            frames,
            common: 0,
            personality,
            names,
            names_symbol: 0,
            tables: HashMap::new(),
            section_symbols,
            added: HashMap::new(),
            moved: HashSet::new(),
        };
        rewriter.symbols.object = rewriter.section_symbol(record);
        rewriter.names_symbol = rewriter.section_symbol(names);
        rewriter.common = rewriter.write_common();
        rewriter
    }

    /// The symbol that stands for a section.
    fn section_symbol(&mut self, section: usize) -> u32 {
        if let Some(&symbol) = self.section_symbols.get(&section) {
            return symbol;
        }
        let symbol = self.object.add_symbol(Symbol {
            name: Vec::new(),
            info: elf::STB_LOCAL << 4 | elf::STT_SECTION,
            other: 0,
            section: section as u16,
            value: 0,
            size: 0,
        });
        self.section_symbols.insert(section, symbol);
        symbol
    }

    /// The table of functions that goes with a text section: the linker keeps or drops both.
    fn table(&mut self, section: usize) -> (usize, u32) {
        if let Some(&table) = self.tables.get(&section) {
            return table;
        }
        let flags = elf::SHF_ALLOC | elf::SHF_LINK_ORDER;
        let mut table = Section::new(layout::FUNCTIONS, elf::SHT_PROGBITS, flags, 8);
        table.link = section as u32;
        let table = self.object.add_section(table);
        if let Some(group) = self.object.group_of(section) {
            self.object.add_to_group(group, table);
        }
        let symbol = self.section_symbol(table);
        self.tables.insert(section, (table, symbol));
        (table, symbol)
    }

    fn apply(&mut self, plan: &Plan<'_>, cell: u32) -> Result<(), ProbeError> {
        let section = plan.function.section;
        let (table, table_symbol) = self.table(section);
        let entry = self.object.sections[table].data.len() as u64;
        let stub = stub::write(
            self.hook,
            (plan.place, plan.free),
            &self.symbols,
            cell,
            (table_symbol, entry as i32),
        )?;

        let data = &mut self.object.sections[section].data;
        if data.len() < plan.head.end as usize {
            data.resize(plan.head.end as usize, TRAP);
        }
        data.resize(data.len().next_multiple_of(ALIGNMENT), TRAP);
        let start = data.len() as u64;
        data.extend(&stub.code);
        let body = data.len() as u64;
        let limit = i32::MAX as u64 - 4096;
        if body > limit {
            return Err(self.object.damaged("a section of code"));
        }
        self.object.sections[section].alignment =
            self.object.sections[section].alignment.max(ALIGNMENT as u64);
        let moved = stub
            .relocations
            .iter()
            .map(|relocation| Relocation { offset: relocation.offset + start, ..*relocation });
        self.added.entry(section).or_default().extend(moved);

        let rows = self.move_head(plan);
        let end = self.object.sections[section].data.len() as u64;
        self.patch(&plan.head, section, start + stub.entry as u64);
        self.describe(plan, &stub, cell, table)?;
        self.write_unwind(section, start..body, &stub, (table_symbol, entry));
        self.write_body_unwind(plan, section, body..end, &rows);
        self.object.add_symbol(Symbol {
            name: format!("{}.probe", plan.function.name).into_bytes(),
            info: elf::STB_LOCAL << 4 | elf::STT_FUNC,
            other: 0,
            section: section as u16,
            value: start,
            size: end - start,
        });
        Ok(())
    }

    /// Writes the instructions of the head behind the stub, and the way back. Gives for each of
    /// them, and for the end, where it was and where it is, relative to the first.
    fn move_head(&mut self, plan: &Plan<'_>) -> Vec<(u64, u64)> {
        let section = plan.function.section;
        let head = &plan.head;
        let body = self.object.sections[section].data.len() as u64;
        let mut rows = Vec::new();
        for decoded in &head.instructions {
            let (instruction, _) = decoded;
            let from = instruction.ip()..instruction.next_ip();
            let at = self.object.sections[section].data.len() as u64;
            rows.push((from.start, at - body));
            let has_relocation = self.move_relocations(section, from.clone(), at);
            let target = branch_target(self.object, section, decoded);
            let data = &mut self.object.sections[section].data;
            match target {
                Some((_, target)) if is_near_branch(instruction) && !has_relocation => {
                    let last = data[from.start as usize..]
                        .iter()
                        .position(|byte| matches!(byte, 0x70..=0x7f | 0x0f | 0xe8 | 0xe9 | 0xeb))
                        .map_or(from.start as usize, |place| place + from.start as usize);
                    match data[last] {
                        0xe8 => data.push(0xe8),
                        0xe9 | 0xeb => data.push(0xe9),
                        0x0f => data.extend([0x0f, 0x80 | data[last + 1] & 15]),
                        condition => data.extend([0x0f, 0x80 | condition & 15]),
                    }
                    push_distance(data, target);
                }
                _ => data.extend_from_within(from.start as usize..from.end as usize),
            }
        }
        let data = &mut self.object.sections[section].data;
        rows.push((head.end, data.len() as u64 - body));
        if head.continues {
            data.push(0xe9);
            push_distance(data, head.end);
        }
        rows
    }

    /// Gives the relocations of some bytes to a copy of these. Says whether there are any.
    fn move_relocations(&mut self, section: usize, from: std::ops::Range<u64>, to: u64) -> bool {
        let all = &self.object.relocations[section];
        let first = all.partition_point(|relocation| relocation.offset < from.start);
        let behind = all.partition_point(|relocation| relocation.offset < from.end);
        let added = self.added.entry(section).or_default();
        for (index, relocation) in all.iter().enumerate().take(behind).skip(first) {
            added.push(Relocation { offset: relocation.offset - from.start + to, ..*relocation });
            self.moved.insert((section, index));
        }
        first < behind
    }

    /// Puts the jump to the stub in place.
    fn patch(&mut self, head: &Head, section: usize, stub: u64) {
        let data = &mut self.object.sections[section].data;
        let distance = stub as i64 - (head.at + JUMP) as i64;
        let at = head.at as usize;
        data[at..head.end as usize].fill(TRAP);
        data[at] = 0xe9;
        data[at + 1..at + 5].copy_from_slice(&(distance as i32).to_le_bytes());
    }

    /// The function's entry in the table.
    fn describe(
        &mut self,
        plan: &Plan<'_>,
        stub: &Stub,
        cell: u32,
        table: usize,
    ) -> Result<(), ProbeError> {
        let function = plan.function;
        let section_symbol = self.section_symbol(function.section);
        let names = &mut self.object.sections[self.names].data;
        let name = names.len() as i64;
        names.extend(function.name.bytes().filter(|&byte| byte != 0));
        names.push(0);
        let mut flags = (stub.back as u32) << layout::FLAG_RETURN_SHIFT;
        if stub.back >= 1 << 16 {
            return Err(ProbeError::Internal { what: "a stub" });
        }
        if plan.place == StackUse::Caller {
            flags |= layout::FLAG_FRAME;
        }
        let at = self.object.sections[table].data.len() as u64;
        for word in [0, function.size as u32, 0, cell, 0, flags] {
            self.object.sections[table].data.extend(word.to_le_bytes());
        }
        for (field, symbol, addend) in [
            (0, section_symbol, function.start as i64),
            (8, self.symbols.object, 0),
            (16, self.names_symbol, name),
        ] {
            let kind = elf::R_X86_64_PC32;
            let relocation = Relocation { offset: at + field, symbol, kind, addend };
            self.added.entry(table).or_default().push(relocation);
        }
        Ok(())
    }

    /// Appends to `.eh_frame`: a length is put in front, and it is filled up.
    fn write_record(&mut self, mut record: Vec<u8>) {
        record.resize(record.len().next_multiple_of(8) + 4, 0);
        let data = &mut self.object.sections[self.frames].data;
        data.extend((record.len() as u32).to_le_bytes());
        data.extend(record);
    }

    /// A relocation for what is next written to `.eh_frame`, so far behind the length.
    fn relocate_record(&mut self, field: u64, symbol: u32, addend: i64) {
        let offset = self.object.sections[self.frames].data.len() as u64 + 4 + field;
        let kind = elf::R_X86_64_PC32;
        let relocation = Relocation { offset, symbol, kind, addend };
        self.added.entry(self.frames).or_default().push(relocation);
    }

    /// The common part of the stubs' entries. Stubs that see exits have a personality: the run
    /// time learns from it that an exception passes.
    fn write_common(&mut self) -> u64 {
        let exits = self.hook.sees_exits();
        let mut record = 0u32.to_le_bytes().to_vec();
        record.push(1);
        record.extend(if exits { b"zPLR\0".as_slice() } else { b"zR\0" });
        // Code in steps of 1 byte, data in steps of -8, and the return address's number.
        record.extend([1, 0x78, RETURN as u8]);
        if exits {
            record.extend([7, 0x1b]);
            self.relocate_record(record.len() as u64, self.personality, 0);
            record.extend([0, 0, 0, 0, 0x1b, 0x1b]);
        } else {
            record.extend([1, 0x1b]);
        }
        asm::define_cfa(&mut record, crate::unwind::RSP, 8);
        asm::saved(&mut record, RETURN, 8);
        let at = self.object.sections[self.frames].data.len() as u64;
        self.write_record(record);
        at
    }

    /// The beginning of an entry: what it covers.
    fn begin_entry(
        &mut self,
        common: u64,
        section: usize,
        range: &std::ops::Range<u64>,
    ) -> Vec<u8> {
        let field = self.object.sections[self.frames].data.len() as u64 + 4;
        let mut record = ((field - common) as u32).to_le_bytes().to_vec();
        let symbol = self.section_symbol(section);
        self.relocate_record(4, symbol, range.start as i64);
        record.extend([0; 4]);
        record.extend(((range.end - range.start) as u32).to_le_bytes());
        record
    }

    fn write_unwind(
        &mut self,
        section: usize,
        range: std::ops::Range<u64>,
        stub: &Stub,
        (table, entry): (u32, u64),
    ) {
        let mut record = self.begin_entry(self.common, section, &range);
        if self.hook.sees_exits() {
            record.push(4);
            self.relocate_record(record.len() as u64, table, entry as i64);
            record.extend([0; 4]);
        } else {
            record.push(0);
        }
        record.extend(&stub.unwind);
        self.write_record(record);
    }

    /// The moved instructions are as they were: the same rules hold at each of them.
    fn write_body_unwind(
        &mut self,
        plan: &Plan<'_>,
        section: usize,
        range: std::ops::Range<u64>,
        places: &[(u64, u64)],
    ) {
        let mut record = self.begin_entry(plan.unwind.common, section, &range);
        // Without data for exceptions they go on to the caller.
        let width = plan.unwind.exceptions.unwrap_or(0);
        record.push(width);
        record.extend(vec![0; width.into()]);
        let mut told: Vec<(u16, i64)> = vec![(RETURN, -8)];
        let mut at = 0;
        let mut last: Option<&Row> = plan.unwind.rows.first();
        for &(from, to) in places {
            let row = plan.unwind.at(from - plan.function.start).or(last);
            let Some(row) = row.filter(|row| Some(*row) != last) else { continue };
            last = Some(row);
            let (Some((register, offset)), Some(saved)) = (row.cfa, &row.saved) else { continue };
            asm::advance(&mut record, to - at);
            at = to;
            asm::define_cfa(&mut record, register, offset as u64);
            for &(register, _) in told.iter().filter(|rule| !saved.contains(rule)) {
                asm::as_at_entry(&mut record, register);
            }
            for &(register, offset) in saved.iter().filter(|rule| !told.contains(rule)) {
                asm::saved(&mut record, register, offset.unsigned_abs());
            }
            told.clone_from(saved);
        }
        self.write_record(record);
    }

    fn finish(self) {
        for (section, added) in self.added {
            let relocations = &mut self.object.relocations[section];
            let mut index = 0;
            relocations.retain(|_| {
                index += 1;
                !self.moved.contains(&(section, index - 1))
            });
            relocations.extend(added);
            relocations.sort_by_key(|relocation| relocation.offset);
        }
        for section in &mut self.object.sections {
            if section.name.starts_with(b".gnu.lto_") || section.name == b".llvm.lto" {
                section.name = [STALE, &section.name].concat();
            }
        }
    }
}

/// The rest of a branch to an offset of the section that ends with it.
fn push_distance(data: &mut Vec<u8>, target: u64) {
    let distance = target as i64 - (data.len() as i64 + 4);
    data.extend((distance as i32).to_le_bytes());
}
