//! What `.eh_frame` says of the functions of an object: where the frame address and the saved
//! registers are at each instruction.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EndianSlice, FrameDescriptionEntry, LittleEndian,
    Register, RegisterRule, UnwindContext, UnwindSection, Vendor,
};

use crate::elf::Object;
use crate::error::ProbeError;
use crate::reason::Reason;

type Entry<'a> = FrameDescriptionEntry<EndianSlice<'a, LittleEndian>>;

/// The encoding that assemblers use in all but the large code model: 4 bytes, relative.
const RELATIVE_4: u8 = gimli::DW_EH_PE_pcrel.0 | gimli::DW_EH_PE_sdata4.0;
/// The encoding of LLVM's assembler in the large code model: 8 bytes, relative.
const RELATIVE_8: u8 = gimli::DW_EH_PE_pcrel.0 | gimli::DW_EH_PE_sdata8.0;

/// What holds from an instruction on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// First byte for which it holds, from the function's start.
    pub offset: u64,
    /// Register and offset that make the frame address; none where it is computed in another way.
    pub cfa: Option<(u16, i64)>,
    /// Registers that are saved, and where: offset from the frame address. None where a rule is
    /// of another kind.
    pub saved: Option<Vec<(u16, i64)>>,
    /// Whether the return address is signed: AArch64's pointer authentication.
    pub signed: bool,
}

impl Row {
    /// Whether it can be written anew: a frame address by a register, and saved registers in whole
    /// words of the stack, as compilers have them.
    pub fn is_plain(&self) -> bool {
        self.cfa.is_some()
            && self.saved.as_ref().is_some_and(|saved| {
                saved.iter().all(|&(register, offset)| {
                    register < 128 && offset < 0 && offset % 8 == 0 && offset > -(1 << 20)
                })
            })
    }
}

/// What calls leave behind: what holds at the first instruction of a function.
#[derive(Debug, Clone, Copy)]
pub struct EntryState {
    /// Register and offset that make the frame address.
    pub cfa: (u16, i64),
    /// What is saved: register, and offset from the frame address.
    pub saved: &'static [(u16, i64)],
}

/// What is known of a run of code.
#[derive(Debug, Clone)]
pub struct Unwind {
    /// Bytes it covers.
    pub length: u64,
    /// In order; the first holds at the entry.
    pub rows: Vec<Row>,
    /// Where its common part is in `.eh_frame`.
    pub common: u64,
    /// Bytes of its start, and of its length, in entries that have this common part: 4 or 8.
    pub width: u8,
    /// Bytes of the encoding of its data for exceptions, where the common part has such data.
    pub exceptions: Option<u8>,
    /// Its data for exceptions: section and offset.
    pub table: Option<(usize, u64)>,
    /// Whether an exception that leaves any call ends the program, by that data.
    pub lets_none_pass: bool,
    /// Where the distance to its data for exceptions is in `.eh_frame`, if there is any.
    pub table_field: u64,
    /// In which steps its code is counted: bytes.
    pub code_step: u64,
    /// In which steps distances from the frame address are counted, downward: bytes.
    pub data_step: u64,
    /// Whether another entry can be written against the same common part.
    pub plain: bool,
    /// Where its instructions are in `.eh_frame`; nowhere where it is not plain.
    pub program: Range<usize>,
    /// Whether it is not written in the object, but was found out from the instructions.
    pub derived: bool,
}

impl Unwind {
    /// What was found out from the instructions of a function of so many bytes.
    pub fn derived(length: u64, rows: Vec<Row>) -> Self {
        Self {
            length,
            rows,
            common: 0,
            width: 4,
            exceptions: None,
            table: None,
            lets_none_pass: false,
            table_field: 0,
            code_step: 1,
            data_step: 8,
            plain: true,
            program: 0..0,
            derived: true,
        }
    }

