//! Tools that stand in front of compilers and linkers, so that any build compiles each function
//! into a section of its own, writes the linker's map, and follows an order.
//!
//! Variables such as `CFLAGS` are extended where they are set and left alone
//! where not: a build without them has flags of its own, which setting them would replace.

mod compile;
mod link;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use trimtab_link::{Linker, TOGETHER_SCRIPT};

use super::ProgramError;
use super::error::io;
use trimtab_lab::interpose::{Interposer, Interposition, Tool, ToolName};
use trimtab_lab::process::Job;
use trimtab_lab::shell::quoted;

pub use compile::{Compile, compile};
pub use link::{Link, link};

/// Flags for compilers.
pub const COMPILER_FLAGS: &str = "-ffunction-sections";

/// Name of the settings in the folder.
const SETTINGS: &str = "settings.json";
/// Name of the folder of tools in the folder.
const BIN: &str = "bin";
/// How the names of machines begin whose programs can be traced.
const MACHINES: [&str; 2] = ["x86_64-", "aarch64-"];
/// Name of the linker script in the folder that puts together what a start needs.
const TOGETHER: &str = "together.lds";
/// What the wrapped linker has to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Settings {
    /// Name of the form in which it takes an order.
    linker: String,
    /// The linker itself.
    path: PathBuf,
    /// Whether GNU ld takes an order as an option, or only within its script.
    takes_order: bool,
    /// Whether lld also puts together what a start needs.
    together: bool,
    /// Whether clang writes down blocks.
    blocks: bool,
}

impl Settings {
    fn read(folder: &Path) -> Result<Self, String> {
        let path = folder.join(SETTINGS);
        let said =
            |error: &dyn std::fmt::Display| format!("cannot read {}: {error}", path.display());
        let text = fs::read(&path).map_err(|error| said(&error))?;
        serde_json::from_slice(&text).map_err(|error| said(&error))
    }
}

/// How a build is to be wrapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrapperFolder {
    /// The program that wrapped tools start: `wrapped-link FOLDER --` and the linker's arguments,
    /// `wrapped-compile FOLDER COMPILER --` and the compiler's.
    pub trimtab: PathBuf,
    /// The form of an order.
    pub linker: Linker,
    /// The linker itself.
    pub linker_path: PathBuf,
    /// Whether it, being GNU ld, takes an order as an option.
    pub takes_order: bool,
    /// Whether it, being lld, is also to put together in the file what a start needs.
    pub together: bool,
    /// Whether clang is to write down blocks, and to split functions by them.
    pub blocks: bool,
}

/// The folder of wrapped tools.
#[derive(Debug, Clone)]
pub struct Wrappers {
    folder: PathBuf,
    wrapping: WrapperFolder,
    interposer: Interposer,
}

/// What is done in the place of compilers and linkers.
struct Commands<'a> {
    folder: &'a Path,
    wrapping: &'a WrapperFolder,
}

impl Interposition for Commands<'_> {
    fn linker(&self, _real: &str) -> String {
        // Whatever linker a build would take: the one that follows the order links.
        format!("{} wrapped-link {} --", quoted(&self.wrapping.trimtab), quoted(self.folder))
    }

    fn compiler(&self, compiler: &Tool) -> String {
        // What clang compiles is written down in any case: a later build may split it.
        if compiler.is_clang() {
            return format!(
                "{} wrapped-compile {} {} --",
                quoted(&self.wrapping.trimtab),
                quoted(self.folder),
                quoted(&compiler.path)
            );
        }
        // In front, so that a build can still say otherwise.
        format!("{} {COMPILER_FLAGS}", quoted(&compiler.path))
    }

    fn wants(&self, compiler: &ToolName<'_>) -> bool {
        // Programs for others are not run.
        compiler
            .machine
            .is_none_or(|machine| MACHINES.iter().any(|known| machine.starts_with(known)))
    }

    fn linkers(&self) -> Vec<&'static str> {
        std::iter::once("ld").chain(Linker::of_programs().filter_map(Linker::program)).collect()
    }
}

impl Wrappers {
    /// Makes the folder anew. The compilers of `PATH` are wrapped, and what `CC` and `CXX` name.
    ///
    /// # Errors
    /// [`ProgramError::File`].
    pub fn make(folder: &Path, wrapping: WrapperFolder) -> Result<Self, ProgramError> {
        for name in ["links", "orders", "compiles", "lists"] {
            let path = folder.join(name);
            fs::create_dir_all(&path).map_err(io("make", &path))?;
        }
        let bin = folder.join(BIN);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let commands = Commands { folder, wrapping: &wrapping };
        let interposer = Interposer::make(&bin, &path, &commands).map_err(io("write", &bin))?;
        let wrappers = Wrappers { folder: folder.to_owned(), wrapping, interposer };
        let wrapping = &wrappers.wrapping;
        let settings = Settings {
            linker: wrapping.linker.name().to_owned(),
            path: wrapping.linker_path.clone(),
            takes_order: wrapping.takes_order,
            together: wrapping.together,
            blocks: wrapping.blocks,
        };
        let path = folder.join(SETTINGS);
        let text =
            serde_json::to_vec_pretty(&settings).map_err(|e| io("write", &path)(e.into()))?;
        // What another linker made is none of this one's.
        if fs::read(&path).is_ok_and(|before| before != text) {
            empty(&folder.join("links"))?;
        }
        fs::write(&path, text).map_err(io("write", &path))?;
        let path = wrappers.together();
        fs::write(&path, TOGETHER_SCRIPT).map_err(io("write", &path))?;
        Ok(wrappers)
    }

