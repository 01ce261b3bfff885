//! Folders whose names have a blank, a line feed or bytes that are not UTF-8: each verb that takes a file or a
//! folder works there, or refuses it with one error before anything is done.

#![allow(clippy::unwrap_used, reason = "tests")]

mod app;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use app::Bench;

/// A folder with an odd name, with the program of `testdata/app` in it.
struct Odd<'a> {
    bench: &'a Bench,
    folder: PathBuf,
}

/// What came of a command.
struct Ended {
    code: i32,
    output: String,
    error: String,
}

impl<'a> Odd<'a> {
    fn new(bench: &'a Bench, name: &[u8]) -> Self {
        let folder = bench.path().join(OsStr::from_bytes(name));
        fs::create_dir(&folder).unwrap();
        for entry in fs::read_dir(bench.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
            }
        }
        Self { bench, folder }
    }

    /// Runs `program` in the folder. Words that begin with `@` are paths in it, made absolute.
    fn run(&self, program: &str, words: &[&str]) -> Ended {
        let word = |word: &&str| match word.strip_prefix('@') {
            Some(file) => self.folder.join(file).into_os_string(),
            None => OsString::from(word),
        };
        let mut command = self.bench.command(program);
        let ended =
            command.current_dir(&self.folder).args(words.iter().map(word)).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ended {
            code: ended.status.code().unwrap(),
            output: text(&ended.stdout),
            error: text(&ended.stderr),
        }
    }

    fn good(&self, program: &str, words: &[&str]) -> String {
        let Ended { code, output, error } = self.run(program, words);
        assert_eq!(code, 0, "{:?} {program} {words:?}\n{output}{error}", self.folder);
        output
    }

    /// Runs trimtab, which must refuse with one error that has `expected` in it.
    fn refused(&self, words: &[&str], expected: &str) {
        let Ended { code, output, error } = self.run("trimtab", words);
        let what = format!("{:?} {words:?}\n{output}{error}", self.folder);
        assert!(matches!(code, 1 | 2), "{what}");
        let is_stage = |line: &str| {
            line.ends_with(" ...") || line.contains(" failed after ") || line.contains(" done in ")
        };
        let errors = error.lines().filter(|line| line.starts_with("trimtab: ") && !is_stage(line));
        assert_eq!(errors.count(), 1, "{what}");
        assert!(error.contains(expected) && !error.contains("panicked"), "{what}");
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

#[test]
fn every_verb_takes_any_folder_or_refuses_it_before_it_begins() {
    for (name, is_text) in [(&b"a b"[..], true), (b"new\nline", true), (b"by\xffte", false)] {
        let bench = Bench::new();
        let odd = Odd::new(&bench, name);
        odd.good("gcc", &["-O1", "-ffunction-sections", "-fno-pie", "-c", "main.c", "more.c"]);
        let tools = format!("-B{}/", bench.file("tools").display());
        let link = |order: &str, program: &str| {
            let flags =
                ["-no-pie", &tools, "-fuse-ld=lld", "-Wl,-Map=app.map", order, "-o", program];
            odd.good("gcc", &[&flags[..], &["main.o", "more.o"]].concat());
        };
        link("-Wl,--as-needed", "app");
        // Those that only read and write files take any name.
        let trace = ["--trace", "@start.trace", "--map", "@app.map"];
        let pages = ["pages", "@app", "--json", "@pages.json", "--html", "@pages.html"];
        odd.good("trimtab", &[&pages[..], &trace].concat());
        let counted = fs::read_to_string(odd.folder.join("pages.json")).unwrap();
        assert!(counted.contains("\"touched\": 26"), "{counted}");
        let order = ["order", "@app", "-o", "@app.order", "--json", "@order.json"];
        odd.good("trimtab", &[&order[..], &trace].concat());
        link("-Wl,--symbol-ordering-file=app.order", "app.ordered");
        let check = ["check", "@app.ordered", "--order", "@app.order", "--before", "@app"];
        odd.good("trimtab", &check);
        odd.good("trimtab", &[&["compare", "@app"][..], &trace].concat());
        odd.good("trimtab", &["trace", "program", "-o", "@own.trace", "--", "@app"]);
        let own = fs::read_to_string(odd.folder.join("own.trace")).unwrap();
        assert!(own.lines().any(|line| line.contains("main")), "{own}");
        odd.good("trimtab", &["probe", "instrument", "@main.o", "-o", "@main.probe.o"]);
        odd.good(
            "trimtab",
            &["probe", "build", "--", "gcc", "-O1", "-o", "probed", "main.c", "more.c"],
        );
        odd.good("./probed", &[]);
        // These refuse what they are given for another reason than its name.
        odd.refused(
            &["jar", "@app", "-o", "@app.jar"],
            "expected a 32-bit little-endian MIPS program",
        );
        odd.refused(
            &["swap", "plan", "@app", "--trace", "@start.trace"],
            "says only what ran first",
        );
        odd.refused(&["swap", "check", "@app", "@pages.json"], "");
        // Those that build keep notes of it, which are UTF-8.
        let fit =
            ["fit", "program", "--build", "gcc -O1 -o fitted main.c more.c", "--run", "./fitted"];
        let fit = [&fit[..], &["--runs", "0"]].concat();
        let tune = [
            "tune",
            "program",
            "--build",
            "gcc -o tuned main.c",
            "--run",
            "./tuned",
            "--work",
            "@t",
        ];
        if is_text {
            let shown = odd.good("trimtab", &[&fit[..], &["--work", "@fit work"]].concat());
            assert!(shown.contains("26 → 10 pages of code"), "{shown}");
            odd.good("trimtab", &["report", "latest", "--work", "@fit work"]);
            // Breakpoints find the program by the name that Linux lists.
            let native = [&fit[..], &["--work", "@native", "--tracer", "native"]].concat();
            odd.good("trimtab", &native);
        } else {
            for work in ["@work", "../good"] {
                odd.refused(&[&fit[..], &["--work", work]].concat(), "is not UTF-8");
            }
            odd.refused(&tune, "is not UTF-8");
            assert!(is_empty(&odd.folder.join("work")) && is_empty(&odd.folder.join("t")));
            assert!(!odd.folder.join("fitted").exists());
        }
        // Kernels are built where no blank is.
        let kernel = ["--work", "@kernel", "--config", "tiny", "--source", "@source"];
        fs::create_dir(odd.folder.join("source")).unwrap();
        let version = "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\nEXTRAVERSION =\n";
        fs::write(odd.folder.join("source/Makefile"), version).unwrap();
        for verb in [["fit", "kernel"], ["swap", "run"]] {
            odd.refused(&[&verb[..], &kernel].concat(), "");
            assert!(is_empty(&odd.folder.join("kernel/steps")), "{verb:?}");
        }
    }
}

#[test]
fn a_work_directory_that_builds_cannot_be_told_of_is_refused() {
    let bench = Bench::new();
    for (name, expected) in [
        ("a:b", "has a colon in it"),
        ("a,b", "has a comma in it"),
        ("a%b", "has a percent sign in it"),
    ] {
        let odd = Odd::new(&bench, name.as_bytes());
        let fit = ["fit", "program", "--build", "gcc -o fitted main.c more.c", "--run", "./fitted"];
        odd.refused(&[&fit[..], &["--work", "@work"]].concat(), expected);
        assert!(!odd.folder.join("work").exists() && !odd.folder.join("fitted").exists());
    }
}
