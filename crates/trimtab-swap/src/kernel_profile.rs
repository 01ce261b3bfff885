//! A kernel and what ran in it, as far as it does not depend on a threshold.

use crate::partition::Partition;
use crate::plan::{Bytes, ColdData};
use crate::{
    Class, Code, Granularity, Heat, HotBlocks, Replay, Residence, Returns, Run, SwapError, Units,
    links, pieces,
};
use trimtab_program::{Fragments, PAGE_SIZE};

/// A kernel and what ran in it, as far as it does not depend on a threshold.
pub struct KernelProfile<'a> {
    /// Its code.
    pub code: &'a Code<'a>,
    /// The input sections of its text.
    pub fragments: Fragments<'a>,
    /// What must stay in memory.
    pub residence: Residence,
    /// How often each block ran.
    pub heat: Heat,
    /// Read-only data that can be swapped, as far as a linker's map says what there is.
    pub data: Vec<ColdData>,
    /// What ran.
    pub runs: Vec<Run<'a>>,
    /// The function from whose first execution on runs count.
    pub from: String,
    /// How finely code is taken apart.
    pub granularity: Granularity,
}

impl<'a> KernelProfile<'a> {
    /// What becomes of everything at a threshold; where more may stay in memory, what comes back most
    /// often stays too.
    ///
    /// # Errors
    /// [`SwapError::Threshold`].
    pub fn at(
        &self,
        share: f64,
        budget: Option<ResidentBudget>,
    ) -> Result<Partition<'_>, SwapError> {
        let threshold = self.heat.threshold(self.code, share)?;
        let hot = self.heat.hot(threshold);
        let (hot, least) = match budget {
            None => (hot, 0),
            Some(budget) => self.fill(hot, budget),
        };
        let units = self.units(&hot);
        let pieces = pieces(self.code, &units);
        let edges = links(self.code, &units, &self.heat);
        let replays = Replay::all(self.code, &units, &self.runs);
        let references = replays.iter().map(Replay::references).collect();
        Ok(Partition {
            kernel: self,
            share,
            threshold,
            least,
            units,
            replays,
            pieces,
            edges,
            references,
        })
    }

    fn units(&self, hot: &HotBlocks) -> Units {
        let KernelProfile { code, heat, residence, granularity, .. } = self;
        Units::of(code, &self.fragments, heat, hot, residence, *granularity)
    }

    /// Adds to what is hot what comes back most often, as far as the budget allows. Gives how often that
    /// is, too; 0 where it allows nothing more.
    ///
    /// The more often code has to come back to be kept, the less of it is: so the lowest level that keeps
    /// to the budget is found by a binary search over the levels that there are.
    fn fill(&self, hot: HotBlocks, budget: ResidentBudget) -> (HotBlocks, u64) {
        let cache = budget.frames as u64 * PAGE_SIZE;
        let capacity = cache / PAGE_BYTES_PER_USED_BYTE;
        let returns = Returns::of(self.code, &self.runs, &self.heat, &hot, capacity);
        let levels = returns.levels();
        let first = levels.partition_point(|least| {
            let units = self.units(&returns.added_to(&hot, *least));
            let pages = units.bytes(Class::Swappable).div_ceil(PAGE_SIZE);
            let bytes = Bytes::of(&units, pages, &self.data, budget.frames);
            bytes.net_resident as f64 > budget.share * bytes.original as f64
        });
        match levels.get(first) {
            Some(least) => (returns.added_to(&hot, *least), *least),
            None => (hot, 0),
        }
    }
}

/// How much code may stay in memory for speed.
#[derive(Debug, Clone, Copy)]
pub struct ResidentBudget {
    /// The share of all code that stays, 0 to 1, with the cache and its tables.
    pub share: f64,
    /// Page frames of the cache.
    pub frames: usize,
}

/// Of a page that is loaded, one byte in so many was needed.
const PAGE_BYTES_PER_USED_BYTE: u64 = 2;
