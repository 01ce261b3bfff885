//! Compilers whose flags are changed by rules, and which write down what they make: so that some objects
//! of any build can have flags of their own.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::arguments::{compiled, expanded, sources};
use super::{FlagRules, Interposer, Interposition, Tool, ToolName};
use crate::process::Invocation;
use crate::shell::quoted;

/// Names in the folder.
const RULES: &str = "rules.json";
const MADE: &str = "made";
const BIN: &str = "bin";

/// Something with code that a build compiled: an object, or, where the compiler was also to link, what was
/// linked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compilation {
    /// It, as an absolute path.
    pub object: PathBuf,
    /// What it was compiled from, as absolute paths.
    pub sources: Vec<PathBuf>,
}

/// A folder of compilers that follow rules.
#[derive(Debug, Clone)]
pub struct RuledCompilers {
    folder: PathBuf,
    trimtab: PathBuf,
    interposer: Interposer,
}

/// What is done in the place of compilers: `trimtab wrapped-flags FOLDER COMPILER -- ARGUMENTS...`.
struct Ruled<'a> {
    folder: &'a Path,
    trimtab: &'a Path,
}

impl Interposition for Ruled<'_> {
    fn linker(&self, real: &str) -> String {
        real.to_owned()
    }

    fn compiler(&self, compiler: &Tool) -> String {
        format!(
            "{} wrapped-flags {} {} --",
            quoted(self.trimtab),
            quoted(self.folder),
            quoted(&compiler.path)
        )
    }

    fn wants(&self, compiler: &ToolName<'_>) -> bool {
        // What is built for other machines, as for a build's own use, is none of the program.
        compiler.machine.is_none_or(|machine| machine.starts_with(std::env::consts::ARCH))
    }
}

impl RuledCompilers {
    /// Fills an empty `folder` with compilers that stand in for those in `path`, a list of folders as
    /// `PATH` is. `trimtab` is the program that they start. There are no rules at first.
    ///
    /// # Errors
    /// That the folder cannot be written.
    pub fn make(folder: &Path, trimtab: &Path, path: &OsStr) -> io::Result<Self> {
        let interposer = Interposer::make(&folder.join(BIN), path, &Ruled { folder, trimtab })?;
        let made = Self { folder: folder.to_owned(), trimtab: trimtab.to_owned(), interposer };
        made.begin(&FlagRules::default())?;
        Ok(made)
    }

    /// The compiler that stands in for the one at a path.
    ///
    /// # Errors
    /// That it cannot be written.
    pub fn stand_in(&self, compiler: &Path) -> io::Result<PathBuf> {
        let name = compiler.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let tool = Tool { name, path: compiler.to_owned() };
        let ruled = Ruled { folder: &self.folder, trimtab: &self.trimtab };
        self.interposer.put_compiler(&tool, &ruled)
    }

