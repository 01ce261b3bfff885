//! Boots whose results are kept: the same kernel on the same machine need not boot twice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use trimtab_lab::cache::Key;
use trimtab_lab::workdir::{KeptStep, WorkError};

use super::{Boot, BootRequest, Instructions, Tests, boot};
use crate::kernel::KernelImage;
use crate::testbed::Testbed;

/// What else is made of a boot before its result is kept, from files that are perhaps too large to keep.
pub trait Digest {
    /// What is made of it.
    type Digest: Serialize + DeserializeOwned;

    /// What a key knows it by. Another name when the code makes something else of the same boot.
    fn name(&self) -> &str;

    /// Makes it. Files of the boot's folder that are not to be kept are removed here.
    ///
    /// # Errors
    /// Whatever keeps it from being made.
    fn digest(&self, boot: &Boot) -> Result<Self::Digest>;
}

/// Nothing else.
impl Digest for () {
    type Digest = ();

    fn name(&self) -> &str {
        "nothing"
    }

    fn digest(&self, _boot: &Boot) -> Result<()> {
        Ok(())
    }
}

/// A boot to do, or to find done.
#[derive(Debug)]
pub struct KeptRequest<'a, D = ()> {
    /// What boots it.
    pub testbed: &'a Testbed<'a>,
    /// The kernel.
    pub kernel: &'a KernelImage,
    /// What is asked for. Its folder does not matter: it is that of the step.
    pub request: BootRequest,
    /// Tells the same boot done again from the first.
    pub repetition: u32,
    /// What else is made of it.
    pub digest: D,
}

/// What is kept of a boot. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BootRecord<D = ()> {
    /// Wall time from QEMU's start until the workload had ended.
    pub wall: f64,
    /// The guest's clock when the workload had ended.
    pub uptime: f64,
    /// Instructions that ran, where the plugin counted them.
    pub instructions: Option<Instructions>,
    /// QEMU's command line.
    pub command_line: String,
    /// The plugin's trace, where it watched; relative to the step.
    pub blocks: Option<PathBuf>,
    /// The function tracer's trace, where it watched; relative to the step.
    pub calls: Option<PathBuf>,
    /// What the guest said, by topic and name.
    pub said: BTreeMap<String, BTreeMap<String, String>>,
    /// The tests that ran in it.
    pub tests: Tests,
    /// What else was made of it.
    pub digest: D,
}

/// A boot that is over, in this run or in an earlier one.
#[derive(Debug, Clone)]
pub struct KeptBoot<D = ()> {
    /// What it gave.
    pub record: BootRecord<D>,
    /// Where its traces are.
    pub folder: PathBuf,
    /// What it depends on.
    pub key: Key,
    /// Whether an earlier run did it.
    pub cached: bool,
}

impl<D> KeptBoot<D> {
    /// Path of the plugin's trace.
    ///
    /// # Errors
    /// If the plugin did not watch.
    pub fn blocks(&self) -> Result<PathBuf> {
        let name = self.record.blocks.as_ref().context("this boot was not traced")?;
        Ok(self.folder.join(name))
    }

    /// Path of the function tracer's trace.
    ///
    /// # Errors
    /// If the function tracer did not watch.
    pub fn calls(&self) -> Result<PathBuf> {
        let name = self.record.calls.as_ref().context("this boot was not traced by ftrace")?;
        Ok(self.folder.join(name))
    }

    /// What the plugin wrote that watches locks, if it did.
    pub fn locks(&self) -> PathBuf {
        self.folder.join(super::locks::LOCKS)
    }

    /// Where the plugin's stream is, if it was asked for one and it was kept.
    pub fn stream(&self) -> PathBuf {
        self.folder.join(super::request::STREAM)
    }
}

impl<D: Digest> KeptRequest<'_, D> {
    /// Does it, or finds it done.
    ///
    /// # Errors
    /// Those of [`boot`], as [`BootError`](super::BootError); and what keeps its result from being kept.
    pub fn get(&self) -> Result<KeptBoot<D::Digest>> {
        let found = self.testbed.work().get(self)?;
        Ok(KeptBoot {
            record: found.record,
            folder: found.folder,
            key: found.key,
            cached: found.cached,
        })
    }
}

impl<D: Digest> KeptStep for KeptRequest<'_, D> {
    const KIND: &'static str = "boot";
    const VERSION: u32 = 2;
    /// A message about a guest that did not come up names its console, which must then still be there. Each
    /// try begins anew.
    const RESUMABLE: bool = true;
    type Record = BootRecord<D::Digest>;
    type Error = anyhow::Error;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        let hashes = self.testbed.work().hashes();
        Ok(key
            .after(&self.request.key(&self.kernel.key, self.testbed.key(), hashes)?)
            .field("digest", self.digest.name())
            .field("repetition", self.repetition))
    }

    fn make(&self, at: &Path) -> Result<Self::Record> {
        let request = BootRequest { folder: at.to_owned(), ..self.request.clone() };
        let boot = boot(&request)?;
        let digest = self.digest.digest(&boot)?;
        let relative = |path: &Path| path.file_name().map(PathBuf::from);
        Ok(BootRecord {
            wall: boot.wall.as_secs_f64(),
            uptime: boot.uptime_finished.as_secs_f64(),
            instructions: boot.blocks.as_ref().map(|blocks| blocks.instructions),
            command_line: boot.command_line,
            blocks: boot.blocks.as_ref().and_then(|blocks| relative(&blocks.path)),
            calls: boot.calls.as_ref().and_then(|calls| relative(&calls.path)),
            said: boot.said,
            tests: boot.tests,
            digest,
        })
    }
}
