//! What `trimtab smp study` found: `trimtab.smp.study/1`; and what [`cost`], [`locks`], [`predict`] and [`scale`] did.

pub mod cost;
pub mod locks;
pub mod own_locks;
pub mod predict;
pub mod scale;
mod sections;

use serde::{Deserialize, Serialize};
use trimtab_report::common::Repeat;
use trimtab_report::{Kind, Schema};

use self::predict::SmpPredict;
use crate::complexity::Complexity;
use crate::kconfig::Relation;
use crate::lock::Locks;

/// The kinds of reports of this capability, for whoever draws one from its JSON.
pub const KINDS: &[Kind] = &[
    Kind::of::<SmpStudy>(),
    Kind::of::<cost::SmpCost>(),
    Kind::of::<locks::SmpLocks>(),
    Kind::of::<SmpPredict>(),
    Kind::of::<scale::SmpScale>(),
];

/// What several processors cost in trees of kernel source.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SmpStudy {
    /// Its schema.
    pub schema: Schema<SmpStudy>,
    /// The trees, in the order in which they were named.
    pub trees: Vec<TreeStudy>,
    /// How long it took, in seconds, unpacking with it.
    pub seconds: f64,
    /// What it takes to get it again.
    pub repeat: Repeat,
}

/// A tree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TreeStudy {
    /// Its version: `2.6.11.5`.
    pub version: String,
    /// The day of its commit, `2004-02-08`, of a revision of a git repository.
    pub date: Option<String>,
    /// The tree as it was given.
    pub origin: String,
    /// The files that the study of 2005 looked at.
    #[serde(flatten)]
    pub core: Part,
    /// All files of the tree.
    pub whole: Part,
    /// Folders at the top, or as deep as was asked for, by name.
    pub directories: Vec<Directory>,
    /// Options that have to do with SMP, by path and name; none of kernels before 2.5.45, which describe them
    /// in another way.
    pub smp_options: Vec<SmpOption>,
    /// Folders of the core that the tree does not have.
    pub missing: Vec<String>,
    /// Files that could not be understood, or not be read, by path.
    pub given_up: Vec<GivenUp>,
    /// Files that are not UTF-8. They are read like all others.
    pub not_utf8: u64,
    /// Symbolic links, which are not followed.
    pub links: u64,
}

impl TreeStudy {
    /// The year of its commit, of a revision of a git repository.
    pub fn year(&self) -> Option<&str> {
        self.date.as_ref()?.split('-').next()
    }
}

/// Some files of a tree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Part {
    /// Files: C, headers, and assembly.
    pub files: u64,
    /// Files that are not the same with SMP and without.
    pub changed: u64,
    /// Their lines, as a preprocessor and a formatter leave them.
    pub lines: Lines,
    /// Lock operations, without the files that implement locks.
    pub locks: Locks,
    /// The complexity of their functions.
    pub complexity: Complexity,
    /// Conditions of the preprocessor that name SMP.
    pub conditions: u64,
    /// Places in code that ask whether SMP is configured: both sides of them are compiled, and no
    /// preprocessor sees them.
    pub option_tests: u64,
    /// Files that makefiles name only for SMP: a preprocessor sees no difference in them.
    pub only_smp: OnlySmpFiles,
    /// Options that have to do with SMP.
    pub options: OptionCounts,
}

/// An option that has to do with SMP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmpOption {
    /// Its name, without `CONFIG_`.
    pub name: String,
    /// The file that says so.
    pub path: String,
    /// What it has to do with SMP.
    pub relation: Relation,
}

/// How many options have to do with SMP; one counts in each file that says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionCounts {
    /// SMP turns them on, or another option does where there is SMP.
    pub selected: u64,
    /// On by default only with SMP.
    pub default: u64,
    /// Not without SMP.
    pub needs: u64,
    /// Not with SMP.
    pub excludes: u64,
}

