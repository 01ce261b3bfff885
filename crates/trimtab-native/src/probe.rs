//! What stands in front of a build's linkers, so that instrumented programs are linked.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use trimtab_lab::interpose::{Interposer, Interposition, Tool};
use trimtab_lab::process::Invocation;
use trimtab_lab::shell::quoted;

/// Links in the place of the linkers that a build starts.
struct Links<'a> {
    trimtab: &'a Path,
}

impl Interposition for Links<'_> {
    fn linker(&self, real: &str) -> String {
        format!("{} probe link -- {real}", quoted(self.trimtab))
    }

    fn compiler(&self, compiler: &Tool) -> String {
        quoted(&compiler.path)
    }
}

/// Fills `folder` with programs that stand in for the compilers and linkers found in `path`, a list
/// as `PATH` is: linkers are `trimtab probe link -- REAL ARGUMENTS...`.
///
/// # Errors
/// That the folder cannot be written.
pub fn stand_in(folder: &Path, trimtab: &Path, path: &OsStr) -> io::Result<Interposer> {
    Interposer::make(folder, path, &Links { trimtab })
}

/// Runs a command of the user's: on the same terminal, with the same input, and no time limit.
/// Gives its exit code, 128 and the signal where one killed it.
///
/// # Errors
/// That it cannot be started.
pub fn run(command: &[OsString], environment: &[(&str, OsString)]) -> io::Result<i32> {
    let invocation = Invocation::of_words(command).ok_or(io::ErrorKind::InvalidInput)?;
    let variables = environment.iter().map(|(name, value)| (name, value));
    let status = invocation.envs(variables).run_in_foreground()?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

/// Becomes another program. Only returns where it cannot be started.
pub fn become_program(command: &[OsString]) -> io::Error {
    match Invocation::of_words(command) {
        Some(invocation) => invocation.exec(),
        None => io::ErrorKind::InvalidInput.into(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn linkers_of_a_build_are_linked_in_the_place_of() {
        let (real, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["gcc", "ld", "aarch64-linux-gnu-ld"] {
            fs::write(real.path().join(name), "").unwrap();
        }
        let tools = folder.path().join("tools");
        let trimtab = Path::new("/opt/it's/trimtab");
        stand_in(&tools, trimtab, real.path().as_os_str()).unwrap();
        let ld = real.path().join("ld");
        let text = fs::read_to_string(tools.join("ld")).unwrap();
        let expected = format!("exec \"/opt/it's/trimtab\" probe link -- {} ", ld.display());
        assert!(text.contains(&expected), "{text}");
        let text = fs::read_to_string(tools.join("gcc")).unwrap();
        let gcc = real.path().join("gcc");
        assert!(text.contains(&format!("exec {} ${{rust", gcc.display())), "{text}");
    }
}
