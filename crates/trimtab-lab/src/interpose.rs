//! Programs that stand in front of the compilers and linkers of somebody's build.
//!
//! A build need not know of them. The folder with the stand-ins is first in `PATH`, and compilers look
//! for their linker there: by the option `-B`, and for gcc also by `COMPILER_PATH`. What a stand-in
//! does is up to an [`Interposition`]; that each compiler finds the stand-in of the linker that it
//! would have taken is the [`Interposer`]'s work. So it is for a compiler that takes the linker of its
//! own version, compiles for another machine, or is started by rustc, which brings a linker.
//!
//! - [`ToolName`] knows compilers and linkers by their names;
//! - [`arguments`] reads their command lines;
//! - [`FlagRules`] changes their flags;
//! - [`RuledCompilers`] are compilers that follow such rules, and write down what they make.

pub mod arguments;
mod flags;
mod ruled;
mod tool;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::{fs, io};

pub use flags::{FlagRules, Flags, FlagsError};
pub use ruled::{Compilation, RuledCompilers, ruled};
pub use tool::{Role, Tool, ToolName, tools_in};

use crate::script;
use crate::shell::quoted;

/// What is done in the place of compilers and linkers.
///
/// Commands are text for a shell, which sets the arguments behind it.
pub trait Interposition {
    /// The command that stands in for a linker. `real` is the linker's path as a word of the shell.
    fn linker(&self, real: &str) -> String;

    /// The command that stands in for a compiler.
    fn compiler(&self, compiler: &Tool) -> String;

    /// Whether this compiler gets a stand-in.
    fn wants(&self, _compiler: &ToolName<'_>) -> bool {
        true
    }

    /// Names of linkers that get a stand-in also where there is no such linker, as something else is
    /// done in its place.
    fn linkers(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// In the folder: where the stand-in for the linker of Rust's own is.
const RUST: &str = "rust";

/// What compilers call the linker of LLVM.
const LLD: &str = "ld.lld";

/// Names the linker that rustc brings to its stand-in.
const RUST_LINKER: &str = "TRIMTAB_RUST_LINKER";

/// Has the compiler look there first then.
const OF_RUST: &str = "${rust:+-B\"$rust\"}";

/// A folder of stand-ins.
#[derive(Debug, Clone)]
pub struct Interposer {
    folder: PathBuf,
}

impl Interposer {
    /// Fills `folder` anew with what stands in for the compilers and linkers in `path`, a list of
    /// folders as `PATH` is.
    ///
    /// # Errors
    /// That the folder cannot be written.
    pub fn make(
        folder: &Path,
        path: &OsStr,
        interposition: &impl Interposition,
    ) -> io::Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder.join(RUST))?;
        let interposer = Interposer { folder: folder.to_owned() };
        let tools = tools_in(path);
        interposer.put_linkers(&tools, interposition)?;
        for tool in &tools {
            let parsed = tool.parsed();
            if parsed.is_some_and(|name| name.role == Role::Compiler && interposition.wants(&name))
            {
                interposer.put_compiler(tool, interposition)?;
            }
        }
        Ok(interposer)
    }

    /// Puts a stand-in for a compiler into the folder, under its own name, in the place of another of
    /// the same name; gives its path.
    ///
    /// # Errors
    /// That it cannot be written.
    pub fn put_compiler(
        &self,
        compiler: &Tool,
        interposition: &impl Interposition,
    ) -> io::Result<PathBuf> {
        let here = quoted(&self.folder);
        let command = interposition.compiler(compiler);
        let before = format!("{OF_RUST}{}", self.put_linker_beside(compiler, interposition)?);
        let choose_target = match compiler.is_clang() {
            true => choose_target(&here, &format!("{command} {before}")),
            false => String::new(),
        };
        let machine = compiler.parsed().and_then(|name| name.machine.map(str::to_owned));
        let linkers =
            machine.map(|machine| self.folder.join(machine)).filter(|folder| folder.is_dir());
        let first = linkers.map(|folder| format!(" -B{}", quoted(&folder))).unwrap_or_default();
        let stand_in = self.folder.join(&compiler.name);
        let text = format!(
            "#!/bin/sh\n{}{choose_target}exec {command} {before}{first} -B{here} \"$@\"\n",
            choose_rusts(&quoted(self.folder.join(RUST)))
        );
        script::write(&stand_in, &text)?;
        Ok(stand_in)
    }

