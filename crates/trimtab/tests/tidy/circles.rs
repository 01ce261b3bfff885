//! Files of a crate that reach each other by their imports.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;

use crate::source::Source;

/// The files of each circle with more than `most`, by crate.
pub fn larger_than(most: usize) -> Vec<Vec<String>> {
    let mut crates: BTreeMap<String, Vec<Source>> = BTreeMap::new();
    for file in Source::shipped() {
        let name = file.path.split('/').nth(1).unwrap_or_default().to_owned();
        crates.entry(name).or_default().push(file);
    }
    crates.values().flat_map(|files| of_crate(files)).filter(|circle| circle.len() > most).collect()
}

/// Circles among the files of one crate.
fn of_crate(files: &[Source]) -> Vec<Vec<String>> {
    let modules: BTreeMap<Vec<String>, usize> =
        files.iter().enumerate().map(|(index, file)| (module(&file.path), index)).collect();
    let arrows: Vec<BTreeSet<usize>> = files
        .iter()
        .enumerate()
        .map(|(index, file)| {
            let own = module(&file.path);
            let mut imports = Imports { own: &own, paths: Vec::new() };
            imports.visit_file(&file.parsed());
            let mut reached: BTreeSet<usize> =
                imports.paths.iter().filter_map(|path| deepest(path, &modules)).collect();
            reached.remove(&index);
            reached
        })
        .collect();
    components(&arrows)
        .into_iter()
        .map(|circle| circle.into_iter().map(|index| files[index].path.clone()).collect())
        .collect()
}

/// The module that a file is: `crates/x/src/a/b.rs` is `a`, `b`; the root is empty.
fn module(path: &str) -> Vec<String> {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside);
    let mut parts: Vec<String> =
        inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "mod") || parts == ["lib"] || parts == ["main"] {
        parts.pop();
    }
    parts
}

/// The file of the longest beginning of a path that is a module. A path into the crate's root names what
/// the root passes on: it is no arrow to a file.
fn deepest(path: &[String], modules: &BTreeMap<Vec<String>, usize>) -> Option<usize> {
    (1..=path.len()).rev().find_map(|length| modules.get(&path[..length])).copied()
}

/// Collects the paths of a file's imports, from the crate's root.
struct Imports<'a> {
    own: &'a [String],
    paths: Vec<Vec<String>>,
}

impl Imports<'_> {
    fn tree(&mut self, base: &[String], tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                let mut base = base.to_vec();
                self.step(&mut base, &path.ident.to_string());
                self.tree(&base, &path.tree);
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(base, tree)),
            syn::UseTree::Name(name) => self.leaf(base, &name.ident.to_string()),
            syn::UseTree::Rename(name) => self.leaf(base, &name.ident.to_string()),
            syn::UseTree::Glob(_) => self.paths.push(base.to_vec()),
        }
    }

    fn leaf(&mut self, base: &[String], name: &str) {
        let mut path = base.to_vec();
        if name != "self" {
            path.push(name.to_owned());
        }
        self.paths.push(path);
    }

    /// Goes on by one segment of a path.
    fn step(&self, base: &mut Vec<String>, segment: &str) {
        match segment {
            "crate" => base.clear(),
            "self" => {}
            "super" => _ = base.pop(),
            name => base.push(name.to_owned()),
        }
    }
}

impl<'ast> Visit<'ast> for Imports<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // A parent passes on what its children have; that is no import.
        if !matches!(item.vis, syn::Visibility::Inherited) {
            return;
        }
        let own = self.own.to_vec();
        self.tree(&own, &item.tree);
    }

    /// `pub(super)` is no import.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let first = path.segments.first().map(|segment| segment.ident.to_string());
        if matches!(first.as_deref(), Some("crate" | "super")) {
            let mut base = self.own.to_vec();
            for segment in &path.segments {
                self.step(&mut base, &segment.ident.to_string());
            }
            self.paths.push(base);
        }
        syn::visit::visit_path(self, path);
    }
}

/// Strongly connected components with more than one file (Tarjan 1972, "Depth-first search and linear
/// graph algorithms"); there are few files, so plain reachability serves.
fn components(arrows: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let reached: Vec<BTreeSet<usize>> = (0..arrows.len()).map(|from| reach(arrows, from)).collect();
    let mut left: BTreeSet<usize> = (0..arrows.len()).collect();
    let mut found = Vec::new();
    while let Some(first) = left.pop_first() {
        let both =
            |other: &usize| reached[first].contains(other) && reached[*other].contains(&first);
        let others: Vec<usize> = left.iter().copied().filter(both).collect();
        left.retain(|other| !others.contains(other));
        if !others.is_empty() {
            found.push(std::iter::once(first).chain(others).collect());
        }
    }
    found
}

/// All files that are reached from one.
fn reach(arrows: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(arrows[file].iter().copied().filter(|to| seen.insert(*to)));
    }
    seen
}
