//! Programs of ours that run in guests: C sources that trimtab carries, compiled once.

use std::path::{Path, PathBuf};

use anyhow::Result;
use include_dir::Dir;
use trimtab_lab::cache::Key;
use trimtab_lab::compile::compile;
use trimtab_lab::tools::FoundTool;
use trimtab_lab::workdir::{KeptStep, WorkDir, WorkError};

/// What each is compiled with. The guest has no libraries.
const FLAGS: [&str; 7] = ["-std=gnu11", "-O2", "-static", "-s", "-Wall", "-Wextra", "-Werror"];

/// A static program that is compiled of C sources.
#[derive(Debug)]
pub struct CompiledProgram<'a> {
    /// What is being done, for messages: "building the module's tests".
    pub purpose: &'static str,
    /// The compiler.
    pub gcc: &'a FoundTool,
    /// Names of its files, `.c` and `.h`, and their text.
    pub sources: Vec<(&'static str, &'static str)>,
    /// Flags of its own.
    pub flags: Vec<&'static str>,
}

impl<'a> CompiledProgram<'a> {
    /// A program of a folder that has a source for each, by its name, and headers for all.
    pub fn of_folder(
        folder: &Dir<'static>,
        name: &str,
        purpose: &'static str,
        gcc: &'a FoundTool,
        flags: &'static [&'static str],
    ) -> Self {
        let mut sources = c_sources(folder);
        sources.retain(|(file, _)| file.ends_with(".h") || file.strip_suffix(".c") == Some(name));
        CompiledProgram { purpose, gcc, sources, flags: flags.to_vec() }
    }
}

impl CompiledProgram<'_> {
    /// Its file in the step.
    const FILE: &'static str = "program";

    /// The program's path: compiled now, or by an earlier run.
    ///
    /// # Errors
    /// A compiler that does not take it.
    pub fn get(&self, work: &WorkDir) -> Result<PathBuf> {
        Ok(work.get(self)?.folder.join(Self::FILE))
    }
}

impl KeptStep for CompiledProgram<'_> {
    const KIND: &'static str = "guest-program";
    const VERSION: u32 = 1;
    type Record = ();
    type Error = anyhow::Error;

    fn key(&self, key: Key) -> Result<Key, WorkError> {
        // Compilers for other machines are as old.
        let name = self.gcc.path.file_name().unwrap_or_default().to_string_lossy();
        let key = key.field("compiler", name).field("gcc", self.gcc.version_text());
        let key = key.field("flags", self.flags.join(" "));
        let bytes = |key: Key, (name, text): &(&str, &str)| key.bytes(name, text.as_bytes());
        Ok(self.sources.iter().fold(key, bytes))
    }

    fn make(&self, at: &Path) -> Result<()> {
        let flags: Vec<&str> = FLAGS.iter().chain(&self.flags).copied().collect();
        compile(self.purpose, &self.gcc.path, &self.sources, &flags, &at.join(Self::FILE))?;
        Ok(())
    }
}

/// The C sources in a folder, without those in folders below it.
pub fn c_sources(folder: &Dir<'static>) -> Vec<(&'static str, &'static str)> {
    let name = |path: &'static Path| path.file_name().and_then(|name| name.to_str());
    let files = folder.files();
    let files = files.filter_map(|file| Some((name(file.path())?, file.contents_utf8()?)));
    files.filter(|(name, _)| name.ends_with(".c") || name.ends_with(".h")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::Command;

    use trimtab_lab::tools;

    use super::*;

    #[test]
    fn it_is_compiled_once_for_the_same_sources() {
        let folder = tempfile::tempdir().unwrap();
        let work = WorkDir::open(folder.path()).unwrap();
        let gcc = tools::find("gcc").unwrap();
        let program = |status: &'static str, flags: &'static [&'static str]| {
            let sources = vec![("a.c", "#include \"a.h\"\nint main(void) { return STATUS; }\n")];
            let sources = [sources, vec![("a.h", status)]].concat();
            let flags = flags.to_vec();
            CompiledProgram { purpose: "building a program", gcc: &gcc, sources, flags }
        };
        let status = |path: &Path| Command::new(path).status().unwrap().code();
        let first = program("#define STATUS 3\n", &[]).get(&work).unwrap();
        assert_eq!(status(&first), Some(3));
        assert_eq!(program("#define STATUS 3\n", &[]).get(&work).unwrap(), first);
        let defined = program("\n", &["-DSTATUS=4"]).get(&work).unwrap();
        assert_eq!(status(&defined), Some(4));
        let error = program("\n", &[]).get(&work).unwrap_err().to_string();
        assert!(error.contains("building a program"), "{error}");
    }

    #[test]
    fn programs_for_two_machines_are_two() {
        let key = |path: &str| {
            let gcc = FoundTool { path: path.into(), version: None };
            let sources = vec![("a.c", "int main(void) { return 0; }\n")];
            let program =
                CompiledProgram { purpose: "a test", gcc: &gcc, sources, flags: Vec::new() };
            program.key(Key::new("test")).unwrap()
        };
        assert_ne!(key("/usr/bin/gcc"), key("/usr/bin/aarch64-linux-gnu-gcc"));
        assert_eq!(key("/usr/bin/gcc"), key("/usr/local/bin/gcc"));
    }
}
