//! Cache-directed sort.

use super::interface::{Algorithm, Needs};
use crate::merging::MergeQueue;
use crate::named::HasName;
use crate::{Order, PieceId, Problem};
use rustc_hash::FxHashMap;

/// Joins the two chains of functions whose joining most helps a cache of code, again and again.
/// Help is of two kinds: calls become short, and functions that are executed often share the lines
/// (or pages) of a small cache, of which then fewer are missed.
///
/// Source: S. Pupyrev's cache-directed sort as LLVM describes it (`CodeLayout`, since LLVM 17), with
/// its constants. Unlike there a gain is computed anew only when it comes to the top of the queue
/// or when calls of two chains fall together, so that hubs do not make it quadratic: O(*m* log²
/// *n*) for *m* transitions in all but contrived cases. A call leaves a function at its middle.
#[derive(Debug, Clone, Copy)]
pub struct CacheDirectedSort {
    /// Entries of the modelled cache.
    pub cache_entries: f64,
    /// Bytes of an entry.
    pub entry_bytes: f64,
    /// How fast the use of a short call fades with its length.
    pub distance_power: f64,
    /// How much the cache counts against the length of calls.
    pub frequency_scale: f64,
}

impl Default for CacheDirectedSort {
    fn default() -> Self {
        CacheDirectedSort {
            cache_entries: 16.0,
            entry_bytes: 2048.0,
            distance_power: 0.25,
            frequency_scale: 0.25,
        }
    }
}

impl HasName for CacheDirectedSort {
    fn name(&self) -> &'static str {
        "cdsort"
    }

    fn description(&self) -> &'static str {
        "cache-directed sort: short calls and dense cache lines (LLVM 17)"
    }
}

impl Algorithm for CacheDirectedSort {
    fn needs(&self) -> Needs {
        Needs::Transitions
    }

    fn order(&self, problem: &Problem<'_>) -> Order {
        let mut sort = Sort::new(*self, problem);
        sort.merge_all();
        sort.finish(problem)
    }
}

/// Gains below this are none.
const EPSILON: f64 = 1e-8;

/// Most calls between two chains that a gain is computed from: the heaviest would do.
const MOST_CALLS: usize = 256;

#[derive(Default)]
struct Chain {
    pieces: Vec<PieceId>,
    /// Offset of the first byte; below zero where pieces were put in front.
    start: i64,
    end: i64,
    hits: f64,
    /// The calls to and from each other chain, as indices of [`Sort::calls`].
    neighbours: FxHashMap<u32, Vec<u32>>,
}

impl Chain {
    fn bytes(&self) -> f64 {
        (self.end - self.start).max(1) as f64
    }

    fn density(&self) -> f64 {
        self.hits / self.bytes()
    }
}

struct Call {
    from: PieceId,
    to: PieceId,
    count: f64,
}

/// How two chains are merged: which one comes first, and which behind it.
type Sides = (u32, u32);

struct Sort {
    settings: CacheDirectedSort,
    chains: Vec<Chain>,
    chain_of: Vec<u32>,
    /// Offset of each piece from the origin of its chain.
    offset: Vec<i64>,
    size: Vec<i64>,
    calls: Vec<Call>,
    total_hits: f64,
    /// What a call counts for that leads from one end of the code to the other.
    far: f64,
    queue: MergeQueue<Sides>,
}

