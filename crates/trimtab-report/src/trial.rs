//! What of an experiment was measured one by one, for who keeps it.

/// A subject in a variant, measured once. It is no part of a report's JSON, which has what all trials
/// together say.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// What was measured: a program, a machine that a kernel boots on.
    pub subject: String,
    /// The version of it: how it was built, laid out or instrumented.
    pub variant: String,
    /// Which repetition, from 0. No two trials of a report have the same subject, variant and round.
    pub round: u32,
    /// SHA-256 of the image or program, where it is known.
    pub image_hash: Option<String>,
    /// The numbers, or why there are none.
    pub outcome: Result<Vec<Value>, String>,
}

/// One number of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// What was measured: `instructions`.
    pub metric: &'static str,
    /// In what: `s`, `B`, `1` for a count.
    pub unit: &'static str,
    /// How much.
    pub value: f64,
}

impl Value {
    /// Seconds.
    pub fn seconds(metric: &'static str, value: f64) -> Self {
        Self { metric, unit: "s", value }
    }

    /// A number of things.
    pub fn count(metric: &'static str, value: u64) -> Self {
        Self { metric, unit: "1", value: value as f64 }
    }
}

impl Trial {
    /// The first repetition.
    pub fn new(
        subject: impl Into<String>,
        variant: impl Into<String>,
        outcome: Result<Vec<Value>, String>,
    ) -> Self {
        Self {
            subject: subject.into(),
            variant: variant.into(),
            round: 0,
            image_hash: None,
            outcome,
        }
    }

    /// Another repetition, counted from 0.
    #[must_use]
    pub fn round(mut self, round: u32) -> Self {
        self.round = round;
        self
    }

    /// Says what was measured, by its SHA-256.
    #[must_use]
    pub fn image(mut self, hash: impl Into<String>) -> Self {
        self.image_hash = Some(hash.into());
        self
    }
}