    /// The row that holds at an offset from the function's start.
    pub fn at(&self, offset: u64) -> Option<&Row> {
        let after = self.rows.partition_point(|row| row.offset <= offset);
        self.rows[..after].last().filter(|_| offset < self.length)
    }

    /// Its instructions, and where they are in `.eh_frame`, when the signing of the return address,
    /// the first thing to happen, is to be told `by` bytes of code later.
    pub fn signing_later(&self, frames: &[u8], by: u64) -> Option<(usize, Vec<u8>)> {
        let program = frames.get(self.program.clone())?;
        let by = u8::try_from(by.checked_div(self.code_step)?).ok()?;
        Some((self.program.start, signing_later(program, by)?))
    }

    /// Whether the entry is that of a function that is called: nothing pushed but what calls push.
    pub fn begins_as_a_call_does(&self, entry: &EntryState) -> bool {
        self.rows.first().is_some_and(|row| {
            row.offset == 0
                && row.cfa == Some(entry.cfa)
                && row.saved.as_deref() == Some(entry.saved)
                && !row.signed
        })
    }
}

/// All that `.eh_frame` says, by section and offset of the code.
#[derive(Debug, Default)]
pub struct UnwindTable {
    /// The section.
    pub section: Option<usize>,
    entries: HashMap<(usize, u64), Unwind>,
    /// Whether there is such information that is not read.
    unread: bool,
    /// Functions whose frames could not be found out from their instructions.
    unknown: HashSet<(usize, u64)>,
}

impl UnwindTable {
    /// Reads the unwind information of an object; whose own instructions of DWARF are in it is the
    /// `vendor`.
    ///
    /// # Errors
    /// [`ProbeError::Damaged`] where it is no such information.
    pub fn read(object: &Object, vendor: Vendor) -> Result<Self, ProbeError> {
        // Long: one pass over the entries, whose state is in the decoder.
        let mut found = object.sections.iter().enumerate().filter(|(_, s)| s.name == b".eh_frame");
        let Some((section, data)) = found.next() else { return Ok(Self::default()) };
        if found.next().is_some() || data.has(object::elf::SHF_GROUP) {
            // No assembler writes it; functions then count as without unwind information.
            return Ok(Self { unread: true, ..Self::default() });
        }
        let damaged = || object.damaged("the unwind information");
        let (bytes, marked) = with_known_letters(&data.data);
        let mut frame = EhFrame::new(&bytes, LittleEndian);
        frame.set_address_size(8);
        frame.set_vendor(vendor);
        let bases =
            BaseAddresses::default().set_eh_frame(0).set_text(0).set_got(0).set_eh_frame_hdr(0);
        let mut context = UnwindContext::new();
        let mut entries = HashMap::new();
        let mut iterator = frame.entries(&bases);
        let mut end = 0;
        while let Some(entry) = iterator.next().map_err(|_| damaged())? {
            let partial = match entry {
                CieOrFde::Cie(cie) => {
                    end = cie.offset() + cie.entry_len() + 4;
                    continue;
                }
                CieOrFde::Fde(partial) => partial,
            };
            let entry = partial.parse(EhFrame::cie_from_offset).map_err(|_| damaged())?;
            end = entry.offset() + entry.entry_len() + 4;
            let field = entry.offset() as u64 + 8;
            let code = object
                .relocation_at(section, field)
                .and_then(|relocation| object.target(relocation))
                .and_then(|(code, offset)| Some((code, u64::try_from(offset).ok()?)));
            let Some(code) = code else { continue };
            let cie = entry.cie();
            let encoding = cie.fde_address_encoding().map(|encoding| encoding.0);
            let exceptions = cie.lsda_encoding().map(|encoding| match encoding.0 & 15 {
                0 | 4 | 12 => 8,
                _ => 4,
            });
            let width = if encoding == Some(RELATIVE_8) { 8 } else { 4 };
            let plain = matches!(encoding, Some(RELATIVE_4 | RELATIVE_8))
                && (!cie.is_signal_trampoline() || marked.contains(&cie.offset()))
                && matches!(cie.data_alignment_factor(), -4 | -8)
                && matches!(cie.code_alignment_factor(), 1 | 4);
            // Start and length, then one byte of length, then the pointer.
            let table_field = field + 2 * u64::from(width) + 1;
            let table = object
                .relocation_at(section, table_field)
                .filter(|_| plain && exceptions.is_some())
                .and_then(|relocation| object.target(relocation))
                .and_then(|(code, offset)| Some((code, u64::try_from(offset).ok()?)));
            let common = cie.offset() as u64;
            let common = common..common + cie.entry_len() as u64 + 4;
            let lets_none_pass = table.is_some_and(|(tables, offset)| {
                let data = &object.sections[tables].data;
                is_of_cxx(object, section, &common)
                    && data.get(offset as usize..).is_some_and(has_no_sites)
            });
            let mut rows = Vec::new();
            let start = entry.initial_address();
            if let Ok(mut table) = entry.rows(&frame, &bases, &mut context) {
                while let Ok(Some(row)) = table.next_row() {
                    rows.push(Row {
                        offset: row.start_address().wrapping_sub(start),
                        cfa: cfa(row.cfa()),
                        saved: saved(row.registers()),
                        signed: row.register(gimli::AArch64::RA_SIGN_STATE)
                            == Some(RegisterRule::Constant(1)),
                    });
                }
            }
            let unwind = Unwind {
                length: entry.len(),
                rows,
                common: cie.offset() as u64,
                width,
                exceptions,
                table,
                lets_none_pass,
                table_field,
                code_step: cie.code_alignment_factor(),
                data_step: cie.data_alignment_factor().unsigned_abs(),
                plain,
                program: if plain { program(&data.data, &entry, width) } else { 0..0 },
                derived: false,
            };
            entries.insert(code, unwind);
        }
        // What is behind a terminator is never read: neither would be what is added.
        let unread = end < data.data.len();
        if unread {
            entries.clear();
        }
        Ok(Self { section: Some(section), entries, unread, unknown: HashSet::new() })
    }

