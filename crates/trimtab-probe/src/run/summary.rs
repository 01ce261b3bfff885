//! What became of the functions of a build, as it is kept: `trimtab.probe.instrument/1`.

use serde::{Deserialize, Serialize};

use crate::{Hook, Options, Outcome};

/// What `--json` writes: `trimtab.probe.instrument/1`.
#[derive(Debug, Serialize, Deserialize)]
pub struct InstrumentReport {
    schema: String,
    /// What happens at entries and exits.
    pub hook: Hook,
    /// Files that were instrumented.
    pub files: u64,
    /// What became of their functions.
    pub functions: FunctionCounts,
    /// Their sizes.
    pub bytes: Sizes,
    /// Functions of the user's that are hooks: none where they are not known.
    #[serde(default)]
    pub hooks: Option<UserHooks>,
}

/// Functions of the user's that are hooks.
#[derive(Debug, Serialize, Deserialize)]
pub struct UserHooks {
    /// Those that probes have inside.
    pub inside: Vec<String>,
    /// Those that probes call, and why.
    pub called: Vec<SkippedFunction>,
}

/// How many functions there were, and what became of them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FunctionCounts {
    /// Functions that were looked at.
    pub seen: u64,
    /// Those that call a hook.
    pub instrumented: u64,
    /// Those of the instrumented that keep their return address in a frame of the run time.
    pub with_frame: u64,
    /// Those that run as copies inside their stubs.
    #[serde(default)]
    pub copied: u64,
    /// Those that were left as they are.
    pub left: Vec<SkippedFunction>,
}

/// Bytes of all files.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Sizes {
    /// As they were.
    pub before: u64,
    /// As they are now.
    pub after: u64,
}

/// A function that was left as it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SkippedFunction {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

impl InstrumentReport {
    /// Nothing yet.
    pub fn new(options: &Options) -> Self {
        let hooks = options.hooks.as_deref().map(|hooks| {
            let (inside, called) = hooks.summary();
            let called = called.into_iter().map(|(name, why)| SkippedFunction {
                name: name.to_owned(),
                reason: why.text().to_owned(),
            });
            UserHooks {
                inside: inside.into_iter().map(str::to_owned).collect(),
                called: called.collect(),
            }
        });
        Self {
            hooks,
            schema: "trimtab.probe.instrument/1".to_owned(),
            hook: options.hook,
            files: 0,
            functions: FunctionCounts::default(),
            bytes: Sizes::default(),
        }
    }

    /// Adds a file.
    pub fn add(&mut self, before: u64, result: &Outcome) {
        self.files += 1;
        self.functions.seen += (result.instrumented.len() + result.left.len()) as u64;
        self.functions.instrumented += result.instrumented.len() as u64;
        self.functions.with_frame += result.with_frame as u64;
        self.functions.copied += result.copied as u64;
        let left = result.left.iter().map(|(name, reason)| SkippedFunction {
            name: name.clone(),
            reason: reason.text().to_owned(),
        });
        self.functions.left.extend(left);
        self.bytes.before += before;
        self.bytes.after += result.bytes.len() as u64;
    }

    /// Adds what another found.
    pub fn merge(&mut self, other: Self) {
        self.files += other.files;
        self.functions.seen += other.functions.seen;
        self.functions.instrumented += other.functions.instrumented;
        self.functions.with_frame += other.functions.with_frame;
        self.functions.copied += other.functions.copied;
        self.functions.left.extend(other.functions.left);
        self.bytes.before += other.bytes.before;
        self.bytes.after += other.bytes.after;
    }

    /// Functions that are instrumented.
    pub fn instrumented(&self) -> u64 {
        self.functions.instrumented
    }
}
