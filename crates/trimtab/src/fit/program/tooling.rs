//! The tools that a fit of a program takes: linker, tracer, algorithm.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use trimtab_lab::cache::Key;
use trimtab_lab::plugin;
use trimtab_lab::program::trace;
use trimtab_lab::program::wrap::Wrappers;
use trimtab_lab::tools::{self, Found};
use trimtab_lab::workdir::{Step, WorkDir};
use trimtab_layout::{Algorithm, algorithm_named, algorithms};
use trimtab_link::Linker;

use crate::failure::Failure;
use crate::verbs::fit::program::{self as verb, Options};

/// What was found of them.
pub(super) struct Tooling {
    /// This very program, which wrapped tools start.
    pub trimtab: PathBuf,
    /// The form of an order.
    pub linker: Linker,
    /// How it is found.
    pub algorithm: Box<dyn Algorithm>,
    linker_path: PathBuf,
    /// Whether GNU ld takes an order as an option.
    takes_order: bool,
    tracer: verb::Tracer,
    gcc: Found,
    qemu: Found,
    versions: BTreeMap<String, String>,
}

impl Tooling {
    /// Finds them, before anything is built.
    pub fn find(options: &Options) -> Result<Self> {
        let algorithm = algorithm_named(&options.algorithm).ok_or_else(|| {
            let all = algorithms();
            let names: Vec<&str> = all.iter().map(|algorithm| algorithm.name()).collect();
            Failure::usage(format!(
                "there is no algorithm {}, expected {}; see --help",
                options.algorithm,
                names.join(" or ")
            ))
            .hint("trimtab order --list-algorithms says what each does")
        })?;
        let (linker, found) = match options.linker {
            verb::Linker::Lld => {
                let llvm = tools::llvm()?;
                (Linker::Lld, Found { path: llvm.lld(), version: Some(llvm.version) })
            }
            verb::Linker::Gold => (Linker::Gold, tools::find("gold")?),
            verb::Linker::Gnu => (Linker::Gnu, tools::find("gnu-ld")?),
        };
        let gcc = tools::find("gcc")?;
        let qemu = tools::find("qemu-user")?;
        let versions = [(linker.name(), &found), ("gcc", &gcc), ("qemu-user", &qemu)]
            .map(|(name, found)| (name.to_owned(), version(found)))
            .into();
        // From this release on, as its manual says.
        let takes_order =
            found.version.as_ref().is_some_and(|v| *v >= tools::Version::new(&[2, 43]));
        Ok(Tooling {
            trimtab: std::env::current_exe().context("cannot find trimtab itself")?,
            linker,
            algorithm,
            linker_path: found.path,
            takes_order,
            tracer: options.tracer,
            gcc,
            qemu,
            versions,
        })
    }

    /// The tools that stand in front of compilers and linkers.
    pub fn wrappers(&self, work: &WorkDir) -> Result<Wrappers> {
        Ok(Wrappers::make(
            &work.path().join("tools"),
            &self.trimtab,
            self.linker,
            &self.linker_path,
            self.takes_order,
        )?)
    }

    /// What records runs.
    pub fn tracer(&self, work: &WorkDir) -> Result<trace::Tracer> {
        match self.tracer {
            verb::Tracer::Qemu => {
                let mut key = Key::new("plugin/1").field("gcc", version(&self.gcc));
                for (name, text) in plugin::sources() {
                    key = key.bytes(name, text.as_bytes());
                }
                let folder = match work.step("plugin", &key)? {
                    Step::Done(path) => path,
                    Step::Todo(building) => {
                        plugin::build(&self.gcc.path, building.path())?;
                        building.finish()?
                    }
                };
                Ok(trace::Tracer::Qemu {
                    qemu: self.qemu.path.clone(),
                    plugin: folder.join("trimtab_trace.so"),
                })
            }
        }
    }

    /// Their versions.
    pub fn versions(&self) -> &BTreeMap<String, String> {
        &self.versions
    }
}

fn version(found: &Found) -> String {
    found.version.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string)
}
