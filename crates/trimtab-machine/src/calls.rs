//! What system calls cost in a guest: a program makes each of them many times, checks what it did, and says
//! how many instructions it took. Its source is `linux/calls`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::Context;
use include_dir::{Dir, include_dir};
use thiserror::Error;
use trimtab_lab::cache::Key;
use trimtab_lab::tools::FoundTool;
use trimtab_lab::workdir::{KeptStep, WorkError};
use trimtab_link::feature::Feature;

use crate::boot::BootRequest;
use crate::guest::Workload;
use crate::guest::compiled::{CompiledProgram, c_sources};

/// What the calls need of a kernel, and the program that makes them.
pub static CALLS: Feature = Feature {
    name: "calls",
    over: &[],
    folder: include_dir!("$CARGO_MANIFEST_DIR/../../linux/calls"),
    generated: &[],
};

/// The name of the workload that makes the calls.
pub const WORKLOAD: &str = "calls";
/// The name of the workload that makes them in a guest of another state.
pub const VARIED: &str = "calls-varied";
/// The kernel argument that says which.
const STATE: &str = "trimtab.state";
/// MiB of memory that a guest of each further state has more.
const STATE_MIB: u32 = 16;
/// Where its program must be in the guest.
pub const PROGRAM: &str = "bin/suite";
/// Where the program must be in the guest that measures [`PRIMITIVES`].
pub const PRIMITIVES_PROGRAM: &str = "bin/primitives";
/// What calls are made of. Their program says what they cost as it is said of calls, all on the first CPU: a
/// switch between processes and the call of `sched_yield` that does it; a byte to another process and back, which
/// is two switches, two wake-ups and four calls; a write to a page that was never touched; a call of `futex` that
/// takes and gives back one spin lock.
pub const PRIMITIVES: [&str; 4] = ["context-switch", "pipe-round-trip", "page-fault", "spin-lock"];
/// How often each call is made; the median counts.
pub const ROUNDS: u32 = 21;
/// The module that times locks, by its name.
pub const LOCK_MODULE: &str = "trimtab_locks";
/// The kinds of locks that it times, each taken and given back while nobody else wants it.
pub const LOCKS: [&str; 3] = ["spin", "mutex", "rwsem_read"];
/// The folder of its source.
const LOCK_FOLDER: &str = "locks";
/// What the guest says of a kind of locks.
const LOCK: &str = "lock";
/// What the program says of a call.
const COST: &str = "call";
const MISSING: &str = "missing";
const WRONG: &str = "wrong";
/// Costs of one image may differ so much from boot to boot: nothing but what QEMU does not repeat.
const REPEATS: f64 = 1e-3;

/// Instructions of each call, by its name, if the guest's clock is
/// [`Clock::Instructions`](crate::boot::Clock::Instructions) with a shift of 0.
pub type Costs = BTreeMap<String, u64>;

/// What a guest said, by topic and name: see [`Boot::said`](crate::boot::Boot::said).
pub type Said = BTreeMap<String, BTreeMap<String, String>>;

/// Why there are no costs.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CallsError {
    /// A call did something else than it should.
    #[error("the self-check of {name} failed in line {line}")]
    Wrong {
        /// The call.
        name: String,
        /// The line of the check.
        line: String,
    },
    /// A call that was expected is not there.
    #[error("it does not have the call {name} (errno {errno})")]
    Missing {
        /// The call.
        name: String,
        /// What the kernel said.
        errno: String,
    },
    /// The program said nothing.
    #[error("the guest says of no call what it costs")]
    Silent,
    /// What was said is no cost.
    #[error("the guest says that {name} costs {found:?}; expected a number of instructions")]
    Unreadable {
        /// The call.
        name: String,
        /// What it costs.
        found: String,
    },
}

/// The workload of the guest.
pub fn workload() -> Workload {
    Workload { name: WORKLOAD.to_owned(), script: format!("/{PROGRAM} {ROUNDS}\n") }
}

/// The workload of a guest of another state, which [`in_state`] names: what should not matter to a call is
/// different in each, the files of its folder, processes beside it, and by the size of the environment the place of its
/// stack. With the same in each boot of a kernel, boots would be all the same.
pub fn varied_workload() -> Workload {
    let script = format!(
        "read -r line </proc/cmdline\n\
         state=${{line##*{STATE}=}}\n\
         state=${{state%% *}}\n\
         at=0\n\
         while [ $at -lt $((state * 37 % 101)) ]; do\n\
         \techo $at >/tmp/$at\n\
         \tat=$((at + 1))\n\
         done\n\
         at=0\n\
         while [ $at -lt $((state * 5 % 13)) ]; do\n\
         \tsleep 1000 &\n\
         \tat=$((at + 1))\n\
         done\n\
         export STATE=$(printf '%0*d' $((state * 1237 % 4099)) 0)\n\
         /{PROGRAM} {ROUNDS}\n"
    );
    Workload { name: VARIED.to_owned(), script }
}

/// Has a boot of a guest with [`varied_workload`] make the calls in a state, which is a number above 0; memory is
/// part of it.
pub fn in_state(request: &mut BootRequest, state: u32) {
    request.workload = Some(VARIED.to_owned());
    request.hardware.memory_mib += STATE_MIB * state;
    request.arguments.push(format!("{STATE}={state}"));
}

