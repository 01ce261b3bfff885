//! What debug information says of the arguments of functions: which functions have none on the stack.
//!
//! A function whose arguments all come in registers was given nothing above its return address. So no
//! address that it computes of its own part of the stack leads there, and no function that it ends
//! with by a jump has arguments there: its callers made no room for them. The instructions alone do
//! not show that, as an array on the stack may as well be one that was handed over.
//!
//! It is what compilers for C and C++ do with what the source says. What they may hand over in
//! another way than that says is left out: most clones, functions that clang may change because nobody
//! else sees them, thunks, and every type for which the ABI is more than a rule or two.

use std::cell::OnceCell;
use std::collections::HashMap;

use gimli::{
    AttributeValue, DwTag, Dwarf, EndianSlice, LittleEndian, Reader as _, RelocateReader, Unit,
    UnitOffset, UnitType,
};
use object::elf;

use crate::elf::Object;
use crate::function::{Function, Place};

/// Registers for integers and pointers, and for floating-point numbers: those of x86-64.
const GENERAL: u32 = 6;
const VECTORS: u32 = 8;
/// How many entries describe one function or type together, at most.
const CHAIN: usize = 16;
/// How deep namespaces are in each other, at most.
const DEPTH: usize = 32;
/// The bits of an address that are an offset in a section; above them is the section's number.
const OFFSET_BITS: u32 = 40;

/// What reading ends with where there is more to read than honest information has. It is never shown.
const TOO_MUCH: gimli::Error = gimli::Error::TooManyRegisterRules;

type Bytes<'a> = RelocateReader<EndianSlice<'a, LittleEndian>, RelocatedSection<'a>>;
type Entry<'a> = gimli::DebuggingInformationEntry<Bytes<'a>>;
type DwarfResult<T> = gimli::Result<T>;

/// What is known of the functions of an object; it is read when it is first asked for.
pub struct Prototypes<'a> {
    object: &'a Object,
    /// Who compiled the functions that have all their arguments in registers; none for a place of
    /// which something else is said, too.
    known: OnceCell<HashMap<Place, Option<Compiler>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compiler {
    /// It names those whose arguments it changes in another way.
    Gcc,
    /// It changes arguments of functions that only their object sees.
    Clang,
}

impl<'a> Prototypes<'a> {
    /// Nothing read yet.
    pub fn of(object: &'a Object) -> Self {
        Self { object, known: OnceCell::new() }
    }

    /// Whether all arguments of a function are in registers, for certain, so that nothing above its
    /// return address is meant for it.
    pub fn has_all_in_registers(&self, function: &Function) -> bool {
        let place = (function.section, function.start);
        is_as_written(&function.name)
            && match self.known.get_or_init(|| read(self.object)).get(&place) {
                Some(Some(Compiler::Gcc)) => true,
                Some(Some(Compiler::Clang)) => !function.is_local,
                _ => false,
            }
    }
}

/// Whether a function has the arguments that the source says, or fewer, by its name: it is no thunk,
/// no constructor that got those of a base class, and no clone but those for which gcc leaves
/// arguments out.
fn is_as_written(name: &str) -> bool {
    let is_thunk = ["_ZTh", "_ZTv", "_ZTc"].iter().any(|start| name.starts_with(start));
    let mut marks = name.split('.').skip(1);
    let mut fewer = true;
    while let Some(mark) = marks.next() {
        let number = marks.next().unwrap_or_default();
        fewer &= matches!(mark, "constprop" | "part") && number.parse::<u32>().is_ok();
    }
    fewer && !is_thunk && !name.contains("CI1") && !name.contains("CI2")
}

/// What relocations do to a section of debug information. The address of a place of the object is
/// the section's number and its offset.
#[derive(Debug, Clone)]
struct RelocatedSection<'a> {
    object: &'a Object,
    section: usize,
}

impl RelocatedSection<'_> {
    fn target(&self, offset: usize) -> Option<Place> {
        let relocation = self.object.relocation_at(self.section, offset as u64)?;
        let (section, offset) = self.object.target(relocation)?;
        Some((section, u64::try_from(offset).ok()?))
    }
}

impl gimli::Relocate for RelocatedSection<'_> {
    fn relocate_address(&self, offset: usize, value: u64) -> DwarfResult<u64> {
        let target = self.target(offset).filter(|(_, offset)| *offset < 1 << OFFSET_BITS);
        Ok(target.map_or(value, |(section, offset)| (section as u64) << OFFSET_BITS | offset))
    }

    fn relocate_offset(&self, offset: usize, value: usize) -> DwarfResult<usize> {
        Ok(self.target(offset).map_or(value, |(_, offset)| offset as usize))
    }
}

