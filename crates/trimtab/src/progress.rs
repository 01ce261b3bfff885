//! What long jobs say while they run, on standard error: a line with a spinner or bar for each
//! stage on a terminal, one plain line at its start and one at its end elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::interrupt;

/// How often a spinner turns.
const TICK: Duration = Duration::from_millis(120);

/// The stages of one job.
#[derive(Debug, Clone)]
pub struct Progress {
    /// None where standard error is not a terminal.
    bars: Option<MultiProgress>,
}

impl Progress {
    /// Bars if standard error is a terminal, lines otherwise.
    pub fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::lines();
        }
        let bars = MultiProgress::new();
        let shown = bars.clone();
        // A bar that is cut off would leave the cursor in the middle of a line.
        interrupt::on_stop(move || _ = shown.clear());
        Self { bars: Some(bars) }
    }

    /// Lines, whatever standard error is.
    pub fn lines() -> Self {
        Self { bars: None }
    }

    /// Begins a stage; `name` says what is done, as in "build the kernel".
    pub fn stage(&self, name: &str) -> Stage {
        let bar = self.bars.as_ref().map(|bars| {
            let bar = bars.add(ProgressBar::new_spinner());
            bar.set_style(style("{spinner} {prefix}  {elapsed}  {msg:.dim}"));
            bar.set_prefix(name.to_owned());
            bar.enable_steady_tick(TICK);
            bar
        });
        let stage = Stage {
            name: name.to_owned(),
            start: Instant::now(),
            bars: self.bars.clone(),
            bar,
            ended: false,
        };
        if stage.bar.is_none() {
            eprintln!("trimtab: {name} ...");
        }
        stage
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

/// A stage that is under way. Dropped without [`Stage::done`] it counts as failed.
#[derive(Debug)]
pub struct Stage {
    name: String,
    start: Instant,
    bars: Option<MultiProgress>,
    bar: Option<ProgressBar>,
    ended: bool,
}

impl Stage {
    /// The stage is made of this many parts: shows a bar and how long is left.
    pub fn parts(&self, total: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(total);
            bar.set_style(style(
                "{spinner} {prefix}  {elapsed}  {bar:30} {pos}/{len}  left {eta}  {msg:.dim}",
            ));
        }
    }

    /// So many of the parts are done.
    pub fn at(&self, part: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(part);
        }
    }

    /// What is being done just now. Shown on a terminal only: elsewhere it would fill a log.
    pub fn note(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.to_owned());
        }
    }

    /// Time since the stage began.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Ends the stage; `result` says what came out, and may be empty. Gives the time it took.
    pub fn done(mut self, result: &str) -> Duration {
        self.end("done in", result)
    }

    /// Ends the stage that found its result from an earlier run.
    pub fn cached(mut self, result: &str) -> Duration {
        self.end("kept from an earlier run,", result)
    }

    /// Ends the stage as [`Stage::cached`] or as [`Stage::done`].
    pub fn ended(self, cached: bool, result: &str) -> Duration {
        if cached { self.cached(result) } else { self.done(result) }
    }

    /// Shows what make does just now, of a line that it wrote: kbuild's short form of a command, as
    /// in `  CC      init/main.o`.
    pub fn note_make(&self, line: &str) {
        if let Some(command) = line.strip_prefix("  ") {
            self.note(command.trim_start());
        }
    }

    fn end(&mut self, how: &str, result: &str) -> Duration {
        self.ended = true;
        let elapsed = self.start.elapsed();
        let result = if result.is_empty() { String::new() } else { format!(": {result}") };
        let line = format!("{} {how} {}{result}", self.name, seconds(elapsed));
        match (&self.bars, &self.bar) {
            (Some(bars), Some(bar)) => {
                bar.finish_and_clear();
                // Not being able to show progress is not worth failing for.
                let _ = bars.println(format!("  {line}"));
            }
            _ => eprintln!("trimtab: {line}"),
        }
        elapsed
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.ended && !trimtab_lab::interrupt::requested() {
            self.end("failed after", "");
        }
    }
}

/// The template is one of ours; a wrong one shows as indicatif's own style.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// A time as people read it: `0.4 s`, `12 s`, `5 min 12 s`.
fn seconds(time: Duration) -> String {
    let whole = time.as_secs();
    match whole {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{whole} s"),
        _ => format!("{} min {} s", whole / 60, whole % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        let read = |milliseconds| seconds(Duration::from_millis(milliseconds));
        assert_eq!(read(412), "0.4 s");
        assert_eq!(read(12_900), "12 s");
        assert_eq!(read(312_000), "5 min 12 s");
    }

    #[test]
    fn templates_are_valid() {
        for template in ["{spinner} {prefix}  {elapsed}  {msg:.dim}", "{bar:30} {pos}/{len} {eta}"]
        {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
    }

    #[test]
    fn a_stage_gives_its_time() {
        let stage = Progress::lines().stage("test");
        stage.parts(3);
        stage.at(1);
        stage.note("one");
        assert!(stage.done("fine") < Duration::from_secs(60));
    }
}
