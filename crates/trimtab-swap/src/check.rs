//! Whether a kernel that was linked by a plan can be swapped as it says: no code that must stay lies
//! between the bounds of the swappable code, and none refers to what lies between those of data.

use crate::plan::{Plan, PlanUnit, addresses};
use crate::units::Class;
use std::collections::{HashMap, HashSet};
use thiserror::Error;
use trimtab_profile::OF_ANOTHER_BUILD;
use trimtab_program::{PAGE_SIZE, Program, Range};
use trimtab_report::number;

/// Symbol before the first swappable page.
pub const START: &str = "__coldswap_start";
/// Symbol behind the last one.
pub const END: &str = "__coldswap_end";
/// Symbol before the first swappable page of read-only data.
pub const DATA_START: &str = "__coldswap_data_start";
/// Symbol behind the last one.
pub const DATA_END: &str = "__coldswap_data_end";

/// The least share of a plan's swappable code that a kernel must have under its name.
const LEAST_FOUND: f64 = 0.9;

/// Names that a message gives.
const NAMED: usize = 10;

/// Why the linked kernel must not be booted.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// The bounds are missing.
    #[error(
        "the kernel has no symbol {symbol}, expected one on either side of what is swappable; was \
         it built with cold code swapping and the plan's lists?"
    )]
    NoBounds {
        /// The symbol.
        symbol: &'static str,
    },
    /// The bounds do not bound pages.
    #[error(
        "what is swappable lies from {start:#x} to {end:#x}, expected whole pages of {PAGE_SIZE} \
         bytes; the linker script has to align both"
    )]
    Bounds {
        /// The first address.
        start: u64,
        /// That behind the last one.
        end: u64,
    },
    /// Code that must stay reads data that is to be swapped.
    #[error(
        "{count} functions that bringing a page back needs refer to data between {DATA_START} and \
         {DATA_END}: {names}; the kernel would hang in its first fault. Link again with the plan's \
         own lists"
    )]
    Data {
        /// How many.
        count: usize,
        /// The first of them.
        names: String,
    },
    /// The plan of another kernel.
    #[error(
        "the plan {id} {OF_ANOTHER_BUILD}: {found} of its swappable code is in this kernel, \
         expected at least {} %; plan this build again",
        LEAST_FOUND * 100.0
    )]
    OtherBuild {
        /// The plan's id.
        id: String,
        /// Share found, as percentage.
        found: String,
    },
    /// Code that must stay is to be swapped.
    #[error(
        "{count} functions between {START} and {END} must not be swapped out: {names}; the kernel \
         would hang in its first fault in one of them. Link again with the plan's own lists"
    )]
    Resident {
        /// How many.
        count: usize,
        /// The first of them.
        names: String,
    },
    /// Code of which the plan knows nothing is to be swapped.
    #[error(
        "{count} functions between {START} and {END} are not in the plan: {names}; nobody knows \
         whether they may be swapped out. Plan this build again"
    )]
    Unknown {
        /// How many.
        count: usize,
        /// The first of them.
        names: String,
    },
}

/// What a check found in a kernel that can be swapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSummary {
    /// Where the swappable code lies.
    pub range: Range,
    /// Functions in it.
    pub functions: u64,
    /// Swappable pieces of the plan that lie there.
    pub swappable: u64,
    /// Swappable pieces of the plan that lie elsewhere and so stay in memory.
    pub outside: u64,
    /// Pages of the plan of which all pieces share a page.
    pub pages_kept: u64,
    /// Pages of the plan.
    pub pages: u64,
    /// Bytes of swappable data; whole pages.
    pub data: u64,
}

/// Checks a linked kernel against the plan that it was linked by.
///
/// # Errors
/// [`Refusal`].
pub fn check(program: &Program<'_>, plan: &Plan) -> Result<LinkSummary, Refusal> {
    let range = bounds(program, START, END)?;
    let swappable: Vec<_> = plan.units_of(Class::Swappable);
    let found = swappable.iter().filter(|unit| !program.lookup(&unit.name).is_empty()).count();
    if (found as f64) < swappable.len() as f64 * LEAST_FOUND {
        let found = number::share_short(found as f64 / swappable.len().max(1) as f64);
        return Err(Refusal::OtherBuild { id: plan.id.clone(), found });
    }
    let inside = inside(program, plan, range)?;
    let (pages, pages_kept) = pages(program, &swappable);
    let here = swappable.iter().filter(|unit| inside.contains_key(unit.name.as_str())).count();
    let data = match plan.data.is_empty() {
        true => 0,
        false => data(program, plan)?.length(),
    };
    Ok(LinkSummary {
        range,
        functions: inside.values().sum(),
        swappable: here as u64,
        outside: (swappable.len() - here) as u64,
        pages_kept,
        pages,
        data,
    })
}

