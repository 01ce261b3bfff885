//! First-execution order, packed so that the cold ends of functions fall on pages of their own.

use super::interface::Algorithm;
use crate::named::HasName;
use crate::placement::align_up;
use crate::{Order, Piece, PieceId, Problem};
use std::collections::{BTreeMap, VecDeque};
use trimtab_program::PAGE_SIZE;

/// First-execution order in which pages are *closed* by cold ends.
///
/// Most functions end in code that a run does not reach. Where a function's last executed byte
/// falls on the end of a page, its cold end comes to lie on the next page; filled up with functions
/// that never ran, that page is not touched at all. So each page of hot code is closed by a
/// function with a long cold end, and the run touches fewer pages than its functions have bytes
/// for: the function-level minimum counts those cold ends.
///
/// Where pieces are aligned to 16 bytes, as functions are, the first run never touches more pages
/// than its pieces fill one behind the other, each with all the padding that it can need.
///
/// Source: ours. Takes O(*n* log *n*) for *n* pieces, with a constant look-ahead.
#[derive(Debug, Clone, Copy)]
pub struct PackedOrder {
    /// Cold ends shorter than this many bytes close no page: each closed page puts a page of cold
    /// code between two hot ones, and so spreads the hot code over more large pages.
    pub shortest_end: u64,
    /// How many pieces ahead in first-execution order one is looked for that fits a gap.
    pub look_ahead: usize,
}

impl PackedOrder {
    pub(super) const NAME: &str = "packed";
}

impl Default for PackedOrder {
    fn default() -> Self {
        PackedOrder { shortest_end: 128, look_ahead: 256 }
    }
}

impl HasName for PackedOrder {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn description(&self) -> &'static str {
        "first execution, each page closed by a function's cold end"
    }
}

impl Algorithm for PackedOrder {
    fn order(&self, problem: &Problem<'_>) -> Order {
        let Some((first, _)) = problem.runs.split_first() else {
            return Order::leading([], problem.pieces.len());
        };
        let mut packer = Packer::new(*self, problem, first);
        while packer.place_page() {}
        // What only the other runs executed follows unpacked: it is touched seldom.
        Order::leading(packer.order.into_iter().chain(problem.further()), problem.pieces.len())
    }
}

/// Alignment of most functions, in bytes. Fillers need no more. What it leaves at the end of a page
/// is of use only to pieces that need less, which compilers make when they optimise for size.
const FILLER_ALIGNMENT: u64 = 16;

struct Packer<'a> {
    settings: PackedOrder,
    pieces: &'a [Piece],
    /// Hot pieces without a useful cold end, by first execution.
    plain: VecDeque<PieceId>,
    /// Hot pieces that can close a page, by first execution.
    closers: VecDeque<PieceId>,
    /// Pieces that never ran, by size; of one size the farthest from hot code last.
    fillers: BTreeMap<u64, Vec<PieceId>>,
    cursor: u64,
    /// End of the last page that was filled up with pieces that never ran.
    filled: u64,
    order: Vec<PieceId>,
}

impl<'a> Packer<'a> {
    fn new(settings: PackedOrder, problem: &'a Problem<'a>, first: &[PieceId]) -> Self {
        let pieces = problem.pieces;
        let cold_end = |index: PieceId| {
            let piece = &pieces[index.index()];
            piece.size - piece.executed_end().min(piece.size)
        };
        // As many closers as there will be pages, and those with the longest cold ends.
        let size = |index: &PieceId| pieces[index.index()].size;
        let bytes = first.iter().map(size).fold(0, u64::saturating_add);
        let mut ends: Vec<u64> = first.iter().map(|&index| cold_end(index)).collect();
        ends.sort_unstable_by(|a, b| b.cmp(a));
        let wanted = (bytes / PAGE_SIZE) as usize;
        let shortest = ends.get(wanted).copied().unwrap_or(0).max(settings.shortest_end);
        let (closers, plain) = first.iter().partition(|&&index| {
            cold_end(index) >= shortest && pieces[index.index()].executed_end() < PAGE_SIZE
        });
        Packer {
            settings,
            pieces,
            plain,
            closers,
            fillers: fillers(problem),
            cursor: problem.start,
            filled: problem.start,
            order: Vec::with_capacity(first.len()),
        }
    }

