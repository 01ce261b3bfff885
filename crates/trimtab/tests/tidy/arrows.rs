//! Which crate depends on which: as drawn in docs/DESIGN.md, and as written in the manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::source::root;

/// A crate and one that it depends on.
pub type Arrow = (String, String);

/// The line of docs/DESIGN.md behind which the arrows stand, one crate a line: its name, a colon, the
/// crates that it depends on.
const HEADING: &str = "## Arrows";

/// What the design says.
pub fn of_the_design() -> BTreeSet<Arrow> {
    rows()
        .into_iter()
        .flat_map(|(from, to)| to.into_iter().map(move |to| (from.clone(), to)))
        .collect()
}

/// The rows of the design: each crate, with those that it depends on.
fn rows() -> BTreeMap<String, Vec<String>> {
    let text = fs::read_to_string(root().join("docs/DESIGN.md")).unwrap();
    let (_, part) = text.split_once(HEADING).expect("docs/DESIGN.md has a heading of arrows");
    let part = part.split("\n## ").next().unwrap_or_default();
    let rows: BTreeMap<String, Vec<String>> = part
        .lines()
        .filter(|line| line.starts_with("    trimtab"))
        .filter_map(|line| line.trim().split_once(':'))
        .map(|(from, to)| (from.to_owned(), to.split_whitespace().map(full).collect()))
        .collect();
    assert!(rows.len() > 5, "docs/DESIGN.md lists {} crates", rows.len());
    rows
}

/// The name of a crate of which the list leaves the beginning out.
fn full(name: &str) -> String {
    format!("trimtab-{name}")
}

/// What the manifests say. What only tests need is left out, and so are crates that do not ship.
pub fn of_the_manifests() -> BTreeSet<Arrow> {
    let mut arrows = BTreeSet::new();
    for (name, text) in manifests() {
        for to in dependencies(&text).filter(|to| to.starts_with("trimtab")) {
            arrows.insert((name.clone(), to.to_owned()));
        }
    }
    arrows
}

/// Crates that depend on `library`.
pub fn users_of(library: &str) -> Vec<String> {
    let uses = |text: &str| dependencies(text).any(|name| name == library);
    manifests().into_iter().filter(|(_, text)| uses(text)).map(|(name, _)| name).collect()
}

/// Crates of one capability each: those that the design lists under that heading.
pub fn capabilities() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("docs/DESIGN.md")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Capabilities:"));
    let names = line.expect("docs/DESIGN.md has a line of capabilities").split_whitespace();
    names.map(|name| full(name.trim_matches(['`', ',', '.']))).collect()
}

/// Names in the table of dependencies of a manifest.
fn dependencies(text: &str) -> impl Iterator<Item = &str> {
    let table = text.split("\n[dependencies]\n").nth(1).unwrap_or_default();
    let table = table.split("\n[").next().unwrap_or_default();
    table
        .lines()
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty())
}

/// Each crate's name and manifest.
fn manifests() -> Vec<(String, String)> {
    let folders = fs::read_dir(root().join("crates")).unwrap();
    let manifest = |folder: std::io::Result<fs::DirEntry>| {
        let folder = folder.unwrap();
        let text = fs::read_to_string(folder.path().join("Cargo.toml")).ok()?;
        Some((folder.file_name().into_string().unwrap(), text))
    };
    folders.filter_map(manifest).collect()
}
