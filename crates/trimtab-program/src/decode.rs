//! The basic blocks of a function, found by decoding its instructions: for files that say nothing of
//! their blocks themselves.
//!
//! Instructions are followed from the function's entry along direct jumps. What is not reached so,
//! such as the cases of a computed jump, is decoded from where the reached code ends. A block begins
//! where a direct jump leads, and behind each jump, return and trap. Calls do not end a block.
//!
//! Where a computed jump leads is not known. So a block may be longer than it is, where such a jump
//! enters it in its middle; it is never shorter, and code that cannot be decoded is one block. That
//! errs on the safe side: what is moved or kept as a whole may well be more than it has to be.

mod aarch64;
mod mips32;
mod x86_64;

use crate::blocks::Block;
use crate::isa::Isa;
use crate::program::{FunctionId, Program};
use crate::ranges::Range;

/// How the program goes on behind an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// At the next one.
    Next,
    /// At this address, or at the next one.
    Conditional(u64),
    /// At this address.
    Jump(u64),
    /// Elsewhere: a return, or a computed jump.
    Away,
    /// At the next one, if at all: an instruction that is there to raise an exception. Kernels go on
    /// behind it where it stands for a warning.
    Trap,
}

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Instruction {
    /// Its length in bytes; at least 1.
    length: usize,
    flow: Flow,
}

/// The basic blocks of a function, by ascending address. They follow each other without gaps from
/// its first byte to its last.
///
/// Takes time in proportion to the function's length.
pub fn blocks(program: &Program<'_>, function: FunctionId) -> Vec<Range> {
    let range = program.function(function).range;
    match program.bytes(range) {
        Some(code) => blocks_of(program.isa(), range.start, code),
        // Its bytes are not in the file.
        None => vec![range],
    }
}

/// As [`blocks`], for a function of these bytes that lies at `start`.
pub fn blocks_of(isa: Isa, start: u64, code: &[u8]) -> Vec<Range> {
    let mut decoding = BlockDecoder::new(isa, start, code);
    decoding.follow(vec![0]);
    decoding.sweep();
    decoding.blocks()
}

/// A direct jump from one of a function's blocks to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    /// Index of the block that it is in.
    pub from: usize,
    /// Index of the block that it leads to.
    pub to: usize,
}

/// The direct jumps between `blocks` of a function, which may lie in any order and apart from each
/// other: its bytes are looked up block by block. Computed jumps are not among them.
///
/// Takes O(*n* log *n*) for *n* bytes.
pub fn jumps(program: &Program<'_>, blocks: &[Block]) -> Vec<Jump> {
    let mut starts: Vec<(u64, usize)> =
        blocks.iter().zip(0..).map(|(block, index)| (block.range.start, index)).collect();
    // Of blocks at the same address the empty ones come first: they fall into the other.
    starts.sort_unstable();
    starts.dedup_by_key(|(start, _)| *start);
    let mut jumps = Vec::new();
    for (from, block) in blocks.iter().enumerate() {
        let Some(code) = program.bytes(block.range) else { continue };
        let mut at = 0;
        while at < code.len() {
            let address = block.range.start.wrapping_add(at as u64);
            let Some(instruction) = decode(program.isa(), address, &code[at..]) else { break };
            at += instruction.length;
            if let Flow::Conditional(target) | Flow::Jump(target) = instruction.flow
                && let Ok(found) = starts.binary_search_by_key(&target, |(start, _)| *start)
            {
                jumps.push(Jump { from, to: starts[found].1 });
            }
        }
    }
    jumps
}

/// The instruction at `address`, with which `code` begins.
fn decode(isa: Isa, address: u64, code: &[u8]) -> Option<Instruction> {
    match isa {
        Isa::X86_64 => x86_64::decode(address, code),
        Isa::Aarch64 => aarch64::decode(address, code),
        Isa::Mips32 => mips32::decode(address, code),
    }
}

/// What is known of each byte.
#[derive(Debug, Clone, Copy, Default)]
struct Byte {
    /// It has been decoded from here on.
    followed: bool,
    /// An instruction begins here, and it lies in no other one; or what cannot be decoded does.
    begins: bool,
    /// It is part of an instruction.
    decoded: bool,
    /// A block begins here.
    leads: bool,
}

