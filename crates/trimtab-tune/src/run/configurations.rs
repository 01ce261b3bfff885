//! Builds of one kernel with different configurations, each in a directory of its own.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use trimtab_lab::observe::Silent;
use trimtab_lab::workdir::WorkDir;
use trimtab_machine::kernel::{Build, BuildInputs, KernelError};

use super::subject::Fault;
use crate::space::configuration::is_taken;

/// The builds of a kernel.
pub struct Configurations<'a> {
    work: &'a WorkDir,
    inputs: &'a BuildInputs,
    base: &'a Build<'a>,
    /// What was configured with more lines, by these; or why it could not be.
    made: Mutex<BTreeMap<String, Result<Build<'a>, String>>>,
}

impl<'a> Configurations<'a> {
    /// Those of the kernel that `base` is, as `inputs` made it.
    pub fn new(work: &'a WorkDir, inputs: &'a BuildInputs, base: &'a Build<'a>) -> Self {
        Self { work, inputs, base, made: Mutex::default() }
    }

    /// The one without more lines.
    pub fn base(&self) -> &'a Build<'a> {
        self.base
    }

    /// The one with more lines of configuration, which is configured where it was not yet.
    ///
    /// # Errors
    /// [`Fault::Flags`] where the kernel does not take the lines, or not what else it needs with them.
    pub fn with(&self, lines: &[String]) -> Result<Build<'a>, Fault> {
        if lines.is_empty() {
            return Ok(self.base.clone());
        }
        // The same in any order: no line is on the option of another.
        let mut lines = lines.to_vec();
        lines.sort_unstable();
        lines.dedup();
        let text = lines.join("\n");
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match made.get(&text) {
            Some(found) => found.clone(),
            None => {
                let found = self.configured(&lines, &text)?;
                made.insert(text, found.clone());
                found
            }
        };
        found.map_err(Fault::Flags)
    }

    fn configured(&self, lines: &[String], text: &str) -> Result<Result<Build<'a>, String>, Fault> {
        let build = match self.inputs.clone().with_lines(text).prepare(self.work, &Silent) {
            Ok((_, build)) => build,
            Err(KernelError::OptionRefused { option, .. }) => {
                return Ok(Err(format!("the kernel needs {option}, which it does not have then")));
            }
            Err(error) => return Err(Fault::Other(error.into())),
        };
        let path = build.directory().join(".config");
        let configuration = fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))
            .map_err(Fault::Other)?;
        for line in lines {
            if !is_taken(line, &configuration) {
                return Ok(Err(format!(
                    "this kernel does not have {line}, or another option excludes it"
                )));
            }
        }
        Ok(Ok(build))
    }
}
