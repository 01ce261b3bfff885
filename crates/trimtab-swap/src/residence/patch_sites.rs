//! Code that the running kernel patches: where its own tables say that it may.

use crate::SwapError;
use crate::code::Code;
use std::fmt;
use trimtab_program::{Program, Range};

/// What patches code at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PatchKind {
    /// The function tracer, at the entry of functions.
    Ftrace,
    /// Jump labels: branches that a setting turns into jumps or nothing.
    JumpLabels,
    /// Static calls: calls whose target a setting changes.
    StaticCalls,
    /// Lock prefixes that are taken away while there is one CPU only.
    SmpLocks,
}

impl PatchKind {
    /// All of them.
    pub const ALL: [PatchKind; 4] =
        [PatchKind::Ftrace, PatchKind::JumpLabels, PatchKind::StaticCalls, PatchKind::SmpLocks];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            PatchKind::Ftrace => "ftrace",
            PatchKind::JumpLabels => "jump-labels",
            PatchKind::StaticCalls => "static-calls",
            PatchKind::SmpLocks => "smp-locks",
        }
    }

    /// The kernel's table of it: its bounds, the bytes of an entry, and whether the first four bytes
    /// of each are the distance from the entry to the code, rather than all of it the address.
    fn table(self) -> (&'static str, &'static str, u64, bool) {
        match self {
            PatchKind::Ftrace => ("__start_mcount_loc", "__stop_mcount_loc", 8, false),
            PatchKind::JumpLabels => ("__start___jump_table", "__stop___jump_table", 16, true),
            PatchKind::StaticCalls => {
                ("__start_static_call_sites", "__stop_static_call_sites", 8, true)
            }
            PatchKind::SmpLocks => ("__smp_locks", "__smp_locks_end", 4, true),
        }
    }
}

impl fmt::Display for PatchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// All places that the running kernel may patch.
#[derive(Debug, Clone, Default)]
pub struct PatchSites {
    /// What patches, and where: ascending addresses.
    kinds: Vec<(PatchKind, Vec<u64>)>,
}

impl PatchSites {
    /// Reads the kernel's tables.
    ///
    /// # Errors
    /// [`SwapError::Table`] for a table that is damaged.
    pub fn of(program: &Program<'_>) -> Result<Self, SwapError> {
        let kinds = PatchKind::ALL.into_iter().map(|kind| Ok((kind, read(program, kind)?)));
        Ok(PatchSites { kinds: kinds.collect::<Result<_, SwapError>>()? })
    }

    /// How many places of a kind there are.
    pub fn count(&self, kind: PatchKind) -> usize {
        self.addresses(kind).len()
    }

    fn addresses(&self, kind: PatchKind) -> &[u64] {
        let found = self.kinds.iter().find(|(other, _)| *other == kind);
        found.map_or(&[], |(_, addresses)| addresses.as_slice())
    }

    /// For each block of the code what may patch it, if not one of `never`.
    pub(crate) fn blocks(&self, code: &Code<'_>, never: &[PatchKind]) -> Vec<Option<PatchKind>> {
        let mut found = vec![None; code.blocks().len()];
        for (kind, addresses) in self.kinds.iter().filter(|(kind, _)| !never.contains(kind)) {
            for address in addresses {
                if let Some(block) = code.block_at(*address) {
                    found[block.index()].get_or_insert(*kind);
                }
            }
        }
        found
    }
}

fn read(program: &Program<'_>, kind: PatchKind) -> Result<Vec<u64>, SwapError> {
    let (start, end, entry, relative) = kind.table();
    let (Some(from), Some(to)) = (program.address_of(start), program.address_of(end)) else {
        // A kernel without it.
        return Ok(Vec::new());
    };
    let range = Range { start: from, end: to.max(from) };
    if range.is_empty() {
        return Ok(Vec::new());
    }
    let bad = SwapError::Table { start, end, bytes: range.length(), entry };
    // Aligning the end of a table of distances leaves zeros behind it.
    if !range.length().is_multiple_of(entry) {
        return Err(bad);
    }
    let bytes = program.bytes(range).ok_or(bad)?;
    let mut addresses: Vec<u64> = bytes
        .chunks_exact(entry as usize)
        .enumerate()
        .filter_map(|(place, bytes)| match relative {
            true => {
                let distance = i32::from_le_bytes(*bytes.first_chunk()?);
                let at = range.start + place as u64 * entry;
                (distance != 0).then(|| at.wrapping_add_signed(distance.into()))
            }
            false => {
                let address = u64::from_le_bytes(*bytes.first_chunk()?);
                (address != 0).then_some(address)
            }
        })
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    Ok(addresses)
}
