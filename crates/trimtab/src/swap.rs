//! Cold code swapping: reading a kernel and what it ran, and making placements of it.

pub mod run;
pub mod sweep;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use trimtab_layout::paged::{PageProblem, PagedPiece, Pages, Places, packings};
use trimtab_layout::{Edge, paged};
use trimtab_link::SPLIT_FLAGS;
use trimtab_machine::kernel::{BlockList, Splits};
use trimtab_program::{BlockMap, BlockMapError, Fragments, PAGE_SIZE, Program};
use trimtab_swap::{
    Bytes, Class, Code, Granularity, Heat, Hot, ObjectList, Patched, Plan, Planned, PlannedData,
    Replay, Residence, Returns, Run, Sites, Threshold, Units, cold_data, duplication, links,
    object_lists, pieces,
};

use crate::cli;
use trimtab_inputs::{self as inputs, Elf, Runs, Text};
use trimtab_lab::failure::Failure;
use trimtab_lab::observe::Observe;
use trimtab_link::kernel::Mobility;

/// Names each function's sections after its parts, so that each can be placed alone.
const SECTIONS: &str = "-funique-basic-block-section-names";

/// What a plan or a sweep is made from.
#[derive(Debug, Args)]
pub struct Inputs {
    /// The linked kernel with its symbols: vmlinux
    #[arg(value_name = "VMLINUX")]
    pub kernel: PathBuf,
    /// A stream of every block that a boot of this very build executed; more than one are taken
    /// together
    #[arg(long, value_name = "FILE", required = true, num_args = 1)]
    pub trace: Vec<PathBuf>,
    /// The linker's map of the kernel: gives its input sections exactly
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// How finely code is taken apart
    #[arg(long, value_name = "WHAT", default_value = "function")]
    pub granularity: Grain,
    /// What can patch code at run time and is never used: without it all that it could patch stays
    /// in memory
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub never_patched: Vec<Patcher>,
    /// Swapping begins when this function runs first; what ran before does not count [default:
    /// coldswap_activate, else mark_rodata_ro, mark_readonly or free_initmem]
    #[arg(long, value_name = "FUNCTION")]
    pub from: Option<String>,
    /// The least share of each trace that has to be found in the kernel, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = cli::MIN_COVERAGE, value_parser = cli::share)]
    pub min_coverage: f64,
}

/// How finely code is taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Grain {
    /// Whole input sections
    Function,
    /// Hot, warm and frozen parts of functions; the kernel needs clang's map of its blocks
    Block,
}

/// What can patch code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Patcher {
    /// The function tracer
    Ftrace,
    /// Jump labels
    JumpLabels,
    /// Static calls
    StaticCalls,
    /// Lock prefixes: boot with noreplace-smp
    SmpLocks,
}

impl Grain {
    /// As it is given.
    pub fn name(self) -> &'static str {
        match self {
            Grain::Function => "function",
            Grain::Block => "block",
        }
    }
}

impl From<Grain> for Granularity {
    fn from(grain: Grain) -> Self {
        match grain {
            Grain::Function => Granularity::Function,
            Grain::Block => Granularity::Block,
        }
    }
}

impl From<Patcher> for Patched {
    fn from(kind: Patcher) -> Self {
        match kind {
            Patcher::Ftrace => Patched::Ftrace,
            Patcher::JumpLabels => Patched::JumpLabels,
            Patcher::StaticCalls => Patched::StaticCalls,
            Patcher::SmpLocks => Patched::SmpLocks,
        }
    }
}

/// Files of a kernel, read.
pub struct Files {
    elf: Elf,
    map: Option<Text>,
}

impl Files {
    /// Reads them.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn open(inputs: &Inputs) -> anyhow::Result<Self> {
        let elf = Elf::open(&inputs.kernel)?;
        let map = inputs.map.as_deref().map(Text::of_map).transpose()?;
        Ok(Self { elf, map })
    }

    /// The kernel's content.
    pub fn bytes(&self) -> &[u8] {
        self.elf.bytes()
    }

    /// The kernel's file.
    pub fn path(&self) -> &Path {
        self.elf.path()
    }

    /// The kernel.
    ///
    /// # Errors
    /// That it is no linked program.
    pub fn program(&self) -> anyhow::Result<Program<'_>> {
        self.elf.program()
    }
}

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

/// Reads the map of blocks, if there is one; there has to be one for `granularity` block.
///
/// # Errors
/// A damaged map, or none where one is needed.
pub fn block_map(files: &Files, grain: Grain) -> anyhow::Result<Option<BlockMap>> {
    match BlockMap::parse(files.bytes()) {
        Ok(map) => Ok(Some(map)),
        Err(BlockMapError::Missing) if grain == Grain::Function => Ok(None),
        Err(error) => Err(error).with_context(|| files.path().display().to_string()),
    }
}

/// Reads traces, all of which have to be streams.
///
/// # Errors
/// Files that cannot be read, and traces of first executions only.
pub fn runs(paths: &[PathBuf], program: &Program<'_>, min_coverage: f64) -> anyhow::Result<Runs> {
    let runs = Runs::read(paths, program, min_coverage, crate::formats::ALL)?;
    if let Some(run) = runs.runs.iter().find(|run| !run.complete) {
        return Err(Failure::new(format!(
            "{} says only what ran first; expected a stream of every execution, from which it is \
             known how often code runs and what it runs together with",
            run.path.display()
        ))
        .hint("record one with trimtab trace --stream FILE")
        .into());
    }
    Ok(runs)
}

