//! What `trimtab fit kernel` found: `trimtab.fit.kernel/1`.

mod sections;

use serde::{Deserialize, Serialize};
use trimtab_report::common::{
    BeforeAfter, Check, Coverage, Functions, Minimum, OrderCounts, Repeat, Target, ratio,
    sample_curve,
};
use trimtab_report::{Report, Schema, Trial};
use trimtab_stats::{Estimate, Interval};

/// A kernel before and after it was laid out for its boot, and the proof of the effect.
///
/// `touched`, `minimum`, `page_map` and `curve` are those of the boot that made the order;
/// `held_out` has the boots that did not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FitKernel {
    /// Its schema.
    pub schema: Schema<FitKernel>,
    /// Which kernel.
    pub kernel: Kernel,
    /// Name of its configuration.
    pub config: String,
    /// What was moved.
    #[serde(default)]
    pub granularity: Granularity,
    /// What recorded the boot: `plugin` or `ftrace`.
    pub tracer: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Bytes in a page.
    pub page_size: u32,
    /// The kernel's text.
    pub text: Text,
    /// Text pages that the boot touched.
    pub touched: PageCounts,
    /// Fewest pages that would do.
    pub minimum: Minimum,
    /// Boots that did not make the order.
    pub held_out: Vec<HeldOut>,
    /// Functions of the text.
    pub functions: Functions,
    /// How much of the trace was found in the kernel.
    pub coverage: Coverage,
    /// Area under the page-fault curve, in pages times events.
    pub curve_area: BeforeAfter<f64>,
    /// Sizes of what was built.
    pub image: Image,
    /// What a boot costs.
    pub boot: Boot,
    /// What became of the order's lines.
    pub order: OrderCounts,
    /// Pieces that ran and have no line: linker scripts have no way to write their names.
    #[serde(default)]
    pub left_out: u64,
    /// Where the files are.
    pub artifacts: Artifacts,
    /// Pages touched above the function-level minimum, by cause.
    pub excess: Excess,
    /// What was moved out of functions; nothing at the granularity of functions.
    #[serde(default)]
    pub split: Split,
    /// Pages touched above the minimum of executed bytes, by cause, at the granularity of blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte_excess: Option<ByteExcess>,
    /// How long the command took.
    pub seconds: Seconds,
    /// Executed bytes of each page of the text, by address.
    pub page_map: BeforeAfter<Vec<u32>>,
    /// The page-fault curve.
    pub curve: Curve,
    /// Input regions of the text, by address.
    pub sections: Vec<Section>,
    /// What ftrace saw of the same boot, where it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ftrace: Option<Ftrace>,
    /// How to get the same result again.
    pub repeat: Repeat,
    /// What must hold of the kernel laid out.
    pub checks: Vec<Check>,
    /// Numbers to reach.
    pub targets: Vec<Target>,
    /// The boots, one by one.
    #[serde(skip)]
    pub trials: Vec<Trial>,
}

/// What a layout moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Granularity {
    /// Whole functions.
    #[default]
    Function,
    /// The blocks of a function that run, and the others.
    Block,
}

/// What was moved out of functions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// Functions that were split.
    pub functions: u64,
    /// Bytes of their blocks that did not run, which went to sections of their own.
    pub cold_bytes: u64,
    /// Objects that were compiled again for it.
    #[serde(default)]
    pub objects: u64,
    /// How the blocks that stayed in a function follow each other.
    #[serde(default)]
    pub block_order: BlockOrder,
}

/// How the blocks of a function that ran follow each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockOrder {
    /// As the compiler has them.
    #[default]
    Source,
    /// By Ext-TSP, from how often control passed between them.
    ExtTsp,
}

/// Which kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Its release, `6.12.38`.
    pub version: String,
    /// Its architecture as `uname -m` gives it: `x86_64`, `aarch64`.
    pub arch: String,
}

/// A program's text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// Pages from its first to its last byte.
    pub pages_spanned: BeforeAfter<u32>,
    /// Its bytes.
    pub bytes: BeforeAfter<u64>,
}

/// Text pages that a boot touched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageCounts {
    /// As the kernel was built.
    pub before: u32,
    /// As it is laid out.
    pub after: u32,
    /// Under random orders of the same functions.
    pub shuffled: Vec<u32>,
}

/// A boot that did not make the order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// What is different about it.
    pub name: String,
    /// Pages touched as the kernel was built.
    pub touched_before: u32,
    /// Pages touched as it is laid out.
    pub touched_after: u32,
    /// Fewest pages that this boot's functions fit into.
    pub minimum_function_pages: u32,
    /// `touched_after / minimum_function_pages`.
    pub ratio: f64,
    /// Boots tried and boots that came up.
    pub booted: BootFigures,
    /// Why the first that did not come up did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl HeldOut {
    /// A held-out boot; computes the ratio.
    pub fn new(
        name: impl Into<String>,
        touched: BeforeAfter<u32>,
        minimum_function_pages: u32,
        booted: BootFigures,
    ) -> Self {
        Self {
            name: name.into(),
            touched_before: touched.before,
            touched_after: touched.after,
            minimum_function_pages,
            ratio: ratio(touched.after, minimum_function_pages),
            booted,
            failed: None,
        }
    }
}

