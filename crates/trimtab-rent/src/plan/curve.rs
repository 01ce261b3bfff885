//! What pools of each size and policy would save and cost, and which to take.

use serde::{Deserialize, Serialize};

use super::planner::Settings;
use super::replay::{self, Counts, Policy, Recorded, Replay};
use super::victim::Tally;

/// What a trace says of renting.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// What was seen.
    pub counts: Counts,
    /// What was recorded at all.
    pub recorded: Recorded,
    /// Nanoseconds from the first event to the last.
    pub length: u64,
    /// The most pages that were known to be in the page cache at once.
    pub most_resident: u64,
    /// Where the page cache is guessed from reads of block devices: reads of pages that should still have been in it.
    pub early: Option<u64>,
    /// Each size with each policy: sizes in the order in which they were asked for.
    pub pools: Vec<Pool>,
    /// What to take; none where renting gains nothing.
    pub recommended: Option<Recommendation>,
}

/// A pool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pool {
    /// Its size.
    pub mib: f64,
    /// What is stored in it.
    pub policy: Policy,
    /// Times that a page was found in it.
    pub hits: u64,
    /// What need not be read, as a share of all pages that came back after they had been evicted.
    pub share: f64,
    /// What need not be read.
    pub misses_saved_mib: f64,
    /// Of its hits, those of `read()`, as far as the trace tells: they are read where they are, and nothing is evicted
    /// for them.
    pub hits_in_place: u64,
    /// Pages that were stored.
    pub stores: u64,
    /// Pages that were copied, into it and out of it to normal memory.
    pub copies: u64,
    /// Time that copies take, in percent of the time of one CPU.
    pub copy_cpu_pct: f64,
    /// Hits of files of one page, which may be lost where inodes leave memory.
    pub small_file_hits: u64,
    /// What a return would move back.
    pub activation: Activation,
    /// Uses that found their page in normal memory or in the pool, as a share of all; only where reads of what is in
    /// the page cache were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_ratio: Option<f64>,
    /// The same, if normal memory and the pool were one memory that drops what was used least recently.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lru_hit_ratio: Option<f64>,
}

/// Copies of pages that were active when they were evicted, or read in the pool since.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Activation {
    /// On average over the trace.
    pub mean_pages: f64,
    /// At most.
    pub most_pages: u64,
}

/// What to take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// The size: where the curve bends, or the largest.
    pub mib: f64,
    /// The policy: that with the fewest copies which saves nearly as much as the best.
    pub policy: Policy,
}

/// A curve that is nowhere so much above the line between its ends does not bend.
const BEND: f64 = 0.05;
/// A policy that saves this share of the best saves nearly as much.
const NEARLY: f64 = 0.95;
/// A smaller share of what came into the page cache is nothing.
const LEAST_SHARE: f64 = 0.01;

const MIB: f64 = (1 << 20) as f64;

impl Plan {
    /// Of a replay that is at its end, of a trace of so many nanoseconds.
    pub(super) fn new(mut replay: Replay, settings: &Settings, length: u64) -> Self {
        replay.end();
        let counts = replay.counts;
        let in_mib = |pages: u64| pages as f64 * settings.page_size as f64 / MIB;
        let lru_hits = sums(&replay.lru_hits);
        let ratio =
            |found: u64| (counts.accesses > 0).then(|| found as f64 / counts.uses.max(1) as f64);
        let pool = |pool: &replay::Pool| {
            let Tally { hits, in_place, overwritten, small, stores, misses, .. } =
                pool.victims.tally;
            let saved = counts.added.saturating_sub(misses);
            let copies = stores + hits - in_place - overwritten;
            Pool {
                mib: in_mib(u64::from(pool.slots)),
                policy: pool.policy,
                hits,
                // It can be more: what need not be read ahead is no loss either.
                share: (saved as f64 / counts.returned.max(1) as f64).min(1.0),
                misses_saved_mib: in_mib(saved),
                hits_in_place: in_place,
                stores,
                copies,
                copy_cpu_pct: match length {
                    0 => 0.0,
                    _ => 100.0 * copies as f64 * settings.copy_nanoseconds / length as f64,
                },
                small_file_hits: small,
                activation: Activation {
                    mean_pages: pool.victims.tally.sum_active as f64 / replay.looks.max(1) as f64,
                    most_pages: pool.victims.tally.most_active,
                },
                hit_ratio: ratio(counts.uses.saturating_sub(misses)),
                lru_hit_ratio: ratio(up_to(&lru_hits, pool.slots as usize)),
            }
        };
        let pools: Vec<Pool> = replay.pools.iter().map(pool).collect();
        let recommended = recommend(&pools, in_mib(counts.added));
        Self {
            counts,
            recorded: replay.recorded,
            length,
            early: None,
            most_resident: replay.most_resident,
            pools,
            recommended,
        }
    }
}

