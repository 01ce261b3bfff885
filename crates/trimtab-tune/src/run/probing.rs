//! Which options a compiler refuses or ignores: what it says when it is given them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use trimtab_lab::failure::Failure;
use trimtab_lab::process::Job;

/// A program in which most passes of a compiler have something to do.
const SOURCE: &str = "int table[64];\nint work(int n)\n{\n\tint s = 0;\n\tfor (int i = 0; i < n; i++)\n\
                      \t\ts += table[i & 63] * i;\n\treturn s;\n}\nint main(int c, char **v)\n{\n\
                      \treturn v[0] && work(c) == -1;\n}\n";

/// Options of these of which the compiler says something on top of `level`: that it does not know them,
/// does not have them for this machine, or takes no notice.
///
/// # Errors
/// That it does not even compile without any of them.
pub fn refused(compiler: &Path, level: &str, options: &[String]) -> Result<BTreeSet<String>> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    fs::write(folder.path().join("probe.c"), SOURCE)
        .context("cannot write a program to compile")?;
    let said = |options: &[&String]| said(compiler, level, options, folder.path());
    let without = said(&[])?;
    if !without.trim().is_empty() {
        return Err(Failure::new(format!(
            "{} compiles nothing with {level} alone: {}",
            compiler.display(),
            without.trim()
        ))
        .into());
    }
    let mut refused = BTreeSet::new();
    // Of options that exclude each other the last counts; whether it knows the others it says all the
    // same.
    let mut left: Vec<&String> = options.iter().collect();
    loop {
        let text = said(&left)?;
        if text.trim().is_empty() {
            return Ok(refused);
        }
        let named: BTreeSet<&String> =
            left.iter().copied().filter(|option| is_named(&text, option)).collect();
        if named.is_empty() {
            break;
        }
        left.retain(|option| !named.contains(option));
        refused.extend(named.into_iter().cloned());
    }
    // It says something and does not name what of: one by one.
    for option in left {
        if !said(&[option])?.trim().is_empty() {
            refused.insert(option.clone());
        }
    }
    Ok(refused)
}

/// What the compiler says to options.
fn said(compiler: &Path, level: &str, options: &[&String], folder: &Path) -> Result<String> {
    let log = folder.join("log");
    Job::new("asking the compiler what it takes", compiler)
        .arg(level)
        .args(options.iter().flat_map(|option| option.split_whitespace()))
        .args(["-c", "probe.c", "-o", "probe.o"])
        .dir(folder)
        .log(&log)
        .limit(Duration::from_secs(60))
        .any_status()
        .run()?;
    let text = fs::read(&log).with_context(|| format!("cannot read {}", log.display()))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Whether a message names an option: whole, or the part of it that compilers name.
fn is_named(text: &str, option: &str) -> bool {
    let word = option.split_whitespace().next_back().unwrap_or(option);
    let quoted = |word: &str| {
        [format!("'{word}'"), format!("\u{2018}{word}\u{2019}"), format!("`{word}'")]
            .iter()
            .any(|quoted| text.contains(quoted))
    };
    let param = word.strip_prefix("--param=").and_then(|rest| rest.split('=').next());
    quoted(word)
        || param.is_some_and(|name| quoted(name) || quoted(&format!("--param={name}=")))
        || text.split_whitespace().any(|said| said.trim_end_matches([':', ';', ',']) == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_or_ignored_is_found_among_many() {
        let options =
            ["-fgcse", "-fno-such-flag", "--param=no-such=3", "-fdelayed-branch", "-fweb"];
        let refused = refused(Path::new("gcc"), "-O2", &options.map(str::to_owned)).unwrap();
        let expected = ["--param=no-such=3", "-fdelayed-branch", "-fno-such-flag"];
        assert_eq!(refused.iter().map(String::as_str).collect::<Vec<_>>(), expected);
        let error = super::refused(Path::new("gcc"), "-Oxyz", &[]).unwrap_err().to_string();
        assert!(error.contains("compiles nothing with -Oxyz alone"), "{error}");
    }
}
