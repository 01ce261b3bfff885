//! Functions of the program's for Java, and of Java's for the program: headers are read, sources made.

use super::{Request, RunError, SkippedFunction};
use crate::bindings::{export_class, import_interface, stubs};
use crate::error::JarError;
use crate::header::{Header, Prototype, read_header};
use crate::translate::{Entry, function_names};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use trimtab_lab::process::Job;

/// What a C program includes for Java.
const TRIMTAB_H: &str = include_str!("../../../../jar/c/trimtab.h");

/// Functions that Java calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exports {
    /// Their names. Without any, all that the header declares and the program has.
    pub names: Vec<String>,
    /// The header that declares them, if there is one.
    pub header: Option<PathBuf>,
    /// The Java class that gets them, with its package.
    pub class: String,
}

/// Functions of Java's that the program calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imports {
    /// The header that declares them.
    pub header: PathBuf,
    /// The Java interface that gets them, with its package.
    pub interface: String,
}

/// What the headers say of the program.
pub(super) struct Library {
    exports: Vec<Prototype>,
    untyped: Vec<String>,
    pub(super) imports: Vec<Prototype>,
    pub(super) skipped: Vec<SkippedFunction>,
}

impl Library {
    pub(super) fn read(request: &Request, elf: &[u8]) -> Result<Library, RunError> {
        let mut library = Library {
            exports: Vec::new(),
            untyped: Vec::new(),
            imports: Vec::new(),
            skipped: Vec::new(),
        };
        if let Some(name) = &request.module
            && !name.split('.').all(is_word)
        {
            return Err(JarError::Module { name: name.clone() }.into());
        }
        if let Some(exports) = &request.exports {
            check_name(&exports.class)?;
            library.export(exports, elf)?;
        }
        if let Some(imports) = &request.imports {
            check_name(&imports.interface)?;
            let header = preprocess(&imports.header)?;
            library.skipped.extend(header.skipped.into_iter().map(skipped));
            library.imports = header.functions;
        }
        Ok(library)
    }

    fn export(&mut self, exports: &Exports, elf: &[u8]) -> Result<(), RunError> {
        let Some(path) = &exports.header else {
            self.untyped.clone_from(&exports.names);
            return Ok(());
        };
        let header = preprocess(path)?;
        let mut wanted: BTreeSet<String> = exports.names.iter().cloned().collect();
        let all = wanted.is_empty();
        let there = function_names(elf);
        for function in header.functions {
            if all && !there.contains(&function.name) {
                let why = "the program does not have it".to_owned();
                self.skipped.push(SkippedFunction { name: function.name, why });
            } else if all || wanted.remove(&function.name) {
                self.exports.push(function);
            }
        }
        let left_out = header.skipped.into_iter();
        self.skipped.extend(left_out.filter(|(name, _)| all || wanted.contains(name)).map(skipped));
        // What the header does not declare has words.
        wanted.retain(|name| !self.skipped.iter().any(|skipped| skipped.name == *name));
        self.untyped.extend(wanted);
        if self.exports.is_empty() && self.untyped.is_empty() {
            return Err(header_error(path, "it declares no function that the program has"));
        }
        Ok(())
    }

    pub(super) fn exported(&self) -> BTreeSet<String> {
        let typed = self.exports.iter().map(|function| function.name.clone());
        typed.chain(self.untyped.iter().cloned()).collect()
    }

    /// Java sources, by the names of their classes.
    pub(super) fn sources(
        &self,
        request: &Request,
        addresses: &BTreeMap<String, u32>,
    ) -> Vec<(String, String)> {
        let mut sources = Vec::new();
        if let Some(exports) = &request.exports {
            let text = export_class(&exports.class, &self.exports, &self.untyped, addresses);
            sources.push((exports.class.clone(), text));
        }
        if let Some(imports) = &request.imports {
            let text = import_interface(&imports.interface, &self.imports);
            sources.push((imports.interface.clone(), text));
        }
        if let Some(name) = &request.module {
            let packages = sources.iter().filter_map(|(class, _)| class.rsplit_once('.'));
            let packages: BTreeSet<&str> =
                packages.map(|(package, _)| package).chain(["trimtab.embed"]).collect();
            let exports: String =
                packages.iter().map(|package| format!("  exports {package};\n")).collect();
            sources.push(("module-info".to_owned(), format!("module {name} {{\n{exports}}}\n")));
        }
        sources
    }
}

fn skipped((name, why): (String, &'static str)) -> SkippedFunction {
    SkippedFunction { name, why: why.to_owned() }
}

fn header_error(path: &Path, what: &str) -> RunError {
    JarError::Header { file: path.display().to_string(), what: what.to_owned() }.into()
}

fn is_word(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A class is named so that Java has it in a package.
fn check_name(class: &str) -> Result<(), RunError> {
    let own = ["trimtab.", "program.", "java."].iter().any(|own| class.starts_with(own));
    if own || !class.contains('.') || !class.split('.').all(is_word) {
        return Err(JarError::Class { name: class.to_owned() }.into());
    }
    Ok(())
}

fn preprocess(path: &Path) -> Result<Header, RunError> {
    let failed = |verb, path: &Path, source| RunError::File { verb, path: path.to_owned(), source };
    let folder =
        tempfile::tempdir().map_err(|source| failed("write", &std::env::temp_dir(), source))?;
    let own = folder.path().join("trimtab.h");
    fs::write(&own, TRIMTAB_H).map_err(|source| failed("write", &own, source))?;
    let output = folder.path().join("header.i");
    Job::new("preprocessing a header", "mipsel-linux-gnu-gcc")
        .args(["-E", "-x", "c", "-I"])
        .arg(folder.path())
        .arg("-o")
        .arg(&output)
        .arg(path)
        .run()?;
    let text = fs::read_to_string(&output).map_err(|source| failed("read", &output, source))?;
    Ok(read_header(&text, &path.display().to_string()))
}

/// Writes the C source with the functions that lead to Java, and `trimtab.h` beside it.
///
/// # Errors
/// Where the header cannot be read, or a file not written.
pub fn write_stubs(header: &Path, output: &Path) -> Result<(), RunError> {
    let functions = preprocess(header)?.functions;
    let beside = output.with_file_name("trimtab.h");
    for (path, text) in [(output, stubs(&functions)), (&beside, TRIMTAB_H.to_owned())] {
        fs::write(path, text).map_err(|source| RunError::File {
            verb: "write",
            path: path.to_owned(),
            source,
        })?;
    }
    Ok(())
}

/// Moves what each instance has of its own to where the class loader of the class path does not find it.
pub(super) fn hide(entries: Vec<Entry>, class: &str) -> Vec<Entry> {
    let folder = format!("META-INF/trimtab/{class}");
    let mut index = String::new();
    let mut moved: Vec<Entry> = Vec::new();
    for Entry { path, bytes } in entries {
        let shared = path.starts_with("trimtab/embed/");
        let own = path.starts_with("trimtab/") || path.starts_with("program");
        if shared || !own {
            moved.push(Entry { path, bytes });
        } else if path != "trimtab/Main.class" {
            index += &format!("{path}\n");
            moved.push(Entry { path: format!("{folder}/{path}"), bytes });
        }
    }
    moved.push(Entry { path: format!("{folder}/index"), bytes: index.into_bytes() });
    moved
}
