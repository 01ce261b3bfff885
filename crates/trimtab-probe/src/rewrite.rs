//! Rewrites an object: each selected function gets a stub, all else stays.

mod library;
mod records;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use object::elf;
use trimtab_program::{Isa, Mapped};

use crate::abi;
use crate::arch::{Arch, Context, Entrance};
use crate::elf::{Object, Relocation, Section, Symbol};
use crate::error::ProbeError;
use crate::function::{Function, Place, functions};
use crate::hook::Hook;
use crate::plan::{Plan, plan};
use crate::prototypes::Prototypes;
use crate::reason::Reason;
use crate::references::{Branch, CodeMap, Pointer};
use crate::relocation_edits::{RelocationEdits, SectionEnd};
use crate::select::Selection;
use crate::stub::{BodyCopy, CopyRange, StackUse, Stub, Symbols, Task};
use crate::unwind::UnwindTable;
use crate::user::{Hooks, ObjectHooks, want_hooks};

pub use self::library::OwnFunctions;

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
    /// Whether functions may be copied into their stubs, which is faster than calling them. Line
    /// numbers and breakpoints are those of the original.
    pub copies: bool,
    /// Hooks of the user's, where they are known, for [`Hook::User`].
    pub hooks: Option<Arc<Hooks>>,
    /// Functions that the program has in place of the C library's.
    pub own: OwnFunctions,
}

impl Options {
    /// A hook for all functions, which may be copied.
    pub fn new(hook: Hook) -> Self {
        Self {
            hook,
            selection: Selection::default(),
            copies: true,
            hooks: None,
            own: OwnFunctions::default(),
        }
    }
}

/// What became of an object.
#[derive(Debug)]
pub struct Outcome {
    /// The new object; the old one where nothing was instrumented and nothing corrected.
    pub bytes: Vec<u8>,
    /// The instruction set of the object; none of an archive without objects.
    pub isa: Option<Isa>,
    /// Names of the instrumented functions, in order of section and offset.
    pub instrumented: Vec<String>,
    /// How many of them keep their return address in a frame of the run time.
    pub with_frame: usize,
    /// How many of them run as copies inside their stubs.
    pub copied: usize,
    /// Pieces of the compiler's unwind information that were wrong and are corrected.
    pub mended: usize,
    /// Names of the others, each with the reason.
    pub left: Vec<(String, Reason)>,
}

/// The stub of a function before it has a place.
struct PendingStub {
    stub: Stub,
    /// The symbol `NAME.probe`.
    symbol: u32,
    /// The function's entry in the table: symbol and offset.
    function: (u32, u64),
}

