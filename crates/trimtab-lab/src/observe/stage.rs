//! One stage of a job.

use std::fmt;
use std::time::{Duration, Instant};

use super::View;
use crate::interrupt;

/// A stage that is under way. Dropped without [`Stage::done`] it counts as failed.
pub struct Stage {
    name: String,
    start: Instant,
    view: Box<dyn View>,
    ended: bool,
}

impl Stage {
    /// A stage that begins now.
    pub fn new(name: &str, view: Box<dyn View>) -> Self {
        Self { name: name.to_owned(), start: Instant::now(), view, ended: false }
    }

    /// The stage is made of this many parts: a bar and how long is left can be shown.
    pub fn parts(&self, total: u64) {
        self.view.parts(total);
    }

    /// So many of the parts are done.
    pub fn at(&self, part: u64) {
        self.view.at(part);
    }

    /// What is being done just now.
    pub fn note(&self, text: &str) {
        self.view.note(text);
    }

    /// Shows what make does just now, of a line that it wrote: kbuild's short form of a command, as
    /// in `  CC      init/main.o`.
    pub fn note_make(&self, line: &str) {
        if let Some(command) = line.strip_prefix("  ") {
            self.note(command.trim_start());
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

    fn end(&mut self, how: &str, result: &str) -> Duration {
        self.ended = true;
        let elapsed = self.start.elapsed();
        let result = if result.is_empty() { String::new() } else { format!(": {result}") };
        self.view.end(&format!("{} {how} {}{result}", self.name, seconds(elapsed)));
        elapsed
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, start, ended, .. } = self;
        f.debug_struct("Stage")
            .field("name", name)
            .field("start", start)
            .field("ended", ended)
            .finish_non_exhaustive()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.ended && !interrupt::requested() {
            self.end("failed after", "");
        }
    }
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
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::observe::{Lines, Observe};

    /// Keeps what it is shown.
    #[derive(Clone, Default)]
    struct Notes(Arc<Mutex<Vec<String>>>);

    impl View for Notes {
        fn note(&self, text: &str) {
            self.0.lock().unwrap().push(text.to_owned());
        }

        fn end(&self, line: &str) {
            self.note(line);
        }
    }

    #[test]
    fn times_read_well() {
        let read = |milliseconds| seconds(Duration::from_millis(milliseconds));
        assert_eq!(read(412), "0.4 s");
        assert_eq!(read(12_900), "12 s");
        assert_eq!(read(312_000), "5 min 12 s");
    }

    #[test]
    fn a_stage_gives_its_time() {
        let stage = Lines.stage("test");
        stage.parts(3);
        stage.at(1);
        stage.note("one");
        assert!(stage.done("fine") < Duration::from_secs(60));
    }

    #[test]
    fn a_stage_says_once_how_it_ended() {
        let kept = Notes::default();
        let stage = || Stage::new("build", Box::new(kept.clone()));
        stage().done("fine");
        stage().ended(true, "");
        let noted = stage();
        noted.note_make("  CC      init/main.o");
        noted.note_make("make: nothing to do");
        drop(noted);
        assert_eq!(
            *kept.0.lock().unwrap(),
            [
                "build done in 0.0 s: fine",
                "build kept from an earlier run, 0.0 s",
                "CC      init/main.o",
                "build failed after 0.0 s",
            ]
        );
    }
}