impl Sort {
    fn new(settings: CacheDirectedSort, problem: &Problem<'_>) -> Self {
        let flow = problem.known_flow();
        let count = problem.pieces.len();
        // More than any program has, and no sum of them overflows.
        let size: Vec<i64> =
            problem.pieces.iter().map(|piece| piece.size.clamp(1, 1 << 32) as i64).collect();
        let mut hits: Vec<f64> = flow.counts.iter().map(|hits| *hits as f64).collect();
        let (mut calls_in, mut calls_out) = (vec![0.0; count], vec![0.0; count]);
        for edge in &flow.edges {
            calls_in[edge.to.index()] += edge.count as f64;
            calls_out[edge.from.index()] += edge.count as f64;
        }
        let total_hits: f64 = hits.iter().sum();
        for (piece, hits) in hits.iter_mut().enumerate() {
            *hits = hits.max(calls_in[piece]).max(calls_out[piece]);
        }
        let hot_bytes: i64 =
            size.iter().zip(&hits).filter(|(_, hits)| **hits > 0.0).map(|(size, _)| size).sum();
        let calls: Vec<Call> = flow
            .edges
            .iter()
            .map(|edge| Call { from: edge.from, to: edge.to, count: edge.count as f64 })
            .collect();
        let mut chains: Vec<Chain> = (0..count)
            .map(|piece| Chain {
                pieces: vec![PieceId::at(piece)],
                start: 0,
                end: size[piece],
                hits: hits[piece],
                neighbours: FxHashMap::default(),
            })
            .collect();
        for (index, call) in calls.iter().enumerate() {
            for (a, b) in [(call.from, call.to), (call.to, call.from)] {
                // Each piece is a chain of its own.
                chains[a.index()].neighbours.entry(b.0).or_default().push(index as u32);
            }
        }
        let mut sort = Sort {
            settings,
            chains,
            chain_of: (0..count as u32).collect(),
            offset: vec![0; count],
            size,
            calls,
            total_hits,
            far: (hot_bytes.max(1) as f64).powf(-settings.distance_power),
            queue: MergeQueue::new(count),
        };
        sort.consider_all();
        sort
    }

    /// Puts the joins of all chains that call each other on the queue.
    fn consider_all(&mut self) {
        for chain in 0..self.chains.len() as u32 {
            let mut later: Vec<u32> = self.chains[chain as usize]
                .neighbours
                .keys()
                .copied()
                .filter(|other| *other > chain)
                .collect();
            later.sort_unstable();
            for other in later {
                self.consider(chain, other);
            }
        }
    }

    /// Executions of a chain that miss the modelled cache, given its density.
    fn misses(&self, hits: f64, density: f64) -> f64 {
        let share = density * self.settings.entry_bytes / self.total_hits.max(1.0);
        if share >= 1.0 { 0.0 } else { hits * (1.0 - share).powf(self.settings.cache_entries) }
    }

    /// Puts the better way to join two chains on the queue, where one gains anything.
    fn consider(&mut self, a: u32, b: u32) {
        let (x, y) = (&self.chains[a as usize], &self.chains[b as usize]);
        let Some(calls) = x.neighbours.get(&b) else { return };
        let hits = x.hits + y.hits;
        let fewer = self.misses(x.hits, x.density()) + self.misses(y.hits, y.density())
            - self.misses(hits, hits / (x.bytes() + y.bytes()));
        let shorter = |first: u32, second: u32| -> f64 {
            let (first, second) = (&self.chains[first as usize], &self.chains[second as usize]);
            let place = |piece: PieceId| {
                let offset = self.offset[piece.index()];
                // Both chains as they will lie, from the first one's origin.
                match self.chain_of[piece.index()] == self.chain_of[first.pieces[0].index()] {
                    true => offset,
                    false => offset - second.start + first.end,
                }
            };
            calls
                .iter()
                .take(MOST_CALLS)
                .map(|index| {
                    let call = &self.calls[*index as usize];
                    let leaves = place(call.from) + self.size[call.from.index()] / 2;
                    let length = (leaves - place(call.to)).unsigned_abs();
                    let length = if length == 0 { 0.1 } else { length as f64 };
                    call.count * (length.powf(-self.settings.distance_power) - self.far)
                })
                .sum()
        };
        let (forward, backward) = (shorter(a, b), shorter(b, a));
        // Of equals the order of today.
        let keep = match (forward - backward).abs() < EPSILON {
            true => a < b,
            false => forward > backward,
        };
        let (first, second, calls) = if keep { (a, b, forward) } else { (b, a, backward) };
        let mut gain = calls + self.settings.frequency_scale * fewer;
        if gain >= 0.0 {
            gain /= x.bytes().min(y.bytes());
        }
        if gain > EPSILON {
            self.queue.push((first.min(second), first.max(second)), gain, (first, second));
        }
    }

