//! Studies trees.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use trimtab_lab::bytes::Bytes;
use trimtab_lab::observe::Observe;
use trimtab_lab::threads;
use trimtab_report::Schema;
use trimtab_report::common::Repeat;

use super::makefiles::Makefiles;
use super::options;
use super::request::StudyRequest;
use super::totals::Totals;
use super::tree::Tree;
use super::walk::Files;
use crate::file::{self, Language};
use crate::report::{Directory, SmpStudy, TreeStudy};

/// Files that are read by one job.
const FILES_OF_A_JOB: usize = 128;
/// The longest file that is read: no kernel has one half as long.
const LONGEST: usize = 64 << 20;

/// Counts what SMP changes in trees of kernel source.
///
/// # Errors
/// Trees that are not there or no kernels.
pub fn study(request: &StudyRequest, observe: &dyn Observe) -> Result<SmpStudy> {
    let start = Instant::now();
    let mut given: Vec<Option<&Path>> = request.trees.iter().map(|tree| Some(&**tree)).collect();
    if given.is_empty() {
        given.push(None);
    }
    let mut work = None;
    let mut trees = Vec::new();
    let mut inputs = BTreeMap::new();
    for given in given {
        let tree = Tree::find(given, &mut work, &request.work, observe)?;
        let stage = observe.stage(&format!("read Linux {}", tree.version));
        let found =
            of_tree(&tree, request.depth, &|parts| stage.parts(parts), &|part| stage.at(part))?;
        stage.done(&format!("{} files", found.whole.files));
        if found.whole.files == 0 {
            bail!("{} has no C files", tree.origin);
        }
        if let Some(hash) = tree.hash {
            inputs.insert(tree.origin, hash);
        }
        trees.push(found);
    }
    let repeat = Repeat { command: request.command.clone(), inputs, ..Repeat::default() };
    Ok(SmpStudy {
        schema: Schema::default(),
        trees,
        seconds: start.elapsed().as_secs_f64(),
        repeat,
    })
}

/// Reads all files of a tree.
fn of_tree(
    tree: &Tree,
    depth: usize,
    parts: &dyn Fn(u64),
    part: &(dyn Fn(u64) + Sync),
) -> Result<TreeStudy> {
    let files = Files::of(&tree.folder)?;
    let jobs: Vec<&[(String, Language)]> = files.sources.chunks(FILES_OF_A_JOB).collect();
    parts(jobs.len() as u64);
    let makefiles = Makefiles::read(&tree.folder, &files.makefiles);
    let read =
        |_: usize, job: &&[(String, Language)]| Ok(of_files(&tree.folder, job, depth, &makefiles));
    let found = threads::each(&jobs, read, |done| part(done as u64))?;
    let mut totals = Totals::default();
    for found in found {
        totals.merge(found);
    }
    for (path, why) in files.left_out {
        totals.give_up(&path, why);
    }
    let smp_options = options::read(&tree.folder, &files.kconfigs, depth, &mut totals);
    totals.given_up.sort_by(|one, other| one.path.cmp(&other.path));
    let directories = totals.folders.into_iter();
    Ok(TreeStudy {
        version: tree.version.clone(),
        date: tree.date.clone(),
        origin: tree.origin.clone(),
        core: totals.core.done(),
        whole: totals.whole.done(),
        directories: directories
            .map(|(path, total)| Directory { path, part: total.done() })
            .collect(),
        smp_options,
        missing: tree.missing.clone(),
        given_up: totals.given_up,
        not_utf8: totals.not_utf8,
        links: files.links,
    })
}

fn of_files(
    root: &Path,
    files: &[(String, Language)],
    depth: usize,
    makefiles: &Makefiles,
) -> Totals {
    let mut totals = Totals::default();
    for (path, language) in files {
        match Bytes::open(&root.join(path)) {
            Err(error) => totals.give_up(path, format!("cannot be read: {error}")),
            Ok(bytes) if bytes.len() > LONGEST => {
                totals.give_up(path, format!("it is longer than {} MiB", LONGEST >> 20));
            }
            Ok(bytes) => {
                let is_only_smp = makefiles.only_smp(path);
                totals.add(path, depth, is_only_smp, &file::count(&bytes, *language));
            }
        }
    }
    totals
}
