//! The program with functions split.

use std::path::PathBuf;

use crate::report::{self, Split};
use anyhow::Result;
use trimtab_lab::observe::Observe;
use trimtab_program::BlockMap;

use super::blocks::{self, Target};
use super::object::{LinkedFile, Object};
use super::request::BlockOrder;
use super::traces::Run;
use super::workshop::Workshop;

/// What was split.
pub(super) struct SplitBuild {
    pub counts: Split,
    /// For each object that clang compiled by blocks, the list of them that it was given.
    pub lists: Vec<(PathBuf, PathBuf)>,
}

impl SplitBuild {
    /// Builds the program with the functions split that `runs` executed; `None` where there is none
    /// to split.
    ///
    /// # Errors
    /// A build that fails, or does not compile again what it has to.
    pub fn build(
        workshop: &Workshop<'_>,
        linked: &mut [LinkedFile],
        objects: &[Object<'_>],
        maps: &[BlockMap],
        runs: &[Run],
        observe: &dyn Observe,
    ) -> Result<Option<Self>> {
        let stage = observe.stage("build the program with functions split");
        let split = split(workshop, linked, objects, maps, runs)?;
        stage.done(&split.as_ref().map_or_else(
            || "nothing to split".to_owned(),
            |SplitBuild { counts, .. }| {
                format!("{} functions in {} objects", counts.functions, counts.objects)
            },
        ));
        Ok(split)
    }
}

fn split(
    workshop: &Workshop<'_>,
    linked: &mut [LinkedFile],
    objects: &[Object<'_>],
    maps: &[BlockMap],
    runs: &[Run],
) -> Result<Option<SplitBuild>> {
    let builder = &workshop.builder;
    let splitting = {
        let targets: Vec<Target<'_>> = objects
            .iter()
            .enumerate()
            .map(|(at, object)| Target {
                object,
                map: &maps[at],
                link: &linked[at].link,
                profiles: runs.iter().map(|run| &run.profiles[at]).collect(),
                flows: (workshop.request.block_order == BlockOrder::ExtTsp)
                    .then(|| runs.iter().map(|run| &run.flows[at]).collect()),
            })
            .collect();
        blocks::splitting(&targets, &builder.compiles()?)?
    };
    if splitting.lists.is_empty() {
        return Ok(None);
    }
    builder.split(linked, &splitting.lists)?;
    let list = |(output, _): &(PathBuf, String)| (output.clone(), builder.wrappers.list(output));
    let lists = splitting.lists.iter().map(list).collect();
    let counts = Split {
        functions: splitting.functions,
        cold_bytes: splitting.cold_bytes,
        objects: splitting.lists.len() as u64,
        block_order: match workshop.request.block_order {
            BlockOrder::Source => report::BlockOrder::Source,
            BlockOrder::ExtTsp => report::BlockOrder::ExtTsp,
        },
    };
    Ok(Some(SplitBuild { counts, lists }))
}
