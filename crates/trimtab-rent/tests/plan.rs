//! Traces are replayed as a kernel with rental memory would have gone on: compared with single pools that are
//! followed copy by copy.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write;

use proptest::prelude::*;
use trimtab_rent::plan::{Counts, Plan, PlanError, Planner, Policy, Pool, Settings};

/// Events of a page cache, a line each.
#[derive(Default)]
struct Text {
    text: String,
    time: u64,
}

impl Text {
    fn line(&mut self, thread: &str, event: &str) {
        self.time += 3;
        let (seconds, parts) = (self.time / 1_000_000, self.time % 1_000_000);
        writeln!(self.text, "{thread} [000] d..1. {seconds}.{parts:06}: {event}").unwrap();
    }

    fn page(&mut self, thread: &str, event: &str, (inode, index): (u64, u64)) {
        let (frame, offset) = (inode << 20 | index, index << 12);
        let fields = format!("dev 254:0 ino {inode:x} pfn=0x{frame:x} ofs={offset} order=0");
        self.line(thread, &format!("mm_filemap_{event}_page_cache: {fields}"));
    }

    fn add(&mut self, page: (u64, u64)) {
        self.page("fio-7", "add_to", page);
    }

    fn evict(&mut self, page: (u64, u64)) {
        self.page("kswapd0-42", "delete_from", page);
    }

    fn truncate(&mut self, page: (u64, u64)) {
        self.page("rm-9", "delete_from", page);
    }
}

fn settings(pools: &[u32]) -> Settings {
    Settings {
        page_size: 4096,
        pools: pools.to_vec(),
        copy_nanoseconds: 1000.0,
        normal: None,
        from: None,
    }
}

fn read(text: &str, pools: &[u32]) -> Result<Plan, PlanError> {
    let mut planner = Planner::new(settings(pools));
    planner.feed(text.as_bytes())?;
    planner.finish()
}

fn pool(plan: &Plan, slots: u32, policy: Policy) -> &Pool {
    let mib = f64::from(slots) / 256.0;
    plan.pools.iter().find(|pool| pool.mib == mib && pool.policy == policy).unwrap()
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Use(u64, u64),
    Truncate(u64, u64),
    Remove(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        20 => (1..4_u64, 0..12_u64).prop_map(|(inode, index)| Step::Use(inode, index)),
        2 => (1..4_u64, 0..12_u64).prop_map(|(inode, index)| Step::Truncate(inode, index)),
        1 => (1..4_u64).prop_map(Step::Remove),
    ];
    prop::collection::vec(step, 1..400)
}

/// Normal memory that drops what was used least recently, as it writes a trace.
struct Normal {
    frames: usize,
    pages: VecDeque<(u64, u64)>,
    trace: Text,
    events: Vec<Event>,
    /// Whether the trace says which files go.
    has_files: bool,
}

/// What single pools see.
#[derive(Debug, Clone, Copy)]
enum Event {
    Add((u64, u64)),
    Evict((u64, u64)),
    DropFile(u64),
}

impl Normal {
    fn step(&mut self, step: Step) {
        match step {
            Step::Use(inode, index) => {
                let page = (inode, index);
                match self.pages.iter().position(|one| *one == page) {
                    Some(at) => drop(self.pages.remove(at)),
                    None => {
                        if self.pages.len() == self.frames {
                            let old = self.pages.pop_front().unwrap();
                            self.trace.evict(old);
                            self.events.push(Event::Evict(old));
                        }
                        self.trace.add(page);
                        self.events.push(Event::Add(page));
                    }
                }
                self.pages.push_back(page);
            }
            Step::Truncate(inode, index) => {
                let page = (inode, index);
                if let Some(at) = self.pages.iter().position(|one| *one == page) {
                    self.pages.remove(at);
                    self.trace.truncate(page);
                    let is_empty = self.pages.iter().all(|(other, _)| *other != inode);
                    if is_empty && !self.has_files {
                        self.events.push(Event::DropFile(inode));
                    }
                }
            }
            Step::Remove(inode) => {
                for index in 0..12 {
                    self.step(Step::Truncate(inode, index));
                }
                self.trace.line("rm-9", &format!("ext4_free_inode: dev 254,0 ino {inode} mode 0"));
                self.events.push(Event::DropFile(inode));
                self.has_files = true;
            }
        }
    }

