//! Code that a kernel runs at physical addresses, before paging is on.

use crate::trace::{Place, Trace};
use trimtab_program::{Isa, Program, Range};

/// Where an arm64 kernel is loaded: at a multiple of this
/// (`Documentation/arch/arm64/booting.rst` of Linux).
const ARM64_ALIGNMENT: u64 = 2 << 20;

/// Tells where code is linked that ran at its physical address.
#[derive(Debug)]
pub(crate) struct Early {
    /// The physical address at which the kernel is entered. What ran before is no code of it.
    entry: u64,
    entered: bool,
    /// Physical start of each loaded range, and the range as it is linked.
    loaded: Vec<(u64, Range)>,
}

impl Early {
    /// For the boot of `program` that `trace` is of; `None` where the program runs nowhere but
    /// where it is linked, or was not seen to be entered.
    pub(crate) fn of(program: &Program<'_>, trace: &Trace) -> Option<Early> {
        let segments = program.segments();
        if segments.iter().any(|segment| segment.physical != segment.range.start) {
            let loaded = segments.iter().map(|s| (s.physical, s.range)).collect();
            return Some(Early { entry: program.entry(), entered: false, loaded });
        }
        let entry = match program.isa() {
            Isa::X86_64 | Isa::Mips32 => None,
            Isa::Aarch64 => arm64_entry(program, trace),
        }?;
        let offset = entry.wrapping_sub(program.entry());
        let loaded = segments.iter().map(|s| (s.range.start.wrapping_add(offset), s.range));
        Some(Early { entry, entered: false, loaded: loaded.collect() })
    }

    /// Where the code at the physical `address`, which ran next, is linked; the address itself
    /// where it is no code of the program.
    pub(crate) fn linked(&mut self, address: u64) -> u64 {
        self.entered |= address == self.entry;
        if !self.entered {
            return address;
        }
        let linked = self.loaded.iter().find_map(|(start, range)| {
            let offset = address.checked_sub(*start)?;
            (offset < range.length()).then(|| range.start + offset)
        });
        linked.unwrap_or(address)
    }
}

/// The physical address at which an arm64 kernel was entered, which its file does not say: that of
/// the image's first byte, where there is nothing but a jump to `primary_entry`.
fn arm64_entry(program: &Program<'_>, trace: &Trace) -> Option<u64> {
    let jump = program.address_of("primary_entry")?.checked_sub(program.entry())?;
    let start = |place| match place {
        Place::Block { start, .. } => Some(start),
        _ => None,
    };
    trace.events().windows(2).find_map(|pair| {
        let (from, to) = (start(pair[0].place)?, start(pair[1].place)?);
        (from.is_multiple_of(ARM64_ALIGNMENT) && from.checked_add(jump) == Some(to)).then_some(from)
    })
}
