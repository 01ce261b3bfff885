//! What a fit works with: commands, tools, the work directory and the user's build.

use std::time::Duration;

use anyhow::{Context, Result};
use trimtab_lab::failure::Failure;
use trimtab_lab::workdir::WorkDir;
use trimtab_native::program::trace::Tracer;
use trimtab_native::program::{Command, Limits};

use super::builder::Builder;
use super::request::ProgramRequest;
use super::tooling::Tooling;

/// All that versions of the program are built and run with.
pub(super) struct Workshop<'a> {
    pub request: &'a ProgramRequest,
    pub tooling: Tooling,
    pub work: WorkDir,
    pub builder: Builder,
    /// What runs: those that make the order, the one to make better first, then those that are held
    /// out.
    pub commands: Vec<Command>,
    pub limits: Limits,
}

impl<'a> Workshop<'a> {
    /// Finds tools and opens the work directory. Gives what records runs as well.
    pub fn prepare(request: &'a ProgramRequest) -> Result<(Self, Tracer)> {
        let directory = std::env::current_dir().context("cannot find the current folder")?;
        if directory.to_str().is_none() {
            return Err(Failure::new(format!(
                "the build's folder {} is not UTF-8, which notes of a build are written in",
                directory.display()
            ))
            .hint("build the program in another folder")
            .into());
        }
        let command = |text: &String| Command { text: text.clone(), directory: directory.clone() };
        let commands = request.run.iter().chain(&request.held_out).map(command).collect();
        let tooling = Tooling::find(request)?;
        let work = WorkDir::open(&request.work)?;
        let tracer = tooling.tracer(&work)?;
        let builder = Builder {
            command: command(&request.build),
            wrappers: tooling.wrappers(&work)?,
            limit: Duration::from_secs(request.build_limit),
            log: work.path().join("build.log"),
        };
        let limits = Limits { time: Duration::from_secs(request.limit), ..Limits::default() };
        Ok((Workshop { request, tooling, work, builder, commands, limits }, tracer))
    }

    /// How many of the commands make the order.
    pub fn trained(&self) -> usize {
        self.request.run.len()
    }
}