    fn new(frames: usize) -> Self {
        let (pages, trace, events) = Default::default();
        Self { frames, pages, trace, events, has_files: false }
    }
}

/// Hits and stores of one pool, copy by copy.
fn single(events: &[Event], slots: usize, policy: Policy) -> (u64, u64) {
    let mut copies: VecDeque<(u64, u64)> = VecDeque::new();
    let mut evictions: HashMap<(u64, u64), u32> = HashMap::new();
    let (mut hits, mut stores) = (0, 0);
    for event in events {
        match *event {
            Event::Add(page) => {
                if let Some(at) = copies.iter().position(|copy| *copy == page) {
                    copies.remove(at);
                    hits += 1;
                }
            }
            Event::Evict(page) => {
                let times = evictions.entry(page).or_default();
                *times += 1;
                if policy == Policy::All || *times >= 2 {
                    if copies.len() == slots {
                        copies.pop_front();
                    }
                    copies.push_back(page);
                    stores += 1;
                }
            }
            // What the kernel knows of evictions stays.
            Event::DropFile(inode) => copies.retain(|copy| copy.0 != inode),
        }
    }
    (hits, stores)
}

proptest! {
    #[test]
    fn all_pools_are_as_each_alone(steps in steps(), frames in 1..12_usize, split in 0..5000_usize) {
        let mut normal = Normal::new(frames);
        steps.into_iter().for_each(|step| normal.step(step));
        // One file that is always there, so that something is evicted.
        normal.trace.evict((9, 0));
        normal.events.push(Event::Evict((9, 0)));
        let sizes: Vec<u32> = (1..40).collect();
        let text = normal.trace.text.as_bytes();
        let (one, other) = text.split_at(split.min(text.len()));
        let mut planner = Planner::new(settings(&sizes));
        planner.feed(one).unwrap();
        planner.feed(other).unwrap();
        let plan = planner.finish().unwrap();
        for slots in sizes {
            for policy in [Policy::All, Policy::Twice] {
                let found = pool(&plan, slots, policy);
                let expected = single(&normal.events, slots as usize, policy);
                prop_assert_eq!((found.hits, found.stores), expected, "{} {:?}", slots, policy);
                prop_assert_eq!(found.copies, found.hits + found.stores);
            }
        }
    }
}

/// Reads pages in turn, with an LRU of `frames`.
fn turns(pages: u64, rounds: u64, frames: usize) -> Text {
    let mut normal = Normal::new(frames);
    for index in (0..rounds).flat_map(|_| 0..pages) {
        normal.step(Step::Use(12, index));
        let range = format!("{}-{}", index << 12, (index << 12) + 4095);
        normal.trace.line("fio-7", &format!("mm_filemap_get_pages: dev=254:0 ino=c ofs={range}"));
    }
    normal.trace
}

#[test]
fn a_loop_over_more_than_memory_needs_the_difference() {
    let plan = read(&turns(300, 4, 100).text, &[64, 200, 201, 256]).unwrap();
    assert_eq!(plan.counts.added, 1200);
    assert_eq!(plan.counts.returned, 900);
    assert!(plan.warnings().iter().all(|text| !text.contains("reads were not recorded")));
    // Pages that are in the pool when all are somewhere stay there, and are read there in each round; the others stay in
    // normal memory. One page leaves before the next comes, so that one of both has to have room for one more.
    for (slots, saved) in [(64, 0_u32), (200, 0), (201, 900), (256, 900)] {
        let pool = pool(&plan, slots, Policy::All);
        assert_eq!(pool.misses_saved_mib, f64::from(saved) / 256.0, "{slots}");
        assert_eq!(pool.hits, u64::from(saved) * 201 / 300, "{slots}");
        assert_eq!(pool.hits_in_place, pool.hits, "{slots}");
        assert_eq!(pool.hit_ratio, Some(f64::from(saved) / 1200.0));
        // One memory of both sizes drops the same pages.
        assert_eq!(pool.lru_hit_ratio, pool.hit_ratio, "{slots}");
    }
    // What is larger gains no more, what is smaller nothing.
    assert_eq!(plan.recommended.unwrap().mib, 201.0 / 256.0);
    assert_eq!(read(&turns(300, 4, 100).text, &[64]).unwrap().recommended, None);
}