    fn piece(&self, index: PieceId) -> &'a Piece {
        &self.pieces[index.index()]
    }

    /// Address behind the piece if it came next.
    fn end_of(&self, index: PieceId) -> u64 {
        let piece = self.piece(index);
        align_up(self.cursor, piece.alignment).saturating_add(piece.size)
    }

    /// Address behind the last executed byte of the piece if it came next.
    fn hot_end_of(&self, index: PieceId) -> u64 {
        let piece = self.piece(index);
        align_up(self.cursor, piece.alignment).saturating_add(piece.executed_end())
    }

    fn push(&mut self, index: PieceId) {
        self.cursor = self.end_of(index);
        self.order.push(index);
    }

    /// Fills the page of the cursor and closes it. Returns whether hot pieces are left.
    fn place_page(&mut self) -> bool {
        self.leave_filled_page();
        let page_end = (self.cursor / PAGE_SIZE + 1).saturating_mul(PAGE_SIZE);
        // Whole pieces while they fit and leave room for a closer.
        while let Some(&next) = self.plain.front() {
            let end = self.end_of(next);
            let room = self.closers.front().map_or(0, |&closer| {
                let piece = self.piece(closer);
                (align_up(end, piece.alignment) - end).saturating_add(piece.executed_end())
            });
            if end.saturating_add(room) > page_end {
                break;
            }
            self.plain.pop_front();
            self.push(next);
        }
        if self.close(page_end) {
            return !(self.plain.is_empty() && self.closers.is_empty());
        }
        match self.plain.pop_front().or_else(|| self.closers.pop_front()) {
            Some(next) => {
                self.push(next);
                true
            }
            None => false,
        }
    }

    /// Closes the page that ends at `page_end` with the closer that leaves least of it unused.
    fn close(&mut self, page_end: u64) -> bool {
        let ahead = self.closers.len().min(self.settings.look_ahead / 8);
        let mut best: Option<(u64, usize, Vec<usize>)> = None;
        for position in 0..ahead {
            let closer = self.closers[position];
            if self.hot_end_of(closer) > page_end {
                continue;
            }
            let (waste, small) = self.fill_before(closer, page_end);
            if best.as_ref().is_none_or(|(least, _, _)| waste < *least) {
                let perfect = waste < self.piece(closer).alignment;
                best = Some((waste, position, small));
                if perfect {
                    break;
                }
            }
        }
        let Some((waste, position, small)) = best else { return false };
        let closer = self.closers[position];
        let piece = self.piece(closer);
        if piece.size - piece.executed_end() <= waste {
            return false;
        }
        let saved = (self.cursor, self.order.len());
        let chosen: Vec<PieceId> = small.iter().map(|&at| self.plain[at]).collect();
        for &index in &chosen {
            self.push(index);
        }
        self.push(closer);
        match self.fill_page() {
            true => {
                self.closers.remove(position);
                let mut at = small;
                at.sort_unstable();
                for position in at.into_iter().rev() {
                    self.plain.remove(position);
                }
                true
            }
            false => {
                self.cursor = saved.0;
                self.order.truncate(saved.1);
                false
            }
        }
    }

    /// The plain pieces (as positions) that best fill the gap before `closer`, the largest that
    /// fits first, and the bytes of the page that then remain behind the closer's hot part.
    fn fill_before(&self, closer: PieceId, page_end: u64) -> (u64, Vec<usize>) {
        let closer = self.piece(closer);
        let mut cursor = self.cursor;
        let mut chosen = Vec::new();
        let hot_end =
            |cursor: u64| align_up(cursor, closer.alignment).saturating_add(closer.executed_end());
        let ahead = self.plain.len().min(self.settings.look_ahead);
        loop {
            let mut best: Option<(u64, usize)> = None;
            for position in 0..ahead {
                let piece = self.piece(self.plain[position]);
                let end = align_up(cursor, piece.alignment).saturating_add(piece.size);
                if hot_end(end) <= page_end
                    && best.is_none_or(|(most, _)| end > most)
                    && !chosen.contains(&position)
                {
                    best = Some((end, position));
                }
            }
            match best {
                Some((end, position)) => {
                    cursor = end;
                    chosen.push(position);
                }
                None => return (page_end - hot_end(cursor), chosen),
            }
        }
    }

    /// Where the next piece would begin in the few bytes left of a page that was filled up, puts a
    /// piece that never ran there: the one that reaches least into the next page. Does nothing where
    /// there is none.
    fn leave_filled_page(&mut self) {
        let Some(&next) = self.plain.front().or(self.closers.front()) else { return };
        let starts_there = |packer: &Self, index| {
            align_up(packer.cursor, packer.piece(index).alignment) < packer.filled
        };
        if self.cursor >= self.filled || !starts_there(self, next) {
            return;
        }
        let gap = self.filled - self.cursor;
        let crossing = self
            .fillers
            .range(gap..=gap + PAGE_SIZE / 8)
            .filter_map(|(size, list)| Some((*size, *list.last()?)))
            .find(|(_, index)| starts_there(self, *index));
        let Some((size, index)) = crossing else { return };
        if let Some(list) = self.fillers.get_mut(&size) {
            list.pop();
            if list.is_empty() {
                self.fillers.remove(&size);
            }
        }
        self.push(index);
    }

    /// Fills the rest of the cursor's page with pieces that never ran, so that the next piece starts
    /// on a new page; does nothing and returns false where they do not suffice.
    fn fill_page(&mut self) -> bool {
        let page_end = align_up(self.cursor, PAGE_SIZE);
        let mut used: Vec<(u64, PieceId)> = Vec::new();
        let saved = (self.cursor, self.order.len());
        loop {
            let room = page_end.saturating_sub(align_up(self.cursor, FILLER_ALIGNMENT));
            if room == 0 {
                self.filled = page_end;
                return true;
            }
            let Some((&size, list)) = self.fillers.range_mut(..=room).next_back() else { break };
            let Some(index) = list.pop() else { break };
            if list.is_empty() {
                self.fillers.remove(&size);
            }
            used.push((size, index));
            self.push(index);
        }
        for (size, index) in used.into_iter().rev() {
            self.fillers.entry(size).or_default().push(index);
        }
        self.cursor = saved.0;
        self.order.truncate(saved.1);
        false
    }
}