/// The place that an address stands for.
fn place(address: u64) -> Place {
    ((address >> OFFSET_BITS) as usize, address & ((1 << OFFSET_BITS) - 1))
}

/// The section of that name that is no part of a group, as that of all functions is.
fn section<'a>(object: &'a Object, name: &str) -> Bytes<'a> {
    let found = object.sections.iter().position(|section| {
        section.name == name.as_bytes()
            && !section.has(elf::SHF_GROUP)
            && !section.has(elf::SHF_COMPRESSED)
    });
    let section = found.unwrap_or(0);
    let data: &[u8] = found.map_or(&[], |section| &object.sections[section].data);
    RelocateReader::new(EndianSlice::new(data, LittleEndian), RelocatedSection { object, section })
}

/// Reads the debug information of an object, as far as it can be read.
fn read(object: &Object) -> HashMap<Place, Option<Compiler>> {
    let load = |id: gimli::SectionId| Ok::<_, gimli::Error>(section(object, id.name()));
    let Ok(dwarf) = Dwarf::load(load) else { return HashMap::new() };
    let info = section(object, gimli::SectionId::DebugInfo.name()).len();
    let abbreviations = section(object, gimli::SectionId::DebugAbbrev.name()).len();
    let mut reader = Reader {
        dwarf,
        found: HashMap::new(),
        budget: info.saturating_mul(2),
        abbreviations: info.saturating_add(abbreviations).saturating_mul(64),
    };
    // What was read before something that cannot be read is as good.
    let _ = reader.read(abbreviations);
    reader.found
}

struct Reader<'a> {
    dwarf: Dwarf<Bytes<'a>>,
    found: HashMap<Place, Option<Compiler>>,
    /// How many more entries are read: honest information has far fewer than bytes.
    budget: usize,
    /// How many bytes of abbreviations may still be read, as units share them.
    abbreviations: usize,
}

/// The registers that arguments take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Registers {
    general: u32,
    vectors: u32,
}

const ONE: Registers = Registers { general: 1, vectors: 0 };

impl Registers {
    fn add(&mut self, other: Self) {
        self.general = self.general.saturating_add(other.general);
        self.vectors = self.vectors.saturating_add(other.vectors);
    }

    fn largest(self, other: Self) -> Self {
        Self { general: self.general.max(other.general), vectors: self.vectors.max(other.vectors) }
    }
}

impl<'a> Reader<'a> {
    fn read(&mut self, abbreviations: usize) -> DwarfResult<()> {
        let mut units = self.dwarf.units();
        while let Some(header) = units.next()? {
            if header.type_() != UnitType::Compilation {
                continue;
            }
            let cost = abbreviations.saturating_sub(header.debug_abbrev_offset().0);
            self.abbreviations = self.abbreviations.checked_sub(cost).ok_or(TOO_MUCH)?;
            let unit = self.dwarf.unit(header)?;
            let root = unit.entry(unit.header.root_offset())?;
            let Some((compiler, is_cxx)) = self.compiler(&unit, &root) else { continue };
            let mut all = Functions::default();
            self.collect(unit.entries_tree(None)?.root()?, 0, &mut all)?;
            // Where there are no types, what is there is for line numbers.
            if !all.types {
                continue;
            }
            for offset in all.offsets {
                let entry = self.entry(&unit, offset)?;
                let is_known = self.all_in_registers(&unit, &entry, is_cxx)?.is_some();
                let compiler = is_known.then_some(compiler);
                for place in self.places(&unit, &entry)? {
                    let known = self.found.entry(place).or_insert(compiler);
                    *known = known.filter(|known| Some(*known) == compiler);
                }
            }
        }
        Ok(())
    }

