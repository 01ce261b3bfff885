//! Sources that are none, and features put into small ones.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use include_dir::{Dir, DirEntry, File};

use super::*;

/// The space on the disk that is asked for these.
const SMALL: std::ops::Range<u64> = 4096..1 << 20;
const HELLO: &[u8] =
    b"--- a/Makefile\n+++ b/Makefile\n@@ -1,3 +1,4 @@\n+# hello\n VERSION = 6\n PATCHLEVEL = 12\n SUBLEVEL = 9\n";
static HELLOS: Feature = Feature {
    name: "hellos",
    over: &[],
    folder: Dir::new(
        "",
        &[
            DirEntry::File(File::new("6.12.patch", HELLO)),
            DirEntry::File(File::new("6.1.patch", HELLO)),
        ],
    ),
    generated: &[],
};
static FILES: Feature = Feature {
    name: "files",
    over: &[&HELLOS],
    folder: Dir::new(
        "",
        &[DirEntry::Dir(Dir::new(
            "files",
            &[
                DirEntry::File(File::new("files/shared", b"new")),
                DirEntry::Dir(Dir::new(
                    "files/deep/er",
                    &[DirEntry::File(File::new("files/deep/er/check", b"#!/bin/sh\n"))],
                )),
            ],
        ))],
    ),
    generated: &[],
};

struct Lab {
    folder: tempfile::TempDir,
    work: WorkDir,
}

/// A work directory, and a folder `source` of a small kernel.
fn lab() -> Lab {
    let folder = tempfile::tempdir().unwrap();
    let work = WorkDir::open(&folder.path().join("work")).unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("Makefile"), "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\n").unwrap();
    fs::write(source.join("shared"), "old").unwrap();
    Lab { folder, work }
}

fn steps(lab: &Lab) -> usize {
    fs::read_dir(lab.work.path().join("steps")).unwrap().count()
}

#[test]
fn a_missing_source_is_named_with_its_package() {
    let folder = tempfile::tempdir().unwrap();
    let missing =
        |features: &[&Feature]| Source::installed(features, folder.path()).unwrap_err().to_string();
    let error = missing(&[&FILES]);
    assert!(error.contains("linux-source-6.12.tar.xz, "), "{error}");
    assert!(error.contains("apt-get install linux-source-6.12"), "{error}");
    assert!(missing(&[]).contains("apt-get install linux-source`"), "{}", missing(&[]));
    let error = Source::find(Some(&folder.path().join("none")), &[]).unwrap_err().to_string();
    assert!(error.contains("is not there"), "{error}");
}

#[test]
fn of_what_is_installed_the_newest_that_fits_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    for series in ["6.1", "6.12", "6.6", "7.0"] {
        fs::write(folder.path().join(format!("linux-source-{series}.tar.xz")), "").unwrap();
    }
    let found = |features: &[&Feature]| Source::installed(features, folder.path()).unwrap();
    let at = |name: &str| Source::Archive(folder.path().join(name));
    assert_eq!(found(&[]), at("linux-source-7.0.tar.xz"));
    assert_eq!(found(&[&FILES]), at("linux-source-6.12.tar.xz"));
}

#[test]
fn what_is_no_kernel_is_refused_and_nothing_is_kept() {
    let lab = lab();
    let fake = lab.folder.path().join("fake");
    fs::create_dir(&fake).unwrap();
    let unpack = |features: &[&Feature]| {
        let source = Source::find(Some(&fake), features).unwrap();
        source.unpack(&lab.work, features).unwrap_err().to_string()
    };
    assert!(unpack(&[]).contains("is not a kernel source: it has no readable Makefile"));
    fs::write(fake.join("Makefile"), "VERSION = 5\nPATCHLEVEL = 4\nSUBLEVEL = 1\n").unwrap();
    let error = unpack(&[&FILES]);
    assert!(error.contains("is release 5.4.1; trimtab has patches for 6.12 and 6.1 of"), "{error}");
    assert!(error.ends_with("(hellos)"), "{error}");
    let broken = lab.folder.path().join("broken.tar.xz");
    fs::write(&broken, "not a tarball").unwrap();
    let error = Source::Archive(broken).unpack(&lab.work, &[]).unwrap_err().to_string();
    assert!(error.contains("unpacking the kernel source failed"), "{error}");
    assert_eq!(steps(&lab), 0);
}

