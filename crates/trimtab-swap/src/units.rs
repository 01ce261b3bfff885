//! The pieces that a linker can place, and what becomes of each.

use crate::code::{BlockId, Code};
use crate::heat::{Heat, HotBlocks};
use crate::residence::Residence;
use serde::{Deserialize, Serialize};
use trimtab_layout::PieceId;
use trimtab_link::kernel;
use trimtab_program::references::Target;
use trimtab_program::{Fragment, Fragments, FunctionId, Origin, Range};

/// What becomes of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// It must never be absent.
    Core,
    /// It runs so often that it stays in memory.
    Base,
    /// It is loaded when it is needed.
    Swappable,
    /// It is released when the kernel is up.
    Init,
}

/// How finely code is taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Granularity {
    /// Whole input sections: functions, or the parts into which they were split before.
    #[default]
    Function,
    /// Each function in up to three parts: blocks that stay in memory, others that ran, and those
    /// that never did.
    Block,
}

impl Granularity {
    /// As it is written in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Granularity::Function => "function",
            Granularity::Block => "block",
        }
    }
}

/// Which blocks of a function a unit has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// All of them.
    Whole,
    /// Those that stay in memory, or the entry and what ran.
    First,
    /// Those that ran and are not hot.
    Warm,
    /// Those that never ran.
    Frozen,
}

/// Bytes of the jump that is needed where a block no longer lies before the one that it fell into.
const JUMP: u64 = 5;
/// Bytes by which a jump may get longer where what it jumps to is in another part: its distance then
/// takes four bytes rather than one.
const FARTHER: u64 = 4;

/// A piece of code that the linker can place alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Symbol at its start, as the compiler will name it.
    pub name: String,
    /// Its input section.
    pub section: String,
    /// The file that has the section, where a linker's map says it.
    pub file: Option<String>,
    /// Which part of its function it is.
    pub part: Part,
    /// What becomes of it.
    pub class: Class,
    /// Length in bytes, with the jumps that its parts need.
    pub size: u64,
    /// Alignment in bytes.
    pub alignment: u64,
    /// Where it lies in the kernel that was planned with.
    pub position: u64,
    /// The functions of which it has blocks.
    pub functions: Vec<FunctionId>,
    /// Where its bytes lie now, in the order in which they will lie.
    pub ranges: Vec<Range>,
    /// How often the block of it ran that did so most.
    pub count: u64,
    /// Instructions that ran in it.
    pub executed: u64,
}

/// All units of a kernel, and where they are.
#[derive(Debug, Clone)]
pub struct Units {
    units: Vec<Unit>,
    /// Where the bytes of units lie: range, unit, offset in it; ascending.
    places: Vec<(Range, PieceId, u64)>,
}

impl Units {
    /// Takes the code of a kernel apart. `fragments` are the input sections of its `.text`.
    pub fn of(
        code: &Code<'_>,
        fragments: &Fragments<'_>,
        heat: &Heat,
        hot: &HotBlocks,
        residence: &Residence,
        granularity: Granularity,
    ) -> Self {
        let program = code.program();
        let builder = Builder { code, heat, hot, residence };
        let bounded = kernel::bounded_ranges(program);
        let mut units = Vec::new();
        for fragment in fragments.as_slice() {
            let pinned = kernel::pinned(fragment, &bounded).is_some();
            let unaligned = fragment.alignment > trimtab_program::PAGE_SIZE;
            let functions: Vec<FunctionId> = fragment.functions().collect();
            match functions.as_slice() {
                [only] if granularity == Granularity::Block && !pinned && !unaligned => {
                    builder.split(fragment, *only, &mut units);
                }
                _ => units.push(builder.whole(fragment, functions, pinned || unaligned)),
            }
        }
        // Further sections of code are those that are released when the kernel is up.
        let text = fragments.section();
        for id in program.function_ids().filter(|id| program.function(*id).section != text) {
            units.push(builder.init(id));
        }
        let mut places: Vec<(Range, PieceId, u64)> = Vec::new();
        for (index, unit) in units.iter().enumerate() {
            let mut offset = 0;
            for range in &unit.ranges {
                places.push((*range, PieceId::at(index), offset));
                offset += range.length();
            }
        }
        places.sort_unstable_by_key(|(range, unit, _)| (*range, *unit));
        Units { units, places }
    }