/// The pieces that never ran, by size. Of one size those come to be used first (the list's end)
/// that lie farthest from code that ran: their neighbours did not run either, so neither will they.
fn fillers(problem: &Problem<'_>) -> BTreeMap<u64, Vec<PieceId>> {
    let count = problem.pieces.len();
    let hot: Vec<bool> = problem.pieces.iter().map(|piece| !piece.executed.is_empty()).collect();
    let mut distance = vec![u32::MAX; count];
    let mut since = u32::MAX;
    for (distance, hot) in distance.iter_mut().zip(&hot) {
        since = if *hot { 0 } else { since.saturating_add(1) };
        *distance = since;
    }
    since = u32::MAX;
    for (distance, hot) in distance.iter_mut().zip(&hot).rev() {
        since = if *hot { 0 } else { since.saturating_add(1) };
        *distance = since.min(*distance);
    }
    let mut fillers: BTreeMap<u64, Vec<PieceId>> = BTreeMap::new();
    for (index, piece) in problem.pieces.iter().enumerate() {
        let fits = (1..=PAGE_SIZE).contains(&piece.size) && piece.alignment <= FILLER_ALIGNMENT;
        if piece.executed.is_empty() && fits {
            fillers.entry(piece.size).or_default().push(PieceId::at(index));
        }
    }
    for list in fillers.values_mut() {
        list.sort_by_key(|&index| distance[index.index()]);
    }
    fillers
}
