//! All code of a kernel: its basic blocks, and what they refer to.

use crate::SwapError;
use trimtab_program::references::{self, Target};
use trimtab_program::{BlockMap, FunctionId, Isa, Program, Range, decode};

/// Index of a block in [`Code::blocks`]: by address, over all functions. Not the number by which the
/// compiler knows it, [`CodeBlock::id`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

impl BlockId {
    /// The id of the block at `index`.
    pub const fn at(index: usize) -> Self {
        BlockId(index as u32)
    }

    /// The index as a `usize`.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The next block in memory, if there is one.
    pub const fn next(self) -> Self {
        BlockId(self.0 + 1)
    }
}

/// A basic block of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeBlock {
    /// Where it lies. Padding is not part of it.
    pub range: Range,
    /// The function that holds it.
    pub function: FunctionId,
    /// The number by which the compiler knows it, where it wrote its blocks down.
    pub id: Option<u32>,
    /// Instructions in it.
    pub instructions: u32,
    /// Whether control can run on from its end into the next block in memory.
    pub falls_through: bool,
}

/// Blocks, as they are listed.
pub trait BlockIds: DoubleEndedIterator<Item = BlockId> + ExactSizeIterator + Clone {}

impl<T: DoubleEndedIterator<Item = BlockId> + ExactSizeIterator + Clone> BlockIds for T {}

/// Something that a block refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The block.
    pub block: BlockId,
    /// What it refers to.
    pub target: Target,
}

/// All code of a kernel.
#[derive(Debug, Clone)]
pub struct Code<'a> {
    program: &'a Program<'a>,
    /// By ascending address; they do not overlap.
    blocks: Vec<CodeBlock>,
    /// By function its first block, and one more at the end.
    first: Vec<BlockId>,
    /// By ascending block.
    references: Vec<Reference>,
    /// Blocks without bytes, as what assembly jumps around can leave: the block into which each falls,
    /// ascending, and its number.
    empty: Vec<(BlockId, u32)>,
}

impl<'a> Code<'a> {
    /// Decodes all functions of a kernel. Blocks are those of `map`, where the compiler wrote them
    /// down, and otherwise found by decoding. Takes time in proportion to the kernel's code.
    ///
    /// # Errors
    /// [`SwapError::InstructionSet`] for another machine than x86-64.
    pub fn read(program: &'a Program<'a>, map: Option<&BlockMap>) -> Result<Self, SwapError> {
        if program.isa() != Isa::X86_64 {
            return Err(SwapError::InstructionSet { found: program.isa().name() });
        }
        let mapped = mapped(map);
        let mut code = Code {
            program,
            blocks: Vec::new(),
            first: Vec::with_capacity(program.functions().len() + 1),
            references: Vec::new(),
            empty: Vec::new(),
        };
        for function in program.function_ids() {
            code.first.push(BlockId::at(code.blocks.len()));
            let range = program.function(function).range;
            let from = mapped.partition_point(|(block, ..)| block.start < range.start);
            let own = mapped[from..].iter().take_while(|(block, ..)| block.start < range.end);
            let mut end = range.start;
            let mut found = false;
            let mut empty: Vec<u32> = Vec::new();
            for (block, id, falls_through) in own {
                found = true;
                let block = Range { start: block.start.max(end), end: block.end.min(range.end) };
                if block.is_empty() {
                    empty.push(*id);
                    continue;
                }
                let next = BlockId::at(code.blocks.len());
                code.empty.extend(empty.drain(..).map(|id| (next, id)));
                code.add(block, function, Some(*id), *falls_through);
                end = block.end;
            }
            if !found {
                for block in decode::blocks(program, function) {
                    code.add(block, function, None, true);
                }
            }
        }
        code.first.push(BlockId::at(code.blocks.len()));
        Ok(code)
    }

    fn add(&mut self, range: Range, function: FunctionId, id: Option<u32>, falls_through: bool) {
        let block = BlockId::at(self.blocks.len());
        let mut instructions = 0;
        let mut last = None;
        for found in references::instructions(self.program, range) {
            instructions += 1;
            last = found.transfer;
            let all = found.transfer.into_iter();
            let all = all.chain(found.addresses.into_iter().flatten().map(Target::Address));
            self.references.extend(all.map(|target| Reference { block, target }));
        }
        // Decoding does not say it; a jump on a condition does fall through.
        let falls_through = match (id, last) {
            (Some(_), _) => falls_through,
            (None, Some(Target::IndirectJump)) => false,
            (None, _) => !self.ends_for_good(range),
        };
        self.blocks.push(CodeBlock { range, function, id, instructions, falls_through });
    }

