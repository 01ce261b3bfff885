//! The run time's sources, and the Java compiler.

use super::RunError;
use crate::translate::Entry;
use std::fs;
use std::path::Path;
use trimtab_lab::process::Job;

macro_rules! source {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../../jar/src/", $path)))
    };
}

/// The sources of the run time: their paths and texts.
const SOURCES: [(&str, &str); 74] = [
    source!("trimtab/Atomic.java"),
    source!("trimtab/Backtrace.java"),
    source!("trimtab/Bytes.java"),
    source!("trimtab/CallNames.java"),
    source!("trimtab/CallNumbers.java"),
    source!("trimtab/Clocks.java"),
    source!("trimtab/Code.java"),
    source!("trimtab/Contents.java"),
    source!("trimtab/Coprocessor.java"),
    source!("trimtab/Counts.java"),
    source!("trimtab/Cpu.java"),
    source!("trimtab/Endpoint.java"),
    source!("trimtab/Epoll.java"),
    source!("trimtab/Errors.java"),
    source!("trimtab/EventCounter.java"),
    source!("trimtab/Exit.java"),
    source!("trimtab/Fault.java"),
    source!("trimtab/Files.java"),
    source!("trimtab/Float.java"),
    source!("trimtab/Fuel.java"),
    source!("trimtab/Function.java"),
    source!("trimtab/Functions.java"),
    source!("trimtab/Host.java"),
    source!("trimtab/Inherited.java"),
    source!("trimtab/Input.java"),
    source!("trimtab/Interpreter.java"),
    source!("trimtab/Java.java"),
    source!("trimtab/Jump.java"),
    source!("trimtab/Limits.java"),
    source!("trimtab/Linux.java"),
    source!("trimtab/LinuxException.java"),
    source!("trimtab/Main.java"),
    source!("trimtab/Maps.java"),
    source!("trimtab/Memory.java"),
    source!("trimtab/NameCalls.java"),
    source!("trimtab/Names.java"),
    source!("trimtab/NetworkSocket.java"),
    source!("trimtab/Open.java"),
    source!("trimtab/Pair.java"),
    source!("trimtab/Pipe.java"),
    source!("trimtab/Poll.java"),
    source!("trimtab/Processes.java"),
    source!("trimtab/Program.java"),
    source!("trimtab/Rounding.java"),
    source!("trimtab/Shared.java"),
    source!("trimtab/Signals.java"),
    source!("trimtab/Sockets.java"),
    source!("trimtab/Special.java"),
    source!("trimtab/Status.java"),
    source!("trimtab/TcpSocket.java"),
    source!("trimtab/Threads.java"),
    source!("trimtab/Timers.java"),
    source!("trimtab/UdpSocket.java"),
    source!("trimtab/Unwind.java"),
    source!("trimtab/Unwinding.java"),
    source!("trimtab/Usage.java"),
    source!("trimtab/Waits.java"),
    source!("trimtab/embed/Arena.java"),
    source!("trimtab/embed/Arguments.java"),
    source!("trimtab/embed/Callback.java"),
    source!("trimtab/embed/Directory.java"),
    source!("trimtab/embed/FileTree.java"),
    source!("trimtab/embed/Handles.java"),
    source!("trimtab/embed/Library.java"),
    source!("trimtab/embed/Machine.java"),
    source!("trimtab/embed/Memory.java"),
    source!("trimtab/embed/MemoryFiles.java"),
    source!("trimtab/embed/NoSpaceException.java"),
    source!("trimtab/embed/Program.java"),
    source!("trimtab/embed/ProgramException.java"),
    source!("trimtab/embed/ProgramExit.java"),
    source!("trimtab/embed/ProgramFault.java"),
    source!("trimtab/embed/Running.java"),
    source!("trimtab/embed/Settings.java"),
];

/// The classes of the run time, compiled from the sources that this program holds.
///
/// # Errors
/// Where there is no Java compiler of release 17 or later.
pub fn run_time() -> Result<Vec<Entry>, RunError> {
    compile(&[])
}