/// The program that makes the calls. Its compiler is not the kernel's.
pub fn program(gcc: &FoundTool) -> CompiledProgram<'_> {
    let sources = c_sources(&CALLS.folder);
    CompiledProgram { purpose: "building what makes calls", gcc, sources, flags: Vec::new() }
}

/// The program that measures [`PRIMITIVES`].
pub fn primitives(gcc: &FoundTool) -> CompiledProgram<'_> {
    let mut sources = c_sources(&CALLS.folder);
    sources.retain(|(name, _)| name.ends_with(".h"));
    sources.extend(CALLS.folder.get_dir("primitives").map(c_sources).unwrap_or_default());
    CompiledProgram { purpose: "building what measures a kernel", gcc, sources, flags: Vec::new() }
}

/// The source of [the module](LOCK_MODULE), as files.
#[derive(Debug, Clone, Copy)]
pub struct LockModule;

impl KeptStep for LockModule {
    const KIND: &'static str = "lock-module";
    const VERSION: u32 = 1;
    type Record = ();
    type Error = anyhow::Error;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        Ok(lock_files().fold(key, |key, (name, content)| key.bytes(name, content)))
    }

    fn make(&self, at: &Path) -> anyhow::Result<()> {
        for (name, content) in lock_files() {
            let path = at.join(name);
            fs::write(&path, content)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

/// Names of the files of the module's source, and what is in them.
fn lock_files() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    let files = CALLS.folder.get_dir(LOCK_FOLDER).into_iter().flat_map(Dir::files);
    let name = |path: &'static Path| path.file_name().and_then(|name| name.to_str());
    files.filter_map(move |file| Some((name(file.path())?, file.contents())))
}

/// What a guest in which the module is loaded runs to say what it found.
pub fn locks_script() -> String {
    let names = LOCKS.join(" ");
    format!(
        "for name in {names}; do\n\
         \tread value </sys/module/{LOCK_MODULE}/parameters/$name || exit 1\n\
         \techo \"trimtab: {LOCK} $name $value\"\n\
         done\n"
    )
}

/// What the guest said of each kind of locks. Without SMP a spin lock may be nothing.
///
/// # Errors
/// A kind of which it says nothing, or nonsense.
pub fn lock_costs(said: &Said) -> Result<Costs, CallsError> {
    let of = |name: &str| {
        let found = said.get(LOCK).and_then(|costs| costs.get(name)).ok_or(CallsError::Silent)?;
        let unreadable = |_| CallsError::Unreadable { name: name.to_owned(), found: found.clone() };
        Ok((name.to_owned(), found.parse().map_err(unreadable)?))
    };
    LOCKS.into_iter().map(of).collect()
}

/// Lines of configuration with which a kernel for calls compiles fast, as distributions compile theirs.
pub fn lean() -> &'static str {
    CALLS.fragment("lean").unwrap_or_default()
}

/// The calls that it makes, in the order of their names: the rows of its tables.
pub fn names() -> BTreeSet<&'static str> {
    let lines = c_sources(&CALLS.folder).into_iter().flat_map(|(_, text)| text.lines());
    lines.filter_map(|line| line.trim().strip_prefix("{\"")?.split('"').next()).collect()
}

/// What the guest said of each call; the kernel must have those that are `expected`.
///
/// # Errors
/// A call that is wrong or missing, and a guest that says nothing or nonsense.
pub fn costs(said: &Said, expected: Option<&BTreeSet<String>>) -> Result<Costs, CallsError> {
    let of = |topic: &str| said.get(topic).into_iter().flatten();
    if let Some((name, line)) = wrong(said) {
        return Err(CallsError::Wrong { name: name.clone(), line: line.clone() });
    }
    let known: BTreeSet<&String> = of(COST).map(|(name, _)| name).collect();
    if let Some(name) = expected.into_iter().flatten().find(|name| !known.contains(name)) {
        let errno = of(MISSING).find(|(missing, _)| *missing == name);
        let errno = errno.map_or_else(String::new, |(_, errno)| errno.clone());
        return Err(CallsError::Missing { name: name.clone(), errno });
    }
    let cost = |(name, found): (&String, &String)| match found.parse() {
        Ok(cost) if cost > 0 => Ok((name.clone(), cost)),
        _ => Err(CallsError::Unreadable { name: name.clone(), found: found.clone() }),
    };
    let costs = of(COST).map(cost).collect::<Result<Costs, CallsError>>()?;
    if costs.is_empty() { Err(CallsError::Silent) } else { Ok(costs) }
}

/// A call that did something else than it should, and the line of the check, where the guest says so.
pub fn wrong(said: &Said) -> Option<(&String, &String)> {
    said.get(WRONG).into_iter().flatten().next()
}