    /// Whether there is none at all: what the compiler was told, and not code by hand among other.
    pub fn is_missing(&self) -> bool {
        self.entries.is_empty() && !self.unread
    }

    /// Adds what was found out of a function's instructions; none where it could not be.
    pub fn add(&mut self, place: (usize, u64), derived: Option<Unwind>) {
        match derived {
            Some(unwind) => _ = self.entries.insert(place, unwind),
            None => _ = self.unknown.insert(place),
        }
    }

    /// Why nothing is said of the code that begins here.
    pub fn why_none(&self, section: usize, offset: u64) -> Reason {
        match self.unknown.contains(&(section, offset)) {
            true => Reason::UnknownFrame,
            false => Reason::NoUnwind,
        }
    }

    /// What is said of the code that begins here.
    pub fn of(&self, section: usize, offset: u64) -> Option<&Unwind> {
        self.entries.get(&(section, offset))
    }
}

/// The same with augmentations that the reader knows, and where the common parts are of which one was
/// changed. `B` and `G` of AArch64 say which key signs return addresses, and that memory is tagged;
/// neither has data, as `S` for handlers of signals.
fn with_known_letters(frames: &[u8]) -> (Cow<'_, [u8]>, HashSet<usize>) {
    let mut bytes = Cow::Borrowed(frames);
    let mut marked = HashSet::new();
    let mut at = 0;
    while let Some((head, rest)) = frames.get(at..).and_then(<[u8]>::split_first_chunk::<9>) {
        // Length, number, version; then letters.
        let [l0, l1, l2, l3, number @ .., _] = *head;
        let letters = rest.iter().take_while(|byte| **byte != 0);
        for (index, letter) in letters.enumerate().filter(|_| number == [0; 4]) {
            if matches!(letter, b'B' | b'G') {
                bytes.to_mut()[at + 9 + index] = b'S';
                marked.insert(at);
            }
        }
        at = at.saturating_add(u32::from_le_bytes([l0, l1, l2, l3]) as usize).saturating_add(4);
    }
    (bytes, marked)
}

