//! LLVM, chosen as a set of one version: objects of one version's clang linked by another's lld
//! mostly work, and then fail in ways that are hard to trace back to that.

use std::path::{Path, PathBuf};

use super::table::{NEWEST_LLVM as NEWEST, OLDEST_LLVM as OLDEST};
use super::{FoundTool, ToolError, Toolbox, Version};

/// The programs of the set that a kernel build calls.
const PROGRAMS: &[(&str, &str)] = &[
    ("clang", "clang"),
    ("ld.lld", "lld"),
    ("llvm-ar", "llvm"),
    ("llvm-nm", "llvm"),
    ("llvm-objcopy", "llvm"),
    ("llvm-objdump", "llvm"),
    ("llvm-readelf", "llvm"),
    ("llvm-strip", "llvm"),
];

/// A complete set of LLVM tools of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Llvm {
    /// Version of clang, and so of the set.
    pub version: Version,
    naming: Naming,
    directory: PathBuf,
}

/// How the programs of a set are distinguished from those of another.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Naming {
    /// `clang-22`, in a directory of `PATH`.
    Suffix(String),
    /// `clang`, in a directory of its own.
    Directory,
    /// `clang`, in a directory of `PATH`: the system's only version.
    Plain,
}

impl Llvm {
    /// The oldest major version whose clang has `-fbasic-block-address-map`, for x86-64 and arm64.
    pub const OLDEST_THAT_MAPS_BLOCKS: u32 = 19;

    /// The major versions that are looked for, newest first.
    pub fn versions() -> impl Iterator<Item = u32> {
        (OLDEST..=NEWEST).rev()
    }

    /// Whether its clang writes down the basic blocks of what it compiles.
    pub fn maps_blocks(&self) -> bool {
        self.version.major() >= Self::OLDEST_THAT_MAPS_BLOCKS
    }

    /// What to give kbuild as `LLVM=`: `-22`, `/usr/lib/llvm-22/bin/` or `1`.
    pub fn kbuild_value(&self) -> String {
        match &self.naming {
            Naming::Suffix(suffix) => suffix.clone(),
            Naming::Directory => format!("{}/", self.directory.display()),
            Naming::Plain => "1".to_owned(),
        }
    }

    /// Path of a program of the set by its plain name: `clang`, `ld.lld`, `llvm-nm`.
    pub fn program(&self, name: &str) -> PathBuf {
        match &self.naming {
            Naming::Suffix(suffix) => self.directory.join(format!("{name}{suffix}")),
            Naming::Directory | Naming::Plain => self.directory.join(name),
        }
    }

    /// Path of clang.
    pub fn clang(&self) -> PathBuf {
        self.program("clang")
    }

    /// Path of lld as the linker of ELF files.
    pub fn lld(&self) -> PathBuf {
        self.program("ld.lld")
    }
}

/// Names of a command of LLVM, newest first, down to the oldest major version that works.
pub(super) fn commands(name: &str, minimum: &[u32]) -> Vec<String> {
    let oldest = minimum.first().copied().unwrap_or(OLDEST);
    let numbered = Llvm::versions().filter(|major| *major >= oldest);
    numbered.map(|major| format!("{name}-{major}")).chain([name.to_owned()]).collect()
}

/// The Debian packages of a set.
fn packages(major: u32) -> Vec<String> {
    ["clang", "lld", "llvm"].map(|part| format!("{part}-{major}")).to_vec()
}

/// The newest complete set, from [`NEWEST`] down; after those the one without a version in its
/// name, which may be newer or older.
pub(super) fn find(toolbox: &Toolbox) -> Result<Llvm, ToolError> {
    let mut problem = None;
    for major in Llvm::versions() {
        let suffix = format!("-{major}");
        let own = toolbox.absolute(&format!("/usr/lib/llvm-{major}/bin"));
        let places = toolbox
            .directory_of(&format!("clang{suffix}"))
            .map(|directory| (directory, Naming::Suffix(suffix)))
            .into_iter()
            .chain(own.map(|directory| (directory, Naming::Directory)));
        for (directory, naming) in places {
            match complete(toolbox, directory, naming, Some(major)) {
                Ok(set) => return Ok(set),
                // The first is the newest, so the one that is best completed.
                Err(error) => _ = problem.get_or_insert(error),
            }
        }
    }
    if let Some(directory) = toolbox.directory_of("clang") {
        match complete(toolbox, directory, Naming::Plain, None) {
            Ok(set) => return Ok(set),
            Err(error) => _ = problem.get_or_insert(error),
        }
    }
    let (problem, major) = problem.unwrap_or_else(|| {
        (format!("found neither clang-{NEWEST} to clang-{OLDEST} nor clang"), NEWEST)
    });
    let packages = packages(major);
    Err(ToolError::Llvm { problem, minimum: OLDEST, packages })
}

