//! The tools that a fit of a program takes: linker, tracer, algorithm.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use trimtab_lab::tools::{self, FoundTool};
use trimtab_lab::workdir::WorkDir;
use trimtab_layout::{Algorithm, algorithms, named};
use trimtab_link::{Linker, OrderOption};
use trimtab_machine::plugin;
use trimtab_native::program::trace;
use trimtab_native::program::wrap::{WrapperFolder, Wrappers};

use super::request::{self, ProgramRequest};
use trimtab_lab::failure::Failure;

/// QEMU, and the compiler for its plugin.
struct Emulator {
    qemu: FoundTool,
    gcc: FoundTool,
}

/// What was found of them.
pub(super) struct Tooling {
    trimtab: PathBuf,
    /// The form of an order.
    pub linker: Linker,
    /// How it is found.
    pub algorithm: Box<dyn Algorithm>,
    linker_path: PathBuf,
    /// Whether GNU ld takes an order as an option.
    takes_order: bool,
    together: bool,
    blocks: bool,
    /// What QEMU is traced with; none where breakpoints are used.
    emulator: Option<Emulator>,
    versions: BTreeMap<String, String>,
}

impl Tooling {
    /// Finds them, before anything is built.
    pub fn find(asked: &ProgramRequest) -> Result<Self> {
        let algorithm = named(algorithms(), &asked.algorithm).map_err(|unknown| {
            Failure::usage(format!(
                "there is no algorithm {}, expected {}; see --help",
                asked.algorithm,
                unknown.known.join(" or ")
            ))
            .hint("trimtab order --list-algorithms says what each does")
        })?;
        let linker = asked.linker;
        let no_program = || Failure::usage(format!("{linker} links no programs; see --help"));
        let found = tools::linker(linker.tool().ok_or_else(no_program)?)?;
        let emulator = match asked.tracer {
            request::Tracer::Native => None,
            request::Tracer::Qemu => Some(Emulator::find()?),
            // Blocks need QEMU.
            request::Tracer::Auto if asked.granularity == request::Granularity::Block => {
                Some(Emulator::find()?)
            }
            request::Tracer::Auto => Emulator::find().ok(),
        };
        let mut versions = BTreeMap::from([(linker.name().to_owned(), found.version_text())]);
        if let Some(Emulator { qemu, gcc }) = &emulator {
            versions.insert("gcc".to_owned(), gcc.version_text());
            versions.insert("qemu-user".to_owned(), qemu.version_text());
        }
        let takes_order = match linker.order_option() {
            Some(OrderOption::FileOrScript { since, .. }) => {
                found.version.as_ref().is_some_and(|v| *v >= tools::Version::new(since))
            }
            option => option.is_some(),
        };
        Ok(Tooling {
            trimtab: asked.trimtab.clone(),
            linker,
            algorithm,
            linker_path: found.path,
            takes_order,
            together: asked.sections == request::Sections::Together,
            blocks: asked.granularity == request::Granularity::Block,
            emulator,
            versions,
        })
    }

    /// The tools that stand in front of compilers and linkers.
    pub fn wrappers(&self, work: &WorkDir) -> Result<Wrappers> {
        let wrapping = WrapperFolder {
            trimtab: self.trimtab.clone(),
            linker: self.linker,
            linker_path: self.linker_path.clone(),
            takes_order: self.takes_order,
            together: self.together,
            blocks: self.blocks,
        };
        Ok(Wrappers::make(&work.path().join("tools"), wrapping)?)
    }

    /// What records runs.
    pub fn tracer(&self, work: &WorkDir) -> Result<trace::Tracer> {
        let Some(Emulator { qemu, gcc }) = &self.emulator else {
            return Ok(trace::Tracer::Native);
        };
        let plugin = plugin::kept(work, gcc)?.path;
        Ok(trace::Tracer::Qemu { qemu: qemu.path.clone(), plugin, transitions: false })
    }

    /// Their versions.
    pub fn versions(&self) -> &BTreeMap<String, String> {
        &self.versions
    }
}

impl Emulator {
    fn find() -> Result<Self> {
        Ok(Emulator { qemu: tools::find("qemu-user")?, gcc: tools::find("gcc")? })
    }
}
