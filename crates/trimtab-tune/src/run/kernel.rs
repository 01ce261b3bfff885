//! A kernel as what is tuned: it is compiled in one build directory and booted, and a program in the guest
//! counts what its system calls cost.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Context, Result, anyhow};
use include_dir::include_dir;
use trimtab_lab::cache::Key;
use trimtab_lab::compile::compile;
use trimtab_lab::process::ProcessError;
use trimtab_lab::tools::FoundTool;
use trimtab_lab::workdir::{KeptStep, WorkError};
use trimtab_machine::boot::{Boot, BootError, Clock, boot};
use trimtab_machine::guest::Workload;
use trimtab_machine::kernel::{Build, Feature, KernelError};
use trimtab_machine::testbed::Testbed;

use super::request::Limits;
use super::subject::{Built, Costs, Fault, Image, Subject};

/// What the calls need of a kernel, and the program that makes them.
pub static CALLS: Feature = Feature {
    name: "calls",
    over: &[],
    folder: include_dir!("$CARGO_MANIFEST_DIR/../../linux/calls"),
    generated: &[],
};

/// The workload that makes the calls.
const WORKLOAD: &str = "calls";
/// How often each is made; the median counts.
pub const ROUNDS: u32 = 21;
/// What the program says of a call.
const COST: &str = "call";
const MISSING: &str = "missing";
const WRONG: &str = "wrong";
/// Costs of one image may differ so much from boot to boot: nothing but what QEMU does not repeat.
const REPEATS: f64 = 1e-3;

/// A kernel with a compiler.
pub struct KernelSubject<'a> {
    /// What it is called.
    pub name: String,
    /// All that its compiler says of its version.
    compiler: String,
    build: &'a Build<'a>,
    testbed: &'a Testbed<'a>,
    limits: Limits,
    /// Where it boots.
    folder: PathBuf,
    /// One build directory, so one kernel.
    building: Mutex<()>,
    /// The calls that the kernel has without flags.
    expected: OnceLock<BTreeSet<String>>,
    /// Whether two boots of a kernel gave the same.
    repeats: OnceLock<()>,
}

impl<'a> KernelSubject<'a> {
    /// A kernel that is compiled in `build`, and boots in `folder`.
    pub fn new(
        name: String,
        compiler: String,
        build: &'a Build<'a>,
        testbed: &'a Testbed<'a>,
        limits: Limits,
        folder: PathBuf,
    ) -> Self {
        let (building, expected, repeats) = Default::default();
        Self { name, compiler, build, testbed, limits, folder, building, expected, repeats }
    }

    /// From now on a kernel must have these calls.
    pub fn expect(&self, costs: &Costs) {
        self.expected.get_or_init(|| costs.keys().cloned().collect());
    }

    fn costs(&self, image: &Path) -> Result<Costs, Fault> {
        let mut request = self.testbed.request_of(image, &self.folder);
        // One nanosecond an instruction: what the guest reads of its counter is instructions.
        request.hardware.clock = Clock::Instructions { shift: 0 };
        request.workload = Some(WORKLOAD.to_owned());
        request.limit = self.limits.run;
        read(&boot(&request).map_err(of_boot)?, self.expected.get())
    }
}

impl Subject for KernelSubject<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn key(&self) -> Key {
        Key::new("tune-kernel/1")
            .after(self.build.key())
            .field("compiler-version", &self.compiler)
            // Instructions are counted without the plugin that traces.
            .after(self.testbed.guest_key())
            .field("rounds", ROUNDS)
            // What fails by a limit does not with another.
            .field("build-milliseconds", self.limits.build.as_millis())
            .field("run-milliseconds", self.limits.run.as_millis())
            .field("memory", self.limits.memory)
    }

    fn is_serial(&self) -> bool {
        true
    }

    fn build<'s>(&'s self, flags: &[String]) -> Result<Box<dyn Built + 's>, Fault> {
        let _one = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let Limits { build: limit, memory, .. } = self.limits;
        let kernel = self.build.compile(flags, limit, memory, |_| ()).map_err(of_build)?;
        let image = Image { image: kernel.digest, bytes: kernel.bytes };
        Ok(Box::new(BuiltKernel { of: self, image, bootable: kernel.image }))
    }
}

/// A kernel that was compiled.
struct BuiltKernel<'s, 'a> {
    of: &'s KernelSubject<'a>,
    image: Image,
    bootable: PathBuf,
}

impl Built for BuiltKernel<'_, '_> {
    fn image(&self) -> &Image {
        &self.image
    }

    fn measure(&self) -> Result<Costs, Fault> {
        let costs = self.of.costs(&self.bootable)?;
        if self.of.repeats.get().is_none() {
            let again = self.of.costs(&self.bootable)?;
            if let Some(differs) = difference(&costs, &again) {
                return Err(Fault::Other(anyhow!(
                    "{differs} in another boot of the same kernel; expected the same, as QEMU counts \
                     instructions"
                )));
            }
            self.of.repeats.get_or_init(|| ());
        }
        Ok(costs)
    }
}

