//! Pages of hot code, each left near the code that it comes from.

use super::interface::Algorithm;
use crate::named::HasName;
use crate::placement::align_up;
use crate::{Order, Piece, PieceId, Problem};
use std::collections::VecDeque;
use trimtab_program::PAGE_SIZE;

/// Today's order, in which what ran is drawn together on whole pages, but no farther than it takes to
/// fill them.
///
/// Code is much like its neighbours in the same source file. A compressor that looks back no farther
/// than 32 KiB, as gzip does, finds that likeness only while they stay neighbours: so each page of hot
/// code lies in the midst of the cold code that lay between it. What only other runs executed makes
/// pages of its own in the same way: what most of them did, and what few did.
///
/// Where hot code ends and cold code begins, pieces are chosen from some way ahead so that one ends
/// on the page's end, best with a cold end of its own behind that.
///
/// Source: ours. Takes O(*n*) for *n* pieces, with a constant look-ahead.
#[derive(Debug, Clone, Copy)]
pub struct InPlace {
    /// How many pieces ahead one is looked for that fits a gap.
    pub look_ahead: usize,
    /// What only other runs executed is left where it is if it has more bytes: what is long has much of
    /// a page to itself there, too.
    pub longest_moved: u64,
    /// Whether the first run touches the page on which the first piece comes in any case, by code
    /// in front of it: then what is left of that page is filled with what ran.
    pub front_ran: bool,
}

impl Default for InPlace {
    fn default() -> Self {
        InPlace { look_ahead: 12, longest_moved: 1280, front_ran: false }
    }
}

impl HasName for InPlace {
    fn name(&self) -> &'static str {
        "in-place"
    }

    fn description(&self) -> &'static str {
        "today's order, what ran drawn together on whole pages near by"
    }
}

impl Algorithm for InPlace {
    fn order(&self, problem: &Problem<'_>) -> Order {
        let mut filler = Filler::new(*self, problem);
        filler.place_all();
        Order::leading(filler.order, problem.pieces.len())
    }
}

/// What fills the last bytes of a page is chosen to fit; the rest comes in its order. So many bytes
/// are left for it at first, and fewer while nothing fits.
const CHOSEN_TO_FIT: [u64; 4] = [512, 256, 128, 48];
/// Missing the end of a page by so many bytes is good enough.
const GOOD: i64 = 8;
/// So many bytes of cold code at the beginning of a page do not keep hot code from it.
const CROSSED: u64 = 32;

/// Who executed a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tier {
    /// None, or it is not worth moving.
    Cold,
    /// Other runs than the first, but not most of them.
    Warm,
    /// Most of the other runs: so will others.
    Likely,
    /// The first run.
    Hot,
}

/// Pieces that are wanted on the same pages, in today's order.
type Queue = VecDeque<PieceId>;

struct Filler<'a> {
    settings: InPlace,
    pieces: &'a [Piece],
    /// What the first run executed, what most of the others did, and what only few did: each makes
    /// pages of its own.
    ran: [Queue; 3],
    cold: Queue,
    cursor: u64,
    order: Vec<PieceId>,
}

/// Pieces from a queue, as positions in it, that fill a gap.
struct Fit {
    /// Bytes of hot pages that they cost, less those that they save.
    cost: i64,
    chosen: Vec<usize>,
}

impl<'a> Filler<'a> {
    fn new(settings: InPlace, problem: &Problem<'a>) -> Self {
        let mut tiers = vec![Tier::Cold; problem.pieces.len()];
        let others = problem.runs.get(1..).unwrap_or_default();
        let mut runs = vec![0; problem.pieces.len()];
        for piece in others.iter().flatten() {
            if let Some(runs) = runs.get_mut(piece.index()) {
                *runs += 1;
            }
        }
        for ((tier, piece), runs) in tiers.iter_mut().zip(problem.pieces).zip(runs) {
            *tier = match runs {
                0 => Tier::Cold,
                _ if piece.size > settings.longest_moved => Tier::Cold,
                _ if 2 * runs >= others.len() => Tier::Likely,
                _ => Tier::Warm,
            };
        }
        for piece in problem.runs.first().into_iter().flatten() {
            if let Some(tier) = tiers.get_mut(piece.index()) {
                *tier = Tier::Hot;
            }
        }
        let of = |wanted: Tier| {
            let pieces = tiers.iter().zip((0..).map(PieceId));
            pieces.filter(|(tier, _)| **tier == wanted).map(|(_, piece)| piece).collect()
        };
        Filler {
            settings,
            pieces: problem.pieces,
            ran: [of(Tier::Hot), of(Tier::Likely), of(Tier::Warm)],
            cold: of(Tier::Cold),
            cursor: problem.start,
            order: Vec::with_capacity(problem.pieces.len()),
        }
    }