/// What is counted up to a place, by sums up to each.
fn up_to(sums: &[u64], place: usize) -> u64 {
    sums.get(place).or(sums.last()).copied().unwrap_or(0)
}

/// Sums up to each place.
fn sums(of: &[u64]) -> Vec<u64> {
    let add = |sum: &mut u64, one: &u64| {
        *sum += one;
        Some(*sum)
    };
    of.iter().scan(0, add).collect()
}

/// Which pool to take, where so many MiB came into the page cache.
fn recommend(pools: &[Pool], added_mib: f64) -> Option<Recommendation> {
    // Of each size what saves most: where a stream is read once, that is not what stores all.
    let mut best: Vec<&Pool> = Vec::new();
    for pool in pools {
        match best.iter_mut().find(|one| one.mib == pool.mib) {
            Some(one) if one.hits < pool.hits => *one = pool,
            Some(_) => {}
            None => best.push(pool),
        }
    }
    let largest = *best.iter().max_by(|a, b| a.mib.total_cmp(&b.mib))?;
    let saved = largest.misses_saved_mib;
    if saved == 0.0 || saved < LEAST_SHARE * added_mib {
        return None;
    }
    // The point that is farthest above the line from nothing to the largest pool.
    let above = |pool: &Pool| pool.misses_saved_mib / saved - pool.mib / largest.mib;
    let bend = best
        .iter()
        .max_by(|a, b| above(a).total_cmp(&above(b)).then(b.mib.total_cmp(&a.mib)))
        .filter(|pool| above(pool) > BEND);
    let (size, hits) = bend.map_or((largest.mib, largest.hits), |pool| (pool.mib, pool.hits));
    let cheapest = pools
        .iter()
        .filter(|pool| pool.mib == size && pool.hits as f64 >= NEARLY * hits as f64)
        .min_by_key(|pool| pool.copies)?;
    Some(Recommendation { mib: size, policy: cheapest.policy })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(saved: &[(f64, f64)]) -> Vec<Pool> {
        let pool = |(mib, saved): &(f64, f64), policy| Pool {
            mib: *mib,
            policy,
            hits: (*saved * 256.0) as u64,
            misses_saved_mib: *saved,
            copies: if policy == Policy::All { 1000 } else { 500 },
            ..Pool::default()
        };
        let less = |(mib, saved): &(f64, f64)| (*mib, *saved * 0.9);
        let all = saved.iter().map(|one| pool(one, Policy::All));
        all.chain(saved.iter().map(|one| pool(&less(one), Policy::Twice))).collect()
    }

    #[test]
    fn the_bend_is_taken_or_the_largest() {
        let size = |saved: &[(f64, f64)]| recommend(&curve(saved), 1000.0).map(|found| found.mib);
        assert_eq!(size(&[(8.0, 10.0), (32.0, 190.0), (64.0, 195.0), (128.0, 200.0)]), Some(32.0));
        assert_eq!(size(&[(8.0, 12.5), (32.0, 50.0), (128.0, 200.0)]), Some(128.0), "a line");
        assert_eq!(size(&[(8.0, 0.0), (32.0, 0.0), (128.0, 200.0)]), Some(128.0), "a loop");
        assert_eq!(size(&[(8.0, 1.0), (128.0, 9.0)]), None, "under 1 % of what came");
        assert_eq!(size(&[]), None);
    }

    #[test]
    fn the_curve_is_that_of_the_policy_that_saves_most() {
        let mut pools = curve(&[(8.0, 0.0), (32.0, 0.0), (128.0, 1.0)]);
        for (pool, saved) in pools[3..].iter_mut().zip([10.0, 190.0, 200.0]) {
            (pool.misses_saved_mib, pool.hits) = (saved, (saved * 256.0) as u64);
        }
        let expected = Recommendation { mib: 32.0, policy: Policy::Twice };
        assert_eq!(recommend(&pools, 1000.0), Some(expected));
    }

    #[test]
    fn the_cheapest_policy_is_taken_that_is_nearly_as_good() {
        let mut pools = curve(&[(8.0, 100.0)]);
        assert_eq!(recommend(&pools, 100.0).unwrap().policy, Policy::All);
        pools[1].hits = pools[0].hits - 10;
        assert_eq!(recommend(&pools, 100.0).unwrap().policy, Policy::Twice);
    }
}