#[test]
fn a_stream_that_is_read_once_hides_no_pages_that_are_read_again() {
    let mut normal = Normal::new(50);
    for round in 0..10 {
        (0..60).for_each(|index| normal.step(Step::Use(12, index)));
        (0..1000).for_each(|index| normal.step(Step::Use(13, 1000 * round + index)));
    }
    let plan = read(&normal.trace.text, &[128, 256]).unwrap();
    assert_eq!(pool(&plan, 256, Policy::All).hits, 0, "the stream flushes it");
    assert!(pool(&plan, 256, Policy::Twice).hits >= 400, "{:?}", plan.pools);
    let recommended = plan.recommended.unwrap();
    assert_eq!((recommended.mib, recommended.policy), (0.5, Policy::Twice));
}

#[test]
fn what_was_active_is_stored_and_would_be_activated() {
    let mut trace = Text::default();
    let page = |index| (12, index);
    for index in 0..8 {
        trace.add(page(index));
        let frame = 12 << 20 | index;
        if index % 2 == 0 {
            trace.line("fio-7", &format!("mm_lru_activate: folio=0 pfn=0x{frame:x}"));
        }
    }
    (0..8).for_each(|index| trace.evict(page(index)));
    (0..8).for_each(|index| trace.add(page(index)));
    let text = trace.text.clone();
    let plan = read(&text, &[4, 8]).unwrap();
    let workingset = pool(&plan, 8, Policy::Workingset);
    assert_eq!((workingset.hits, workingset.stores), (4, 4));
    assert_eq!(pool(&plan, 8, Policy::All).hits, 8);
    // All came back; before that, half of them were active.
    assert_eq!(pool(&plan, 8, Policy::All).activation.most_pages, 0);
    let end = text.lines().position(|line| line.contains("add_to") && line.contains("0.000060"));
    let lines: Vec<&str> = text.lines().take(end.unwrap_or(20)).collect();
    let plan = read(&lines.join("\n"), &[4, 8]).unwrap();
    assert_eq!(pool(&plan, 8, Policy::All).activation.most_pages, 4);
    assert_eq!(pool(&plan, 4, Policy::All).activation.most_pages, 2);
}

#[test]
fn direct_reclaim_is_between_its_begin_and_end() {
    let mut trace = Text::default();
    (0..4).for_each(|index| trace.add((12, index)));
    trace.line("cc1-5", "mm_vmscan_direct_reclaim_begin: order=0 gfp_flags=GFP_KERNEL");
    trace.page("cc1-5", "delete_from", (12, 0));
    trace.page("rm-6", "delete_from", (12, 1));
    trace.line("cc1-5", "mm_vmscan_direct_reclaim_end: nr_reclaimed=1");
    trace.page("cc1-5", "delete_from", (12, 2));
    // Its thread is known by this where its name is not.
    trace.line("<...>-8", "mm_vmscan_kswapd_wake: nid=0 order=0");
    trace.page("<...>-8", "delete_from", (12, 3));
    let counts = read(&trace.text, &[8]).unwrap().counts;
    assert_eq!((counts.direct, counts.kswapd, counts.truncated), (1, 1, 2));
    assert_eq!(counts.reclaims, 1);
}

#[test]
fn folios_of_several_pages_and_files_without_a_device_are_not_stored() {
    let mut trace = Text::default();
    let large = "dev 254:0 ino c pfn=0x100 ofs=0 order=2";
    trace.line("fio-7", &format!("mm_filemap_add_to_page_cache: {large}"));
    trace.line("kswapd0-42", &format!("mm_filemap_delete_from_page_cache: {large}"));
    let network = "dev 0:44 ino c pfn=0x200 ofs=0 order=0";
    trace.line("fio-7", &format!("mm_filemap_add_to_page_cache: {network}"));
    trace.line("kswapd0-42", &format!("mm_filemap_delete_from_page_cache: {network}"));
    trace.evict((13, 0));
    let plan = read(&trace.text, &[8]).unwrap();
    assert_eq!((plan.counts.large, plan.counts.unsuited, plan.counts.older), (4, 1, 1));
    assert_eq!(pool(&plan, 8, Policy::All).stores, 1);
    let warnings = plan.warnings().join("\n");
    for said in ["67 % of what was evicted is of large folios", "17 %", "guessed"] {
        assert!(warnings.contains(said), "{said}: {warnings}");
    }
}

