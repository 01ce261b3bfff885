//! The input regions of the text, before and after.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::Section;
use trimtab_layout::pages;
use trimtab_profile::Profile;
use trimtab_program::{Origin, Range, RangeSet};
use trimtab_report::common::BeforeAfter;

use super::{Evidence, narrow};
use crate::kernel::linked::Kernel;

/// The input regions of the text: those that the kernel pins by name, and the ordinary rest.
pub(super) fn sections(m: &Evidence<'_>) -> Vec<Section> {
    let regions = |kernel: &Kernel<'_>| {
        let mut regions: BTreeMap<String, Vec<Range>> = BTreeMap::new();
        for fragment in kernel.fragments.as_slice() {
            let name = match &fragment.origin {
                Origin::InputSection { section, .. } if !kernel.movable(fragment) => *section,
                _ => "ordinary text",
            };
            regions.entry(name.to_owned()).or_default().push(fragment.range);
        }
        regions
    };
    let (before, after) = (regions(m.before.kernel), regions(m.after.kernel));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let count = |ranges: Option<&Vec<Range>>, profile: &Profile| {
        let ranges = ranges.map_or(&[][..], Vec::as_slice);
        let whole = ranges
            .iter()
            .copied()
            .reduce(|a, b| Range { start: a.start.min(b.start), end: a.end.max(b.end) });
        let executed: RangeSet = RangeSet::new(ranges.to_vec())
            .as_slice()
            .iter()
            .flat_map(|range| profile.executed().within(*range).collect::<Vec<_>>())
            .collect();
        let spanned = whole.map_or(0, pages::spanned);
        (narrow(spanned), narrow(pages::touched(&executed).len() as u64), executed.bytes())
    };
    let mut sections: Vec<Section> = names
        .into_iter()
        .map(|name| {
            let (spanned, touched, bytes) = count(before.get(name), m.before.profile);
            let (spanned_after, touched_after, _) = count(after.get(name), m.after.profile);
            Section {
                name: name.clone(),
                pages_spanned: BeforeAfter::new(spanned, spanned_after),
                touched: BeforeAfter::new(touched, touched_after),
                executed_bytes: bytes,
            }
        })
        .collect();
    sections.sort_by(|a, b| b.touched.before.cmp(&a.touched.before).then(a.name.cmp(&b.name)));
    sections
}
