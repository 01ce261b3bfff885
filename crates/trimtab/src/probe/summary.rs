use std::collections::BTreeMap;

use comfy_table::{Table, presets};
use serde::{Deserialize, Serialize};
use trimtab_probe::{Hook, Options, Rewritten};
use trimtab_report::number::{bytes, count};

/// What `--json` writes: `trimtab.probe.instrument/1`.
#[derive(Debug, Serialize, Deserialize)]
pub struct InstrumentReport {
    schema: String,
    hook: Hook,
    files: u64,
    functions: Functions,
    bytes: Sizes,
    /// Functions of the user's that are hooks: none where they are not known.
    #[serde(default)]
    hooks: Option<UserHooks>,
}

#[derive(Debug, Serialize, Deserialize)]
struct UserHooks {
    /// Those that probes have inside.
    inside: Vec<String>,
    /// Those that probes call, and why.
    called: Vec<Left>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Functions {
    seen: u64,
    instrumented: u64,
    /// Those of the instrumented that keep their return address in a frame of the run time.
    with_frame: u64,
    /// Those that run as copies inside their stubs.
    #[serde(default)]
    copied: u64,
    left: Vec<Left>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Sizes {
    before: u64,
    after: u64,
}

/// A function that was left as it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Left {
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
            let called = called
                .into_iter()
                .map(|(name, why)| Left { name: name.to_owned(), reason: why.text().to_owned() });
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
            functions: Functions::default(),
            bytes: Sizes::default(),
        }
    }

    /// Adds a file.
    pub fn add(&mut self, before: u64, result: &Rewritten) {
        self.files += 1;
        self.functions.seen += (result.instrumented.len() + result.left.len()) as u64;
        self.functions.instrumented += result.instrumented.len() as u64;
        self.functions.with_frame += result.with_frame as u64;
        self.functions.copied += result.copied as u64;
        let left = result
            .left
            .iter()
            .map(|(name, reason)| Left { name: name.clone(), reason: reason.text().to_owned() });
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

    /// In words: a line, and the reasons.
    pub fn render(&self) -> String {
        let functions = &self.functions;
        let mut text = format!(
            "{} of {} functions in {} files are instrumented ({}), {} before and {} after.\n",
            count(functions.instrumented),
            count(functions.seen),
            count(self.files),
            self.hook.name(),
            bytes(self.bytes.before),
            bytes(self.bytes.after),
        );
        if let Some(UserHooks { inside, called }) = &self.hooks {
            if !inside.is_empty() {
                text += &format!("Inside the probes: {}.\n", inside.join(", "));
            }
            for Left { name, reason } in called {
                text += &format!("Called by the probes: {name} ({reason}).\n");
            }
        }
        let mut reasons: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
        for left in &functions.left {
            reasons.entry(&left.reason).or_insert((0, &left.name)).0 += 1;
        }
        if reasons.is_empty() {
            return text;
        }
        let mut rows: Vec<_> = reasons.into_iter().collect();
        rows.sort_by_key(|(reason, (count, _))| (std::cmp::Reverse(*count), *reason));
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_header(["left as they are", "", "such as"]);
        for (reason, (number, name)) in rows {
            table.add_row([count(number), reason.to_owned(), name.to_owned()]);
        }
        text.push('\n');
        text.push_str(&table.trim_fmt());
        text.push('\n');
        text
    }
}
