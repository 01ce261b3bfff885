//! What the arguments of compilers and linkers say.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::bytes::Bytes;

/// The arguments, with those of response files in their place.
pub fn expanded(arguments: &[OsString]) -> Vec<OsString> {
    let mut all = Vec::new();
    for argument in arguments {
        match argument.as_bytes().strip_prefix(b"@") {
            Some(file) => match Bytes::open(Path::new(OsStr::from_bytes(file))) {
                Ok(text) => all.extend(words(&text)),
                Err(_) => all.push(argument.clone()),
            },
            None => all.push(argument.clone()),
        }
    }
    all
}

/// The words of a response file, as the compilers and linkers have them: blanks part them, quotes and
/// backslashes keep them together. They are of any bytes.
fn words(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => word.get_or_insert_default().extend(bytes.next()),
            (byte, Some(open)) if byte == open => quote = None,
            (b'"' | b'\'', None) => {
                word.get_or_insert_default();
                quote = Some(byte);
            }
            (byte, None) if byte.is_ascii_whitespace() => {
                words.extend(word.take().map(OsString::from_vec));
            }
            (byte, _) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(OsString::from_vec));
    words
}

/// What is linked: the value of `-o`; `None` where the result is an object to be linked again, or
/// nothing is linked at all.
pub fn linked(arguments: &[OsString]) -> Option<PathBuf> {
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

/// What a compiler driver makes that holds code: objects, or, where it links at once, what it
/// links. Nothing where it only preprocesses, checks, or writes assembly.
pub fn compiled(arguments: &[OsString]) -> Vec<PathBuf> {
    let is = |wanted: &[&str]| {
        arguments.iter().any(|argument| wanted.iter().any(|wanted| argument == OsStr::new(wanted)))
    };
    let sources = sources(arguments);
    if is(&["-E", "-S", "-M", "-MM", "-fsyntax-only", "-emit-llvm"]) || sources.is_empty() {
        return Vec::new();
    }
    let named = linked(arguments)
        .filter(|_| arguments.iter().any(|argument| argument.as_bytes().starts_with(b"-o")));
    match named {
        Some(output) => vec![output],
        None if is(&["-c"]) => sources
            .into_iter()
            .filter_map(|source| Path::new(source).file_name())
            .map(|name| Path::new(name).with_extension("o"))
            .collect(),
        None => vec!["a.out".into()],
    }
}

/// The source files of C and languages like it among the arguments, in their order.
pub fn sources(arguments: &[OsString]) -> Vec<&Path> {
    arguments.iter().filter(|argument| is_source(argument)).map(Path::new).collect()
}

/// Whether an argument names a source file of a language that clang compiles by blocks.
fn is_source(argument: &OsStr) -> bool {
    let extension = Path::new(argument).extension().and_then(OsStr::to_str).unwrap_or_default();
    !argument.as_bytes().starts_with(b"-")
        && ["c", "cc", "cp", "cpp", "cxx", "c++", "C", "i", "ii", "m", "mm"].contains(&extension)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn os(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_output_is_found_however_it_is_said() {
        let output = |words: &[&str]| linked(&os(words));
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
        std::fs::write(&file, "-o \"an app\"\nmain.o a\\ b.o 'c d.o'\n").unwrap();
        let arguments = expanded(&os(&["-pie", &format!("@{}", file.display()), "@missing"]));
        let expected = ["-pie", "-o", "an app", "main.o", "a b.o", "c d.o", "@missing"];
        assert_eq!(arguments, os(&expected));
        assert_eq!(linked(&arguments), Some("an app".into()));
        let found = words(b"-o app  'a b.o' c\\ d.o \"e\\\"f\"\n''");
        assert_eq!(found, ["-o", "app", "a b.o", "c d.o", "e\"f", ""]);
        assert_eq!(words(b"-o \xff.o"), ["-o".into(), OsString::from_vec(b"\xff.o".to_vec())]);
    }

    #[test]
    fn what_a_compiler_makes_is_found() {
        let made = |words: &[&str]| compiled(&os(words));
        assert_eq!(made(&["-O2", "-c", "src/a.c", "-o", "b/a.o"]), [PathBuf::from("b/a.o")]);
        assert_eq!(made(&["-c", "src/a.c", "b.cpp"]), ["a.o", "b.o"].map(PathBuf::from));
        assert_eq!(made(&["a.c", "-oapp", "-lm"]), [PathBuf::from("app")]);
        assert_eq!(made(&["a.c"]), [PathBuf::from("a.out")]);
        for none in [&["-E", "a.c"][..], &["a.o", "-o", "app"], &["-c", "a.s"], &["--version"]] {
            assert_eq!(made(none), Vec::<PathBuf>::new(), "{none:?}");
        }
    }
}
