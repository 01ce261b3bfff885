//! Takes the text of a trace, a piece at a time.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use trimtab_profile::ftrace::{Line, lost};

use super::block::{BlockCache, BlockEvent};
use super::curve::Plan;
use super::error::PlanError;
use super::event::CacheEvent;
use super::replay::{Replay, Why};

/// A line that is longer is no event, and is not kept.
const LONGEST_LINE: usize = 16 << 10;

/// That many lines without an event are no trace.
const LINES_WITHOUT_EVENT: u64 = 200_000;

/// Nanoseconds by which time may go back: what several CPUs record `trace_pipe` prints as soon as it is there.
const MOST_BACK: u64 = 10_000_000;

/// Events that wait for earlier ones at most.
const MOST_WAITING: usize = 64 << 10;

/// How a trace is replayed.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Bytes of a page; a power of two.
    pub page_size: u64,
    /// Sizes of pools in pages, each at least one.
    pub pools: Vec<u32>,
    /// What it takes to copy a page, in nanoseconds.
    pub copy_nanoseconds: f64,
    /// Replay what is read from block devices, with a page cache of so many pages, in place of what the page cache did.
    pub normal: Option<u32>,
    /// What comes before the first marker with this text only fills the page cache and the pools.
    pub from: Option<String>,
}

/// What is to be done.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// The marker: from now on everything counts.
    Begin,
    /// An event of a block device, and whether it is of a queue.
    Block(BlockEvent, bool),
    /// An event of the page cache in a thread, and whether that has the name of a kswapd.
    Cache(CacheEvent, u32, bool),
}

/// Reads a trace, which need not be there as a whole.
#[derive(Debug)]
pub struct Planner {
    settings: Settings,
    replay: Replay,
    /// The page cache, where it is guessed.
    blocks: Option<BlockCache>,
    /// The begin of a line whose end was not seen yet.
    rest: Vec<u8>,
    /// Whether that line was too long.
    is_skipping: bool,
    lines: u64,
    /// Lines of the parts before this one.
    lines_before: u64,
    /// Which part it is, from 0.
    part: usize,
    /// The latest time.
    last: u64,
    first: Option<u64>,
    /// What earlier events may still follow, by its time and by when it was read.
    waiting: BTreeMap<(u64, u64), Event>,
    /// The time of what was done last.
    done: u64,
    /// Threads that are kswapd.
    kswapd: FxHashSet<u32>,
    /// Threads that reclaim memory.
    reclaiming: FxHashSet<u32>,
    /// Whether the marker was seen.
    is_counting: bool,
    /// The first event that could not be read: its part, its line there, and its text.
    unread: Option<(usize, u64, String)>,
}

impl Planner {
    /// For a trace of which nothing was seen.
    pub fn new(settings: Settings) -> Self {
        Self {
            replay: Replay::new(settings.page_size, &settings.pools),
            blocks: settings.normal.map(|frames| BlockCache::new(frames, settings.page_size)),
            is_counting: settings.from.is_none(),
            settings,
            rest: Vec::new(),
            is_skipping: false,
            lines: 0,
            lines_before: 0,
            part: 0,
            last: 0,
            first: None,
            waiting: BTreeMap::new(),
            done: 0,
            kswapd: FxHashSet::default(),
            reclaiming: FxHashSet::default(),
            unread: None,
        }
    }

    /// Another part begins, which goes on where the one before ended, within a line if that has no end. Errors count
    /// its lines anew.
    pub fn next_part(&mut self) {
        self.lines_before = self.lines;
        self.part += 1;
    }

    /// The part, from 0, of the event that [`PlanError::Format`] would name.
    pub fn part_of_unread(&self) -> Option<usize> {
        self.unread.as_ref().map(|(part, ..)| *part)
    }

    /// The number of the line that was read last, in its part.
    fn number(&self) -> u64 {
        self.lines - self.lines_before
    }