struct BlockDecoder<'a> {
    isa: Isa,
    start: u64,
    code: &'a [u8],
    bytes: Vec<Byte>,
    /// Offsets that direct jumps lead to.
    targets: Vec<usize>,
}

impl<'a> BlockDecoder<'a> {
    fn new(isa: Isa, start: u64, code: &'a [u8]) -> Self {
        BlockDecoder { isa, start, code, bytes: vec![Byte::default(); code.len()], targets: vec![] }
    }

    /// Follows the instructions from these offsets on.
    fn follow(&mut self, mut open: Vec<usize>) {
        while let Some(mut at) = open.pop() {
            while self.bytes.get(at).is_some_and(|byte| !byte.followed) {
                let Some((next, flow)) = self.instruction(at) else { break };
                match flow {
                    Flow::Next => {}
                    Flow::Conditional(target) => open.extend(self.target(target)),
                    Flow::Jump(target) => {
                        open.extend(self.target(target));
                        break;
                    }
                    Flow::Away => break,
                    Flow::Trap => {}
                }
                at = next;
            }
        }
    }

    /// Decodes what has not been reached, gap by gap.
    fn sweep(&mut self) {
        let mut at = 0;
        while let Some(gap) = self.bytes[at..].iter().position(|byte| !byte.decoded) {
            at += gap;
            self.lead(at);
            while self.bytes.get(at).is_some_and(|byte| !byte.decoded) {
                match self.instruction(at) {
                    Some((next, Flow::Conditional(target) | Flow::Jump(target))) => {
                        // A gap may be data, so that what it says is only believed where it makes
                        // sense; see `blocks`.
                        self.target(target);
                        at = next;
                    }
                    Some((next, _)) => at = next,
                    // Not code, or not known to us: the rest of the gap is one block.
                    None => {
                        self.lead(at);
                        self.bytes[at].begins = true;
                        let rest = self.bytes[at..].iter_mut();
                        let rest = rest.take_while(|byte| !byte.decoded);
                        at += rest.map(|byte| byte.decoded = true).count();
                    }
                }
            }
        }
    }

    /// Decodes the instruction at an offset. Says where the next one is, and how it goes on.
    fn instruction(&mut self, at: usize) -> Option<(usize, Flow)> {
        let address = self.start.wrapping_add(at as u64);
        let instruction = decode(self.isa, address, &self.code[at..])?;
        let next = at + instruction.length;
        self.bytes[at].followed = true;
        self.bytes[at].begins |= !self.bytes[at].decoded;
        self.bytes[at..next].iter_mut().for_each(|byte| byte.decoded = true);
        if instruction.flow != Flow::Next {
            self.lead(next);
        }
        Some((next, instruction.flow))
    }

