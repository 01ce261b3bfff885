//! Tools that stand in front of compilers and linkers, so that any build compiles each function
//! into a section of its own, writes the linker's map, and follows an order.
//!
//! A build need not know of it: the folder is first in `PATH`, and compilers look for their linker
//! in `COMPILER_PATH`. Variables such as `CFLAGS` are extended where they are set and left alone
//! where not: a build without them has flags of its own, which setting them would replace.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use trimtab_link::Linker;

use super::ProgramError;
use super::error::io;
use crate::process::Job;

/// What compilers are told.
pub const COMPILER_FLAGS: &str = "-ffunction-sections";

/// Name of the settings in the folder.
const SETTINGS: &str = "settings.json";
/// Names under which compilers look for a linker.
const LINKERS: [&str; 6] = ["ld", "ld.lld", "ld.gold", "ld.bfd", "ld.mold", "ld.wild"];

/// What the wrapped linker has to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Settings {
    /// Name of the form in which it takes an order.
    linker: String,
    /// The linker itself.
    path: PathBuf,
    /// Whether GNU ld takes an order as an option, or only within its script.
    takes_order: bool,
}

/// One link that a build did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// What was linked, as an absolute path.
    pub output: PathBuf,
    /// The linker's map of it.
    pub map: PathBuf,
    /// SHA-256 of the order that the linker was given, where it was given one.
    pub order: Option<String>,
}

/// The folder of wrapped tools.
#[derive(Debug, Clone)]
pub struct Wrappers {
    folder: PathBuf,
    linker: Linker,
}

impl Wrappers {
    /// Makes the folder anew. `trimtab` is the program that the wrapped linker starts, with the
    /// arguments `wrapped-link FOLDER --` and the linker's own; `compilers` are wrapped beside
    /// those of `PATH`.
    ///
    /// # Errors
    /// [`ProgramError::File`].
    pub fn make(
        folder: &Path,
        trimtab: &Path,
        linker: Linker,
        linker_path: &Path,
        takes_order: bool,
    ) -> Result<Self, ProgramError> {
        for name in ["bin", "links", "orders"] {
            let path = folder.join(name);
            fs::create_dir_all(&path).map_err(io("make", &path))?;
        }
        let bin = folder.join("bin");
        for entry in fs::read_dir(&bin).map_err(io("read", &bin))? {
            let path = entry.map_err(io("read", &bin))?.path();
            fs::remove_file(&path).map_err(io("remove", &path))?;
        }
        let wrappers = Wrappers { folder: folder.to_owned(), linker };
        for (name, path) in compilers(std::env::var_os("PATH").unwrap_or_default().as_os_str()) {
            wrappers.wrap_compiler(&name, &path)?;
        }
        for name in LINKERS {
            let text = format!(
                "#!/bin/sh\nexec {} wrapped-link {} -- \"$@\"\n",
                quoted(trimtab),
                quoted(folder)
            );
            wrappers.script(OsStr::new(name), &text)?;
        }
        let settings = Settings {
            linker: linker.name().to_owned(),
            path: linker_path.to_owned(),
            takes_order,
        };
        let path = folder.join(SETTINGS);
        let text =
            serde_json::to_vec_pretty(&settings).map_err(|e| io("write", &path)(e.into()))?;
        fs::write(&path, text).map_err(io("write", &path))?;
        Ok(wrappers)
    }

    /// The linker that follows the orders.
    pub fn linker(&self) -> Linker {
        self.linker
    }

    /// Prepares a job that builds.
    pub(super) fn apply(&self, job: Job) -> Result<Job, ProgramError> {
        let bin = self.folder.join("bin");
        let before = |name: &str| {
            let mut value = bin.clone().into_os_string();
            if let Some(old) = std::env::var_os(name).filter(|old| !old.is_empty()) {
                value.push(":");
                value.push(old);
            }
            value
        };
        let link = format!("-B{}", bin.display());
        let mut job = job
            .env("PATH", before("PATH"))
            .env("COMPILER_PATH", before("COMPILER_PATH"))
            .env("TRIMTAB_CFLAGS", COMPILER_FLAGS)
            .env("TRIMTAB_LDFLAGS", &link);
        for (name, flags) in
            [("CFLAGS", COMPILER_FLAGS), ("CXXFLAGS", COMPILER_FLAGS), ("LDFLAGS", link.as_str())]
        {
            if let Some(mut value) = std::env::var_os(name) {
                value.push(" ");
                value.push(flags);
                job = job.env(name, value);
            }
        }
        for name in ["CC", "CXX"] {
            let Some(value) = std::env::var_os(name) else { continue };
            let path = PathBuf::from(&value);
            // A name is found in PATH, where the wrapped one comes first.
            if path.is_absolute()
                && let Some(file) = path.file_name()
            {
                self.wrap_compiler(file, &path)?;
                job = job.env(name, bin.join(file));
            }
        }
        Ok(job)
    }

