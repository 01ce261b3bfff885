//! The sources of the workspace, as text and as syntax.

use std::path::{Path, PathBuf};
use std::process::Command;

use syn::spanned::Spanned;
use syn::visit::Visit;

/// The workspace's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Lines that match an extended regular expression, in all text files of the repository, with path and number.
pub fn lines_of_the_repository(expression: &str) -> Vec<String> {
    let command = ["grep", "-I", "-n", "--no-color", "-E", "-e", expression];
    let found = Command::new("git").args(command).current_dir(root()).output().unwrap();
    // It exits with 1 where there are none.
    assert!(found.status.code().is_some_and(|code| code < 2), "git grep failed");
    String::from_utf8_lossy(&found.stdout).lines().map(str::to_owned).collect()
}

/// A source file.
pub struct Source {
    /// Below the workspace's folder.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// A function of a file.
pub struct Function {
    pub name: String,
    /// Of its first line, from 1.
    pub line: usize,
    pub lines: usize,
}

impl Source {
    /// The files of all languages that people of this project write, and only those in the repository.
    pub fn all() -> Vec<Source> {
        Self::matching(&["*.rs", "*.c", "*.h", "*.S", "*.java", "*.py", "*.sh", "*.cpp"])
    }

    /// All Rust files.
    pub fn all_rust() -> Vec<Source> {
        Self::matching(&["*.rs"])
    }

    /// Rust files that are part of what ships; their tests are cut off.
    pub fn shipped() -> Vec<Source> {
        let shipped = |file: &Source| {
            let parts: Vec<&str> = file.path.split('/').collect();
            parts.get(2) == Some(&"src")
                && !parts.contains(&"tests")
                && !file.path.ends_with("/tests.rs")
        };
        let mut files = Self::all_rust();
        files.retain(shipped);
        for file in &mut files {
            if let Some(at) = start_of_tests(&file.text) {
                file.text.truncate(at);
            }
        }
        files
    }

    fn matching(patterns: &[&str]) -> Vec<Source> {
        let listed = Command::new("git")
            .arg("ls-files")
            .args(patterns)
            .current_dir(root())
            .output()
            .unwrap();
        assert!(listed.status.success(), "git ls-files failed");
        let listed = String::from_utf8(listed.stdout).unwrap();
        let paths = listed.lines().filter(|path| !path.starts_with("testdata/"));
        let read = |path: &str| {
            // A file may be removed and not yet committed.
            let text = std::fs::read_to_string(root().join(path)).ok()?;
            Some(Source { path: path.to_owned(), text })
        };
        let files: Vec<Source> = paths.filter_map(read).collect();
        assert!(files.len() > 100, "only {} files", files.len());
        files
    }

    /// Whether its first lines say what it is for.
    pub fn says_what_it_is_for(&self) -> bool {
        let is_code = |line: &&str| !line.is_empty() && !line.starts_with("// SPDX");
        self.text.lines().find(is_code).is_some_and(|line| line.starts_with("//!"))
    }

    /// Numbers of lines that have `word` outside of comments, from 1.
    pub fn lines_with(&self, word: &str) -> Vec<usize> {
        let has = |line: &str| line.split("//").next().unwrap_or_default().contains(word);
        self.text.lines().zip(1..).filter(|(line, _)| has(line)).map(|(_, number)| number).collect()
    }

    /// The file as syntax.
    pub fn parsed(&self) -> syn::File {
        syn::parse_file(&self.text).unwrap_or_else(|error| panic!("{}: {error}", self.path))
    }

    /// Its functions, those inside others too.
    pub fn functions(&self) -> Vec<Function> {
        let mut found = Functions(Vec::new());
        found.visit_file(&self.parsed());
        found.0
    }
}

/// Where the tests begin that stand beside the code: a module with `cfg(test)` and perhaps other
/// attributes, at the end of the file.
fn start_of_tests(text: &str) -> Option<usize> {
    let (mut at, _) = text.match_indices("\n#[cfg(test)]\n").last()?;
    let mut lines = text[at..].lines().skip(2).skip_while(|line| line.starts_with('#'));
    if !lines.next()?.starts_with("mod ") {
        return None;
    }
    while let Some(before) = text[..at].rfind('\n').filter(|line| text[*line..].starts_with("\n#["))
    {
        at = before;
    }
    Some(at)
}

/// Collects functions.
struct Functions(Vec<Function>);

impl Functions {
    fn add(&mut self, name: &syn::Ident, from: proc_macro2::Span, to: proc_macro2::Span) {
        let (line, end) = (from.start().line, to.end().line);
        self.0.push(Function { name: name.to_string(), line, lines: end - line + 1 });
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig.ident, item.sig.span(), item.block.span());
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig.ident, item.sig.span(), item.block.span());
        syn::visit::visit_impl_item_fn(self, item);
    }
}
