//! A kernel divided into core, base and swappable code, and placements of the latter.

use trimtab_layout::paged::{PageProblem, PagedPiece, Pages, Places};
use trimtab_layout::{Edge, PieceId, paged};
use trimtab_link::{BlockList, SPLIT_FLAGS, Splits};
use trimtab_program::PAGE_SIZE;

use crate::kernel_profile::KernelProfile;
use crate::plan::{ObjectList, Plan, PlanInputs, duplication, object_lists};
use crate::{Class, Granularity, PatchKind, Replay, SwapError, Threshold, Units};

/// Names each function's sections after its parts, so that each can be placed alone.
const SECTIONS: &str = "-funique-basic-block-section-names";

/// The block clusters of each object, for the compiler.
#[derive(Debug, Default)]
pub struct CompilerLists {
    lists: Vec<BlockList>,
    flags: String,
}

impl CompilerLists {
    /// None, if no function is taken apart.
    pub fn splits(&self) -> Option<Splits<'_>> {
        let splits = Splits { lists: &self.lists, flags: &self.flags, first: &[] };
        (!self.lists.is_empty()).then_some(splits)
    }
}

/// A kernel divided into core, base and swappable code.
pub struct Partition<'a> {
    /// The kernel.
    pub kernel: &'a KernelProfile<'a>,
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
    pub(crate) pieces: Vec<PagedPiece>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) references: Vec<Vec<PieceId>>,
}

impl Partition<'_> {
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
    /// with it. `file` is the content of the kernel's file; `never` can patch code and is promised not
    /// to be used, ascending, each once.
    ///
    /// # Errors
    /// [`SwapError::NothingSwappable`].
    pub fn plan(
        &self,
        file: &[u8],
        never: &[PatchKind],
        packing: &dyn paged::Packing,
        frames: usize,
    ) -> Result<(Plan, Places), SwapError> {
        let (pages, places) = self.place(packing);
        let kernel = self.kernel;
        let plan = Plan::new(&PlanInputs {
            kernel: file,
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
            never,
            duplication: duplication(kernel.code, &self.units, &kernel.residence),
        })?;
        Ok((plan, places))
    }

    /// The compiler's lists, by which each part of a function can lie where the plan has it;
    /// nothing where whole functions are swapped.
    ///
    /// # Errors
    /// [`SwapError::NoObjects`].
    pub fn lists(&self) -> Result<CompilerLists, SwapError> {
        if self.kernel.granularity == Granularity::Function {
            return Ok(CompilerLists::default());
        }
        let objects = object_lists(self.kernel.code, &self.units)?.into_iter();
        let list = |list: ObjectList| BlockList { object: list.object, text: list.text };
        let flags = format!("{} {SECTIONS}", SPLIT_FLAGS.join(" "));
        Ok(CompilerLists { lists: objects.map(list).collect(), flags })
    }

    /// How many pieces are swappable.
    pub fn swappable(&self) -> usize {
        self.units.as_slice().iter().filter(|unit| unit.class == Class::Swappable).count()
    }
}