    /// The linker that follows the orders.
    pub fn linker(&self) -> Linker {
        self.wrapping.linker
    }

    /// The script for lld that puts together what a start needs.
    pub fn together(&self) -> PathBuf {
        self.folder.join(TOGETHER)
    }

    /// Prepares a job that builds.
    pub(super) fn apply(&self, job: Job) -> Result<Job, ProgramError> {
        let link = format!("-B{}", self.interposer.folder().display());
        let mut job = job
            .envs(self.interposer.environment())
            .env("TRIMTAB_CFLAGS", COMPILER_FLAGS)
            .env("TRIMTAB_LDFLAGS", &link);
        for (name, flags) in
            [("CFLAGS", COMPILER_FLAGS), ("CXXFLAGS", COMPILER_FLAGS), ("LDFLAGS", link.as_str())]
        {
            if let Some(mut value) = std::env::var_os(name) {
                value.push(" ");
                value.push(flags);
                job = job.env(name, value);
            }
        }
        for name in ["CC", "CXX"] {
            let Some(value) = std::env::var_os(name) else { continue };
            let path = PathBuf::from(&value);
            // A name is found in PATH, where the wrapped one comes first.
            if path.is_absolute()
                && let Some(file) = path.file_name()
            {
                let tool = Tool { name: file.to_string_lossy().into_owned(), path: path.clone() };
                let commands = Commands { folder: &self.folder, wrapping: &self.wrapping };
                let stand_in = self.interposer.put_compiler(&tool, &commands);
                job = job.env(name, stand_in.map_err(io("write", self.interposer.folder()))?);
            }
        }
        Ok(job)
    }

    /// What was linked since [`Wrappers::forget`], or lies as it was linked before, by output.
    ///
    /// # Errors
    /// [`ProgramError::File`].
    pub fn links(&self) -> Result<Vec<Link>, ProgramError> {
        let mut links: Vec<Link> = records(&self.folder.join("links"))?;
        links.sort_by(|a, b| a.output.cmp(&b.output));
        Ok(links)
    }

    /// What clang ever compiled with these tools, by output.
    ///
    /// # Errors
    /// [`ProgramError::File`].
    pub fn compiles(&self) -> Result<Vec<Compile>, ProgramError> {
        let mut compiles: Vec<Compile> = records(&self.folder.join("compiles"))?;
        compiles.sort_by(|a, b| a.output.cmp(&b.output));
        Ok(compiles)
    }

    /// Forgets all orders and lists, and what was linked in an order, is gone, or was written anew since.
    /// What lies as it was linked is remembered, as is what was compiled: builds make only what changed.
    ///
    /// # Errors
    /// [`ProgramError::File`].
    pub fn forget(&self) -> Result<LinkRecords, ProgramError> {
        let links = self.folder.join("links");
        let mut remembered = Vec::new();
        for entry in fs::read_dir(&links).map_err(io("read", &links))? {
            let record = entry.map_err(io("read", &links))?.path();
            if record.extension() != Some(OsStr::new("json")) {
                continue;
            }
            if still_stands(&record) {
                let written = written(&record).map_err(io("read", &record))?;
                remembered.push((record, written));
            } else {
                fs::remove_file(&record).map_err(io("remove", &record))?;
            }
        }
        ["orders", "lists"].iter().try_for_each(|name| empty(&self.folder.join(name)))?;
        Ok(LinkRecords(remembered))
    }

    /// What was linked since, or is remembered and lies untouched.
    ///
    /// # Errors
    /// [`ProgramError::File`].
    pub fn links_since(&self, remembered: &LinkRecords) -> Result<Vec<Link>, ProgramError> {
        for (record, then) in &remembered.0 {
            if written(record).is_ok_and(|now| now == *then) && !still_stands(record) {
                fs::remove_file(record).map_err(io("remove", record))?;
            }
        }
        self.links()
    }

    /// From now on, functions of what is compiled to `output` are split by this list, in the form of
    /// clang's `-fbasic-block-sections=list=`.
    ///
    /// # Errors
    /// [`ProgramError::File`].
    pub fn set_list(&self, output: &Path, list: &str) -> Result<(), ProgramError> {
        let path = self.list(output);
        fs::write(&path, list).map_err(io("write", &path))
    }

    /// From now on, whatever is linked to `output` follows this order. Returns where the order is.
    ///
    /// # Errors
    /// [`ProgramError::File`].
    pub fn set_order(&self, output: &Path, order: &str) -> Result<PathBuf, ProgramError> {
        let path = order_of(&self.folder, output);
        fs::write(&path, order).map_err(io("write", &path))?;
        Ok(path)
    }

