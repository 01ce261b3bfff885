//! What the wrapped linker does.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use trimtab_lab::bytes::Bytes;
use trimtab_lab::interpose::arguments::{expanded, linked};
use trimtab_lab::observe::say;
use trimtab_lab::process::{Invocation, Job};
use trimtab_link::{Linker, OrderOption};

use super::compile::note;
use super::{Settings, TOGETHER, key, order_of};

/// One link that a build did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// What was linked, as an absolute path.
    pub output: PathBuf,
    /// The linker's map of it.
    pub map: PathBuf,
    /// Where the linker ran: names of objects in the map begin there.
    pub directory: PathBuf,
    /// SHA-256 of the order that the linker was given, where it was given one.
    pub order: Option<String>,
    /// Whether what a start needs was put side by side in the file.
    pub together: bool,
}

/// What the wrapped linker does: links with its own arguments, a map and the order, and writes down
/// that it did. Gives the linker's exit code.
///
/// # Errors
/// A message for the build's log.
pub fn link(folder: &Path, arguments: &[OsString]) -> Result<u8, String> {
    let said = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    let settings = Settings::read(folder)?;
    let linker: Linker = settings.linker.parse().map_err(|e| said("the settings", &e))?;
    let mut more: Vec<OsString> = Vec::new();
    let mut together = None;
    let mut record = None;
    if let Some(output) = linked(&expanded(arguments)) {
        let output =
            std::path::absolute(&output).map_err(|e| said(&output.display().to_string(), &e))?;
        let directory = std::env::current_dir().map_err(|e| said("the current folder", &e))?;
        let map = folder.join("links").join(format!("{}.map", key(&output)));
        more.push(format!("-Map={}", map.display()).into());
        if settings.blocks && linker.takes_blocks() && compiles(arguments) {
            more.extend(block_arguments(folder, &output)?);
        }
        let order = order_of(folder, &output);
        let order = match fs::read(&order) {
            Ok(text) => {
                let ordered = order_arguments(linker, &settings, &order, &text, arguments)
                    .map_err(|e| said("cannot pass the order on", &e))?;
                more.extend(ordered.into_iter().map(OsString::from));
                let may = settings.together && linker.takes_blocks();
                if may && !has_script(arguments) {
                    together = Some(folder.join(TOGETHER));
                }
                Some(hex::encode(Sha256::digest(&text)))
            }
            Err(_) => None,
        };
        record = Some(Link { output, map, directory, order, together: false });
    }
    let run = |script: Option<&Path>| -> Result<ExitStatus, String> {
        let mut command = Invocation::new(&settings.path).args(arguments).args(&more);
        if let Some(script) = script {
            command = command.arg("-T").arg(script);
        }
        command.run_in_foreground().map_err(|e| said(&settings.path.display().to_string(), &e))
    };
    let mut status = run(together.as_deref())?;
    if together.is_some() && !status.success() {
        say(&format!("trimtab: the linker does not take {TOGETHER}; once more without"));
        together = None;
        status = run(None)?;
    }
    if let (true, Some(mut link)) = (status.success(), record) {
        link.together = together.is_some();
        let path = folder.join("links").join(format!("{}.json", key(&link.output)));
        let text = serde_json::to_vec_pretty(&link).map_err(|e| e.to_string())?;
        fs::write(&path, text).map_err(|e| said(&path.display().to_string(), &e))?;
    }
    if let (false, Some(instead)) = (status.success(), linker.instead_for_gcc_lto()) {
        explain(arguments, linker, instead);
    }
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Whether the linker is also to compile (link-time optimisation).
fn compiles(arguments: &[OsString]) -> bool {
    expanded(arguments).iter().any(|argument| {
        let bytes = argument.as_bytes();
        ["-plugin-opt", "--plugin-opt", "--lto-", "-lto-"]
            .iter()
            .any(|prefix| bytes.starts_with(prefix.as_bytes()))
    })
}

/// Says in the build's log why a linker has failed, where its own message does not.
fn explain(arguments: &[OsString], linker: Linker, instead: Linker) {
    if let Some(object) = slim_object(arguments) {
        say(&format!(
            "trimtab: {} has no code, only what gcc -flto keeps for its own plugin, which {linker} does not load: \
             give --linker {instead}, or build with -ffat-lto-objects or without -flto",
            object.display()
        ));
    }
}

/// The first input in which gcc has left the code to link time (`-flto` without `-ffat-lto-objects`): it marks
/// such objects with a symbol.
fn slim_object(arguments: &[OsString]) -> Option<PathBuf> {
    let marker = b"__gnu_lto_slim";
    expanded(arguments).iter().map(PathBuf::from).find(|path| {
        let object = path.extension().is_some_and(|extension| extension == "o" || extension == "a");
        object
            && Bytes::open(path)
                .is_ok_and(|bytes| bytes.windows(marker.len()).any(|at| at == marker))
    })
}

/// Options for lld if it compiles: to write down blocks, and to split functions where there is a
/// list. That it may is noted as of a compiler.
fn block_arguments(folder: &Path, output: &Path) -> Result<Vec<OsString>, String> {
    let mut arguments = vec![OsString::from("--lto-basic-block-address-map")];
    if let Some(list) = note(folder, output)? {
        let mut option = OsString::from("--lto-basic-block-sections=");
        option.push(list);
        arguments.push(option);
        arguments.extend(["-mllvm", "-align-all-functions=1"].map(OsString::from));
    }
    Ok(arguments)
}

/// Whether a build has a linker script of its own, which says where everything goes.
fn has_script(arguments: &[OsString]) -> bool {
    expanded(arguments).iter().any(|argument| {
        let bytes = argument.as_bytes();
        bytes.starts_with(b"-T") && !bytes.starts_with(b"-Ttext")
            || bytes.starts_with(b"--script")
            || bytes.starts_with(b"-script")
    })
}

/// How `linker` is given the order in `file`.
fn order_arguments(
    linker: Linker,
    settings: &Settings,
    file: &Path,
    text: &[u8],
    arguments: &[OsString],
) -> std::io::Result<Vec<String>> {
    let option = |option: &str| format!("{option}={}", file.display());
    Ok(match linker.order_option() {
        Some(OrderOption::File { option: name, also }) => std::iter::once(option(name))
            .chain(also.iter().map(|also| (*also).to_owned()))
            .collect(),
        Some(OrderOption::FileOrScript { option: name, .. }) if settings.takes_order => {
            vec![option(name)]
        }
        Some(OrderOption::FileOrScript { .. }) => {
            // The script that it would use for just these arguments.
            let said = Job::new("asking GNU ld for its script", &settings.path)
                .args(arguments)
                .arg("--verbose")
                .any_status()
                .capture()
                .map_err(std::io::Error::other)?;
            let script =
                with_order(&String::from_utf8_lossy(&said.output), &String::from_utf8_lossy(text))
                    .ok_or_else(|| {
                        std::io::Error::other("GNU ld prints no script with .text in it")
                    })?;
            let path = file.with_extension("lds");
            fs::write(&path, script)?;
            vec!["-T".to_owned(), path.display().to_string()]
        }
        None => Vec::new(),
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

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
}