#[test]
fn a_stock_kernel_of_any_series_is_unpacked_as_it_is() {
    let lab = lab();
    let source = Source::find(Some(&lab.folder.path().join("source")), &[]).unwrap();
    fs::write(lab.folder.path().join("source/Makefile"), "VERSION = 2\nPATCHLEVEL = 4\n").unwrap();
    assert!(SMALL.contains(&source.space().unwrap()));
    let tree = source.unpack(&lab.work, &[]).unwrap();
    assert_eq!(tree.release.series, "2.4");
    let names = fs::read_dir(&tree.path).unwrap().flatten().map(|entry| entry.file_name());
    let mut names: Vec<_> = names.filter(|name| !name.to_string_lossy().starts_with('.')).collect();
    names.sort();
    assert_eq!(names, ["Makefile", "shared"]);
    assert!(source.unpack(&lab.work, &[]).unwrap().cached);
}

#[test]
fn a_feature_is_put_into_a_copy_and_what_it_shares_stays_as_it_is() {
    let lab = lab();
    let source = Source::find(Some(&lab.folder.path().join("source")), &[]).unwrap();
    let stock = source.unpack(&lab.work, &[]).unwrap();
    let hello = source.unpack(&lab.work, &[&HELLOS]).unwrap();
    let both = source.unpack(&lab.work, &[&FILES]).unwrap();
    let read = |tree: &Tree, name: &str| fs::read_to_string(tree.path.join(name)).unwrap();
    assert!(read(&stock, "Makefile").starts_with("VERSION"));
    assert!(read(&hello, "Makefile").starts_with("# hello"));
    assert!(read(&both, "Makefile").starts_with("# hello"));
    assert_eq!([read(&stock, "shared"), read(&hello, "shared")], ["old", "old"]);
    assert_eq!(read(&both, "shared"), "new");
    let program = both.path.join("deep/er/check");
    assert_eq!(fs::metadata(program).unwrap().permissions().mode() & 0o111, 0o111);
    assert_eq!(steps(&lab), 3);
    // The tree is the same, whatever was there before it.
    let other = self::lab();
    let source = Source::Folder(other.folder.path().join("source"));
    let alone = source.unpack(&other.work, &[&FILES]).unwrap();
    for name in ["Makefile", "shared", "deep/er/check"] {
        assert_eq!(read(&alone, name), read(&both, name));
    }
    assert_eq!(steps(&other), 1);
}

