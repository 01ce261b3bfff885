//! The process that reads inputs, and dies of those that are too much for it.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::Context;
use nix::libc;
use nix::sys::resource::{Resource, UsageWho, getrusage, setrlimit};
use serde::{Deserialize, Serialize};
use trimtab::progress;
use trimtab_lab::observe::say;

use crate::mutation::{self, Chance};
use crate::readers::{Reader, Way};
use crate::seeds::Seeds;

/// Bytes of address space.
pub const SPACE: u64 = 2 << 30;
/// Bytes that may be resident: inputs have at most 128 KiB.
const RESIDENT: u64 = 256 << 20;
/// How a worker ends where more were.
pub const GREEDY: i32 = 3;
/// Seconds for an input.
pub const TIME: u32 = 10;
/// In the folder: which input is being read, and how many before it could be; eight bytes each.
pub const STATE: &str = "state";
/// In the folder: what was found, a JSON value a line.
pub const FINDINGS: &str = "findings";
/// In the folder: what the worker says of itself when it is done with its inputs.
pub const SUMMARY: &str = "summary";
/// Findings after which a worker stops.
pub const MOST_FINDINGS: usize = 20;

/// Something that is wrong.
#[derive(Debug, Serialize, Deserialize)]
pub struct Finding {
    /// The number of the input.
    pub index: u64,
    /// What is wrong.
    pub what: String,
}

/// What is known when all is read.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Inputs that could be read.
    pub read: u64,
    /// Bytes that were resident at the most.
    pub resident: u64,
}

/// Standard output goes to nowhere as long as this lives.
#[derive(Debug)]
pub struct Silenced(OwnedFd);

impl Silenced {
    /// Begins.
    pub fn begin() -> anyhow::Result<Self> {
        let before = nix::unistd::dup(std::io::stdout().as_fd())?;
        nix::unistd::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
        Ok(Self(before))
    }
}

impl Drop for Silenced {
    fn drop(&mut self) {
        let _ = nix::unistd::dup2_stdout(&self.0);
    }
}

/// The last panic's message.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Reads the inputs of these numbers.
pub fn run(reader: &Reader, folder: &Path, seed: u64, inputs: Range<u64>) -> anyhow::Result<()> {
    setrlimit(Resource::RLIMIT_AS, SPACE, SPACE)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    let open = |name: &str| {
        let path = folder.join(name);
        File::options()
            .create(true)
            .read(true)
            .append(name == FINDINGS)
            .write(true)
            .truncate(false)
            .open(&path)
    };
    let (state, mut findings) = (open(STATE)?, open(FINDINGS)?);
    let bench = Bench::prepare(reader, folder)?;
    let mut summary = Summary::default();
    let mut found = 0;
    for index in inputs {
        state.write_all_at(&[index.to_le_bytes(), summary.read.to_le_bytes()].concat(), 0)?;
        // SAFETY: it sets a timer of this process, whose end is the point of it.
        unsafe { libc::alarm(TIME) };
        match bench.read(reader, seed, index) {
            Ok(read) => summary.read += u64::from(read),
            Err(what) => {
                serde_json::to_writer(&mut findings, &Finding { index, what })?;
                findings.write_all(b"\n")?;
                found += 1;
            }
        }
        if found == MOST_FINDINGS {
            break;
        }
        let resident = resident()?;
        if resident > RESIDENT {
            // What was resident once counts for good: another process goes on.
            say(&format!("{} MiB were resident", resident >> 20));
            std::process::exit(GREEDY);
        }
    }
    summary.resident = resident()?;
    fs::write(folder.join(SUMMARY), serde_json::to_vec(&summary)?)?;
    Ok(())
}

/// Bytes that this process had in memory at the most.
fn resident() -> anyhow::Result<u64> {
    Ok((getrusage(UsageWho::RUSAGE_SELF)?.max_rss() as u64) << 10)
}

