//! What is executed, put through the model of a core by a plugin of QEMU's: its arguments, and what it writes.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use trimtab_lab::cache::Key;
use trimtab_lab::failure::Failure;
use trimtab_lab::tools;
use trimtab_lab::workdir::WorkDir;
use trimtab_layout::cost::{CORES, Core, CoreCounts, Geometry};
use trimtab_machine::boot::CoreTracer;
use trimtab_machine::plugin;
use trimtab_program::any_of;

use super::subject::Costs;

/// What a core takes for something.
pub const CYCLES: &str = "cycles";
/// What is executed.
pub const INSTRUCTIONS: &str = "instructions";
/// What cycles are made of beside instructions, in the order of [`CoreCounts`].
pub const WAITS: [&str; 3] = ["l1i-misses", "l1d-misses", "branch-mispredictions"];

/// The first line of what the plugin writes.
const FIRST: &str = "trimtab-core 1";

/// The model of a core, and the plugin that has it.
#[derive(Debug, Clone)]
pub struct CoreModel {
    /// The core.
    pub core: Core,
    /// The plugin.
    pub plugin: PathBuf,
    /// All that counts depend on.
    pub key: Key,
}

/// What the plugin wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoreFile {
    /// All that was executed.
    pub total: CoreCounts,
    /// Each call of a function that was watched: its number, and what it cost.
    pub calls: Vec<(usize, CoreCounts)>,
}

impl CoreModel {
    /// Builds the plugin where `work` does not have it.
    ///
    /// # Errors
    /// That there is no core of this name, or the plugin cannot be built.
    pub fn prepare(work: &WorkDir, id: &str) -> Result<Self> {
        let core = Core::of(id).ok_or_else(|| {
            let known = any_of(CORES.map(|core| core.id));
            Failure::usage(format!("there is no core {id}; expected {known}"))
        })?;
        let kept = plugin::kept_core(work, &tools::find("gcc")?)?;
        let key = Key::new("core/1").after(&kept.key).field("core", arguments(&core));
        let cycles = [core.l1_cycles, core.branch_cycles].map(|cycles| cycles.to_string());
        Ok(Self { core, plugin: kept.path, key: key.field("cycles", cycles.join(" ")) })
    }

    /// The plugin's arguments, beside where it writes.
    pub fn arguments(&self) -> String {
        arguments(&self.core)
    }

    /// What has a boot write down what each call of one of `functions` costs, whose addresses these are, where calls
    /// enter the kernel at `entry`.
    pub fn tracer(&self, entry: u64, functions: &[u64]) -> CoreTracer {
        let calls: Vec<String> = functions.iter().map(|address| format!("{address:x}")).collect();
        CoreTracer {
            plugin: self.plugin.clone(),
            key: self.key.clone(),
            arguments: format!("{},entry={entry:x},calls={}", self.arguments(), calls.join("+")),
        }
    }

    /// Costs of what was counted.
    pub fn costs(&self, counts: &CoreCounts) -> Costs {
        let CoreCounts { instructions, l1i, l1d, branches } = *counts;
        let waits = WAITS.into_iter().zip([l1i, l1d, branches]);
        [(CYCLES, self.core.cycles(counts)), (INSTRUCTIONS, instructions)]
            .into_iter()
            .chain(waits)
            .map(|(name, count)| (name.to_owned(), count as f64))
            .collect()
    }
}

fn arguments(core: &Core) -> String {
    let shape = |of: Geometry| format!("{}-{}-{}", of.entries, of.ways, of.bytes);
    format!("l1i={},l1d={},history={}", shape(core.l1i), shape(core.l1d), core.history_bits)
}

/// Reads what the plugin wrote to `path`.
///
/// # Errors
/// That it is something else, or was cut short.
pub fn read(text: &str, path: &Path) -> Result<CoreFile> {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    if first != FIRST {
        bail!("{} begins with {first:?}; expected {FIRST:?}", path.display());
    }
    let mut found = CoreFile::default();
    let mut has_total = false;
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let read = match words.as_slice() {
            ["total", counts @ ..] => {
                has_total = true;
                counted(counts).map(|counts| found.total = counts)
            }
            ["call", number, counts @ ..] => number
                .parse()
                .ok()
                .zip(counted(counts))
                .map(|(number, counts)| found.calls.push((number, counts))),
            _ => None,
        };
        read.with_context(|| format!("{} has the line {line:?}", path.display()))?;
    }
    match has_total {
        true => Ok(found),
        false => bail!("{} was cut short: it has no line \"total\"", path.display()),
    }
}

fn counted(words: &[&str]) -> Option<CoreCounts> {
    let [instructions, l1i, l1d, branches] = words else { return None };
    let [instructions, l1i, l1d, branches] =
        [instructions, l1i, l1d, branches].map(|word| word.parse().ok());
    Some(CoreCounts { instructions: instructions?, l1i: l1i?, l1d: l1d?, branches: branches? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_plugin_wrote_is_read_whole_or_not() {
        let read = |text: &str| super::read(text, Path::new("c")).map_err(|e| e.to_string());
        let found = read("trimtab-core 1\ncall 2 100 3 4 5\ntotal 1000 30 40 50\n").unwrap();
        let counts =
            |instructions, l1i, l1d, branches| CoreCounts { instructions, l1i, l1d, branches };
        assert_eq!(found.total, counts(1000, 30, 40, 50));
        assert_eq!(found.calls, [(2, counts(100, 3, 4, 5))]);
        assert!(read("").unwrap_err().contains("expected \"trimtab-core 1\""));
        assert!(read("trimtab-core 1\ncall 2 100 3 4 5\n").unwrap_err().contains("cut short"));
        for line in ["total 1", "total 1 2 3 4 5", "call x 1 2 3 4", "total 1 2 3 -4", "else"] {
            let why = read(&format!("trimtab-core 1\n{line}\n")).unwrap_err();
            assert!(why.contains(&format!("the line {line:?}")), "{why}");
        }
    }
}
