//! How often each block ran, and which are hot.

use crate::SwapError;
use crate::code::{BlockId, Code};
use rayon::prelude::*;
use trimtab_profile::Stream;
use trimtab_program::{FunctionId, Range};

/// What one run executed once swapping had begun.
#[derive(Debug, Clone)]
pub struct Run<'data> {
    stream: Stream<'data>,
    /// Executions before that.
    before: u64,
}

/// Where swapping begins, if nobody says otherwise: where the kernel has it begin, in one that cannot
/// swap behind the last patch of its own text, and else where memory of initialization code is
/// released.
const BEGINNINGS: [&str; 4] =
    ["coldswap_activate", "mark_rodata_ro", "mark_readonly", "free_initmem"];

impl<'data> Run<'data> {
    /// A run of which all counts.
    pub fn whole(stream: Stream<'data>) -> Self {
        Run { stream, before: 0 }
    }

    /// A run that counts from the first execution of the function `from` on; of the first function
    /// that there is of those behind which a kernel can swap, if none is given. Gives its name, too;
    /// empty where there is none, and all counts.
    ///
    /// # Errors
    /// [`SwapError::NoSuchFunction`].
    pub fn after(
        stream: Stream<'data>,
        code: &Code<'_>,
        from: Option<&str>,
    ) -> Result<(Self, String), SwapError> {
        let program = code.program();
        let name = match from {
            Some(name) if program.lookup(name).is_empty() => {
                return Err(SwapError::NoSuchFunction { name: name.to_owned() });
            }
            Some(name) => name,
            None => match BEGINNINGS.iter().find(|name| !program.lookup(name).is_empty()) {
                Some(name) => name,
                None => return Ok((Self::whole(stream), String::new())),
            },
        };
        let entries: Vec<u64> =
            program.lookup(name).iter().map(|id| program.function(*id).range.start).collect();
        let begins: Vec<bool> = stream
            .blocks()
            .iter()
            .map(|block| {
                let range = Range::with_length(block.start, block.length.into());
                entries.iter().any(|entry| range.contains(*entry))
            })
            .collect();
        let before =
            stream.executions().take_while(|block| !begins[*block as usize]).count() as u64;
        Ok((Run { stream, before }, name.to_owned()))
    }

    /// Runs of one kernel that count from where swapping begins, and the function that it begins with.
    ///
    /// # Errors
    /// [`SwapError::NoSuchFunction`], and [`SwapError::NothingRan`] where a run does not get there.
    pub fn all_after(
        streams: Vec<Stream<'data>>,
        code: &Code<'_>,
        from: Option<&str>,
    ) -> Result<(Vec<Self>, String), SwapError> {
        let begun = |stream| {
            let (run, from) = Run::after(stream, code, from)?;
            match run.executions().next() {
                Some(_) => Ok((run, from)),
                None => Err(SwapError::NothingRan { from }),
            }
        };
        let runs: Vec<Result<(Self, String), SwapError>> =
            streams.into_par_iter().map(begun).collect();
        let mut from = String::new();
        let mut found = Vec::with_capacity(runs.len());
        for run in runs {
            let (run, begins) = run?;
            found.push(run);
            from = begins;
        }
        Ok((found, from))
    }

    /// The stream.
    pub fn stream(&self) -> &Stream<'data> {
        &self.stream
    }

    /// The blocks of the stream that ran, each time.
    pub fn executions(&self) -> impl Iterator<Item = u32> + use<'data> {
        let before = usize::try_from(self.before).unwrap_or(usize::MAX);
        self.stream.executions().skip(before)
    }
}

/// How often each block of a kernel ran.
#[derive(Debug, Clone)]
pub struct Heat {
    counts: Vec<u64>,
    scales: Vec<Scale>,
}

/// By what the counts of a run are multiplied, so that it weighs as much as the longest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    longest: u64,
    length: u64,
}

impl Scale {
    /// A count of the run, of the weight that it has among all. What was counted is never forgotten:
    /// a run is at most as long as the longest.
    pub fn apply(self, count: u64) -> u64 {
        let scaled = u128::from(count) * u128::from(self.longest) / u128::from(self.length.max(1));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

/// The blocks that stay in memory for speed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotBlocks {
    blocks: Vec<bool>,
}

impl HotBlocks {
    /// Whether a block is one of them.
    pub fn contains(&self, block: BlockId) -> bool {
        self.blocks.get(block.index()).copied().unwrap_or(false)
    }