/// What differs too much between two boots of a kernel, if anything does.
pub fn difference(one: &Costs, other: &Costs) -> Option<String> {
    let differs = |again: u64, cost: u64| again.abs_diff(cost) as f64 > REPEATS * cost as f64;
    let (name, cost) = one
        .iter()
        .find(|(name, cost)| other.get(*name).is_none_or(|again| differs(*again, **cost)))?;
    let again = other.get(name).map_or("nothing".to_owned(), u64::to_string);
    Some(format!("the call {name} costs {cost}, and {again}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn said(topics: &[(&str, &[(&str, &str)])]) -> Said {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let topic = |(topic, of): &(&str, &[(&str, &str)])| {
            ((*topic).to_owned(), of.iter().map(pair).collect())
        };
        topics.iter().map(topic).collect()
    }

    const GOOD: &[(&str, &str)] = &[("open", "900"), ("read", "400")];

    #[test]
    fn what_the_guest_says_is_costs_or_a_reason() {
        let found = costs(&said(&[("call", GOOD)]), None).unwrap();
        assert_eq!(found, Costs::from([("open".to_owned(), 900), ("read".to_owned(), 400)]));
        let why = |topics: &[(&str, &[(&str, &str)])], expected| {
            costs(&said(topics), expected).unwrap_err().to_string()
        };
        let wrong = why(&[("call", GOOD), ("wrong", &[("fork", "31")])], None);
        assert_eq!(wrong, "the self-check of fork failed in line 31");
        let expected = BTreeSet::from(["open".to_owned(), "socket".to_owned()]);
        let missing = why(&[("call", GOOD), ("missing", &[("socket", "38")])], Some(&expected));
        assert_eq!(missing, "it does not have the call socket (errno 38)");
        assert!(why(&[("uptime", &[])], None).contains("no call"));
        for nonsense in ["0", "-3", "many"] {
            let error = why(&[("call", &[("open", nonsense)])], None);
            assert!(error.contains("expected a number of instructions"), "{error}");
        }
    }

    #[test]
    fn in_each_state_the_guest_is_another() {
        let script = varied_workload().script;
        assert!(script.contains("state=${line##*trimtab.state=}\n"), "{script}");
        assert!(
            script.ends_with(&format!("/{PROGRAM} {ROUNDS}\n")) && !script.contains("{{"),
            "{script}"
        );
        // The shell of the guest counts as this one does.
        let said = |state: u32| {
            let script = script.replace("/proc/cmdline", "cmdline").replace("/tmp/", "./");
            let script = script.replace("sleep 1000 &", "echo process");
            let script = script.replace(&format!("/{PROGRAM}"), "ls | wc -l; echo ${#STATE} #");
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("cmdline"), format!("a=b trimtab.state={state} c\n"))
                .unwrap();
            let mut shell = std::process::Command::new("sh");
            let output = shell.args(["-c", &script]).current_dir(folder.path()).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(
            said(1).split_whitespace().collect::<Vec<_>>(),
            [&["process"; 5][..], &["38", "1237"]].concat()
        );
        assert_ne!(said(2), said(3));
    }

    #[test]
    fn the_primitives_program_says_a_cost_of_each() {
        let folder = tempfile::tempdir().unwrap();
        let work = trimtab_lab::workdir::WorkDir::open(folder.path()).unwrap();
        let gcc = trimtab_lab::tools::find("gcc").unwrap();
        assert!(primitives(&gcc).get(&work).unwrap().is_file());
        let sources = primitives(&gcc).sources;
        for name in PRIMITIVES {
            assert!(
                sources.iter().any(|(_, text)| text.contains(&format!("{{\"{name}\""))),
                "{name}"
            );
        }
        assert!(lean().contains("CONFIG_CC_OPTIMIZE_FOR_PERFORMANCE=y"));
    }

    #[test]
    fn the_module_says_a_cost_of_each_lock() {
        let files: Vec<_> = lock_files().collect();
        let (_, source) = files.iter().find(|(name, _)| *name == "trimtab_locks.c").unwrap();
        let source = String::from_utf8_lossy(source);
        for name in LOCKS {
            assert!(source.contains(&format!("module_param({name}, uint, 0444);")), "{name}");
            assert!(locks_script().contains(name));
        }
        let said =
            |value| said(&[("lock", &[("spin", "0"), ("mutex", value), ("rwsem_read", "9")])]);
        assert_eq!(lock_costs(&said("20")).unwrap()["spin"], 0);
        assert!(lock_costs(&said("-1")).unwrap_err().to_string().contains("mutex costs"));
        assert!(lock_costs(&Said::new()).is_err());
    }

    #[test]
    fn two_boots_must_agree_on_each_call() {
        let of = |open| Costs::from([("open".to_owned(), open), ("read".to_owned(), 400)]);
        assert_eq!(difference(&of(10_000), &of(10_005)), None);
        let text = difference(&of(1000), &of(1002)).unwrap();
        assert_eq!(text, "the call open costs 1000, and 1002");
        assert!(difference(&of(1000), &Costs::new()).is_some());
    }

    #[test]
    fn the_suite_makes_the_calls_that_programs_make_most() {
        let names = names();
        assert!(names.len() >= 40, "{names:?}");
        for name in ["open", "close", "fstat", "read", "write", "fork", "mmap", "socket", "futex"] {
            assert!(names.contains(name), "{name}");
        }
    }
}