/// Boots tried and boots that came up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootFigures {
    /// Tried.
    pub attempted: u32,
    /// Came up, ran the workload and powered off.
    pub succeeded: u32,
}

/// Sizes of what was built, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The ELF file.
    pub vmlinux_bytes: BeforeAfter<u64>,
    /// The compressed image that boots.
    pub compressed_bytes: BeforeAfter<u64>,
}

/// What a boot costs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Boot {
    /// Guest instructions; they repeat exactly.
    pub instructions: BeforeAfter<u64>,
    /// The guest's own clock, counted in instructions; it repeats exactly.
    pub virtual_seconds: BeforeAfter<f64>,
    /// Wall time, the two kernels booted in turn; `null` with fewer than two boots each.
    #[serde(default)]
    pub wall_seconds: Option<BeforeAfter<Estimate>>,
    /// Wall time after over before, from pairs; `null` with fewer than two pairs.
    #[serde(default)]
    pub wall_ratio: Option<Interval>,
    /// Boots of the kernel laid out.
    pub booted: BootFigures,
    /// Why the first that did not come up did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Where the files are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifacts {
    /// The kernel as it was built, with symbols.
    pub vmlinux_before: String,
    /// The kernel laid out, with symbols.
    pub vmlinux_after: String,
    /// The bootable image as it was built.
    pub image_before: String,
    /// The bootable image laid out.
    pub image_after: String,
    /// The guest's initramfs.
    pub guest: String,
    /// The order as the linker got it.
    pub order_file: String,
    /// The trace that made it.
    pub trace: String,
    /// The HTML page, where one was asked for.
    pub html: Option<String>,
}

/// Pages touched above the function-level minimum, by cause. A cause may be below zero: code
/// placed in pieces smaller than functions undercuts that minimum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excess {
    /// Padding between functions.
    pub alignment: i64,
    /// Sections that the kernel keeps apart.
    pub pinned_sections: i64,
    /// Pages that executed code shares with code that did not run.
    pub sharing: i64,
    /// Below zero: parts of functions that ran which lie on pages that were not touched.
    #[serde(default)]
    pub cold_parts: i64,
    /// The rest.
    pub other: i64,
}

impl Excess {
    /// The causes with a name for people, in a fixed order.
    pub fn causes(&self) -> [(&'static str, &'static str, i64); 5] {
        [
            ("alignment", "function alignment", self.alignment),
            ("pinned_sections", "pinned sections", self.pinned_sections),
            ("sharing", "pages shared with cold code", self.sharing),
            ("cold_parts", "cold ends of functions, on pages of their own", self.cold_parts),
            ("other", "other", self.other),
        ]
    }

    /// All causes together.
    pub fn total(&self) -> i64 {
        self.alignment + self.pinned_sections + self.sharing + self.cold_parts + self.other
    }
}

/// Pages touched above the minimum of executed bytes, by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteExcess {
    /// Padding between functions.
    pub alignment: i64,
    /// Code that did not run, in sections that the kernel keeps apart.
    pub pinned_sections: i64,
    /// Code that did not run, in functions written in assembly, which are not split.
    pub assembly: i64,
    /// Entry blocks that did not run, of functions that did.
    pub entry_blocks: i64,
    /// Other code that did not run on pages that executed code lies on.
    pub sharing: i64,
    /// Bytes executed beyond those before: branches to other sections are longer.
    pub longer_code: i64,
    /// The rest.
    pub other: i64,
}

impl ByteExcess {
    /// The causes with a name for people, in a fixed order.
    pub fn causes(&self) -> [(&'static str, &'static str, i64); 7] {
        [
            ("alignment", "alignment", self.alignment),
            ("pinned_sections", "pinned sections", self.pinned_sections),
            ("assembly", "assembly, which is not split", self.assembly),
            ("entry_blocks", "entry blocks that did not run", self.entry_blocks),
            ("sharing", "pages shared with cold code", self.sharing),
            ("longer_code", "longer branches", self.longer_code),
            ("other", "other", self.other),
        ]
    }

    /// All causes together.
    pub fn total(&self) -> i64 {
        self.causes().iter().map(|(_, _, pages)| pages).sum()
    }
}

/// How long the command took, in seconds of wall time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// All of it.
    pub total: f64,
    /// Building the kernel.
    pub build: f64,
    /// Booting it under the tracer.
    pub trace: f64,
    /// Compiling with functions split.
    #[serde(default)]
    pub split: f64,
    /// Finding the order.
    pub layout: f64,
    /// Linking the kernel anew.
    pub relink: f64,
}

