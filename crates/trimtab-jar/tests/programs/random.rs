//! Programs of random instructions.

use object::elf;
use std::fs;
use std::path::{Path, PathBuf};
use trimtab_fixture::Elf;

/// Random numbers, always the same for a seed.
fn random(seed: u64) -> impl FnMut() -> u32 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as u32
    }
}

/// Code from random words, with branches near and far made more likely.
pub fn random_code(seed: u64) -> Vec<u8> {
    let mut next = random(seed);
    let words = (0..4000).map(|_| match next() % 8 {
        0 => 0x1000_0000 | next() & 0x0fff_0000 | (next() % 400),
        1 => 0x1000_0000 | next() & 0x0fff_0000 | (next() % 400).wrapping_neg() & 0xffff,
        2 => 0x4600_0000 | next() & 0x003f_ffff,
        3 => next() & 0x03ff_ffff,
        4 => 0x0c10_0400 | (next() % 4000),
        5 => 0x03e0_0008,
        _ => next(),
    });
    words.flat_map(|word| word.to_le_bytes()).collect()
}

/// Code that runs for a while: instructions for integers, most accesses to the stack, and short branches. At its end it exits
/// with a number that depends on all registers. With other words among them it may end before, or not at all.
pub fn likely_code(seed: u64, others: bool) -> Vec<u8> {
    const ARITHMETIC: [u32; 22] =
        [0, 2, 3, 4, 6, 7, 10, 11, 16, 17, 18, 19, 24, 25, 33, 35, 36, 37, 38, 39, 42, 43];
    const ACCESSES: [u32; 12] = [32, 33, 34, 35, 36, 37, 38, 40, 41, 42, 43, 46];
    const WIDE: [u32; 7] = [0, 1, 2, 4, 5, 32, 33];
    // From here on registers have a use that the ABI says.
    const GLOBAL: u32 = 28;
    const STACK: u32 = 29;
    let mut next = random(seed);
    // All registers have a value, and so have HI and LO.
    let mut words: Vec<u32> =
        (1..GLOBAL).map(|r| 0x2400_0000 | r << 16 | next() & 0xffff).collect();
    words.push(2 << 21 | 3 << 16 | 24);
    words.extend((0..8).map(|word| 43 << 26 | STACK << 21 | (4 * word)));
    let mut in_slot = false;
    while words.len() < 900 {
        let (d, s, t) = (next() % GLOBAL, next() % GLOBAL, next() % GLOBAL);
        let branches = !in_slot && words.len() < 890;
        words.push(match next() % 100 {
            0..40 => {
                let function = ARITHMETIC[next() as usize % ARITHMETIC.len()];
                // Fields that an instruction does not use are zero.
                match function {
                    0 | 2 | 3 => t << 16 | d << 11 | (next() % 32) << 6 | function,
                    16 | 18 => d << 11 | function,
                    17 | 19 => s << 21 | function,
                    24 | 25 => s << 21 | t << 16 | function,
                    _ => s << 21 | t << 16 | d << 11 | function,
                }
            }
            40..60 => match 9 + next() % 7 {
                15 => 0x3c00_0000 | d << 16 | next() & 0xffff,
                op => op << 26 | s << 21 | d << 16 | next() & 0xffff,
            },
            60..75 => {
                let op = ACCESSES[next() as usize % ACCESSES.len()];
                // Of the first 8 words, which are cleared before.
                op << 26 | STACK << 21 | d << 16 | (next() % 8 * 4)
            }
            75..82 => match WIDE[next() as usize % WIDE.len()] {
                2 => 0x7000_0002 | s << 21 | t << 16 | d << 11,
                function @ 32.. => 0x7000_0000 | s << 21 | d << 16 | d << 11 | function,
                function => 0x7000_0000 | s << 21 | t << 16 | function,
            },
            82..86 => {
                let (low, size) = (next() % 16, 1 + next() % 16);
                let (end, function) =
                    if next().is_multiple_of(2) { (size - 1, 0) } else { (low + size - 1, 4) };
                0x7c00_0000 | s << 21 | d << 16 | end << 11 | low << 6 | function
            }
            86..90 => 0x7c00_0020 | t << 16 | d << 11 | [2, 16, 24][next() as usize % 3] << 6,
            90..97 if branches => {
                // Likely ones, too, and comparisons with zero.
                in_slot = true;
                let op = 4 + next() % 4 + 16 * (next() % 2);
                let other = if op & 2 == 0 { t } else { 0 };
                words.push(op << 26 | s << 21 | other << 16 | (1 + next() % 5));
                continue;
            }
            97 if others => 0x0810_0400,
            98 if others => next(),
            _ => 0x2400_0000 | d << 21 | d << 16 | next() & 0xff,
        });
        in_slot = false;
    }
    // xor a0, a0, REGISTER; sra a1, a0, 16 and 8, xor; li v0, 4246; syscall
    words.extend((1..GLOBAL).filter(|r| *r != 4).map(|r| 4 << 21 | r << 16 | 4 << 11 | 38));
    words.extend([0x0004_2c03, 0x0085_2026, 0x0004_2a03, 0x0085_2026, 0x2402_1096, 0x0000_000c]);
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// A program of this code, in one function, or in two where the second begins after as many words.
pub fn random_program(folder: &Path, seed: u64, code: &[u8], cut: Option<u64>) -> PathBuf {
    let size = code.len() as u64;
    let cut = cut.map_or(size, |words| 4 * words);
    let file = Elf::new()
        .class_32()
        .machine(elf::EM_MIPS)
        .kind(elf::ET_EXEC)
        .entry(0x40_1000)
        .text(".text", 0x40_1000, size)
        .function("start", 0x40_1000, cut);
    let file = if cut < size { file.function("rest", 0x40_1000 + cut, size - cut) } else { file };
    let program = folder.join(format!("random{seed}"));
    fs::write(&program, file.contents(0x40_1000, code).loaded().build()).unwrap();
    program
}
