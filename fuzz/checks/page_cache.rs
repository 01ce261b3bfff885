//! Any bytes are read as a trace of a page cache, and what follows from it does not contradict itself.

use trimtab_rent::plan::{Plan, Planner, Policy, Settings};

/// Whether it is a trace that can be used.
pub fn check(data: &[u8]) -> bool {
    [None, Some(3)].map(|normal| check_one(data, normal)).contains(&true)
}

fn check_one(data: &[u8], normal: Option<u32>) -> bool {
    let whole = plan(&[data], normal);
    let (one, other) = data.split_at(data.len() / 2);
    assert_eq!(whole, plan(&[one, other], normal), "pieces are as the whole");
    let Some(plan) = whole else { return false };
    assert!(plan.warnings().iter().all(|warning| warning.ends_with('.')));
    let counts = &plan.counts;
    let evicted = counts.kswapd + counts.direct;
    // What is read in a pool is read there again, and by that it makes room for others in normal memory.
    let has_reads = normal.is_none() && data.windows(9).any(|bytes| bytes == b"get_pages");
    for policy in Policy::ALL {
        let pools = || plan.pools.iter().filter(|pool| pool.policy == policy);
        for pool in pools() {
            let moved = pool.hits - pool.hits_in_place;
            assert!(pool.hits_in_place <= counts.accesses && moved <= counts.returned);
            assert!(pool.copies <= pool.stores + moved);
            assert!(has_reads || pool.hits_in_place == 0 && pool.hits <= pool.stores);
            assert!(pool.stores + counts.large + counts.unsuited <= evicted);
            assert!(pool.small_file_hits <= pool.hits);
            assert!((0.0..=1.0).contains(&pool.share));
            assert!(pool.activation.mean_pages <= pool.activation.most_pages as f64);
            for ratio in [pool.hit_ratio, pool.lru_hit_ratio].into_iter().flatten() {
                assert!((0.0..=1.0).contains(&ratio), "{ratio}");
            }
        }
        let grows = pools().zip(pools().skip(1)).all(|(small, large)| small.hits <= large.hits);
        assert!(has_reads || grows);
    }
    true
}

fn plan(pieces: &[&[u8]], normal: Option<u32>) -> Option<Plan> {
    let pools = vec![1, 2, 7, 64];
    let settings =
        Settings { page_size: 4096, pools, copy_nanoseconds: 1000.0, normal, from: None };
    let mut planner = Planner::new(settings);
    for piece in pieces {
        planner.feed(piece).ok()?;
    }
    planner.finish().ok()
}