impl OptionCounts {
    /// Counts one.
    pub fn add(&mut self, relation: Relation) {
        *match relation {
            Relation::Selected => &mut self.selected,
            Relation::Default => &mut self.default,
            Relation::Needs => &mut self.needs,
            Relation::Excludes => &mut self.excludes,
        } += 1;
    }

    /// Adds what was counted elsewhere.
    pub fn merge(&mut self, other: Self) {
        self.selected += other.selected;
        self.default += other.default;
        self.needs += other.needs;
        self.excludes += other.excludes;
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        self.selected + self.default + self.needs + self.excludes
    }
}

/// Files that are compiled only with SMP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnlySmpFiles {
    /// How many.
    pub files: u64,
    /// Their lines, with SMP.
    pub lines: u64,
}

/// Lines of files, each looked at alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// Without SMP.
    pub up: u64,
    /// With SMP.
    pub smp: u64,
    /// Those that only one of both has.
    pub differing: u64,
}

impl Lines {
    /// The share of the lines without SMP that differ; 0 of nothing.
    pub fn share(&self) -> f64 {
        if self.up == 0 { 0.0 } else { self.differing as f64 / self.up as f64 }
    }
}

/// A folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Directory {
    /// Its path in the tree, `.` for files at the top.
    pub path: String,
    /// Its files.
    #[serde(flatten)]
    pub part: Part,
}

/// A file that could not be understood.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenUp {
    /// Its path in the tree.
    pub path: String,
    /// Why.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use trimtab_report::Report;

    use super::*;

    fn sample() -> SmpStudy {
        let part = |spin: u64| Part {
            files: 3,
            changed: 1,
            lines: Lines { up: 1000, smp: 1020, differing: 30 },
            locks: Locks { spin, ..Locks::default() },
            complexity: Complexity {
                functions: 3,
                histogram: vec![2, 0, 1],
                mean: 5.0 / 3.0,
                above_10: 0,
                most: 3,
            },
            conditions: 2,
            option_tests: 1,
            only_smp: OnlySmpFiles { files: 1, lines: 90 },
            options: OptionCounts { needs: 4, ..OptionCounts::default() },
        };
        let tree = |version: &str, spin| TreeStudy {
            version: version.to_owned(),
            origin: format!("<history>@{version}"),
            core: part(spin),
            whole: part(spin * 10),
            directories: vec![Directory { path: "kernel".to_owned(), part: part(spin) }],
            not_utf8: 1,
            ..TreeStudy::default()
        };
        let mut half = tree("2.2.26", 307);
        half.missing.push("mm".to_owned());
        half.given_up.push(GivenUp { path: "a/<b>.c".to_owned(), why: "its braces".to_owned() });
        SmpStudy { trees: vec![tree("2.0.40", 0), half], seconds: 1.5, ..SmpStudy::default() }
    }

    #[test]
    fn it_reads_back_and_all_renderings_show_the_same() {
        let study = sample();
        assert_eq!(SmpStudy::from_json(&study.to_json()).unwrap(), study);
        let text = study.terminal(100);
        for shown in ["2.0.40", "3,070", "3.0 %", "its braces", "has no mm", "kernel"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        let page = study.page();
        assert!(page.contains("a/&lt;b&gt;.c") && !page.contains("<b>.c"));
        assert_eq!(page.matches("<svg").count(), 3, "curves of lines, locks and complexity");
    }

    #[test]
    fn the_keys_of_a_tree_are_those_that_were_promised() {
        let json: serde_json::Value = serde_json::from_str(&sample().to_json()).unwrap();
        assert_eq!(json["schema"], "trimtab.smp.study/1");
        let tree = &json["trees"][1];
        assert_eq!((&tree["version"], &tree["files"]), (&"2.2.26".into(), &3.into()));
        assert_eq!((&tree["changed"], &tree["lines"]["differing"]), (&1.into(), &30.into()));
        assert_eq!(tree["locks"]["spin"], 307);
        assert_eq!(tree["complexity"]["above_10"], 0);
        assert_eq!(tree["directories"][0]["path"], "kernel");
        assert_eq!(tree["whole"]["locks"]["spin"], 3070);
    }
}