/// Rewrites an object of one instruction set, whose bytes are `data`.
///
/// # Errors
/// Whatever [`ProbeError`] lists.
pub fn rewrite<A: Arch>(
    mut object: Object,
    data: &[u8],
    options: &Options,
) -> Result<Outcome, ProbeError> {
    // Long: the steps of rewriting an object, in their order.
    let functions = functions(&object);
    if functions.is_empty() && object.sections.iter().any(|s| s.is_text() && !s.data.is_empty()) {
        return Err(ProbeError::Stripped);
    }
    let mut unwind = UnwindTable::read(&object, A::VENDOR)?;
    let mended = A::mend(&mut object, &unwind, &functions);
    if mended > 0 {
        unwind = UnwindTable::read(&object, A::VENDOR)?;
    }
    let map = CodeMap::of::<A>(&object, &functions);
    let prototypes = Prototypes::of(&object);
    if unwind.is_missing() && A::can_derive(&object) {
        let none = UnwindTable::default();
        let context = Context {
            object: &object,
            unwind: &none,
            functions: &functions,
            map: &map,
            prototypes: &prototypes,
        };
        for function in functions.iter().filter(|function| !function.is_part()) {
            let derived = A::derive(&context, function);
            unwind.add((function.section, function.start), derived);
        }
    }
    let mut machine = A::of(&object, &unwind, &functions);
    let known = Context {
        object: &object,
        unwind: &unwind,
        functions: &functions,
        map: &map,
        prototypes: &prototypes,
    };
    let mut plans = Vec::new();
    let mut left = Vec::new();
    for function in &functions {
        match plan(&known, &unwind, &mut machine, function, &options.selection) {
            Ok(plan) => plans.push(plan),
            Err(reason) => left.push((function.name.clone(), reason)),
        }
    }
    let instrumented = plans.iter().map(|plan| plan.function.name.clone()).collect();
    let has_frame = |plan: &&Plan<'_, A>| A::stack_use(&plan.code) == StackUse::IncomingArguments;
    let with_frame = plans.iter().filter(has_frame).count();
    let mut copied = 0;
    let isa = Some(object.isa());
    let mut bytes = data.to_vec();
    if !plans.is_empty() {
        allow_plain_stacks(&mut object);
        let frames = unwind.section.unwrap_or_else(|| {
            let kind = elf::SHT_PROGBITS;
            object.add_section(Section::new(".eh_frame", kind, elf::SHF_ALLOC, 8))
        });
        let mut rewriter = Rewriter::new::<A>(&mut object, options, plans.len(), frames);
        rewriter.find_redirected(&plans);
        let prepared = plans.iter().enumerate().map(|(cell, plan)| {
            let nameless = (map.branches(plan.function), map.pointers(plan.function));
            rewriter.prepare(plan, nameless, cell as u32)
        });
        let prepared: Vec<PendingStub> = prepared.collect::<Result<_, _>>()?;
        copied = prepared.iter().filter(|prepared| prepared.stub.copy.is_some()).count();
        // Some of these branches are in the prologues of others, with which they are moved.
        std::mem::take(&mut rewriter.changes).apply(rewriter.object);
        for (plan, prepared) in plans.iter().zip(prepared) {
            rewriter.apply(plan, &prepared)?;
        }
        rewriter.finish();
        bytes = object.write()?;
    } else if mended > 0 {
        bytes = object.write()?;
    }
    Ok(Outcome { bytes, isa, instrumented, with_frame, copied, mended, left })
}

/// Says that not every function of an object with split stacks begins with a look at its stack: stubs do not, and
/// gold refuses such functions otherwise.
fn allow_plain_stacks(object: &mut Object) {
    const PLAIN: &str = ".note.GNU-no-split-stack";
    let has = |name: &str| object.sections.iter().any(|section| section.name == name.as_bytes());
    if has(".note.GNU-split-stack") && !has(PLAIN) {
        object.add_section(Section::new(PLAIN, elf::SHT_PROGBITS, 0, 1));
    }
}

struct Rewriter<'a> {
    object: &'a mut Object,
    hook: Hook,
    copies: bool,
    own: &'a OwnFunctions,
    user: Option<ObjectHooks<'a>>,
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
    changes: RelocationEdits,
    /// The symbols of functions that keep their instructions.
    redirected: HashMap<Place, Vec<u32>>,
    /// Sections where stubs have begun.
    begun: HashSet<usize>,
    /// Kind of relocations that hold distances, and the same of 8 bytes.
    distance: u32,
    wide_distance: u32,
}

