//! What the wrapped clang does: it writes down what it makes, and splits functions by blocks.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use trimtab_lab::interpose::arguments::{compiled, expanded};
use trimtab_lab::process::Invocation;
use trimtab_link::SPLIT_FLAGS;

use super::{COMPILER_FLAGS, Settings, key, list_of};

/// Flags for clang beside [`COMPILER_FLAGS`], so that blocks can be distinguished. It says nothing
/// of options that do not matter to what it is asked to do, as in linking alone.
const BLOCK_FLAGS: [&str; 2] = ["-fbasic-block-address-map", "-Qunused-arguments"];

/// Something with code that a build compiled: an object, or, where the compiler was also to link,
/// what was linked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compile {
    /// It, as an absolute path.
    pub output: PathBuf,
    /// SHA-256 of the list of blocks that the compiler was given, where it was given one.
    pub list: Option<String>,
}

/// Notes the output of `compiler`. Gives the command that makes it so that blocks are
/// known, and split where there is a list for it.
///
/// # Errors
/// That the folder of wrapped tools cannot be read or written, in a sentence.
pub fn compile(
    folder: &Path,
    compiler: &Path,
    arguments: &[OsString],
) -> Result<Invocation, String> {
    let settings = Settings::read(folder)?;
    let list = list_for(folder, &expanded(arguments))?;
    let mut command = Invocation::new(compiler).arg(COMPILER_FLAGS);
    if settings.blocks {
        command = command.args(BLOCK_FLAGS);
    }
    if let Some(list) = list {
        let mut option = OsString::from("-fbasic-block-sections=list=");
        option.push(&list);
        command = command.arg(option).args(SPLIT_FLAGS);
    }
    Ok(command.args(arguments))
}

/// Notes what these arguments make, and gives the list for it. An option holds one list: where
/// several objects are made at once, theirs are put together.
fn list_for(folder: &Path, arguments: &[OsString]) -> Result<Option<PathBuf>, String> {
    let mut lists = Vec::new();
    for output in compiled(arguments) {
        let said = |error: std::io::Error| format!("{}: {error}", output.display());
        let output = std::path::absolute(&output).map_err(said)?;
        lists.extend(note(folder, &output)?);
    }
    let Some(first) = lists.first() else { return Ok(None) };
    if lists.len() == 1 {
        return Ok(Some(first.clone()));
    }
    let all = first.with_extension("all");
    let read = |list: &PathBuf| {
        fs::read_to_string(list).map_err(|error| format!("{}: {error}", list.display()))
    };
    let texts: Vec<String> = lists.iter().map(read).collect::<Result<_, _>>()?;
    fs::write(&all, merged(texts.iter().map(String::as_str)))
        .map_err(|error| format!("{}: {error}", all.display()))?;
    Ok(Some(all))
}

/// Notes that `output` is made, and gives its list where it has one.
pub(super) fn note(folder: &Path, output: &Path) -> Result<Option<PathBuf>, String> {
    let list = list_of(folder, output);
    let text = fs::read(&list).ok();
    let record = Compile {
        output: output.to_owned(),
        list: text.as_ref().map(|text| hex::encode(Sha256::digest(text))),
    };
    let path = folder.join("compiles").join(format!("{}.json", key(output)));
    let text_of = serde_json::to_vec(&record).map_err(|error| error.to_string())?;
    fs::write(&path, text_of).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.map(|_| list))
}

/// Several lists as one. clang refuses one that names a function twice, so of static functions of
/// the same name the first counts.
fn merged<'a>(lists: impl Iterator<Item = &'a str>) -> String {
    let mut seen = HashSet::new();
    let mut merged = String::from("v1\n");
    for list in lists {
        let mut lines = list.lines().skip(1);
        while let (Some(function), Some(blocks)) = (lines.next(), lines.next()) {
            let names = function.strip_prefix("f ").unwrap_or(function);
            let known = names.split(' ').any(|name| seen.contains(name));
            seen.extend(names.split(' '));
            if !known {
                merged.push_str(&format!("{function}\n{blocks}\n"));
            }
        }
    }
    merged
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compiled_is_noted_and_has_the_list_that_is_there() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path();
        for name in ["compiles", "lists"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        let output = folder.join("a.o");
        let arguments = ["-c", "a.c", "-o", output.to_str().unwrap()].map(OsString::from).to_vec();
        assert_eq!(list_for(folder, &arguments).unwrap(), None);
        let list = list_of(folder, &output);
        fs::write(&list, "v1\n").unwrap();
        assert_eq!(list_for(folder, &arguments).unwrap().as_ref(), Some(&list));
        let record = fs::read(folder.join("compiles").join(format!("{}.json", key(&output))));
        let record: Compile = serde_json::from_slice(&record.unwrap()).unwrap();
        assert_eq!((&record.output, record.list.is_some()), (&output, true));
        let compiler = Path::new("/usr/bin/clang");
        let error = compile(folder, compiler, &arguments).unwrap_err();
        assert!(error.contains("settings.json"), "{error}");
        let settings = Settings {
            linker: "lld".to_owned(),
            path: "/bin/ld".into(),
            takes_order: true,
            together: true,
            blocks: true,
        };
        let text = serde_json::to_string(&settings).unwrap();
        fs::write(folder.join("settings.json"), text).unwrap();
        let command = compile(folder, compiler, &arguments).unwrap();
        assert_eq!(command.program(), compiler);
        let said: Vec<_> = command.arguments().iter().map(|said| said.to_string_lossy()).collect();
        let option = format!("-fbasic-block-sections=list={}", list.display());
        for expected in [COMPILER_FLAGS, BLOCK_FLAGS[0], &option] {
            assert!(said.iter().any(|said| said == expected), "{expected} in {said:?}");
        }
        assert_eq!(said[said.len() - 4..], ["-c", "a.c", "-o", output.to_str().unwrap()]);
    }

    #[test]
    fn lists_of_objects_that_are_made_at_once_become_one() {
        let lists = ["v1\nf a b\nc 0 1\nf c\nc 0\n", "v1\nf c\nc 0 2\nf d b\nc 0\nf e\nc 0\n"];
        let expected = "v1\nf a b\nc 0 1\nf c\nc 0\nf e\nc 0\n";
        assert_eq!(merged(lists.into_iter()), expected);
    }
}
