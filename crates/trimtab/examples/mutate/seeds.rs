//! What inputs are made from: the corpus of the project, and files made to measure.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trimtab_fixture::{kernel, many_functions};
use trimtab_profile::{Source, stream};

use crate::verbs::Verb;

/// For each file that is read: what it can be.
#[derive(Debug)]
pub struct Seeds {
    /// By the number of the file; the first of each makes a sound call together with the others' first.
    pub inputs: Vec<Vec<Vec<u8>>>,
}

/// Bytes of a file that are taken.
const LONGEST: usize = 16 << 10;

/// The project's root, where the corpus is.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files of a folder of the project, by name.
pub fn of_folder(folder: &Path) -> anyhow::Result<Vec<Vec<u8>>> {
    let folder = root().join(folder);
    let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let mut bytes = fs::read(path).with_context(|| path.display().to_string())?;
        bytes.truncate(LONGEST);
        Ok(bytes)
    };
    paths.iter().filter(|path| path.is_file()).map(read).collect()
}

fn of_file(path: &str) -> anyhow::Result<Vec<u8>> {
    let path = root().join(path);
    fs::read(&path).with_context(|| path.display().to_string())
}

/// What the files of a verb are made from.
pub fn of_verb(verb: &Verb) -> anyhow::Result<Seeds> {
    Ok(Seeds { inputs: verb.files.iter().map(|file| of_kind(file)).collect::<Result<_, _>>()? })
}

fn of_kind(kind: &str) -> anyhow::Result<Vec<Vec<u8>>> {
    let program = "testdata/programs/lld-x86_64";
    let mut all = match kind {
        "program" => vec![of_file(&format!("{program}.elf"))?, many_functions(30, 0x40_1000)],
        "map" => vec![of_file(&format!("{program}.map"))?],
        "trace" => {
            vec![b"_start\nalpha\nbeta\nhelper\n".to_vec(), b"0x2011c0\n0x2011a0\n".to_vec()]
        }
        // As the functions of that program follow each other, for a check that finds nothing wrong.
        "order" => vec![b"beta\nhelper\nalpha\n_start\n".to_vec()],
        "kernel" => vec![kernel::kernel()],
        "stream" => {
            let (blocks, executions) = kernel::executed();
            vec![stream::write(Source::QemuPlugin, &blocks, &executions)]
        }
        "plan" => vec![plan()?],
        "linked" => vec![linked(&plan()?)?],
        _ => Vec::new(),
    };
    all.extend(match kind {
        "program" => of_folder(Path::new("testdata/programs"))?,
        "map" => of_folder(Path::new("fuzz/seeds/link_map"))?,
        "trace" => of_folder(Path::new("fuzz/seeds/trace"))?,
        "order" => of_folder(Path::new("fuzz/seeds/order"))?,
        "page_cache" => of_folder(Path::new("fuzz/seeds/page_cache"))?,
        "events" => of_folder(Path::new("fuzz/seeds/events"))?,
        "recording" => of_folder(Path::new("fuzz/seeds/recording"))?,
        "stream" => of_folder(Path::new("fuzz/seeds/stream"))?,
        _ => Vec::new(),
    });
    Ok(all)
}

/// That kernel, linked by its plan: its check accepts it.
fn linked(plan: &[u8]) -> anyhow::Result<Vec<u8>> {
    let plan: trimtab_swap::Plan = serde_json::from_slice(plan)?;
    let units = plan.units_of(trimtab_swap::Class::Swappable);
    let is_inside = |name: &&str| units.iter().any(|unit| unit.name == *name);
    let inside: Vec<&str> = kernel::NAMES.into_iter().filter(is_inside).collect();
    Ok(kernel::linked_within_bounds(&inside).loaded().build())
}

/// The plan of the kernel that is made to measure.
fn plan() -> anyhow::Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let [kernel, stream, plan] = ["kernel", "stream", "plan"].map(|name| folder.path().join(name));
    for (path, kind) in [(&kernel, "kernel"), (&stream, "stream")] {
        fs::write(path, &of_kind(kind)?[0])?;
    }
    let verb = Verb {
        arguments: &[
            "swap",
            "plan",
            "%0",
            "--trace",
            "%1",
            "--from",
            "begin_swapping",
            "--json",
            "%2",
        ],
        files: &[],
    };
    let silenced = crate::worker::Silenced::begin()?;
    verb.run(&[kernel, stream, plan.clone()])?;
    drop(silenced);
    Ok(fs::read(plan)?)
}
