//! The paper's placement by entry points.

use super::fill::defragment;
use super::packing::Packing;
use super::pages::Pages;
use super::problem::{Occupancy, PageProblem};
use super::reach::{EntrySet, both, members, reaching, size};
use crate::PieceId;
use crate::named::HasName;
use rustc_hash::FxHashMap;

/// From each entry point as few pages as possible can be reached, without any profile: in each step
/// the entry points are looked at from which most pages can be reached, and the two pages are merged
/// that most of them have in common.
///
/// Source: D. Chanet, J. Cabezas, E. Morancho, N. Navarro, K. De Bosschere, "Linux Kernel Compaction
/// through Cold Code Swapping", Transactions on HiPEAC II, section 3.2, "The per-entry point
/// minimization algorithm" and "Reducing fragmentation". Two pages are only merged if they have an
/// entry point in common. Of equal pairs, one is taken whose pages can be reached from the very same
/// entry points: no other pair is ever better than such a one, so that all of them are merged first,
/// at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct EntryPoints;

impl HasName for EntryPoints {
    fn name(&self) -> &'static str {
        "entry-points"
    }

    fn description(&self) -> &'static str {
        "fewest pages from each entry point, no profile (Chanet et al. 3.2)"
    }
}

impl Packing for EntryPoints {
    fn pack(&self, problem: &PageProblem<'_>) -> Pages {
        let (pages, unreached) = PageMerger::new(problem).run();
        defragment(problem, pages.into_iter().chain(unreached).collect())
    }
}

/// Code that is on one page so far, and from where it can be reached.
#[derive(Debug)]
struct Page {
    occupancy: Occupancy,
    pieces: Vec<PieceId>,
    entries: EntrySet,
    /// How many they are.
    all: u32,
}

/// The page that another one has most entry points in common with.
#[derive(Debug, Clone, Copy)]
struct Partner {
    /// How many; at most so many where no page is known.
    common: u32,
    page: Option<usize>,
}

struct PageMerger {
    page: u64,
    pages: Vec<Page>,
    /// Those that may still be merged with another.
    open: Vec<usize>,
    /// Of each open page, among those that it fits with. Only the page that two others became has more
    /// in common with any than before, and is compared with all at once; so where a partner no longer
    /// fits, what it had in common bounds what any other has.
    partners: Vec<Partner>,
    unreached: Vec<Vec<PieceId>>,
    /// How many pages can be reached from each entry point.
    reach: Vec<u32>,
}

impl PageMerger {
    fn new(problem: &PageProblem<'_>) -> Self {
        let occupancies = problem.occupancies();
        let (sets, entries) = reaching(problem);
        // All that is reached from the same entry points is merged first.
        let mut same: FxHashMap<EntrySet, Vec<PieceId>> = FxHashMap::default();
        let mut unreached = Vec::new();
        for (piece, set) in sets {
            match set.iter().any(|word| *word != 0) {
                true => same.entry(set).or_default().push(piece),
                false => unreached.push(vec![piece]),
            }
        }
        let mut same: Vec<(EntrySet, Vec<PieceId>)> = same.into_iter().collect();
        same.sort_by_key(|(_, pieces)| pieces.iter().min().copied());
        let mut merging = PageMerger {
            page: problem.page,
            pages: Vec::new(),
            open: Vec::new(),
            partners: Vec::new(),
            unreached,
            reach: vec![0; entries],
        };
        for (entries, pieces) in same {
            // First fit, in the order of the original program: any two that fit will do.
            let first = merging.pages.len();
            for piece in pieces {
                let occupancy = occupancies[piece.index()];
                let open = merging.pages[first..]
                    .iter_mut()
                    .find_map(|page| Some((page.occupancy.with(occupancy, problem.page)?, page)));
                match open {
                    Some((occupancy, page)) => {
                        page.occupancy = occupancy;
                        page.pieces.push(piece);
                    }
                    None => {
                        members(&entries).for_each(|entry| merging.reach[entry] += 1);
                        let pieces = vec![piece];
                        let all = size(&entries);
                        merging.pages.push(Page {
                            occupancy,
                            pieces,
                            entries: entries.clone(),
                            all,
                        });
                    }
                }
            }
        }
        merging.open = (0..merging.pages.len()).collect();
        merging.partners =
            merging.pages.iter().map(|page| Partner { common: page.all, page: None }).collect();
        merging
    }

    fn run(mut self) -> (Vec<Vec<PieceId>>, Vec<Vec<PieceId>>) {
        let mut done: Vec<usize> = Vec::new();
        while let Some((a, b)) = self.best_pair(&mut done) {
            self.merge(a.min(b), a.max(b));
        }
        done.extend(&self.open);
        let mut pieces: Vec<Vec<PieceId>> =
            done.into_iter().map(|page| std::mem::take(&mut self.pages[page].pieces)).collect();
        pieces.sort();
        (pieces, self.unreached)
    }