    /// Whether a block ends with a return or a jump that is always taken.
    fn ends_for_good(&self, range: Range) -> bool {
        let Some(code) = self.program.bytes(range) else { return true };
        // A return, with or without a number, or a jump with 8 or 32 bits.
        matches!(code, [.., 0xc3] | [.., 0xeb, _] | [.., 0xe9, _, _, _, _])
    }

    /// The kernel.
    pub fn program(&self) -> &'a Program<'a> {
        self.program
    }

    /// All blocks by ascending address; a [`BlockId`] is an index of this.
    pub fn blocks(&self) -> &[CodeBlock] {
        &self.blocks
    }

    /// Numbers by which the compiler knows the blocks without bytes that fall into a block, in memory's
    /// order. They go where it goes: elsewhere each would be a jump that runs as often.
    pub fn empty_before(&self, block: BlockId) -> impl Iterator<Item = u32> + '_ {
        let first = self.empty.partition_point(|(next, _)| *next < block);
        let own = self.empty[first..].iter().take_while(move |(next, _)| *next == block);
        own.map(|(_, id)| *id)
    }

    /// A block.
    pub fn block(&self, id: BlockId) -> &CodeBlock {
        &self.blocks[id.index()]
    }

    /// A function's blocks, ascending.
    pub fn blocks_of(&self, function: FunctionId) -> impl BlockIds + use<> {
        let (first, end) = self.bounds_of(function);
        (first.0..end.0).map(BlockId)
    }

    /// A function's first block, and the one behind its last.
    pub(crate) fn bounds_of(&self, function: FunctionId) -> (BlockId, BlockId) {
        let at = function.index();
        match (self.first.get(at), self.first.get(at + 1)) {
            (Some(first), Some(end)) => (*first, *end),
            _ => (BlockId(0), BlockId(0)),
        }
    }

    /// The block that holds an address.
    pub fn block_at(&self, address: u64) -> Option<BlockId> {
        let after = self.blocks.partition_point(|block| block.range.start <= address);
        let index = after.checked_sub(1)?;
        self.blocks[index].range.contains(address).then_some(BlockId::at(index))
    }

    /// The blocks that meet `range`, ascending.
    pub(crate) fn blocks_in(&self, range: Range) -> impl BlockIds + use<> {
        let first = self.blocks.partition_point(|block| block.range.end <= range.start);
        let end = self.blocks.partition_point(|block| block.range.start < range.end);
        (first as u32..end.max(first) as u32).map(BlockId)
    }

    pub(crate) fn references(&self) -> &[Reference] {
        &self.references
    }

    /// What the blocks of a function refer to.
    pub(crate) fn references_of(&self, function: FunctionId) -> &[Reference] {
        let (first, end) = self.bounds_of(function);
        let first = self.references.partition_point(|found| found.block < first);
        let end = self.references.partition_point(|found| found.block < end);
        &self.references[first..end]
    }

    /// What a block refers to.
    pub(crate) fn references_in(&self, block: BlockId) -> &[Reference] {
        let first = self.references.partition_point(|found| found.block < block);
        let end = self.references.partition_point(|found| found.block <= block);
        &self.references[first..end]
    }

    /// The function that begins at an address.
    pub(crate) fn entry(&self, address: u64) -> Option<FunctionId> {
        let found = self.program.function_at(address)?;
        (self.program.function(found).range.start == address).then_some(found)
    }

    /// A function's name.
    pub fn name(&self, function: FunctionId) -> &'a str {
        self.program.function(function).name
    }
}

/// All blocks of a map by address: where, number, whether control falls through.
fn mapped(map: Option<&BlockMap>) -> Vec<(Range, u32, bool)> {
    let Some(map) = map else { return Vec::new() };
    let functions = map.entries().filter_map(|entry| map.function(entry));
    let mut blocks: Vec<(Range, u32, bool)> =
        functions.flatten().map(|block| (block.range, block.id, block.falls_through)).collect();
    // Those that begin at the same address stay in memory's order.
    blocks.sort_by_key(|(range, ..)| *range);
    blocks
}
