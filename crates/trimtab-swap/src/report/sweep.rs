//! What `trimtab swap sweep` found: `trimtab.swap.sweep/1`.

mod sections;

use serde::{Deserialize, Serialize};
use trimtab_program::PAGE_SIZE;
use trimtab_report::Schema;
use trimtab_report::common::Input;

/// What swapping costs for thresholds, placements, cache sizes and policies. All faults are counted
/// in replays of traces.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SwapSweep {
    /// Its schema.
    pub schema: Schema<SwapSweep>,
    /// The kernel.
    pub kernel: Input,
    /// How finely code was taken apart: `function` or `block`.
    pub granularity: String,
    /// The function from whose first execution on runs counted.
    pub from: String,
    /// The traces: those that made the plans, then those held out.
    pub traces: Vec<SweptTrace>,
    /// Cache sizes in page frames.
    pub frames: Vec<u64>,
    /// Policy of replacement that placements are compared with.
    pub policy: String,
    /// What each threshold leads to, ascending.
    pub thresholds: Vec<SweptThreshold>,
    /// What each policy leads to with the first placement at [`Self::policy_threshold`].
    pub policies: Vec<SweptPolicy>,
    /// The threshold that policies are compared at.
    pub policy_threshold: f64,
    /// Times that loading a page takes.
    pub latencies: Vec<Latency>,
    /// Nanoseconds that an instruction takes in the model of system time.
    pub nanoseconds_per_instruction: f64,
}

/// A trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SweptTrace {
    /// Its file.
    pub path: String,
    /// Whether it was kept from the plans.
    pub held_out: bool,
    /// Instructions of the kernel that it executed once swapping had begun.
    pub instructions: u64,
}

/// What a threshold leads to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SweptThreshold {
    /// Share of all executed instructions that stays in memory.
    pub threshold: f64,
    /// Bytes of all code that is not released when the kernel is up.
    pub original: u64,
    /// Bytes that are never absent.
    pub core: u64,
    /// Bytes that stay for speed.
    pub base: u64,
    /// Bytes that are loaded when called for.
    pub swappable: u64,
    /// Swappable pages of the first placement.
    pub pages: u64,
    /// Bytes of the page tables and of the driver's tables that swapping needs.
    pub tables: u64,
    /// Bytes of the swappable pages, each compressed alone with LZ4.
    pub store: u64,
    /// What each placement leads to.
    pub placements: Vec<SweptPlacement>,
}

/// What a placement leads to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SweptPlacement {
    /// Its name.
    pub name: String,
    /// Wall time that placing took, in seconds, once for each cache size.
    pub seconds: f64,
    /// Page faults for each cache size, of the traces that made it.
    pub faults: Vec<u64>,
    /// Page faults for each cache size, of the traces held out; empty without any.
    pub held_out: Vec<u64>,
}

/// What a policy leads to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SweptPolicy {
    /// Its name.
    pub name: String,
    /// Page faults for each cache size, of all traces that made the plan.
    pub faults: Vec<u64>,
    /// Page faults for each cache size, of the traces held out; empty without any.
    pub held_out: Vec<u64>,
}

/// How long loading a page takes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// What it is loaded from.
    pub name: String,
    /// Microseconds.
    pub microseconds: f64,
}

impl SwapSweep {
    /// Instructions of the kernel in all traces that made the plans, or in all held out.
    pub fn instructions(&self, held_out: bool) -> u64 {
        let traces = self.traces.iter().filter(|trace| trace.held_out == held_out);
        traces.map(|trace| trace.instructions).sum()
    }

    /// System time as a multiple of that without swapping: instructions and page faults, nothing
    /// else.
    pub fn slowdown(&self, faults: u64, latency: &Latency, held_out: bool) -> f64 {
        let run = self.instructions(held_out) as f64 * self.nanoseconds_per_instruction;
        if run == 0.0 { 1.0 } else { 1.0 + faults as f64 * latency.microseconds * 1000.0 / run }
    }

    /// Whether any trace was held out.
    pub fn has_held_out(&self) -> bool {
        self.traces.iter().any(|trace| trace.held_out)
    }
}

impl SweptThreshold {
    /// Bytes that stay in memory with a cache of so many frames.
    pub fn resident(&self, frames: u64) -> u64 {
        self.core + self.base + self.tables + frames * PAGE_SIZE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimtab_report::Report;

    fn sample() -> SwapSweep {
        let trace = |path: &str, held_out| SweptTrace {
            path: path.to_owned(),
            held_out,
            instructions: 1_000_000,
        };
        let placement = |name: &str, faults: [u64; 2]| SweptPlacement {
            name: name.to_owned(),
            faults: faults.into(),
            held_out: faults.map(|faults| faults * 2).into(),
            ..SweptPlacement::default()
        };
        let threshold = |threshold: f64, base: u64| SweptThreshold {
            threshold,
            original: 4 << 20,
            core: 100 << 10,
            base,
            swappable: 3 << 20,
            placements: vec![placement("recency", [70, 30]), placement("profile-based", [90, 40])],
            ..SweptThreshold::default()
        };
        SwapSweep {
            traces: vec![trace("one", false), trace("<two>", true)],
            frames: vec![16, 32],
            policy: "nru".to_owned(),
            thresholds: vec![threshold(0.9, 10 << 10), threshold(1.0, 300 << 10)],
            policies: vec![SweptPolicy {
                name: "round robin".to_owned(),
                faults: vec![80, 35],
                held_out: vec![100, 50],
            }],
            policy_threshold: 1.0,
            latencies: vec![Latency { name: "flash".to_owned(), microseconds: 442.0 }],
            nanoseconds_per_instruction: 1.0,
            ..SwapSweep::default()
        }
    }

    #[test]
    fn time_is_instructions_and_faults() {
        let sweep = sample();
        assert_eq!(sweep.slowdown(10, &sweep.latencies[0], false), 1.0 + 4.42);
        assert_eq!(SwapSweep::default().slowdown(10, &sweep.latencies[0], false), 1.0);
        assert_eq!(sweep.thresholds[0].resident(16), (100 + 10 + 64) << 10);
    }

    #[test]
    fn each_number_of_faults_is_a_trial() {
        let trials = sample().trials();
        // 2 thresholds by 2 placements and 1 further policy, by 2 cache sizes, of 2 sets of traces.
        assert_eq!(trials.len(), (2 * 2 + 1) * 2 * 2);
        let find = |subject: &str, variant: &str| {
            let found = trials.iter().find(|t| t.subject == subject && t.variant == variant);
            found.map(|trial| trial.outcome.clone().unwrap()[0].value)
        };
        let made = "the traces that made the plan";
        assert_eq!(find(made, "threshold 0.9, recency, nru, 16 frames"), Some(70.0));
        assert_eq!(find("held out", "threshold 1, profile-based, nru, 32 frames"), Some(80.0));
        assert_eq!(find("held out", "threshold 1, recency, round robin, 32 frames"), Some(50.0));
        let mut names: Vec<_> = trials.iter().map(|t| (&t.subject, &t.variant)).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), trials.len());
    }

    #[test]
    fn it_reads_back_and_all_renderings_show_the_same() {
        let sweep = sample();
        assert_eq!(SwapSweep::from_json(&sweep.to_json()).unwrap(), sweep);
        let text = sweep.terminal(80);
        for shown in ["90.0 %", "recency", "round robin", "held out"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let page = sweep.page();
        assert!(page.contains("&lt;two&gt;") && !page.contains("<two>"));
        assert!(page.contains(SwapSweep::SCHEMA));
        assert_eq!(page.matches("<svg").count(), 5, "the five figures of the paper");
    }
}