    fn place_all(&mut self) {
        let next = |filler: &Self| {
            let middles =
                filler.ran.iter().zip(0..).map(|(queue, i)| Some((filler.middle(queue)?, i)));
            middles.flatten().min()
        };
        if self.settings.front_ran && !self.cursor.is_multiple_of(PAGE_SIZE) {
            let hot = std::mem::take(&mut self.ran[0]);
            self.ran[0] = self.place_page(hot);
        }
        while let Some((middle, which)) = next(self) {
            self.place_cold(middle);
            let queue = std::mem::take(&mut self.ran[which]);
            self.ran[which] = self.place_page(queue);
        }
        for piece in std::mem::take(&mut self.cold) {
            self.push(piece);
        }
    }

    /// The piece in the middle of those of a queue that fill the next page. There is where this page is
    /// nearest to all that it comes from.
    fn middle(&self, queue: &Queue) -> Option<PieceId> {
        let mut bytes = 0u64;
        let together = queue.iter().take_while(|piece| {
            let fits = bytes < PAGE_SIZE;
            bytes = bytes.saturating_add(self.piece(**piece).size);
            fits
        });
        queue.get(together.count() / 2).copied()
    }

    fn piece(&self, index: PieceId) -> &'a Piece {
        &self.pieces[index.index()]
    }

    fn push(&mut self, index: PieceId) {
        self.cursor = end(self.cursor, self.piece(index));
        self.order.push(index);
    }

    /// Bytes of the pieces of a queue that lie before one today.
    fn bytes_before(&self, queue: &Queue, limit: PieceId) -> u64 {
        let before = queue.iter().take_while(|piece| **piece < limit);
        before.map(|piece| self.piece(*piece).size).fold(0, u64::saturating_add)
    }

    /// Fills a page with pieces of this queue, the last of which ends where the page does. Returns what
    /// is left of the queue.
    fn place_page(&mut self, mut queue: Queue) -> Queue {
        let mut page_end = self.cursor.saturating_add(PAGE_SIZE) / PAGE_SIZE * PAGE_SIZE;
        // A piece that does not fit takes as many pages as it needs.
        if let Some(first) = queue.front() {
            let hot_end = hot_end(self.cursor, self.piece(*first));
            page_end = page_end.max(align_up(hot_end, PAGE_SIZE));
        }
        self.fill_up(&mut queue, page_end, |cursor, piece| {
            let missed = page_end.checked_sub(hot_end(cursor, piece))?;
            // A cold end lies on the next page.
            Some(
                missed.cast_signed()
                    - piece.size.saturating_sub(piece.executed_end()).cast_signed(),
            )
        });
        queue
    }

    /// Places what lies before `limit` today and is cold, as far as it fills pages to their ends, or
    /// a few bytes more: never less, since what follows must not begin on the last one.
    fn place_cold(&mut self, limit: PieceId) {
        let pending = self.bytes_before(&self.cold, limit);
        let mut page_end = self.cursor.saturating_add(pending) / PAGE_SIZE * PAGE_SIZE;
        if page_end <= self.cursor {
            // A page that has begun with a cold end of what ran is filled up with what comes next.
            if self.cursor % PAGE_SIZE <= CROSSED {
                return;
            }
            page_end = align_up(self.cursor, PAGE_SIZE);
        }
        let mut queue = std::mem::take(&mut self.cold);
        self.fill_up(&mut queue, page_end, |cursor, piece| {
            Some(end(cursor, piece).checked_sub(page_end)?.cast_signed())
        });
        self.cold = queue;
    }

    /// Places pieces of a queue up to the end of a page. The last of them are those with the lowest
    /// `cost`, which is said of the very last one, by where it comes; `None` if it does not do there.
    fn fill_up(
        &mut self,
        queue: &mut Queue,
        page_end: u64,
        cost: impl Fn(u64, &Piece) -> Option<i64>,
    ) {
        // Where pieces are small, few of them do not fill much.
        for room in CHOSEN_TO_FIT {
            self.place_until(queue, page_end, room);
            let fit = self.best_fit(queue, &cost);
            if fit.cost <= GOOD || Some(&room) == CHOSEN_TO_FIT.last() {
                self.push_chosen(queue, fit);
                break;
            }
        }
    }

    /// Places pieces of a queue while they leave so much room before `page_end`. One that is too
    /// long for that waits.
    fn place_until(&mut self, queue: &mut Queue, page_end: u64, room: u64) {
        let fits = |filler: &Self, piece: &PieceId| {
            end(filler.cursor, filler.piece(*piece)).saturating_add(room) <= page_end
        };
        while let Some(at) =
            queue.iter().take(self.settings.look_ahead).position(|piece| fits(self, piece))
            && let Some(piece) = queue.remove(at)
        {
            self.push(piece);
        }
    }

    /// The pieces near the front of a queue with the lowest cost together, at most four.
    fn best_fit(&self, queue: &Queue, cost: &impl Fn(u64, &Piece) -> Option<i64>) -> Fit {
        let ahead = queue.len().min(self.settings.look_ahead);
        let mut best = Fit { cost: i64::MAX, chosen: Vec::new() };
        let mut before: Vec<usize> = Vec::new();
        let mut cursor = self.cursor;
        // One or two: without others, behind the first of the queue, and behind its first two.
        loop {
            let mut consider = |cost: Option<i64>, last: &[usize]| {
                if let Some(cost) = cost.filter(|cost| *cost < best.cost) {
                    best = Fit { cost, chosen: before.iter().chain(last).copied().collect() };
                }
            };
            for first in before.len()..ahead {
                let piece = self.piece(queue[first]);
                consider(cost(cursor, piece), &[first]);
                let behind = end(cursor, piece);
                for second in (before.len()..ahead).filter(|at| *at != first) {
                    consider(cost(behind, self.piece(queue[second])), &[first, second]);
                }
            }
            if before.len() == 2 || before.len() >= ahead {
                return best;
            }
            cursor = end(cursor, self.piece(queue[before.len()]));
            before.push(before.len());
        }
    }

    fn push_chosen(&mut self, queue: &mut Queue, fit: Fit) {
        for &position in &fit.chosen {
            self.push(queue[position]);
        }
        let mut chosen = fit.chosen;
        chosen.sort_unstable();
        for position in chosen.into_iter().rev() {
            queue.remove(position);
        }
    }
}

