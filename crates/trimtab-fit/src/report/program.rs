//! What `trimtab fit program` found: `trimtab.fit.program/1`.

mod sections;

use super::kernel::{Curve, Granularity, PageCounts, Seconds, Split, Text};
use serde::{Deserialize, Serialize};
use trimtab_report::Schema;
use trimtab_report::common::{
    BeforeAfter, Check, Coverage, Functions, Minimum, OrderCounts, Repeat, ratio,
};
use trimtab_stats::{Estimate, Interval};

/// A program before and after it was laid out for its start-up, and the proof of the effect.
///
/// What is counted (`touched`, `faults`, `time`) is of the first command of `runs`, the one that
/// was to become better.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FitProgram {
    /// Its schema.
    pub schema: Schema<FitProgram>,
    /// The program's file.
    pub program: String,
    /// Its architecture, `x86_64`.
    pub arch: String,
    /// What recorded the runs: `qemu`, `native` or another.
    pub tracer: String,
    /// What was moved: functions, or their blocks.
    #[serde(default)]
    pub granularity: Granularity,
    /// What was moved out of functions; nothing at the granularity of functions.
    #[serde(default)]
    pub split: Split,
    /// Whether what a start needs was put side by side in all files.
    #[serde(default)]
    pub together: bool,
    /// What linked it: `lld`, `gold` or `gnu`.
    pub linker: String,
    /// How the order was found.
    pub algorithm: String,
    /// The command that built it.
    pub build: String,
    /// The commands that made the order, the measured one first.
    pub runs: Vec<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Bytes in a page.
    pub page_size: u32,
    /// The program's own layout.
    #[serde(flatten)]
    pub layout: ObjectLayout,
    /// Shared libraries that were laid out as well.
    pub libraries: Vec<ObjectLayout>,
    /// Page faults of a start with none of these files in memory.
    pub faults: Faults,
    /// Page faults of a start with all of them in memory; all are minor.
    pub warm_minor_faults: BeforeAfter<f64>,
    /// What a start with none of these files in memory brought in of them, in KiB: the mean.
    pub resident_file_kib: BeforeAfter<f64>,
    /// The same of their code alone.
    pub resident_text_kib: BeforeAfter<f64>,
    /// Instructions of the run, exactly, where the tracer counts them.
    #[serde(default)]
    pub instructions: Option<BeforeAfter<u64>>,
    /// Jumps, calls and returns of the run that went on elsewhere than at the next byte, within the
    /// program's own file, where the tracer counts them.
    #[serde(default)]
    pub jumps_taken: Option<BeforeAfter<u64>>,
    /// Time of a start with none of these files in memory, after over before; `null` with fewer
    /// than two runs.
    #[serde(default)]
    pub time_ratio: Option<Interval>,
    /// Time to the first output of such a start, after over before; `null` where the command writes
    /// nothing.
    #[serde(default)]
    pub first_output_ratio: Option<Interval>,
    /// Time of a start with all files in memory, after over before.
    #[serde(default)]
    pub warm_time_ratio: Option<Interval>,
    /// The times in seconds, where there are ratios.
    #[serde(default)]
    pub time: Option<Times>,
    /// Runs that made no order.
    pub held_out: Vec<HeldOutRun>,
    /// Versions of the program that others made, measured in turn with ours.
    #[serde(default)]
    pub beside: Vec<Beside>,
    /// How long the command took.
    pub seconds: Seconds,
    /// Where the files are.
    pub artifacts: ProgramArtifacts,
    /// How to get the same result again.
    pub repeat: Repeat,
    /// What must hold of the program laid out.
    pub checks: Vec<Check>,
}

/// One linked file before and after.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ObjectLayout {
    /// The file.
    pub file: String,
    /// Its text.
    pub text: Text,
    /// Text pages that the measured run touched; under random orders as placed, not linked.
    pub touched: PageCounts,
    /// Fewest pages that would do.
    pub minimum: Minimum,
    /// Functions of the text.
    pub functions: Functions,
    /// Share of the text, 0 to 1, that lies in sections of single functions.
    pub separate: f64,
    /// How much of the trace was found in the file.
    pub coverage: Coverage,
    /// What became of the order's lines.
    pub order: OrderCounts,
    /// Lines that are in the text but not where the order wants them.
    pub misplaced: u64,
    /// Pieces that ran and have no line: the linker has no name for them, or cannot read it.
    #[serde(default)]
    pub left_out: u64,
    /// What did not run and is placed with what did, as it has the same name.
    #[serde(default)]
    pub namesakes: Namesakes,
    /// Area under the page-fault curve, in pages times events.
    pub curve_area: BeforeAfter<f64>,
    /// Size of the file.
    pub file_bytes: BeforeAfter<u64>,
    /// Executed bytes of each page of the text, by address.
    pub page_map: BeforeAfter<Vec<u32>>,
    /// The page-fault curve.
    pub curve: Curve,
}