    /// Takes more of the text.
    ///
    /// # Errors
    /// [`PlanError`]
    pub fn feed(&mut self, mut text: &[u8]) -> Result<(), PlanError> {
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let (line, more) = text.split_at(end);
            text = &more[1..];
            if self.rest.is_empty() && !self.is_skipping {
                self.line(line)?;
                continue;
            }
            self.keep(line)?;
            let whole = std::mem::take(&mut self.rest);
            match std::mem::take(&mut self.is_skipping) {
                true => self.lines += 1,
                false => self.line(&whole)?,
            }
        }
        self.keep(text)
    }

    /// Keeps the begin of a line.
    fn keep(&mut self, text: &[u8]) -> Result<(), PlanError> {
        if text.contains(&0) {
            return Err(PlanError::NotText { line: self.number() + 1 });
        }
        if self.rest.len() + text.len() > LONGEST_LINE {
            self.is_skipping = true;
            self.rest.clear();
        }
        if !self.is_skipping {
            self.rest.extend_from_slice(text);
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8]) -> Result<(), PlanError> {
        self.lines += 1;
        if line.contains(&0) {
            return Err(PlanError::NotText { line: self.number() });
        }
        if line.len() > LONGEST_LINE {
            return Ok(());
        }
        // A thread's name can have any bytes.
        let text = String::from_utf8_lossy(line);
        if let Some(counts) = text.strip_prefix("# entries-in-buffer/entries-written:") {
            self.replay.counts.overwritten += overwritten(counts).unwrap_or(0);
        }
        if lost(&text) {
            return Err(PlanError::Lost { line: self.number() });
        }
        let Some(line) = Line::read(text.trim_end_matches('\r')) else {
            return match self.replay.counts.events == 0 && self.lines >= LINES_WITHOUT_EVENT {
                true => Err(PlanError::NoEvents { lines: self.number() }),
                false => Ok(()),
            };
        };
        if line.time < self.done || line.time.saturating_add(MOST_BACK) < self.last {
            return Err(PlanError::Unordered { line: self.number() });
        }
        self.last = self.last.max(line.time);
        if self.settings.from.is_none() {
            self.first = Some(self.first.map_or(line.time, |first| first.min(line.time)));
        }
        self.replay.counts.events += 1;
        if let Some(event) = self.event(&line) {
            self.waiting.insert((line.time, self.replay.counts.events), event);
        }
        self.follow(self.last.saturating_sub(MOST_BACK), MOST_WAITING)
    }

    /// What is to be done for a line.
    fn event(&mut self, line: &Line<'_>) -> Option<Event> {
        if self.is_begin(line) {
            return Some(Event::Begin);
        }
        if self.blocks.is_some() {
            let (event, is_queued) = BlockEvent::read(line)?;
            return Some(Event::Block(event, is_queued));
        }
        match CacheEvent::read(line) {
            CacheEvent::Other => None,
            CacheEvent::Unread => {
                self.replay.counts.unread += 1;
                let number = self.number();
                self.unread.get_or_insert_with(|| (self.part, number, line.text.to_owned()));
                None
            }
            event => Some(Event::Cache(event, line.thread, is_name_of_kswapd(line.name))),
        }
    }

    /// Does in order what happened before a time, and all but the last `most` of what waits.
    fn follow(&mut self, before: u64, most: usize) -> Result<(), PlanError> {
        while let Some(next) = self.waiting.first_entry() {
            let time = next.key().0;
            let event = *next.get();
            if time >= before && self.waiting.len() <= most {
                break;
            }
            self.waiting.pop_first();
            self.done = time;
            self.happen(time, event)?;
        }
        Ok(())
    }

    fn happen(&mut self, time: u64, event: Event) -> Result<(), PlanError> {
        let (event, thread, is_kswapd) = match event {
            Event::Begin => {
                // Only the first.
                if !std::mem::replace(&mut self.is_counting, true) {
                    self.first = Some(time);
                    self.replay.begin();
                    if let Some(blocks) = &mut self.blocks {
                        blocks.early = 0;
                    }
                }
                return Ok(());
            }
            Event::Block(event, is_queued) => {
                let Some(blocks) = &mut self.blocks else { return Ok(()) };
                return blocks.event((event, is_queued), &mut self.replay);
            }
            Event::Cache(event, thread, is_kswapd) => (event, thread, is_kswapd),
        };
        match event {
            CacheEvent::Add(folio) => self.replay.add(&folio, thread)?,
            CacheEvent::Delete(folio) => {
                let why = self.why(thread, is_kswapd);
                self.replay.delete(&folio, why)?;
            }
            CacheEvent::Access { file, first, last } => {
                self.replay.access(thread, file, first, last)
            }
            CacheEvent::Fault { file, at } => self.replay.fault(thread, file, at),
            CacheEvent::Write { file, first, length } => {
                self.replay.write(thread, file, first, length);
            }
            CacheEvent::Activate(frame) => self.replay.activate(frame),
            CacheEvent::FileGone(file) => self.replay.gone(file),
            CacheEvent::ReclaimBegins => {
                self.reclaiming.insert(thread);
                self.replay.counts.reclaims += 1;
                self.replay.recorded.reclaims = true;
            }
            CacheEvent::ReclaimEnds => {
                self.reclaiming.remove(&thread);
            }
            CacheEvent::Kswapd => {
                self.kswapd.insert(thread);
            }
            CacheEvent::Other | CacheEvent::Unread => {}
        }
        Ok(())
    }

    /// Whether a line is a marker from which on everything counts. `trace-cmd` and perf call one `print`.
    fn is_begin(&self, line: &Line<'_>) -> bool {
        let Some(text) = &self.settings.from else { return false };
        let is_it = |(name, fields): (&str, &str)| {
            matches!(name, "tracing_mark_write" | "print") && fields.contains(text)
        };
        line.event().is_some_and(is_it)
    }

    /// Why a folio leaves that a thread deletes.
    fn why(&self, thread: u32, is_kswapd: bool) -> Why {
        match self.reclaiming.contains(&thread) {
            true => Why::DirectReclaim,
            false if is_kswapd || self.kswapd.contains(&thread) => Why::Kswapd,
            false => Why::Truncation,
        }
    }

    /// What follows from all of it.
    ///
    /// # Errors
    /// [`PlanError`]: that it does not say enough.
    pub fn finish(mut self) -> Result<Plan, PlanError> {
        if !self.rest.is_empty() {
            let line = std::mem::take(&mut self.rest);
            self.line(&line)?;
        }
        self.follow(u64::MAX, 0)?;
        let (counts, pages) = (&self.replay.counts, self.replay.recorded.pages);
        let deletes = counts.kswapd + counts.direct + counts.truncated;
        match self.unread {
            _ if self.lines == 0 => return Err(PlanError::Empty),
            _ if counts.events == 0 => return Err(PlanError::NoEvents { lines: self.lines }),
            _ if !self.is_counting => {
                let text = self.settings.from.unwrap_or_default();
                return Err(PlanError::NoMarker { text });
            }
            // One that is cut off is no other kernel.
            Some((_, line, text)) if pages < counts.unread => {
                return Err(PlanError::Format { line, text });
            }
            _ if pages == 0 => {
                let events = counts.events;
                return Err(match self.blocks {
                    Some(_) => PlanError::NoReads { events },
                    None => PlanError::NoCache { events },
                });
            }
            _ if self.blocks.is_some() && counts.kswapd == 0 => {
                return Err(PlanError::Fits { pages: counts.added });
            }
            _ if counts.kswapd + counts.direct == 0 => {
                return Err(PlanError::NoEviction { deletes });
            }
            _ => {}
        }
        let length = self.last - self.first.unwrap_or(self.last);
        let early = self.blocks.map(|blocks| blocks.early);
        Ok(Plan { early, ..Plan::new(self.replay, &self.settings, length) })
    }
}

/// Whether a thread of this name is kswapd.
fn is_name_of_kswapd(name: &str) -> bool {
    let number = name.strip_prefix("kswapd").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Of `140080/250280   #P:4`: how many events of a ring were overwritten by later ones.
fn overwritten(counts: &str) -> Option<u64> {
    let (kept, rest) = counts.trim().split_once('/')?;
    let written: u64 = rest.split_whitespace().next()?.parse().ok()?;
    written.checked_sub(kept.parse().ok()?)
}
