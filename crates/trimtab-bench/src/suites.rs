//! Test suites of real programs, run with every function instrumented.

use std::env;
use std::fs;
use std::iter;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use trimtab_lab::debian;
use trimtab_lab::process::Job;
use trimtab_report::model::BenchSuite;

use crate::compare::Plan;

/// A package with tests.
#[derive(Debug)]
pub struct Suite {
    /// What it is called.
    pub name: &'static str,
    /// The Debian source package that it is from.
    package: &'static str,
    /// Folder of it where the commands run.
    folder: &'static str,
    /// A shell command that builds it, with its tests.
    build: &'static str,
    /// A shell command that runs the tests, and fails where one does.
    test: &'static str,
}

/// Hooks that each suite runs with: one whose probes call functions, and one whose probes copy them.
const HOOKS: [&str; 2] = ["time", "value"];

/// The test suites.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "zlib",
        package: "zlib",
        folder: ".",
        build: "./configure --static && make example minigzip",
        test: "make teststatic",
    },
    Suite { name: "bzip2", package: "bzip2", folder: ".", build: "make bzip2", test: "make test" },
    Suite {
        name: "lmdb",
        package: "lmdb",
        folder: "libraries/liblmdb",
        build: "make mtest mtest2 mtest3 mtest4 mtest5 mdb_stat",
        test: "for t in mtest mtest2 mtest3 mtest4 mtest5; do \
               rm -rf testdb; mkdir testdb; ./$t && ./mdb_stat testdb || exit 1; done",
    },
    Suite {
        name: "tinyxml2",
        package: "tinyxml2",
        folder: ".",
        build: "g++ -O1 -g -w -o xmltest xmltest.cpp tinyxml2.cpp",
        test: "./xmltest",
    },
    Suite {
        name: "cjson",
        package: "cjson",
        folder: "tests",
        build: "for t in parse_*.c print_*.c *_tests.c cjson_add.c readme_examples.c; do \
                case $t in *patch*|*utils*) more=../cJSON_Utils.c;; *) more=;; esac; \
                gcc -O1 -g -w -I.. -Iunity/src -o ${t%.c}.test $t unity/src/unity.c $more -lm || \
                exit 1; done",
        test: "for t in *.test; do ./$t || exit 1; done",
    },
];

/// Builds a package and runs its tests, plain and instrumented with each of [`HOOKS`]. Tests that fail are no error.
///
/// # Errors
/// What cannot be fetched or built.
pub fn run(plan: &Plan, suite: &Suite) -> anyhow::Result<BenchSuite> {
    let (tree, version) = debian::source(suite.package, &plan.work.join("sources"))?;
    let place = plan.work.join("suites").join(suite.name);
    let cannot = || format!("cannot write to {}", place.display());
    if place.exists() {
        fs::remove_dir_all(&place).with_context(cannot)?;
    }
    fs::create_dir_all(&place).with_context(cannot)?;
    let shell = |purpose: &str, command: &str, folder: &Path| {
        Job::new(format!("{purpose} {}", suite.name), "sh")
            .dir(folder)
            .limit(Duration::from_secs(1800))
            .args(["-c", command])
    };
    for copy in iter::once("plain").chain(HOOKS) {
        Job::new("copying a source", "cp").arg("-r").arg(&tree).arg(place.join(copy)).run()?;
    }
    let folder = place.join("plain").join(suite.folder);
    shell("building", suite.build, &folder).run()?;
    let plain_passed = shell("testing", suite.test, &folder).run().is_ok();

    let report = place.join("instrumented.json");
    let trimtab = env::current_exe().context("cannot find trimtab itself")?;
    let mut instrumented_passed = true;
    for hook in HOOKS {
        let folder = place.join(hook).join(suite.folder);
        Job::new(format!("building {} instrumented", suite.name), &trimtab)
            .dir(&folder)
            .limit(Duration::from_secs(1800))
            .args(["probe", "build", "--hook", hook, "--json"])
            .arg(&report)
            .args(["--", "sh", "-c", suite.build])
            .run()?;
        instrumented_passed &= shell("testing", suite.test, &folder)
            .env("TRIMTAB_PROBE_FILE", place.join(format!("recording.{hook}.%p")))
            .log(place.join(format!("tests-{hook}.log")))
            .run()
            .is_ok();
    }
    let text = fs::read_to_string(&report).with_context(cannot)?;
    let report: Value = serde_json::from_str(&text).context("cannot read what was instrumented")?;
    let count = |field: &str| report["functions"][field].as_u64().unwrap_or(0);
    let recordings = fs::read_dir(&place).with_context(cannot)?.flatten();
    let recordings = recordings
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("recording."))
        .inspect(|entry| {
            // Only that they are there counts; a test may leave hundreds.
            fs::remove_file(entry.path()).ok();
        })
        .count();
    Ok(BenchSuite {
        name: suite.name.to_owned(),
        package: format!("{} {version}", suite.package),
        seen: count("seen"),
        instrumented: count("instrumented"),
        recordings: recordings as u64,
        plain_passed,
        instrumented_passed: instrumented_passed && recordings > 0,
    })
}