    /// Puts what is on page `b` on page `a`.
    fn merge(&mut self, a: usize, b: usize) {
        self.open.retain(|page| *page != b);
        let taken = std::mem::take(&mut self.pages[b].entries);
        let pieces = std::mem::take(&mut self.pages[b].pieces);
        let occupancy = self.pages[b].occupancy;
        let page = &mut self.pages[a];
        for (word, (one, two)) in page.entries.iter_mut().zip(&taken).enumerate() {
            for bit in (0..64).filter(|bit| (*one & *two) >> bit & 1 == 1) {
                self.reach[word * 64 + bit] -= 1;
            }
            *one |= two;
        }
        page.all = size(&page.entries);
        page.occupancy.bytes += occupancy.bytes;
        page.occupancy.long |= occupancy.long;
        page.pieces.extend(pieces);
        let mut best = Partner { common: 0, page: Some(a) };
        for other in self.open.iter().copied().filter(|other| *other != a) {
            let fits = self.fit(a, other);
            let partner = &mut self.partners[other];
            if !fits {
                if partner.page == Some(a) || partner.page == Some(b) {
                    partner.page = None;
                }
                continue;
            }
            let common = both(&self.pages[a].entries, &self.pages[other].entries);
            if common > best.common {
                best = Partner { common, page: Some(other) };
            }
            if common > partner.common || partner.page == Some(a) || partner.page == Some(b) {
                *partner = Partner { common, page: Some(a) };
            }
        }
        self.partners[a] = best;
    }

    fn fit(&self, a: usize, b: usize) -> bool {
        self.pages[a].occupancy.with(self.pages[b].occupancy, self.page).is_some()
    }

    /// The pages to be merged next; those that no other page fits with are put aside.
    fn best_pair(&mut self, done: &mut Vec<usize>) -> Option<(usize, usize)> {
        let pages = &self.pages;
        self.open.sort_by_key(|page| (pages[*page].occupancy.bytes, pages[*page].pieces[0]));
        while let (Some(last), Some(first)) = (self.open.last(), self.open.first()) {
            let bytes = pages[*last].occupancy.bytes + pages[*first].occupancy.bytes;
            if self.open.len() > 1 && bytes <= self.page {
                break;
            }
            // It still counts for those from where it can be reached.
            done.extend(self.open.pop());
        }
        self.worst_pair().or_else(|| self.closest_pair())
    }

    /// The pair that is reached from most of the entry points from which most pages are reached, if
    /// any is; of several, the one with most entry points in common.
    fn worst_pair(&self) -> Option<(usize, usize)> {
        let most = self.reach.iter().max().copied().unwrap_or(0);
        let mut worst: EntrySet = vec![0; self.reach.len().div_ceil(64)];
        for (entry, _) in self.reach.iter().enumerate().filter(|(_, reach)| **reach == most) {
            worst[entry / 64] |= 1 << (entry % 64);
        }
        let worst: Vec<(usize, u64)> =
            worst.into_iter().enumerate().filter(|(_, bits)| *bits != 0).collect();
        let hits = |set: &EntrySet| -> u32 {
            worst.iter().map(|(word, bits)| (set[*word] & bits).count_ones()).sum()
        };
        // What is common to two pages is no more than what each has: the most promising first.
        let mut order: Vec<(u32, u32, usize)> = self
            .open
            .iter()
            .map(|page| (hits(&self.pages[*page].entries), self.pages[*page].all, *page))
            .filter(|(hit, ..)| *hit > 0)
            .collect();
        order.sort_unstable_by_key(|(hit, all, page)| (std::cmp::Reverse((*hit, *all)), *page));
        let mut best: Option<((u32, u32), usize, usize)> = None;
        for (place, (hit, all, a)) in order.iter().enumerate() {
            let found = best.map_or((0, 0), |best| best.0);
            if (*hit, *all) <= found {
                break;
            }
            for (other_hit, other_all, b) in &order[place + 1..] {
                let found = best.map_or((0, 0), |best| best.0);
                if (*other_hit, *other_all) <= found {
                    break;
                }
                if !self.fit(*a, *b) {
                    continue;
                }
                let (one, two) = (&self.pages[*a].entries, &self.pages[*b].entries);
                let of =
                    |(word, bits): &(usize, u64)| (one[*word] & two[*word] & bits).count_ones();
                let hit: u32 = worst.iter().map(of).sum();
                // Whatever else they have in common.
                if hit == 0 || (hit, (*all).min(*other_all)) <= found {
                    continue;
                }
                let score = (hit, both(one, two));
                if score > found {
                    best = Some((score, *a, *b));
                }
            }
        }
        best.map(|(_, a, b)| (a, b))
    }

    /// The pair that has most entry points in common.
    fn closest_pair(&mut self) -> Option<(usize, usize)> {
        loop {
            let common = |page: &usize| self.partners[*page].common;
            let first = |best: usize, page: usize| {
                if common(&page) > common(&best) { page } else { best }
            };
            let page = self.open.iter().copied().reduce(first)?;
            let Partner { common, page: partner } = self.partners[page];
            if common == 0 {
                return None;
            }
            if let Some(partner) = partner {
                return Some((page, partner));
            }
            self.partners[page] = self.partner_of(page);
        }
    }

