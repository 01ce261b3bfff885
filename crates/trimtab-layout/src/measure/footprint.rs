//! What one run touched of a section.

use super::curve::{area, curve};
use super::pages;
use trimtab_profile::Profile;
use trimtab_program::{Program, RangeSet, SectionId};

/// What one run touched of one section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footprint {
    /// Pages from the section's first to its last byte.
    pub pages_spanned: u64,
    /// Pages that hold an executed byte.
    pub touched: u64,
    /// Pages that the functions that ran would fill, whole and without gaps, with the executed bytes outside
    /// of any: the theoretical minimum of BOOST (2025), section 3.
    pub function_pages: u64,
    /// Pages that the executed bytes alone would fill.
    pub executed_pages: u64,
    /// Executed bytes.
    pub executed_bytes: u64,
    /// Functions in the section.
    pub functions: u64,
    /// Functions that ran.
    pub functions_executed: u64,
    /// Distinct pages touched after each first execution of a block; of a function where the
    /// profile knows no blocks.
    pub curve: Vec<u32>,
}

impl Footprint {
    /// Measures what `profile` touched of the section `id` of `program`.
    pub fn of(program: &Program<'_>, id: SectionId, profile: &Profile) -> Footprint {
        let section = program.section(id).range;
        let executed: RangeSet = profile.executed().within(section).collect();
        let ran = functions_run(program, id, profile);
        let events = profile
            .blocks()
            .iter()
            .map(|block| block.intersection(section))
            .filter(|block| !block.is_empty());
        Footprint {
            pages_spanned: pages::spanned(section),
            touched: pages::touched(&executed).len() as u64,
            function_pages: pages::minimum(ran.bytes()),
            executed_pages: pages::minimum(executed.bytes()),
            executed_bytes: executed.bytes(),
            functions: program.functions().iter().filter(|f| f.section == id).count() as u64,
            functions_executed: profile
                .functions()
                .iter()
                .filter(|executed| program.function(executed.function).section == id)
                .count() as u64,
            curve: curve(events),
        }
    }

    /// The area under the page-fault curve, in pages × events.
    pub fn curve_area(&self) -> u64 {
        area(&self.curve)
    }
}

/// What of the section `id` has to be in memory where functions stay whole: those that ran, and what was executed
/// outside of any, as code of assembly whose symbols have no size.
pub fn functions_run(program: &Program<'_>, id: SectionId, profile: &Profile) -> RangeSet {
    profile
        .functions()
        .iter()
        .map(|executed| program.function(executed.function))
        .filter(|function| function.section == id)
        .map(|function| function.range)
        .chain(profile.executed().within(program.section(id).range))
        .collect()
}
