//! Where the fragments of one link are in another one.

use std::collections::HashMap;
use trimtab_program::{FragmentId, Fragments, Origin, Range, RangeSet};

/// Where the fragments of one linked program went in another link of the same objects.
///
/// A fragment is known by its file and section; several of the same file and section by their
/// order. So what ran in one program says exactly what would run in the other.
#[derive(Debug, Clone)]
pub struct Projection {
    from: Vec<Range>,
    /// For each fragment of the first program its place in the second.
    to: Vec<Option<u64>>,
}

impl Projection {
    /// Matches the fragments of two links of the same objects.
    pub fn new(from: &Fragments<'_>, to: &Fragments<'_>) -> Self {
        let mut places: HashMap<(&str, &str), Vec<Range>> = HashMap::new();
        for fragment in to.as_slice().iter().rev() {
            places
                .entry(name_of(&fragment.origin, fragment.name))
                .or_default()
                .push(fragment.range);
        }
        let mut matched = Vec::with_capacity(from.as_slice().len());
        for fragment in from.as_slice() {
            let place = places
                .get_mut(&name_of(&fragment.origin, fragment.name))
                .and_then(Vec::pop)
                .filter(|range| range.length() == fragment.range.length());
            matched.push(place.map(|range| range.start));
        }
        Projection {
            from: from.as_slice().iter().map(|fragment| fragment.range).collect(),
            to: matched,
        }
    }

    /// Address of the fragment `id` of the first program in the second; `None` where the second
    /// has no such fragment of the same size.
    pub fn address(&self, id: FragmentId) -> Option<u64> {
        self.to.get(id.index()).copied().flatten()
    }

    /// Fragments of the first program that the second does not have, or not of the same size.
    pub fn lost(&self) -> usize {
        self.to.iter().filter(|place| place.is_none()).count()
    }

    /// What runs in the second program when `executed` runs in the first. Bytes outside of
    /// fragments, and of lost ones, are left out.
    pub fn project(&self, executed: &RangeSet) -> RangeSet {
        let mut projected = Vec::new();
        for (range, place) in self.from.iter().zip(&self.to) {
            let Some(place) = place else { continue };
            for part in executed.within(*range) {
                projected
                    .push(Range::with_length(place + (part.start - range.start), part.length()));
            }
        }
        RangeSet::new(projected)
    }
}

fn name_of<'a>(origin: &'a Origin<'_>, name: &'a str) -> (&'a str, &'a str) {
    match origin {
        Origin::InputSection { file, section } => (file.as_ref(), section),
        Origin::Symbol => ("", name),
    }
}
