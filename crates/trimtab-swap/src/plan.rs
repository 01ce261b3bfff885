//! The plan: what becomes of each piece of code and where it is to lie, for people, for the linker
//! and for the kernel.

mod data;
mod duplication;
pub(crate) mod lists;

pub(crate) use data::addresses;
pub use data::{ColdData, cold_data};
pub use duplication::{Duplication, duplication};
pub use lists::{ObjectList, object_lists};

use crate::SwapError;
use crate::code::Code;
use crate::heat::Threshold;
use crate::residence::{End, PatchKind, Residence, Why};
use crate::units::{Class, Granularity, Part, Units};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fmt::Write;
use trimtab_layout::paged::{Pages, Places};
use trimtab_link::{is_plain, is_single_object};
use trimtab_program::PAGE_SIZE;

/// The schema's name; it has no other value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanSchema {
    /// `trimtab.swap.plan/1`.
    #[default]
    #[serde(rename = "trimtab.swap.plan/1")]
    V1,
}

/// A plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Always [`PlanSchema::V1`].
    pub schema: PlanSchema,
    /// SHA-256 of the kernel that was planned with, in hexadecimal: what a plan belongs to.
    pub id: String,
    /// How finely code was taken apart.
    pub granularity: Granularity,
    /// Share of all executed instructions that stays in memory, above 0, at most 1.
    pub threshold: f64,
    /// Blocks that ran at least so often are base.
    pub hotness: u64,
    /// Blocks that came back at least so often to a cache that had forgotten them are base as well;
    /// 0 where that was not asked for.
    #[serde(default)]
    pub returns: u64,
    /// How the pages were filled.
    pub placement: String,
    /// Page frames of the cache that it is for.
    pub frames: u64,
    /// Bytes of a page.
    pub page_size: u64,
    /// The function from whose first execution on runs counted; empty where all of them did.
    pub from: String,
    /// What can patch code and was promised not to be used.
    pub never_patched: Vec<String>,
    /// Whether the kernel has the handler that loads pages; without one the plan is an estimate.
    #[serde(default)]
    pub handler: bool,
    /// Bytes of each class.
    pub code_bytes: Bytes,
    /// Share of all executed instructions that ran in each class.
    pub executed: Shares,
    /// Swappable pages.
    pub pages: u64,
    /// Whether copies for initialization code would pay.
    pub duplication: Duplication,
    /// Core functions that call through pointers of which nothing is known.
    pub unresolved: Vec<String>,
    /// Functions that core code calls and that were not followed, by rule.
    pub ends: Vec<String>,
    /// Each such call, and why what it calls can be absent.
    #[serde(default)]
    pub exclusions: Vec<End>,
    /// Read-only data that is swapped as well.
    #[serde(default)]
    pub data: Vec<ColdData>,
    /// Each piece of code.
    pub units: Vec<PlanUnit>,
}

/// What a kernel's linker script includes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkerScript {
    /// Between `__coldswap_start` and `__coldswap_end`: the input sections of the swappable pages,
    /// each page from its boundary on.
    pub code: String,
    /// Between `__coldswap_data_start` and `__coldswap_data_end`: those of read-only data.
    pub data: String,
}

/// Bytes of code by what becomes of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// All that is not released when the kernel is up.
    pub original: u64,
    /// Never absent.
    pub core: u64,
    /// Stays for speed.
    pub base: u64,
    /// Is loaded when it is needed.
    pub swappable: u64,
    /// The cache's page frames.
    pub cache: u64,
    /// Page tables: what is swappable is mapped page by page.
    pub tables: u64,
    /// What the driver has for each swappable page.
    #[serde(default)]
    pub descriptors: u64,
    /// Read-only data that is loaded when it is needed; not part of the others.
    #[serde(default)]
    pub data: u64,
    /// What stays in memory in the end: core, base, cache, tables and descriptors.
    pub net_resident: u64,
    /// Released when the kernel is up.
    pub init: u64,
}

