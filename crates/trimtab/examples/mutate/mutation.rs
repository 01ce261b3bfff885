//! Inputs that are nearly right.

use trimtab_fixture::Random;

/// What an input is made by.
#[derive(Debug, Clone)]
pub struct Chance(Random);

impl Chance {
    /// The one of an input: the `index`th of `seed`.
    pub fn of(seed: u64, index: u64) -> Self {
        let first = Random::of(seed).number();
        Self(Random::of(first.wrapping_add(index.wrapping_mul(0xd134_2543_de82_ef95))))
    }

    /// A number below `end`, which is above 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.below(end)
    }

    /// A number from 1 on, small ones more often than large ones.
    pub fn up_to_two_to_the(&mut self, power: usize) -> usize {
        let most = 1 << self.below(power + 1);
        1 + self.below(most)
    }

    /// One of these.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Bytes that an input may have.
const LONGEST: usize = 1 << 17;

/// Numbers at which readers go wrong: sizes that are too large for the file, for memory, for a sum.
const NUMBERS: [u64; 22] = [
    0,
    1,
    2,
    7,
    0x7f,
    0xff,
    0xfff,
    0x1000,
    0x7fff,
    0xffff,
    1 << 20,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 32,
    1 << 34,
    1 << 40,
    1 << 56,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 0xfff,
    u64::MAX,
];

/// Where the tables of an ELF file are, with the size of a field.
fn tables(file: &[u8]) -> Option<Vec<(usize, usize, usize)>> {
    let wide = match file.get(..5)? {
        [0x7f, b'E', b'L', b'F', 2] => true,
        [0x7f, b'E', b'L', b'F', 1] => false,
        _ => return None,
    };
    let number = |at: usize, size: usize| {
        let bytes = file.get(at..at + size)?;
        Some(bytes.iter().rev().fold(0, |all, byte| all << 8 | usize::from(*byte)))
    };
    let (word, programs, sections, counts) = if wide { (8, 32, 40, 56) } else { (4, 28, 32, 44) };
    let mut tables = vec![(16, if wide { 64 } else { 52 }, 2)];
    tables.push((number(programs, word)?, number(counts, 2)? * if wide { 56 } else { 32 }, word));
    let (start, entry) = (number(sections, word)?, if wide { 64 } else { 40 });
    let count = number(counts + 4, 2)?;
    tables.push((start, count * entry, 4));
    for index in 0..count {
        let header = start + index * entry;
        let (offset, size) = if wide { (24, 32) } else { (16, 20) };
        // Symbols, relocations, notes, groups: what is made of fields.
        if matches!(number(header + 4, 4)?, 2 | 4 | 7 | 9 | 11 | 17) {
            tables.push((number(header + offset, word)?, number(header + size, word)?, word));
        }
    }
    tables.retain(|(start, size, _)| *size > 0 && start + size <= file.len());
    Some(tables)
}

/// An input made of one or two of `seeds`, half of them of the first.
pub fn input(seeds: &[Vec<u8>], random: &mut Chance) -> Vec<u8> {
    let first = random.below(2) == 0;
    let mut bytes = if first { &seeds[0] } else { random.one_of(seeds) }.clone();
    let tables = tables(&bytes);
    let is_text = !bytes.iter().take(4096).any(|byte| *byte == 0);
    for _ in 0..1 + random.below(4) + random.below(2) * random.below(8) {
        match (&tables, random.below(2)) {
            (Some(tables), 0) => change_field(&mut bytes, tables, random),
            (None, 0) if is_text => change_text(&mut bytes, seeds, random),
            _ => change_bytes(&mut bytes, seeds, random),
        }
        bytes.truncate(LONGEST);
    }
    bytes
}

fn change_field(bytes: &mut [u8], tables: &[(usize, usize, usize)], random: &mut Chance) {
    let Some((start, size, width)) = tables.get(random.below(tables.len())).copied() else {
        return;
    };
    let at = start + random.below(size / width) * width;
    let length = bytes.len() as u64;
    let Some(field) = bytes.get_mut(at..at + width) else { return };
    let mut old = [0; 8];
    old[..width].copy_from_slice(field);
    let old = u64::from_le_bytes(old);
    let new = match random.below(4) {
        0 => *random.one_of(&NUMBERS),
        1 => *random.one_of(&[length, length - 1, length + 1, length / 2, length * 2]),
        2 => old.wrapping_add(random.below(17) as u64).wrapping_sub(8),
        _ => old ^ 1 << random.below(width * 8),
    };
    field.copy_from_slice(&new.to_le_bytes()[..width]);
}

fn change_bytes(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Chance) {
    if bytes.is_empty() {
        bytes.push(random.below(256) as u8);
    }
    let at = random.below(bytes.len());
    let longest = random.up_to_two_to_the(10).max(2);
    let length = 1 + random.below((bytes.len() - at).min(longest));
    match random.below(9) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.below(256) as u8,
        2 | 3 => {
            let width = (*random.one_of(&[2, 4, 8])).min(bytes.len() - at);
            let number = random.one_of(&NUMBERS).to_le_bytes();
            bytes[at..at + width].copy_from_slice(&number[..width]);
        }
        4 => bytes.truncate(at),
        5 => drop(bytes.drain(at..at + length)),
        6 => {
            let piece = bytes[at..at + length].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, piece);
        }
        7 => {
            let other = random.one_of(seeds);
            let from = random.below(other.len());
            let end = other.len().min(from + length);
            let to = bytes.len().min(at + length);
            bytes.splice(at..to, other[from..end].iter().copied());
        }
        _ => bytes[at..at + length].fill(*random.one_of(&[0, 0xff, b' ', b'\n'])),
    }
}

/// Changes numbers, words and lines.
fn change_text(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Chance) {
    let at = random.below(bytes.len());
    let line = |bytes: &[u8], at: usize| {
        let start = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let end = bytes[at..].iter().position(|byte| *byte == b'\n');
        start..end.map_or(bytes.len(), |end| at + end + 1)
    };
    match random.below(6) {
        // Another number in the place of one.
        0 | 1 => {
            let is_digit = |byte: &u8| byte.is_ascii_hexdigit();
            let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit) else { return };
            let start = at + start;
            let size = bytes[start..].iter().take_while(|byte| is_digit(byte)).count();
            let number = *random.one_of(&NUMBERS);
            let text = match random.below(3) {
                0 => format!("{number}"),
                1 => format!("{number:x}"),
                _ => "9".repeat(1 + random.below(40)),
            };
            bytes.splice(start..start + size, text.bytes());
        }
        2 => {
            let found = line(bytes, at);
            let piece = bytes[found.clone()].repeat(random.up_to_two_to_the(8));
            bytes.splice(found.start..found.start, piece);
        }
        3 => drop(bytes.drain(line(bytes, at))),
        4 => {
            let other = random.one_of(seeds);
            let Some(from) = other.len().checked_sub(1).map(|last| random.below(last + 1)) else {
                return;
            };
            let piece = other[line(other, from)].to_vec();
            let to = line(bytes, at).start;
            bytes.splice(to..to, piece);
        }
        _ => {
            let words: [&[u8]; 10] =
                [b"(", b")", b"[", b"\"", b" ", b"\t", b"+0x", b"\xc3\xa9", b"\0", b"{"];
            let word = random.one_of(&words).repeat(random.up_to_two_to_the(8));
            bytes.splice(at..at, word);
        }
    }
    if bytes.is_empty() {
        bytes.push(b'\n');
    }
}