/// Distinct pages touched against events. Point i is the state after
/// `min((i + 1) * step, events)` events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Curve {
    /// Events between two points, 1 or more.
    pub step: u32,
    /// Events in all.
    pub events: BeforeAfter<u64>,
    /// Distinct pages touched, as the kernel was built.
    pub before: Vec<u32>,
    /// Distinct pages touched, as it is laid out.
    pub after: Vec<u32>,
}

impl Curve {
    /// From one number of pages per event, keeping at most `most` points of each side.
    pub fn sampled(before: &[u32], after: &[u32], most: usize) -> Self {
        let (step, mut curves) = sample_curve(&[before, after], most);
        let sampled_after = curves.pop().unwrap_or_default();
        let sampled_before = curves.pop().unwrap_or_default();
        Self {
            step,
            events: BeforeAfter::new(before.len() as u64, after.len() as u64),
            before: sampled_before,
            after: sampled_after,
        }
    }
}

/// An input region of the text, such as `.sched.text`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Pages from its first to its last byte.
    pub pages_spanned: BeforeAfter<u32>,
    /// Those that the boot touched.
    pub touched: BeforeAfter<u32>,
    /// Its bytes that the boot executed.
    pub executed_bytes: u64,
}

/// What ftrace saw of a boot that the plugin saw too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ftrace {
    /// Whether every function that ftrace saw is one that the plugin saw.
    pub contained: bool,
    /// Functions that ftrace saw.
    pub functions_ftrace: u64,
    /// Functions that the plugin saw.
    pub functions_plugin: u64,
    /// Functions that only the plugin saw.
    pub invisible: Invisible,
}

/// Functions that ftrace cannot see, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invisible {
    /// Marked `noinstr`.
    pub noinstr: u64,
    /// Entry code.
    pub entry: u64,
    /// Ran only before ftrace started.
    pub before_start: u64,
    /// Other `notrace` functions.
    pub other: u64,
}

impl FitKernel {
    /// Pages touched after, as a multiple of the function-level minimum.
    pub fn ratio_to_minimum(&self) -> f64 {
        ratio(self.touched.after, self.minimum.function_pages)
    }

    /// Pages touched after, as a multiple of the minimum of executed bytes.
    pub fn ratio_to_executed(&self) -> f64 {
        ratio(self.touched.after, self.minimum.executed_pages)
    }

    /// How many times fewer pages than the best random order; `None` without one.
    pub fn shuffle_factor(&self) -> Option<f64> {
        let best = self.touched.shuffled.iter().min()?;
        Some(ratio(*best, self.touched.after))
    }

    /// The held-out boot that came out worst.
    pub fn worst_held_out(&self) -> Option<&HeldOut> {
        self.held_out.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio))
    }

    /// Whether every check holds, every target is met and every boot came up.
    pub fn ok(&self) -> bool {
        self.failures().is_empty() && self.targets.iter().all(|target| target.met)
    }

    /// Where numbers of the result contradict one another, a sentence each. Every rendering says
    /// so: two truths in one report are worse than none.
    pub fn contradictions(&self) -> Vec<String> {
        // Long: a check for each pair of numbers that must agree.
        let mut found = Vec::new();
        let mut expect = |what: &str, a: i64, same: &str, b: i64| {
            if a != b {
                found.push(format!("{what} is {a}, but {same} {b}."));
            }
        };
        let excess = i64::from(self.touched.after) - i64::from(self.minimum.function_pages);
        expect(
            "The excess by cause",
            self.excess.total(),
            "touched.after less minimum.function_pages is",
            excess,
        );
        if let Some(parts) = &self.byte_excess {
            expect(
                "The excess over the executed bytes by cause",
                parts.total(),
                "touched.after less minimum.executed_pages is",
                i64::from(self.touched.after) - i64::from(self.minimum.executed_pages),
            );
        }
        let sides = [
            (
                "before",
                &self.page_map.before,
                &self.curve.before,
                self.touched.before,
                self.text.pages_spanned.before,
            ),
            (
                "after",
                &self.page_map.after,
                &self.curve.after,
                self.touched.after,
                self.text.pages_spanned.after,
            ),
        ];
        for (side, map, curve, touched, spanned) in sides {
            let executed = map.iter().filter(|bytes| **bytes > 0).count() as i64;
            expect(
                &format!("The number of pages in page_map.{side}"),
                map.len() as i64,
                &format!("text.pages_spanned.{side} is"),
                spanned.into(),
            );
            expect(
                &format!("The number of executed pages in page_map.{side}"),
                executed,
                &format!("touched.{side} is"),
                touched.into(),
            );
            expect(
                &format!("The end of curve.{side}"),
                curve.last().copied().unwrap_or(0).into(),
                &format!("touched.{side} is"),
                touched.into(),
            );
        }
        found
    }
}