#[test]
fn an_inode_number_that_is_used_again_is_another_file() {
    let mut trace = Text::default();
    (0..4).for_each(|index| trace.add((12, index)));
    (0..4).for_each(|index| trace.evict((12, index)));
    let before = trace.text.clone();
    (0..4).for_each(|index| trace.add((12, index)));
    assert_eq!(pool(&read(&trace.text, &[8]).unwrap(), 8, Policy::All).hits, 4);
    trace.text = before;
    trace.line("rm-9", "ext4_free_inode: dev 254,0 ino 12 mode 0100644 uid 0 gid 0 blocks 0");
    (0..4).for_each(|index| trace.add((12, index)));
    let plan = read(&trace.text, &[8]).unwrap();
    assert_eq!((pool(&plan, 8, Policy::All).hits, plan.counts.gone), (0, 1));
    assert_eq!(plan.counts.returned, 0);
    // Or it comes again although nobody saw it leave.
    (0..2).for_each(|index| trace.add((12, index)));
    let plan = read(&trace.text, &[8]).unwrap();
    assert_eq!(plan.counts.twice, 2);
    assert!(
        plan.warnings().iter().any(|warning| warning.contains("an inode number was used again"))
    );
}

#[test]
fn that_a_file_is_gone_is_inferred_only_where_no_events_say_it() {
    let mut trace = Text::default();
    (0..2).for_each(|index| trace.add((12, index)));
    trace.evict((12, 0));
    let other = |trace: &mut Text| trace.line("rm-9", "ext4_evict_inode: dev 254,0 ino 99 nlink 0");
    let read_on = |mut trace: Text| {
        // The last page that it has is not needed any more, but it stays.
        trace.truncate((12, 1));
        trace.add((12, 0));
        read(&trace.text, &[8]).unwrap()
    };
    let text = trace.text.clone();
    let inferred = read_on(trace);
    assert_eq!((pool(&inferred, 8, Policy::All).hits, inferred.counts.inferred), (0, 1));
    let mut trace = Text { time: 100, text };
    other(&mut trace);
    let said = read_on(trace);
    assert_eq!((pool(&said, 8, Policy::All).hits, said.counts.inferred), (1, 0));
    let advice = |plan: &Plan| plan.warnings().iter().any(|text| text.contains("ext4_free_inode"));
    assert!(advice(&inferred) && !advice(&said), "{:?}", said.warnings());
}

#[test]
fn each_bad_trace_says_what_is_wrong_with_it() {
    let mut trace = Text::default();
    (0..4).for_each(|index| trace.add((12, index)));
    let added = trace.text.clone();
    trace.evict((12, 0));
    let good = trace.text.clone();
    let error = |text: &str| read(text, &[8]).unwrap_err();
    assert_eq!(error(""), PlanError::Empty);
    assert_eq!(error("words\n"), PlanError::NoEvents { lines: 1 });
    assert_eq!(error("a-1 [000] 1.0: sched_switch: x"), PlanError::NoCache { events: 1 });
    assert_eq!(error(&added), PlanError::NoEviction { deletes: 0 });
    assert_eq!(error(&format!("{good}CPU:1 [LOST 77 EVENTS]\n")), PlanError::Lost { line: 6 });
    let parts = format!("{good}a-1 [000] 0.010019: x: y\n{good}");
    assert_eq!(error(&parts), PlanError::Unordered { line: 7 });
    assert_eq!(error("a\nb\0c\n"), PlanError::NotText { line: 2 });
    assert_eq!(error("DDD\0"), PlanError::NotText { line: 1 });
    let other = "a-1 [000] 1.0: mm_filemap_add_to_page_cache: inode=c index=1\n";
    let PlanError::Format { line: 1, text } = error(other) else { panic!("{:?}", error(other)) };
    assert!(text.contains("inode=c"));
    let said: HashSet<&str> = ["", "words\n", &added, other].map(|text| error(text).hint()).into();
    assert_eq!(said.len(), 3, "{said:?}");
    // One line that is cut off is only left out.
    let plan = read(&format!("{good}{}", other.replace("1.0", "2.0")), &[8]).unwrap();
    assert_eq!(plan.counts.unread, 1);
    assert!(plan.warnings().iter().any(|warning| warning.starts_with("1 events cannot be read")));
    let header = "# entries-in-buffer/entries-written: 5/77   #P:4\n";
    let plan = read(&format!("{header}{good}"), &[8]).unwrap();
    assert_eq!(plan.counts.overwritten, 72);
    // Nor is one that is longer than any event.
    let plan = read(&format!("{}\n{good}", "x".repeat(100_000)), &[8]).unwrap();
    assert_eq!(plan.counts.events, 5);
}