    /// The environment of a build by these compilers.
    pub fn environment(&self) -> [(&'static str, OsString); 2] {
        self.interposer.environment()
    }

    /// Begins a build: its compilers follow these rules, and nothing is made yet.
    ///
    /// # Errors
    /// That the folder cannot be written.
    pub fn begin(&self, rules: &FlagRules) -> io::Result<()> {
        let made = self.folder.join(MADE);
        if made.exists() {
            fs::remove_dir_all(&made)?;
        }
        fs::create_dir_all(&made)?;
        fs::write(self.folder.join(RULES), serde_json::to_vec(rules)?)
    }

    /// What was compiled since the build began, by object.
    ///
    /// # Errors
    /// That the folder cannot be read.
    pub fn made(&self) -> io::Result<Vec<Compilation>> {
        let mut found: Vec<Compilation> = Vec::new();
        for entry in fs::read_dir(self.folder.join(MADE))? {
            found.push(read(&entry?.path())?);
        }
        found.sort_by(|a, b| a.object.cmp(&b.object));
        Ok(found)
    }
}

/// What a stand-in does: it writes down what `compiler` makes, and gives the command that makes it by the
/// rules of its folder.
///
/// # Errors
/// That the folder cannot be read or written, or rules that cannot be followed, in a sentence.
pub fn ruled(folder: &Path, compiler: &Path, arguments: &[OsString]) -> Result<Invocation, String> {
    let said = |error: io::Error| format!("{}: {error}", folder.display());
    let rules: FlagRules = read(&folder.join(RULES)).map_err(said)?;
    let here = std::env::current_dir().map_err(said)?;
    let whole = expanded(arguments);
    // The compiler may be given a name of the source through a link; debug information says the same.
    let real = |path: &Path| {
        let path = here.join(path);
        path.canonicalize().unwrap_or(path)
    };
    let from: Vec<PathBuf> = sources(&whole).iter().map(|source| real(source)).collect();
    let objects = compiled(&whole);
    for (place, object) in objects.iter().enumerate() {
        let object = std::path::absolute(here.join(object)).map_err(said)?;
        // Of several objects each is made of one source.
        let sources = match objects.len() {
            1 => from.clone(),
            _ => from.get(place).cloned().into_iter().collect(),
        };
        let name = hex::encode(&Sha256::digest(object.as_os_str().as_bytes())[..8]);
        let text = serde_json::to_vec(&Compilation { object, sources });
        let text = text.map_err(|error| said(error.into()))?;
        fs::write(folder.join(MADE).join(name), text).map_err(said)?;
    }
    let arguments = rules.apply(arguments, &here).map_err(|error| error.to_string())?;
    Ok(Invocation::new(compiler).args(arguments))
}

fn read<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

#[cfg(test)]
mod tests {
    use super::super::Flags;
    use super::*;

    #[test]
    fn stand_ins_follow_the_rules_and_write_down_what_they_make() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let real = root.join("real");
        fs::create_dir(&real).unwrap();
        for name in ["gcc", "mipsel-linux-gnu-gcc", "ld"] {
            crate::script::write(&real.join(name), "#!/bin/sh\n").unwrap();
        }
        let folder = root.join("it's");
        let trimtab = Path::new("/bin/trimtab");
        let compilers = RuledCompilers::make(&folder, trimtab, real.as_os_str()).unwrap();
        let text = fs::read_to_string(folder.join("bin/gcc")).unwrap();
        assert!(text.contains("exec /bin/trimtab wrapped-flags \""), "{text}");
        assert!(!folder.join("bin/mipsel-linux-gnu-gcc").exists(), "for another machine");
        assert_eq!(compilers.stand_in(&real.join("gcc")).unwrap(), folder.join("bin/gcc"));
        // The folder that the test runs in.
        let here = std::env::current_dir().unwrap();
        let own = Flags { remove: Vec::new(), add: vec!["-O3".to_owned()] };
        let objects = [(here.join("hot.o"), own)].into();
        compilers.begin(&FlagRules { all: Flags::default(), objects }).unwrap();
        let run = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            ruled(&folder, &real.join("gcc"), &words)
        };
        let shown = |words: &[&str]| format!("{:?}", run(words).unwrap());
        assert!(shown(&["-O2", "-c", "hot.c"]).contains("-O3"));
        assert!(!shown(&["-O2", "-c", "cold.c", "more.c"]).contains("-O3"));
        assert!(run(&["-c", "hot.c", "cold.c"]).unwrap_err().contains("2 objects at once"));
        assert!(!shown(&["hot.o", "-o", "app"]).contains("-O3"));
        let made = |object: &str, source: &str| Compilation {
            object: here.join(object),
            sources: vec![here.join(source)],
        };
        let expected = [made("cold.o", "cold.c"), made("hot.o", "hot.c"), made("more.o", "more.c")];
        assert_eq!(compilers.made().unwrap(), expected);
        compilers.begin(&FlagRules::default()).unwrap();
        assert_eq!(compilers.made().unwrap(), []);
    }
}