    /// What was linked since [`Wrappers::forget`], by output.
    ///
    /// # Errors
    /// [`ProgramError::File`].
    pub fn links(&self) -> Result<Vec<Link>, ProgramError> {
        let folder = self.folder.join("links");
        let mut links = Vec::new();
        for entry in fs::read_dir(&folder).map_err(io("read", &folder))? {
            let path = entry.map_err(io("read", &folder))?.path();
            if path.extension() != Some(OsStr::new("json")) {
                continue;
            }
            let text = fs::read(&path).map_err(io("read", &path))?;
            // A record that was cut off by a kill is none.
            links.extend(serde_json::from_slice::<Link>(&text));
        }
        links.sort_by(|a, b| a.output.cmp(&b.output));
        Ok(links)
    }

    /// Forgets what was linked, and all orders.
    ///
    /// # Errors
    /// [`ProgramError::File`].
    pub fn forget(&self) -> Result<(), ProgramError> {
        for name in ["links", "orders"] {
            let folder = self.folder.join(name);
            for entry in fs::read_dir(&folder).map_err(io("read", &folder))? {
                let path = entry.map_err(io("read", &folder))?.path();
                fs::remove_file(&path).map_err(io("remove", &path))?;
            }
        }
        Ok(())
    }

    /// From now on, whatever is linked to `output` follows this order. Returns where the order is.
    ///
    /// # Errors
    /// [`ProgramError::File`].
    pub fn set_order(&self, output: &Path, order: &str) -> Result<PathBuf, ProgramError> {
        let path = order_of(&self.folder, output);
        fs::write(&path, order).map_err(io("write", &path))?;
        Ok(path)
    }

    fn wrap_compiler(&self, name: &OsStr, path: &Path) -> Result<(), ProgramError> {
        let bin = self.folder.join("bin");
        // In front, so that a build can still say otherwise.
        let text = format!(
            "#!/bin/sh\nexec {} -B{} {COMPILER_FLAGS} \"$@\"\n",
            quoted(path),
            quoted(&bin)
        );
        self.script(name, &text)
    }

    fn script(&self, name: &OsStr, text: &str) -> Result<(), ProgramError> {
        let path = self.folder.join("bin").join(name);
        fs::write(&path, text).map_err(io("write", &path))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(io("write", &path))
    }
}

/// The compilers of C and C++ in `path`, each name once.
fn compilers(path: &OsStr) -> Vec<(OsString, PathBuf)> {
    let mut found: Vec<(OsString, PathBuf)> = Vec::new();
    for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let known = found.iter().any(|(other, _)| *other == name);
            if !known && name.to_str().is_some_and(is_compiler) {
                found.push((name, entry.path()));
            }
        }
    }
    found.sort();
    found
}

/// Whether a program of this name compiles C or C++: `cc`, `g++-12`, `x86_64-linux-gnu-gcc`.
fn is_compiler(name: &str) -> bool {
    let name = name.strip_prefix("x86_64-linux-gnu-").unwrap_or(name);
    let name = name.strip_prefix("aarch64-linux-gnu-").unwrap_or(name);
    let plain = match name.rsplit_once('-') {
        Some((plain, version))
            if !version.is_empty() && version.chars().all(|c| c.is_ascii_digit() || c == '.') =>
        {
            plain
        }
        _ => name,
    };
    ["cc", "c++", "gcc", "g++", "clang", "clang++"].contains(&plain)
}

