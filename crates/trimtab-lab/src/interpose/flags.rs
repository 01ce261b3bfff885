//! Flags that are added to and removed from the command lines of compilers, for all objects or for some.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::arguments::{compiled, expanded};

/// Why the flags for a compile cannot be found.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FlagsError {
    /// Some have rules of their own, and all get the same flags.
    #[error(
        "one command compiles {} objects at once, of which {} has flags of its own; expected one \
         command for each",
        objects, object.display()
    )]
    Several {
        /// How many.
        objects: usize,
        /// One with rules of its own.
        object: PathBuf,
    },
    /// The folder that a path is relative to is gone.
    #[error("cannot find the folder that the compiler runs in: {0}")]
    Folder(#[from] std::io::Error),
}

/// Flags that are added to and removed from the command line of a compiler.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flags {
    /// Taken out wherever they are: arguments that are equal, or, for one that ends with `*`, that
    /// begin so. Values in an argument of their own stay: give `-O2`, not `-o file`.
    #[serde(default)]
    pub remove: Vec<String>,
    /// Put behind all others, where compilers let them count most.
    #[serde(default)]
    pub add: Vec<String>,
}

impl Flags {
    fn removes(&self, argument: &OsString) -> bool {
        let bytes = argument.as_bytes();
        self.remove.iter().any(|flag| match flag.strip_suffix('*') {
            Some(start) => bytes.starts_with(start.as_bytes()),
            None => bytes == flag.as_bytes(),
        })
    }
}

/// What is changed of the flags of a build.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlagRules {
    /// For whatever is compiled.
    #[serde(default)]
    pub all: Flags,
    /// For single objects, by their absolute path, beside what is for all: what is added here comes
    /// behind.
    #[serde(default)]
    pub objects: BTreeMap<PathBuf, Flags>,
}

impl FlagRules {
    /// The arguments of a compiler that runs in `folder`, changed. What does not compile stays as it
    /// is.
    ///
    /// # Errors
    /// [`FlagsError::Several`]; [`FlagsError::Folder`] where `folder` is relative.
    pub fn apply(
        &self,
        arguments: &[OsString],
        folder: &Path,
    ) -> Result<Vec<OsString>, FlagsError> {
        let whole = expanded(arguments);
        let objects = compiled(&whole);
        if objects.is_empty() {
            return Ok(arguments.to_vec());
        }
        let mut own = None;
        for object in &objects {
            let object = std::path::absolute(folder.join(object))?;
            if let Some(flags) = self.objects.get(&object) {
                if objects.len() > 1 {
                    return Err(FlagsError::Several { objects: objects.len(), object });
                }
                own = Some(flags);
            }
        }
        let rules = || std::iter::once(&self.all).chain(own);
        let removes = |argument: &OsString| rules().any(|flags| flags.removes(argument));
        // Response files are written out where something in them may go.
        let source = if whole.iter().any(removes) { &whole } else { arguments };
        let kept = source.iter().filter(|argument| !removes(argument)).cloned();
        let added = rules().flat_map(|flags| &flags.add).map(OsString::from);
        Ok(kept.chain(added).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn os(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    fn flags(remove: &[&str], add: &[&str]) -> Flags {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Flags { remove: owned(remove), add: owned(add) }
    }

    fn rules() -> FlagRules {
        FlagRules {
            all: flags(&["-O*"], &["-O3"]),
            objects: [("/b/hot.o".into(), flags(&["-g"], &["-funroll-loops"]))].into(),
        }
    }

    #[test]
    fn flags_are_added_and_removed_for_all_and_for_one() {
        let apply = |words: &[&str]| rules().apply(&os(words), Path::new("/b")).unwrap();
        assert_eq!(
            apply(&["-O2", "-g", "-c", "cold.c", "-o", "cold.o"]),
            os(&["-g", "-c", "cold.c", "-o", "cold.o", "-O3"])
        );
        for output in ["hot.o", "/b/hot.o", "./hot.o"] {
            assert_eq!(
                apply(&["-Os", "-g", "-c", "hot.c", "-o", output]),
                os(&["-c", "hot.c", "-o", output, "-O3", "-funroll-loops"])
            );
        }
        for other in [&["-O2", "a.o", "-o", "app"][..], &["-E", "-O2", "a.c"], &["--version"]] {
            assert_eq!(apply(other), os(other), "it compiles nothing");
        }
    }

    #[test]
    fn response_files_are_written_out_only_where_it_matters() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("args");
        let at = format!("@{}", file.display());
        let arguments = os(&[&at, "-c", "a.c"]);
        for (text, expected) in [
            ("-O2 -g", os(&["-g", "-c", "a.c", "-O3"])),
            ("-g", { os(&[&at, "-c", "a.c", "-O3"]) }),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(rules().apply(&arguments, Path::new("/b")).unwrap(), expected);
        }
    }

    #[test]
    fn objects_that_are_made_at_once_cannot_have_flags_of_their_own() {
        let arguments = os(&["-c", "cold.c", "hot.c"]);
        let error = rules().apply(&arguments, Path::new("/b")).unwrap_err().to_string();
        assert!(error.contains("compiles 2 objects at once, of which /b/hot.o has"), "{error}");
        assert!(rules().apply(&arguments, Path::new("/other")).is_ok());
    }

    #[test]
    fn rules_are_read_strictly() {
        let text = serde_json::to_string(&rules()).unwrap();
        assert_eq!(serde_json::from_str::<FlagRules>(&text).unwrap(), rules());
        assert!(serde_json::from_str::<FlagRules>(r#"{"al": {}}"#).is_err());
    }
}
