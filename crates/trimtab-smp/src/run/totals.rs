//! What is counted in many files.

use std::collections::BTreeMap;

use crate::complexity::Tally;
use crate::file::FileCounts;
use crate::kconfig::Relation;
use crate::lock::Locks;
use crate::report::{GivenUp, Lines, OnlySmpFiles, OptionCounts, Part};
use crate::set;

/// What is counted in some files.
#[derive(Debug, Clone, Default)]
pub(super) struct Total {
    files: u64,
    changed: u64,
    lines: Lines,
    locks: Locks,
    complexities: Tally,
    conditions: u64,
    option_tests: u64,
    only_smp: OnlySmpFiles,
    options: OptionCounts,
}

impl Total {
    fn add(&mut self, path: &str, is_only_smp: bool, counts: &FileCounts) {
        if is_only_smp {
            self.only_smp.files += 1;
            self.only_smp.lines += counts.smp;
        }
        self.files += 1;
        self.changed += u64::from(counts.differing > 0);
        self.lines.up += counts.up;
        self.lines.smp += counts.smp;
        self.lines.differing += counts.differing;
        self.conditions += counts.conditions;
        self.option_tests += counts.option_tests;
        if !set::implements_locks(path) {
            self.locks.merge(&counts.locks);
        }
        for complexity in &counts.complexities {
            self.complexities.add(*complexity);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.files += other.files;
        self.changed += other.changed;
        self.lines.up += other.lines.up;
        self.lines.smp += other.lines.smp;
        self.lines.differing += other.lines.differing;
        self.locks.merge(&other.locks);
        self.complexities.merge(&other.complexities);
        self.conditions += other.conditions;
        self.option_tests += other.option_tests;
        self.only_smp.files += other.only_smp.files;
        self.only_smp.lines += other.only_smp.lines;
        self.options.merge(other.options);
    }

    pub(super) fn done(self) -> Part {
        Part {
            files: self.files,
            changed: self.changed,
            lines: self.lines,
            locks: self.locks,
            complexity: self.complexities.done(),
            conditions: self.conditions,
            option_tests: self.option_tests,
            only_smp: self.only_smp,
            options: self.options,
        }
    }
}

/// What is counted in some files, by where they are.
#[derive(Debug, Clone, Default)]
pub(super) struct Totals {
    pub(super) core: Total,
    pub(super) whole: Total,
    pub(super) folders: BTreeMap<String, Total>,
    pub(super) given_up: Vec<GivenUp>,
    pub(super) not_utf8: u64,
}

impl Totals {
    /// Adds a file that was read.
    pub(super) fn add(&mut self, path: &str, depth: usize, is_only_smp: bool, counts: &FileCounts) {
        self.whole.add(path, is_only_smp, counts);
        if set::is_core(path) {
            self.core.add(path, is_only_smp, counts);
        }
        self.folder(path, depth).add(path, is_only_smp, counts);
        self.not_utf8 += u64::from(!counts.is_utf8);
        if !counts.confusions.is_empty() {
            let why: Vec<String> = counts.confusions.iter().map(ToString::to_string).collect();
            self.give_up(path, why.join("; "));
        }
    }

    /// Adds an option that a file describes.
    pub(super) fn add_option(&mut self, path: &str, depth: usize, relation: Relation) {
        self.whole.options.add(relation);
        if set::is_core(path) {
            self.core.options.add(relation);
        }
        self.folder(path, depth).options.add(relation);
    }

    /// What is counted in the folder of a file.
    fn folder(&mut self, path: &str, depth: usize) -> &mut Total {
        self.folders.entry(set::folder(path, depth).to_owned()).or_default()
    }

    /// Names a file that was not understood, or not read.
    pub(super) fn give_up(&mut self, path: &str, why: String) {
        self.given_up.push(GivenUp { path: path.to_owned(), why });
    }

    /// Adds what was counted in later files.
    pub(super) fn merge(&mut self, other: Self) {
        self.core.merge(&other.core);
        self.whole.merge(&other.whole);
        for (folder, total) in other.folders {
            self.folders.entry(folder).or_default().merge(&total);
        }
        self.given_up.extend(other.given_up);
        self.not_utf8 += other.not_utf8;
    }
}