    fn entry(&mut self, unit: &Unit<Bytes<'a>>, offset: UnitOffset) -> DwarfResult<Entry<'a>> {
        self.spend()?;
        unit.entry(offset)
    }

    fn spend(&mut self) -> DwarfResult<()> {
        self.budget = self.budget.checked_sub(1).ok_or(TOO_MUCH)?;
        Ok(())
    }

    /// Who compiled a unit, and whether it is C++; none where it is another language, or convention.
    fn compiler(&self, unit: &Unit<Bytes<'a>>, root: &Entry<'a>) -> Option<(Compiler, bool)> {
        let AttributeValue::Language(language) = root.attr_value(gimli::DW_AT_language)? else {
            return None;
        };
        let is_cxx = match language {
            gimli::DW_LANG_C89
            | gimli::DW_LANG_C
            | gimli::DW_LANG_C99
            | gimli::DW_LANG_C11
            | gimli::DW_LANG_C17 => false,
            gimli::DW_LANG_C_plus_plus
            | gimli::DW_LANG_C_plus_plus_03
            | gimli::DW_LANG_C_plus_plus_11
            | gimli::DW_LANG_C_plus_plus_14
            | gimli::DW_LANG_C_plus_plus_17
            | gimli::DW_LANG_C_plus_plus_20 => true,
            _ => return None,
        };
        let producer = root.attr_value(gimli::DW_AT_producer)?;
        let producer = self.dwarf.attr_string(unit, producer).ok()?;
        let producer = producer.to_string_lossy().ok()?;
        if producer.contains("-mabi=") {
            return None;
        }
        match &*producer {
            gcc if gcc.starts_with("GNU C") => Some((Compiler::Gcc, is_cxx)),
            clang if clang.contains("clang version") => Some((Compiler::Clang, is_cxx)),
            _ => None,
        }
    }

    /// Finds the functions of a unit or a namespace.
    fn collect(
        &mut self,
        node: gimli::EntriesTreeNode<'_, '_, Bytes<'a>>,
        depth: usize,
        found: &mut Functions,
    ) -> DwarfResult<()> {
        let mut children = node.children();
        while let Some(child) = children.next()? {
            self.spend()?;
            let entry = child.entry();
            match entry.tag() {
                gimli::DW_TAG_base_type => found.types = true,
                gimli::DW_TAG_subprogram
                    if entry.has_attr(gimli::DW_AT_low_pc)
                        || entry.has_attr(gimli::DW_AT_ranges) =>
                {
                    found.offsets.push(entry.offset());
                }
                gimli::DW_TAG_namespace if depth < DEPTH => {
                    self.collect(child, depth + 1, found)?
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Where the parts of a function begin.
    fn places(&self, unit: &Unit<Bytes<'a>>, entry: &Entry<'a>) -> DwarfResult<Vec<Place>> {
        let mut places = Vec::new();
        if let Some(value) = entry.attr_value(gimli::DW_AT_low_pc) {
            places.extend(self.dwarf.attr_address(unit, value)?.map(place));
        }
        if let Some(value) = entry.attr_value(gimli::DW_AT_ranges)
            && let Some(mut ranges) = self.dwarf.attr_ranges(unit, value)?
        {
            while let Some(range) = ranges.next()? {
                places.push(place(range.begin));
            }
        }
        Ok(places)
    }

    /// Whether all arguments of a function are in registers; none if that is not certain. It is said
    /// by several entries together: of a declaration, of what is inlined, and of the code. Some may
    /// leave out what is not used.
    fn all_in_registers(
        &mut self,
        unit: &Unit<Bytes<'a>>,
        entry: &Entry<'a>,
        is_cxx: bool,
    ) -> DwarfResult<Option<()>> {
        let mut has_prototype = is_cxx;
        let mut result = None;
        let mut most = Registers::default();
        let mut open = vec![entry.clone()];
        for _ in 0..CHAIN {
            let Some(entry) = open.pop() else { break };
            match entry.attr_value(gimli::DW_AT_calling_convention) {
                None | Some(AttributeValue::CallingConvention(gimli::DW_CC_normal)) => {}
                Some(_) => return Ok(None),
            }
            let prototyped = entry.attr_value(gimli::DW_AT_prototyped);
            has_prototype |= matches!(prototyped, Some(AttributeValue::Flag(true)));
            result = result.or(reference(&entry, gimli::DW_AT_type));
            let Some(own) = self.arguments(unit, entry.offset(), 0)? else { return Ok(None) };
            most = most.largest(own);
            for origin in [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification] {
                match reference(&entry, origin) {
                    Some(offset) => open.push(self.entry(unit, offset)?),
                    // In another unit.
                    None if entry.has_attr(origin) => return Ok(None),
                    None => {}
                }
            }
        }
        let is_scalar = match result {
            Some(result) => self.registers(unit, result)?.is_some(),
            None => true,
        };
        // Where the result is to be written, and for C++ what constructors of virtual bases get.
        let hidden = u32::from(!is_scalar) + u32::from(is_cxx);
        let fits = most.general + hidden <= GENERAL && most.vectors <= VECTORS;
        Ok((open.is_empty() && has_prototype && fits).then_some(()))
    }

    /// The registers that the arguments of an entry take; none if that is not certain.
    fn arguments(
        &mut self,
        unit: &Unit<Bytes<'a>>,
        offset: UnitOffset,
        depth: usize,
    ) -> DwarfResult<Option<Registers>> {
        let mut all = Registers::default();
        let mut tree = unit.entries_tree(Some(offset))?;
        let mut children = tree.root()?.children();
        while let Some(child) = children.next()? {
            self.spend()?;
            let entry = child.entry();
            let own = match entry.tag() {
                gimli::DW_TAG_unspecified_parameters => None,
                gimli::DW_TAG_formal_parameter => {
                    let entry = entry.clone();
                    self.argument(unit, entry)?
                }
                gimli::DW_TAG_GNU_formal_parameter_pack if depth == 0 => {
                    let offset = entry.offset();
                    self.arguments(unit, offset, depth + 1)?
                }
                gimli::DW_TAG_GNU_formal_parameter_pack => None,
                _ => continue,
            };
            let Some(own) = own else { return Ok(None) };
            all.add(own);
        }
        Ok(Some(all))
    }

    fn argument(
        &mut self,
        unit: &Unit<Bytes<'a>>,
        mut entry: Entry<'a>,
    ) -> DwarfResult<Option<Registers>> {
        for _ in 0..CHAIN {
            if let Some(offset) = reference(&entry, gimli::DW_AT_type) {
                return self.registers(unit, offset);
            }
            let Some(origin) = reference(&entry, gimli::DW_AT_abstract_origin) else { break };
            entry = self.entry(unit, origin)?;
        }
        Ok(None)
    }

    /// The registers that a value of a type takes as an argument; none if that is not certain.
    fn registers(
        &mut self,
        unit: &Unit<Bytes<'a>>,
        mut offset: UnitOffset,
    ) -> DwarfResult<Option<Registers>> {
        for _ in 0..CHAIN {
            let entry = self.entry(unit, offset)?;
            let is_word = || {
                let size = entry.attr_value(gimli::DW_AT_byte_size);
                size.and_then(|size| size.udata_value()).is_some_and(|size| size <= 8)
            };
            match entry.tag() {
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type => match reference(&entry, gimli::DW_AT_type) {
                    Some(next) => offset = next,
                    None => return Ok(None),
                },
                DwTag(_) if is_pointer(entry.tag()) => return Ok(Some(ONE)),
                // To a function it takes two words.
                gimli::DW_TAG_ptr_to_member_type => {
                    return Ok(Some(Registers { general: 2, vectors: 0 }));
                }
                gimli::DW_TAG_enumeration_type => return Ok(is_word().then_some(ONE)),
                gimli::DW_TAG_base_type => {
                    let encoding = entry.attr_value(gimli::DW_AT_encoding);
                    let Some(AttributeValue::Encoding(encoding)) = encoding else {
                        return Ok(None);
                    };
                    return Ok(number(encoding).filter(|_| is_word()));
                }
                _ => return Ok(None),
            }
        }
        Ok(None)
    }
}

/// The functions of a unit, and whether it has types.
#[derive(Debug, Default)]
struct Functions {
    offsets: Vec<UnitOffset>,
    types: bool,
}

fn is_pointer(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type
    )
}

/// The register that a number takes.
fn number(encoding: gimli::DwAte) -> Option<Registers> {
    match encoding {
        gimli::DW_ATE_boolean
        | gimli::DW_ATE_signed
        | gimli::DW_ATE_signed_char
        | gimli::DW_ATE_unsigned
        | gimli::DW_ATE_unsigned_char
        | gimli::DW_ATE_UTF => Some(ONE),
        gimli::DW_ATE_float => Some(Registers { general: 0, vectors: 1 }),
        _ => None,
    }
}

/// The entry of the same unit that an attribute names.
fn reference(entry: &Entry<'_>, name: gimli::DwAt) -> Option<UnitOffset> {
    match entry.attr_value(name)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_where_arguments_were_changed() {
        for (name, expected) in [
            ("parse", true),
            ("parse.part.0", true),
            ("parse.constprop.12.part.0", true),
            ("parse.isra.0", false),
            ("parse.constprop.0.isra.0", false),
            ("parse.specialized.1", false),
            ("parse.part", false),
            ("_ZN4Both3sumEl", true),
            ("_ZThn8_N4Both3sumEl", false),
            ("_ZTv0_n24_N4Both3sumEl", false),
            ("_ZN8InheritsCI14BaseElllllll", false),
        ] {
            assert_eq!(is_as_written(name), expected, "{name}");
        }
    }
}