#[test]
fn what_several_cpus_print_is_put_in_order() {
    let trace = turns(300, 4, 100);
    let lines: Vec<&str> = trace.text.lines().collect();
    let expected = read(&trace.text, &[200, 201]).unwrap();
    // 3 µs from line to line: 9 ms and 12 ms back.
    let turned = |at_once: usize| -> String {
        let parts = lines.chunks(at_once).flat_map(|part| part.iter().rev());
        parts.map(|line| format!("{line}\n")).collect()
    };
    assert_eq!(read(&turned(3000), &[200, 201]), Ok(expected));
    assert!(matches!(read(&turned(4000), &[200]), Err(PlanError::Unordered { .. })));
    // Of very many at once not all are kept, and what comes too late then is said.
    let mut many = Text::default();
    (0..100_000).for_each(|index| many.add((13, index)));
    let text = many.text.replace(" 0.", " 0.000");
    let late = "a-1 [000] 0.000000001: mm_lru_activate: folio=0 pfn=0x1\n";
    assert_eq!(read(&format!("{text}{late}"), &[8]), Err(PlanError::Unordered { line: 100_001 }));
}

#[test]
fn text_without_end_is_refused_soon() {
    let mut planner = Planner::new(settings(&[8]));
    let piece = b"function_1\n".repeat(1000);
    let refused = (0..1000).find_map(|_| planner.feed(&piece).err());
    assert_eq!(refused, Some(PlanError::NoEvents { lines: 200_000 }));
    let mut planner = Planner::new(settings(&[8]));
    (0..1000).for_each(|_| planner.feed(&[b'x'; 1 << 20]).unwrap());
    assert!(planner.finish().is_err());
}

#[test]
fn a_real_trace_of_a_small_cgroup_is_read() {
    let text = include_str!("../../../testdata/rent/reads.txt");
    let plan = read(text, &[128, 256, 512]).unwrap();
    let counts =
        Counts { returned: plan.counts.returned, events: plan.counts.events, ..plan.counts };
    assert_eq!((counts.added, counts.kswapd + counts.direct, counts.accesses), (772, 532, 960));
    assert_eq!((counts.unread, counts.twice, counts.older, counts.truncated), (0, 0, 0, 0));
    // The file's 768 pages fit into what is left and 2 MiB: nothing is read twice.
    let all = pool(&plan, 512, Policy::All);
    assert_eq!((all.misses_saved_mib * 256.0) as u64, counts.returned, "{plan:?}");
    assert!(all.hits > 0 && all.hits_in_place == all.hits, "{plan:?}");
}

#[test]
fn reads_of_block_devices_are_replayed_with_a_page_cache_of_a_given_size() {
    let mut trace = Text::default();
    for round in 0..3 {
        for page in 0..300_u64 {
            trace.line("fio-7", &format!("block_rq_issue: 254,0 R 4096 () {} + 8 [fio]", 8 * page));
            // The same once more, and a write.
            trace.line("fio-7", &format!("block_bio_queue: 254,0 R {} + 8 [fio]", 8 * page));
            trace.line("fio-7", &format!("block_rq_issue: 254,0 WS 4096 () {round} + 8 [fio]"));
        }
    }
    let read = |normal, text: &str| {
        let mut planner = Planner::new(Settings { normal: Some(normal), ..settings(&[200, 201]) });
        planner.feed(text.as_bytes())?;
        planner.finish()
    };
    let plan = read(100, &trace.text).unwrap();
    assert_eq!((plan.counts.added, plan.early), (900, Some(0)));
    assert_eq!([200, 201].map(|slots| pool(&plan, slots, Policy::All).hits), [0, 600]);
    assert!(
        plan.warnings().iter().any(|warning| warning.contains("is guessed from what was read"))
    );
    // What is read cannot have been in memory.
    let plan = read(299, &trace.text).unwrap();
    assert_eq!(plan.early, Some(0));
    let plan = read(2, &trace.text.replace(" + 8 [", " + 16 [")).unwrap();
    assert_eq!(plan.early, Some(897));
    // When they left is not known: they count as returned, and no pool had them.
    assert_eq!(plan.counts.returned, 1800 - 301);
    assert_eq!([200, 201].map(|slots| pool(&plan, slots, Policy::All).hits), [0, 0]);
    assert!(plan.warnings().iter().any(|warning| warning.contains("give less as --memory")));
    assert_eq!(read(900, "a-1 [000] 1.0: x: y"), Err(PlanError::NoReads { events: 1 }));
    let once: Vec<&str> = trace.text.lines().take(600).collect();
    assert_eq!(read(900, &once.join("\n")), Err(PlanError::Fits { pages: 200 }));
}