/// Shares of all executed instructions, 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    /// In core code.
    pub core: f64,
    /// In base code.
    pub base: f64,
    /// In swappable code.
    pub swappable: f64,
}

/// A piece of code and what becomes of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanUnit {
    /// Symbol at its start.
    pub name: String,
    /// Further functions in it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub also: Vec<String>,
    /// Its input section.
    pub section: String,
    /// The file that has the section, where a linker's map says it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// Which part of its function it is.
    pub part: Part,
    /// What becomes of it.
    pub class: Class,
    /// Length in bytes.
    pub size: u64,
    /// How often the block of it ran that did so most.
    pub count: u64,
    /// Why it is core, in a word; empty for all else.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub why: String,
    /// The swappable page on which it begins.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub page: Option<u64>,
    /// Offset in that page, in bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offset: Option<u64>,
    /// Numbers of the compiler's blocks that it has, where a function is taken apart.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub blocks: Vec<u32>,
}

/// All that a plan is made from.
#[derive(Debug, Clone, Copy)]
pub struct PlanInputs<'a> {
    /// The kernel's file.
    pub kernel: &'a [u8],
    /// Its code.
    pub code: &'a Code<'a>,
    /// What must stay.
    pub residence: &'a Residence,
    /// Its pieces.
    pub units: &'a Units,
    /// How finely they were taken apart.
    pub granularity: Granularity,
    /// Share of executed instructions that stays.
    pub share: f64,
    /// What followed from it.
    pub threshold: Threshold,
    /// How often a block has to come back to stay; 0 where that was not asked for.
    pub least: u64,
    /// Name of the placement.
    pub placement: &'a str,
    /// Its pages.
    pub pages: &'a Pages,
    /// Where they put each unit.
    pub places: &'a Places,
    /// Read-only data that is swapped.
    pub data: &'a [ColdData],
    /// Page frames of the cache.
    pub frames: usize,
    /// The function from which on runs counted.
    pub from: &'a str,
    /// What can patch code and was promised not to be used.
    pub never: &'a [PatchKind],
    /// What copies for initialization code would save.
    pub duplication: Duplication,
}

/// Bytes of `struct cold_page` in the driver.
const DESCRIPTOR: u64 = 24;

impl Bytes {
    /// Adds up the units, on so many swappable pages, swappable data, and a cache of so many frames.
    pub fn of(units: &Units, pages: u64, data: &[ColdData], frames: usize) -> Self {
        let [core, base, swappable, init] =
            [Class::Core, Class::Base, Class::Swappable, Class::Init]
                .map(|class| units.bytes(class));
        let cache = frames as u64 * PAGE_SIZE;
        let data = data.iter().map(|data| data.size).sum::<u64>();
        // A page table has an entry for each page of 2 MiB.
        let tables = |pages: u64| pages.div_ceil(PAGE_SIZE / 8) * PAGE_SIZE;
        let data_pages = data.div_ceil(PAGE_SIZE);
        let tables = tables(pages) + tables(data_pages);
        let descriptors = (pages + data_pages) * DESCRIPTOR;
        Bytes {
            original: core + base + swappable,
            core,
            base,
            swappable,
            cache,
            tables,
            descriptors,
            data,
            net_resident: core + base + cache + tables + descriptors,
            init,
        }
    }
}

impl PlanUnit {
    /// A unit of the plan's inputs, by its place among them.
    fn new(made: &PlanInputs<'_>, index: usize) -> Self {
        let unit = &made.units.as_slice()[index];
        let name = |id: &trimtab_program::FunctionId| made.code.name(*id).to_owned();
        let offset = made.places.offsets.get(index).copied().flatten();
        PlanUnit {
            name: unit.name.clone(),
            also: unit.functions.iter().skip(1).map(name).collect(),
            section: unit.section.clone(),
            file: unit.file.clone(),
            part: unit.part,
            class: unit.class,
            size: unit.size,
            count: unit.count,
            why: match unit.class {
                Class::Core => why(made.residence, &unit.functions).to_owned(),
                _ => String::new(),
            },
            page: offset.map(|offset| offset / PAGE_SIZE),
            offset: offset.map(|offset| offset % PAGE_SIZE),
            blocks: match unit.part {
                Part::Whole => Vec::new(),
                _ => lists::numbers(made.code, unit),
            },
        }
    }
}