    /// Notes where a jump leads; gives the offset where that is in the function.
    fn target(&mut self, address: u64) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(self.start)?).ok()?;
        (offset < self.code.len()).then(|| self.targets.push(offset)).map(|()| offset)
    }

    fn lead(&mut self, at: usize) {
        if let Some(byte) = self.bytes.get_mut(at) {
            byte.leads = true;
        }
    }

    fn blocks(mut self) -> Vec<Range> {
        for target in std::mem::take(&mut self.targets) {
            self.lead(target);
        }
        // A jump into the middle of an instruction, as hand-written code has it, does not cut it.
        let leads = |byte: &Byte| byte.leads && byte.begins;
        let starts = (1..self.code.len()).filter(|at| leads(&self.bytes[*at]));
        let starts: Vec<usize> = std::iter::once(0).chain(starts).collect();
        let ends = starts.iter().skip(1).copied().chain([self.code.len()]);
        let address = |offset: usize| self.start.wrapping_add(offset as u64);
        let blocks = starts.iter().zip(ends).filter(|(start, end)| *start < end);
        blocks.map(|(start, end)| Range { start: address(*start), end: address(end) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trimtab_fixture::Elf;

    /// The offsets at which blocks of this x86-64 code begin.
    fn x86(code: &[u8]) -> Vec<u64> {
        let blocks = blocks_of(Isa::X86_64, 0x1000, code);
        blocks.iter().map(|block| block.start - 0x1000).collect()
    }

    #[test]
    fn a_block_ends_behind_jumps_and_where_they_lead() {
        // 0: test edi, edi; 2: je 7; 4: call …; 9: inc eax; b: jmp 4; d: ret
        let code = [0x85, 0xff, 0x74, 0x09, 0xe8, 0, 0, 0, 0, 0xff, 0xc0, 0xeb, 0xf7, 0xc3];
        assert_eq!(x86(&code), [0, 4, 13]);
        // 0: jmp 3; 2: nop; 3: nop; 4: ret
        assert_eq!(x86(&[0xeb, 0x01, 0x90, 0x90, 0xc3]), [0, 2, 3]);
        // ud2 of a warning: the code goes on.
        assert_eq!(x86(&[0x0f, 0x0b, 0xc3]), [0, 2]);
        assert_eq!(x86(&[0x90, 0x90, 0xc3]), [0]);
        assert_eq!(x86(&[]), [0; 0]);
    }

    #[test]
    fn jumps_are_found_from_block_to_block_wherever_those_lie() {
        // 1000: je 1004; 1002: jmp 1000; 1004: jmp 2000
        let near = [0x74, 0x02, 0xeb, 0xfc, 0xe9, 0xf7, 0x0f, 0x00, 0x00];
        // 2000: jmp 1004; 2005: jmp 3000
        let far = [0xe9, 0xff, 0xef, 0xff, 0xff, 0xe9, 0xf6, 0x0f, 0x00, 0x00];
        let bytes = Elf::new()
            .text(".text", 0x1000, 0x1800)
            .function("spread", 0x1000, 9)
            .contents(0x1000, &near)
            .contents(0x2000, &far)
            .loaded()
            .build();
        let program = Program::parse(&bytes).unwrap();
        let block = |id: u32, start: u64, end: u64| Block {
            id,
            range: Range { start, end },
            falls_through: false,
        };
        let blocks = [
            block(0, 0x1000, 0x1002),
            block(3, 0x1002, 0x1004),
            block(1, 0x1004, 0x1004),
            block(4, 0x1004, 0x1009),
            block(2, 0x2000, 0x200a),
            // Its bytes are not in the file.
            block(5, 0x4000, 0x4004),
        ];
        let found: Vec<(usize, usize)> =
            jumps(&program, &blocks).iter().map(|jump| (jump.from, jump.to)).collect();
        assert_eq!(found, [(0, 2), (1, 0), (3, 4), (4, 2)]);
    }

    #[test]
    fn what_only_a_computed_jump_reaches_is_decoded_as_well() {
        // 0: jmp *rax; 2: nop; 3: je 8; 5: jmp 2; 7: ret; 8: ret
        assert_eq!(x86(&[0xff, 0xe0, 0x90, 0x74, 0x03, 0xeb, 0xfb, 0xc3, 0xc3]), [0, 2, 5, 7, 8]);
    }

    #[test]
    fn code_that_cannot_be_decoded_is_one_block() {
        // 0: jmp 6; 2: four bytes that are no instruction; 6: ret
        assert_eq!(x86(&[0xeb, 0x04, 0x06, 0x06, 0x06, 0x06, 0xc3]), [0, 2, 6]);
        // The last instruction is cut off.
        assert_eq!(x86(&[0x90, 0xe8, 0x00]), [0, 1]);
    }

    #[test]
    fn a_jump_into_an_instruction_does_not_cut_it() {
        // 0: jmp 3; 2: lock inc [rax], which the jump enters behind `lock`
        assert_eq!(x86(&[0xeb, 0x01, 0xf0, 0xff, 0x00, 0xc3]), [0, 2, 3]);
        // 0: je 3; 2: lock inc [rax]: both ways are real, and the longer one counts.
        assert_eq!(x86(&[0x74, 0x01, 0xf0, 0xff, 0x00, 0xc3]), [0, 2]);
    }

    #[test]
    fn jumps_of_aarch64_are_known() {
        let words = [
            0x3400_0060_u32, // 0: cbz w0, 12
            0x9400_0040,     // 4: bl away
            0x1400_0002,     // 8: b 16
            0xd503_201f,     // 12: nop
            0x5400_0041,     // 16: b.ne 24
            0xd61f_0000,     // 20: br x0
            0x3607_ffc0,     // 24: tbz w0, #0, 16 … and behind it
            0xd65f_03c0,     // 28: ret
        ];
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let blocks = blocks_of(Isa::Aarch64, 0, &code);
        let starts: Vec<u64> = blocks.iter().map(|block| block.start).collect();
        assert_eq!(starts, [0, 4, 12, 16, 20, 24, 28]);
    }

    fn is_partition(start: u64, length: usize, blocks: &[Range]) -> bool {
        let ends = |range: &Range| range.end;
        blocks.iter().all(|block| !block.is_empty())
            && blocks.windows(2).all(|pair| pair[0].end == pair[1].start)
            && blocks.first().map_or(start, |block| block.start) == start
            && blocks.last().map_or(start, ends) == start + length as u64
    }

    #[test]
    fn real_functions_fall_into_blocks() {
        for bytes in [
            &include_bytes!("../../../testdata/programs/lld-x86_64.elf")[..],
            include_bytes!("../../../testdata/programs/lld-aarch64.elf"),
            include_bytes!("../../../testdata/programs/gnu-x86_64.elf"),
        ] {
            let program = Program::parse(bytes).unwrap();
            for id in program.function_ids() {
                let range = program.function(id).range;
                let blocks = blocks(&program, id);
                assert!(is_partition(range.start, range.length() as usize, &blocks), "{blocks:?}");
            }
        }
    }

    /// Instructions to be put together at random.
    const PIECES: &[&[u8]] = &[
        &[0x90],
        &[0xc3],
        &[0xff, 0xe0],
        &[0x0f, 0x0b],
        &[0xcc],
        &[0xf0, 0xff, 0x00],
        &[0x48, 0x8d, 0x05, 0, 0, 0, 0],
        &[0xe8, 0, 0, 0, 0],
        &[0x06],
    ];

    proptest! {
        #[test]
        fn blocks_partition_any_bytes(
            code in prop::collection::vec(any::<u8>(), 0..200),
            start in 0..u64::MAX / 2,
        ) {
            for isa in [Isa::X86_64, Isa::Aarch64] {
                let blocks = blocks_of(isa, start, &code);
                prop_assert!(is_partition(start, code.len(), &blocks), "{:?}", blocks);
            }
        }

        #[test]
        fn every_jump_and_its_target_bound_blocks(
            picks in prop::collection::vec((0..PIECES.len() + 2, any::<i8>()), 1..60),
        ) {
            let mut code = Vec::new();
            // Offsets of jumps with the offset to which each leads, and of all instructions.
            let mut jumps = Vec::new();
            let mut begins = Vec::new();
            let mut valid = true;
            for (pick, displacement) in picks {
                begins.push(code.len());
                match PIECES.get(pick) {
                    Some(piece) => {
                        valid &= piece != &[0x06];
                        code.extend_from_slice(piece);
                    }
                    None => {
                        code.extend([if pick == PIECES.len() { 0xeb } else { 0x74 }, displacement as u8]);
                        jumps.push(code.len() as i64 + i64::from(displacement));
                    }
                }
            }
            let starts = x86(&code);
            let blocks = blocks_of(Isa::X86_64, 0x1000, &code);
            prop_assert!(is_partition(0x1000, code.len(), &blocks));
            let aligned = jumps.iter().all(|to| {
                !(0..code.len() as i64).contains(to) || begins.contains(&(*to as usize))
            });
            // Unless jumps lead into the middle of instructions, decoding must find each of them.
            if valid && aligned {
                for to in jumps.into_iter().filter(|to| (0..code.len() as i64).contains(to)) {
                    prop_assert!(starts.contains(&(to as u64)), "{} of {:?}", to, starts);
                }
                for start in starts {
                    prop_assert!(begins.contains(&(start as usize)));
                }
            }
        }
    }
}
