//! A kernel and what ran in it, as far as it does not depend on a threshold.

use trimtab_inputs::Runs;
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;
use trimtab_link::kernel::Mobility;
use trimtab_program::{Fragments, PAGE_SIZE};

use super::Divided;
use super::inputs::{Files, Inputs, counted};
use crate::{
    Bytes, Class, Code, Granularity, Heat, Hot, PlannedData, Replay, Residence, Returns, Run,
    Sites, Units, cold_data, links, pieces,
};

/// A kernel and what ran in it, as far as it does not depend on a threshold.
pub struct Kernel<'a> {
    /// Its code.
    pub code: &'a Code<'a>,
    /// The input sections of its text.
    pub fragments: Fragments<'a>,
    /// What must stay in memory.
    pub residence: Residence,
    /// How often each block ran.
    pub heat: Heat,
    /// Read-only data that can be swapped, as far as a linker's map says what there is.
    pub data: Vec<PlannedData>,
    /// What ran.
    pub runs: Vec<Run<'a>>,
    /// The function from whose first execution on runs count.
    pub from: String,
    /// How finely code is taken apart.
    pub granularity: Granularity,
}

impl<'a> Kernel<'a> {
    /// Finds out what must stay in memory and how often everything ran.
    ///
    /// # Errors
    /// Damaged files, and programs that are no x86-64 kernel.
    pub fn read(
        files: &'a Files,
        inputs: &Inputs,
        code: &'a Code<'a>,
        training: &'a Runs,
        progress: &dyn Observe,
    ) -> anyhow::Result<Self> {
        let program = code.program();
        if !Mobility::of(program).is_kernel() {
            return Err(Failure::usage(format!(
                "{} is no Linux kernel: it has no symbols _stext, _etext and __sched_text_start",
                files.path().display()
            ))
            .into());
        }
        let section = trimtab_inputs::section(program, files.path(), None)?;
        let map = files.map.as_ref().map(|text| text.link_map()).transpose()?;
        let with_map = map.as_ref().zip(inputs.map.as_deref());
        let fragments = trimtab_inputs::fragments(program, with_map, section)?;
        let data = map.as_ref().map(cold_data).unwrap_or_default();
        let stage = progress.stage("count what ran");
        let (runs, from) = counted(training, code, inputs.from.as_deref())?;
        let heat = Heat::of(code, &runs);
        stage.done("");
        let stage = progress.stage("find what must stay in memory");
        let sites = Sites::of(program)?;
        let residence = Residence::of(code, &fragments, &sites, &inputs.never(), &runs)?;
        stage.done("");
        Ok(Self {
            code,
            fragments,
            residence,
            heat,
            data,
            runs,
            from,
            granularity: inputs.granularity,
        })
    }

    /// What becomes of everything at a threshold; where more may stay in memory, what comes back most
    /// often stays too.
    ///
    /// # Errors
    /// A threshold that is none.
    pub fn at(&self, share: f64, room: Option<Room>) -> anyhow::Result<Divided<'_>> {
        let threshold = self.heat.threshold(self.code, share)?;
        let hot = self.heat.hot(threshold);
        let (hot, least) = match room {
            None => (hot, 0),
            Some(room) => self.fill(hot, room),
        };
        let units = self.units(&hot);
        let pieces = pieces(self.code, &units);
        let edges = links(self.code, &units, &self.heat);
        let replays = Replay::all(self.code, &units, &self.runs);
        let references = replays.iter().map(Replay::references).collect();
        Ok(Divided {
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

    fn units(&self, hot: &Hot) -> Units {
        let Kernel { code, heat, residence, granularity, .. } = self;
        Units::of(code, &self.fragments, heat, hot, residence, *granularity)
    }

    /// Adds to what is hot what comes back most often, as far as there is room. Gives how often that
    /// is, too; 0 where there is none.
    fn fill(&self, hot: Hot, room: Room) -> (Hot, u64) {
        let cache = room.frames as u64 * PAGE_SIZE;
        let returns = Returns::of(self.code, &self.runs, &self.heat, &hot, cache / USED);
        let levels = returns.levels();
        let first = levels.partition_point(|least| {
            let units = self.units(&returns.added_to(&hot, *least));
            let pages = units.bytes(Class::Swappable).div_ceil(PAGE_SIZE);
            let bytes = Bytes::of(&units, pages, &self.data, room.frames);
            bytes.net_resident as f64 > room.share * bytes.original as f64
        });
        match levels.get(first) {
            Some(least) => (returns.added_to(&hot, *least), *least),
            None => (hot, 0),
        }
    }
}

/// How much code may stay in memory.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// The share of all code that stays, 0 to 1, with the cache and its tables.
    pub share: f64,
    /// Page frames of the cache.
    pub frames: usize,
}

/// Of a page that is loaded, one byte in so many was called for.
const USED: u64 = 2;
