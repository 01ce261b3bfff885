//! Profiles that several sets of flags share.
//!
//! gcc puts its counters into functions early: what comes later, such as scheduling, changes neither
//! where they are nor what they count. Sets of flags that differ only in such options have the same
//! profile. Where they do not after all, gcc says that functions do not match it.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::compiler::Family;
use crate::space::Group;

/// The option that stands for a build that writes a profile, a run, and a build with that.
pub const USE: &str = "-fprofile-use";
/// Most profiles that are kept.
const MOST: usize = 64;

/// The files that a run wrote, by their places in a room.
#[derive(Debug, Default)]
pub struct Profile(Vec<(PathBuf, Vec<u8>)>);

impl Profile {
    /// Reads files of a room.
    ///
    /// # Errors
    /// That one cannot be read.
    pub fn read(room: &Path, files: &[PathBuf]) -> io::Result<Self> {
        let read = |file: &PathBuf| {
            let place = file.strip_prefix(room).map_err(io::Error::other)?;
            Ok((place.to_owned(), fs::read(file)?))
        };
        Ok(Self(files.iter().map(read).collect::<io::Result<_>>()?))
    }

    /// Writes them into a room.
    ///
    /// # Errors
    /// That one cannot be written.
    pub fn write(&self, room: &Path) -> io::Result<()> {
        for (place, bytes) in &self.0 {
            let file = room.join(place);
            if let Some(folder) = file.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(file, bytes)?;
        }
        Ok(())
    }
}

/// Profiles of one subject and compiler, by the flags that made them, the last ones first.
#[derive(Debug, Default)]
pub struct Profiles(Mutex<VecDeque<(Vec<String>, Arc<Profile>)>>);

impl Profiles {
    /// The profile that these flags made, where it is kept.
    pub fn get(&self, flags: &[String]) -> Option<Arc<Profile>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(made, _)| made == flags).map(|(_, profile)| Arc::clone(profile))
    }

    /// Keeps the profile that these flags made.
    pub fn keep(&self, flags: Vec<String>, profile: Profile) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front((flags, Arc::new(profile)));
        kept.truncate(MOST);
    }
}

/// The flags of a build that writes a profile for a build with `flags`: all of them but [`USE`].
pub fn making(flags: &[String]) -> Vec<String> {
    let others = flags.iter().filter(|flag| *flag != USE).cloned();
    others.chain(["-fprofile-generate".to_owned()]).collect()
}

/// The same without what cannot change a profile, for all that is known.
pub fn making_shared(family: Family, flags: &[String]) -> Vec<String> {
    let mut made = making(flags);
    if family == Family::Gcc {
        made.retain(|flag| !comes_later(flag));
    }
    made
}

/// Whether a flag of gcc decides over what is done after the counters are there.
fn comes_later(flag: &str) -> bool {
    match Group::of(flag) {
        Group::Scheduling
        | Group::Registers
        | Group::Placement
        | Group::Vectors
        | Group::Loops
        | Group::Machine => true,
        Group::Build => flag.starts_with("-flto"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(flags: &[&str]) -> Vec<String> {
        flags.iter().map(|flag| (*flag).to_owned()).collect()
    }

    #[test]
    fn what_comes_after_the_counters_makes_no_other_profile() {
        let flags = owned(&[
            "-O3",
            "-march=x86-64-v3",
            "-fprofile-use",
            "-flto",
            "-fno-early-inlining",
            "-fschedule-insns",
            "-funroll-loops",
            "--param=max-sched-ready-insns=200",
        ]);
        let shared = making_shared(Family::Gcc, &flags);
        assert_eq!(shared, owned(&["-O3", "-fno-early-inlining", "-fprofile-generate"]));
        assert_eq!(making_shared(Family::Clang, &flags).len(), flags.len());
    }

    #[test]
    fn a_profile_is_found_by_the_flags_that_made_it_and_written_where_it_was() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = from.path().join("sub/a.gcda");
        fs::create_dir(from.path().join("sub")).unwrap();
        fs::write(&file, "counts").unwrap();
        let profiles = Profiles::default();
        for number in 0..MOST + 1 {
            let profile = Profile::read(from.path(), std::slice::from_ref(&file)).unwrap();
            profiles.keep(vec![number.to_string()], profile);
        }
        assert!(profiles.get(&owned(&["0"])).is_none(), "the oldest has left");
        profiles.get(&owned(&["1"])).unwrap().write(to.path()).unwrap();
        assert_eq!(fs::read(to.path().join("sub/a.gcda")).unwrap(), b"counts");
    }
}
