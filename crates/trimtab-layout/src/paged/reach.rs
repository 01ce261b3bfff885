//! From which entry points each piece can be reached.

use super::problem::PageProblem;
use crate::PieceId;

/// A set of entry points, a bit for each.
pub(super) type EntrySet = Vec<u64>;

/// How many entry points two sets have in common.
pub(super) fn both(a: &EntrySet, b: &EntrySet) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum()
}

/// How many entry points a set has.
pub(super) fn size(set: &EntrySet) -> u32 {
    set.iter().map(|word| word.count_ones()).sum()
}

/// The entry points of a set, ascending.
pub(super) fn members(set: &EntrySet) -> impl Iterator<Item = usize> + '_ {
    set.iter().enumerate().flat_map(|(word, bits)| {
        (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
    })
}

/// For each piece that is placed the entry points from which it can be reached without passing
/// through resident code, and how many entry points there are.
pub(super) fn reaching(problem: &PageProblem<'_>) -> (Vec<(PieceId, EntrySet)>, usize) {
    let count = problem.pieces.len();
    let placed = |piece: PieceId| problem.pieces.get(piece.index()).is_some_and(|p| !p.resident);
    let mut next: Vec<Vec<PieceId>> = vec![Vec::new(); count];
    let mut entry: Vec<bool> = problem.pieces.iter().map(|piece| piece.entry).collect();
    for edge in problem.edges.iter().filter(|edge| placed(edge.to) && edge.from != edge.to) {
        match placed(edge.from) {
            true => next[edge.from.index()].push(edge.to),
            false => entry[edge.to.index()] = true,
        }
    }
    for list in &mut next {
        list.sort_unstable();
        list.dedup();
    }
    let order = components(&next);
    let mut number = vec![usize::MAX; count];
    let mut entries = 0;
    for piece in PieceId::all(count).filter(|piece| entry[piece.index()] && placed(*piece)) {
        number[piece.index()] = entries;
        entries += 1;
    }
    let words = entries.div_ceil(64);
    let mut sets: Vec<EntrySet> = vec![Vec::new(); count];
    // Callers come before what they call; the pieces of one component are reached alike.
    for component in order {
        let mut set = vec![0u64; words];
        for piece in &component {
            let at = number[piece.index()];
            if at != usize::MAX {
                set[at / 64] |= 1 << (at % 64);
            }
            let from = std::mem::take(&mut sets[piece.index()]);
            set.iter_mut().zip(&from).for_each(|(all, more)| *all |= more);
        }
        for piece in &component {
            for to in &next[piece.index()] {
                let target = &mut sets[to.index()];
                target.resize(words, 0);
                target.iter_mut().zip(&set).for_each(|(all, more)| *all |= more);
            }
        }
        for piece in component {
            sets[piece.index()] = set.clone();
        }
    }
    let all = PieceId::all(count).zip(sets).filter(|(piece, _)| placed(*piece));
    (all.collect(), entries)
}

/// The strongly connected components, callers before what they call.
///
/// Source: R. Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on Computing
/// 1(2), 1972; without recursion.
fn components(next: &[Vec<PieceId>]) -> Vec<Vec<PieceId>> {
    const UNSEEN: u32 = u32::MAX;
    let mut index = vec![UNSEEN; next.len()];
    let mut low = vec![0u32; next.len()];
    let mut open = vec![false; next.len()];
    let (mut stack, mut found, mut time) = (Vec::new(), Vec::new(), 0);
    for root in PieceId::all(next.len()) {
        if index[root.index()] != UNSEEN {
            continue;
        }
        let mut path = vec![(root, 0usize)];
        while let Some((node, place)) = path.pop() {
            let at = node.index();
            if place == 0 {
                (index[at], low[at]) = (time, time);
                time += 1;
                stack.push(node);
                open[at] = true;
            } else {
                let child = next[at][place - 1].index();
                low[at] = low[at].min(low[child]);
            }
            let rest = next[at].iter().enumerate().skip(place);
            let mut unseen = None;
            for (place, child) in rest {
                match index[child.index()] {
                    UNSEEN => {
                        unseen = Some((place, *child));
                        break;
                    }
                    seen if open[child.index()] => low[at] = low[at].min(seen),
                    _ => {}
                }
            }
            if let Some((place, child)) = unseen {
                path.push((node, place + 1));
                path.push((child, 0));
                continue;
            }
            if low[at] == index[at] {
                let mut component = Vec::new();
                while let Some(member) = stack.pop() {
                    open[member.index()] = false;
                    component.push(member);
                    if member == node {
                        break;
                    }
                }
                component.sort_unstable();
                found.push(component);
            }
        }
    }
    // Tarjan's finds what is called first.
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::super::problem::PagedPiece;
    use super::*;
    use crate::Edge;
    use crate::ids::ids;

    #[test]
    fn resident_code_is_not_passed_through() {
        let piece =
            |resident| PagedPiece { size: 10, alignment: 1, resident, ..PagedPiece::default() };
        let problem = [true, false, true, false].map(piece);
        let edges = [(0, 1), (1, 2), (2, 3)].map(|(from, to)| Edge::of(from, to, 0));
        let problem = PageProblem { pieces: &problem, edges: &edges, references: &[], page: 100 };
        assert_eq!(reaching(&problem), (vec![(PieceId(1), vec![1]), (PieceId(3), vec![2])], 2));
    }

    #[test]
    fn a_cycle_is_reached_as_one() {
        let next = [ids([1]), ids([2]), ids([0, 3]), vec![]];
        assert_eq!(components(&next), [vec![0, 1, 2], vec![3]]);
    }
}
