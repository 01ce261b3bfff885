//! Test suites of real programs, run with every function instrumented.

use std::env;
use std::fs;
use std::iter;
use std::path::Path;
use std::time::Duration;

use crate::report::BenchSuite;
use anyhow::{Context, bail};
use serde_json::Value;
use trimtab_lab::debian;
use trimtab_lab::process::Job;
use trimtab_lab::workload::{self, Workload};

use crate::compare::Plan;

/// Hooks that each suite runs with: one whose probes call functions, and one whose probes copy them.
const HOOKS: [&str; 2] = ["time", "value"];

/// The workloads of the catalogue whose sources bring tests along.
///
/// # Errors
/// A catalogue that is not as it should be.
pub fn suites() -> anyhow::Result<Vec<&'static Workload>> {
    Ok(workload::all()?.iter().filter(|workload| workload.manifest.tests.is_some()).collect())
}

/// Builds a package and runs its tests, plain and instrumented with each of [`HOOKS`]. Tests that fail are no error.
///
/// # Errors
/// What cannot be fetched or built.
pub fn run(plan: &Plan, suite: &Workload) -> anyhow::Result<BenchSuite> {
    // Long: the steps of a suite, each in its own folder.
    let package = suite.manifest.source.as_ref().and_then(|source| source.debian.as_ref());
    let (Some(package), Some(tests)) = (package, &suite.manifest.tests) else {
        bail!("the workload {} has no tests of a Debian package", suite.name);
    };
    let (tree, version) = debian::source(package, &plan.work.join("sources"))?;
    let place = plan.work.join("suites").join(&suite.name);
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
    let folder = place.join("plain").join(&tests.folder);
    shell("building", &tests.build, &folder).run()?;
    let plain_passed = shell("testing", &tests.run, &folder).run().is_ok();

    let report = place.join("instrumented.json");
    let trimtab = env::current_exe().context("cannot find trimtab itself")?;
    let mut instrumented_passed = true;
    for hook in HOOKS {
        let folder = place.join(hook).join(&tests.folder);
        Job::new(format!("building {} instrumented", suite.name), &trimtab)
            .dir(&folder)
            .limit(Duration::from_secs(1800))
            .args(["probe", "build", "--hook", hook, "--json"])
            .arg(&report)
            .args(["--", "sh", "-c", &tests.build])
            .run()?;
        instrumented_passed &= shell("testing", &tests.run, &folder)
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
        name: suite.name.clone(),
        package: format!("{} {version}", package),
        seen: count("seen"),
        instrumented: count("instrumented"),
        recordings: recordings as u64,
        plain_passed,
        instrumented_passed: instrumented_passed && recordings > 0,
    })
}