/// Functions of the swappable range, by name.
///
/// # Errors
/// That one lies there which the plan keeps in memory, or does not know.
fn inside<'a>(
    program: &Program<'a>,
    plan: &Plan,
    range: Range,
) -> Result<HashMap<&'a str, u64>, Refusal> {
    // Of each name how many swappable pieces the plan has: static functions share names.
    let mut known: HashMap<&str, u64> = HashMap::new();
    for unit in &plan.units {
        for name in std::iter::once(&unit.name).chain(&unit.also) {
            *known.entry(name).or_default() += u64::from(unit.class == Class::Swappable);
        }
    }
    let mut inside: HashMap<&str, u64> = HashMap::new();
    let (mut resident, mut unknown) = (Vec::new(), Vec::new());
    for id in program.functions_in(range) {
        let name = program.function(id).name;
        let count = inside.entry(name).or_default();
        *count += 1;
        match known.get(name) {
            None => unknown.push(name),
            Some(swappable) if *count > *swappable => resident.push(name),
            Some(_) => {}
        }
    }
    if !resident.is_empty() {
        return Err(Refusal::Resident { count: resident.len(), names: some(&resident) });
    }
    if !unknown.is_empty() {
        return Err(Refusal::Unknown { count: unknown.len(), names: some(&unknown) });
    }
    Ok(inside)
}

/// Pages of the plan, and those of which all pieces share a page of the program.
fn pages(program: &Program<'_>, swappable: &[&PlanUnit]) -> (u64, u64) {
    let (mut kept, mut pages) = (0, 0);
    for group in swappable.chunk_by(|a, b| a.page == b.page) {
        pages += 1;
        let mut page = None;
        // Of several functions of one name nobody knows which is which.
        let same = group.iter().filter(|unit| program.lookup(&unit.name).len() == 1).all(|unit| {
            let address = program.address_of(&unit.name).unwrap_or(0);
            *page.get_or_insert(address / PAGE_SIZE) == address / PAGE_SIZE
        });
        kept += u64::from(same);
    }
    (pages, kept)
}

fn bounds(program: &Program<'_>, start: &'static str, end: &'static str) -> Result<Range, Refusal> {
    let symbol = |symbol| program.address_of(symbol).ok_or(Refusal::NoBounds { symbol });
    let range = Range { start: symbol(start)?, end: symbol(end)? };
    let whole = |address: u64| address.is_multiple_of(PAGE_SIZE);
    match !range.is_empty() && whole(range.start) && whole(range.end) {
        true => Ok(range),
        false => Err(Refusal::Bounds { start: range.start, end: range.end }),
    }
}

/// Where the swappable data lies; no core code refers to it. The bound itself, where no data is, is what
/// the handler compares addresses with.
fn data(program: &Program<'_>, plan: &Plan) -> Result<Range, Refusal> {
    let range = bounds(program, DATA_START, DATA_END)?;
    let refers = |name: &&str| {
        program.lookup(name).iter().any(|function| {
            addresses(program, *function)
                .any(|address| address != range.start && range.contains(address))
        })
    };
    let core = plan.units.iter().filter(|unit| unit.class == Class::Core);
    let names: HashSet<&str> = core
        .flat_map(|unit| std::iter::once(&unit.name).chain(&unit.also))
        .map(String::as_str)
        .collect();
    let mut needing: Vec<&str> = names.into_iter().filter(refers).collect();
    needing.sort_unstable();
    match needing.is_empty() {
        true => Ok(range),
        false => Err(Refusal::Data { count: needing.len(), names: some(&needing) }),
    }
}

fn some(names: &[&str]) -> String {
    let mut text = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        text.push_str(&format!(" and {} more", names.len() - NAMED));
    }
    text
}