    /// Where the list for what is compiled to `output` is, if it has one.
    pub fn list(&self, output: &Path) -> PathBuf {
        list_of(&self.folder, output)
    }
}

fn key(output: &Path) -> String {
    let digest = Sha256::digest(output.as_os_str().as_bytes());
    hex::encode(&digest[..8])
}

fn order_of(folder: &Path, output: &Path) -> PathBuf {
    folder.join("orders").join(format!("{}.order", key(output)))
}

fn list_of(folder: &Path, output: &Path) -> PathBuf {
    folder.join("lists").join(format!("{}.list", key(output)))
}

/// Removes all files of a folder.
fn empty(folder: &Path) -> Result<(), ProgramError> {
    for entry in fs::read_dir(folder).map_err(io("read", folder))? {
        let path = entry.map_err(io("read", folder))?.path();
        fs::remove_file(&path).map_err(io("remove", &path))?;
    }
    Ok(())
}

/// Links that are remembered: the file of each record, and when it was written.
#[derive(Debug)]
pub struct LinkRecords(Vec<(PathBuf, SystemTime)>);

fn written(path: &Path) -> std::io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}

/// Whether what a record says was linked still lies there, without an order, and with its map.
fn still_stands(record: &Path) -> bool {
    let Some(link) =
        fs::read(record).ok().and_then(|text| serde_json::from_slice::<Link>(&text).ok())
    else {
        return false;
    };
    // The record is written when the linker has ended.
    let untouched = |path: &Path| {
        written(path).is_ok_and(|file| written(record).is_ok_and(|record| file <= record))
    };
    link.order.is_none() && untouched(&link.output) && untouched(&link.map)
}

/// The records in a folder. One that was cut off by a kill is none.
fn records<R: serde::de::DeserializeOwned>(folder: &Path) -> Result<Vec<R>, ProgramError> {
    let mut records = Vec::new();
    for entry in fs::read_dir(folder).map_err(io("read", folder))? {
        let path = entry.map_err(io("read", folder))?.path();
        if path.extension() == Some(OsStr::new("json")) {
            let text = fs::read(&path).map_err(io("read", &path))?;
            records.extend(serde_json::from_slice::<R>(&text));
        }
    }
    Ok(records)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn os(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn outputs_have_orders_of_their_own() {
        let folder = Path::new("w");
        let [a, b] = ["/b/a", "/b/b"].map(|output| order_of(folder, Path::new(output)));
        assert_ne!(a, b);
        assert_eq!(a, order_of(folder, Path::new("/b/a")));
    }

    #[test]
    fn the_folder_wraps_compilers_and_linkers_and_keeps_records() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("it's");
        // A linker that touches its output.
        let linker = root.path().join("linker");
        trimtab_lab::script::write(
            &linker,
            "#!/bin/sh\nfor last; do :; done\necho \"$@\" > \"$2\"\n",
        )
        .unwrap();
        let wrapping = WrapperFolder {
            trimtab: "/bin/trimtab".into(),
            linker: Linker::Lld,
            linker_path: linker,
            takes_order: true,
            together: true,
            blocks: true,
        };
        let wrappers = Wrappers::make(&folder, wrapping).unwrap();
        let script = fs::read_to_string(folder.join("bin/ld")).unwrap();
        assert!(script.contains("exec /bin/trimtab wrapped-link \""), "{script}");
        let output = root.path().join("app");
        let arguments = os(&["-o", output.to_str().unwrap(), "main.o"]);
        assert_eq!(link(&folder, &arguments), Ok(0));
        let links = wrappers.links().unwrap();
        assert_eq!(links.len(), 1);
        assert_eq!((&links[0].output, &links[0].order), (&output, &None));
        assert!(!fs::read_to_string(&output).unwrap().contains("ordering"));
        // What lies as it was linked is remembered, unless somebody else wrote it anew.
        fs::write(&links[0].map, "map").unwrap();
        fs::write(&output, "linked").unwrap();
        let record = folder.join("links").join(format!("{}.json", key(&output)));
        fs::write(&record, serde_json::to_vec(&links[0]).unwrap()).unwrap();
        wrappers.forget().unwrap();
        assert_eq!(wrappers.links().unwrap().len(), 1);
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(&output, "by others").unwrap();
        wrappers.forget().unwrap();
        assert_eq!(wrappers.links().unwrap(), []);
        let order = wrappers.set_order(&output, "main\n").unwrap();
        assert_eq!(link(&folder, &arguments), Ok(0));
        let said = fs::read_to_string(&output).unwrap();
        assert!(said.contains(&format!("--symbol-ordering-file={}", order.display())), "{said}");
        assert!(said.contains(&format!("-T {}", wrappers.together().display())), "{said}");
        let link_made = &wrappers.links().unwrap()[0];
        assert!(link_made.order.is_some() && link_made.together);
        // A script of the build's own says where everything goes.
        let own = os(&["-o", output.to_str().unwrap(), "main.o", "-T", "own.lds"]);
        assert_eq!(link(&folder, &own), Ok(0));
        assert!(!wrappers.links().unwrap()[0].together);
        wrappers.forget().unwrap();
        assert_eq!(wrappers.links().unwrap(), []);
    }
}
