//! A page cache that is guessed from what is read from block devices.
//!
//! Each read is a miss of the page cache, so it is known what came, but not what left. Normal memory is taken to hold
//! the last pages that were read, as many as fit into it, and to evict the oldest.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use trimtab_profile::ftrace::Line;

use super::error::PlanError;
use super::event::{FileId, Folio};
use super::replay::{Replay, Why};

/// A read of a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRead {
    /// The device.
    pub device: FileId,
    /// The first of 512 bytes.
    pub sector: u64,
    /// How many of these.
    pub sectors: u64,
}

/// What stands for an event of a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockEvent {
    /// A read.
    Read(BlockRead),
    /// A write, a flush or a discard.
    Other,
    /// One that cannot be read.
    Unread,
}

/// The most sectors of one request: 32 MiB.
const MOST_SECTORS: u64 = 64 << 10;

impl BlockEvent {
    /// The event of a line, and whether it is of a queue, `block_bio_queue`, and not of a device, `block_rq_issue`;
    /// none where it is of something else.
    pub fn read(line: &Line<'_>) -> Option<(Self, bool)> {
        let (name, fields) = line.event()?;
        let is_queued = match name {
            "block_rq_issue" => false,
            "block_bio_queue" => true,
            _ => return None,
        };
        Some((read(fields).unwrap_or(Self::Unread), is_queued))
    }
}

/// `254,0 R 16384 () 2048 + 32 none,0,0 [fio]` of requests, `254,0 R 2048 + 32 [fio]` of what is queued.
fn read(fields: &str) -> Option<BlockEvent> {
    let mut words = fields.split(' ');
    let (major, minor) = words.next()?.split_once(',')?;
    let kind = words.next()?;
    let (before, after) = fields.split_once(" + ")?;
    let sector = before.rsplit(' ').next()?.parse().ok()?;
    let sectors: u64 = after.split(' ').next()?.parse().ok()?;
    let (major, minor) = (major.parse().ok()?, minor.parse().ok()?);
    if !kind.trim_start_matches('F').starts_with('R') || sectors == 0 {
        return Some(BlockEvent::Other);
    }
    let device = FileId { major, minor, inode: 0 };
    (sectors <= MOST_SECTORS).then_some(BlockEvent::Read(BlockRead { device, sector, sectors }))
}

/// Normal memory.
#[derive(Debug)]
pub struct BlockCache {
    frames: usize,
    sectors_of_a_page: u64,
    /// What was read, and when; the oldest first. What was read again is in it twice.
    pages: VecDeque<(Folio, u64)>,
    /// What is there, and when it was read last.
    resident: FxHashMap<Folio, u64>,
    /// Pages that were read.
    now: u64,
    /// Of which kind the first event was; others would count the same once more.
    is_queued: Option<bool>,
    /// Reads of pages that should still have been there.
    pub early: u64,
}

impl BlockCache {
    /// Of so many pages of so many bytes.
    pub fn new(frames: u32, page_size: u64) -> Self {
        Self {
            frames: frames.max(1) as usize,
            sectors_of_a_page: (page_size / 512).max(1),
            pages: VecDeque::new(),
            resident: FxHashMap::default(),
            now: 0,
            is_queued: None,
            early: 0,
        }
    }

    /// Follows an event, of a queue or of a device.
    ///
    /// # Errors
    /// That these are too many pages.
    pub fn event(
        &mut self,
        (event, is_queued): (BlockEvent, bool),
        replay: &mut Replay,
    ) -> Result<(), PlanError> {
        if *self.is_queued.get_or_insert(is_queued) != is_queued {
            return Ok(());
        }
        match event {
            BlockEvent::Read(read) => self.read(&read, replay),
            BlockEvent::Other => Ok(()),
            BlockEvent::Unread => {
                replay.counts.unread += 1;
                Ok(())
            }
        }
    }

    fn read(&mut self, read: &BlockRead, replay: &mut Replay) -> Result<(), PlanError> {
        let first = read.sector / self.sectors_of_a_page;
        let last = read.sector.saturating_add(read.sectors - 1) / self.sectors_of_a_page;
        for index in first..=last {
            let offset = index.saturating_mul(self.sectors_of_a_page * 512);
            let page = Folio { file: read.device, offset, order: 0, frame: index };
            if self.resident.contains_key(&page) {
                // It was evicted before it was its turn.
                self.early += 1;
                replay.early(&page)?;
            } else {
                if self.resident.len() == self.frames {
                    self.evict(replay)?;
                }
                replay.add(&page, 0)?;
            }
            self.now += 1;
            self.resident.insert(page, self.now);
            self.pages.push_back((page, self.now));
            if self.pages.len() > 2 * self.frames {
                let resident = &self.resident;
                self.pages.retain(|(page, when)| resident.get(page) == Some(when));
            }
        }
        Ok(())
    }

    /// Evicts the oldest.
    fn evict(&mut self, replay: &mut Replay) -> Result<(), PlanError> {
        while let Some((page, when)) = self.pages.pop_front() {
            if self.resident.get(&page) == Some(&when) {
                self.resident.remove(&page);
                return replay.delete(&page, Why::Kswapd);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> Option<(BlockEvent, bool)> {
        let text = format!("fio-7 [000] d..1. 5.000001: {text}");
        BlockEvent::read(&Line::read(&text).unwrap())
    }

    #[test]
    fn requests_are_read_as_kernels_print_them() {
        let device = FileId { major: 254, minor: 0, inode: 0 };
        let read = BlockEvent::Read(BlockRead { device, sector: 2048, sectors: 32 });
        for (text, is_queued) in [
            ("block_rq_issue: 254,0 R 16384 () 2048 + 32 none,0,0 [fio]", false),
            ("block_rq_issue: 254,0 RA 16384 () 2048 + 32 [fio a]", false),
            ("block:block_bio_queue: 254,0 RSM 2048 + 32 [fio]", true),
        ] {
            assert_eq!(event(text), Some((read, is_queued)), "{text}");
        }
        for other in
            ["254,0 WS 4096 () 2048 + 8 [a]", "254,0 FF 0 () 0 + 0 [a]", "254,0 D 0 () 8 + 8 [a]"]
        {
            assert_eq!(
                event(&format!("block_rq_issue: {other}")),
                Some((BlockEvent::Other, false))
            );
        }
        for damaged in [
            "254,0 R",
            "254 R 0 () 8 + 8 [a]",
            "254,0 R 0 () x + 8 [a]",
            "254,0 R 0 () 8 + 99999999 [a]",
        ] {
            let found = event(&format!("block_rq_issue: {damaged}"));
            assert_eq!(found, Some((BlockEvent::Unread, false)), "{damaged}");
        }
        assert_eq!(event("block_rq_complete: 254,0 R () 2048 + 32 [0]"), None);
    }
}