    /// All units by ascending position.
    pub fn as_slice(&self) -> &[Unit] {
        &self.units
    }

    /// The parts of units that lie in a range: unit, offset in it, length in bytes.
    pub fn within(&self, range: Range) -> impl Iterator<Item = (PieceId, u64, u64)> + '_ {
        let first = self.places.partition_point(|(place, ..)| place.end <= range.start);
        let meet = self.places[first..].iter().take_while(move |place| place.0.start < range.end);
        meet.filter_map(move |(place, unit, offset)| {
            let common = place.intersection(range);
            (!common.is_empty())
                .then(|| (*unit, offset + (common.start - place.start), common.length()))
        })
    }

    /// The unit that holds an address.
    pub fn at(&self, address: u64) -> Option<PieceId> {
        self.within(Range::with_length(address, 1)).next().map(|(unit, ..)| unit)
    }

    /// Bytes of the units of a class.
    pub fn bytes(&self, class: Class) -> u64 {
        self.units.iter().filter(|unit| unit.class == class).map(|unit| unit.size).sum()
    }

    /// Instructions that ran in the units of a class.
    pub fn executed(&self, class: Class) -> u64 {
        self.units.iter().filter(|unit| unit.class == class).map(|unit| unit.executed).sum()
    }
}

struct Builder<'a> {
    code: &'a Code<'a>,
    heat: &'a Heat,
    hot: &'a HotBlocks,
    residence: &'a Residence,
}