/// What the wrapped linker does: links as it was told, with a map and the order, and writes down
/// that it did. Gives the linker's exit code.
///
/// # Errors
/// A message for the build's log.
pub fn link(folder: &Path, arguments: &[OsString]) -> Result<u8, String> {
    let path = folder.join(SETTINGS);
    let said = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    let text = fs::read(&path).map_err(|e| said(&path.display().to_string(), &e))?;
    let settings: Settings =
        serde_json::from_slice(&text).map_err(|e| said(&path.display().to_string(), &e))?;
    let linker = Linker::ALL.into_iter().find(|linker| linker.name() == settings.linker);
    let mut command = Command::new(&settings.path);
    command.args(arguments);
    let record = match output_of(&expanded(arguments)) {
        Some(output) => {
            let output = std::path::absolute(&output)
                .map_err(|e| said(&output.display().to_string(), &e))?;
            let map = folder.join("links").join(format!("{}.map", key(&output)));
            command.arg(format!("-Map={}", map.display()));
            let order = order_of(folder, &output);
            let order = match fs::read(&order) {
                Ok(text) => {
                    command.args(
                        order_arguments(linker, &settings, &order, &text, arguments)
                            .map_err(|e| said("cannot pass the order on", &e))?,
                    );
                    Some(format!("{:x}", Sha256::digest(&text)))
                }
                Err(_) => None,
            };
            Some(Link { output, map, order })
        }
        None => None,
    };
    let status = command.status().map_err(|e| said(&settings.path.display().to_string(), &e))?;
    if let (true, Some(link)) = (status.success(), record) {
        let path = folder.join("links").join(format!("{}.json", key(&link.output)));
        let text = serde_json::to_vec_pretty(&link).map_err(|e| e.to_string())?;
        fs::write(&path, text).map_err(|e| said(&path.display().to_string(), &e))?;
    }
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// How `linker` is given the order in `file`.
fn order_arguments(
    linker: Option<Linker>,
    settings: &Settings,
    file: &Path,
    text: &[u8],
    arguments: &[OsString],
) -> std::io::Result<Vec<String>> {
    let order = file.display();
    Ok(match linker {
        Some(Linker::Lld) => vec![
            format!("--symbol-ordering-file={order}"),
            // What it could not place is found out by looking at the result.
            "--no-warn-symbol-ordering".to_owned(),
        ],
        Some(Linker::Gnu) if !settings.takes_order => {
            // The script that GNU ld would use for just these arguments.
            let said = Command::new(&settings.path).args(arguments).arg("--verbose").output()?;
            let script =
                with_order(&String::from_utf8_lossy(&said.stdout), &String::from_utf8_lossy(text))
                    .ok_or_else(|| {
                        std::io::Error::other("GNU ld prints no script with .text in it")
                    })?;
            let path = file.with_extension("lds");
            fs::write(&path, script)?;
            vec!["-T".to_owned(), path.display().to_string()]
        }
        Some(Linker::Gold | Linker::Gnu) => vec![format!("--section-ordering-file={order}")],
        _ => Vec::new(),
    })
}

/// GNU ld's own script, as `--verbose` prints it between lines of `=`, with the lines of `order` at
/// the head of `.text`.
fn with_order(said: &str, order: &str) -> Option<String> {
    let script = said.split("==================================================").nth(1)?;
    let lines: String = order
        .lines()
        .filter(|line| line.contains('(') && !line.ends_with('{') && !line.starts_with("/*"))
        .map(|line| format!("    {line}\n"))
        .collect();
    let text = script.find("\n  .text ")?;
    let brace = text + script[text..].find("{\n")? + 2;
    Some(format!("{}{lines}{}", &script[..brace], &script[brace..]))
}

/// The arguments, with those of response files in their place.
fn expanded(arguments: &[OsString]) -> Vec<OsString> {
    let mut all = Vec::new();
    for argument in arguments {
        match argument.as_bytes().strip_prefix(b"@") {
            Some(file) => match fs::read_to_string(OsStr::from_bytes(file)) {
                Ok(text) => all.extend(words(&text).into_iter().map(OsString::from)),
                Err(_) => all.push(argument.clone()),
            },
            None => all.push(argument.clone()),
        }
    }
    all
}

/// The words of a response file: blanks part them, quotes and backslashes keep them together.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (_, '\\') => word.get_or_insert_default().extend(characters.next()),
            (Some(open), _) if open == c => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// What is linked: the value of `-o`; `None` where the result is an object to be linked again, or
/// nothing is linked at all.
fn output_of(arguments: &[OsString]) -> Option<PathBuf> {
    let mut output = None;
    let mut inputs = false;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let bytes = argument.as_bytes();
        match bytes {
            b"-r" | b"-i" | b"--relocatable" | b"-Ur" => return None,
            b"--version" | b"-v" | b"-V" | b"--help" | b"--verbose" => continue,
            b"-o" | b"--output" => output = arguments.next().map(PathBuf::from),
            // These begin with -o too.
            b"-omagic" | b"--omagic" => {}
            _ => {
                let glued = bytes
                    .strip_prefix(b"--output=")
                    .or_else(|| bytes.strip_prefix(b"-o").filter(|rest| !rest.is_empty()));
                if let Some(value) = glued {
                    output = Some(PathBuf::from(OsStr::from_bytes(value)));
                }
            }
        }
        inputs |= !bytes.starts_with(b"-");
    }
    inputs.then(|| output.unwrap_or_else(|| PathBuf::from("a.out")))
}