#[test]
fn a_revision_of_a_repository_is_a_source() {
    let lab = lab();
    let repository = lab.folder.path().join("source");
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"];
        let mut git = Command::new("git");
        let done = git.current_dir(&repository).args(identity).args(arguments).output().unwrap();
        assert!(done.status.success(), "{arguments:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "one"]);
    git(&["tag", "v6.12.9"]);
    fs::write(repository.join("Makefile"), "VERSION = 7\nPATCHLEVEL = 0\n").unwrap();
    git(&["commit", "--quiet", "-a", "-m", "two"]);
    let named = |revision: &str| {
        let path = format!("{}@{revision}", repository.display());
        Source::find(Some(Path::new(&path)), &[]).unwrap().unpack(&lab.work, &[])
    };
    let tree = named("v6.12.9").unwrap();
    assert_eq!((tree.release.version.as_str(), tree.cached), ("6.12.9", false));
    assert_eq!(fs::read_to_string(tree.path.join("shared")).unwrap(), "old");
    let path = format!("{}@v6.12.9", repository.display());
    let source = Source::find(Some(Path::new(&path)), &[]).unwrap();
    assert!(SMALL.contains(&source.space().unwrap()));
    let date = source.date().unwrap().unwrap();
    assert_eq!(date.matches('-').count(), 2, "{date}");
    assert_eq!(Source::Folder(repository.clone()).date().unwrap(), None);
    assert_eq!(named("HEAD").unwrap().release.series, "7.0");
    assert!(named("v6.12.9").unwrap().cached);
    let error = named("v1").unwrap_err().to_string();
    assert!(error.contains("asking git for the kernel's revision failed"), "{error}");
}

#[test]
fn a_patch_of_the_users_comes_before_those_of_features() {
    let lab = lab();
    let source = || Source::find(Some(&lab.folder.path().join("source")), &[]).unwrap();
    let patch = lab.folder.path().join("mine.patch");
    let error = source().with_patch(&patch).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot read {}", patch.display())), "{error}");
    fs::write(
        &patch,
        "--- a/shared\n+++ b/shared\n@@ -1 +1 @@\n-old\n\\ No newline at end of file\n+mine\n",
    )
    .unwrap();
    let patched = source().with_patch(&patch).unwrap();
    let tree = patched.unpack(&lab.work, &[&HELLOS]).unwrap();
    let read = |name: &str| fs::read_to_string(tree.path.join(name)).unwrap();
    assert_eq!(read("shared"), "mine\n");
    assert!(read("Makefile").starts_with("# hello"));
    assert!(patched.unpack(&lab.work, &[&HELLOS]).unwrap().cached);
    assert!(!source().unpack(&lab.work, &[&HELLOS]).unwrap().cached);

    fs::write(&patch, "--- a/shared\n+++ b/shared\n@@ -1 +1 @@\n-other\n+mine\n").unwrap();
    let error = patched.unpack(&lab.work, &[&HELLOS]).unwrap_err().to_string();
    assert!(error.contains("mine.patch to") && error.contains("FAILED"), "{error}");
    assert_eq!(steps(&lab), 2);
}

/// Makes a Debian source package of a small kernel with a patch of Debian's, and gives its `.dsc` file.
fn debian_package(folder: &Path) -> PathBuf {
    let tree = folder.join("linux-6.12.9");
    let write = |name: &str, text: &str| {
        let path = tree.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let run = |program: &str, arguments: &[&str]| {
        let done = Command::new(program).current_dir(folder).args(arguments).output().unwrap();
        assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
    };
    write("Makefile", "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\n");
    write("shared", "old\n");
    run("tar", &["-czf", "linux_6.12.9.orig.tar.gz", "linux-6.12.9"]);
    write("debian/source/format", "3.0 (quilt)\n");
    write(
        "debian/control",
        "Source: linux\nMaintainer: T <t@example.org>\n\nPackage: x\nArchitecture: all\nDescription: x\n",
    );
    let changed = "linux (6.12.9-1) unstable; urgency=low\n\n  * One.\n\n -- T <t@example.org>  Thu, 01 Jan 1970 00:00:00 +0000\n";
    write("debian/changelog", changed);
    write("debian/patches/series", "debian.patch\n");
    let patch = "--- a/shared\n+++ b/shared\n@@ -1 +1 @@\n-old\n+debian\n";
    write("debian/patches/debian.patch", patch);
    write("shared", "debian\n");
    run("dpkg-source", &["--build", "linux-6.12.9"]);
    folder.join("linux_6.12.9-1.dsc")
}

#[test]
fn a_debian_source_package_is_a_source() {
    let lab = lab();
    let package = debian_package(lab.folder.path());
    let source = Source::find(Some(&package), &[]).unwrap();
    assert_eq!(source, Source::Package(package.clone()));
    assert!(SMALL.contains(&source.space().unwrap()));
    let tree = source.unpack(&lab.work, &[&HELLOS]).unwrap();
    assert_eq!((tree.release.version.as_str(), tree.cached), ("6.12.9", false));
    let read = |name: &str| fs::read_to_string(tree.path.join(name)).unwrap();
    assert_eq!(read("shared"), "debian\n");
    assert!(read("Makefile").starts_with("# hello"));
    assert!(source.unpack(&lab.work, &[&HELLOS]).unwrap().cached);

    // A tarball that is not the one that the package was made of is refused.
    let orig = lab.folder.path().join("linux_6.12.9.orig.tar.gz");
    let mut bytes = fs::read(&orig).unwrap();
    bytes[20] ^= 1;
    fs::write(&orig, bytes).unwrap();
    let error = source.unpack(&lab.work, &[]).unwrap_err().to_string();
    assert!(error.contains("unpacking the Debian source package of the kernel failed"), "{error}");
    assert_eq!(steps(&lab), 1);
}