/// What differs too much between two boots.
fn difference(one: &Costs, other: &Costs) -> Option<String> {
    let differs = |again: &f64, cost: &f64| (again - cost).abs() > REPEATS * cost;
    let differing =
        one.iter().find(|(name, cost)| other.get(*name).is_none_or(|again| differs(again, cost)));
    let (name, cost) = differing?;
    let again = other.get(name).map_or("nothing".to_owned(), f64::to_string);
    Some(format!("the call {name} costs {cost} instructions, and {again}"))
}

/// What the program in the guest said of each call.
fn read(boot: &Boot, expected: Option<&BTreeSet<String>>) -> Result<Costs, Fault> {
    let nothing = Default::default();
    let of = |topic| boot.said.get(topic).unwrap_or(&nothing);
    costs(of(COST), of(WRONG), of(MISSING), expected)
}

type Said = std::collections::BTreeMap<String, String>;

fn costs(
    said: &Said,
    wrong: &Said,
    missing: &Said,
    expected: Option<&BTreeSet<String>>,
) -> Result<Costs, Fault> {
    if let Some((name, line)) = wrong.first_key_value() {
        let why = format!("it is wrong: the self-check of {name} failed in line {line}");
        return Err(Fault::Flags(why));
    }
    if let Some(name) = expected.and_then(|all| all.iter().find(|name| !said.contains_key(*name))) {
        let errno = missing.get(name).map_or("", String::as_str);
        let why = format!("it is wrong: it does not have the call {name} (errno {errno})");
        return Err(Fault::Flags(why));
    }
    let cost = |(name, value): (&String, &String)| {
        let cost = value.parse::<u64>().ok().filter(|cost| *cost > 0);
        let cost = cost.with_context(|| format!("the guest says that {name} costs {value:?}"))?;
        anyhow::Ok((name.clone(), cost as f64))
    };
    let costs = said.iter().map(cost).collect::<Result<Costs>>()?;
    match costs.is_empty() {
        true => Err(Fault::Flags("the guest says of no call what it costs".to_owned())),
        false => Ok(costs),
    }
}

/// Sorts a failure of a build: of what make said, the first error.
fn of_build(error: KernelError) -> Fault {
    match error {
        // No flags make make end by a signal.
        KernelError::Process(error @ ProcessError::Failed { status, .. })
            if status.code().is_none() =>
        {
            Fault::killed(&error)
        }
        KernelError::Process(error) => {
            let line = first_error(&error);
            match (Fault::of_process(error), line) {
                (Fault::Flags(_), Some(line)) => {
                    Fault::Flags(format!("the kernel does not build: {line}"))
                }
                (fault, _) => fault,
            }
        }
        KernelError::Incomplete { what, .. } => Fault::Flags(format!("the kernel's build {what}")),
        error => Fault::Other(error.into()),
    }
}

/// Of what make said at last the first error, or the last line.
fn first_error(error: &ProcessError) -> Option<String> {
    let ProcessError::Failed { tail, .. } = error else { return None };
    let is_error = |line: &&String| line.contains("rror:") || line.contains("undefined");
    tail.lines.iter().find(is_error).or(tail.lines.last()).cloned()
}

/// Sorts a failure of a boot.
fn of_boot(error: BootError) -> Fault {
    match error {
        BootError::Panicked { lines, .. } => {
            let line = lines.first().map_or("", String::as_str);
            Fault::Flags(format!("the guest's kernel panicked: {line}"))
        }
        error @ (BootError::Hung { .. }
        | BootError::Rebooted { .. }
        | BootError::Workload { .. }
        | BootError::SaidTooMuch { .. }
        | BootError::Silent { .. }) => {
            let text = error.to_string();
            Fault::Flags(text.lines().next().unwrap_or_default().to_owned())
        }
        error => Fault::Other(error.into()),
    }
}

/// The workload of the guest.
pub fn workload() -> Workload {
    Workload { name: WORKLOAD.to_owned(), script: format!("/bin/suite {ROUNDS}\n") }
}

/// The program that makes the calls, compiled.
pub struct Suite<'a> {
    /// Its compiler, which is not the one that is tuned.
    pub gcc: &'a FoundTool,
}

impl Suite<'_> {
    /// Its file in the step.
    pub const FILE: &'static str = "suite";

    /// The calls that it makes, in the order of their names: the rows of its tables.
    pub fn calls() -> BTreeSet<&'static str> {
        let lines = Self::sources().into_iter().flat_map(|(_, text)| text.lines());
        lines.filter_map(|line| line.trim().strip_prefix("{\"")?.split('"').next()).collect()
    }

    fn sources() -> Vec<(&'static str, &'static str)> {
        let name = |path: &'static Path| path.file_name().and_then(|name| name.to_str());
        let is_source = |name: &&str| name.ends_with(".c") || name.ends_with(".h");
        let files = CALLS.folder.files();
        let files = files.filter_map(|file| Some((name(file.path())?, file.contents_utf8()?)));
        files.filter(|(name, _)| is_source(name)).collect()
    }
}

