//! Starts of the program, before and after in turn, measured.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use trimtab_lab::program::measure::{self, Sample};
use trimtab_lab::program::{Command, Limits, cold};

use super::object::{Built, Object};
use crate::progress::Progress;

/// One start with no page of the files in memory, and one right after it.
#[derive(Debug, Clone)]
pub(super) struct Start {
    /// The first.
    pub cold: Sample,
    /// Bytes of the files that it brought into memory.
    pub resident: u64,
    /// Those of them that are code.
    pub resident_text: u64,
    /// The second.
    pub warm: Sample,
}

/// A start before and one after, one right behind the other.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub before: Start,
    pub after: Start,
}

/// What is started, and how.
pub(super) struct Starts<'a> {
    pub command: &'a Command,
    pub objects: &'a [Built],
    pub before: &'a [Object<'a>],
    pub after: &'a [Object<'a>],
    pub trimtab: &'a Path,
    pub limits: Limits,
    pub work: &'a Path,
}

impl Starts<'_> {
    /// Does `pairs` pairs; which side comes first changes each time.
    pub fn measure(&self, pairs: u32, progress: &Progress) -> Result<Vec<Pair>> {
        let stage = progress.stage("start the two programs in turn");
        stage.parts(pairs.into());
        let mut measured = Vec::new();
        for number in 0..pairs {
            let (before, after);
            if number % 2 == 0 {
                before = self.start("before", self.before)?;
                after = self.start("after", self.after)?;
            } else {
                after = self.start("after", self.after)?;
                before = self.start("before", self.before)?;
            }
            measured.push(Pair { before, after });
            stage.at(u64::from(number) + 1);
        }
        stage.done(&format!("{pairs} starts of each, cold and warm"));
        Ok(measured)
    }

    fn start(&self, side: &str, objects: &[Object<'_>]) -> Result<Start> {
        let versions: Vec<PathBuf> = self.objects.iter().map(|built| built.version(side)).collect();
        for (built, version) in self.objects.iter().zip(&versions) {
            built.place.put(version)?;
        }
        let files: Vec<&Path> = versions.iter().map(PathBuf::as_path).collect();
        let cold = self.run(&files)?;
        let (mut resident, mut resident_text) = (0, 0);
        for (file, object) in files.iter().zip(objects) {
            let text = object.text_in_file();
            for (page, there) in cold::resident(file)?.into_iter().enumerate() {
                let start = page as u64 * cold::PAGE;
                if there {
                    resident += cold::PAGE;
                    let in_text = start < text.end && text.start < start + cold::PAGE;
                    resident_text += if in_text { cold::PAGE } else { 0 };
                }
            }
        }
        let warm = self.run(&[])?;
        Ok(Start { cold, resident, resident_text, warm })
    }

    fn run(&self, cold: &[&Path]) -> Result<Sample> {
        let helper = [self.trimtab.as_os_str().to_owned(), OsString::from("wrapped-run")];
        Ok(measure::run(self.command, self.limits, &helper, cold, self.work)?)
    }
}