fn key(output: &Path) -> String {
    let digest = Sha256::digest(output.as_os_str().as_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn order_of(folder: &Path, output: &Path) -> PathBuf {
    folder.join("orders").join(format!("{}.order", key(output)))
}

/// A path as one word of a shell.
pub(super) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn os(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn compilers_are_known_by_their_names() {
        for name in ["cc", "c++", "gcc-12", "x86_64-linux-gnu-g++-12", "clang++-22", "clang"] {
            assert!(is_compiler(name), "{name}");
        }
        for name in ["gcc-ar", "gcc-ar-12", "c99-gcc", "clang-format", "ccache", "cc1", "g++filt"] {
            assert!(!is_compiler(name), "{name}");
        }
    }

    #[test]
    fn the_output_is_found_however_it_is_said() {
        let output = |words: &[&str]| output_of(&os(words));
        assert_eq!(output(&["-pie", "-o", "app", "main.o"]), Some("app".into()));
        assert_eq!(output(&["main.o", "-oapp"]), Some("app".into()));
        assert_eq!(output(&["--output=b/app", "main.o"]), Some("b/app".into()));
        assert_eq!(output(&["main.o"]), Some("a.out".into()));
        assert_eq!(output(&["-r", "-o", "more.o", "main.o"]), None);
        assert_eq!(output(&["--version"]), None);
        assert_eq!(output(&["-v"]), None);
    }

    #[test]
    fn response_files_are_looked_into() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("arguments");
        fs::write(&file, "-o \"an app\"\nmain.o a\\ b.o 'c d.o'\n").unwrap();
        let arguments = expanded(&os(&["-pie", &format!("@{}", file.display()), "@missing"]));
        let expected = ["-pie", "-o", "an app", "main.o", "a b.o", "c d.o", "@missing"];
        assert_eq!(arguments, os(&expected));
        assert_eq!(output_of(&arguments), Some("an app".into()));
    }

    #[test]
    fn an_order_stands_at_the_head_of_text_in_gnu_lds_script() {
        let line = "==================================================";
        let said = format!(
            "GNU ld\n{line}\nSECTIONS\n{{\n  .text           :\n  {{\n    *(.text)\n  }}\n}}\n\n{line}\n"
        );
        let order = "/* Written */\n.text : {\na.o(.text.f)\n*(.text.g)\n}\n";
        let script = with_order(&said, order).unwrap();
        assert!(
            script.contains(
                "  .text           :\n  {\n    a.o(.text.f)\n    *(.text.g)\n    *(.text)\n"
            ),
            "{script}"
        );
        assert_eq!(with_order("no script", order), None);
    }

    #[test]
    fn outputs_have_orders_of_their_own() {
        let folder = Path::new("w");
        let [a, b] = ["/b/a", "/b/b"].map(|output| order_of(folder, Path::new(output)));
        assert_ne!(a, b);
        assert_eq!(a, order_of(folder, Path::new("/b/a")));
    }

    #[test]
    fn the_folder_wraps_compilers_and_linkers_and_keeps_records() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("it's");
        // A linker that touches what it is told to make.
        let linker = root.path().join("linker");
        fs::write(&linker, "#!/bin/sh\nfor last; do :; done\necho \"$@\" > \"$2\"\n").unwrap();
        fs::set_permissions(&linker, fs::Permissions::from_mode(0o755)).unwrap();
        let wrappers =
            Wrappers::make(&folder, Path::new("/bin/trimtab"), Linker::Lld, &linker, true).unwrap();
        let script = fs::read_to_string(folder.join("bin/ld")).unwrap();
        assert!(script.contains("exec '/bin/trimtab' wrapped-link '"), "{script}");
        let output = root.path().join("app");
        let arguments = os(&["-o", output.to_str().unwrap(), "main.o"]);
        assert_eq!(link(&folder, &arguments), Ok(0));
        let links = wrappers.links().unwrap();
        assert_eq!(links.len(), 1);
        assert_eq!((&links[0].output, &links[0].order), (&output, &None));
        assert!(!fs::read_to_string(&output).unwrap().contains("ordering"));
        let order = wrappers.set_order(&output, "main\n").unwrap();
        assert_eq!(link(&folder, &arguments), Ok(0));
        let said = fs::read_to_string(&output).unwrap();
        assert!(said.contains(&format!("--symbol-ordering-file={}", order.display())), "{said}");
        assert!(wrappers.links().unwrap()[0].order.is_some());
        wrappers.forget().unwrap();
        assert_eq!(wrappers.links().unwrap(), []);
    }
}