/// The set that `LLVM=chosen` names where a kernel is built, and no other.
pub(super) fn find_chosen(toolbox: &Toolbox, chosen: &str) -> Result<Llvm, ToolError> {
    let (directory, naming, looked_for) = if chosen.starts_with('-') {
        let clang = format!("clang{chosen}");
        (toolbox.directory_of(&clang), Naming::Suffix(chosen.to_owned()), clang)
    } else if chosen.ends_with('/') {
        (toolbox.absolute(chosen), Naming::Directory, chosen.to_owned())
    } else {
        // Whatever else it says: that is how the kernel's own build reads it.
        (toolbox.directory_of("clang"), Naming::Plain, "clang".to_owned())
    };
    let major = chosen.strip_prefix('-').and_then(|version| version.parse().ok());
    let set = match directory {
        Some(directory) => complete(toolbox, directory, naming, major),
        None => Err((format!("found no {looked_for}"), major.unwrap_or(NEWEST))),
    };
    set.map_err(|(problem, major)| {
        let packages = packages(major);
        let problem = format!("{problem} (LLVM={chosen} is set)");
        ToolError::Llvm { problem, minimum: OLDEST, packages }
    })
}

/// The set in `directory`, or what is wrong with it and the major version to install instead.
fn complete(
    toolbox: &Toolbox,
    directory: PathBuf,
    naming: Naming,
    major: Option<u32>,
) -> Result<Llvm, (String, u32)> {
    let mut set = Llvm { version: Version::new(&[]), naming, directory };
    let clang = set.clang();
    let version = version_of(toolbox, &clang).map_err(|said| {
        (
            format!("{} was asked for its version and said \"{said}\"", clang.display()),
            major.unwrap_or(NEWEST),
        )
    })?;
    if version.major() < OLDEST || major.is_some_and(|major| major != version.major()) {
        let wanted = major.map_or_else(|| format!("{OLDEST} or newer"), |major| major.to_string());
        return Err((
            format!("{} is version {version}, expected {wanted}", clang.display()),
            major.unwrap_or(NEWEST),
        ));
    }
    set.version = version;
    let install = major.unwrap_or(NEWEST);
    if let Some((name, _)) = PROGRAMS.iter().find(|(name, _)| !set.program(name).is_file()) {
        let (clang, program) = (clang.display(), set.program(name));
        return Err((format!("{clang} is there but {} is not", program.display()), install));
    }
    let lld = set.lld();
    match version_of(toolbox, &lld) {
        Ok(found) if found.major() == set.version.major() => Ok(set),
        Ok(found) => Err((
            format!(
                "{} is version {found} but {} is version {}",
                lld.display(),
                clang.display(),
                set.version
            ),
            install,
        )),
        Err(said) => Err((
            format!("{} was asked for its version and said \"{said}\"", lld.display()),
            install,
        )),
    }
}

fn version_of(toolbox: &Toolbox, path: &Path) -> Result<Version, String> {
    let said = toolbox.ask(path, &["--version"])?;
    Version::find(&said, "").ok_or_else(|| said.lines().next().unwrap_or_default().to_owned())
}

impl From<&Llvm> for FoundTool {
    fn from(set: &Llvm) -> Self {
        Self { path: set.clang(), version: Some(set.version.clone()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_the_packages_of_the_newest() {
        let tool = super::super::tool("llvm").unwrap();
        assert_eq!(tool.packages, packages(NEWEST));
    }
}