impl Plan {
    /// Writes a plan down.
    ///
    /// # Errors
    /// [`SwapError::NothingSwappable`] where there is no swappable code.
    pub fn new(made: &PlanInputs<'_>) -> Result<Self, SwapError> {
        let PlanInputs { code, units, residence, .. } = *made;
        refuse_without_gain(made)?;
        let executed: u64 = units.as_slice().iter().map(|unit| unit.executed).sum();
        let share = |class| units.executed(class) as f64 / executed.max(1) as f64;
        let names = |functions: &[trimtab_program::FunctionId]| {
            functions.iter().map(|id| code.name(*id).to_owned()).collect()
        };
        Ok(Plan {
            schema: PlanSchema::V1,
            id: id(made.kernel),
            granularity: made.granularity,
            threshold: made.share,
            hotness: made.threshold.count,
            returns: made.least,
            placement: made.placement.to_owned(),
            frames: made.frames as u64,
            page_size: PAGE_SIZE,
            from: made.from.to_owned(),
            never_patched: made.never.iter().map(|kind| kind.name().to_owned()).collect(),
            handler: residence.has_handler(),
            code_bytes: Bytes::of(units, made.places.pages, made.data, made.frames),
            executed: Shares {
                core: share(Class::Core),
                base: share(Class::Base),
                swappable: share(Class::Swappable),
            },
            pages: made.places.pages,
            duplication: made.duplication,
            unresolved: names(residence.unresolved()),
            ends: {
                let mut ends: Vec<String> =
                    residence.ends().iter().map(|end| end.to.clone()).collect();
                ends.sort_unstable();
                ends.dedup();
                ends
            },
            exclusions: residence.ends().to_vec(),
            data: made.data.to_vec(),
            units: (0..units.as_slice().len()).map(|index| PlanUnit::new(made, index)).collect(),
        })
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// [`SwapError::Plan`].
    pub fn parse(text: &str) -> Result<Self, SwapError> {
        serde_json::from_str(text).map_err(|error| SwapError::Plan { why: error.to_string() })
    }

    /// The units of a class: swappable ones in the order in which they are to lie, page by page, and
    /// all others as they lie now.
    pub fn units_of(&self, class: Class) -> Vec<&PlanUnit> {
        let mut units: Vec<&PlanUnit> =
            self.units.iter().filter(|unit| unit.class == class).collect();
        units.sort_by_key(|unit| (unit.page, unit.offset));
        units
    }

    /// The list of a class: what follows `.text.` in the name of each input section, a line each,
    /// each once.
    pub fn list(&self, class: Class) -> String {
        let mut seen = HashSet::new();
        let units = self.units_of(class).into_iter();
        let stems = units.map(|unit| unit.section.strip_prefix(".text.").unwrap_or(&unit.section));
        stems.filter(|stem| seen.insert(*stem)).map(|stem| format!("{stem}\n")).collect()
    }

    /// What a kernel's linker script includes.
    ///
    /// # Errors
    /// [`SwapError::Section`] for a section whose name no linker script can hold.
    pub fn linker_script(&self) -> Result<LinkerScript, SwapError> {
        let mut text = format!("/* Swappable pages of trimtab's plan {} */\n", self.id);
        let mut page = None;
        let mut seen = HashSet::new();
        for unit in self.units_of(Class::Swappable) {
            let line = line(unit)?;
            if !seen.insert(line.clone()) {
                continue;
            }
            if page != unit.page {
                page = unit.page;
                // Writing to a string does not fail.
                let _ = writeln!(text, ". = ALIGN({PAGE_SIZE});");
            }
            let _ = writeln!(text, "{line}");
        }
        let _ = writeln!(text, ". = ALIGN({PAGE_SIZE});");
        let mut data = String::new();
        for (place, section) in self.data.iter().enumerate() {
            if place == 0 {
                // Core code compares addresses with the bound. What refers to data is another address.
                data.push_str(". += 16;\n");
            }
            let _ = writeln!(data, "{}", section.line());
        }
        Ok(LinkerScript { code: text, data })
    }

    /// What a kernel's linker script includes between `__function_order_start` and
    /// `__function_order_end`: the input sections of what stays and ran, what ran most first. Text that
    /// swapping maps page by page has small pages, of which a processor knows only a few; so what runs
    /// often is to lie on few.
    ///
    /// # Errors
    /// [`SwapError::Section`] for a section whose name no linker script can hold.
    pub fn resident_order(&self) -> Result<String, SwapError> {
        let stays = |unit: &&PlanUnit| {
            unit.class != Class::Swappable && unit.count > 0 && unit.section.starts_with(".text.")
        };
        let mut units: Vec<&PlanUnit> = self.units.iter().filter(stays).collect();
        units.sort_by_key(|unit| std::cmp::Reverse(unit.count));
        let mut text = String::new();
        let mut seen = HashSet::new();
        for unit in units {
            let line = line(unit)?;
            if seen.insert(line.clone()) {
                // Writing to a string does not fail.
                let _ = writeln!(text, "{line}");
            }
        }
        Ok(text)
    }
}

impl LinkerScript {
    /// What a kernel that is linked with it calls its plan, and compares with `coldswap.plan=` at boot:
    /// the first 16 digits of the SHA-256 of both parts.
    pub fn id(&self) -> String {
        let mut digits = id(format!("{}{}", self.code, self.data).as_bytes());
        digits.truncate(16);
        digits
    }
}

/// SHA-256 in hexadecimal.
fn id(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The line of a linker script that means the unit.
fn line(unit: &PlanUnit) -> Result<String, SwapError> {
    if !is_plain(&unit.section) {
        return Err(SwapError::Section { section: unit.section.clone() });
    }
    let file = unit.file.as_deref().filter(|file| is_plain(file) && is_single_object(file));
    let sections = match (unit.part, unit.section.strip_prefix(".text.")) {
        // With a list of clusters clang calls a function hot that has one, whatever it was before.
        (Part::First | Part::Warm, Some(rest)) => {
            let stem = rest.strip_prefix("unlikely.").unwrap_or(rest);
            let stem = stem.strip_prefix("hot.").unwrap_or(stem);
            format!(".text.{stem} .text.hot.{stem}")
        }
        _ => unit.section.clone(),
    };
    Ok(format!("{}({sections})", file.unwrap_or("*")))
}

fn why(residence: &Residence, functions: &[trimtab_program::FunctionId]) -> &'static str {
    match functions.iter().find_map(|function| residence.why(*function)) {
        Some(Why::Root(_)) => "root",
        Some(Why::CalledBy(_)) => "called",
        Some(Why::TakenBy(_)) => "address-taken",
        Some(Why::HeldFor(_)) => "held-in-data",
        Some(Why::SeenFrom(_)) => "seen",
        Some(Why::Patched(_)) => "patched",
        Some(Why::Pinned) | None => "pinned",
    }
}

fn refuse_without_gain(made: &PlanInputs<'_>) -> Result<(), SwapError> {
    let kept: Vec<_> = made.units.as_slice().iter().filter(|u| u.class != Class::Init).collect();
    if kept.iter().any(|unit| unit.class == Class::Swappable) {
        return Ok(());
    }
    let mut kinds: Vec<PatchKind> = Vec::new();
    let mut patched = 0;
    for function in kept.iter().flat_map(|unit| &unit.functions) {
        if let Some(Why::Patched(kind)) = made.residence.why(*function) {
            patched += 1;
            kinds.push(kind);
        }
    }
    kinds.sort_unstable();
    kinds.dedup();
    let kinds: Vec<&str> = kinds.into_iter().map(PatchKind::name).collect();
    Err(SwapError::NothingSwappable {
        functions: kept.iter().map(|unit| unit.functions.len() as u64).sum(),
        patched,
        kinds: if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") },
    })
}