impl Builder<'_> {
    fn is_hot(&self, block: BlockId) -> bool {
        self.hot.contains(block)
    }

    /// How often the hottest of some blocks ran, and the instructions that all of them ran.
    fn heat_of(&self, blocks: &[BlockId]) -> (u64, u64) {
        let counts = blocks.iter().map(|block| self.heat.count(*block));
        let weight = |block: &BlockId| {
            let instructions = self.code.block(*block).instructions;
            self.heat.count(*block).saturating_mul(instructions.into())
        };
        (counts.max().unwrap_or(0), blocks.iter().map(weight).sum())
    }

    fn named(fragment: &Fragment<'_>) -> (String, Option<String>) {
        let file = match &fragment.origin {
            Origin::InputSection { file, .. } => Some(file.to_string()),
            Origin::Symbol => None,
        };
        (fragment.section_name().into_owned(), file)
    }

    fn whole(&self, fragment: &Fragment<'_>, functions: Vec<FunctionId>, pinned: bool) -> Unit {
        let blocks: Vec<BlockId> = self.code.blocks_in(fragment.range).collect();
        let core = pinned
            || functions.iter().any(|function| self.residence.why(*function).is_some())
            || blocks.iter().any(|block| self.residence.patched(*block).is_some());
        let hot = blocks.iter().any(|block| self.is_hot(*block));
        let (section, file) = Self::named(fragment);
        let (count, executed) = self.heat_of(&blocks);
        Unit {
            name: fragment.name.to_owned(),
            section,
            file,
            part: Part::Whole,
            class: match (core, hot) {
                (true, _) => Class::Core,
                (false, true) => Class::Base,
                (false, false) => Class::Swappable,
            },
            size: fragment.range.length(),
            alignment: fragment.alignment,
            position: fragment.range.start,
            functions,
            ranges: vec![fragment.range],
            count,
            executed,
        }
    }

    fn init(&self, id: FunctionId) -> Unit {
        let function = self.code.program().function(id);
        let blocks: Vec<BlockId> = self.code.blocks_of(id).collect();
        let (count, executed) = self.heat_of(&blocks);
        Unit {
            name: function.name.to_owned(),
            section: self.code.program().section(function.section).name.to_owned(),
            file: None,
            part: Part::Whole,
            class: Class::Init,
            size: function.range.length(),
            alignment: 1,
            position: function.range.start,
            functions: vec![id],
            ranges: vec![function.range],
            count,
            executed,
        }
    }

    /// Takes a function apart. A function begins with its entry, so that this goes with the first
    /// part that there is.
    fn split(&self, fragment: &Fragment<'_>, function: FunctionId, units: &mut Vec<Unit>) {
        let blocks: Vec<BlockId> = self.code.blocks_of(function).collect();
        let closure = match self.residence.why(function) {
            None | Some(crate::Why::Patched(_)) => false,
            Some(_) => true,
        };
        let stays =
            |block: &BlockId| self.residence.patched(*block).is_some() || self.is_hot(*block);
        let ran = |block: &BlockId| self.heat.count(*block) > 0;
        let knows_blocks = blocks.iter().all(|block| self.code.block(*block).id.is_some());
        if closure || blocks.len() < 2 || !knows_blocks {
            return units.push(self.whole(fragment, vec![function], false));
        }
        let resident = blocks.iter().any(stays);
        let mut parts: [Vec<BlockId>; 3] = Default::default();
        for (place, block) in blocks.iter().enumerate() {
            let part = match (stays(block), ran(block)) {
                (true, _) => 0,
                // Where nothing stays, the part that ran is the function's own.
                (false, true) => usize::from(resident),
                (false, false) => 2,
            };
            let part = if place == 0 { 0 } else { part };
            parts[part].push(*block);
        }
        // A part of its own is worth more than its jumps only if it is longer than they are.
        let bytes = |part: &[BlockId]| -> u64 {
            part.iter().map(|block| self.code.block(*block).range.length()).sum()
        };
        let never_ran = !blocks.iter().any(ran);
        if never_ran && !resident {
            return units.push(self.whole(fragment, vec![function], false));
        }
        for part in [2, 1] {
            if bytes(&parts[part]) <= 2 * JUMP {
                let moved = std::mem::take(&mut parts[part]);
                parts[0].extend(moved);
                parts[0].sort_unstable();
            }
        }
        if parts[1].is_empty() && parts[2].is_empty() {
            return units.push(self.whole(fragment, vec![function], false));
        }
        let core = parts[0].iter().any(|block| self.residence.patched(*block).is_some());
        let kinds = [Part::First, Part::Warm, Part::Frozen];
        for (kind, part) in kinds.into_iter().zip(&parts).filter(|(_, part)| !part.is_empty()) {
            let class = match (kind, resident, core) {
                (Part::First, _, true) => Class::Core,
                (Part::First, true, _) => Class::Base,
                _ => Class::Swappable,
            };
            units.push(self.part(fragment, function, kind, class, part));
        }
    }

    fn part(
        &self,
        fragment: &Fragment<'_>,
        function: FunctionId,
        part: Part,
        class: Class,
        blocks: &[BlockId],
    ) -> Unit {
        let all = self.code.blocks();
        let ranges: Vec<Range> = blocks.iter().map(|block| all[block.index()].range).collect();
        let jumps = blocks.iter().enumerate().filter(|(place, block)| {
            all[block.index()].falls_through && blocks.get(place + 1) != Some(&block.next())
        });
        let away =
            blocks.iter().flat_map(|block| self.code.references_in(*block)).filter(|found| {
                // Calls are as long as they were, and so are jumps to other functions.
                let Target::Jump(to) = found.target else { return false };
                self.code.block_at(to).is_some_and(|to| {
                    all[to.index()].function == function && blocks.binary_search(&to).is_err()
                })
            });
        let size = ranges.iter().map(|range| range.length()).sum::<u64>()
            + jumps.count() as u64 * JUMP
            + away.count() as u64 * FARTHER;
        let own = fragment.name;
        let (section, file) = Self::named(fragment);
        let (name, section) = match part {
            Part::Whole | Part::First => (own.to_owned(), section),
            Part::Warm => (format!("{own}.__part.1"), format!("{section}.{own}.__part.1")),
            Part::Frozen => (format!("{own}.cold"), format!(".text.split.{own}")),
        };
        let (count, executed) = self.heat_of(blocks);
        Unit {
            name,
            section,
            file,
            part,
            class,
            size,
            alignment: if part == Part::First { fragment.alignment } else { 1 },
            position: ranges.first().map_or(fragment.range.start, |range| range.start),
            functions: vec![function],
            ranges,
            count,
            executed,
        }
    }
}