    fn merge_all(&mut self) {
        while let Some(best) = self.queue.pop() {
            let (first, second) = best.how;
            let (x, y) = (&self.chains[first as usize], &self.chains[second as usize]);
            if x.pieces.is_empty() || y.pieces.is_empty() {
                continue;
            }
            match self.queue.is_current(&best) {
                true => self.merge(first, second),
                // Only what was pushed last for a pair is kept up to date: see `merge`.
                false => self.consider(first, second),
            }
        }
    }

    fn merge(&mut self, first: u32, second: u32) {
        let weight = |chain: &Chain| chain.pieces.len() + chain.neighbours.len();
        let behind = weight(&self.chains[first as usize]) >= weight(&self.chains[second as usize]);
        let (into, from) = if behind { (first, second) } else { (second, first) };
        let moved = std::mem::take(&mut self.chains[from as usize]);
        self.queue.changed(into);
        self.queue.changed(from);
        let chain = &mut self.chains[into as usize];
        let shift = if behind { chain.end - moved.start } else { chain.start - moved.end };
        for &piece in &moved.pieces {
            self.offset[piece.index()] += shift;
            self.chain_of[piece.index()] = into;
        }
        chain.start = chain.start.min(moved.start + shift);
        chain.end = chain.end.max(moved.end + shift);
        chain.hits += moved.hits;
        chain.pieces.extend(moved.pieces);
        chain.neighbours.remove(&from);
        let mut changed: Vec<u32> = Vec::with_capacity(moved.neighbours.len());
        for (other, calls) in moved.neighbours {
            if other == into {
                continue;
            }
            let theirs = &mut self.chains[other as usize].neighbours;
            theirs.remove(&from);
            let joined = join(self.chains[into as usize].neighbours.remove(&other), calls);
            self.chains[other as usize].neighbours.insert(into, joined.clone());
            self.chains[into as usize].neighbours.insert(other, joined);
            changed.push(other);
        }
        changed.sort_unstable();
        for other in changed {
            self.consider(into, other);
        }
    }

    /// Chains by density, the densest first; of equals the one that ran first.
    fn finish(mut self, problem: &Problem<'_>) -> Order {
        let executed = problem.executed();
        let mut seen = vec![false; self.chains.len()];
        let mut densest: Vec<u32> = executed
            .iter()
            .map(|piece| self.chain_of[piece.index()])
            .filter(|chain| !std::mem::replace(&mut seen[*chain as usize], true))
            .collect();
        densest.sort_by(|a, b| {
            self.chains[*b as usize].density().total_cmp(&self.chains[*a as usize].density())
        });
        let mut listed = Vec::with_capacity(executed.len());
        for chain in densest {
            let mut pieces = std::mem::take(&mut self.chains[chain as usize].pieces);
            pieces.sort_by_key(|piece| self.offset[piece.index()]);
            listed.extend(pieces);
        }
        Order::leading(listed, problem.pieces.len())
    }
}

fn join(ours: Option<Vec<u32>>, theirs: Vec<u32>) -> Vec<u32> {
    let Some(ours) = ours else { return theirs };
    let (mut more, fewer) =
        if ours.len() >= theirs.len() { (ours, theirs) } else { (theirs, ours) };
    more.extend(fewer);
    more
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ids;
    use crate::{Edge, Flow, Piece};

    #[test]
    fn heavy_calls_become_short_and_dense_chains_lead() {
        let pieces = vec![Piece { size: 64, alignment: 16, ..Piece::default() }; 6];
        let edge = Edge::of;
        let flow = Flow {
            counts: vec![1, 1000, 1, 1000, 1, 10],
            edges: vec![edge(0, 5, 10), edge(1, 3, 1000), edge(2, 4, 1)],
            ..Flow::default()
        };
        let runs = [ids([0, 5, 1, 3, 2, 4])];
        let problem = Problem { pieces: &pieces, runs: &runs, flow: Some(&flow), start: 0 };
        assert_eq!(CacheDirectedSort::default().order(&problem).listed(), [1, 3, 0, 5, 2, 4]);
    }
}