/// Functions that a linker knows by the names of others that the order lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namesakes {
    /// How many.
    pub functions: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl ObjectLayout {
    /// Pages touched after, as a multiple of the function-level minimum.
    pub fn ratio_to_minimum(&self) -> f64 {
        ratio(self.touched.after, self.minimum.function_pages)
    }

    /// How many times fewer pages than the best random order; `None` without one.
    pub fn shuffle_factor(&self) -> Option<f64> {
        let best = self.touched.shuffled.iter().min()?;
        Some(ratio(*best, self.touched.after))
    }
}

/// Page faults of cold starts: means of `runs` runs of each side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Faults {
    /// Runs of each side.
    pub runs: u32,
    /// How far the disk reads ahead on which they were counted, in KiB, where that is one of our
    /// own; `null` for the machine's disk.
    #[serde(default)]
    pub read_ahead_kib: Option<u32>,
    /// Faults that found their page in memory.
    pub minor: BeforeAfter<f64>,
    /// Faults that waited for the disk.
    pub major: BeforeAfter<f64>,
}

/// Times in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Of starts with none of the files in memory.
    pub cold: BeforeAfter<Estimate>,
    /// To the first output of such starts.
    #[serde(default)]
    pub first_output: Option<BeforeAfter<Estimate>>,
    /// Of starts with all of the files in memory.
    pub warm: BeforeAfter<Estimate>,
}

/// A run that did not make the order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldOutRun {
    /// Its command.
    pub name: String,
    /// Text pages of the program touched as it was built.
    pub touched_before: u32,
    /// Text pages of the program touched as it is laid out.
    pub touched_after: u32,
    /// Fewest pages that this run's functions fit into.
    pub minimum_function_pages: u32,
    /// `touched_after / minimum_function_pages`.
    pub ratio: f64,
}

impl HeldOutRun {
    /// A held-out run; computes the ratio.
    pub fn new(
        name: impl Into<String>,
        touched: BeforeAfter<u32>,
        minimum_function_pages: u32,
    ) -> Self {
        Self {
            name: name.into(),
            touched_before: touched.before,
            touched_after: touched.after,
            minimum_function_pages,
            ratio: ratio(touched.after, minimum_function_pages),
        }
    }
}

/// A version of the program that was made by others; means of cold starts, as for ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// What it was called.
    pub name: String,
    /// Size of its file.
    pub file_bytes: u64,
    /// Faults that waited for the disk.
    pub major_faults: f64,
    /// Faults that found their page in memory.
    pub minor_faults: f64,
    /// What a cold start brought in of the files, in KiB.
    pub resident_file_kib: f64,
    /// Faults of a start with all files in memory.
    pub warm_minor_faults: f64,
    /// Time of our cold start over that of this one.
    #[serde(default)]
    pub time_ratio: Option<Interval>,
    /// Time of ours to the first output over that of this one.
    #[serde(default)]
    pub first_output_ratio: Option<Interval>,
}

/// Where the files are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramArtifacts {
    /// The program as it was built.
    pub program_before: String,
    /// The program as it is laid out; it also lies where the build puts it.
    pub program_after: String,
    /// The orders as the linker got them, the program's first.
    pub order_files: Vec<String>,
    /// The trace of the measured run, with the program's symbols.
    pub trace: String,
    /// For what clang compiled by blocks, the list that it was given.
    #[serde(default)]
    pub block_lists: std::collections::BTreeMap<String, String>,
    /// What a build must do to follow the order from now on.
    pub use_it: String,
    /// The HTML page, where one was asked for.
    pub html: Option<String>,
}

impl FitProgram {
    /// The program and its libraries.
    pub fn objects(&self) -> impl Iterator<Item = &ObjectLayout> {
        std::iter::once(&self.layout).chain(&self.libraries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimtab_report::Report;

    #[test]
    fn the_programs_layout_stands_at_the_top_of_the_json() {
        let mut fit = FitProgram { program: "app".to_owned(), ..FitProgram::default() };
        fit.layout.touched.before = 7;
        fit.libraries.push(ObjectLayout { file: "lib.so".to_owned(), ..ObjectLayout::default() });
        fit.instructions = Some(BeforeAfter::new(5, 5));
        let text = fit.to_json();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["schema"], "trimtab.fit.program/1");
        assert_eq!(value["touched"]["before"], 7);
        assert_eq!(value["libraries"][0]["file"], "lib.so");
        assert_eq!(value["time_ratio"], serde_json::Value::Null);
        assert_eq!(FitProgram::from_json(&text).unwrap(), fit);
    }

    #[test]
    fn what_does_not_hold_is_said() {
        let mut fit = FitProgram::default();
        assert!(fit.failures().is_empty());
        fit.checks.push(Check::new("the linker honoured the order", false, "1 of 2"));
        assert_eq!(fit.failures(), ["not so: the linker honoured the order (1 of 2)"]);
    }
}
