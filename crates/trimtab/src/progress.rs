//! What long jobs show while they run, on standard error: a line with a spinner or bar for each
//! stage on a terminal, one plain line at its start and one at its end elsewhere.

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use trimtab_lab::interrupt;
use trimtab_lab::observe::{Lines, Observe, Silent, View};
use trimtab_lab::process;

/// How often a spinner turns.
const TICK: Duration = Duration::from_millis(120);

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// Results and failures only.
    Quiet,
    /// Stages.
    #[default]
    Stages,
    /// Stages, and each command that is started. No bars: they would be torn.
    Commands,
}

static DETAIL: OnceLock<Detail> = OnceLock::new();

/// Says for the whole process how much is shown; the first call counts.
pub fn show(detail: Detail) {
    if *DETAIL.get_or_init(|| detail) == Detail::Commands {
        process::show_commands();
    }
}

/// The stages of one job.
#[derive(Debug, Clone)]
pub struct Progress {
    /// None where standard error is not a terminal, or where commands are shown.
    bars: Option<MultiProgress>,
    quiet: bool,
}

impl Progress {
    /// Bars if standard error is a terminal, lines otherwise; what [`show`] said comes first.
    pub fn new() -> Self {
        let detail = DETAIL.get().copied().unwrap_or_default();
        if detail != Detail::Stages || !std::io::stderr().is_terminal() {
            return Self { bars: None, quiet: detail == Detail::Quiet };
        }
        let bars = MultiProgress::new();
        let shown = bars.clone();
        // A bar that is cut off would leave the cursor in the middle of a line.
        interrupt::on_stop(move || _ = shown.clear());
        Self { bars: Some(bars), quiet: false }
    }
}

/// As [`Progress`], in lines and without bars: for a job whose program may write to the terminal, where a
/// moving bar would be in its way.
#[derive(Debug, Clone, Copy)]
pub struct Steady;

impl Observe for Steady {
    fn begin(&self, name: &str) -> Box<dyn View> {
        match DETAIL.get_or_init(Detail::default) {
            Detail::Quiet => Silent.begin(name),
            _ => Lines.begin(name),
        }
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Observe for Progress {
    fn begin(&self, name: &str) -> Box<dyn View> {
        if self.quiet {
            return Silent.begin(name);
        }
        let Some(bars) = &self.bars else { return Lines.begin(name) };
        let bar = bars.add(ProgressBar::new_spinner());
        bar.set_style(style(SPINNER));
        bar.set_prefix(name.to_owned());
        bar.enable_steady_tick(TICK);
        Box::new(Bar { bars: bars.clone(), bar })
    }
}

/// A stage without and with parts.
const SPINNER: &str = "{spinner} {prefix}  {elapsed}  {msg:.dim}";
const PARTS: &str = "{spinner} {prefix}  {elapsed}  {bar:30} {pos}/{len}  left {eta}  {msg:.dim}";

/// The line of a stage.
#[derive(Debug)]
struct Bar {
    bars: MultiProgress,
    bar: ProgressBar,
}

impl View for Bar {
    fn parts(&self, total: u64) {
        self.bar.set_length(total);
        self.bar.set_style(style(PARTS));
    }

    fn at(&self, part: u64) {
        self.bar.set_position(part);
    }

    fn note(&self, text: &str) {
        self.bar.set_message(text.to_owned());
    }

    fn end(&self, line: &str) {
        self.bar.finish_and_clear();
        // Not being able to show progress is not worth failing for.
        let _ = self.bars.println(format!("  {line}"));
    }
}

/// The template is one of ours; a wrong one shows as indicatif's own style.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_valid() {
        for template in [SPINNER, PARTS] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
    }
}
