//! A kernel divided into core, base and swappable code, and placements of the latter.

use trimtab_lab::failure::Failure;
use trimtab_layout::paged::{PageProblem, PagedPiece, Pages, Places, packings};
use trimtab_layout::{Edge, PieceId, paged};
use trimtab_link::{BlockList, SPLIT_FLAGS, Splits};
use trimtab_program::PAGE_SIZE;

use super::inputs::{Files, Inputs};
use super::kernel::Kernel;
use crate::{
    Class, Granularity, ObjectList, Plan, Planned, Replay, Threshold, Units, duplication,
    object_lists,
};

/// Names each function's sections after its parts, so that each can be placed alone.
const SECTIONS: &str = "-funique-basic-block-section-names";

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
    pub(super) pieces: Vec<PagedPiece>,
    pub(super) edges: Vec<Edge>,
    pub(super) references: Vec<Vec<PieceId>>,
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
            never: &inputs.never(),
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