/// Where the instructions of an entry are: behind its start and length of `width` bytes each, and its data.
fn program(frames: &[u8], entry: &Entry<'_>, width: u8) -> Range<usize> {
    let data = entry.offset() + 8 + 2 * usize::from(width);
    match frames.get(data) {
        Some(&length @ 0..128) => {
            data + 1 + usize::from(length)..entry.offset() + 4 + entry.entry_len()
        }
        _ => 0..0,
    }
}

fn signing_later(program: &[u8], by: u8) -> Option<Vec<u8>> {
    const ADVANCE: u8 = gimli::DW_CFA_advance_loc.0;
    const ADVANCE_BYTE: u8 = gimli::DW_CFA_advance_loc1.0;
    const NEGATE: u8 = gimli::DW_CFA_AARCH64_negate_ra_state.0;
    let &[first @ 0x41..0x80, NEGATE, ref rest @ ..] = program else { return None };
    let mut changed = vec![first.checked_add(by).filter(|first| *first < 0x80)?, NEGATE];
    match *rest {
        [next @ 0x41..0x80, ref rest @ ..] => {
            let left = (next - ADVANCE).checked_sub(by)?;
            changed.push(if left == 0 { 0 } else { ADVANCE + left });
            changed.extend(rest);
        }
        [ADVANCE_BYTE, next, ref rest @ ..] => {
            changed.extend([ADVANCE_BYTE, next.checked_sub(by)?]);
            changed.extend(rest);
        }
        // Nothing more happens: it is filled up.
        _ if rest.iter().all(|byte| *byte == 0) => changed.extend(rest),
        _ => return None,
    }
    Some(changed)
}

fn cfa(rule: &CfaRule<usize>) -> Option<(u16, i64)> {
    match rule {
        CfaRule::RegisterAndOffset { register, offset } => Some((register.0, *offset)),
        CfaRule::Expression(_) => None,
    }
}

fn saved<'a>(
    rules: impl Iterator<Item = &'a (Register, RegisterRule<usize>)>,
) -> Option<Vec<(u16, i64)>> {
    let mut saved = Vec::new();
    for (register, rule) in rules {
        match rule {
            RegisterRule::Offset(offset) => saved.push((register.0, *offset)),
            RegisterRule::SameValue | RegisterRule::Undefined => {}
            // Whether the return address is signed: a row has that apart.
            RegisterRule::Constant(_) if *register == gimli::AArch64::RA_SIGN_STATE => {}
            _ => return None,
        }
    }
    saved.sort_unstable();
    Some(saved)
}

/// Whether an exception that leaves the instruction at `offset` of its function goes on to the
/// caller, with nothing to be done here: the call-site table has the place, without landing pad.
///
/// A place that the table does not have ends the program. The table is that of the Itanium C++
/// ABI, as GCC writes it: "Exception Handling Tables", section "LSDA call-site table".
pub fn passes_through(table: &[u8], offset: u64) -> bool {
    let passes = || -> Option<bool> {
        let (encoding, mut sites) = call_sites(table)?;
        while !sites.data.is_empty() {
            let mut field = || match encoding {
                1 => sites.number(),
                3 => sites.word(),
                _ => None,
            };
            let (start, length, pad) = (field()?, field()?, field()?);
            sites.number()?;
            if (start..start.checked_add(length)?).contains(&offset) {
                return Some(pad == 0);
            }
        }
        Some(false)
    };
    passes().unwrap_or(false)
}

/// The table of call sites, and how its numbers are written; none where landing pads are elsewhere than
/// in the function, or the table is cut off.
fn call_sites(table: &[u8]) -> Option<(u8, Reader<'_>)> {
    let mut reader = Reader { data: table };
    if reader.byte()? != 0xff {
        return None;
    }
    // Where types are.
    if reader.byte()? != 0xff {
        reader.number()?;
    }
    let encoding = reader.byte()?;
    let length = usize::try_from(reader.number()?).ok()?;
    Some((encoding, Reader { data: reader.data.get(..length)? }))
}