    fn partner_of(&self, page: usize) -> Partner {
        let mut best = Partner { common: 0, page: None };
        for other in self.open.iter().copied().filter(|other| *other != page) {
            if self.pages[other].all > best.common && self.fit(page, other) {
                let common = both(&self.pages[page].entries, &self.pages[other].entries);
                if common > best.common {
                    best = Partner { common, page: Some(other) };
                }
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::super::PagedPiece;
    use super::*;
    use crate::Edge;
    use crate::ids::ids;

    fn pieces(sizes: &[u64]) -> Vec<PagedPiece> {
        let piece = |(at, size): (usize, &u64)| PagedPiece {
            size: *size,
            alignment: 1,
            position: at as u64 * 100_000,
            resident: *size == 0,
            entry: false,
        };
        sizes.iter().enumerate().map(piece).collect()
    }

    fn pack(pieces: &[PagedPiece], edges: &[(u32, u32)]) -> Vec<Vec<PieceId>> {
        let edges: Vec<Edge> = edges.iter().map(|(from, to)| Edge::of(*from, *to, 0)).collect();
        let problem = PageProblem { pieces, edges: &edges, references: &[], page: 100 };
        EntryPoints.pack(&problem).groups
    }

    #[test]
    fn what_one_entry_point_reaches_shares_a_page() {
        // 0 is resident and enters 1 and 2; 1 leads to 3, 2 leads to 4.
        let pieces = pieces(&[0, 50, 50, 50, 50]);
        let groups = pack(&pieces, &[(0, 1), (0, 2), (1, 3), (2, 4)]);
        assert_eq!(groups, [[1, 3], [2, 4]]);
    }

    #[test]
    fn the_entry_point_that_reaches_most_comes_first() {
        // From 1 the pages of 3, 4 and 5 are reached, from 2 only that of 3.
        let pieces = pieces(&[0, 40, 40, 40, 100, 100]);
        let groups = pack(&pieces, &[(0, 1), (0, 2), (1, 3), (1, 4), (1, 5), (2, 3)]);
        assert!(groups.contains(&ids([1, 3])), "{groups:?}");
    }

    /// Of all pairs of open pages that fit, what the best scores: from how many of the entry points
    /// from which most pages are reached, and from how many of all, both are reached.
    fn best_of_all(merging: &PageMerger) -> Option<(u32, u32)> {
        let most = merging.reach.iter().max().copied().unwrap_or(0);
        let mut best = None;
        for (place, a) in merging.open.iter().enumerate() {
            for b in &merging.open[place + 1..] {
                best = best.max(merging.fit(*a, *b).then(|| score(merging, most, *a, *b)));
            }
        }
        best.filter(|(_, common)| *common > 0)
    }

    fn score(merging: &PageMerger, most: u32, a: usize, b: usize) -> (u32, u32) {
        let (a, b) = (&merging.pages[a].entries, &merging.pages[b].entries);
        let in_both = |entry: &usize| (a[entry / 64] & b[entry / 64]) >> (entry % 64) & 1 == 1;
        let common: Vec<usize> = (0..merging.reach.len()).filter(in_both).collect();
        let hit = common.iter().filter(|entry| merging.reach[**entry] == most).count();
        (hit as u32, common.len() as u32)
    }

    proptest::proptest! {
        #[test]
        fn in_each_step_no_pair_is_better_than_the_one_that_is_merged(
            sizes in proptest::collection::vec(10_u64..45, 40..60),
            entered in proptest::collection::vec(0_u32..60, 20..60),
            calls in proptest::collection::vec((0_u32..60, 0_u32..60), 0..60),
        ) {
            let mut all = vec![0];
            all.extend(sizes);
            let count = all.len() as u32;
            let problem = pieces(&all);
            // Without cycles, or most would be reached from everywhere.
            let calls = calls.into_iter().map(|(one, two)| (one.min(two), one.max(two)));
            let edges: Vec<Edge> = entered
                .into_iter()
                .map(|to| (0, to))
                .chain(calls)
                .map(|(from, to)| Edge::of(from % count, to % count, 0))
                .collect();
            let problem =
                PageProblem { pieces: &problem, edges: &edges, references: &[], page: 100 };
            let mut merging = PageMerger::new(&problem);
            let mut done = Vec::new();
            loop {
                let pair = merging.best_pair(&mut done);
                let most = merging.reach.iter().max().copied().unwrap_or(0);
                let found = pair.map(|(a, b)| score(&merging, most, a, b));
                proptest::prop_assert_eq!(found, best_of_all(&merging));
                let Some((a, b)) = pair else { break };
                proptest::prop_assert!(merging.fit(a, b));
                merging.merge(a.min(b), a.max(b));
            }
        }
    }
}