/// Streams that count from where swapping begins.
///
/// # Errors
/// That there is no such function, or none of it ran.
pub fn counted<'a>(
    runs: &'a Runs,
    code: &Code<'_>,
    from: Option<&str>,
) -> anyhow::Result<(Vec<Run<'a>>, String)> {
    let streams: Vec<_> = runs.streams()?.into_iter().flatten().collect();
    Ok(Run::all_after(streams, code, from)?)
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
        let section = inputs::section(program, files.path(), None)?;
        let map = files.map.as_ref().map(|text| text.link_map()).transpose()?;
        let with_map = map.as_ref().zip(inputs.map.as_deref());
        let fragments = inputs::fragments(program, with_map, section)?;
        let data = map.as_ref().map(cold_data).unwrap_or_default();
        let stage = progress.stage("count what ran");
        let (runs, from) = counted(training, code, inputs.from.as_deref())?;
        let heat = Heat::of(code, &runs);
        stage.done("");
        let stage = progress.stage("find what must stay in memory");
        let sites = Sites::of(program)?;
        let residence = Residence::of(code, &fragments, &sites, &never(inputs), &runs)?;
        stage.done("");
        Ok(Self {
            code,
            fragments,
            residence,
            heat,
            data,
            runs,
            from,
            granularity: inputs.granularity.into(),
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
            pieces,
            edges,
            replays,
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

/// What can patch code and is promised not to be used.
pub fn never(inputs: &Inputs) -> Vec<Patched> {
    let mut kinds: Vec<Patched> = inputs.never_patched.iter().map(|kind| (*kind).into()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// What the compiler is told of the blocks of each object.
#[derive(Debug, Default)]
pub struct Lists {
    lists: Vec<BlockList>,
    flags: String,
}

impl Lists {
    /// None, if no function is taken apart.
    pub fn splits(&self) -> Option<Splits<'_>> {
        let splits = Splits { lists: &self.lists, flags: &self.flags, first: &[] };
        (!self.lists.is_empty()).then_some(splits)
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

/// A kernel divided into core, base and swappable code.
pub struct Divided<'a> {
    /// The kernel.
    pub kernel: &'a Kernel<'a>,
    /// The share of all executed instructions that is hot.
    pub share: f64,
    /// What is hot.
    pub threshold: Threshold,
    /// What comes back at least so often stays, too; 0 where nothing does for that.
    pub least: u64,
    /// All pieces.
    pub units: Units,
    /// What the runs need of swappable code.
    pub replays: Vec<Replay>,
    pieces: Vec<PagedPiece>,
    edges: Vec<Edge>,
    references: Vec<Vec<u32>>,
}

impl Divided<'_> {
    /// The problem of placing the swappable pieces.
    pub fn problem(&self) -> PageProblem<'_> {
        PageProblem {
            pieces: &self.pieces,
            edges: &self.edges,
            references: &self.references,
            page: PAGE_SIZE,
        }
    }

    /// Places the swappable pieces.
    pub fn place(&self, packing: &dyn paged::Packing) -> (Pages, Places) {
        let problem = self.problem();
        let pages = packing.pack(&problem);
        let places = pages.places(&problem);
        (pages, places)
    }

    /// Places the swappable pieces for a cache of `frames`, and makes the plan; where they lie comes
    /// with it.
    ///
    /// # Errors
    /// A kernel of which nothing can be swapped.
    pub fn plan(
        &self,
        files: &Files,
        inputs: &Inputs,
        packing: &dyn paged::Packing,
        frames: usize,
    ) -> anyhow::Result<(Plan, Places)> {
        let (pages, places) = self.place(packing);
        let kernel = self.kernel;
        let plan = Plan::new(&Planned {
            kernel: files.bytes(),
            code: kernel.code,
            residence: &kernel.residence,
            units: &self.units,
            granularity: kernel.granularity,
            share: self.share,
            threshold: self.threshold,
            least: self.least,
            placement: packing.name(),
            pages: &pages,
            places: &places,
            data: &kernel.data,
            frames,
            from: &kernel.from,
            never: &never(inputs),
            duplication: duplication(kernel.code, &self.units, &kernel.residence),
        })?;
        Ok((plan, places))
    }

    /// What the compiler is told, so that each part of a function can lie where the plan has it;
    /// nothing where whole functions are swapped.
    ///
    /// # Errors
    /// That it is not known of which object a function is.
    pub fn lists(&self) -> anyhow::Result<Lists> {
        if self.kernel.granularity == Granularity::Function {
            return Ok(Lists::default());
        }
        let objects = object_lists(self.kernel.code, &self.units)?.into_iter();
        let list = |list: ObjectList| BlockList { object: list.object, text: list.text };
        let flags = format!("{} {SECTIONS}", SPLIT_FLAGS.join(" "));
        Ok(Lists { lists: objects.map(list).collect(), flags })
    }

    /// How many pieces are swappable.
    pub fn swappable(&self) -> usize {
        self.units.as_slice().iter().filter(|unit| unit.class == Class::Swappable).count()
    }
}

/// The placement of this name.
///
/// # Errors
/// That there is none, and which there are.
pub fn packing(name: &str, frames: usize) -> Result<Box<dyn paged::Packing>, Failure> {
    let all = packings(frames);
    let names: Vec<&str> = all.iter().map(|packing| packing.name()).collect();
    let failure = Failure::usage(format!(
        "there is no placement {name}, expected {}; see --help",
        names.join(", ")
    ));
    all.into_iter().find(|packing| packing.name() == name).ok_or(failure)
}
