//! Features that no kernel has, and the one of this crate.

use include_dir::{Dir, DirEntry, File};

use super::*;
use crate::LAYOUT;

static BELOW: Feature = Feature {
    name: "below",
    over: &[],
    folder: Dir::new(
        "",
        &[
            DirEntry::File(File::new("6.1.patch", b"one")),
            DirEntry::File(File::new("5.10.patch", b"ten")),
            DirEntry::File(File::new("6.12.patch", b"twelve")),
            DirEntry::File(File::new("needs.config", b"CONFIG_A=y\n")),
            DirEntry::Dir(Dir::new(
                "files",
                &[
                    DirEntry::File(File::new("files/z", b"last")),
                    DirEntry::Dir(Dir::new(
                        "files/a",
                        &[DirEntry::File(File::new("files/a/b.c", b"first"))],
                    )),
                ],
            )),
        ],
    ),
    generated: &["a"],
};
static PLAIN: Feature =
    Feature { name: "plain", over: &[], folder: Dir::new("", &[]), generated: &[] };
static ABOVE: Feature = Feature {
    name: "above",
    over: &[&PLAIN, &BELOW],
    folder: Dir::new("", &[DirEntry::File(File::new("6.1.patch", b"more"))]),
    generated: &[],
};

#[test]
fn a_folder_says_all_of_a_feature() {
    assert_eq!(BELOW.series(), ["6.12", "6.1", "5.10"]);
    assert_eq!(BELOW.patch("6.12"), Some("twelve"));
    assert_eq!(BELOW.patch("6.6"), None);
    assert_eq!(BELOW.fragment("needs"), Some("CONFIG_A=y\n"));
    assert_eq!(BELOW.fragment("smp"), None);
    let files = BELOW.files();
    assert_eq!(files, [("a/b.c".to_owned(), &b"first"[..]), ("z".to_owned(), &b"last"[..])]);
}

#[test]
fn what_a_feature_stands_on_comes_first_and_once() {
    let names = |features: &[&Feature]| -> Vec<&str> {
        with_all_below(features).iter().map(|feature| feature.name).collect()
    };
    assert_eq!(names(&[&ABOVE]), ["plain", "below", "above"]);
    assert_eq!(names(&[&BELOW, &ABOVE]), ["below", "plain", "above"]);
    assert_eq!(names(&[]), [""; 0]);
}

#[test]
fn features_together_work_with_what_each_works_with() {
    assert_eq!(common_series(&[&ABOVE]), Some(vec!["6.1"]));
    assert_eq!(common_series(&[&PLAIN, &BELOW]), Some(vec!["6.12", "6.1", "5.10"]));
    assert_eq!(common_series(&[&PLAIN]), None);
    assert!(PLAIN.supports("2.4") && !BELOW.supports("2.4"));
}

#[test]
fn each_patch_of_the_layout_adds_the_option_that_it_needs() {
    let needs = LAYOUT.fragment("needs").unwrap_or_default();
    assert!(needs.contains("CONFIG_FUNCTION_ORDER=y\n"), "{needs}");
    assert!(!LAYOUT.series().is_empty());
    for series in LAYOUT.series() {
        let patch = LAYOUT.patch(series).unwrap_or_default();
        assert!(patch.contains("\n+config FUNCTION_ORDER\n"), "{series}");
        for path in LAYOUT.generated {
            assert!(patch.contains(path), "{series}: {path}");
        }
    }
}

#[test]
fn of_two_files_at_one_path_the_later_counts() {
    let one = GeneratedFiles::new().with("a", "1").with("b", "2");
    let both = one.clone().and(&GeneratedFiles::new().with("b", "3"));
    assert_eq!(both.files().collect::<Vec<_>>(), [("a", "1"), ("b", "3")]);
    assert_eq!((both.get("b"), both.get("c")), (Some("3"), None));
}
