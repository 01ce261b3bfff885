//! The feature that lets a kernel be linked in an order, and the files for its build.

use std::fmt::Write;

use include_dir::include_dir;
use sha2::{Digest, Sha256};

use crate::feature::{Feature, GeneratedFiles};

/// Where a kernel with [`LAYOUT`] looks for its order, from its build directory.
pub const KERNEL_ORDER: &str = "include/generated/function-order.lds";
/// The makefile that says which object has which list of blocks, there.
const LISTS: &str = "include/generated/block-lists";
/// The symbols that lld puts first where the kernel's text has a place of its own, there.
const SYMBOLS: &str = "include/generated/function-order.symbols";
/// The folder of [`LISTS`].
const FOLDER: &str = "include/generated/";

/// Lets a kernel be linked in an order of functions, and where its compiler can do that, its functions be
/// split by blocks.
pub static LAYOUT: Feature = Feature {
    name: "layout",
    over: &[],
    folder: include_dir!("$CARGO_MANIFEST_DIR/../../linux/layout"),
    generated: &[KERNEL_ORDER, LISTS, SYMBOLS],
};

/// The option of a kernel's configuration that says that its functions can be split by blocks.
pub const CAN_SPLIT: &str = "CONFIG_BLOCK_ORDER=y";

/// The list of block clusters of one object, for clang.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockList {
    /// The object, relative to the build directory: `kernel/fork.o`.
    pub object: String,
    /// The list for `-fbasic-block-sections=list=`.
    pub text: String,
}

/// How the functions of a kernel are to be split.
#[derive(Debug, Clone, Copy)]
pub struct Splits<'a> {
    /// Which blocks belong together.
    pub lists: &'a [BlockList],
    /// Flags for the compiler where there is a list.
    pub flags: &'a str,
    /// Functions to put first within text that has a place of its own and is not ordered.
    pub first: &'a [&'a str],
}

impl Splits<'_> {
    /// The files that a kernel with [`LAYOUT`] takes.
    pub fn generated(&self) -> GeneratedFiles {
        let symbols: String = self.first.iter().map(|name| format!("{name}\n")).collect();
        let files = GeneratedFiles::new().with(SYMBOLS, symbols);
        self.files()
            .into_iter()
            .fold(files, |files, (name, text)| files.with(format!("{FOLDER}{name}"), text))
    }

    /// What `CONFIG_BLOCK_ORDER` takes, by names in one folder: the lists in `blocks`, and last
    /// `block-lists`, a makefile that names a list for each object. A list is named by its contents, so
    /// that make compiles again only what changed.
    pub fn files(&self) -> Vec<(String, String)> {
        let mut makefile = format!("block-list-flags := {}\n", self.flags);
        let mut files = Vec::new();
        for list in self.lists {
            let name = format!("blocks/{}", short_hash(&list.text));
            // Writing to a string does not fail.
            let _ = writeln!(makefile, "block-list-{} := {name}", list.object);
            files.push((name, list.text.clone()));
        }
        files.sort_unstable();
        files.dedup();
        files.push(("block-lists".to_owned(), makefile));
        files
    }
}

/// Enough of a hash to tell lists apart.
fn short_hash(text: &str) -> String {
    Sha256::digest(text).iter().take(8).fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_changes_changes_the_name_that_the_makefile_gives() {
        let list =
            |object: &str, text: &str| BlockList { object: object.into(), text: text.into() };
        let generated = |text: &str| {
            let lists = [list("a/b.o", text), list("c.o", text)];
            Splits { lists: &lists, flags: "-flag", first: &["a", "b"] }.generated()
        };
        let (one, other) = (generated("v1\nf x\nc 0\n"), generated("v1\nf x\nc 0 1\n"));
        let makefile = one.get(LISTS).unwrap_or_default();
        assert_ne!(Some(makefile), other.get(LISTS));
        let mut lines = makefile.lines();
        assert_eq!(lines.next(), Some("block-list-flags := -flag"));
        let name = lines.next().and_then(|line| line.strip_prefix("block-list-a/b.o := "));
        let path = format!("{FOLDER}{}", name.unwrap_or_default());
        assert_eq!(one.get(&path), Some("v1\nf x\nc 0\n"));
        assert_eq!(one.get(SYMBOLS), Some("a\nb\n"));
        assert_eq!(one.files().count(), 3, "the same list of two objects is one file");
    }
}
