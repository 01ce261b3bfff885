//! What makes a plan less exact than it could be, and what to do about it.

use super::curve::Plan;

impl Plan {
    /// A sentence or two each.
    pub fn warnings(&self) -> Vec<String> {
        // Long: a sentence for each, and when it is said.
        let counts = &self.counts;
        let is_guessed = self.early.is_some();
        let evicted = counts.kswapd + counts.direct;
        let mut all = Vec::new();
        let mut warn = |is_so: bool, text: String| {
            if is_so {
                all.push(text);
            }
        };
        let of = |part: u64| format!("{:.0} %", 100.0 * part as f64 / evicted.max(1) as f64);
        warn(
            counts.overwritten > 0,
            format!(
                "{} events were overwritten before the trace was written: it is only the end of what was recorded. \
                 Record with larger buffers.",
                counts.overwritten
            ),
        );
        warn(
            counts.unread > 0,
            format!("{} events cannot be read, and are left out.", counts.unread),
        );
        warn(
            !is_guessed && !self.recorded.reclaims && counts.truncated > 0,
            "No task reclaims memory itself. If mm_vmscan_direct_reclaim_begin and _end were not recorded, what tasks \
             evicted counts as truncated: record them."
                .to_owned(),
        );
        warn(
            counts.older * 10 > evicted,
            format!(
                "{} of what was evicted was in the page cache before the trace began. Record for longer.",
                of(counts.older)
            ),
        );
        warn(
            counts.twice > 0,
            format!(
                "{} pages came although they had not left: events are missing, or an inode number was used again. \
                 Record ext4_free_inode, ext4_evict_inode or f2fs_evict_inode, with larger buffers.",
                counts.twice
            ),
        );
        warn(
            counts.inferred > 0 && !self.recorded.files,
            format!(
                "{} copies are dropped since their files lost all their pages otherwise, as deleted ones do. Record \
                 ext4_free_inode, ext4_evict_inode or f2fs_evict_inode, which say which files go, and whose inode \
                 numbers are used again.",
                counts.inferred
            ),
        );
        warn(
            !is_guessed && !self.recorded.activations,
            "Which pages are active is guessed: those that come back after fewer evictions than there are pages in \
             the page cache. Record mm_lru_activate and mm_lru_insertion."
                .to_owned(),
        );
        warn(
            !is_guessed && !self.recorded.reads,
            "Each page counts as if it moved from the pool to normal memory, for reads were not recorded: there will be fewer \
             copies. Linux 6.12 and later have mm_filemap_get_pages for that."
                .to_owned(),
        );
        warn(
            is_guessed,
            "What the page cache evicted is guessed from what was read: the pages that were read longest ago. A trace of \
             the page cache says it."
                .to_owned(),
        );
        let early = self.early.unwrap_or(0);
        warn(
            early * 20 > counts.added,
            format!(
                "{early} pages were read again although they should have been in normal memory: give less as --memory."
            ),
        );
        warn(
            counts.large * 20 > evicted,
            format!(
                "{} of what was evicted is of large folios, which are not stored.",
                of(counts.large)
            ),
        );
        warn(
            counts.unsuited * 20 > evicted,
            format!(
                "{} of what was evicted is of file systems without a block device, or of block devices themselves, \
                 and is not stored.",
                of(counts.unsuited)
            ),
        );
        all
    }
}