impl KeptStep for Suite<'_> {
    const KIND: &'static str = "tune-suite";
    const VERSION: u32 = 1;
    type Record = ();
    type Error = anyhow::Error;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        let key = key.field("gcc", self.gcc.version_text());
        let bytes = |key: Key, (name, text): (&str, &str)| key.bytes(name, text.as_bytes());
        Ok(Self::sources().into_iter().fold(key, bytes))
    }

    fn make(&self, at: &Path) -> Result<()> {
        let flags = ["-std=gnu11", "-O2", "-static", "-s", "-Wall", "-Wextra", "-Werror"];
        let output = at.join(Self::FILE);
        compile("building what makes calls", &self.gcc.path, &Self::sources(), &flags, &output)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;
    use std::time::Duration;

    use trimtab_lab::failure::Failure;
    use trimtab_lab::process::Tail;

    use super::super::tuning::unusable;
    use super::*;

    fn said(of: &[(&str, &str)]) -> Said {
        of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn reason(found: Result<Costs, Fault>) -> String {
        match found {
            Err(Fault::Flags(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_the_guest_says_is_costs_or_a_reason() {
        let (none, good) = (Said::new(), said(&[("open", "900"), ("read", "400")]));
        let found = costs(&good, &none, &none, None).unwrap();
        assert_eq!(found, Costs::from([("open".to_owned(), 900.0), ("read".to_owned(), 400.0)]));
        let wrong = reason(costs(&good, &said(&[("fork", "31")]), &none, None));
        assert_eq!(wrong, "it is wrong: the self-check of fork failed in line 31");
        let expected = BTreeSet::from(["open".to_owned(), "socket".to_owned()]);
        let missing = reason(costs(&good, &none, &said(&[("socket", "38")]), Some(&expected)));
        assert_eq!(missing, "it is wrong: it does not have the call socket (errno 38)");
        assert!(reason(costs(&none, &none, &none, None)).contains("no call"));
        let free = costs(&said(&[("open", "0")]), &none, &none, None);
        assert!(matches!(free, Err(Fault::Other(_))), "{free:?}");
    }

    fn hint(error: &anyhow::Error) -> String {
        error
            .downcast_ref::<Failure>()
            .map_or_else(String::new, |failure| failure.hints().join(" "))
    }

    fn failed(status: i32, lines: &[&str]) -> KernelError {
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        ProcessError::Failed {
            purpose: "building the kernel".to_owned(),
            tool: "make".to_owned(),
            status: ExitStatus::from_raw(status),
            tail: Tail { lines, log: None },
        }
        .into()
    }

    #[test]
    fn a_build_that_is_killed_is_no_fault_of_the_flags() {
        let exit = 2 << 8;
        let killed = "gcc: fatal error: Killed signal terminated program cc1";
        for error in [failed(exit, &[killed, "make: *** Error 1"]), failed(9, &[])] {
            let Fault::Other(error) = of_build(error) else { panic!("it was killed") };
            assert!(hint(&error).contains("memory"), "{error}");
        }
        let fault = of_build(failed(exit, &["a.c:1: error: no", "make: *** Error 1"]));
        let Fault::Flags(reason) = fault else { panic!("{fault:?}") };
        assert_eq!(reason, "the kernel does not build: a.c:1: error: no");
    }

    #[test]
    fn of_a_limit_of_time_it_is_said_what_makes_it_longer() {
        let limit = Duration::from_secs(300);
        let (tail, purpose) = (Tail::default(), "building the kernel".to_owned());
        let slow = ProcessError::TimeLimit { purpose, tool: "make".to_owned(), limit, tail };
        let hung = BootError::Hung { limit, tail: Tail::default(), argument: "earlyprintk" };
        let flags = ["-O2".to_owned()];
        for fault in [of_build(slow.into()), of_boot(hung)] {
            let error = unusable(fault, &flags);
            assert!(hint(&error).contains("--limit"), "{error}");
        }
        let error = unusable(of_build(failed(2 << 8, &["a.c:1: error: no"])), &flags);
        assert_eq!(hint(&error), "");
    }

    #[test]
    fn two_boots_must_agree_on_each_call() {
        let of = |open: f64| Costs::from([("open".to_owned(), open), ("read".to_owned(), 400.0)]);
        assert_eq!(difference(&of(1000.0), &of(1000.5)), None);
        let text = difference(&of(1000.0), &of(1002.0)).unwrap();
        assert_eq!(text, "the call open costs 1000 instructions, and 1002");
        assert!(difference(&of(1000.0), &Costs::new()).is_some());
    }

    #[test]
    fn the_suite_makes_the_calls_of_the_paper_and_many_others() {
        let names = Suite::calls();
        assert!(names.len() >= 40, "{names:?}");
        for name in ["open", "close", "fstat", "read", "write", "fork", "mmap", "socket", "futex"] {
            assert!(names.contains(name), "{name}");
        }
    }
}