    /// These, and those that `more` is true of.
    pub(crate) fn with(&self, more: impl Fn(BlockId) -> bool) -> HotBlocks {
        let all = self.blocks.iter().enumerate();
        HotBlocks { blocks: all.map(|(block, hot)| *hot || more(BlockId::at(block))).collect() }
    }
}

/// Which blocks are hot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    /// Blocks that ran at least so often are hot.
    pub count: u64,
    /// Instructions that ran in all.
    pub executed: u64,
    /// Instructions that ran in hot blocks.
    pub hot: u64,
}

impl Heat {
    /// Counts how often the first instruction of each block ran, in all runs. Each run weighs as much
    /// as the longest: what counts is how much of a workload a block is, not for how long the
    /// workload happened to be recorded.
    pub fn of(code: &Code<'_>, runs: &[Run<'_>]) -> Self {
        let counts: Vec<Vec<u64>> = runs
            .par_iter()
            .map(|run| {
                let mut counts = vec![0u64; run.stream().blocks().len()];
                run.executions().for_each(|block| counts[block as usize] += 1);
                counts
            })
            .collect();
        let lengths: Vec<u64> = runs
            .iter()
            .zip(&counts)
            .map(|(run, counts)| {
                let blocks = run.stream().blocks().iter().zip(counts);
                blocks.map(|(block, count)| u64::from(block.length).saturating_mul(*count)).sum()
            })
            .collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let scales: Vec<Scale> =
            lengths.into_iter().map(|length| Scale { longest, length }).collect();
        // What a tracer takes for a block can begin in the middle of one and span several.
        let mut changes: Vec<(u64, i128)> = Vec::new();
        for ((run, counts), scale) in runs.iter().zip(counts).zip(&scales) {
            let blocks = run.stream().blocks();
            for (block, count) in blocks.iter().zip(counts).filter(|(_, count)| *count > 0) {
                let count = i128::from(scale.apply(count));
                let end = block.start.saturating_add(block.length.into());
                changes.push((block.start, count));
                changes.push((end, -count));
            }
        }
        changes.sort_unstable();
        let mut changes = changes.into_iter().peekable();
        let mut running = 0i128;
        let counts = code.blocks().iter().map(|block| {
            while let Some((_, change)) = changes.next_if(|(at, _)| *at <= block.range.start) {
                running += change;
            }
            u64::try_from(running).unwrap_or(0)
        });
        Heat { counts: counts.collect(), scales }
    }

    /// By what counts of each run were multiplied.
    pub(crate) fn scales(&self) -> &[Scale] {
        &self.scales
    }

    /// The blocks that are hot at a threshold.
    pub fn hot(&self, threshold: Threshold) -> HotBlocks {
        let hot = |count: &u64| *count > 0 && *count >= threshold.count;
        HotBlocks { blocks: self.counts.iter().map(hot).collect() }
    }

    /// How often a block ran.
    pub fn count(&self, block: BlockId) -> u64 {
        self.counts.get(block.index()).copied().unwrap_or(0)
    }

    /// How often the block of a function ran that did so most.
    pub fn most(&self, code: &Code<'_>, function: FunctionId) -> u64 {
        code.blocks_of(function).map(|block| self.count(block)).max().unwrap_or(0)
    }

    /// Which blocks are hot: those that ran most often and together make up `share` (above 0, at most
    /// 1) of all instructions that ran.
    ///
    /// Source: Chanet et al., section 4.2, steps 1 to 4. As there, all blocks that ran as often as
    /// the last one needed are hot as well.
    ///
    /// # Errors
    /// [`SwapError::Threshold`].
    pub fn threshold(&self, code: &Code<'_>, share: f64) -> Result<Threshold, SwapError> {
        if !(share > 0.0 && share <= 1.0) {
            return Err(SwapError::Threshold { found: share });
        }
        let mut blocks: Vec<(u64, u64)> = code
            .blocks()
            .iter()
            .zip(&self.counts)
            .filter(|(_, count)| **count > 0)
            .map(|(block, count)| (*count, count.saturating_mul(block.instructions.into())))
            .collect();
        blocks.sort_unstable_by(|a, b| b.cmp(a));
        let executed: u64 = blocks.iter().map(|(_, weight)| weight).sum();
        let wanted = share * executed as f64;
        let mut sum = 0u64;
        let mut count = u64::MAX;
        for (ran, weight) in &blocks {
            if sum as f64 >= wanted && *ran < count {
                break;
            }
            sum += weight;
            count = *ran;
        }
        Ok(Threshold { count, executed, hot: sum })
    }
}