impl<'a> Rewriter<'a> {
    fn new<A: Arch>(
        object: &'a mut Object,
        options: &'a Options,
        count: usize,
        frames: usize,
    ) -> Self {
        // Long: sections and symbols are added in the order in which they are written.
        let hook = options.hook;
        let names =
            object.add_section(Section::new(abi::NAMES, elf::SHT_PROGBITS, elf::SHF_ALLOC, 1));
        let mut record =
            Section::new(abi::OBJECT, elf::SHT_PROGBITS, elf::SHF_ALLOC | elf::SHF_WRITE, 8);
        let flags = if object.is_of_rust() { abi::OBJECT_RUST } else { 0 };
        // The run time gives the object its index.
        for word in [abi::VERSION, hook.number(), count as u32, hook.cell_size(), 0, flags] {
            record.data.extend(word.to_le_bytes());
        }
        record.data.resize(abi::OBJECT_SIZE, 0);
        let record = object.add_section(record);
        let mut cells = Section::new(
            abi::CELLS,
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
            outside: wanted("outside", elf::STT_NOTYPE),
            value: wanted("value", elf::STT_NOTYPE),
            described: wanted("described", elf::STT_NOTYPE),
            cells,
            object: 0,
        };
        let personality = wanted("personality", elf::STT_NOTYPE);
        let hooks = options.hooks.as_deref().filter(|_| hook.calls_user());
        let user = hooks.map(|hooks| hooks.linked(object));
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
            copies: options.copies,
            own: &options.own,
            user,
            symbols,
            frames,
            common: 0,
            personality,
            names,
            names_symbol: 0,
            tables: HashMap::new(),
            section_symbols,
            changes: RelocationEdits::default(),
            redirected: HashMap::new(),
            begun: HashSet::new(),
            distance: A::DISTANCE,
            wide_distance: A::WIDE_DISTANCE,
        };
        rewriter.symbols.object = rewriter.section_symbol(record);
        if hook.calls_user() {
            want_hooks(rewriter.object, hooks);
        }
        rewriter.names_symbol = rewriter.section_symbol(names);
        rewriter.common = rewriter.write_common::<A>();
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
        let mut table = Section::new(abi::FUNCTIONS, elf::SHT_PROGBITS, flags, 8);
        table.link = section as u32;
        let table = self.object.add_section(table);
        if let Some(group) = self.object.group_of(section) {
            self.object.add_to_group(group, table);
        }
        let symbol = self.section_symbol(table);
        self.tables.insert(section, (table, symbol));
        (table, symbol)
    }

    /// Finds the symbols that will lead to stubs. What tells debuggers and unwinders of functions
    /// means their bodies still: it goes by sections from here on.
    fn find_redirected<A: Arch>(&mut self, plans: &[Plan<'_, A>]) {
        let is_redirected =
            |plan: &&Plan<'_, A>| matches!(A::entrance(&plan.code), Entrance::RedirectedSymbol(_));
        let place = |plan: &Plan<'_, A>| (plan.function.section, plan.function.start);
        self.redirected =
            plans.iter().filter(is_redirected).map(|plan| (place(plan), Vec::new())).collect();
        for (number, symbol) in self.object.symbols.iter().enumerate() {
            let section = symbol.defined_in().filter(|_| symbol.kind() == elf::STT_FUNC);
            let redirected =
                section.and_then(|section| self.redirected.get_mut(&(section, symbol.value)));
            if let Some(symbols) = redirected {
                symbols.push(number as u32);
            }
        }
        for section in 0..self.object.sections.len() {
            let other = &self.object.sections[section];
            if other.has(elf::SHF_ALLOC) && other.name != b".eh_frame" {
                continue;
            }
            for index in 0..self.object.relocations[section].len() {
                let relocation = self.object.relocations[section][index];
                let symbol = &self.object.symbols[relocation.symbol as usize];
                let value = symbol.value;
                let Some(place) = symbol.defined_in().map(|section| (section, value)) else {
                    continue;
                };
                if symbol.kind() == elf::STT_FUNC && self.redirected.contains_key(&place) {
                    let symbol = self.section_symbol(place.0);
                    let addend = relocation.addend.wrapping_add(value as i64);
                    self.object.relocations[section][index] =
                        Relocation { symbol, addend, ..relocation };
                }
            }
        }
    }

    /// Writes a function's stub and its entry in the table, and has branches and pointers lead to the
    /// stub that do not name the function, if its symbol is redirected.
    fn prepare<A: Arch>(
        &mut self,
        plan: &Plan<'_, A>,
        (branches, pointers): (&[Branch], &[Pointer]),
        cell: u32,
    ) -> Result<PendingStub, ProbeError> {
        let section = plan.function.section;
        let (table, table_symbol) = self.table(section);
        let entry = self.object.sections[table].data.len() as u64;
        let function = (table_symbol, entry as i32);
        let task = Task { hook: self.hook, copies: self.copies, user: self.user.as_ref() };
        let stub = A::stub(&plan.code, &task, &self.symbols, cell, function)?;
        self.describe(plan, &stub, cell, table)?;
        let name = format!("{}.probe", plan.function.name);
        let symbol = self.add_local(&name, elf::STT_FUNC, section, 0..0);
        if matches!(A::entrance(&plan.code), Entrance::RedirectedSymbol(_)) {
            for &Branch { at: (section, offset), .. } in branches {
                let addend = stub.entry as i64 - 4;
                let relocation = Relocation { offset, symbol, kind: self.distance, addend };
                self.changes.put(self.object, section, relocation);
            }
            for &Pointer { at: (section, offset), kind, addend } in pointers {
                let addend = stub.entry as i64 + addend;
                let relocation = Relocation { offset, symbol, kind, addend };
                self.changes.put(self.object, section, relocation);
            }
        }
        Ok(PendingStub { stub, symbol, function: (table_symbol, entry) })
    }

    /// Puts a function's stub in its place, and has callers come to it.
    fn apply<A: Arch>(
        &mut self,
        plan: &Plan<'_, A>,
        PendingStub { stub, symbol, function: (table, entry) }: &PendingStub,
    ) -> Result<(), ProbeError> {
        // Long: each part of a stub needs the offsets of those before it.
        let section = plan.function.section;
        let entrance = A::entrance(&plan.code);
        let data = &mut self.object.sections[section].data;
        if let Entrance::PatchSite { prologue, .. } = &entrance
            && data.len() < prologue.end as usize
        {
            data.resize(prologue.end as usize, A::TRAP);
        }
        data.resize(data.len().next_multiple_of(ALIGNMENT), A::TRAP);
        let start = data.len() as u64;
        data.extend(&stub.code);
        let body = data.len() as u64;
        if body > A::LONGEST_SECTION {
            return Err(self.object.damaged("a section of code"));
        }
        self.object.sections[section].alignment =
            self.object.sections[section].alignment.max(ALIGNMENT as u64);
        for relocation in &stub.relocations {
            let offset = relocation.offset + start;
            self.changes.add(section, Relocation { offset, ..*relocation });
        }
        if let Some(copy) = &stub.copy {
            self.relocate_copy::<A>(section, start, copy);
        }
        let mark = self.object.isa().mapping_symbol(Mapped::Code);
        if let Some(name) = mark.filter(|_| self.begun.insert(section)) {
            self.add_local(name, elf::STT_NOTYPE, section, start..start);
        }

        self.write_unwind(plan.unwind, section, start..body, stub, (*table, *entry));
        let end = match entrance {
            Entrance::RedirectedSymbol(place) => {
                self.redirect(plan.function, place, start, stub);
                body
            }
            Entrance::PatchSite { prologue, .. } => {
                let section_symbol = self.section_symbol(section);
                let changes = &mut self.changes;
                let mut moving =
                    SectionEnd { object: self.object, section, section_symbol, changes };
                let rows = A::move_prologue(&plan.code, &mut moving);
                let data = &mut self.object.sections[section].data;
                let end = data.len() as u64;
                data[prologue.start as usize..prologue.end as usize].fill(A::TRAP);
                A::patch(&plan.code, data, start + stub.entry as u64);
                if let Some((at, bytes)) = &plan.changed {
                    let frames = &mut self.object.sections[self.frames].data;
                    frames[*at..][..bytes.len()].copy_from_slice(bytes);
                }
                if !plan.unwind.derived {
                    self.write_body_unwind(plan, section, body..end, &rows);
                }
                end
            }
        };
        let symbol = &mut self.object.symbols[*symbol as usize];
        (symbol.value, symbol.size) = (start, end - start);
        Ok(())
    }

    /// Has a stub at `start` go on to the function's body at `place`, and what names the function
    /// lead to the stub. The body keeps the name in this object.
    fn redirect(&mut self, function: &Function, place: u64, start: u64, stub: &Stub) {
        let data = &mut self.object.sections[function.section].data;
        for field in &stub.to_body {
            let field = start + *field as u64;
            let distance = place.wrapping_sub(field + 4) as u32;
            data[field as usize..][..4].copy_from_slice(&distance.to_le_bytes());
        }
        let symbols = self.redirected.get(&(function.section, function.start));
        for number in symbols.into_iter().flatten() {
            let symbol = &mut self.object.symbols[*number as usize];
            symbol.value = start + stub.entry as u64;
            symbol.size = (stub.code.len() - stub.entry) as u64;
        }
        let range = function.start..function.end();
        self.add_local(&function.name, elf::STT_FUNC, function.section, range);
    }

    /// Has what a copy of a function refers to be what the function refers to, by now.
    fn relocate_copy<A: Arch>(&mut self, section: usize, start: u64, copy: &BodyCopy) {
        let relocations = &self.object.relocations[section];
        for CopyRange { from, to } in &copy.copied {
            let first = relocations.partition_point(|relocation| relocation.offset < from.start);
            let inside = relocations[first..].iter().take_while(|it| it.offset < from.end);
            for relocation in inside {
                let offset = relocation.offset - from.start + *to as u64 + start;
                self.changes.add(section, relocation.moved_to(offset, A::ANCHORED));
            }
        }
        for lead in &copy.branches {
            let offset = start + lead.field as u64;
            let relocation = lead.from.and_then(|from| self.object.relocation_at(section, from));
            match relocation {
                Some(relocation) => {
                    self.changes.add(section, Relocation { offset, ..*relocation });
                }
                None => {
                    let distance = lead.to.wrapping_sub(offset + 4) as u32;
                    let data = &mut self.object.sections[section].data;
                    data[offset as usize..][..4].copy_from_slice(&distance.to_le_bytes());
                }
            }
        }
    }

    /// Adds a symbol that only this object sees.
    fn add_local(
        &mut self,
        name: &str,
        kind: u8,
        section: usize,
        range: std::ops::Range<u64>,
    ) -> u32 {
        self.object.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            info: elf::STB_LOCAL << 4 | kind,
            other: 0,
            section: section as u16,
            value: range.start,
            size: range.end - range.start,
        })
    }

    /// The function's entry in the table.
    fn describe<A: Arch>(
        &mut self,
        plan: &Plan<'_, A>,
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
        let mut flags = (stub.back as u32) << abi::FLAG_RETURN_SHIFT;
        if stub.back >= abi::LONGEST_STUB {
            return Err(ProbeError::Internal { what: "a stub" });
        }
        if A::stack_use(&plan.code) == StackUse::IncomingArguments {
            flags |= abi::FLAG_FRAME;
        }
        if stub.copy.is_some() {
            flags |= abi::FLAG_COPY;
        }
        let at = self.object.sections[table].data.len() as u64;
        for word in [0, function.size as u32, 0, cell, 0, flags] {
            self.object.sections[table].data.extend(word.to_le_bytes());
        }
        for (field, symbol, addend) in [
            (abi::function::START, section_symbol, function.start as i64),
            (abi::function::OBJECT, self.symbols.object, 0),
            (abi::function::NAME, self.names_symbol, name),
        ] {
            let kind = self.distance;
            let relocation = Relocation { offset: at + field, symbol, kind, addend };
            self.changes.add(table, relocation);
        }
        Ok(())
    }

    fn finish(self) {
        self.changes.apply(self.object);
        library::rename(self.object, self.hook, self.own);
        for section in &mut self.object.sections {
            if section.name.starts_with(b".gnu.lto_") || section.name == b".llvm.lto" {
                section.name = [STALE, &section.name].concat();
            }
        }
    }
}