/// Address behind a piece that comes at `cursor`.
fn end(cursor: u64, piece: &Piece) -> u64 {
    align_up(cursor, piece.alignment).saturating_add(piece.size)
}

/// Address behind the last executed byte of a piece that comes at `cursor`.
fn hot_end(cursor: u64, piece: &Piece) -> u64 {
    align_up(cursor, piece.alignment).saturating_add(piece.executed_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ids;
    use crate::{Placement, Span};
    use proptest::prelude::*;

    fn problem_of<'a>(pieces: &'a [Piece], runs: &'a [Vec<PieceId>]) -> Problem<'a> {
        Problem { pieces, runs, start: 0x1230, flow: None }
    }

    fn piece(size: u64, alignment: u64, ran: bool) -> Piece {
        let executed = if ran && size > 0 { vec![Span { start: 0, end: size }] } else { vec![] };
        Piece { size, alignment, executed }
    }

    /// Pages that these pieces touch.
    fn touched(problem: &Problem<'_>, order: &Order, run: &[PieceId]) -> usize {
        let placement = Placement::new(problem, order);
        let pages: std::collections::BTreeSet<u64> = run
            .iter()
            .filter(|piece| problem.pieces[piece.index()].size > 0)
            .flat_map(|piece| {
                let start = placement.address(*piece);
                let end = start + problem.pieces[piece.index()].executed_end();
                start / PAGE_SIZE..end.div_ceil(PAGE_SIZE)
            })
            .collect();
        pages.len()
    }

    /// Pieces of mixed sizes, of which each seventh ran first and each eleventh only later.
    fn kernel(count: u32) -> (Vec<Piece>, Vec<Vec<PieceId>>) {
        let size = |index: u32| 2 * u64::from(index.wrapping_mul(2_654_435_761) >> 24) + 20;
        let pieces = (0..count).map(|i| piece(size(i), 2, i % 7 == 0 || i % 11 == 0)).collect();
        let every = |step: usize| (0..count).step_by(step).map(PieceId).collect::<Vec<_>>();
        (pieces, vec![every(7), every(11)])
    }

    #[test]
    fn hot_code_fills_its_pages_and_stays_near() {
        let (pieces, runs) = kernel(7000);
        let problem = problem_of(&pieces, &runs);
        let order = InPlace::default().order(&problem);
        let bytes: u64 = runs[0].iter().map(|piece| pieces[piece.index()].size).sum();
        let least = bytes.div_ceil(PAGE_SIZE) as usize;
        let found = touched(&problem, &order, &runs[0]);
        assert!(found <= least + 2, "{found} pages for {least}");
        // All of it moves a little, and none of it far.
        let placement = Placement::new(&problem, &order);
        let today = Placement::new(&problem, &Order::leading([], pieces.len()));
        let farthest = PieceId::all(pieces.len())
            .map(|piece| placement.address(piece).abs_diff(today.address(piece)))
            .max();
        assert!(farthest < Some(96 * 1024), "{farthest:?}");
    }

    #[test]
    fn what_most_others_ran_has_pages_of_its_own() {
        let pieces: Vec<Piece> = (0..8000).map(|i| piece(64, 2, i % 10 == 1)).collect();
        let every = |step: usize| (1..8000).step_by(step).map(PieceId).collect::<Vec<_>>();
        // Three quarters of what ran were run by one other each.
        let few = |which: u32| {
            (1..8000).filter(|i| i % 10 == 1 && i % 4 == which).map(PieceId).collect::<Vec<_>>()
        };
        let runs: Vec<Vec<PieceId>> = vec![vec![], few(0), few(1), few(2), few(3)];
        let mut runs: Vec<Vec<PieceId>> = runs
            .into_iter()
            .map(|run| run.into_iter().filter(|i| i.0 % 40 != 1).collect())
            .collect();
        for run in &mut runs[1..] {
            run.extend(every(40));
        }
        let problem = problem_of(&pieces, &runs);
        let order = InPlace::default().order(&problem);
        let bytes = every(40).len() * 64;
        let found = touched(&problem, &order, &every(40));
        assert!(found <= bytes.div_ceil(4096) + 1, "{found} pages for {bytes} bytes");
    }

    #[test]
    fn the_page_that_code_in_front_begins_is_filled_with_what_ran() {
        let (pieces, runs) = kernel(7000);
        let problem = problem_of(&pieces, &runs);
        let order = InPlace { front_ran: true, ..InPlace::default() }.order(&problem);
        let placement = Placement::new(&problem, &order);
        let ran: std::collections::BTreeSet<PieceId> = runs[0].iter().copied().collect();
        let cold = order.pieces().iter().filter(|piece| !ran.contains(piece));
        let idle: u64 = cold
            .map(|piece| {
                let start = placement.address(*piece);
                (start + pieces[piece.index()].size).min(0x2000).saturating_sub(start)
            })
            .sum();
        // Less than half of the longest piece.
        assert!(idle < 256, "{idle}");
        let left = InPlace::default().order(&problem);
        assert!(!ran.contains(&left.pieces()[0]), "by default, nothing is known of it");
    }

    #[test]
    fn a_piece_longer_than_a_page_takes_what_it_needs() {
        let mut pieces = vec![piece(3 * PAGE_SIZE, 16, true), piece(40, 2, true)];
        pieces.extend((0..2000).map(|_| piece(38, 2, false)));
        let runs = [ids([0, 1])];
        let problem = problem_of(&pieces, &runs);
        let order = InPlace::default().order(&problem);
        assert_eq!(touched(&problem, &order, &runs[0]), 4);
    }

    #[test]
    fn without_a_run_all_stays() {
        let (pieces, _) = kernel(100);
        let order = InPlace::default().order(&problem_of(&pieces, &[]));
        assert_eq!(order.pieces(), (0..100).collect::<Vec<u32>>());
    }

    proptest! {
        #[test]
        fn any_order_is_a_permutation_and_comes_again(
            parts in prop::collection::vec((0u64..9000, 0u32..5, 0u8..4), 0..200),
        ) {
            let pieces: Vec<Piece> =
                parts.iter().map(|(size, log, heat)| piece(*size, 1 << log, *heat < 2)).collect();
            let run = |level: u8| {
                (0..).zip(&parts).filter(|(_, part)| part.2 == level).map(|(i, _)| PieceId(i)).collect()
            };
            let runs: Vec<Vec<PieceId>> = vec![run(0), run(1)];
            let problem = problem_of(&pieces, &runs);
            let order = InPlace::default().order(&problem);
            let mut sorted = order.pieces().to_vec();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..pieces.len() as u32).collect::<Vec<_>>());
            prop_assert_eq!(order.listed().len(), pieces.len());
            prop_assert_eq!(order, InPlace::default().order(&problem));
        }
    }
}
