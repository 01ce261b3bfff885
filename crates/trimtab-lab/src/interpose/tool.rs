//! Compilers and linkers, known by their names.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// Names by which compilers of C and C++ are started.
const COMPILERS: [&str; 6] = ["cc", "c++", "gcc", "g++", "clang", "clang++"];

/// What a tool of a build does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It compiles C and C++, and starts the linker.
    Compiler,
    /// It links.
    Linker,
}

/// What the name of a tool says: `aarch64-linux-gnu`, `gcc` and `12` of `aarch64-linux-gnu-gcc-12`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolName<'a> {
    /// The machine it works for, where the name says so: the three or four parts of a target.
    pub machine: Option<&'a str>,
    /// The name without machine and version.
    pub plain: &'a str,
    /// The version, where the name says so.
    pub version: Option<&'a str>,
    /// What it does.
    pub role: Role,
}

impl<'a> ToolName<'a> {
    /// What this name says, if it is that of a compiler or linker.
    ///
    /// Linkers are `ld`, and `ld.` with a name, as compilers look for what `-fuse-ld=` names.
    pub fn parse(name: &'a str) -> Option<Self> {
        let (name, version) = match name.rsplit_once('-') {
            Some((rest, last)) if is_version(last) => (rest, Some(last)),
            _ => (name, None),
        };
        if let Some(role) = role(name) {
            return Some(ToolName { machine: None, plain: name, version, role });
        }
        let (machine, plain) = name.rsplit_once('-')?;
        // `c99-gcc` is a script, and no compiler for a machine called c99.
        let role = role(plain).filter(|_| machine.contains('-'))?;
        Some(ToolName { machine: Some(machine), plain, version, role })
    }

    /// The version's first number.
    pub fn major(&self) -> Option<u32> {
        self.version?.split('.').next()?.parse().ok()
    }
}

fn is_version(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || c == '.')
}

fn role(plain: &str) -> Option<Role> {
    let is_linker = match plain.strip_prefix("ld") {
        Some("") => true,
        // The dynamic loader has such a name, too.
        Some(".so") => false,
        Some(rest) => rest
            .strip_prefix('.')
            .is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase())),
        // gcc's own name for the linker, where it was built with one.
        None => plain == "collect-ld",
    };
    match is_linker {
        true => Some(Role::Linker),
        false => COMPILERS.contains(&plain).then_some(Role::Compiler),
    }
}

/// A compiler or linker that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Its file's name, as a build would start it.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
}

impl Tool {
    /// What its name says; nothing for a compiler with a name of its own.
    pub fn parsed(&self) -> Option<ToolName<'_>> {
        ToolName::parse(&self.name)
    }

    /// Whether it is clang, whatever its name is.
    pub fn is_clang(&self) -> bool {
        let real = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let is = |path: &Path| {
            path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.contains("clang"))
        };
        is(&self.path) || is(&real)
    }
}

/// The compilers and linkers in `path`, a list of folders as `PATH` is, by name: of each name the
/// first, which is the one that a build would start.
pub fn tools_in(path: &OsStr) -> Vec<Tool> {
    let mut found: Vec<Tool> = Vec::new();
    for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let mut names: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names {
            let Some(name) = name.to_str() else { continue };
            if ToolName::parse(name).is_some() && !found.iter().any(|tool| tool.name == name) {
                found.push(Tool { name: name.to_owned(), path: folder.join(name) });
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_and_linkers_are_known_by_their_names() {
        let parsed = |name: &'static str| {
            let tool = ToolName::parse(name).unwrap_or_else(|| panic!("{name}"));
            (tool.machine, tool.plain, tool.version, tool.role)
        };
        use Role::{Compiler, Linker};
        let arm = Some("aarch64-linux-gnu");
        assert_eq!(parsed("cc"), (None, "cc", None, Compiler));
        assert_eq!(parsed("g++-12"), (None, "g++", Some("12"), Compiler));
        assert_eq!(parsed("clang++-22"), (None, "clang++", Some("22"), Compiler));
        assert_eq!(parsed("aarch64-linux-gnu-gcc-12"), (arm, "gcc", Some("12"), Compiler));
        assert_eq!(parsed("arm-none-eabi-c++-9.2.1").2, Some("9.2.1"));
        assert_eq!(ToolName::parse("arm-none-eabi-c++-9.2.1").unwrap().major(), Some(9));
        assert_eq!(parsed("ld"), (None, "ld", None, Linker));
        assert_eq!(parsed("ld.lld-22"), (None, "ld.lld", Some("22"), Linker));
        assert_eq!(parsed("aarch64-linux-gnu-ld.bfd"), (arm, "ld.bfd", None, Linker));
        for name in ["ld.gold", "ld.mold", "ld.wild", "ld.bfd", "collect-ld"] {
            assert_eq!(parsed(name), (None, name, None, Linker));
        }
        for name in [
            "gcc-ar",
            "gcc-ar-12",
            "c99-gcc",
            "clang-format",
            "clang-format-22",
            "ccache",
            "cc1",
            "g++filt",
            "ld.so",
            "ldd",
            "ldconfig",
            "lld",
            "ld-linux-x86-64.so.2",
            "x-ld",
            "as",
            "objdump",
            "",
        ] {
            assert_eq!(ToolName::parse(name), None, "{name}");
        }
    }

    #[test]
    fn of_each_name_the_first_in_the_path_counts() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for (folder, names) in folders.iter().zip([["gcc", "as"], ["ld", "gcc"]]) {
            for name in names {
                fs::write(folder.path().join(name), "").unwrap();
            }
        }
        let path = std::env::join_paths([
            Path::new("relative"),
            folders[0].path(),
            folders[1].path(),
            Path::new("/no/such"),
        ]);
        let tools = tools_in(&path.unwrap());
        let expected = [folders[0].path().join("gcc"), folders[1].path().join("ld")];
        assert_eq!(tools.iter().map(|tool| tool.path.clone()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn clang_is_known_by_any_name() {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().join("clang-22");
        fs::write(&real, "").unwrap();
        let named = root.path().join("c++");
        std::os::unix::fs::symlink(&real, &named).unwrap();
        let is_clang = |path: &Path| Tool { name: "cc".to_owned(), path: path.into() }.is_clang();
        assert!(is_clang(&real) && is_clang(&named) && is_clang(Path::new("/x/clang++")));
        assert!(!is_clang(Path::new("/usr/bin/no-such-gcc")));
    }
}