#[test]
fn what_comes_before_a_marker_only_fills_the_pools() {
    let mut trace = Text::default();
    (0..4).for_each(|index| trace.add((12, index)));
    (0..4).for_each(|index| trace.evict((12, index)));
    trace.add((12, 0));
    trace.line("sh-3", "tracing_mark_write: begin fio");
    (1..4).for_each(|index| trace.add((12, index)));
    trace.evict((12, 0));
    trace.line("sh-3", "tracing_mark_write: begin fio");
    let read = |text: &str, from: &str| {
        let mut planner = Planner::new(Settings { from: Some(from.to_owned()), ..settings(&[8]) });
        planner.feed(text.as_bytes())?;
        planner.finish()
    };
    let plan = read(&trace.text, "begin").unwrap();
    let all = pool(&plan, 8, Policy::All);
    assert_eq!((all.hits, all.stores, plan.counts.added, plan.counts.kswapd), (3, 1, 3, 1));
    assert_eq!(plan.length, 15_000);
    let other = trace.text.replace("tracing_mark_write:", "print: tracing_mark_write:");
    assert_eq!(read(&other, "begin fio").unwrap().pools, plan.pools);
    // What was recorded before it was recorded: nothing says that it is another kernel or to record more.
    let mut warm = Text::default();
    warm.line("cc1-5", "mm_vmscan_direct_reclaim_begin: order=0 gfp_flags=GFP_KERNEL");
    warm.line("cc1-5", "mm_vmscan_direct_reclaim_end: nr_reclaimed=0");
    warm.line("fio-7", "mm_lru_activate: folio=0 pfn=0x99");
    warm.line("rm-9", "ext4_free_inode: dev 254,0 ino 99 mode 0");
    (0..40).for_each(|index| warm.add((13, index)));
    (0..20).for_each(|_| warm.line("fio-7", "mm_filemap_add_to_page_cache: dev 254:0 in"));
    let later = trace.text.replace(" 0.0000", " 0.0100");
    let mut end = Text { time: 20_000, text: warm.text + &later };
    end.truncate((12, 1));
    let warmed = read(&end.text, "begin").unwrap();
    assert_eq!((warmed.counts.unread, warmed.counts.added, warmed.counts.activations), (20, 3, 0));
    let warnings = warmed.warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].starts_with("20 events cannot be read"), "{warnings:?}");
    assert!(warnings[1].contains("reads were not recorded"), "{warnings:?}");
    let missing = read(&trace.text, "end").unwrap_err();
    assert_eq!(missing, PlanError::NoMarker { text: "end".to_owned() });
    assert!(missing.hint().contains("--from"));
}

#[test]
fn what_is_written_moves_to_normal_memory_and_what_is_read_does_not() {
    let mut normal = Normal::new(8);
    (0..16).for_each(|index| normal.step(Step::Use(12, index)));
    let read = |normal: &mut Normal, index: u64| {
        let range = format!("{}-{}", index << 12, (index << 12) + 4095);
        normal.trace.line("fio-7", &format!("mm_filemap_get_pages: dev=254:0 ino=c ofs={range}"));
    };
    read(&mut normal, 15);
    let write = |normal: &mut Normal, index: u64, length: u64| {
        let at = index << 12;
        let event = format!("ext4_da_write_begin: dev 254,0 ino 12 pos {at} len {length}");
        normal.trace.line("fio-7", &event);
        normal.step(Step::Use(12, index));
    };
    write(&mut normal, 0, 4096);
    write(&mut normal, 1, 100);
    for index in [2, 3] {
        normal.step(Step::Use(12, index));
        read(&mut normal, index);
    }
    // Once more, while the trace's memory still has it.
    write(&mut normal, 3, 4096);
    let plan = self::read(&normal.trace.text, &[64]).unwrap();
    let all = pool(&plan, 64, Policy::All);
    assert_eq!((all.hits, all.hits_in_place), (5, 2), "{all:?}");
    // Of 0 and 3 nothing is kept, of 1 something.
    assert_eq!(all.copies - all.stores, 1, "{all:?}");
}