/// The classes of the run time and of these further sources, by the names of their classes.
pub(super) fn compile(further: &[(String, String)]) -> Result<Vec<Entry>, RunError> {
    let file = |verb, path: &Path, source| RunError::File { verb, path: path.to_owned(), source };
    let folder =
        tempfile::tempdir().map_err(|source| file("write", &std::env::temp_dir(), source))?;
    let classes = folder.path().join("classes");
    let mut job = Job::new("compiling the run time of jars", "javac")
        // It ends before code that runs often is worth being compiled well, or memory being collected in parallel.
        .args(["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"])
        .args(["--release", "17", "-g:source,lines", "-encoding", "UTF-8", "-d"])
        .arg(&classes);
    let own = SOURCES.iter().map(|(path, text)| ((*path).to_owned(), *text));
    let further =
        further.iter().map(|(class, text)| (class.replace('.', "/") + ".java", text.as_str()));
    for (name, text) in own.chain(further) {
        let path = folder.path().join(name);
        let parent = path.parent().unwrap_or(folder.path());
        fs::create_dir_all(parent).map_err(|source| file("write", parent, source))?;
        fs::write(&path, text).map_err(|source| file("write", &path, source))?;
        job = job.arg(&path);
    }
    job.run()?;
    let mut entries = Vec::new();
    let mut open = vec![classes.clone()];
    while let Some(folder) = open.pop() {
        let listing = fs::read_dir(&folder).map_err(|source| file("read", &folder, source))?;
        for found in listing {
            let path = found.map_err(|source| file("read", &folder, source))?.path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(&classes).unwrap_or(&path);
            let name = name.to_string_lossy().replace('\\', "/");
            let bytes = fs::read(&path).map_err(|source| file("read", &path, source))?;
            entries.push(Entry { path: name, bytes });
        }
    }
    entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::SOURCES;
    use crate::{emit, vfork};
    use trimtab_program::PAGE_SIZE;

    fn source(class: &str) -> &'static str {
        let path = format!("trimtab/{class}.java");
        SOURCES.iter().find(|(name, _)| *name == path).unwrap().1
    }

    /// The constants of a class that are numbers.
    fn constants(class: &str) -> Vec<(&'static str, i32)> {
        let number = |text: &str| match text.split_once(" << ") {
            Some((one, by)) => Some(one.parse::<i32>().ok()? << by.parse::<i32>().ok()?),
            None => text.parse().ok(),
        };
        let lines = source(class).lines().filter_map(|line| line.split_once("static final int "));
        let pairs = lines.filter_map(|(_, rest)| rest.strip_suffix(';')?.split_once(" = "));
        pairs.filter_map(|(name, value)| Some((name, number(value)?))).collect()
    }

    fn constant(class: &str, name: &str) -> i32 {
        constants(class).into_iter().find(|(found, _)| *found == name).unwrap().1
    }

    #[test]
    fn numbers_that_both_sides_know_are_the_same() {
        assert_eq!(constant("CallNumbers", "CLONE"), vfork::CLONE);
        assert_eq!(constant("Processes", "VFORK"), vfork::VFORK);
        assert_eq!(constant("Memory", "BASE"), emit::BASE);
        assert_eq!(u64::try_from(constant("Memory", "PAGE")), Ok(PAGE_SIZE));
    }

    #[test]
    fn each_system_call_has_its_name_and_one_number() {
        let text = source("CallNames").split_once("NAMES =").unwrap().1.split_once(';').unwrap().0;
        let text: String = text.split('"').skip(1).step_by(2).collect();
        let names = text.split(' ').flat_map(|name| {
            let times = name.strip_prefix("-*").map_or(1, |times| times.parse().unwrap());
            std::iter::repeat_n(name, times)
        });
        let names: Vec<&str> = names.collect();
        let numbers = constants("CallNumbers");
        assert!(numbers.len() > 100);
        for (name, number) in numbers {
            let at = usize::try_from(number - constant("CallNames", "FIRST")).unwrap();
            assert_eq!(names[at], name.to_lowercase());
        }
        for (path, text) in SOURCES {
            for (_, rest) in text.lines().filter_map(|line| line.split_once("case 4")) {
                let digits = rest.chars().take_while(char::is_ascii_digit).count();
                assert_ne!(digits, 3, "{path}: case 4{rest}");
            }
        }
    }
}