    /// Stands in for the lld that lies beside clang itself, which is the one that clang takes whatever
    /// `PATH` has; gives the option by which the compiler finds that first.
    fn put_linker_beside(
        &self,
        compiler: &Tool,
        interposition: &impl Interposition,
    ) -> io::Result<String> {
        let own = compiler.path.canonicalize().ok();
        let lld = own.and_then(|own| Some(own.parent()?.join(LLD))).filter(|lld| lld.is_file());
        let Some(lld) = lld.filter(|_| compiler.is_clang()) else { return Ok(String::new()) };
        let folder = self.folder.join(format!("beside-{}", compiler.name));
        fs::create_dir_all(&folder)?;
        let text = format!("#!/bin/sh\nexec {} \"$@\"\n", interposition.linker(&quoted(lld)));
        script::write(&folder.join(LLD), &text)?;
        Ok(format!(" -B{}", quoted(folder)))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The environment of a build with the stand-ins: the variables that lead to them, as they are
    /// for trimtab otherwise.
    pub fn environment(&self) -> [(&'static str, OsString); 2] {
        ["PATH", "COMPILER_PATH"].map(|name| {
            let mut value = self.folder.clone().into_os_string();
            if let Some(old) = std::env::var_os(name).filter(|old| !old.is_empty()) {
                value.push(":");
                value.push(old);
            }
            (name, value)
        })
    }

    fn put_linkers(&self, tools: &[Tool], interposition: &impl Interposition) -> io::Result<()> {
        let text = |real: &str| format!("#!/bin/sh\nexec {} \"$@\"\n", interposition.linker(real));
        // What is put in later replaces nothing.
        let mut scripts = BTreeMap::new();
        // By version: that of `ld.lld-22` is how clang finds a newer one than the system's.
        let mut versions = BTreeMap::new();
        for tool in tools {
            let Some(name) = tool.parsed().filter(|name| name.role == Role::Linker) else {
                continue;
            };
            let text = text(&quoted(&tool.path));
            // A compiler for another machine looks for it under the plain name.
            if let Some(machine) = name.machine {
                scripts.entry(Path::new(machine).join(name.plain)).or_insert_with(|| text.clone());
            }
            if let (None, Some(version)) = (name.machine, name.major()) {
                versions.insert((version, name.plain), text.clone());
            }
            scripts.insert(PathBuf::from(&tool.name), text);
        }
        // Compilers look for it under the plain name.
        for ((_, plain), text) in versions.into_iter().rev() {
            scripts.entry(plain.into()).or_insert(text);
        }
        for name in interposition.linkers() {
            scripts.entry(name.into()).or_insert_with(|| text(name));
        }
        scripts.insert(Path::new(RUST).join(LLD), text(&format!("\"${RUST_LINKER}\"")));
        for (name, text) in scripts {
            let path = self.folder.join(name);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            script::write(&path, &text)?;
        }
        Ok(())
    }
}

/// Finds out whether rustc tells the compiler where its own lld is.
fn choose_rusts(stand_in: &str) -> String {
    format!(
        "rust=
for word; do
    case $word in
    -B*/gcc-ld)
        if [ -x \"${{word#-B}}/ld.lld\" ]; then
            rust={stand_in}
            export {RUST_LINKER}=\"${{word#-B}}/ld.lld\"
        fi
        ;;
    esac
done
"
    )
}

/// Has clang, which compiles for any machine, take the linker of its target.
fn choose_target(here: &str, command: &str) -> String {
    format!(
        "last=
for word; do
    case $last in -target | --target) machine=$word ;; esac
    case $word in --target=*) machine=${{word#*=}} ;; esac
    last=$word
done
if [ -n \"$machine\" ] && [ -d {here}/\"$machine\" ]; then
    exec {command} -B{here}/\"$machine\" -B{here} \"$@\"
fi
"
    )
}

#[cfg(test)]
mod tests;
