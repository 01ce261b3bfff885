//! Data objects of a kernel, and the functions whose addresses lie in them.

use crate::code::Code;
use rustc_hash::FxHashSet;
use trimtab_program::{FunctionId, Program, Range};

/// How far from an address the data object is taken to reach where no symbol ends it, in bytes.
const LONGEST_OBJECT: u64 = 512;
/// How many objects are followed from object to object.
const HOPS: usize = 2;

/// Data objects by address: what lies between two symbols.
pub(crate) struct Objects<'a> {
    program: &'a Program<'a>,
    starts: Vec<u64>,
}

impl<'a> Objects<'a> {
    pub(crate) fn of(program: &'a Program<'a>) -> Self {
        let mut starts: Vec<u64> = program.markers().iter().map(|marker| marker.address).collect();
        starts.sort_unstable();
        starts.dedup();
        Objects { program, starts }
    }

    /// The functions whose addresses lie in the objects at `addresses`, or in those to which these
    /// point.
    pub(crate) fn functions(&self, code: &Code<'_>, addresses: &[u64]) -> Vec<FunctionId> {
        let mut found = Vec::new();
        let mut seen: FxHashSet<u64> = FxHashSet::default();
        let mut here: Vec<u64> = addresses.to_vec();
        for _ in 0..HOPS {
            let mut next = Vec::new();
            for address in here {
                // Code is no data.
                if self.program.function_at(address).is_some() || !seen.insert(address) {
                    continue;
                }
                for word in self.words(address) {
                    match code.entry(word) {
                        Some(function) => found.push(function),
                        None => next.push(word),
                    }
                }
            }
            here = next;
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The words of the object at an address.
    pub(crate) fn words(&self, address: u64) -> impl Iterator<Item = u64> + use<'a> {
        let place = self.starts.partition_point(|start| *start <= address);
        let limit = address.saturating_add(LONGEST_OBJECT);
        let end = self.starts.get(place).map_or(limit, |next| limit.min(*next));
        let start = address & !7;
        let range = Range { start, end: end.max(start) & !7 };
        let bytes = self.program.bytes(range).unwrap_or_default();
        let word = |bytes: &[u8]| bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        bytes.chunks_exact(8).filter_map(word).filter(|word| *word != 0)
    }
}