/// Reads one input without limits; gives how many findings that is.
pub fn one(reader: &Reader, seed: u64, index: u64) -> anyhow::Result<u64> {
    let folder = tempfile::tempdir()?;
    let bench = Bench::prepare(reader, folder.path())?;
    let found = bench.read(reader, seed, index);
    let artifact = write_artifact(reader, seed, index)?;
    say(&format!(
        "{}: input {index} of seed {seed} is {}: {found:?}",
        reader.name,
        artifact.display()
    ));
    Ok(found.is_err().into())
}

/// Writes an input where it can be looked at.
pub fn write_artifact(reader: &Reader, seed: u64, index: u64) -> anyhow::Result<PathBuf> {
    let seeds = (reader.seeds)()?;
    let (file, bytes) = make(&seeds, seed, index);
    let folder = crate::seeds::root().join("fuzz/artifacts").join(reader.name);
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("mutated-{seed}-{index}-{file}"));
    fs::write(&path, bytes)?;
    Ok(path)
}

/// Which file of a reader the input is in the place of, and the input.
fn make(seeds: &Seeds, seed: u64, index: u64) -> (usize, Vec<u8>) {
    let mut random = Chance::of(seed, index);
    let file = random.below(seeds.inputs.len());
    (file, mutation::input(&seeds.inputs[file], &mut random))
}

/// What reads inputs one after the other.
struct Bench {
    seeds: Seeds,
    output: Option<File>,
    files: Vec<PathBuf>,
    folder: PathBuf,
}

impl Bench {
    fn prepare(reader: &Reader, folder: &Path) -> anyhow::Result<Self> {
        let seeds = (reader.seeds)().context("cannot read the corpus")?;
        panic::set_hook(Box::new(|info| {
            let mut last = PANIC.lock().unwrap_or_else(|error| error.into_inner());
            *last = info.to_string();
        }));
        let mut bench = Self { seeds, output: None, files: Vec::new(), folder: folder.to_owned() };
        if let Way::Verb(verb) = reader.way {
            progress::show(progress::Detail::Quiet);
            for (number, inputs) in bench.seeds.inputs.iter().enumerate() {
                let path = folder.join(format!("sound-{number}"));
                fs::write(&path, &inputs[0])?;
                bench.files.push(path);
            }
            let path = folder.join("output");
            fs::write(&path, "")?;
            let output = File::options().read(true).append(true).open(path)?;
            nix::unistd::dup2_stdout(&output)?;
            bench.output = Some(output);
            // If not even this is accepted, all that is read is how verbs refuse.
            anyhow::ensure!(verb.run(&bench.files)?, "the call with sound files fails");
            let printed = bench.take_output()?;
            if let Some(what) = verb.contradiction(&printed, &bench.files) {
                anyhow::bail!("of sound files: {what}");
            }
        }
        Ok(bench)
    }

    /// Whether an input could be read, or what is wrong.
    fn read(&self, reader: &Reader, seed: u64, index: u64) -> Result<bool, String> {
        let (file, bytes) = make(&self.seeds, seed, index);
        let done = panic::catch_unwind(AssertUnwindSafe(|| match reader.way {
            Way::Check(check) => Ok(check(&bytes)),
            Way::Verb(verb) => {
                let mut files = self.files.clone();
                files[file] = self.folder.join("input");
                fs::write(&files[file], &bytes).map_err(|error| error.to_string())?;
                let read = verb.run(&files).map_err(|error| error.to_string())?;
                let printed = self.take_output().map_err(|error| error.to_string())?;
                verb.contradiction(&printed, &files).map_or(Ok(read), Err)
            }
        }));
        done.unwrap_or_else(|_| {
            Err(PANIC.lock().unwrap_or_else(|error| error.into_inner()).clone())
        })
    }

    fn take_output(&self) -> std::io::Result<Vec<u8>> {
        let mut printed = Vec::new();
        if let Some(mut output) = self.output.as_ref() {
            output.seek(SeekFrom::Start(0))?;
            output.read_to_end(&mut printed)?;
            output.set_len(0)?;
        }
        Ok(printed)
    }
}
