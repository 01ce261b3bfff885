//! What brings how much code into the core.

use super::patch_sites::PatchKind;
use super::roots::Group;
use super::{Residence, Why};
use trimtab_link::kernel;
use trimtab_program::{FunctionId, Program};

/// What core code is there for, in bytes of functions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoreCauses {
    /// Of each group of roots: what its roots lead to, and what of that no other group leads to. What
    /// is pinned is not in either.
    pub groups: Vec<(Group, u64, u64)>,
    /// Code with a place of its own in the kernel's linker script, by place: the symbol at its start.
    pub pinned: Vec<(String, u64)>,
    /// Functions that may be patched and are not core otherwise, by what patches them.
    pub patched: Vec<(PatchKind, u64)>,
    /// Core functions that lead to others, most bytes of [`CoreCause::alone`] first.
    pub functions: Vec<CoreCause>,
}

/// What a core function leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreCause {
    /// The function.
    pub function: FunctionId,
    /// Bytes of all functions to which it leads.
    pub reached: u64,
    /// Bytes of those to which nothing else leads: what would leave if the search ended in it.
    pub alone: u64,
}

impl Residence {
    /// Adds up what brings code into the core. Takes time in proportion to the number of core
    /// functions times that of the calls between them.
    pub fn causes(&self, program: &Program<'_>) -> CoreCauses {
        // Long: all sums are over the same search.
        let bytes = |id: FunctionId| program.function(id).range.length();
        let core: Vec<(FunctionId, Why)> =
            program.function_ids().filter_map(|id| Some((id, self.why(id)?))).collect();
        let roots: Vec<(FunctionId, Group)> = core
            .iter()
            .filter_map(|(id, why)| match why {
                Why::Root(group) => Some((*id, *group)),
                _ => None,
            })
            .collect();
        // Bytes to which a search leads that does not go on in one function.
        let led_to = |from: &mut dyn Iterator<Item = FunctionId>, not: Option<FunctionId>| {
            let mut met = vec![false; program.functions().len()];
            let mut open: Vec<FunctionId> = from.collect();
            open.iter().for_each(|id| met[id.index()] = true);
            let mut sum = 0;
            while let Some(id) = open.pop() {
                sum += if self.is_pinned(id) { 0 } else { bytes(id) };
                if Some(id) == not {
                    continue;
                }
                let first = self.edges().partition_point(|(from, _)| *from < id);
                for (_, to) in self.edges()[first..].iter().take_while(|(from, _)| *from == id) {
                    if !std::mem::replace(&mut met[to.index()], true) {
                        open.push(*to);
                    }
                }
            }
            sum
        };
        let all = led_to(&mut roots.iter().map(|(id, _)| *id), None);
        let groups = Group::ALL.into_iter().map(|group| {
            let own = roots.iter().filter(|(_, of)| *of == group).map(|(id, _)| *id);
            let others = roots.iter().filter(|(_, of)| *of != group).map(|(id, _)| *id);
            (group, led_to(&mut { own }, None), all - led_to(&mut { others }, None))
        });
        let mut functions: Vec<CoreCause> = core
            .iter()
            .map(|(id, _)| *id)
            .filter(|id| self.edges().binary_search_by_key(id, |(from, _)| *from).is_ok())
            .map(|id| {
                let own = if self.is_pinned(id) { 0 } else { bytes(id) };
                CoreCause {
                    function: id,
                    reached: led_to(&mut std::iter::once(id), None) - own,
                    alone: all - led_to(&mut roots.iter().map(|(id, _)| *id), Some(id)),
                }
            })
            .collect();
        functions.sort_by_key(|found| (std::cmp::Reverse(found.alone), found.function));
        let patched = PatchKind::ALL.into_iter().map(|kind| {
            let of = core.iter().filter(|(_, why)| *why == Why::Patched(kind));
            (kind, of.map(|(id, _)| bytes(*id)).sum())
        });
        CoreCauses {
            groups: groups.collect(),
            pinned: self.pinned_places(program, &core),
            patched: patched.collect(),
            functions,
        }
    }

    fn pinned_places(
        &self,
        program: &Program<'_>,
        core: &[(FunctionId, Why)],
    ) -> Vec<(String, u64)> {
        let mut places: Vec<(String, u64)> =
            kernel::BOUNDED.iter().map(|(start, ..)| ((*start).to_owned(), 0)).collect();
        places.push(("elsewhere".to_owned(), 0));
        let bounds: Vec<Option<(u64, u64)>> = kernel::BOUNDED
            .iter()
            .map(|(start, end, _)| Some((program.address_of(start)?, program.address_of(end)?)))
            .collect();
        for (id, _) in core.iter().filter(|(id, _)| self.is_pinned(*id)) {
            let range = program.function(*id).range;
            let inside = |bounds: &Option<(u64, u64)>| {
                bounds.is_some_and(|(start, end)| (start..end).contains(&range.start))
            };
            let place = bounds.iter().position(inside).unwrap_or(bounds.len());
            places[place].1 += range.length();
        }
        places.retain(|(_, bytes)| *bytes > 0);
        places
    }
}