/// Whether the personality of a common part is that of C++, which ends the program where an exception
/// leaves a call that the table does not have. It is the only thing there that is relocated.
fn is_of_cxx(object: &Object, frames: usize, common: &Range<u64>) -> bool {
    let all = &object.relocations[frames];
    let first = all.partition_point(|relocation| relocation.offset < common.start);
    let personality = all.get(first).filter(|relocation| relocation.offset < common.end);
    let symbol = personality.and_then(|found| object.symbols.get(found.symbol as usize));
    // With DW.ref. in front it is found by way of a pointer.
    symbol.is_some_and(|symbol| symbol.name.ends_with(b"__gxx_personality_v0"))
}

/// Whether a table of call sites is empty.
fn has_no_sites(table: &[u8]) -> bool {
    call_sites(table).is_some_and(|(_, sites)| sites.data.is_empty())
}

struct Reader<'a> {
    data: &'a [u8],
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.data.split_first()?;
        self.data = rest;
        Some(byte)
    }

    fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.data.split_first_chunk::<4>()?;
        self.data = rest;
        Some(u32::from_le_bytes(*word).into())
    }

    /// ULEB128.
    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_is_told_later_and_all_else_as_before() {
        // Advance, negate; advance, frame address at 48.
        let later = |program: &[u8], by| signing_later(program, by);
        let size = [0x0e, 48, 0, 0];
        assert_eq!(
            later(&[&[0x41, 0x2d, 0x41], &size[..]].concat(), 1),
            Some([&[0x42, 0x2d, 0], &size[..]].concat())
        );
        assert_eq!(
            later(&[&[0x44, 0x2d, 0x4c], &size[..]].concat(), 4),
            Some([&[0x48, 0x2d, 0x48], &size[..]].concat())
        );
        assert_eq!(
            later(&[&[0x41, 0x2d, 0x02, 90], &size[..]].concat(), 1),
            Some([&[0x42, 0x2d, 0x02, 89], &size[..]].concat())
        );
        assert_eq!(later(&[0x41, 0x2d, 0, 0], 1), Some(vec![0x42, 0x2d, 0, 0]));
        for other in [&[0x41][..], &[0x2d, 0x41], &[0x41, 0x2d, 0x0e, 48], &[0x7f, 0x2d, 0], &[]] {
            assert_eq!(later(other, 1), None, "{other:x?}");
        }
        assert_eq!(later(&[0x44, 0x2d, 0x43, 0x0e, 48], 4), None, "it would be told too late");
    }

    #[test]
    fn tables_without_call_sites_let_nothing_pass() {
        assert!(has_no_sites(&[0xff, 0xff, 1, 0]));
        assert!(has_no_sites(&[0xff, 0x9b, 5, 1, 0, 0, 0, 0, 0]));
        assert!(!has_no_sites(&[0xff, 0xff, 1, 4, 4, 5, 0, 0]), "a call that exceptions leave");
        assert!(!has_no_sites(&[0xff, 0xff, 1]), "the table is cut off");
        assert!(!has_no_sites(&[0x1b, 0, 0, 0, 0, 0xff, 1, 0]), "landing pads are elsewhere");
    }

    #[test]
    fn calls_without_landing_pad_pass_through() {
        // Two sites: 4..9 without landing pad, 9..12 with one.
        let table = [0xff, 0xff, 1, 8, 4, 5, 0, 0, 9, 3, 20, 0];
        assert!(passes_through(&table, 4) && passes_through(&table, 8));
        assert!(!passes_through(&table, 9), "it has a landing pad");
        assert!(!passes_through(&table, 3), "it is not in the table");
        assert!(!passes_through(&table[..7], 4), "the table is cut off");
        assert!(!passes_through(&[], 0));
    }
}
